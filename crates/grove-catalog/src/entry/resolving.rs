//! Resolves files to entries with their states: the strongest root first, one file once, one entry of a name.

use std::borrow::Borrow;
use std::cmp::Ordering;

use grove_spec::Diagnostic;
use grove_spec::package::EntryKind;

use super::Entry;
use super::same_name::apply_rank;
use crate::digest::{Digest, append_field};
use crate::hosts::SameNameRule;
use crate::rank;
use crate::root::Root;
use crate::state::{EntryState, StateReason};
use crate::trust::{self, RootTrust};

/// A file that was found in a root, before anything is decided about it.
pub(crate) trait Candidate {
    fn root(&self) -> usize;

    fn set_root(&mut self, root: usize);

    /// The order of two files of one root.
    fn in_order(&self, other: &Self) -> Ordering;

    /// Device and inode, if it could be opened.
    fn file(&self) -> Option<(u64, u64)>;

    /// Returns its name in the file, if the file holds several.
    fn member(&self) -> Option<&str> {
        None
    }

    fn through_link(&self) -> bool {
        false
    }
}

/// The rules that choose among several entries of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRules {
    pub(crate) same_name: SameNameRule,
    /// Set if a file that Grove wrote for a host gives way to its source, wherever the two are.
    pub(crate) sources_first: bool,
}

/// A set of entries while it is resolved: each was judged by itself, and none was compared with others.
pub(crate) struct Unranked<E> {
    roots: Vec<Root>,
    all: Vec<E>,
}

impl<E: Entry> Unranked<E> {
    /// Judges each file by itself. A file that is reached by several paths is one entry, at the best usable place.
    pub(crate) fn new<F: Candidate>(
        mut roots: Vec<Root>,
        mut files: Vec<F>,
        mut judge: impl FnMut(&[Root], F) -> E,
        add_place: impl Fn(&mut E, E),
    ) -> Self {
        sort_by_strength(&mut roots, &mut files);
        let several = paths_to_one_file(&files);
        let judged = files.into_iter().map(|file| judge(&roots, file));
        let all = merge_same_files(judged.collect(), several, add_place);
        Self { roots, all }
    }

    /// Changes entries, or switches them off, before they are compared.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut [E], &[Root])) {
        change(&mut self.all, &self.roots);
    }

    pub(crate) fn rank(mut self, rules: NameRules) -> (Vec<Root>, Vec<E>) {
        apply_rank(&mut self.all, &self.roots, rules);
        (self.roots, self.all)
    }
}

pub(crate) fn invalid<'a>(
    findings: impl IntoIterator<Item = &'a Diagnostic>,
) -> Option<(EntryState, Vec<StateReason>)> {
    let errors = findings.into_iter().filter(|finding| finding.is_error());
    let reasons: Vec<StateReason> = errors
        .map(|error| StateReason::new(error.code.as_str(), &*error.message, error.help_text()))
        .collect();
    (!reasons.is_empty()).then_some((EntryState::Invalid, reasons))
}

/// Returns the state of an entry that may not be used before a person has reviewed it. Each of its files was pinned by
/// itself, so that the reason names the file that changed.
pub(crate) fn untrusted<P: AsRef<str>, D: Borrow<Digest>>(
    root: &Root,
    kind: EntryKind,
    files: impl IntoIterator<Item = (P, Option<D>)>,
) -> Option<(EntryState, Vec<StateReason>)> {
    if root.trust == RootTrust::Trusted {
        return None;
    }
    let (state, reason) = files.into_iter().find_map(|(path, digest)| {
        let digest = digest.as_ref().map(Borrow::borrow);
        trust::judge(&root.trust, path.as_ref(), digest, Some(kind))
    })?;
    Some((state, vec![reason]))
}

/// Returns the bytes of what a reader can see: roots, and each entry's places, name, content, state and reasons.
pub(crate) fn digest_fields<E: Entry>(roots: &[Root], all: &[E]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(all.len() * 128 + 64);
    let mut field = |field: &[u8]| append_field(&mut bytes, field);
    for root in roots {
        field(root.label.as_bytes());
        field(root.path.as_os_str().as_encoded_bytes());
    }
    for entry in all {
        for (root, id) in entry.ids(&[]) {
            field(&(root as u64).to_le_bytes());
            field(id.as_bytes());
        }
        field(entry.name().as_bytes());
        field(entry.state().as_str().as_bytes());
        for reason in entry.reasons() {
            field(reason.code.as_bytes());
            field(reason.message.as_bytes());
        }
        entry.digest_fields(&mut field);
    }
    bytes
}

/// Puts the strongest root first and files in the order of roots.
fn sort_by_strength<F: Candidate>(roots: &mut Vec<Root>, files: &mut [F]) {
    let mut sorted: Vec<(usize, Root)> = std::mem::take(roots).into_iter().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| rank::stronger_first(a, b));
    let mut place = vec![0; sorted.len()];
    for (new, (old, _)) in sorted.iter().enumerate() {
        if let Some(slot) = place.get_mut(*old) {
            *slot = new;
        }
    }
    roots.extend(sorted.into_iter().map(|(_, root)| root));
    for file in files.iter_mut() {
        debug_assert!(
            file.root() < place.len(),
            "a file is in a root that is given"
        );
        file.set_root(place.get(file.root()).copied().unwrap_or(0));
    }
    let in_order = |a: &F, b: &F| a.root().cmp(&b.root()).then_with(|| a.in_order(b));
    // The files of a walk are sorted already, so this is nearly always a check and not a sort.
    if !files.is_sorted_by(|a, b| in_order(a, b).is_le()) {
        files.sort_by(in_order);
    }
}

/// Indexes of files that are one file; the flag is set if a link leads to that path.
type PathsToOneFile = Vec<Vec<(usize, bool)>>;

fn paths_to_one_file<F: Candidate>(files: &[F]) -> PathsToOneFile {
    // Comparing inode numbers alone is much cheaper, and shows in the usual case that no file is met twice.
    let inodes = files.iter().filter_map(|file| Some(file.file()?.1));
    let mut inodes: Vec<u64> = inodes.collect();
    inodes.sort_unstable();
    if !inodes
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a == b))
    {
        return Vec::new();
    }
    let mut keyed: Vec<_> = files
        .iter()
        .enumerate()
        .filter_map(|(at, file)| Some((file.file()?, file.member(), at, file.through_link())))
        .collect();
    keyed.sort_unstable();
    keyed
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .filter(|group| group.len() > 1)
        .map(|group| group.iter().map(|(.., at, link)| (*at, *link)).collect())
        .collect()
}

fn merge_same_files<E: Entry>(
    all: Vec<E>,
    several: PathsToOneFile,
    add_place: impl Fn(&mut E, E),
) -> Vec<E> {
    if several.is_empty() {
        return all;
    }
    let mut all: Vec<Option<E>> = all.into_iter().map(Some).collect();
    for group in several {
        let best = group.iter().min_by_key(|(at, through_link)| {
            let entry = all.get(*at).and_then(Option::as_ref);
            let is_usable = entry.is_some_and(|entry| entry.state().is_usable());
            (!is_usable, entry.map(Entry::root), *through_link, *at)
        });
        let Some((best, _)) = best.copied() else {
            continue;
        };
        for (at, _) in group.iter().filter(|(at, _)| *at != best) {
            let other = all.get_mut(*at).and_then(Option::take);
            if let (Some(other), Some(Some(entry))) = (other, all.get_mut(best)) {
                add_place(entry, other);
            }
        }
    }
    all.into_iter().flatten().collect()
}
