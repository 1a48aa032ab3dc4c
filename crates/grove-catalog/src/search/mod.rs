//! The search for the skill for a task in plain words, for keywords, or for a name.
//!
//! An index is flat bytes over the skills of a snapshot ([`IndexBuilder`], [`SearchIndex`]); the caller stores them. The same
//! library gives the same bytes, even if they were made by keeping entries that had not changed. There is no model:
//! word forms, parts of identifiers, a short general list of near words, abbreviations that the library explains, and
//! the words that the first results share.

mod build;
pub mod confusable;
mod entry;
mod format;
mod index;
mod meanings;
mod names;
mod near_words;
mod query;
mod stem;
mod typed_names;
mod weight;
mod words;

use std::collections::BTreeMap;

pub use build::IndexBuilder;
pub use entry::SearchDocument;
pub use format::make_checksum_right;
pub use index::SearchIndex;
pub use meanings::{FusedScores, MeaningBounds, Meanings, Records};
pub use query::DamagedIndex;
pub(crate) use stem::stem;

use crate::snapshot::{Skill, Snapshot};
use entry::FIELDS;
use grove_spec::words;
use names::NameQuery;
use query::{QueryScores, QueryTerms};

/// The most results of one search.
pub const MAX_LIMIT: usize = 1_000;

/// The reader of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchAudience {
    /// A model, which does not get skills whose authors switched them off for models.
    Model,
    /// A person: every usable skill.
    Person,
}

/// The text and the options of one search.
#[derive(Debug, Clone, Copy)]
pub struct SearchQuery<'a> {
    /// Words, a task, a name or an id.
    pub text: &'a str,
    /// The number of results that are wanted.
    pub limit: usize,
    /// The reader of the results.
    pub audience: SearchAudience,
}

words! {
    /// A part of a skill's file in which a word was found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SearchField {
        /// The skill's name or id.
        Name = "name",
        /// The skill's own description.
        Description = "description",
        /// A heading, or a group that the skill is in.
        Heading = "heading",
        /// The instructions of its body.
        Body = "body",
    }
}

impl SearchField {
    const ALL: [Self; FIELDS] = [Self::Name, Self::Description, Self::Heading, Self::Body];
}

/// A word of the query with the place where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedWord {
    /// The word as it was typed.
    pub word: String,
    /// The most telling part that has it, in one of its forms.
    pub field: SearchField,
}

words! {
    /// The certainty that a skill is the one that was asked for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SearchFit {
        /// It is about most of the query, or has the name.
        Well = "well",
        /// It is about a part of the query.
        Perhaps = "perhaps",
        /// It shares a few words.
        Hardly = "hardly",
    }
}

impl SearchFit {
    /// Chosen on the `tune` half of the search tasks, served and not (`cargo xtask bench search-quality --settings`). A
    /// skill about less than the second share of the query is no answer. Nor is one that is about one word of several
    /// and about less than the third share of the others, or that lacks a name in the query.
    const WELL: f32 = 0.35;
    const PERHAPS: f32 = 0.18;
    const BESIDE_ONE_WORD: f32 = 0.05;

    fn of(share: f32, rest: f32, is_name: bool, meaning: Option<(i32, MeaningBounds)>) -> Self {
        if is_name {
            Self::Well
        } else if let Some((closeness, bounds)) = meaning {
            let is_about = rest >= Self::BESIDE_ONE_WORD;
            bounds.fit(if is_about { share } else { 0.0 }, closeness)
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

/// Returns true if any of these is worth reading.
pub fn anything_fits(hits: &[SearchHit]) -> bool {
    hits.iter().any(|hit| hit.fit != SearchFit::Hardly)
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// Its index in the snapshot.
    pub skill: usize,
    /// The score, greater is better; comparable within one search only.
    pub score: f32,
    /// The certainty that it is the right one.
    pub fit: SearchFit,
    /// Its closeness to the query by meaning, of 16,384; none without a source of meanings.
    pub closeness: Option<i32>,
    /// The share of the query that it is about, from 0 to 1.
    pub share: f32,
    /// That share without the one word that it is most about. It is all for a query of few words, and zero if the skill
    /// lacks a name in the query that other skills have.
    pub rest: f32,
    /// The words that led to it, the most telling part first; empty if it was found by words that it shares with other
    /// results, or by its name.
    pub why: Vec<MatchedWord>,
    /// The folders and branches above it, outermost first.
    pub path: Vec<String>,
}

/// Returns the skills that can be searched: usable, or only left out of the catalog by a limit on entries.
pub fn searchable(snapshot: &Snapshot) -> impl Iterator<Item = (usize, &Skill)> {
    let all = snapshot.skills.iter().enumerate();
    all.filter(|(_, skill)| skill.state.is_offered())
}

/// The skills of a snapshot with the scores of one query, by document of the index.
struct Searched<'a> {
    skills: Vec<(usize, &'a Skill)>,
    wanted: QueryTerms,
    scored: QueryScores,
    /// By document: its score without what its name adds.
    unnamed: Vec<f32>,
    /// By document: its closeness by meaning; empty without a source.
    closeness: Vec<i32>,
    bounds: Option<MeaningBounds>,
    best: Vec<(u32, f32)>,
}

impl<'a> Searched<'a> {
    fn of(
        snapshot: &'a Snapshot,
        index: &SearchIndex,
        query: &SearchQuery<'_>,
    ) -> Result<Self, DamagedIndex> {
        let skills: Vec<(usize, &Skill)> = searchable(snapshot).collect();
        if skills.len() != index.documents() as usize {
            return Err(DamagedIndex);
        }
        let allowed = |document: u32| {
            skills.get(document as usize).is_some_and(|(_, skill)| {
                query.audience == SearchAudience::Person || skill.content.flags().model_invocable
            })
        };
        let wanted = QueryTerms::of(index, query.text);
        let mut scored = if wanted.is_empty() {
            QueryScores::nothing(skills.len())
        } else {
            query::scores(index, &wanted, &allowed)?
        };
        let closeness = scored.add_meaning(index, query.text, &allowed);
        let unnamed = scored.scores.clone();
        if let Some(name) = NameQuery::of(query.text) {
            name.add(snapshot, &skills, &mut scored.scores);
        }
        let best = query::best(&scored.scores, query.limit.min(MAX_LIMIT), &allowed);
        Ok(Self {
            skills,
            wanted,
            scored,
            unnamed,
            closeness,
            bounds: index.source().map(Meanings::bounds),
            best,
        })
    }

    /// Returns the certainty that a document with this score is the right one.
    fn fit(&self, document: u32, score: f32) -> SearchFit {
        let at = document as usize;
        let (share, rest) = self.scored.about(at);
        let is_name = self.unnamed.get(at).is_some_and(|unnamed| score > *unnamed);
        let near = self.closeness.get(at).copied();
        SearchFit::of(share, rest, is_name, near.zip(self.bounds))
    }
}

/// The skills that a search finds, without its reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankedSkills {
    /// Indexes in the snapshot, the best first.
    pub skills: Vec<usize>,
    /// True if any of them is worth reading.
    pub fits: bool,
}

/// Returns the skills that a search finds.
pub fn rank(
    snapshot: &Snapshot,
    index: &SearchIndex,
    query: &SearchQuery<'_>,
) -> Result<RankedSkills, DamagedIndex> {
    let searched = Searched::of(snapshot, index, query)?;
    let best = searched.best.iter();
    let skill = |(document, _): &(u32, f32)| Some(searched.skills.get(*document as usize)?.0);
    Ok(RankedSkills {
        skills: best.clone().filter_map(skill).collect(),
        fits: best
            .clone()
            .any(|(document, score)| searched.fit(*document, *score) != SearchFit::Hardly),
    })
}

/// Searches a snapshot by an index over its [`searchable`] skills, in their order.
pub fn search(
    snapshot: &Snapshot,
    index: &SearchIndex,
    query: &SearchQuery<'_>,
) -> Result<Vec<SearchHit>, DamagedIndex> {
    let searched = Searched::of(snapshot, index, query)?;
    let hits = searched.best.iter().map(|(document, score)| {
        let (document, score, at) = (*document, *score, *document as usize);
        let (skill, _) = *searched.skills.get(at).ok_or(DamagedIndex)?;
        let (share, rest) = searched.scored.about(at);
        Ok(SearchHit {
            skill,
            score,
            fit: searched.fit(document, score),
            closeness: searched.closeness.get(at).copied(),
            share,
            rest,
            why: why(index, document, &searched.wanted)?,
            path: path(snapshot, skill),
        })
    });
    hits.collect()
}

fn why(
    index: &SearchIndex,
    document: u32,
    wanted: &QueryTerms,
) -> Result<Vec<MatchedWord>, DamagedIndex> {
    let entry = index.entry(document).ok_or(DamagedIndex)?;
    let mut fields: BTreeMap<u32, SearchField> = BTreeMap::new();
    for (number, counts) in &entry.terms {
        let term = index.term(*number).ok_or(DamagedIndex)?;
        let stem = index.stem_term(term.stem);
        if !wanted.typed.iter().any(|(typed, _)| *typed == stem) {
            continue;
        }
        let first = SearchField::ALL
            .iter()
            .zip(counts)
            .find(|(_, count)| **count > 0);
        if let Some((field, _)) = first {
            let known = fields.entry(stem).or_insert(*field);
            *known = (*known).min(*field);
        }
    }
    let typed = wanted.typed.iter();
    let mut reasons: Vec<MatchedWord> = typed
        .filter_map(|(stem, word)| {
            Some(MatchedWord {
                word: word.clone(),
                field: *fields.get(stem)?,
            })
        })
        .collect();
    // The sort is stable, so that words of one part stay as they were typed.
    reasons.sort_by_key(|reason| reason.field);
    let mut seen = std::collections::BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.word.clone()));
    Ok(reasons)
}

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
