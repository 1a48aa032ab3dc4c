//! Files that somebody's settings name as the rest of their agents.
//!
//! A project's settings reach no further than the project, and links neither; a user's name any file. What they
//! say together is judged together: a change of either is a change.

use std::path::{Component, Path};

use grove_catalog::Digest;
use grove_fs::files;
use grove_fs::held_folder::HeldFolder;
use grove_fs::probe_walk::Links;
use grove_spec::agent::Format;
use grove_spec::agent::formats::{self, NamedFile, NamedFiles};

use crate::planning::PlannedRoot;

/// The largest file that is read because settings name it.
const MAX_BYTES: u64 = 256_000;

/// Reads the files that the bytes of a file in a root name.
pub(crate) fn read(planned: &PlannedRoot, bytes: &[u8]) -> NamedFiles {
    let written = formats::named_files(bytes, planned.format).into_iter();
    written
        .map(|written| {
            let file = one(planned, &written);
            (written, file)
        })
        .collect()
}

/// The digest of a file with everything that it names.
pub(crate) fn digest(bytes: &[u8], named: &NamedFiles) -> Digest {
    if named.is_empty() {
        return Digest::of(bytes);
    }
    // Digests of one length stand for paths and texts, so that no two lists give one text.
    let parts = named.iter().flat_map(|(written, file)| {
        let content = file.content.as_ref().map(|bytes| Digest::of(bytes));
        let content = content.map_or_else(|_| "none".to_owned(), |digest| digest.to_string());
        [Digest::of(written.as_bytes()).to_string(), content]
    });
    let all: Vec<String> = std::iter::once(Digest::of(bytes).to_string())
        .chain(parts)
        .collect();
    Digest::of(all.join("\n").as_bytes())
}

fn one(planned: &PlannedRoot, written: &str) -> NamedFile {
    let root = &planned.root.path;
    let at_home = written
        .strip_prefix("~/")
        .filter(|_| planned.format == Format::OpencodeJson);
    let at_home = at_home.and_then(|below| Some(planned.home.as_ref()?.join(below)));
    let is_known = at_home.is_some();
    let path = at_home.unwrap_or_else(|| root.join(written));
    let content = match planned.links() {
        _ if written.starts_with('~') && !is_known => Err("`~` is not followed here".to_owned()),
        Links::Follow => {
            let read = files::read_bounded(&path, MAX_BYTES);
            read.map_err(|error| error.source.to_string())
        }
        Links::Contain => contained(planned.base.as_deref().unwrap_or(root), root, written),
    };
    NamedFile { path, content }
}

/// A file of a project, found beneath the project's folder.
fn contained(base: &Path, root: &Path, written: &str) -> Result<Vec<u8>, String> {
    let below = root.strip_prefix(base).unwrap_or(Path::new(""));
    let below = below_base(below, written).ok_or("it lies outside of the project")?;
    let held = HeldFolder::open(base).map_err(|error| error.source.to_string())?;
    held.read(&below, Links::Contain, MAX_BYTES)
        .map_err(|error| {
            if error.leads_out() {
                "a link leads out of the project".to_owned()
            } else {
                error.source.to_string()
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
    fn a_digest_is_of_everything_that_was_read() {
        let named = |content: Result<Vec<u8>, String>| {
            let file = NamedFile {
                path: "x".into(),
                content,
            };
            NamedFiles::from([("x".to_owned(), file)])
        };
        let mut digests = vec![
            digest(b"a", &NamedFiles::new()),
            digest(b"a", &named(Ok(b"1".to_vec()))),
            digest(b"a", &named(Ok(b"2".to_vec()))),
            digest(b"b", &named(Ok(b"1".to_vec()))),
            digest(b"a", &named(Err("gone".to_owned()))),
        ];
        assert_eq!(digests[0], Digest::of(b"a"));
        let n = digests.len();
        digests.sort_unstable_by_key(ToString::to_string);
        digests.dedup();
        assert_eq!(digests.len(), n);
    }
}
