//! `grove validate PATH…`: strict, for authors.

use std::io;
use std::path::{Path, PathBuf};

use grove_fs::undo::{PathAfter, UndoRecording};
use grove_fs::{FsError, atomic, files};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_spec::config::ConfiguredLimits;
use grove_spec::skill::file_limit::most_read;
use grove_spec::skill::strict;
use grove_spec::{Code, Diagnostic};
use serde_json::json;

use super::file_kind::FileKind;
use super::mcp_install::difference;
use super::{Outcome, absolute, counted};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::json::DiagnosticJson;
use crate::output::CommandOutput;

struct CheckedFile {
    file: PathBuf,
    /// True if it stands for a file; findings about folders and links are no files.
    is_file: bool,
    kind: FileKind,
    text: Option<String>,
    findings: Vec<Diagnostic>,
    /// The file as it should be written, where that is certain.
    repaired: Option<String>,
}

impl CheckedFile {
    fn finding(path: &Path, finding: Diagnostic) -> Self {
        Self {
            file: path.to_path_buf(),
            is_file: false,
            kind: FileKind::Skill,
            text: None,
            findings: vec![finding],
            repaired: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingsForm {
    Text,
    Github,
    Json,
}

impl FindingsForm {
    pub(super) const fn asked(json: bool, github: bool) -> Self {
        match (json, github) {
            (true, _) => Self::Json,
            (false, true) => Self::Github,
            (false, false) => Self::Text,
        }
    }
}

pub(super) fn run(
    environment: &Environment,
    paths: &[PathBuf],
    form: FindingsForm,
    fix: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let check_paths = || -> Result<Vec<CheckedFile>, CommandError> {
        let all = paths.iter().map(|path| absolute(path, environment));
        let all = all.map(|path| check(environment, &path));
        Ok(all
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect())
    };
    let mut all = check_paths()?;
    let mut fixed = Vec::new();
    if fix && all.iter().any(|checked| checked.repaired.is_some()) {
        fixed = repair(environment, &all, form, out)?;
        all = check_paths()?;
    }
    let fails = all.iter().any(|checked| strict::fails(&checked.findings));
    if form == FindingsForm::Json {
        let files = all.iter().map(|checked| {
            let file = checked.file.to_string_lossy();
            let findings = checked.findings.iter();
            let findings = findings.map(|finding| DiagnosticJson::new(finding, Some(&file)));
            json!({
                "file": file,
                "kind": checked.kind.as_str(),
                "valid": !strict::fails(&checked.findings),
                "diagnostics": findings.collect::<Vec<_>>(),
            })
        });
        out.json(&json!({
            "schema": "grove.validate/1",
            "valid": !fails,
            "fixed": fixed,
            "files": files.collect::<Vec<_>>(),
        }));
        return Ok(ErrorKind::Finding.exit_code_if(fails));
    }
    for checked in &all {
        for finding in &checked.findings {
            let finding = finding.clone().in_file(&checked.file);
            if form == FindingsForm::Github {
                out.annotation(&finding, &environment.working);
                continue;
            }
            let text = checked.text.as_deref();
            out.finding(&finding, text.filter(|_| checked.kind.may_be_quoted()));
        }
    }
    if !fix && all.iter().any(|checked| checked.repaired.is_some()) {
        out.note("hint: `--fix` rewrites the file so that every reader understands it");
    }
    out.line(&summary(&all));
    Ok(ErrorKind::Finding.exit_code_if(fails))
}

/// Writes what is certain, shows how, and keeps what was there; gives the files.
fn repair(
    environment: &Environment,
    all: &[CheckedFile],
    form: FindingsForm,
    out: &mut CommandOutput,
) -> Result<Vec<String>, CommandError> {
    let repairs = all.iter().filter_map(|checked| {
        // A link stays and what it leads to is replaced.
        let file = files::canonical(&checked.file).unwrap_or_else(|_| checked.file.clone());
        Some((file, checked.text.as_deref()?, checked.repaired.as_deref()?))
    });
    let repairs: Vec<(PathBuf, &str, &str)> = repairs.collect();
    let changes = repairs.iter().map(|(file, _, after)| {
        let after = PathAfter::File(after.as_bytes());
        (file.as_path(), after)
    });
    let changes: Vec<_> = changes.collect();
    // A record is dropped with what was recorded if nothing was changed by then.
    let recording = UndoRecording::new(Some(&environment.state), "validate --fix");
    recording.keep(&changes)?;
    for (file, before, after) in &repairs {
        if form != FindingsForm::Json {
            out.line(&format!("fixed {}", file.display()));
            out.text(&difference(before, after));
        }
        let mode = files::mode(file).unwrap_or(0o644);
        atomic::write_mode(file, after.as_bytes(), mode)?;
    }
    out.note("`grove undo` takes it back");
    let fixed = repairs
        .iter()
        .map(|(file, ..)| file.to_string_lossy().into_owned());
    Ok(fixed.collect())
}

fn summary(all: &[CheckedFile]) -> String {
    let failing = |is_file: bool| {
        all.iter()
            .filter(|checked| checked.is_file == is_file && strict::fails(&checked.findings))
            .count()
    };
    let files = all.iter().filter(|checked| checked.is_file).count();
    let (bad, others) = (failing(true), failing(false));
    let of_files = if bad == 0 {
        format!("{} valid", counted(files, "file"))
    } else {
        format!("{bad} of {} not valid", counted(files, "file"))
    };
    match (files, others) {
        (_, 0) => of_files,
        (0, _) => format!("no file checked, {}", counted(others, "finding")),
        _ => format!("{of_files}, {}", counted(others, "other finding")),
    }
}

/// A skill folder, a skill file, or every skill below a folder.
fn check(environment: &Environment, path: &Path) -> Result<Vec<CheckedFile>, CommandError> {
    if files::is_folder(path) && files::is_there(&path.join("SKILL.md")) {
        return Ok(vec![check_file(&path.join("SKILL.md"), FileKind::Skill)]);
    }
    if !files::is_folder(path) {
        return match files::identity(path) {
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => {
                Ok(vec![CheckedFile::finding(path, unreadable(&error))])
            }
            Err(_) if !files::is_there(path) => Err(CommandError::usage(format!(
                "{} does not exist",
                path.display()
            ))
            .hint("give a skill folder, a SKILL.md, or a folder of skills")),
            _ => Ok(vec![check_file(path, FileKind::of(path))]),
        };
    }
    if let Err(error) = files::list(path, 1) {
        return Ok(vec![CheckedFile::finding(path, unreadable(&error))]);
    }
    // Nothing of the person's configuration decides what is checked.
    let environment = Environment {
        cache: None,
        config: PathBuf::from("/nonexistent/grove-validate"),
        ..environment.clone()
    };
    let snapshot = Library::new(
        environment,
        DiscoveryRequest {
            view: DiscoveryView::Folders(vec![path.to_path_buf()]),
            all: true,
            ..DiscoveryRequest::default()
        },
    )
    .load();
    let mut all: Vec<CheckedFile> = snapshot
        .skills
        .iter()
        .map(|skill| check_file(&snapshot.location(&skill.place), FileKind::Skill))
        .collect();
    all.extend(snapshot.diagnostics.iter().map(|finding| {
        CheckedFile::finding(finding.file.as_deref().unwrap_or(path), finding.clone())
    }));
    if all.is_empty() {
        return Err(
            CommandError::usage(format!("no skill in {}", path.display()))
                .hint("give a skill folder, a SKILL.md, or a folder of skills"),
        );
    }
    Ok(all)
}

fn unreadable(error: &FsError) -> Diagnostic {
    Diagnostic::new(Code::Unreadable, format!("{error}: {}", error.source))
}

fn unread(file: &Path, error: &FsError) -> Diagnostic {
    /// Links that lead to one another.
    const LOOP: i32 = 40;
    let code = match error.source.kind() {
        io::ErrorKind::PermissionDenied => Code::Unreadable,
        _ if error.is_not_found() || error.source.raw_os_error() == Some(LOOP) => Code::BrokenLink,
        _ if !files::is_file(file) => Code::NotRegularFile,
        // A limit is Grove's own error; what the system says has a number.
        _ if error.source.raw_os_error().is_none() => Code::FileTooLarge,
        _ => Code::Unreadable,
    };
    if code == Code::FileTooLarge {
        let limit = ConfiguredLimits::default().file_bytes.value;
        let message = format!(
            "the file has more than {} bytes, far more than the limit of {limit}",
            most_read(limit)
        );
        return Diagnostic::new(code, message);
    }
    Diagnostic::new(code, format!("{error}: {}", error.source))
}

fn check_file(file: &Path, kind: FileKind) -> CheckedFile {
    let limit = ConfiguredLimits::default().file_bytes.value;
    let bytes = match files::read_bounded(file, most_read(limit)) {
        Ok(bytes) => bytes,
        Err(error) => {
            let finding = unread(file, &error);
            // In a folder that may not be entered it cannot be known which files there are.
            if let Some(folder) = file.parent().filter(|_| !files::is_there(file)) {
                return CheckedFile::finding(folder, finding);
            }
            return CheckedFile {
                is_file: true,
                kind,
                ..CheckedFile::finding(file, finding)
            };
        }
    };
    let findings = kind.findings(file, &bytes, limit);
    let repaired = kind.repaired(file, &bytes, limit);
    CheckedFile {
        file: file.to_path_buf(),
        is_file: true,
        kind,
        text: String::from_utf8(bytes).ok(),
        findings,
        repaired,
    }
}
