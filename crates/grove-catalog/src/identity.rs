//! The identity of a skill: ids from paths, names from frontmatter or folders.

use std::path::Path;
use std::sync::Arc;

pub use grove_spec::skill::name_key;

/// The place of a skill file in its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillLayout {
    /// The file `<root>/SKILL.md`, the root's own skill.
    Root,
    /// The file `<root>/<name>.md`, a skill without a folder.
    Flat,
    /// The file `<root>/…/<name>/SKILL.md` in a skill's folder.
    Folder,
}

/// Returns a skill's id: its folder's path below the root, the stem of a flat file, or the root's own name.
pub fn id(layout: SkillLayout, path_below_root: Arc<str>, root: &Path) -> Arc<str> {
    match layout {
        SkillLayout::Folder | SkillLayout::Flat => path_below_root,
        SkillLayout::Root => root.file_name().map_or_else(
            || Arc::from("root"),
            |name| printable(&name.to_string_lossy()).into(),
        ),
    }
}

/// Returns the last part of an id: the folder or stem that a name is compared with.
pub fn folder_of(id: &str) -> &str {
    // Ids are short, and the folder of every skill is needed several times.
    let slash = id.bytes().rposition(|byte| byte == b'/');
    slash.and_then(|at| id.get(at + 1..)).unwrap_or(id)
}

/// Returns the path of the skill file below its root.
pub fn file_below_root(layout: SkillLayout, id: &str) -> String {
    <[&str; 2]>::from(parts_below_root(layout, id)).concat()
}

/// Returns that path in two parts: the id, and the ending that follows from the layout.
pub(crate) const fn parts_below_root(layout: SkillLayout, id: &str) -> (&str, &'static str) {
    match layout {
        SkillLayout::Root => ("", "SKILL.md"),
        SkillLayout::Flat => (id, ".md"),
        SkillLayout::Folder => (id, "/SKILL.md"),
    }
}

/// Returns the key under which names collide on some file system or look equal: composed and in one case.
pub fn collision_key(name: &str) -> String {
    name_key(name).to_lowercase()
}

/// Returns true if a folder name cannot be checked out or told apart on every platform.
pub fn is_unportable(folder: &str) -> bool {
    // Most names are plain and longer than any device's, and this runs for every skill.
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    // There is no early exit, so that the compiler makes wide compares of it.
    let all_plain = || folder.bytes().fold(true, |all, b| all & is_plain(b));
    if folder.len() > LONGEST_DEVICE && all_plain() {
        return false;
    }
    folder.ends_with(['.', ' '])
        || folder
            .bytes()
            .any(|b| matches!(b, b'<' | b'>' | b':' | b'"' | b'\\' | b'|' | b'?' | b'*'))
        || is_device_name(folder)
}

const LONGEST_DEVICE: usize = 5;

/// Tells if a folder name is that of a device on Windows, with any extension.
fn is_device_name(folder: &str) -> bool {
    let stem = folder.split('.').next().unwrap_or_default().trim_end();
    let is = |device: &str| stem.eq_ignore_ascii_case(device);
    let numbered = |device: &str| {
        stem.get(..3)
            .is_some_and(|start| start.eq_ignore_ascii_case(device))
            && stem.get(3..).is_some_and(|rest| {
                matches!(rest.as_bytes(), [b'1'..=b'9']) || matches!(rest, "¹" | "²" | "³")
            })
    };
    match stem.len() {
        3 => is("con") || is("prn") || is("aux") || is("nul"),
        4 | 5 => numbered("com") || numbered("lpt"),
        _ => false,
    }
}

fn printable(name: &str) -> String {
    grove_spec::text::without_controls(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_paths_below_the_root() {
        for (layout, path, root, expected) in [
            (SkillLayout::Folder, "shell/tmux", "/r/skills", "shell/tmux"),
            (SkillLayout::Folder, "pdf", "/r/skills", "pdf"),
            (SkillLayout::Flat, "notes", "/r/skills", "notes"),
            (SkillLayout::Root, "", "/r/my-skill", "my-skill"),
            (SkillLayout::Root, "", "/", "root"),
        ] {
            assert_eq!(&*id(layout, path.into(), Path::new(root)), expected);
        }
        assert_eq!(folder_of("shell/tmux"), "tmux");
        assert_eq!(folder_of("tmux"), "tmux");
    }

    #[test]
    fn one_visible_name_is_one_key() {
        assert_eq!(name_key("cafe\u{301}"), name_key("caf\u{e9}"));
        assert_ne!(name_key("Deploy"), name_key("deploy"));
        assert_eq!(collision_key("Deploy"), collision_key("deploy"));
        assert_eq!(collision_key("CAFE\u{301}"), collision_key("caf\u{e9}"));
        assert_ne!(collision_key("a"), collision_key("b"));
    }

    #[test]
    fn portable_names() {
        for bad in [
            "CON", "aux", "nul.txt", "com1", "LPT9.md", "dot.", "sp ", "a:b", "x?", "a\\b",
        ] {
            assert!(is_unportable(bad), "{bad}");
        }
        for good in [
            "con-tact",
            "auxiliary",
            "com10",
            "lpt",
            "com",
            "a.b",
            "skill",
            "日本",
            "company1",
        ] {
            assert!(!is_unportable(good), "{good}");
        }
    }
}
