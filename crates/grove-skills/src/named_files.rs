//! Files that settings name as the rest of the agents that they define.
//!
//! A project's settings reach no further than the project, and its links neither; a user's settings may name any file.
//! The settings and the file make up one agent: a change of either is a change of the agents that it concerns.

use std::path::{Component, Path};

use grove_catalog::Digest;
use grove_catalog::definitions::NamedTextFile;
use grove_fs::files;
use grove_fs::held_folder::HeldFolder;
use grove_fs::probe_walk::LinkRule;
use grove_spec::agent::AgentFormat;
use grove_spec::agent::formats::{self, NamedFile, NamedFiles};

use crate::planning::PlannedRoot;

/// The largest file that is read because settings name it.
const MAX_BYTES: u64 = 256_000;

pub(crate) fn read(planned: &PlannedRoot, bytes: &[u8]) -> NamedFiles {
    let written = formats::named_files(bytes, planned.format).into_iter();
    written
        .map(|written| {
            let file = one(planned, &written);
            (written, file)
        })
        .collect()
}

/// The file that another one with this digest names, if it was read.
pub(crate) fn rest(named_in: Digest, named: &NamedFiles, written: &str) -> Option<NamedTextFile> {
    let file = named.get(written)?;
    let bytes = file.content.as_ref().ok()?;
    Some(NamedTextFile {
        path: file.path.clone(),
        written: written.to_owned(),
        digest: Digest::of(bytes),
        named_in,
    })
}

/// The digest of a file in a root. Prompts of `OpenCode` may put several files together, and any agent of the settings
/// may name any of them, so the files stand in the digest of the settings; elsewhere each is the rest of one agent.
pub(crate) fn own_digest(planned: &PlannedRoot, bytes: &[u8], named: &NamedFiles) -> Digest {
    let own = Digest::of(bytes);
    if planned.format != AgentFormat::OpencodeJson || named.is_empty() {
        return own;
    }
    let mut all = own.to_string();
    for (written, file) in named {
        // Digests of one length stand for paths and texts, so that no two lists give one text.
        let written = Digest::of(written.as_bytes());
        let content = file.content.as_deref().map(Digest::of);
        let content = content.map_or_else(|_| "unread".to_owned(), |digest| digest.to_string());
        all.extend(["\n", &written.to_string(), "\n", &content]);
    }
    Digest::of(all.as_bytes())
}

pub(crate) fn digest(own: Digest, rest: Option<&NamedTextFile>) -> Digest {
    let Some(rest) = rest else {
        return own;
    };
    // Digests of one length stand for the path and the texts, so that no two lists give one text.
    let written = Digest::of(rest.written.as_bytes());
    Digest::of(format!("{own}\n{written}\n{}", rest.digest).as_bytes())
}

fn one(planned: &PlannedRoot, written: &str) -> NamedFile {
    let root = &planned.root.path;
    let at_home = written
        .strip_prefix("~/")
        .filter(|_| planned.format == AgentFormat::OpencodeJson);
    let at_home = at_home.and_then(|below| Some(planned.home.as_ref()?.join(below)));
    let is_known = at_home.is_some();
    let path = at_home.unwrap_or_else(|| root.join(written));
    let content = match planned.links() {
        _ if written.starts_with('~') && !is_known => Err("`~` is not followed here".to_owned()),
        LinkRule::Follow => {
            let read = files::read_bounded(&path, MAX_BYTES);
            read.map_err(|error| error.source.to_string())
        }
        LinkRule::Contain => {
            let base = planned.base.as_deref().unwrap_or(root);
            contained(base, root, written).map_err(|error| error.to_string())
        }
    };
    // A path that was reached without a link is given as a person would write it.
    let path = match planned.links() {
        LinkRule::Contain => files::plain(&path),
        LinkRule::Follow => path,
    };
    NamedFile { path, content }
}

/// The reason why a project's file was not read beneath the project's folder.
#[derive(Debug, thiserror::Error)]
enum NotContained {
    #[error("it is outside the project")]
    Outside,
    #[error("a link leads out of the project")]
    LeadsOut,
    #[error("{0}")]
    Unread(std::io::Error),
}

/// A file of a project, found beneath the project's folder.
fn contained(base: &Path, root: &Path, written: &str) -> Result<Vec<u8>, NotContained> {
    let below = root.strip_prefix(base).unwrap_or(Path::new(""));
    let below = below_base(below, written).ok_or(NotContained::Outside)?;
    let held = HeldFolder::open(base).map_err(|error| NotContained::Unread(error.source))?;
    held.read(&below, LinkRule::Contain, MAX_BYTES)
        .map_err(|error| {
            if error.leads_out() {
                NotContained::LeadsOut
            } else {
                NotContained::Unread(error.source)
            }
        })
}

/// A path from a folder below a base, as it is below the base; none when it leaves.
fn below_base(folder: &Path, written: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in folder.join(written).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_settings_name_files_of_the_project() {
        for (written, expected) in [
            ("agents/x.toml", Some(".codex/agents/x.toml")),
            ("./x.toml", Some(".codex/x.toml")),
            ("../roles/x.toml", Some("roles/x.toml")),
            ("../../x.toml", None),
            ("a/../../../x.toml", None),
            ("/etc/x.toml", None),
        ] {
            let below = below_base(Path::new(".codex"), written);
            assert_eq!(below.as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn a_digest_is_of_what_one_agent_is_made_of() {
        let named = |content: Result<Vec<u8>, String>| {
            let other = NamedFile {
                path: "y".into(),
                content: Ok(b"other".to_vec()),
            };
            let file = NamedFile {
                path: "x".into(),
                content,
            };
            NamedFiles::from([("x".to_owned(), file), ("y".to_owned(), other)])
        };
        let of = |own: &[u8], content: Result<Vec<u8>, String>, written: &str| {
            let own = Digest::of(own);
            digest(own, rest(own, &named(content), written).as_ref())
        };
        let mut digests = vec![
            of(b"a", Err("gone".to_owned()), "x"),
            of(b"a", Ok(b"1".to_vec()), "x"),
            of(b"a", Ok(b"2".to_vec()), "x"),
            of(b"b", Ok(b"1".to_vec()), "x"),
            of(b"a", Ok(b"1".to_vec()), "y"),
        ];
        assert_eq!(digests[0], Digest::of(b"a"));
        assert_eq!(digests[4], of(b"a", Ok(b"2".to_vec()), "y"));
        let n = digests.len();
        digests.sort_unstable_by_key(ToString::to_string);
        digests.dedup();
        assert_eq!(digests.len(), n);
    }
}
