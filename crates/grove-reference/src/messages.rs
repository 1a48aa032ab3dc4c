//! Messages the command line needs besides those of a [`super::ParseError`].

/// `validate` refuses a folder without `SKILL.md` or `skill.md`.
pub const MISSING_REQUIRED_FILE: &str = "Missing required file: SKILL.md";

/// `validate` refuses a path with nothing there. The command line checks before, so only callers
/// of the library see it.
pub fn path_does_not_exist(path: &str) -> String {
    format!("Path does not exist: {path}")
}

/// `validate` refuses a file that is not itself a `SKILL.md`.
pub fn not_a_directory(path: &str) -> String {
    format!("Not a directory: {path}")
}

/// `read-properties` and `to-prompt` refuse a folder without `SKILL.md` or `skill.md`.
pub fn skill_md_not_found(dir: &str) -> String {
    format!("SKILL.md not found in {dir}")
}

/// Where the library ends in a traceback, because the file is not UTF-8.
pub fn not_utf8(file: &str) -> String {
    format!("{file} is not valid UTF-8")
}

pub(super) fn missing_field(field: &str) -> String {
    format!("Missing required field in frontmatter: {field}")
}

pub(super) fn empty_field(field: &str) -> String {
    format!("Field '{field}' must be a non-empty string")
}
