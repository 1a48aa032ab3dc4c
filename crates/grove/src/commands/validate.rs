//! `grove validate PATH…`: strict, for authors.

use std::path::{Path, PathBuf};

use grove_fs::files;
use grove_skills::{Environment, Library, Request, View};
use grove_spec::skill::{Parsed, parse_bytes, strict};
use grove_spec::{Code, Diagnostic};
use serde::Serialize;

use super::{Outcome, absolute, counted};
use crate::command_error::{CommandError, ErrorKind};
use crate::json::DiagnosticJson;
use crate::output::Output;

#[derive(Serialize)]
struct ValidateJson<'a> {
    schema: &'static str,
    valid: bool,
    files: Vec<FileJson<'a>>,
}

#[derive(Serialize)]
struct FileJson<'a> {
    file: String,
    valid: bool,
    diagnostics: Vec<DiagnosticJson<'a>>,
}

struct Checked {
    file: PathBuf,
    text: Option<String>,
    findings: Vec<Diagnostic>,
}

/// Author's files may be larger than what is loaded; beyond this they are not read at all.
const MAX_BYTES: u64 = 256_000;

pub(super) fn run(
    environment: &Environment,
    paths: &[PathBuf],
    json: bool,
    out: &mut Output,
) -> Outcome {
    let mut all = Vec::new();
    for path in paths {
        all.extend(check(environment, &absolute(path, environment))?);
    }
    let fails = all.iter().any(|checked| strict::fails(&checked.findings));
    if json {
        let files = all.iter().map(|checked| FileJson {
            file: checked.file.to_string_lossy().into_owned(),
            valid: !strict::fails(&checked.findings),
            diagnostics: checked
                .findings
                .iter()
                .map(|finding| DiagnosticJson::new(finding, Some(&checked.file.to_string_lossy())))
                .collect(),
        });
        out.json(&ValidateJson {
            schema: "grove.validate/1",
            valid: !fails,
            files: files.collect(),
        });
        return Ok(u8::from(fails));
    }
    for checked in &all {
        for finding in &checked.findings {
            out.text(&grove_spec::render::render(
                &finding.clone().in_file(&checked.file),
                checked.text.as_deref(),
            ));
            out.line("");
        }
    }
    let bad = all
        .iter()
        .filter(|checked| strict::fails(&checked.findings))
        .count();
    out.line(&if bad == 0 {
        format!("{} valid", counted(all.len(), "file"))
    } else {
        format!("{bad} of {} not valid", counted(all.len(), "file"))
    });
    Ok(u8::from(fails))
}

/// A skill folder, a skill file, or every skill below a folder.
fn check(environment: &Environment, path: &Path) -> Result<Vec<Checked>, CommandError> {
    if files::is_folder(path) && files::is_there(&path.join("SKILL.md")) {
        return Ok(vec![check_file(&path.join("SKILL.md"))]);
    }
    if !files::is_folder(path) {
        return if files::is_there(path) {
            Ok(vec![check_file(path)])
        } else {
            Err(CommandError::new(
                ErrorKind::Usage,
                format!("{} does not exist", path.display()),
            )
            .hint("give a skill folder, a SKILL.md, or a folder of skills"))
        };
    }
    // Nothing of the person's configuration decides what is checked.
    let environment = Environment {
        cache: None,
        config: path.join(".none"),
        ..environment.clone()
    };
    let snapshot = Library::new(
        environment,
        Request {
            view: View::Folders(vec![path.to_path_buf()]),
            all: true,
            names: None,
        },
    )
    .load();
    let mut all: Vec<Checked> = snapshot
        .skills
        .iter()
        .map(|skill| check_file(&snapshot.location(&skill.place)))
        .collect();
    all.extend(snapshot.diagnostics.iter().map(|finding| Checked {
        file: finding.file.clone().unwrap_or_else(|| path.to_path_buf()),
        text: None,
        findings: vec![finding.clone()],
    }));
    if all.is_empty() {
        return Err(
            CommandError::new(ErrorKind::Usage, format!("no skill in {}", path.display()))
                .hint("give a skill folder, a SKILL.md, or a folder of skills"),
        );
    }
    Ok(all)
}

fn check_file(file: &Path) -> Checked {
    let bytes = match files::read_bounded(file, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            let code = if files::is_file(file) {
                Code::FileTooLarge
            } else {
                Code::NotRegularFile
            };
            let finding = Diagnostic::new(code, format!("{error}: {}", error.source));
            return Checked {
                file: file.to_path_buf(),
                text: None,
                findings: Parsed::refused(finding).diagnostics,
            };
        }
    };
    let is_skill_md = file.file_name().is_some_and(|name| name == "SKILL.md");
    let named_by = if is_skill_md {
        file.parent().and_then(Path::file_name)
    } else {
        file.file_stem()
    };
    let folder = named_by.unwrap_or_default().to_string_lossy();
    let findings = strict::validate(&parse_bytes(&bytes), &folder);
    Checked {
        file: file.to_path_buf(),
        text: String::from_utf8(bytes).ok(),
        findings,
    }
}
