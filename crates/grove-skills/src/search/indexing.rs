//! Making the index of a snapshot, reading only the files that no index knows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::search::{IndexBuilder, Meanings, SearchDocument, SearchIndex, searchable};
use grove_catalog::snapshot::Skill;
use grove_fs::stamp::fingerprint;

use super::{SearchedSkills, digest_of};

pub(super) struct MadeIndex {
    pub(super) bytes: Vec<u8>,
    pub(super) read: usize,
    /// The files that are no longer what the snapshot says.
    pub(super) changed: Vec<PathBuf>,
}

/// Makes the index of a snapshot; what an older one knows is taken from there.
pub(super) fn make(
    skills: SearchedSkills<'_>,
    meanings: Option<Arc<dyn Meanings>>,
    older: Option<&SearchIndex>,
) -> MadeIndex {
    let snapshot = skills.snapshot;
    let known: HashMap<u128, u32> = older.map_or_else(HashMap::new, |index| {
        let documents = 0..index.documents();
        documents
            .filter_map(|at| Some((index.key(at)?, at)))
            .collect()
    });
    let mut builder = IndexBuilder::new(meanings);
    let (mut read, mut changed) = (0, Vec::new());
    for (_, skill) in searchable(snapshot) {
        let key = key(skill);
        if let (Some(index), Some(at)) = (older, known.get(&key))
            && builder.keep(index, *at)
        {
            continue;
        }
        read += 1;
        let source = skills.files.read(skill);
        let source = source.and_then(|bytes| String::from_utf8(bytes).ok());
        let body = source
            .as_deref()
            .and_then(|text| text.get(skill.content.parsed().body_offset..));
        if body.is_none() {
            changed.push(snapshot.location(&skill.place));
        }
        builder.add(&SearchDocument {
            // A file that could not be read must be looked at again by the next index.
            key: if body.is_some() { key } else { 0 },
            name: skill.name(),
            id: skill.id(),
            description: skill.description().unwrap_or_default(),
            body: body.unwrap_or_default(),
        });
    }
    MadeIndex {
        bytes: builder.finish(digest_of(snapshot)),
        read,
        changed,
    }
}

/// A key that differs whenever a skill's file, name or id does.
fn key(skill: &Skill) -> u128 {
    let mut bytes = skill.content.fingerprint.to_le_bytes().to_vec();
    bytes.extend_from_slice(skill.name().as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(skill.id().as_bytes());
    fingerprint(&bytes).max(1)
}
