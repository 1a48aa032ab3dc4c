//! What skills, agents and chains are alike: files with a name, of which one is used.
//!
//! Identity, rank, trust, states, same names, addresses and stand-ins are one set of rules for all three. What a kind
//! adds to them is its part of [`Entry`]: how it is named and told apart, and in what order its files count.

use std::borrow::Cow;
use std::path::PathBuf;

use grove_spec::package::Kind;
use grove_spec::{Code, Diagnostic};

use crate::digest::{Digest, append_field};
use crate::report::InvocableJson;
use crate::root::{Root, Source};
use crate::state::{Reason, State};

pub(crate) mod resolving;
mod same_name;

/// The parts of an entry that are called the same in each kind.
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
    /// What it is.
    const KIND: Kind;

    /// The finding about several of one name in one root.
    const NAME_COLLISION: Code;

    /// Index of its root.
    fn root(&self) -> usize;

    /// Every path to its file, its own first: the root's index, and the path below that root.
    fn files(&self) -> impl Iterator<Item = (usize, Cow<'_, str>)>;

    /// For each path to its file, its own first: the root's index, and what tells it from all others of that root.
    fn ids<'a>(&'a self, all: &'a [Self]) -> impl Iterator<Item = (usize, Cow<'a, str>)>;

    /// The id as somebody types it who knows of no other file beside it.
    fn short_id(&self) -> Option<&str>;

    /// What it is called.
    fn name(&self) -> &str;

    /// What it is for.
    fn description(&self) -> Option<&str>;

    /// Everything that was found about it.
    fn findings(&self) -> impl Iterator<Item = &Diagnostic>;

    /// Who may call it, where authors say so.
    fn invocable(&self) -> Option<InvocableJson> {
        None
    }

    /// Other names it answers to.
    fn aliases(&self) -> &[String] {
        &[]
    }

    /// Which files go first in one scope, whatever their folders; smaller is stronger.
    fn strength(&self) -> u8 {
        0
    }

    /// The address of what Grove wrote its file from, if it did.
    fn generated_from(&self) -> Option<&str> {
        None
    }

    /// What was decided about it.
    fn verdict(&self) -> Verdict<'_>;

    /// The same, to change it.
    fn verdict_mut(&mut self) -> VerdictMut<'_>;

    /// Whether it may be used.
    fn state(&self) -> State {
        self.verdict().state
    }

    /// Why it is in that state.
    fn reasons(&self) -> &[Reason] {
        self.verdict().reasons
    }

    /// The usable one of the same name that is used instead.
    fn stand_in(&self) -> Option<usize> {
        self.verdict().stand_in
    }

    /// Hands over what a reader can see of it besides its place, name and state.
    fn digest_fields(&self, field: &mut impl FnMut(&[u8]));
}

/// What was decided about an entry.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// Whether it may be used.
    pub state: State,
    /// Why it is in that state.
    pub reasons: &'a [Reason],
    /// The usable one of the same name that is used instead.
    pub stand_in: Option<usize>,
}

/// What is decided about an entry once all are known.
#[derive(Debug)]
pub struct VerdictMut<'a> {
    /// Whether it may be used.
    pub state: &'a mut State,
    /// Why it is in that state.
    pub reasons: &'a mut Vec<Reason>,
    /// The usable one of the same name that is used instead.
    pub stand_in: &'a mut Option<usize>,
    /// Findings that come from where it is.
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

/// All entries of one kind, by root and then in order, with their roots, strongest first.
#[derive(Debug)]
pub struct Entries<'a, E> {
    /// The roots, strongest first.
    pub roots: &'a [Root],
    /// All of them.
    pub all: &'a [E],
}

impl<E> Clone for Entries<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Entries<'_, E> {}

impl<'a, E: Entry> Entries<'a, E> {
    /// The root that one is in.
    pub fn root_of(self, entry: &E) -> Option<&'a Root> {
        self.roots.get(entry.root())
    }

    /// Where one comes from, by index.
    pub fn source(self, at: usize) -> Option<Source> {
        Some(self.root_of(self.all.get(at)?)?.source)
    }

    /// The absolute path of its file.
    pub fn location(self, entry: &E) -> PathBuf {
        self.locations(entry).next().unwrap_or_default()
    }

    /// The absolute paths by which its file is reached besides.
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

    /// `id@label`, which names exactly one.
    pub fn address(self, entry: &E) -> String {
        self.addresses(entry).next().unwrap_or_default()
    }

    /// All addresses that lead to one: its own, and those of further paths to its file.
    pub fn addresses<'b>(self, entry: &'b E) -> impl Iterator<Item = String> + 'b
    where
        'a: 'b,
    {
        let ids = entry.ids(self.all);
        ids.map(move |(root, id)| format!("{id}@{}", self.label(root)))
    }

    /// Whether an address leads to one.
    pub fn is_address(self, entry: &E, query: &str) -> bool {
        entry.ids(self.all).any(|(root, id)| {
            let label = query
                .strip_prefix(&*id)
                .and_then(|rest| rest.strip_prefix('@'));
            label == Some(self.label(root))
        })
    }

    /// Whether one that a query led to may be had: what is shadowed only by its address.
    pub fn is_given(self, entry: &E, query: &str) -> bool {
        let state = entry.state();
        state.is_offered() || (state.is_usable() && self.is_address(entry, query))
    }

    /// The digest of what a reader can see of them and of their roots.
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
