//! The `skills` of a settings file: folders with more skills.

use super::settings::MAX_NAMED;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json::{kind_of, text_of};
use crate::text::{is_line, one_line};
use crate::yaml::{YamlNode, YamlValue};

/// A folder with skills that a settings file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFolder {
    /// The path as it is written, without blanks around it.
    pub path: String,
    /// The position in the settings file.
    pub position: Position,
}

/// The reasons why an entry is not the path of a folder, each to follow the entry.
const BLANK: &str = "is blank";
const UNPRINTABLE: &str = "has control characters";
const PATTERN: &str = "is a pattern; only folders can be named";

/// Reads `skills`: a list of paths. A fault in one entry does not affect the others.
pub(super) fn read(skills: &YamlNode) -> (Vec<NamedFolder>, Vec<Diagnostic>) {
    let finding = |message: String, position: Position| {
        Diagnostic::new(Code::SkillFolderValue, message).at(position)
    };
    let YamlValue::List(items) = &skills.value else {
        let message = format!("`skills` is {}, not a list of folders", kind_of(skills));
        return (Vec::new(), vec![finding(message, skills.position)]);
    };
    let (mut folders, mut diagnostics) = (Vec::new(), Vec::new());
    for (number, item) in items.iter().take(MAX_NAMED).enumerate() {
        let Some(written) = text_of(item) else {
            let message = format!("`skills[{number}]` is {}, not a path", kind_of(item));
            diagnostics.push(finding(message, item.position));
            continue;
        };
        match plain_path(written) {
            Ok(path) => folders.push(NamedFolder {
                path: path.to_owned(),
                position: item.position,
            }),
            Err(reason) => {
                let message = format!("`skills[{number}]`, `{}`, {reason}", one_line(written));
                diagnostics.push(finding(message, item.position));
            }
        }
    }
    if items.len() > MAX_NAMED {
        let message = format!(
            "`skills` names {} folders; the first {MAX_NAMED} are looked at",
            items.len()
        );
        let finding = Diagnostic::new(Code::SkillFolderLimit, message);
        diagnostics.push(finding.at(skills.position));
    }
    (folders, diagnostics)
}

/// A path as pi accepts it; an entry that begins with `!`, `+` or `-` or has a wildcard chooses among skills instead.
fn plain_path(written: &str) -> Result<&str, &'static str> {
    let path = written.trim();
    if path.is_empty() {
        Err(BLANK)
    } else if !is_line(path) {
        Err(UNPRINTABLE)
    } else if path.starts_with(['!', '+', '-']) || path.contains(['*', '?']) {
        Err(PATTERN)
    } else {
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_text_that_chooses_nothing() {
        for (written, expected) in [
            ("skills", Ok("skills")),
            (" ../team skills/ ", Ok("../team skills/")),
            ("~/x", Ok("~/x")),
            ("~", Ok("~")),
            ("/x", Ok("/x")),
            (".", Ok(".")),
            ("a-b+c!", Ok("a-b+c!")),
            ("", Err(BLANK)),
            (" \t", Err(BLANK)),
            ("a\0b", Err(UNPRINTABLE)),
            ("a\nb", Err(UNPRINTABLE)),
            ("a\u{1b}[2Jb", Err(UNPRINTABLE)),
            ("!x", Err(PATTERN)),
            ("+x", Err(PATTERN)),
            ("-x", Err(PATTERN)),
            ("x/*", Err(PATTERN)),
            ("x?", Err(PATTERN)),
        ] {
            assert_eq!(plain_path(written), expected, "{written:?}");
        }
    }
}
