//! Skills that a model would mix up, and skills that match every task, each with advice on what to change.
//!
//! A model chooses by name and description, so those decide; a body that says the same makes it worse. Candidates come
//! from the index: skills that share rare words. No skill is compared with all others.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::FIELDS;
use super::index::SearchIndex;
use super::query::{DamagedIndex, QueryTerms, best, scores};
use super::searchable;
use crate::snapshot::{Skill, Snapshot};

/// The most telling words of a skill that lead to candidates, and the most documents taken from one word.
const TELLING: usize = 12;
const MAX_SHARING: usize = 200;
const COMPARED: usize = 8;
const BODY_WORDS: usize = 64;
/// The likeness, from 0 to 1, from which two skills are hard to tell apart.
const ALIKE: f32 = 0.45;
/// The likeness from which two skills say the same.
const SAME: f32 = 0.85;
const MAX_PAIRS: usize = 200;
/// The most skills whose descriptions are queries in the search for broad skills.
const ASKED: usize = 300;
/// A skill is broad if it is a first result for at least this share of the queries, and for this many of them.
const BROAD_SHARE: f32 = 0.08;
const BROAD_COUNT: usize = 6;

/// Two skills that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfusablePair {
    /// Their indexes in the snapshot.
    pub skills: [usize; 2],
    /// Their likeness from 0 to 1.
    pub alike: f32,
    /// Words that find both, the most telling first.
    pub shared: Vec<String>,
    /// Advice on what to change.
    pub change: String,
}

/// Three or more skills, each alike to another of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfusableFamily {
    /// Their indexes in the snapshot.
    pub skills: Vec<usize>,
    /// Advice on what to change.
    pub change: String,
}

/// A skill that is found for the purposes of many others.
#[derive(Debug, Clone, PartialEq)]
pub struct BroadSkill {
    /// Its index in the snapshot.
    pub skill: usize,
    /// The number of other skills for whose descriptions it is a first result.
    pub answers: usize,
    /// The number of those descriptions that were tried.
    pub asked: usize,
    /// Advice on what to change.
    pub change: String,
}

/// The skills that a model would mix up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfusableSkills {
    /// Pairs, the most alike first.
    pub pairs: Vec<ConfusablePair>,
    /// The number of pairs that are not named.
    pub more_pairs: usize,
    /// Families, the largest first.
    pub families: Vec<ConfusableFamily>,
    /// Skills that match every task, the broadest first.
    pub broad: Vec<BroadSkill>,
}

/// Finds the skills that a model would mix up among those that it may see.
pub fn find(snapshot: &Snapshot, index: &SearchIndex) -> Result<ConfusableSkills, DamagedIndex> {
    let skills: Vec<(usize, &Skill)> = searchable(snapshot).collect();
    if skills.len() != index.documents() as usize {
        return Err(DamagedIndex);
    }
    let visible = |document: u32| {
        let skill = skills.get(document as usize);
        skill.is_some_and(|(_, skill)| skill.content.flags().model_invocable)
    };
    let cards = (0..index.documents())
        .map(|document| SkillStems::of(index, document))
        .collect::<Result<Vec<SkillStems>, DamagedIndex>>()?;
    let mut pairs = Vec::new();
    for (document, card) in cards.iter().enumerate() {
        let document = document as u32;
        if !visible(document) {
            continue;
        }
        for other in candidates(index, document, card)? {
            // Each pair counts once. Both ways are tried, as one may be a candidate in only one of them.
            if visible(other)
                && let Some(known) = cards.get(other as usize)
            {
                let alike = card.alike(known);
                if alike >= ALIKE {
                    pairs.push((document.min(other), document.max(other), alike));
                }
            }
        }
    }
    pairs.sort_by_key(|pair| (pair.0, pair.1));
    pairs.dedup_by_key(|pair| (pair.0, pair.1));
    pairs.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
    let at = |document: u32| skills.get(document as usize).map_or(0, |(at, _)| *at);
    let name = |document: u32| skills.get(document as usize).map_or("", |(_, s)| s.name());
    let families = families(&pairs, &at, &name);
    let more_pairs = pairs.len().saturating_sub(MAX_PAIRS);
    let named = pairs.iter().take(MAX_PAIRS).filter_map(|(a, b, alike)| {
        let (one, other) = (cards.get(*a as usize)?, cards.get(*b as usize)?);
        let shared = one.shared(other, index);
        let change = advice(name(*a), name(*b), *alike, one, other, index);
        Some(ConfusablePair {
            skills: [at(*a), at(*b)],
            alike: *alike,
            shared,
            change,
        })
    });
    Ok(ConfusableSkills {
        pairs: named.collect(),
        more_pairs,
        families,
        broad: broad(index, &skills, &visible)?,
    })
}

/// A skill in the form for comparing: the stems of name and description and those of its body, each with its weight.
struct SkillStems {
    outside_body: BTreeMap<u32, f32>,
    body: BTreeMap<u32, f32>,
}

impl SkillStems {
    fn of(index: &SearchIndex, document: u32) -> Result<Self, DamagedIndex> {
        let entry = index.entry(document).ok_or(DamagedIndex)?;
        let (mut told, mut body) = (BTreeMap::new(), BTreeMap::new());
        for (number, counts) in &entry.terms {
            let term = index.term(*number).ok_or(DamagedIndex)?;
            let stem = index.stem_term(term.stem);
            let weight = index.term(stem).ok_or(DamagedIndex)?.weight;
            let [name, description, _, text] = *counts;
            if name + description > 0 {
                // A word of the name counts for more than one of a sentence.
                let often = if name > 0 { 1.5 } else { 1.0 };
                // In a small library no word is rare; words that two skills share must still count.
                told.insert(stem, often * (1.0 + weight));
            }
            if text > 0 {
                let mut only = [0; FIELDS];
                if let Some(last) = only.last_mut() {
                    *last = text;
                }
                *body.entry(stem).or_insert(0.0) += index.frequency(document, only) * weight;
            }
        }
        Ok(Self {
            outside_body: told,
            body: heaviest(body, BODY_WORDS),
        })
    }

    fn alike(&self, other: &Self) -> f32 {
        0.75 * cosine(&self.outside_body, &other.outside_body)
            + 0.25 * cosine(&self.body, &other.body)
    }

    fn shared(&self, other: &Self, index: &SearchIndex) -> Vec<String> {
        let both = self.outside_body.iter();
        let both = both.filter(|(stem, _)| other.outside_body.contains_key(*stem));
        named(both.map(|(stem, weight)| (*stem, *weight)).collect(), index)
    }

    fn own(&self, other: &Self, index: &SearchIndex) -> Vec<String> {
        let own = self.outside_body.iter().chain(&self.body);
        let own = own.filter(|(stem, _)| {
            !other.outside_body.contains_key(*stem) && !other.body.contains_key(*stem)
        });
        named(own.map(|(stem, weight)| (*stem, *weight)).collect(), index)
    }
}

fn heaviest(all: BTreeMap<u32, f32>, count: usize) -> BTreeMap<u32, f32> {
    let mut sorted: Vec<(u32, f32)> = all.into_iter().collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sorted.truncate(count);
    sorted.into_iter().collect()
}

fn cosine(a: &BTreeMap<u32, f32>, b: &BTreeMap<u32, f32>) -> f32 {
    let length = |card: &BTreeMap<u32, f32>| card.values().map(|w| w * w).sum::<f32>().sqrt();
    let shared: f32 = a
        .iter()
        .filter_map(|(stem, weight)| Some(weight * b.get(stem)?))
        .sum();
    let lengths = length(a) * length(b);
    if lengths > 0.0 { shared / lengths } else { 0.0 }
}

/// Returns the words of some stems, the heaviest first; of a stem's words the first.
fn named(mut stems: Vec<(u32, f32)>, index: &SearchIndex) -> Vec<String> {
    stems.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    stems.dedup_by_key(|(stem, _)| *stem);
    let mut names = Vec::new();
    for (stem, _) in stems {
        let Some(letters) = index.letters(stem) else {
            continue;
        };
        // A stem is not a word, so the first word with that stem is shown.
        let shown = index.words_from(letters.get(..letters.len().min(4)).unwrap_or(letters), 400);
        let word = shown
            .filter(|(number, _)| {
                index
                    .term(*number)
                    .is_some_and(|term| index.stem_term(term.stem) == stem)
            })
            .map(|(_, word)| word.to_owned())
            .next();
        let word = word.unwrap_or_else(|| letters.to_owned());
        if !names.contains(&word) {
            names.push(word);
        }
        if names.len() == 4 {
            break;
        }
    }
    names
}

fn candidates(
    index: &SearchIndex,
    document: u32,
    card: &SkillStems,
) -> Result<Vec<u32>, DamagedIndex> {
    let mut found: BTreeMap<u32, f32> = BTreeMap::new();
    for (stem, weight) in heaviest(card.outside_body.clone(), TELLING) {
        let term = index.term(stem).ok_or(DamagedIndex)?;
        let postings = index.postings(&term).ok_or(DamagedIndex)?;
        for (other, _) in postings.iter().take(MAX_SHARING) {
            if other != document {
                *found.entry(other).or_default() += weight;
            }
        }
    }
    Ok(heaviest(found, COMPARED).into_keys().collect())
}

/// Returns the first member of the family that a skill is in so far.
fn head(of: &BTreeMap<u32, u32>, mut at: u32) -> u32 {
    while let Some(next) = of.get(&at).filter(|next| **next != at) {
        at = *next;
    }
    at
}

fn families<'a>(
    pairs: &[(u32, u32, f32)],
    at: &dyn Fn(u32) -> usize,
    name: &dyn Fn(u32) -> &'a str,
) -> Vec<ConfusableFamily> {
    let mut member_of: BTreeMap<u32, u32> = BTreeMap::new();
    for (a, b, _) in pairs {
        let (a, b) = (head(&member_of, *a), head(&member_of, *b));
        member_of.insert(a.max(b), a.min(b));
        member_of.entry(a.min(b)).or_insert(a.min(b));
    }
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for member in member_of.keys() {
        let of = head(&member_of, *member);
        groups.entry(of).or_default().push(*member);
    }
    let mut families: Vec<ConfusableFamily> = groups
        .into_values()
        .filter(|members| members.len() > 2)
        .map(|members| {
            let names: BTreeSet<&str> = members.iter().map(|member| name(*member)).collect();
            let first: Vec<&str> = names.into_iter().take(3).collect();
            ConfusableFamily {
                change: format!(
                    "put them below one branch that says how `{}` and the others differ, or begin each \
                     description with what only it is for",
                    first.join("`, `")
                ),
                skills: members.iter().map(|member| at(*member)).collect(),
            }
        })
        .collect();
    families.sort_by(|a, b| {
        b.skills
            .len()
            .cmp(&a.skills.len())
            .then(a.skills.cmp(&b.skills))
    });
    families
}

fn advice(
    a: &str,
    b: &str,
    alike: f32,
    one: &SkillStems,
    other: &SkillStems,
    index: &SearchIndex,
) -> String {
    if alike >= SAME {
        return format!("they say the same: keep one of `{a}` and `{b}`, or make one of the two");
    }
    let says = |name: &str, own: Vec<String>, rival: &str| {
        if own.is_empty() {
            format!("say in `{name}` what `{rival}` is not for")
        } else {
            format!("begin `{name}` with what only it has ({})", own.join(", "))
        }
    };
    format!(
        "{}; {}; end each with when to use the other",
        says(a, one.own(other, index), b),
        says(b, other.own(one, index), a)
    )
}

/// Returns the skills that are first results for the descriptions of many others.
fn broad(
    index: &SearchIndex,
    skills: &[(usize, &Skill)],
    visible: &dyn Fn(u32) -> bool,
) -> Result<Vec<BroadSkill>, DamagedIndex> {
    const FIRST: usize = 4;
    let step = skills.len().div_ceil(ASKED).max(1);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let mut asked: BTreeSet<u32> = BTreeSet::new();
    for (document, (_, skill)) in skills.iter().enumerate().step_by(step) {
        let Some(description) = skill.description().filter(|_| visible(document as u32)) else {
            continue;
        };
        asked.insert(document as u32);
        let wanted = QueryTerms::of(index, description);
        let scores = scores(index, &wanted, visible)?;
        for (other, _) in best(&scores.scores, FIRST, visible) {
            if other as usize != document {
                *counts.entry(other).or_default() += 1;
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
    let is_broad =
        |count: usize| count >= BROAD_COUNT && count as f32 >= BROAD_SHARE * asked.len() as f32;
    let mut broad: Vec<BroadSkill> = counts
        .into_iter()
        .filter(|(_, count)| is_broad(*count))
        .filter_map(|(document, answers)| {
            let (skill, known) = skills.get(document as usize)?;
            Some(BroadSkill {
                skill: *skill,
                answers,
                // Its own description is not one of another skill.
                asked: asked.len() - usize::from(asked.contains(&document)),
                change: format!(
                    "name the few situations that `{}` is for and leave out what others do; a long list of \
                     subjects draws every task",
                    known.name()
                ),
            })
        })
        .collect();
    broad.sort_by(|a, b| b.answers.cmp(&a.answers).then(a.skill.cmp(&b.skill)));
    Ok(broad)
}
