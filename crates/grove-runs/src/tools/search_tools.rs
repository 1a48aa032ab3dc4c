//! Finding files and lines.

use std::fmt::Write as _;

use grove_fs::listing::{ListedKind, ListingBounds};
use grove_spec::wildcard::Wildcard;
use regex::RegexBuilder;
use serde_json::Value;

use super::{Toolbox, text_of};

/// What is looked at for one call.
const BOUNDS: ListingBounds = ListingBounds {
    entries: 50_000,
    depth: 32,
};
/// Folders that nobody means.
const LEFT_OUT: [&str; 3] = [".git", "node_modules", "target"];
/// Results of one call.
const MOST_RESULTS: usize = 200;
/// Of a matching line.
const MOST_OF_LINE: usize = 300;

impl Toolbox {
    pub(super) fn find(&self, arguments: &Value) -> Result<String, String> {
        let pattern = text_of(arguments, "pattern")?;
        let path = text_of(arguments, "path").unwrap_or_default();
        let wildcard = wildcard(&pattern)?;
        let (files, is_cut) = self.files_below(&path, |file| wildcard.matches(file))?;
        Ok(results(&files, is_cut, "files"))
    }

    pub(super) fn grep(&self, arguments: &Value) -> Result<String, String> {
        let pattern = text_of(arguments, "pattern")?;
        let path = text_of(arguments, "path").unwrap_or_default();
        let ignores_case = arguments.get("ignoreCase").and_then(Value::as_bool);
        let expression = RegexBuilder::new(&pattern)
            .case_insensitive(ignores_case.unwrap_or(false))
            .size_limit(1 << 20)
            .build()
            .map_err(|error| format!("not a regular expression: {error}"))?;
        let glob = text_of(arguments, "glob").ok();
        let glob = glob.map(|glob| wildcard(&glob)).transpose()?;
        let (files, mut is_cut) = if self.work.is_folder(&path)? {
            self.files_below(&path, |file| {
                glob.as_ref().is_none_or(|glob| glob.matches(file))
            })?
        } else {
            (vec![String::new()], false)
        };
        let mut found = Vec::new();
        for file in files {
            let whole = match (path.is_empty(), file.is_empty()) {
                (true, _) => file,
                (false, true) => path.clone(),
                (false, false) => format!("{path}/{file}"),
            };
            let Ok(text) = self.work.read(&whole).map(String::from_utf8) else {
                continue;
            };
            let Ok(text) = text else { continue };
            for (number, line) in text.lines().enumerate() {
                if !expression.is_match(line) {
                    continue;
                }
                let end = line.floor_char_boundary(MOST_OF_LINE);
                let shown = line.get(..end).unwrap_or_default();
                found.push(format!("{whole}:{}: {shown}", number + 1));
            }
            if found.len() > MOST_RESULTS {
                is_cut = true;
                break;
            }
        }
        Ok(results(&found, is_cut, "lines"))
    }

    /// Files below a folder, by path below it.
    fn files_below(
        &self,
        path: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(Vec<String>, bool), String> {
        let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let enters = |path: &str, kind: ListedKind| {
            kind != ListedKind::Folder || !LEFT_OUT.contains(&name_of(path).as_str())
        };
        let listing = self.work.below(path, BOUNDS, enters)?;
        let files = listing.entries.into_iter();
        let files = files.filter(|entry| entry.kind == ListedKind::File && wanted(&entry.path));
        Ok((files.map(|entry| entry.path).collect(), listing.is_cut))
    }
}

/// A pattern; one without a folder means files of that name anywhere.
fn wildcard(pattern: &str) -> Result<Wildcard, String> {
    let pattern = pattern.trim_start_matches("./");
    let anywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    Wildcard::parse(&anywhere).map_err(|error| format!("not a pattern: {}", error.reason()))
}

fn results(found: &[String], is_cut: bool, noun: &str) -> String {
    let mut text: String = found
        .iter()
        .take(MOST_RESULTS)
        .fold(String::new(), |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        });
    if found.len() > MOST_RESULTS {
        let _ = write!(text, "[the first {MOST_RESULTS} of {} {noun}]", found.len());
    } else if is_cut {
        text.push_str("[not everything was looked at: name a folder]");
    } else if found.is_empty() {
        let _ = write!(text, "[no {noun}]");
    }
    text
}
