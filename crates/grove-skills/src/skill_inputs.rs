//! Everything that a snapshot's skills are made of, and the making of the snapshot.

use std::sync::Arc;

use grove_catalog::eligibility::MachineFacts;
use grove_catalog::resolve::{ResolveInput, SkillCandidate, SkillRules, resolve};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::state::EntryState;
use grove_spec::config::Settings;
use grove_spec::text::counted;
use grove_spec::{Code, Diagnostic};

use crate::loading::LoadedRoot;
use crate::planning::PlannedRoot;
use crate::usage::EarlierUsage;

#[derive(Debug)]
pub(crate) struct SkillInputs {
    pub(crate) planned: Vec<PlannedRoot>,
    pub(crate) loaded: Vec<Arc<LoadedRoot>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) facts: Arc<MachineFacts>,
    pub(crate) names: Option<Vec<String>>,
    pub(crate) rules: SkillRules,
    /// The usage from before the library began; looked at where there are more skills than entries.
    pub(crate) usage: Arc<EarlierUsage>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl SkillInputs {
    /// Returns true if the same skills come of both, as far as it is known without comparing the content of roots: a
    /// root that was met again is the same object.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut roots = self.loaded.iter().zip(&other.loaded);
        self.planned == other.planned
            && roots.all(|(a, b)| Arc::ptr_eq(a, b))
            && self.settings == other.settings
            && self.facts == other.facts
            && self.names == other.names
            && self.rules == other.rules
            && self.diagnostics == other.diagnostics
    }

    /// The skills, as a snapshot of version one without agents and chains.
    pub(crate) fn resolve(&self) -> Snapshot {
        let total = self.loaded.iter().map(|root| root.candidates.len()).sum();
        let mut candidates = Vec::with_capacity(total);
        for (index, root) in self.loaded.iter().enumerate() {
            candidates.extend(root.candidates.iter().map(|candidate| SkillCandidate {
                root: index,
                ..candidate.clone()
            }));
        }
        let of_roots = self.loaded.iter().flat_map(|root| &root.diagnostics);
        let diagnostics = self.diagnostics.iter().chain(of_roots).cloned();
        let roots = self.planned.iter().zip(&self.loaded);
        let roots = roots.map(|(planned, loaded)| loaded.judged_root(&planned.root));
        let mut snapshot = resolve(ResolveInput {
            roots: roots.collect(),
            candidates,
            settings: &self.settings,
            facts: &self.facts,
            names: self.names.as_deref(),
            rules: self.rules.clone(),
            used: &|file| self.usage.of(file),
            diagnostics: diagnostics.collect(),
        });
        self.report_stand_ins(&mut snapshot);
        let skills = snapshot.skills.iter();
        let untrusted = skills
            .filter(|skill| skill.state == EntryState::Untrusted)
            .count();
        if untrusted > 0 {
            let verb = if untrusted == 1 { "is" } else { "are" };
            let message = format!(
                "{} of this project {verb} not used because the project is not trusted",
                counted(untrusted, "skill")
            );
            let finding = Diagnostic::new(Code::ProjectUntrusted, message);
            snapshot.diagnostics.push(finding);
        }
        snapshot
    }

    /// Adds the finding about its file to each skill whose last good version stands in.
    fn report_stand_ins(&self, snapshot: &mut Snapshot) {
        for (planned, loaded) in self.planned.iter().zip(&self.loaded) {
            let path = &planned.root.path;
            let root = snapshot.roots.iter().position(|root| root.path == *path);
            for kept in &loaded.kept {
                let Some((candidate, root)) = loaded.candidates.get(kept.at).zip(root) else {
                    continue;
                };
                let place = (root, &*candidate.id, candidate.layout);
                let found = snapshot.skills.binary_search_by(|skill| {
                    (skill.place.root, skill.id(), skill.place.layout).cmp(&place)
                });
                if let Some(skill) = found.ok().and_then(|at| snapshot.skills.get_mut(at)) {
                    skill.diagnostics.push(kept.finding.clone());
                }
            }
        }
    }
}
