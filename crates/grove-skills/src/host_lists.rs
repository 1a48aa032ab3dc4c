//! The lists of skills that other hosts give their models.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grove_catalog::host_listing::{self, HostListing, ListedForm, ListingOptions};
use grove_catalog::hosts::{FrontmatterReading, Host, MissingDescription};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::files;
use grove_spec::{Code, quoted_frontmatter};

use crate::library::Discovery;

/// The list of skills that a host gives its model, from a discovery by the host's rules.
pub fn listing(discovery: &Discovery, host: &Host, window: Option<usize>) -> HostListing {
    let environment = &discovery.world.environment;
    let options = ListingOptions {
        home: environment.home.clone(),
        working: environment.working.clone(),
        window_tokens: window.map(|tokens| tokens as u64),
        bodies: bodies(discovery, host),
    };
    host_listing::render(&discovery.snapshot, host, &options)
}

/// The bodies of skills from which the host makes up a description.
fn bodies(discovery: &Discovery, host: &Host) -> BTreeMap<usize, String> {
    if host.identity.missing_description != MissingDescription::Fallback {
        return BTreeMap::new();
    }
    let told = discovery.snapshot.skills.iter().enumerate();
    told.filter(|(_, skill)| skill.state.is_listed() && skill.model_invocable())
        .filter_map(|(index, skill)| {
            let is_asked = skill.description().is_none() || may_be_unread(skill, host);
            let bytes = is_asked.then(|| discovery.sources.skills.read(skill))??;
            let own = skill.content.parsed().body_offset;
            let start = match skill.description() {
                None => own,
                Some(_) => quoted_frontmatter::unread_body(&bytes)?,
            };
            let body = bytes.get(start..)?;
            Some((index, String::from_utf8_lossy(body).into_owned()))
        })
        .collect()
}

/// Returns true if a host that repairs less than Grove may not have the frontmatter of a skill.
fn may_be_unread(skill: &Skill, host: &Host) -> bool {
    let mut findings = skill.all_diagnostics();
    host.identity.frontmatter == FrontmatterReading::Quoting
        && findings.any(|finding| finding.code == Code::YamlRepaired)
}

/// The addresses of skills in Grove's own view that a host presents to its model with their purpose, matched by file.
/// Left out are skills that the host presents by name alone, and skills with others below them, of which the host knows
/// nothing. `theirs` is a discovery by the host's rules.
pub fn listed_by_host(own: &Snapshot, theirs: &Discovery, host: &Host) -> Vec<String> {
    let listing = listing(theirs, host, None);
    let told = listing
        .shown
        .iter()
        .filter(|one| matches!(one.how, ListedForm::Full | ListedForm::Shortened(_)));
    let told = told.filter_map(|one| theirs.snapshot.skills.get(one.skill));
    let known = leaves_among(own, &theirs.snapshot, told);
    let known = known.into_iter().filter_map(|at| own.skills.get(at));
    known.map(|skill| own.address(skill)).collect()
}

/// The skills in Grove's own view that a person can call by name in a host without a server, matched by file, however
/// little of its model's list they have. Skills with others below them are left out. `theirs` is a discovery by the host's
/// rules.
pub fn called_in_host(own: &Snapshot, theirs: &Discovery) -> BTreeSet<usize> {
    let skills = theirs.snapshot.skills.iter();
    let called = skills.filter(|skill| skill.state.is_offered() && skill.user_invocable());
    leaves_among(own, &theirs.snapshot, called)
}

/// The skills without skills below them that are the same files as some of another view.
fn leaves_among<'a>(
    own: &Snapshot,
    theirs: &'a Snapshot,
    skills: impl Iterator<Item = &'a Skill>,
) -> BTreeSet<usize> {
    let files: BTreeSet<PathBuf> = skills.flat_map(|it| locations(theirs, it)).collect();
    let own_skills = own.skills.iter().enumerate();
    let same = own_skills.filter(|(at, skill)| {
        let is_leaf = own.tree.children(*at).is_empty();
        is_leaf && locations(own, skill).any(|file| files.contains(&file))
    });
    same.map(|(at, _)| at).collect()
}

/// The paths of a skill's files, however they are reached.
fn locations<'a>(snapshot: &'a Snapshot, skill: &'a Skill) -> impl Iterator<Item = PathBuf> + 'a {
    let entries = snapshot.entries();
    let own = std::iter::once(entries.location(skill));
    let all = own.chain(entries.further_locations(skill));
    all.map(|path| files::canonical(&path).unwrap_or(path))
}
