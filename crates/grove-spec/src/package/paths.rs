//! The paths in a manifest, which must stay in the package.

use crate::text::is_line;

/// The reason why a path of a manifest is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRefusal {
    /// The path is absolute, or goes up.
    Leaves,
    /// The path has control characters.
    Unprintable,
    /// The path names a folder of git or npm, whose contents are not the package's own.
    Foreign,
}

/// A path below a package in its plain form, without `.` and without a slash at its end; empty for the package itself.
///
/// Both kinds of slashes count, and every `..` is refused, even one that would not leave the package: the meaning of a
/// path must not depend on links that are resolved in between.
pub fn path_below(text: &str) -> Result<String, PathRefusal> {
    if !is_line(text) {
        return Err(PathRefusal::Unprintable);
    }
    let parts: Vec<&str> = text
        .split(['/', '\\'])
        .map(str::trim)
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    // The first part is checked and not the text as written, so that `./~` is no other way to write `~`.
    let first = parts.first().copied().unwrap_or_default();
    let is_drive = first.as_bytes().get(1) == Some(&b':');
    let is_absolute =
        text.trim_start().starts_with(['/', '\\']) || first.starts_with('~') || is_drive;
    if is_absolute || parts.contains(&"..") {
        return Err(PathRefusal::Leaves);
    }
    // A package in the package's own `node_modules` may be named, but not the whole folder.
    if parts.contains(&".git") || parts.last() == Some(&"node_modules") {
        return Err(PathRefusal::Foreign);
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_package() {
        for (text, expected) in [
            ("agents", Ok("agents")),
            ("./agents/", Ok("agents")),
            (".//a/./b", Ok("a/b")),
            ("a\\b", Ok("a/b")),
            (".", Ok("")),
            ("...", Ok("...")),
            ("a..b", Ok("a..b")),
            ("node_modules/x/skills", Ok("node_modules/x/skills")),
            ("./node_modules/", Err(PathRefusal::Foreign)),
            ("a/.git/b", Err(PathRefusal::Foreign)),
            ("..", Err(PathRefusal::Leaves)),
            ("./../x", Err(PathRefusal::Leaves)),
            ("a/../b", Err(PathRefusal::Leaves)),
            ("a\\..\\b", Err(PathRefusal::Leaves)),
            ("a/ .. /b", Err(PathRefusal::Leaves)),
            ("/etc", Err(PathRefusal::Leaves)),
            ("\\x", Err(PathRefusal::Leaves)),
            ("C:/x", Err(PathRefusal::Leaves)),
            ("~/x", Err(PathRefusal::Leaves)),
            ("./~x", Err(PathRefusal::Leaves)),
            (" /etc", Err(PathRefusal::Leaves)),
            ("./C:/x", Err(PathRefusal::Leaves)),
            ("a\0b", Err(PathRefusal::Unprintable)),
            ("a\nb", Err(PathRefusal::Unprintable)),
        ] {
            assert_eq!(
                path_below(text).as_deref(),
                expected.as_ref().copied(),
                "{text:?}"
            );
        }
    }
}
