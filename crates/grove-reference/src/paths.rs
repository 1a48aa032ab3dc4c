//! Paths as Python's `pathlib` reads and prints them on Unix, from their text alone.
//!
//! Nothing is looked up: `..` stays, symlinks stay.

use std::fmt::Write as _;

use super::python_text::lower;

/// `str(Path(path))`: empty and `.` components go, a slash at the end goes, nothing at all is
/// `.`; exactly two slashes at the start stay two, more become one.
///
/// ```
/// use grove_reference::paths::normalise;
/// assert_eq!(normalise("a//b/./c/"), "a/b/c");
/// assert_eq!(normalise("./"), ".");
/// ```
pub fn normalise(path: &str) -> String {
    let (root, parts) = split(path);
    print(root, &parts)
}

/// `Path(path).name`: the last component, empty for `.` and for a root alone.
///
/// ```
/// use grove_reference::paths::name;
/// assert_eq!(name("a/b/."), "b");
/// assert_eq!(name("."), "");
/// assert_eq!(name("a/.."), "..");
/// ```
pub fn name(path: &str) -> &str {
    split(path).1.last().copied().unwrap_or_default()
}

/// `str(Path(path).parent)`: without the last component, whatever it is.
///
/// ```
/// use grove_reference::paths::parent;
/// assert_eq!(parent("a/b"), "a");
/// assert_eq!(parent("SKILL.md"), ".");
/// assert_eq!(parent("/"), "/");
/// ```
pub fn parent(path: &str) -> String {
    let (root, mut parts) = split(path);
    parts.pop();
    print(root, &parts)
}

/// `str(Path(folder) / file)`, for a file name without a slash.
///
/// ```
/// use grove_reference::paths::join;
/// assert_eq!(join("a/", "SKILL.md"), "a/SKILL.md");
/// assert_eq!(join(".", "SKILL.md"), "SKILL.md");
/// ```
pub fn join(folder: &str, file: &str) -> String {
    let (root, mut parts) = split(folder);
    parts.push(file);
    print(root, &parts)
}

/// Whether a file of this name stands for the folder it is in.
///
/// ```
/// use grove_reference::paths::is_skill_file_name;
/// assert!(is_skill_file_name("Skill.MD"));
/// assert!(!is_skill_file_name("skill.md.bak"));
/// ```
pub fn is_skill_file_name(name: &str) -> bool {
    let points: Vec<u32> = name.chars().map(u32::from).collect();
    let wanted: Vec<u32> = "skill.md".chars().map(u32::from).collect();
    lower(&points) == wanted
}

/// A path of bytes as it reads on standard error: what is not UTF-8 is spelled out.
///
/// ```
/// use grove_reference::paths::show_bytes;
/// assert_eq!(show_bytes(b"n\xff"), "n\\udcff");
/// ```
pub fn show_bytes(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            write!(out, "\\udc{byte:02x}").unwrap_or_default();
        }
    }
    out
}

fn split(path: &str) -> (&str, Vec<&str>) {
    let relative = path.trim_start_matches('/');
    let root = match path.len() - relative.len() {
        0 => "",
        2 => "//",
        _ => "/",
    };
    let parts = relative
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    (root, parts.collect())
}

fn print(root: &str, parts: &[&str]) -> String {
    if root.is_empty() && parts.is_empty() {
        ".".to_owned()
    } else {
        format!("{root}{}", parts.join("/"))
    }
}
