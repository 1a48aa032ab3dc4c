//! Whether content may be used before somebody has looked at it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::digest::Digest;
use crate::state::{Reason, State};

/// How far a root's content is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The user's own, or part of Grove.
    Trusted,
    /// A project without a grant.
    Untrusted,
    /// A project with a grant: files that were seen are trusted as they were.
    Pinned {
        /// The digest of each file when it was seen, by path below the granted folder.
        pins: Arc<BTreeMap<String, String>>,
        /// The root's own path below the granted folder, with a `/` at its end.
        prefix: String,
    },
}

/// Judges one file of a root; `None` means it may be used.
pub fn judge(
    trust: &Trust,
    file_below_root: &str,
    digest: Option<&Digest>,
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
        Trust::Pinned { pins, prefix } => {
            let seen = pins.get(&format!("{prefix}{file_below_root}"));
            let digest = digest.map(Digest::to_string).unwrap_or_default();
            match seen {
                Some(pin) if *pin == digest => None,
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
        let pins: BTreeMap<_, _> =
            [(".agents/skills/a/SKILL.md".to_owned(), old.to_string())].into();
        let pinned = Trust::Pinned {
            pins: Arc::new(pins),
            prefix: ".agents/skills/".to_owned(),
        };
        let state = |trust: &Trust, file: &str, digest: &Digest| {
            judge(trust, file, Some(digest)).map(|(state, reason)| (state, reason.code))
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
            judge(&pinned, "a/SKILL.md", None).is_some(),
            "what was not read is not as it was"
        );
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
