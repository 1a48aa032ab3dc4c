//! The check if content may be used before the user has reviewed it.
//!
//! A pin records a reviewed file together with the kinds that it counts as: a text that was reviewed as a skill was not
//! reviewed as an agent, and a manifest can make it one without a change to its file.
//!
//! A skill is trusted with everything in its folder ([`crate::folder_content`]). The folder of another skill inside it,
//! a declared child, belongs to that skill and is not checked for the outer one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_spec::package::EntryKind;

use crate::digest::Digest;
use crate::folder_content::{self, FolderContentEntry, SkillFolders};
use crate::state::{EntryState, StateReason};
use grove_spec::text::one_line;

/// The trust in a root's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootTrust {
    /// The user's own, or part of Grove.
    Trusted,
    /// A project without a grant.
    Untrusted,
    /// A project with a grant: reviewed files are trusted as they were.
    Pinned {
        /// The [`pin`] of each reviewed file, by path below the granted folder.
        pins: Arc<BTreeMap<String, String>>,
        /// The root's own path below the granted folder, with a `/` at its end.
        prefix: String,
        /// The present content of the folders of the root's skills.
        folders: Arc<SkillFolders>,
    },
    /// A project with a grant, whose settings name the root and have changed since the review: they decide which
    /// folders count and which goes first.
    NamedAnew {
        /// The path of the settings file.
        by: PathBuf,
    },
    /// A project that the chosen host does not trust.
    NotByHost {
        /// The title of the host.
        host: String,
    },
}

/// Returns the record of a reviewed file: its digest, and the kinds that it counts as. A file that only holds settings
/// or instructions counts as no kind.
pub fn pin(digest: &Digest, kinds: impl IntoIterator<Item = EntryKind>) -> String {
    let words = kinds.into_iter().map(EntryKind::word);
    let all: Vec<String> = std::iter::once(digest.to_string())
        .chain(words.map(str::to_owned))
        .collect();
    all.join(" ")
}

/// Returns the pin of a file that counts as some kind and is also an entry of a skill's folder.
pub fn pin_with_entry(file_pin: &str, entry: &FolderContentEntry) -> String {
    format!("{file_pin} {}", entry.words())
}

/// Returns true if a pin is of this content, with any kinds.
pub fn is_of(pin: &str, digest: &str) -> bool {
    digest_word(pin) == digest
}

/// Returns the digest in a pin, as it is written; some other word if there is none.
pub fn digest_word(pin: &str) -> &str {
    pin.split_once(' ').map_or(pin, |(digest, _)| digest)
}

/// Returns true if a pin is of a file or of a link, and not of a folder.
pub fn is_file(pin: &str) -> bool {
    FolderContentEntry::of_pin(pin) != Some(FolderContentEntry::Folder)
}

/// Returns a path below a granted folder without `.` and `..`, by its text alone: the key of a pin.
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

fn counted_as(pin: &str, kind: EntryKind) -> bool {
    let mut words = folder_content::words_of(pin).split(' ').skip(1);
    words.any(|word| word == kind.word())
}

/// Judges one file of a root that counts as one kind, or as none; `None` means it may be used. A skill is judged with
/// its folder.
pub fn judge(
    trust: &RootTrust,
    file_below_root: &str,
    digest: Option<&Digest>,
    kind: Option<EntryKind>,
) -> Option<(EntryState, StateReason)> {
    match trust {
        RootTrust::Trusted => None,
        RootTrust::Untrusted => Some((
            EntryState::Untrusted,
            StateReason::new(
                "untrusted",
                "the project is not trusted",
                "review the project, then run `grove trust`",
            ),
        )),
        RootTrust::NamedAnew { by } => Some((
            EntryState::Changed,
            StateReason::new(
                "changed",
                format!(
                    "{} names it and changed since the project was trusted",
                    by.display()
                ),
                "review both, then run `grove trust` again",
            ),
        )),
        RootTrust::NotByHost { host } => Some((
            EntryState::Untrusted,
            StateReason::new(
                "untrusted",
                format!("{host} does not trust this project, so it reads no agents of it"),
                format!("review the project, then start {host} in it and trust it there"),
            ),
        )),
        RootTrust::Pinned {
            pins,
            prefix,
            folders,
        } => {
            let (code, message) = judge_file(pins, prefix, file_below_root, digest, kind)
                .or_else(|| judge_folder(pins, prefix, folders, file_below_root, kind))?;
            let fix = "review it, then run `grove trust` again";
            Some((EntryState::Changed, StateReason::new(code, message, fix)))
        }
    }
}

/// Returns the code and message for a fault in a file's own content.
fn judge_file(
    pins: &BTreeMap<String, String>,
    prefix: &str,
    file_below_root: &str,
    digest: Option<&Digest>,
    kind: Option<EntryKind>,
) -> Option<(&'static str, String)> {
    let Some(pin) = pins.get(&plain(&format!("{prefix}{file_below_root}"))) else {
        let message = "the file is new since the project was trusted";
        return Some(("new", message.to_owned()));
    };
    if !digest.is_some_and(|digest| is_of(pin, &digest.to_string())) {
        let message = "the file changed since the project was trusted";
        return Some(("changed", message.to_owned()));
    }
    let kind = kind.filter(|kind| !counted_as(pin, *kind))?;
    let word = kind.word();
    let message = format!("the file was not among the {word} when the project was trusted");
    Some(("changed", message))
}

/// Returns the code and message for a fault in the folder of a skill's file.
fn judge_folder(
    pins: &BTreeMap<String, String>,
    prefix: &str,
    folders: &SkillFolders,
    file_below_root: &str,
    kind: Option<EntryKind>,
) -> Option<(&'static str, String)> {
    let id = match file_below_root.rsplit_once('/') {
        Some((folder, "SKILL.md")) => folder,
        None if file_below_root == "SKILL.md" => "",
        _ => return None,
    };
    if kind != Some(EntryKind::Skills) {
        return None;
    }
    let folder = plain(&format!("{prefix}{id}"));
    let Some(pin) = pins.get(&folder) else {
        let message = "the project was trusted before Grove looked at all files of a skill";
        return Some(("folder-not-seen", message.to_owned()));
    };
    let Some(content) = folders.get(id) else {
        let message = "the skill's folder cannot be read";
        return Some(("changed", message.to_owned()));
    };
    if let Some(problem) = &content.problem {
        let message = format!("not all of the skill's folder can be checked: {problem}");
        return Some(("folder-not-checked", message));
    }
    let nested = nested_folders(folders, id);
    let changes = content.changes_since(&pinned_entries(pins, &folder, pin, &nested));
    if changes.is_empty() {
        return None;
    }
    let message = format!("{} since the project was trusted", listed(&changes));
    Some(("changed", message))
}

/// Returns the folders of other skills in a skill's folder, by path below it; the map's keys are the skill folders.
pub fn nested_folders<'a, T>(folders: &'a BTreeMap<String, T>, id: &str) -> Vec<&'a str> {
    let above = match id {
        "" => String::new(),
        id => format!("{id}/"),
    };
    let others = folders.range(above.clone()..);
    let inside = others.map_while(|(other, _)| other.strip_prefix(&above));
    inside.filter(|other| !other.is_empty()).collect()
}

/// Returns the pinned entries of a folder, by path below it, without those of nested skills.
fn pinned_entries(
    pins: &BTreeMap<String, String>,
    folder: &str,
    own: &str,
    nested: &[&str],
) -> BTreeMap<String, FolderContentEntry> {
    let below = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let entries = pins.range(below.clone()..);
    let entries = entries.map_while(|(path, pin)| Some((path.strip_prefix(&below)?, pin)));
    let is_nested = |path: &str| {
        let inside = |rest: &str| rest.is_empty() || rest.starts_with('/');
        nested
            .iter()
            .any(|other| path.strip_prefix(other).is_some_and(inside))
    };
    let entries = entries.filter(|(path, _)| !path.is_empty() && !is_nested(path));
    let all = std::iter::once(("", own)).chain(entries.map(|(path, pin)| (path, pin.as_str())));
    // A file that was pinned only as something else was not reviewed as a part of the skill.
    all.filter_map(|(path, pin)| Some((path.to_owned(), FolderContentEntry::of_pin(pin)?)))
        .collect()
}

const MAX_NAMED: usize = 3;

fn listed(changes: &[(String, &'static str)]) -> String {
    let one = |(path, what): &(String, &'static str)| format!("`{}` {what}", one_line(path));
    let mut named: Vec<String> = changes.iter().take(MAX_NAMED).map(one).collect();
    if let Some(more) = changes
        .len()
        .checked_sub(MAX_NAMED)
        .filter(|more| *more > 0)
    {
        named.push(format!("and {more} more"));
    }
    named.join(", ")
}

/// Returns true if a folder may be a project: home, folders above it, and temporary folders never may.
pub fn may_be_project(folder: &Path, home: Option<&Path>, temporary: &Path) -> bool {
    let is_temporary = folder == temporary || TEMPORARY.iter().any(|one| folder == Path::new(one));
    let is_homes = home.is_some_and(|home| home.starts_with(folder));
    folder.parent().is_some() && !is_homes && !is_temporary
}

/// Folders for temporary files of all users, whatever a variable says.
const TEMPORARY: [&str; 5] = ["/tmp", "/var/tmp", "/usr/tmp", "/private/tmp", "/dev/shm"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_hold_content_not_names() {
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let pins: BTreeMap<_, _> = [(
            ".agents/skills/a.md".to_owned(),
            pin(&old, [EntryKind::Skills]),
        )]
        .into();
        let pinned = RootTrust::Pinned {
            pins: Arc::new(pins),
            prefix: ".agents/skills/".to_owned(),
            folders: Arc::default(),
        };
        let state = |trust: &RootTrust, file: &str, digest: &Digest| {
            judge(trust, file, Some(digest), Some(EntryKind::Skills))
                .map(|(state, reason)| (state, reason.code))
        };
        for (trust, file, digest, expected) in [
            (&RootTrust::Trusted, "a.md", &new, None),
            (
                &RootTrust::Untrusted,
                "a.md",
                &old,
                Some((EntryState::Untrusted, "untrusted".to_owned())),
            ),
            (&pinned, "a.md", &old, None),
            (
                &pinned,
                "a.md",
                &new,
                Some((EntryState::Changed, "changed".to_owned())),
            ),
            (
                &pinned,
                "b.md",
                &old,
                Some((EntryState::Changed, "new".to_owned())),
            ),
        ] {
            assert_eq!(state(trust, file, digest), expected, "{file}");
        }
        assert!(
            judge(&pinned, "a.md", None, Some(EntryKind::Skills)).is_some(),
            "what was not read is not as it was"
        );
    }

    #[test]
    fn what_was_seen_as_one_kind_was_not_seen_as_another() {
        let digest = Digest::of(b"text");
        for (seen_as, asked, is_used) in [
            (&[EntryKind::Skills][..], Some(EntryKind::Skills), true),
            (&[EntryKind::Skills], Some(EntryKind::Agents), false),
            (&[EntryKind::Agents], Some(EntryKind::Chains), false),
            (
                &[EntryKind::Skills, EntryKind::Agents],
                Some(EntryKind::Agents),
                true,
            ),
            (
                &[EntryKind::Skills, EntryKind::Agents],
                Some(EntryKind::Chains),
                false,
            ),
            (&[], Some(EntryKind::Skills), false),
            (&[], None, true),
            (&[EntryKind::Skills], None, true),
        ] {
            let seen = pin(&digest, seen_as.iter().copied());
            let pinned = RootTrust::Pinned {
                pins: Arc::new([("x.md".to_owned(), seen)].into()),
                prefix: String::new(),
                folders: Arc::default(),
            };
            let judged = judge(&pinned, "x.md", Some(&digest), asked);
            assert_eq!(judged.is_none(), is_used, "{seen_as:?} {asked:?}");
        }
    }

    #[test]
    fn a_skill_is_judged_with_its_folder_and_without_those_of_other_skills() {
        let file = |text: &str| FolderContentEntry::File {
            digest: Some(Digest::of(text.as_bytes())),
            executable: false,
        };
        let own = pin_with_entry(
            &pin(&Digest::of(b"text"), [EntryKind::Skills]),
            &file("text"),
        );
        let seen = [
            ("r/a", FolderContentEntry::Folder.pin()),
            ("r/a/SKILL.md", own.clone()),
            ("r/a/run.sh", file("run").pin()),
            ("r/a/child", FolderContentEntry::Folder.pin()),
            ("r/a/child/SKILL.md", own.clone()),
            ("r/a/childish", file("x").pin()),
            ("r/ab", file("beside").pin()),
            (
                "r/old/SKILL.md",
                pin(&Digest::of(b"text"), [EntryKind::Skills]),
            ),
        ];
        let content = |entries: &[(&str, &str)]| {
            let entries = entries
                .iter()
                .map(|(path, text)| ((*path).to_owned(), file(text)));
            let own = [
                (String::new(), FolderContentEntry::Folder),
                ("SKILL.md".to_owned(), file("text")),
            ];
            crate::folder_content::FolderContent {
                entries: own.into_iter().chain(entries).collect(),
                problem: None,
            }
        };
        let whole: &[(&str, &str)] = &[("run.sh", "run"), ("childish", "x")];
        let said = |id: &str, a: crate::folder_content::FolderContent| {
            let folders = [("a", a), ("a/child", content(&[])), ("old", content(&[]))];
            let pinned = RootTrust::Pinned {
                pins: Arc::new(
                    seen.clone()
                        .map(|(path, pin)| (path.to_owned(), pin))
                        .into(),
                ),
                prefix: "r/".to_owned(),
                folders: Arc::new(folders.map(|(id, it)| (id.to_owned(), it)).into()),
            };
            let file = format!("{id}/SKILL.md");
            judge(
                &pinned,
                &file,
                Some(&Digest::of(b"text")),
                Some(EntryKind::Skills),
            )
            .map(|(state, reason)| {
                assert_eq!(state, EntryState::Changed);
                reason.message
            })
        };
        assert_eq!(said("a", content(whole)), None);
        assert_eq!(said("a/child", content(whole)), None);
        for (entries, message) in [
            (
                &[("run.sh", "other"), ("childish", "x")][..],
                "`run.sh` changed",
            ),
            (&[("run.sh", "run")], "`childish` was removed"),
            (
                &[("run.sh", "run"), ("childish", "x"), ("new", "")],
                "`new` was added",
            ),
            (
                &[
                    ("1", ""),
                    ("2", ""),
                    ("3", ""),
                    ("4", ""),
                    ("run.sh", "run"),
                    ("childish", "x"),
                ],
                "`1` was added, `2` was added, `3` was added, and 1 more",
            ),
        ] {
            let expected = format!("{message} since the project was trusted");
            assert_eq!(said("a", content(entries)), Some(expected));
        }
        let partial = crate::folder_content::FolderContent {
            problem: Some("it has more than 3 entries".to_owned()),
            ..content(whole)
        };
        assert!(said("a", partial).unwrap().contains("more than 3 entries"));
        let old = said("old", content(whole)).unwrap();
        assert!(old.contains("before Grove looked at all files"), "{old}");
        assert_eq!(
            said("gone", content(whole)).as_deref(),
            Some("the file is new since the project was trusted")
        );
    }

    #[test]
    fn what_settings_name_waits_while_they_are_not_as_seen() {
        let by = PathBuf::from("/p/.pi/settings.json");
        let judged = judge(
            &RootTrust::NamedAnew { by },
            "x/SKILL.md",
            Some(&Digest::of(b"text")),
            Some(EntryKind::Skills),
        );
        assert_eq!(judged.map(|(state, _)| state), Some(EntryState::Changed));
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
            ("/home", false),
            ("/homes", true),
            ("/var/tmp", false),
            ("/var/tmp/x", true),
            ("/dev/shm", false),
            ("/scratch", false),
        ] {
            assert_eq!(
                may_be_project(Path::new(folder), Some(home), Path::new("/scratch")),
                expected,
                "{folder}"
            );
        }
    }
}
