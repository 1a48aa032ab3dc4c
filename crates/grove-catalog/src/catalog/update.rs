//! The difference between two catalogs, for a conversation that already has the first.
//!
//! The difference has skills that came or went, and descriptions that changed. How much of a description there was room
//! for, and which skills had entries of their own, is left out: what a reader knows of a skill is still true.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::digest::Digest;
use crate::snapshot::{Skill, Snapshot};

use super::Catalog;
use super::cut::shorten;
use super::ladder::FIRST_LENGTH;
use super::locations::shown;
use super::style::{CatalogStyle, one_line, shown_name};

/// The number of digits that a record keeps of a description's digest.
const DIGITS: usize = 16;

/// The skills that a catalog stands for, with entries of their own or named in those of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSkills(Vec<KnownSkill>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownSkill {
    name: String,
    address: String,
    location: String,
    /// The beginning of the digest of its description.
    description: String,
}

impl KnownSkills {
    /// Returns those of a snapshot that a model may see, except the ones with the addresses in `exclude`.
    pub fn of(snapshot: &Snapshot, home: Option<&Path>, exclude: &[String]) -> Self {
        let known = described_skills(snapshot, exclude).map(|(skill, address)| {
            let description = skill.description().unwrap_or_default();
            let mut digest = Digest::of(description.as_bytes()).to_string();
            digest.truncate(DIGITS);
            KnownSkill {
                name: shown_name(skill.name()).into_owned(),
                address: one_line(&address).into_owned(),
                location: shown(&snapshot.location(&skill.place), home),
                description: digest,
            }
        });
        Self(known.collect())
    }

    /// Returns the record as it is stored in a file: one skill a line.
    pub fn to_text(&self) -> String {
        let line = |skill: &KnownSkill| {
            let KnownSkill {
                name,
                address,
                location,
                description,
            } = skill;
            format!("{description}\t{name}\t{address}\t{location}\n")
        };
        self.0.iter().map(line).collect()
    }

    /// Reads a record; none if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let skill = |line: &str| {
            let mut parts = line.splitn(4, '\t').map(str::to_owned);
            let description = parts.next().filter(|digest| digest.len() == DIGITS)?;
            Some(KnownSkill {
                description,
                name: parts.next()?,
                address: parts.next()?,
                location: parts.next()?,
            })
        };
        text.lines().map(skill).collect::<Option<_>>().map(Self)
    }
}

fn described_skills<'a>(
    snapshot: &'a Snapshot,
    exclude: &'a [String],
) -> impl Iterator<Item = (&'a Skill, String)> {
    let skills = snapshot
        .skills
        .iter()
        .filter(|skill| skill.model_invocable());
    let skills = skills.map(|skill| (skill, snapshot.address(skill)));
    skills.filter(|(_, address)| !exclude.contains(address))
}

/// The present catalog, for comparing with an earlier one.
#[derive(Debug)]
pub struct CatalogNow<'a> {
    /// The snapshot with the present skills.
    pub snapshot: &'a Snapshot,
    /// Addresses of skills that the reader already has.
    pub exclude: &'a [String],
    /// The catalog for a reader without an earlier one.
    pub catalog: &'a Catalog,
    /// The style in which it is written.
    pub style: CatalogStyle,
}

/// Returns the fragment that brings a reader of an earlier catalog up to date; the whole text if that is shorter, and
/// nothing if no skill came, went or changed its description.
pub fn update(before: &KnownSkills, now_known: &KnownSkills, now: &CatalogNow<'_>) -> String {
    if before == now_known {
        return String::new();
    }
    if now.catalog.text.is_empty() {
        return "There are no skills any more.\n".to_owned();
    }
    let style = now.style;
    let shared = shared_names(before, now_known);
    let mut gone = String::new();
    let addresses: BTreeSet<&str> = now_known.0.iter().map(|it| &*it.address).collect();
    let removed = before.0.iter();
    for skill in removed.filter(|skill| !addresses.contains(&*skill.address)) {
        style.entry(
            &mut gone,
            skill.entry_name(style, &shared),
            None,
            &skill.location,
        );
    }
    let old = before.0.iter().map(|skill| (&*skill.address, skill));
    let old: BTreeMap<&str, &KnownSkill> = old.collect();
    let mut come = String::new();
    let all = described_skills(now.snapshot, now.exclude).zip(&now_known.0);
    for ((skill, _), known) in all.filter(|(_, known)| old.get(&*known.address) != Some(known)) {
        let description = skill.description().map(one_line);
        let description = description.map(|text| shorten(&text, FIRST_LENGTH));
        let name = known.entry_name(style, &shared);
        style.entry(&mut come, name, description.as_deref(), &known.location);
    }
    if gone.is_empty() && come.is_empty() {
        return String::new();
    }
    let (gone, come) = (part("removed", &gone), part("added", &come));
    let fragment =
        format!("The list of skills changed.\n<skills_update>\n{gone}{come}</skills_update>\n");
    if fragment.len() < now.catalog.text.len() {
        fragment
    } else {
        now.catalog.text.clone()
    }
}

impl KnownSkill {
    /// Returns the name for an entry; the address where entries have no locations and several skills share the name.
    fn entry_name<'a>(&'a self, style: CatalogStyle, shared: &BTreeSet<&str>) -> &'a str {
        if !style.has_locations() && shared.contains(&*self.name) {
            &self.address
        } else {
            &self.name
        }
    }
}

fn shared_names<'a>(before: &'a KnownSkills, now: &'a KnownSkills) -> BTreeSet<&'a str> {
    let mut address_of: BTreeMap<&str, &str> = BTreeMap::new();
    let all = before.0.iter().chain(&now.0);
    let others = all.filter(|skill| {
        let known = address_of.entry(&skill.name).or_insert(&skill.address);
        *known != skill.address
    });
    others.map(|skill| &*skill.name).collect()
}

fn part(name: &str, entries: &str) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let lines = entries
        .lines()
        .flat_map(|line| [line.trim_end_matches(','), "\n"]);
    format!("<{name}>\n{}</{name}>\n", lines.collect::<String>())
}
