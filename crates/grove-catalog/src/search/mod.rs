//! Finding the skill for a task in plain words, for keywords, or for a name.
//!
//! An index is flat bytes over the skills of a snapshot ([`Builder`], [`Index`]); where the bytes lie is the
//! caller's business. The same library gives the same bytes, whether they were made at once or by keeping what
//! had not changed. There is no model: word forms, parts of identifiers, a short general list of near words,
//! abbreviations that the library explains, and the words that the first results share.

mod build;
pub mod confusable;
mod entry;
mod format;
mod index;
mod names;
mod near_words;
mod query;
mod stem;
mod typed_names;
mod weight;
mod words;

use std::collections::BTreeMap;

pub use build::Builder;
pub use entry::Document;
pub use format::make_checksum_right;
pub use index::Index;
pub use query::Damaged;
pub(crate) use stem::stem;

use crate::snapshot::{Skill, Snapshot};
use entry::FIELDS;
use grove_spec::words;
use names::AsName;
use query::{Scored, Wanted};

/// Results that are given at most.
pub const MAX_LIMIT: usize = 1_000;

/// For whom one searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A model: without skills whose authors switched it off for models.
    Model,
    /// A person: every usable skill.
    Person,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Words, a task, a name or an id.
    pub text: &'a str,
    /// How many results are wanted.
    pub limit: usize,
    /// For whom.
    pub audience: Audience,
}

words! {
    /// A part of a skill's file in which a word was found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Field {
        /// Its name or id.
        Name = "name",
        /// Its description.
        Description = "description",
        /// A heading.
        Heading = "heading",
        /// Its instructions.
        Body = "body",
    }
}

impl Field {
    const ALL: [Self; FIELDS] = [Self::Name, Self::Description, Self::Heading, Self::Body];
}

/// A word of the query with where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The word as it was typed.
    pub word: String,
    /// The most telling part that has it, in one of its forms.
    pub field: Field,
}

words! {
    /// How sure one can be that a skill is what was asked for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Fit {
        /// It is about most of what was asked, or bears the name.
        Well = "well",
        /// It is about a part of it.
        Perhaps = "perhaps",
        /// It shares a few words.
        Hardly = "hardly",
    }
}

impl Fit {
    /// Chosen on the `tune` half of the search tasks, served and not (`cargo xtask bench search-quality --settings`):
    /// what is about less than the second share of what was asked is no answer, and neither is what is about one word
    /// of several and about less than the third share beside it, or what lacks a name that was asked for.
    const WELL: f32 = 0.35;
    const PERHAPS: f32 = 0.18;
    const BESIDE_ONE_WORD: f32 = 0.05;

    fn of(share: f32, rest: f32, is_name: bool) -> Self {
        if is_name {
            Self::Well
        } else if rest < Self::BESIDE_ONE_WORD {
            Self::Hardly
        } else if share >= Self::WELL {
            Self::Well
        } else if share >= Self::PERHAPS {
            Self::Perhaps
        } else {
            Self::Hardly
        }
    }
}

/// Whether any of these is worth a look.
pub fn anything_fits(hits: &[Hit]) -> bool {
    hits.iter().any(|hit| hit.fit != Fit::Hardly)
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its index in the snapshot.
    pub skill: usize,
    /// Greater is better; comparable within one search only.
    pub score: f32,
    /// How sure one can be of it.
    pub fit: Fit,
    /// How much of what was asked it is about, from 0 to 1.
    pub share: f32,
    /// How much of that is left without the one word that it is most about; all, where few words were asked for, and
    /// nothing, where it never says a name that was asked for and that others say.
    pub rest: f32,
    /// The words that led to it, the most telling part first; empty when it was found by what it shares with
    /// other results, or by its name.
    pub why: Vec<Reason>,
    /// Folders and branches above it, outermost first.
    pub path: Vec<String>,
}

/// The skills that can be searched: usable, or left out of the catalog for their number alone.
pub fn searchable(snapshot: &Snapshot) -> impl Iterator<Item = (usize, &Skill)> {
    let all = snapshot.skills.iter().enumerate();
    all.filter(|(_, skill)| skill.state.is_offered())
}

/// Searches a snapshot by an index over its [`searchable`] skills, in their order.
pub fn search(snapshot: &Snapshot, index: &Index, query: &Query<'_>) -> Result<Vec<Hit>, Damaged> {
    let skills: Vec<(usize, &Skill)> = searchable(snapshot).collect();
    if skills.len() != index.documents() as usize {
        return Err(Damaged);
    }
    let allowed = |document: u32| {
        skills.get(document as usize).is_some_and(|(_, skill)| {
            query.audience == Audience::Person || skill.content.flags().model_invocable
        })
    };
    let wanted = Wanted::of(index, query.text);
    let Scored {
        mut scores,
        shares,
        rests,
    } = if wanted.is_empty() {
        Scored::nothing(skills.len())
    } else {
        query::scores(index, &wanted, &allowed)?
    };
    let by_words = scores.clone();
    if let Some(name) = AsName::of(query.text) {
        name.add(snapshot, &skills, &mut scores);
    }
    let best = query::best(&scores, query.limit.min(MAX_LIMIT), &allowed);
    let hits = best.into_iter().map(|(document, score)| {
        let at = document as usize;
        let (skill, _) = *skills.get(at).ok_or(Damaged)?;
        let of = |all: &[f32]| all.get(at).copied().unwrap_or(0.0);
        let (share, rest) = (of(&shares), of(&rests));
        let is_name = by_words.get(at).is_some_and(|by_words| score > *by_words);
        Ok(Hit {
            skill,
            score,
            fit: Fit::of(share, rest, is_name),
            share,
            rest,
            why: why(index, document, &wanted)?,
            path: path(snapshot, skill),
        })
    });
    hits.collect()
}

fn why(index: &Index, document: u32, wanted: &Wanted) -> Result<Vec<Reason>, Damaged> {
    let entry = index.entry(document).ok_or(Damaged)?;
    let mut fields: BTreeMap<u32, Field> = BTreeMap::new();
    for (number, counts) in &entry.terms {
        let term = index.term(*number).ok_or(Damaged)?;
        let stem = index.stem_term(term.stem);
        if !wanted.typed.iter().any(|(typed, _)| *typed == stem) {
            continue;
        }
        let first = Field::ALL.iter().zip(counts).find(|(_, count)| **count > 0);
        if let Some((field, _)) = first {
            let known = fields.entry(stem).or_insert(*field);
            *known = (*known).min(*field);
        }
    }
    let typed = wanted.typed.iter();
    let mut reasons: Vec<Reason> = typed
        .filter_map(|(stem, word)| {
            Some(Reason {
                word: word.clone(),
                field: *fields.get(stem)?,
            })
        })
        .collect();
    // Stable, so that words of one part stay as they were typed.
    reasons.sort_by_key(|reason| reason.field);
    let mut seen = std::collections::BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.word.clone()));
    Ok(reasons)
}

/// The groups and branches above a skill.
fn path(snapshot: &Snapshot, skill: usize) -> Vec<String> {
    let mut above: Vec<usize> = snapshot.tree.ancestors(skill).collect();
    above.reverse();
    let outermost = above.first().copied().unwrap_or(skill);
    let id = snapshot.skills.get(outermost).map_or("", Skill::id);
    let groups = id.match_indices('/').filter_map(|(at, _)| id.get(..at));
    let branches = above.iter().filter_map(|at| snapshot.skills.get(*at));
    groups
        .map(str::to_owned)
        .chain(branches.map(|branch| snapshot.unique_id(branch)))
        .collect()
}
