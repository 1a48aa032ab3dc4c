//! A project's instructions for all who work in it: `AGENTS.md` or `CLAUDE.md` of each of its folders.
//!
//! Of each folder one file counts, and that is `AGENTS.md`, which belongs to no single host: most hosts read it, and
//! people who keep both mostly let the other lead to it. Files are read inside the folder that was trusted, and used
//! only as they were when the person trusted it.

use std::path::{Path, PathBuf};

use grove_catalog::Digest;
use grove_catalog::prompt::InstructionFile;
use grove_catalog::trust;
use grove_fs::probe_walk::{self, LinkRule, RootFolder};
use grove_fs::{FsError, files};
use grove_spec::{Code, Diagnostic};

use crate::world::World;

/// The files' names; the first that is there counts.
pub(crate) const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The text by which Claude Code's file says that the other one counts.
const IMPORT: &str = "@AGENTS.md";

#[derive(Debug, Default)]
pub(crate) struct FoundInstructions {
    /// The instructions that may be used, the nearest folder's first.
    pub(crate) files: Vec<InstructionFile>,
    pub(crate) findings: Vec<Diagnostic>,
}

/// Looks in the project's folders, from the working folder up.
pub(crate) fn find(world: &World, max_bytes: u64) -> FoundInstructions {
    let mut found = FoundInstructions::default();
    let Some(outermost) = world.project.outermost() else {
        return found;
    };
    for folder in &world.project.folders {
        found.read_folder(folder, outermost, world, max_bytes);
    }
    found
}

/// The files of one folder that are there, read inside `base` or refused.
pub(crate) fn in_folder(
    base: &Path,
    folder: &Path,
    max_bytes: u64,
) -> Vec<(PathBuf, Result<Vec<u8>, FsError>)> {
    let root = RootFolder {
        base: None,
        path: base.to_path_buf(),
    };
    let named = NAMES.iter().map(|name| folder.join(name));
    let there = named.filter(|file| files::is_there(file));
    there
        .filter_map(|file| {
            let below = file.strip_prefix(base).ok()?.to_str()?;
            let read = probe_walk::read_below(&root, LinkRule::Contain, below, max_bytes);
            Some((file, read))
        })
        .collect()
}

impl FoundInstructions {
    fn read_folder(&mut self, folder: &Path, outermost: &Path, world: &World, max_bytes: u64) {
        let trust = world.trust_of(folder);
        // The grant bounds the targets of links, if it is narrower than the project.
        let granted = trust.grant.as_ref().map(|grant| grant.path.as_path());
        let base = granted
            .filter(|granted| granted.starts_with(outermost))
            .unwrap_or(outermost);
        let mut counts: Option<InstructionFile> = None;
        for (file, read) in in_folder(base, folder, max_bytes) {
            let text = match read.map(String::from_utf8) {
                Ok(Ok(text)) => text,
                Ok(Err(_)) => {
                    self.unread(&file, "the instructions are not UTF-8 and were left out");
                    continue;
                }
                Err(error) => {
                    self.unread(&file, &refusal(&error));
                    continue;
                }
            };
            match &counts {
                None => {
                    let digest = Digest::of(text.as_bytes());
                    counts = Some(InstructionFile { file, digest, text });
                }
                Some(first) if text == first.text || text.trim() == IMPORT => {}
                Some(_) => {
                    let message = format!(
                        "{} is in the same folder and is used instead, so this file was left out",
                        NAMES[0]
                    );
                    let finding = Diagnostic::new(Code::InstructionsSecond, message);
                    self.findings.push(finding.in_file(&file));
                }
            }
        }
        let Some(counts) = counts else { return };
        self.findings.extend(trust.finding.clone());
        let name = counts.file.file_name().and_then(|name| name.to_str());
        let judged = trust::judge(
            &trust.of_root(folder),
            name.unwrap_or_default(),
            Some(&counts.digest),
            None,
        );
        match judged {
            None => self.files.push(counts),
            Some((_, reason)) => {
                let message = format!("the instructions were left out: {}", reason.message);
                let finding = Diagnostic::new(Code::InstructionsUntrusted, message);
                let finding = finding.in_file(&counts.file).with_help(reason.fix);
                self.findings.push(finding);
            }
        }
    }

    fn unread(&mut self, file: &Path, message: &str) {
        let finding = Diagnostic::new(Code::InstructionsUnread, message);
        self.findings.push(finding.in_file(file));
    }
}

fn refusal(error: &FsError) -> String {
    match error.source.raw_os_error() {
        // The kernel's words for a path that leaves the folder it was to stay in.
        Some(18 | 40) => "the file leads out of the project and was left out".to_owned(),
        _ => format!("the instructions were left out: {}", error.source),
    }
}
