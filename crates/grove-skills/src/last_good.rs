//! The last good version of a file that is invalid just now.
//!
//! A library that watches sees files while they are being written. A skill that was good a moment ago stays as it was
//! until its file is good again or gone; the fault of the file is reported beside it. A library that discovers once has no
//! last version and keeps nothing.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use grove_catalog::content::SkillContent;
use grove_catalog::identity::SkillLayout;
use grove_catalog::resolve::SkillCandidate;
use grove_spec::{Code, Diagnostic};

use crate::cache::CachedFile;
use crate::loading::LoadedRoot;

/// The bytes of files that are kept for each root; of the files beyond, everything but the body is kept.
const MAX_TEXT: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct StandInCandidate {
    pub(crate) at: usize,
    pub(crate) finding: Diagnostic,
}

pub(crate) struct GoodVersion<'a> {
    pub(crate) content: &'a Arc<SkillContent>,
    text: Option<&'a Arc<[u8]>>,
}

/// The good versions of a root's last load, by layout and id.
pub(crate) struct LastGood<'a> {
    last: Option<&'a LoadedRoot>,
    /// Made when the first invalid file is met, which most loads never do.
    places: OnceLock<HashMap<(u8, &'a str), usize>>,
}

impl<'a> LastGood<'a> {
    pub(crate) fn new(last: Option<&'a LoadedRoot>) -> Self {
        Self {
            last,
            places: OnceLock::new(),
        }
    }

    pub(crate) fn at(&self, layout: SkillLayout, id: &str) -> Option<GoodVersion<'a>> {
        let last = self.last?;
        let index = || {
            let all = last.candidates.iter().enumerate();
            all.filter(|(_, candidate)| candidate.content.flags().valid)
                .map(|(at, candidate)| ((candidate.layout as u8, &*candidate.id), at))
                .collect()
        };
        let places = self.places.get_or_init(index);
        let at = *places.get(&(layout as u8, id))?;
        Some(GoodVersion {
            content: &last.candidates.get(at)?.content,
            text: last.texts.get(at)?.as_ref(),
        })
    }
}

/// Takes a root's candidates, with their last good version where it has to stand in.
pub(crate) struct CandidateKeeper<'a, 'last> {
    keeping: Option<&'a LastGood<'last>>,
    bytes_left: usize,
    /// Numbers of files whose last good version declares children.
    pub(crate) also_declaring: Vec<usize>,
}

impl<'a, 'last> CandidateKeeper<'a, 'last> {
    pub(crate) fn new(keeping: Option<&'a LastGood<'last>>) -> Self {
        Self {
            keeping,
            bytes_left: MAX_TEXT,
            also_declaring: Vec::new(),
        }
    }

    /// The bytes of a file, as long as there is room for them; it loses them otherwise.
    pub(crate) fn text_within_limit(&mut self, known: &mut CachedFile) -> Option<Arc<[u8]>> {
        let length = known.text.as_ref()?.len();
        match self.bytes_left.checked_sub(length) {
            Some(left) => self.bytes_left = left,
            None => known.text = None,
        }
        known.text.clone()
    }

    /// Adds a candidate to those of a root; the number is the file's among all that were read.
    pub(crate) fn take(
        &mut self,
        mut candidate: SkillCandidate,
        mut text: Option<Arc<[u8]>>,
        number: Option<usize>,
        loaded: &mut LoadedRoot,
    ) {
        let Some(last_good) = self.keeping else {
            loaded.candidates.push(candidate);
            return;
        };
        if !candidate.content.flags().valid
            && let Some(good) = last_good.at(candidate.layout, &candidate.id)
        {
            loaded.kept.push(StandInCandidate {
                at: loaded.candidates.len(),
                finding: finding(&candidate.content),
            });
            let keys = good.content.tree_keys();
            if keys.is_some_and(|keys| keys.children.is_some()) {
                self.also_declaring.extend(number);
            }
            candidate.content = Arc::clone(good.content);
            text = good.text.cloned();
        }
        loaded.candidates.push(candidate);
        loaded.texts.push(text);
    }
}

fn finding(invalid: &SkillContent) -> Diagnostic {
    let errors = invalid.parsed().diagnostics.iter();
    let mut errors = errors.filter(|finding| finding.is_error());
    let Some(first) = errors.next() else {
        let message = "the file is invalid; its last good version is used";
        return Diagnostic::new(Code::KeptLastGood, message);
    };
    let message = format!(
        "the last good version is used, because the file is invalid now: {} ({})",
        first.message,
        first.code.as_str()
    );
    Diagnostic {
        position: first.position,
        ..Diagnostic::new(Code::KeptLastGood, message)
    }
    .with_help(first.help_text())
}
