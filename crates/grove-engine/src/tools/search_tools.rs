//! Finding files and lines in them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use grove_catalog::ignore_rules::IgnoreRules;
use grove_fs::listing::{ListedKind, ListingBounds};
use grove_spec::wildcard::Wildcard;
use regex::RegexBuilder;
use serde_json::Value;

use super::{ToolError, Toolbox, text_of};

const BOUNDS: ListingBounds = ListingBounds {
    entries: 50_000,
    depth: 32,
};
/// Folders that searches leave out, because they are hardly ever meant.
const LEFT_OUT: [&str; 3] = [".git", "node_modules", "target"];
const MOST_RESULTS: usize = 200;
/// The most bytes of a matching line.
const MOST_OF_LINE: usize = 300;

impl Toolbox {
    pub(super) fn find(&self, arguments: &Value) -> Result<String, ToolError> {
        let pattern = text_of(arguments, "pattern")?;
        let path = text_of(arguments, "path").unwrap_or_default();
        let wildcard = wildcard(&pattern)?;
        let (files, is_cut) = self.files_below(&path, |file| wildcard.matches(file))?;
        Ok(results(&files, is_cut, "files"))
    }

    pub(super) fn grep(&self, arguments: &Value) -> Result<String, ToolError> {
        let pattern = text_of(arguments, "pattern")?;
        let path = text_of(arguments, "path").unwrap_or_default();
        let ignores_case = arguments.get("ignoreCase").and_then(Value::as_bool);
        let expression = RegexBuilder::new(&pattern)
            .case_insensitive(ignores_case.unwrap_or(false))
            .size_limit(1 << 20)
            .build()
            .map_err(|error| ToolError::Failed(format!("not a regular expression: {error}")))?;
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

    /// Returns the files below a folder, by path below it. Ignored files (`.gitignore`) are left out, unless the folder itself
    /// is ignored: then it was meant.
    fn files_below(
        &self,
        path: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(Vec<String>, bool), ToolError> {
        let ignored = IgnoredFiles::new(self, path);
        let enters = |below: &str, kind: ListedKind| {
            let name = below.rsplit('/').next().unwrap_or_default();
            let is_left_out = kind == ListedKind::Folder && LEFT_OUT.contains(&name);
            !is_left_out && !ignored.covers(below, kind)
        };
        let listing = self.work.below(path, BOUNDS, enters)?;
        let files = listing.entries.into_iter();
        let files = files.filter(|entry| entry.kind == ListedKind::File && wanted(&entry.path));
        Ok((files.map(|entry| entry.path).collect(), listing.is_cut))
    }
}

/// The rules of `.gitignore` files for a folder that is searched; each file is read when something beside it is first met.
struct IgnoredFiles<'a> {
    toolbox: &'a Toolbox,
    /// The folder that is searched, by path below the work folder; none if nothing is left out.
    folder: Option<String>,
    rules: RefCell<(IgnoreRules, BTreeSet<String>)>,
}

impl<'a> IgnoredFiles<'a> {
    fn new(toolbox: &'a Toolbox, path: &str) -> Self {
        let folder = toolbox.work.below_work_folder(path);
        let mut ignored = Self {
            toolbox,
            folder,
            rules: RefCell::default(),
        };
        if let Some(folder) = ignored.folder.clone() {
            ignored.read_beside(&format!("{folder}/x"));
            let is_meant = ignored.rules.borrow().0.ignores_folder(&folder);
            if is_meant && !folder.is_empty() {
                ignored.folder = None;
            }
        }
        ignored
    }

    fn covers(&self, below: &str, kind: ListedKind) -> bool {
        let Some(folder) = &self.folder else {
            return false;
        };
        let whole = match folder.as_str() {
            "" => below.to_owned(),
            folder => format!("{folder}/{below}"),
        };
        self.read_beside(&whole);
        let rules = &self.rules.borrow().0;
        match kind {
            ListedKind::Folder => rules.ignores_folder(&whole),
            _ => rules.ignores_file(&whole),
        }
    }

    /// Reads the ignore files of all folders that a path is in, outer ones first.
    fn read_beside(&self, whole: &str) {
        let inner = whole
            .match_indices('/')
            .filter_map(|(at, _)| whole.get(..at));
        for folder in std::iter::once("").chain(inner) {
            let (rules, read) = &mut *self.rules.borrow_mut();
            if read.contains(folder) {
                continue;
            }
            read.insert(folder.to_owned());
            let file = format!("{folder}/.gitignore");
            let text = self.toolbox.work.read(file.trim_start_matches('/'));
            if let Ok(text) = text {
                rules.add(folder, &String::from_utf8_lossy(&text));
            }
        }
    }
}

/// Returns a pattern; one without a folder means files of that name anywhere.
fn wildcard(pattern: &str) -> Result<Wildcard, ToolError> {
    let pattern = pattern.trim_start_matches("./");
    let anywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    let wrong = |error| ToolError::Failed(format!("not a pattern: {error}"));
    Wildcard::parse(&anywhere).map_err(wrong)
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
