//! The files of a skill that an export does not copy, each with the reason.

use std::path::Path;

use grove_fs::file_names::{FileNames, LeftOutReason};
use grove_fs::files;
use grove_spec::{Code, Diagnostic};

use super::record;
use super::skill_set::MAX_BYTES;

const MAX_SAID: usize = 20;

/// Entries that are no files of a skill: the versions of a folder, and the record of an export.
const NOT_OF_SKILLS: [&str; 2] = [".git", record::NAME];

#[derive(Debug, Default)]
pub(super) struct MissingFiles {
    files: Vec<(String, String)>,
    /// Entries of which only the number is known.
    unnamed: usize,
    uncounted: bool,
}

impl MissingFiles {
    pub(super) fn of(found: &FileNames) -> Self {
        let mut missing = Self {
            uncounted: found.uncounted,
            ..Self::default()
        };
        let bad_names = found.left_out.iter();
        let bad_names = bad_names
            .filter(|(_, why)| *why == LeftOutReason::Name)
            .count();
        missing.unnamed = found.not_seen.saturating_sub(bad_names);
        for (name, why) in &found.left_out {
            if !NOT_OF_SKILLS.contains(&name.as_str()) {
                missing.add(name.clone(), why.as_str());
            }
        }
        missing
    }

    pub(super) fn add(&mut self, name: String, why: impl Into<String>) {
        self.files.push((name, why.into()));
    }

    pub(super) fn say(mut self, skill: &str, location: &Path, diagnostics: &mut Vec<Diagnostic>) {
        self.files.sort_unstable();
        let rest = self.files.split_off(self.files.len().min(MAX_SAID));
        for (name, why) in self.files {
            let message = format!("file `{name}` of skill `{skill}` was not copied: {why}");
            diagnostics.push(Diagnostic::new(Code::ExportPartial, message).in_file(location));
        }
        let n_more = rest.len() + self.unnamed;
        if n_more == 0 && !self.uncounted {
            return;
        }
        let least = if self.uncounted { "at least " } else { "" };
        let message = format!(
            "{least}{n_more} more files of skill `{skill}` were not copied: there are too many to read or name"
        );
        let names = rest.into_iter().map(|(name, _)| name).collect();
        let finding = Diagnostic::new(Code::ExportPartial, message).in_file(location);
        diagnostics.push(finding.with_names(names));
    }
}

pub(super) fn is_larger(path: &Path) -> bool {
    files::size(path).is_ok_and(|size| size > MAX_BYTES)
}
