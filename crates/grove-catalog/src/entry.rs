//! The rules that skills, agents and chains share: files with a name, of which one is used.
//!
//! Identity, rank, trust, states, same names, addresses and stand-ins are one set of rules for all three. Each kind
//! adds in [`Entry`] how it is named and told apart, and in what order its files count.

use std::borrow::Cow;
use std::path::PathBuf;

use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic};

use crate::digest::{Digest, append_field};
use crate::report::InvocableJson;
use crate::root::{Root, RootSource};
use crate::state::{EntryState, StateReason};

pub(crate) mod resolving;
mod same_name;

/// The parts of an entry that have the same names in each kind.
macro_rules! verdict_of_fields {
    () => {
        fn verdict(&self) -> Verdict<'_> {
            Verdict {
                state: self.state,
                reasons: &self.reasons,
                stand_in: self.stand_in,
            }
        }

        fn verdict_mut(&mut self) -> VerdictMut<'_> {
            VerdictMut {
                state: &mut self.state,
                reasons: &mut self.reasons,
                stand_in: &mut self.stand_in,
                diagnostics: &mut self.diagnostics,
            }
        }
    };
}

pub(crate) use verdict_of_fields;

/// A skill, an agent or a chain of a resolved set.
pub trait Entry: Sized {
    /// The kind of the entry.
    const KIND: EntryKind;

    /// The finding about several entries of one name in one root.
    const NAME_COLLISION: Code;

    /// Returns the index of its root.
    fn root(&self) -> usize;

    /// Returns every path to its file, its own first: the root's index, and the path below that root.
    fn files(&self) -> impl Iterator<Item = (usize, Cow<'_, str>)>;

    /// Returns the root's index and the id, unique in that root, for each path to its file, its own first.
    fn ids<'a>(&'a self, all: &'a [Self]) -> impl Iterator<Item = (usize, Cow<'a, str>)>;

    /// Returns the short form of its id, which another file beside it may share; none if it has no such form.
    fn short_id(&self) -> Option<&str>;

    /// Returns the name of the entry.
    fn name(&self) -> &str;

    /// Returns its description: the purpose of the entry.
    fn description(&self) -> Option<&str>;

    /// Returns all findings about it.
    fn findings(&self) -> impl Iterator<Item = &Diagnostic>;

    /// Returns the callers that may use it, for kinds whose authors can limit them.
    fn invocable(&self) -> Option<InvocableJson> {
        None
    }

    /// Returns further names by which it is found.
    fn aliases(&self) -> &[String] {
        &[]
    }

    /// Returns the rank of its file in one scope, whatever the folder; smaller is stronger.
    fn strength(&self) -> u8 {
        0
    }

    /// Returns the address of the source of its file, if Grove wrote the file.
    fn generated_from(&self) -> Option<&str> {
        None
    }

    /// Returns the decision about the entry.
    fn verdict(&self) -> Verdict<'_>;

    /// Returns the decision about the entry, to change it.
    fn verdict_mut(&mut self) -> VerdictMut<'_>;

    /// Returns the state, which says if it may be used.
    fn state(&self) -> EntryState {
        self.verdict().state
    }

    /// Returns the reasons for that state.
    fn reasons(&self) -> &[StateReason] {
        self.verdict().reasons
    }

    /// Returns the usable one of the same name that is used instead.
    fn stand_in(&self) -> Option<usize> {
        self.verdict().stand_in
    }

    /// Passes to `field` what a reader can see of it besides its place, name and state.
    fn digest_fields(&self, field: &mut impl FnMut(&[u8]));
}

/// The decision about an entry.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// The state, which says if it may be used.
    pub state: EntryState,
    /// The reasons for that state.
    pub reasons: &'a [StateReason],
    /// The usable one of the same name that is used instead.
    pub stand_in: Option<usize>,
}

/// The decision about an entry, to be changed once all entries are known.
#[derive(Debug)]
pub struct VerdictMut<'a> {
    /// The state, which says if it may be used.
    pub state: &'a mut EntryState,
    /// The reasons for that state.
    pub reasons: &'a mut Vec<StateReason>,
    /// The usable one of the same name that is used instead.
    pub stand_in: &'a mut Option<usize>,
    /// Findings that come from its place.
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

/// All entries of one kind, by root and then in order, with their roots, strongest first.
#[derive(Debug)]
pub struct Entries<'a, E> {
    /// The roots, strongest first.
    pub roots: &'a [Root],
    /// Every entry of the kind.
    pub all: &'a [E],
}

impl<E> Clone for Entries<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Entries<'_, E> {}

impl<'a, E: Entry> Entries<'a, E> {
    /// Returns the root that one is in.
    pub fn root_of(self, entry: &E) -> Option<&'a Root> {
        self.roots.get(entry.root())
    }

    /// Returns the source of an entry, by index.
    pub fn source(self, at: usize) -> Option<RootSource> {
        Some(self.root_of(self.all.get(at)?)?.source)
    }

    /// Returns the absolute path of its file.
    pub fn location(self, entry: &E) -> PathBuf {
        self.locations(entry).next().unwrap_or_default()
    }

    /// Returns the further absolute paths by which its file is reached.
    pub fn further_locations(self, entry: &E) -> impl Iterator<Item = PathBuf> {
        self.locations(entry).skip(1)
    }

    fn locations(self, entry: &E) -> impl Iterator<Item = PathBuf> {
        entry
            .files()
            .map(move |(root, file)| match self.roots.get(root) {
                Some(root) => root.path.join(&*file),
                None => PathBuf::from(&*file),
            })
    }

    /// Returns `id@label`, which names exactly one.
    pub fn address(self, entry: &E) -> String {
        self.addresses(entry).next().unwrap_or_default()
    }

    /// Returns all addresses that lead to one: its own, and those of further paths to its file.
    pub fn addresses<'b>(self, entry: &'b E) -> impl Iterator<Item = String> + 'b
    where
        'a: 'b,
    {
        let ids = entry.ids(self.all);
        ids.map(move |(root, id)| format!("{id}@{}", self.label(root)))
    }

    /// Returns true if an address leads to an entry.
    pub fn is_address(self, entry: &E, query: &str) -> bool {
        entry.ids(self.all).any(|(root, id)| {
            let label = query
                .strip_prefix(&*id)
                .and_then(|rest| rest.strip_prefix('@'));
            label == Some(self.label(root))
        })
    }

    /// Returns true if a query may give the entry it found: a shadowed one is given only by its address.
    pub fn is_given(self, entry: &E, query: &str) -> bool {
        let state = entry.state();
        state.is_offered() || (state.is_usable() && self.is_address(entry, query))
    }

    pub(crate) fn digest(self, diagnostics: &[Diagnostic]) -> Digest {
        let mut bytes = resolving::digest_fields(self.roots, self.all);
        for finding in diagnostics {
            append_field(&mut bytes, finding.message.as_bytes());
        }
        Digest::of(&bytes)
    }

    fn label(self, root: usize) -> &'a str {
        self.roots.get(root).map_or("", |root| root.label.as_str())
    }
}
