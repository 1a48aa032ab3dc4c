//! Reading, listing, writing and editing files.

use std::fmt::Write as _;

use grove_fs::listing::ListedKind;
use serde_json::Value;

use super::{ToolError, Toolbox, number_of, text_of};

/// The most lines and the most bytes of one reading.
const MOST_LINES: u64 = 2_000;
const MOST_BYTES: usize = 50 << 10;
/// The most entries of a folder that are listed.
const MOST_ENTRIES: usize = 1_000;

impl Toolbox {
    pub(super) fn read(&self, arguments: &Value) -> Result<String, ToolError> {
        let path = text_of(arguments, "path")?;
        let bytes = self.work.read(&path)?;
        let text = String::from_utf8(bytes).map_err(|_| ToolError::NoText(path))?;
        let first = number_of(arguments, "offset").unwrap_or(1).max(1);
        let most = number_of(arguments, "limit")
            .unwrap_or(MOST_LINES)
            .clamp(1, MOST_LINES);
        let (skip, most) = (as_usize(first - 1), as_usize(most));
        let (mut given, mut n_given) = (String::new(), 0_usize);
        let total = text.lines().count();
        for line in text.lines().skip(skip).take(most) {
            if !given.is_empty() && given.len() + line.len() > MOST_BYTES {
                break;
            }
            given.push_str(line);
            given.push('\n');
            n_given += 1;
        }
        if given.len() > MOST_BYTES {
            let end = given.floor_char_boundary(MOST_BYTES);
            given.truncate(end);
            given.push_str("\n[the line goes on]\n");
        }
        let after = skip.saturating_add(n_given);
        if after < total {
            let next = after + 1;
            let _ = write!(given, "[{total} lines in all; go on with offset {next}]");
        }
        Ok(given)
    }

    pub(super) fn list(&self, arguments: &Value) -> Result<String, ToolError> {
        let path = text_of(arguments, "path").unwrap_or_default();
        let listing = self.work.list(&path, MOST_ENTRIES)?;
        let mut text = String::new();
        for entry in &listing.entries {
            let mark = match entry.kind {
                ListedKind::Folder => "/",
                ListedKind::Link => "@",
                ListedKind::File | ListedKind::Other => "",
            };
            let _ = writeln!(text, "{}{mark}", entry.path);
        }
        if listing.is_cut {
            let _ = write!(text, "[only the first {MOST_ENTRIES} entries]");
        }
        if text.is_empty() {
            text.push_str("[empty]");
        }
        Ok(text)
    }

    pub(super) fn write(&self, arguments: &Value) -> Result<String, ToolError> {
        let (path, content) = (text_of(arguments, "path")?, text_of(arguments, "content")?);
        let was_there = self.work.write(&path, content.as_bytes())?;
        let verb = if was_there { "replaced" } else { "made" };
        Ok(format!("{verb} {path} with {} bytes", content.len()))
    }

    pub(super) fn edit(&self, arguments: &Value) -> Result<String, ToolError> {
        let path = text_of(arguments, "path")?;
        let (old, new) = (
            text_of(arguments, "oldText")?,
            text_of(arguments, "newText")?,
        );
        if old.is_empty() {
            return Err(ToolError::Failed("`oldText` is empty".to_owned()));
        }
        let text = String::from_utf8(self.work.read(&path)?);
        let text = text.map_err(|_| ToolError::NoText(path.clone()))?;
        match text.matches(&old).count() {
            0 => Err(ToolError::Failed(format!(
                "the text does not occur in {path}"
            ))),
            1 => {
                self.work
                    .write(&path, text.replacen(&old, &new, 1).as_bytes())?;
                Ok(format!("edited {path}"))
            }
            n => Err(ToolError::Failed(format!(
                "the text occurs {n} times in {path}; give more of what is around it"
            ))),
        }
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
