//! Whether content may be used before somebody has looked at it.
//!
//! What was seen is remembered with as what it was seen: a text that somebody reviewed as a skill was not reviewed as an
//! agent, and a manifest can make it one without a change to its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_spec::package::Kind;

use crate::state::{Reason, State};
use grove_spec::Digest;

/// How far a root's content is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The user's own, or part of Grove.
    Trusted,
    /// A project without a grant.
    Untrusted,
    /// A project with a grant: files that were seen are trusted as they were.
    Pinned {
        /// The [`pin`] of each file when it was seen, by path below the granted folder.
        pins: Arc<BTreeMap<String, String>>,
        /// The root's own path below the granted folder, with a `/` at its end.
        prefix: String,
    },
    /// A project with a grant, whose settings name the root and are not as they were seen: which folders count and
    /// which goes first is theirs to say.
    NamedAnew {
        /// The settings file.
        by: PathBuf,
    },
}

/// What is remembered of a file that was seen: its content, and as what it counted. A file that only sets or tells
/// something counts as nothing.
pub fn pin(digest: &Digest, kinds: impl IntoIterator<Item = Kind>) -> String {
    let words = kinds.into_iter().map(Kind::word);
    let all: Vec<String> = std::iter::once(digest.to_string())
        .chain(words.map(str::to_owned))
        .collect();
    all.join(" ")
}

/// Whether a pin is of this content, whatever it counted as.
pub fn is_of(pin: &str, digest: &str) -> bool {
    pin.split(' ').next() == Some(digest)
}

/// A path below a granted folder without `.` and `..`, by how it is written: the key of a pin.
pub fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn counted_as(pin: &str, kind: Kind) -> bool {
    pin.split(' ').skip(1).any(|word| word == kind.word())
}

/// Judges one file of a root that counts as one of a kind, or as none; `None` means it may be used.
pub fn judge(
    trust: &Trust,
    file_below_root: &str,
    digest: Option<&Digest>,
    kind: Option<Kind>,
) -> Option<(State, Reason)> {
    match trust {
        Trust::Trusted => None,
        Trust::Untrusted => Some((
            State::Untrusted,
            Reason::new(
                "untrusted",
                "the project is not trusted",
                "review the project, then run `grove trust`",
            ),
        )),
        Trust::NamedAnew { by } => Some((
            State::Changed,
            Reason::new(
                "changed",
                format!(
                    "{} names it and changed since the project was trusted",
                    by.display()
                ),
                "review both, then run `grove trust` again",
            ),
        )),
        Trust::Pinned { pins, prefix } => {
            let seen = pins.get(&plain(&format!("{prefix}{file_below_root}")));
            let digest = digest.map(Digest::to_string).unwrap_or_default();
            match seen {
                Some(pin) if is_of(pin, &digest) => {
                    let kind = kind.filter(|kind| !counted_as(pin, *kind))?;
                    Some((
                        State::Changed,
                        Reason::new(
                            "changed",
                            format!(
                                "the file was not among the {} when the project was trusted",
                                kind.word()
                            ),
                            "review it, then run `grove trust` again",
                        ),
                    ))
                }
                Some(_) => Some((
                    State::Changed,
                    Reason::new(
                        "changed",
                        "the file changed since the project was trusted",
                        "review it, then run `grove trust` again",
                    ),
                )),
                None => Some((
                    State::Changed,
                    Reason::new(
                        "new",
                        "the file is new since the project was trusted",
                        "review it, then run `grove trust` again",
                    ),
                )),
            }
        }
    }
}

/// Whether a folder may be a project at all: home, the root folder and the temporary folder never are.
pub fn may_be_project(folder: &Path, home: Option<&Path>, temporary: &Path) -> bool {
    folder.parent().is_some() && Some(folder) != home && folder != temporary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_hold_content_not_names() {
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let pins: BTreeMap<_, _> = [(
            ".agents/skills/a/SKILL.md".to_owned(),
            pin(&old, [Kind::Skills]),
        )]
        .into();
        let pinned = Trust::Pinned {
            pins: Arc::new(pins),
            prefix: ".agents/skills/".to_owned(),
        };
        let state = |trust: &Trust, file: &str, digest: &Digest| {
            judge(trust, file, Some(digest), Some(Kind::Skills))
                .map(|(state, reason)| (state, reason.code))
        };
        for (trust, file, digest, expected) in [
            (&Trust::Trusted, "a/SKILL.md", &new, None),
            (
                &Trust::Untrusted,
                "a/SKILL.md",
                &old,
                Some((State::Untrusted, "untrusted".to_owned())),
            ),
            (&pinned, "a/SKILL.md", &old, None),
            (
                &pinned,
                "a/SKILL.md",
                &new,
                Some((State::Changed, "changed".to_owned())),
            ),
            (
                &pinned,
                "b/SKILL.md",
                &old,
                Some((State::Changed, "new".to_owned())),
            ),
        ] {
            assert_eq!(state(trust, file, digest), expected, "{file}");
        }
        assert!(
            judge(&pinned, "a/SKILL.md", None, Some(Kind::Skills)).is_some(),
            "what was not read is not as it was"
        );
    }

    #[test]
    fn what_was_seen_as_one_kind_was_not_seen_as_another() {
        let digest = Digest::of(b"text");
        for (seen_as, asked, is_used) in [
            (&[Kind::Skills][..], Some(Kind::Skills), true),
            (&[Kind::Skills], Some(Kind::Agents), false),
            (&[Kind::Agents], Some(Kind::Chains), false),
            (&[Kind::Skills, Kind::Agents], Some(Kind::Agents), true),
            (&[Kind::Skills, Kind::Agents], Some(Kind::Chains), false),
            (&[], Some(Kind::Skills), false),
            (&[], None, true),
            (&[Kind::Skills], None, true),
        ] {
            let seen = pin(&digest, seen_as.iter().copied());
            let pinned = Trust::Pinned {
                pins: Arc::new([("x.md".to_owned(), seen)].into()),
                prefix: String::new(),
            };
            let judged = judge(&pinned, "x.md", Some(&digest), asked);
            assert_eq!(judged.is_none(), is_used, "{seen_as:?} {asked:?}");
        }
    }

    #[test]
    fn what_settings_name_waits_while_they_are_not_as_seen() {
        let by = PathBuf::from("/p/.pi/settings.json");
        let judged = judge(
            &Trust::NamedAnew { by },
            "x/SKILL.md",
            Some(&Digest::of(b"text")),
            Some(Kind::Skills),
        );
        assert_eq!(judged.map(|(state, _)| state), Some(State::Changed));
    }

    #[test]
    fn a_file_has_one_key_however_its_path_is_written() {
        for (path, expected) in [
            ("a/b.md", "a/b.md"),
            (".codex/../roles/x.toml", "roles/x.toml"),
            (".codex/./x.toml", ".codex/x.toml"),
            ("a//b", "a/b"),
        ] {
            assert_eq!(plain(path), expected, "{path}");
        }
    }

    #[test]
    fn home_root_and_temporary_folder_are_no_projects() {
        let home = Path::new("/home/me");
        for (folder, expected) in [
            ("/", false),
            ("/home/me", false),
            ("/tmp", false),
            ("/tmp/x", true),
            ("/home/me/p", true),
            ("/home", true),
        ] {
            assert_eq!(
                may_be_project(Path::new(folder), Some(home), Path::new("/tmp")),
                expected,
                "{folder}"
            );
        }
    }
}
