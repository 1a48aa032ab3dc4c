//! The differences between two snapshots.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use grove_catalog::snapshot::{Skill, Snapshot};
use grove_spec::{Code, Diagnostic};

/// Addresses of skills, each list in the order of its snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SnapshotDifference {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) changed: Vec<String>,
}

/// The skills that are new, gone or changed in the newer snapshot.
pub(super) fn between(old: &Snapshot, new: &Snapshot) -> SnapshotDifference {
    let mut difference = SnapshotDifference::default();
    let gone = |root: &&grove_catalog::Root| new.roots.iter().all(|other| other.path != root.path);
    for root in old.roots.iter().filter(gone) {
        let skills = skills_in(old, &root.path).iter();
        difference
            .removed
            .extend(skills.map(|skill| old.address(skill)));
    }
    for root in &new.roots {
        let (before, after) = (skills_in(old, &root.path), skills_in(new, &root.path));
        compare(old, before, new, after, &mut difference);
    }
    difference
}

/// Two lists in the same order, walked side by side.
fn compare(
    old: &Snapshot,
    mut before: &[Skill],
    new: &Snapshot,
    mut after: &[Skill],
    difference: &mut SnapshotDifference,
) {
    loop {
        let order = match (before.first(), after.first()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => place(a).cmp(&place(b)),
        };
        if let Some((skill, rest)) = before.split_first().filter(|_| order.is_lt()) {
            difference.removed.push(old.address(skill));
            before = rest;
        } else if let Some((skill, rest)) = after.split_first().filter(|_| order.is_gt()) {
            difference.added.push(new.address(skill));
            after = rest;
        } else if let (Some((a, others)), Some((b, rest))) =
            (before.split_first(), after.split_first())
        {
            if !is_same(old, a, new, b) {
                difference.changed.push(new.address(b));
            }
            (before, after) = (others, rest);
        }
    }
}

fn place(skill: &Skill) -> (&str, grove_catalog::identity::SkillLayout) {
    (skill.id(), skill.place.layout)
}

fn is_same(old: &Snapshot, a: &Skill, new: &Snapshot, b: &Skill) -> bool {
    let also_at = || {
        a.also_at.len() == b.also_at.len()
            && a.also_at
                .iter()
                .zip(&b.also_at)
                .all(|(a, b)| old.location(a) == new.location(b))
    };
    (Arc::ptr_eq(&a.content, &b.content) || a.content == b.content)
        && a.state == b.state
        && a.reasons == b.reasons
        && a.name() == b.name()
        && also_at()
}

fn skills_in<'a>(snapshot: &'a Snapshot, root: &Path) -> &'a [Skill] {
    let Some(at) = snapshot.roots.iter().position(|known| known.path == *root) else {
        return &[];
    };
    let skills = &snapshot.skills;
    let start = skills.partition_point(|skill| skill.place.root < at);
    let end = skills.partition_point(|skill| skill.place.root <= at);
    skills.get(start..end).unwrap_or_default()
}

/// Returns true if findings differ that do not follow from the inputs of the digest.
pub(super) fn findings_differ(old: &Snapshot, new: &Snapshot) -> bool {
    old.diagnostics != new.diagnostics || !kept(old).eq(kept(new))
}

pub(super) fn new_findings(old: &Snapshot, new: &Snapshot) -> Vec<Diagnostic> {
    let known = &old.diagnostics;
    let of_snapshot = new
        .diagnostics
        .iter()
        .filter(|found| !known.contains(found));
    let known: Vec<(String, &Diagnostic)> = kept(old)
        .map(|(skill, finding)| (old.address(skill), finding))
        .collect();
    let of_skills = kept(new).filter(|(skill, finding)| {
        let told = (new.address(skill), *finding);
        !known.contains(&told)
    });
    let of_skills =
        of_skills.map(|(skill, finding)| finding.clone().in_file(&new.location(&skill.place)));
    of_snapshot.cloned().chain(of_skills).collect()
}

/// Skills whose last good version stands in for the file, with the finding that says so.
fn kept(snapshot: &Snapshot) -> impl Iterator<Item = (&Skill, &Diagnostic)> {
    snapshot.skills.iter().flat_map(|skill| {
        let findings = skill.diagnostics.iter();
        findings
            .filter(|finding| finding.code == Code::KeptLastGood)
            .map(move |finding| (skill, finding))
    })
}
