//! Skills that a model would mix up, and skills that answer to everything, each with what to change.
//!
//! What a model chooses by is the name and the description, so those decide; a body that says the same makes it
//! worse. Candidates come from the index: skills that share rare words. Nobody is compared with everybody.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::FIELDS;
use super::index::Index;
use super::query::{Damaged, Wanted, best, scores};
use super::searchable;
use crate::snapshot::{Skill, Snapshot};

/// Telling words of one skill that lead to candidates, and documents of one word that are looked at.
const TELLING: usize = 12;
const MAX_SHARING: usize = 200;
/// Candidates of one skill that are compared.
const COMPARED: usize = 8;
/// Words of one body that are compared.
const BODY_WORDS: usize = 64;
/// From when on two skills are told apart with difficulty, from 0 to 1.
const ALIKE: f32 = 0.45;
/// From when on they say the same.
const SAME: f32 = 0.85;
/// Pairs that are named, the most alike first.
const MAX_PAIRS: usize = 200;
/// Skills whose descriptions are asked for when looking for those that answer to everything.
const ASKED: usize = 300;
/// A skill is broad when it is among the first for this share of what was asked, and for this many.
const BROAD_SHARE: f32 = 0.08;
const BROAD_COUNT: usize = 6;

/// Two skills that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Their indexes in the snapshot.
    pub skills: [usize; 2],
    /// From 0 to 1.
    pub alike: f32,
    /// Words that both are found by, the most telling first.
    pub shared: Vec<String>,
    /// What to change.
    pub change: String,
}

/// Three or more skills, each alike to another of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Their indexes in the snapshot.
    pub skills: Vec<usize>,
    /// What to change.
    pub change: String,
}

/// A skill that answers to what others are for.
#[derive(Debug, Clone, PartialEq)]
pub struct Broad {
    /// Its index in the snapshot.
    pub skill: usize,
    /// Other skills for whose descriptions it is among the first.
    pub answers: usize,
    /// Of how many.
    pub asked: usize,
    /// What to change.
    pub change: String,
}

/// What would be mixed up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Confusable {
    /// Pairs, the most alike first.
    pub pairs: Vec<Pair>,
    /// How many pairs are not named.
    pub more_pairs: usize,
    /// Families, the largest first.
    pub families: Vec<Family>,
    /// Skills that answer to everything, the broadest first.
    pub broad: Vec<Broad>,
}

/// Finds what a model would mix up among the skills that it can be told of.
pub fn find(snapshot: &Snapshot, index: &Index) -> Result<Confusable, Damaged> {
    let skills: Vec<(usize, &Skill)> = searchable(snapshot).collect();
    if skills.len() != index.documents() as usize {
        return Err(Damaged);
    }
    let visible = |document: u32| {
        let skill = skills.get(document as usize);
        skill.is_some_and(|(_, skill)| skill.content.flags().model_invocable)
    };
    let cards = (0..index.documents())
        .map(|document| Card::of(index, document))
        .collect::<Result<Vec<Card>, Damaged>>()?;
    let mut pairs = Vec::new();
    for (document, card) in cards.iter().enumerate() {
        let document = document as u32;
        if !visible(document) {
            continue;
        }
        for other in candidates(index, document, card)? {
            // Each pair once; the other way round it may not be a candidate, so both ways are looked at.
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
        Some(Pair {
            skills: [at(*a), at(*b)],
            alike: *alike,
            shared,
            change,
        })
    });
    Ok(Confusable {
        pairs: named.collect(),
        more_pairs,
        families,
        broad: broad(index, &skills, &visible)?,
    })
}

/// A skill as it is compared: the stems it is told by and those its body is about, each with its weight.
struct Card {
    told: BTreeMap<u32, f32>,
    body: BTreeMap<u32, f32>,
}

impl Card {
    fn of(index: &Index, document: u32) -> Result<Self, Damaged> {
        let entry = index.entry(document).ok_or(Damaged)?;
        let (mut told, mut body) = (BTreeMap::new(), BTreeMap::new());
        for (number, counts) in &entry.terms {
            let term = index.term(*number).ok_or(Damaged)?;
            let stem = index.stem_term(term.stem);
            let weight = index.term(stem).ok_or(Damaged)?.weight;
            let [name, description, _, text] = *counts;
            if name + description > 0 {
                // A name counts for more than a word of a sentence.
                let often = if name > 0 { 1.5 } else { 1.0 };
                // In a small library no word is rare; those that two share must still count.
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
            told,
            body: heaviest(body, BODY_WORDS),
        })
    }

    fn alike(&self, other: &Self) -> f32 {
        0.75 * cosine(&self.told, &other.told) + 0.25 * cosine(&self.body, &other.body)
    }

    fn shared(&self, other: &Self, index: &Index) -> Vec<String> {
        let both = self.told.iter();
        let both = both.filter(|(stem, _)| other.told.contains_key(*stem));
        named(both.map(|(stem, weight)| (*stem, *weight)).collect(), index)
    }

    fn own(&self, other: &Self, index: &Index) -> Vec<String> {
        let own = self.told.iter().chain(&self.body);
        let own = own
            .filter(|(stem, _)| !other.told.contains_key(*stem) && !other.body.contains_key(*stem));
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

/// The words of some stems, the heaviest first; of a stem's words the first.
fn named(mut stems: Vec<(u32, f32)>, index: &Index) -> Vec<String> {
    stems.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    stems.dedup_by_key(|(stem, _)| *stem);
    let mut names = Vec::new();
    for (stem, _) in stems {
        let Some(letters) = index.letters(stem) else {
            continue;
        };
        // A stem is no word; the first word with it is.
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

/// Documents that share the most telling words of a document.
fn candidates(index: &Index, document: u32, card: &Card) -> Result<Vec<u32>, Damaged> {
    let mut found: BTreeMap<u32, f32> = BTreeMap::new();
    for (stem, weight) in heaviest(card.told.clone(), TELLING) {
        let term = index.term(stem).ok_or(Damaged)?;
        let postings = index.postings(&term).ok_or(Damaged)?;
        for (other, _) in postings.iter().take(MAX_SHARING) {
            if other != document {
                *found.entry(other).or_default() += weight;
            }
        }
    }
    Ok(heaviest(found, COMPARED).into_keys().collect())
}

/// The first member of the family that a skill is in so far.
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
) -> Vec<Family> {
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
    let mut families: Vec<Family> = groups
        .into_values()
        .filter(|members| members.len() > 2)
        .map(|members| {
            let names: BTreeSet<&str> = members.iter().map(|member| name(*member)).collect();
            let first: Vec<&str> = names.into_iter().take(3).collect();
            Family {
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

fn advice(a: &str, b: &str, alike: f32, one: &Card, other: &Card, index: &Index) -> String {
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

/// The skills that are among the first for what many others are for.
fn broad(
    index: &Index,
    skills: &[(usize, &Skill)],
    visible: &dyn Fn(u32) -> bool,
) -> Result<Vec<Broad>, Damaged> {
    const FIRST: usize = 4;
    let step = skills.len().div_ceil(ASKED).max(1);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let mut asked: BTreeSet<u32> = BTreeSet::new();
    for (document, (_, skill)) in skills.iter().enumerate().step_by(step) {
        let Some(description) = skill.description().filter(|_| visible(document as u32)) else {
            continue;
        };
        asked.insert(document as u32);
        let wanted = Wanted::of(index, description);
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
    let mut broad: Vec<Broad> = counts
        .into_iter()
        .filter(|(_, count)| is_broad(*count))
        .filter_map(|(document, answers)| {
            let (skill, known) = skills.get(document as usize)?;
            Some(Broad {
                skill: *skill,
                answers,
                // Its own description is none of the others.
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
