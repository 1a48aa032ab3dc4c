//! The skills of an export: those that agents name and those below them, each once and under one name.

use std::collections::{BTreeMap, BTreeSet};

use grove_catalog::export::{self, Child, Named};
use grove_catalog::hosts::ExportRules;
use grove_catalog::prompt::Chosen;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::files;
use grove_spec::{Code, Diagnostic, generated};

use super::missing::{Missing, is_larger};
use super::target::Target;
use super::{ExportError, address_of};
use crate::prompt::PromptError;
use crate::resources::{ReadRefusal, is_twin};
use crate::sources::SkillFiles;

/// The largest file beside a skill's own that is copied.
pub(super) const MAX_BYTES: u64 = 16 << 20;

pub(super) struct SkillSet<'a> {
    pub(super) files: &'a SkillFiles,
    pub(super) snapshot: &'a Snapshot,
    rules: &'a ExportRules,
    /// Skills by their names at the host.
    by_name: BTreeMap<String, usize>,
    names: BTreeMap<usize, String>,
}

impl<'a> SkillSet<'a> {
    pub(super) fn new(
        files: &'a SkillFiles,
        snapshot: &'a Snapshot,
        rules: &'a ExportRules,
    ) -> Self {
        Self {
            files,
            snapshot,
            rules,
            by_name: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    fn skill(&self, at: usize) -> Option<&'a Skill> {
        self.snapshot.skills.get(at)
    }

    /// Names what an agent chose as it is among the skills of all agents.
    pub(super) fn name_among_all(&self, offered: &Snapshot, chosen: &mut Chosen) {
        if std::ptr::eq(offered, self.snapshot) {
            return;
        }
        for at in std::mem::take(&mut chosen.skills) {
            let Some(skill) = offered.skills.get(at) else {
                continue;
            };
            let file = offered.location(&skill.place);
            let here = |other: &Skill| {
                let places = std::iter::once(&other.place).chain(&other.also_at);
                let mut files = places.map(|place| self.snapshot.location(place));
                files.any(|other| other == file)
            };
            chosen
                .skills
                .extend(self.snapshot.skills.iter().position(here));
        }
    }

    /// What a skill that an earlier export made was made from, if that is still there.
    ///
    /// In a project the copy goes before what it was copied from, and would be copied again and again.
    pub(super) fn original(&self, at: usize) -> usize {
        let is_copy = |at: usize| {
            let text = self.skill(at).and_then(|skill| self.files.read_text(skill));
            text.is_some_and(|text| generated::is_marked(&text))
        };
        if !is_copy(at) {
            return at;
        }
        let name = self.skill(at).map(Skill::name);
        let others = self.snapshot.skills.iter().enumerate();
        let mut others = others.filter(|(other, skill)| {
            *other != at && Some(skill.name()) == name && skill.state.is_usable()
        });
        others
            .find(|(other, _)| !is_copy(*other))
            .map_or(at, |(other, _)| other)
    }

    /// Adds a skill with those below it; false where another one has its name.
    pub(super) fn add(&mut self, at: usize, warnings: &mut Vec<Diagnostic>) -> bool {
        if self.names.contains_key(&at) {
            return true;
        }
        let Some(skill) = self.skill(at) else {
            return false;
        };
        let Some(name) = export::skill_folder(skill.name()) else {
            let message = format!(
                "skill `{}` was left out: its name is none that a folder can have",
                address_of(self.snapshot, at)
            );
            warnings.push(Diagnostic::new(Code::ExportName, message));
            return false;
        };
        if let Some(other) = self.by_name.get(&name) {
            let message = format!(
                "skill `{}` was left out: `{}` has its name already",
                address_of(self.snapshot, at),
                address_of(self.snapshot, *other)
            );
            warnings.push(Diagnostic::new(Code::ExportName, message));
            return false;
        }
        self.by_name.insert(name.clone(), at);
        self.names.insert(at, name);
        for child in self.children(at) {
            self.add(child, warnings);
        }
        true
    }

    fn children(&self, at: usize) -> Vec<usize> {
        let usable = |child: &usize| {
            self.skill(*child)
                .is_some_and(|skill| skill.state.is_usable())
        };
        let children = self.snapshot.tree.children(at).iter().copied();
        children.filter(usable).collect()
    }

    fn shown_children(&self, at: usize) -> Vec<Child<'_>> {
        let one = |child: usize| {
            Some(Child {
                name: self.names.get(&child)?,
                description: self.skill(child)?.description(),
            })
        };
        self.children(at).into_iter().filter_map(one).collect()
    }

    /// Skills with their names at the host.
    pub(super) fn named<'b>(&'b self, kept: &'b [(usize, String)]) -> Vec<Named<'b>> {
        let one = |(at, body): &'b (usize, String)| {
            Some(Named {
                skill: self.skill(*at)?,
                name: self.names.get(at)?,
                body,
                children: self.shown_children(*at),
            })
        };
        kept.iter().filter_map(one).collect()
    }

    /// Puts the files of all skills into the target.
    pub(super) fn put(
        &self,
        target: &mut Target,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(), ExportError> {
        for (at, name) in &self.names {
            let Some(skill) = self.skill(*at) else {
                continue;
            };
            let location = self.snapshot.location(&skill.place);
            let folder = format!("{}/{name}", self.rules.skills);
            // One that is there already is its author's.
            if target.is_at(&format!("{folder}/SKILL.md"), &location) {
                continue;
            }
            let unsteady = || PromptError::Unsteady(location.clone());
            let source = self.files.read_text(skill).ok_or_else(unsteady)?;
            let source = if self.is_packaged(skill) {
                let (text, findings) = export::packaged_skill(skill.name(), &source);
                diagnostics.extend(findings.into_iter().map(|one| one.in_file(&location)));
                text
            } else if skill.content.parsed().has_errors() {
                // What Grove reads at its strictest another reader may not.
                export::printed_skill(skill.content.parsed(), &source)
            } else {
                source
            };
            let children = self.shown_children(*at);
            let address = address_of(self.snapshot, *at);
            let text = if generated::is_marked(&source) {
                Some(source)
            } else {
                export::skill_text(&source, &address, &children)
            };
            let text = text.ok_or_else(unsteady)?;
            target.put_skill(&folder, text);
            self.put_resources(skill, &folder, target, diagnostics)?;
        }
        Ok(())
    }

    /// The addresses of skills that are there and cannot be used.
    pub(super) fn held(&self) -> BTreeSet<String> {
        let skills = self.snapshot.skills.iter();
        skills
            .filter(|skill| !skill.state.is_usable())
            .map(|skill| self.snapshot.address(skill))
            .collect()
    }

    /// Whether a skill came with a package, and so may not grant itself anything.
    fn is_packaged(&self, skill: &Skill) -> bool {
        let planned = self.files.planned(skill);
        planned.is_some_and(|planned| planned.package_folder().is_some())
    }

    fn put_resources(
        &self,
        skill: &Skill,
        folder: &str,
        target: &mut Target,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(), ExportError> {
        let found = self.files.resources(self.snapshot, skill)?;
        let location = self.snapshot.location(&skill.place);
        let beside = location.parent().unwrap_or(&location);
        let mut missing = Missing::of(&found);
        for name in found.names {
            if name.ends_with('/') {
                missing.add(name, "it lies deeper than folders are looked into");
                continue;
            }
            if is_twin(&name) {
                missing.add(
                    name,
                    "where cases are not told apart it would be `SKILL.md`",
                );
                continue;
            }
            match self.files.read_file(self.snapshot, skill, &name, MAX_BYTES) {
                Ok(bytes) => {
                    let mode = files::mode(&beside.join(&name)).unwrap_or_default();
                    target.put_resource(folder, &name, bytes, mode & 0o111 != 0);
                }
                Err(_) if is_larger(&beside.join(&name)) => {
                    missing.add(name, format!("it has more than {} MiB", MAX_BYTES >> 20));
                }
                Err(ReadRefusal::Fs(error)) => missing.add(name, error.source.to_string()),
                Err(refusal) => missing.add(name, refusal.to_string()),
            }
        }
        missing.say(skill.name(), &location, diagnostics);
        Ok(())
    }
}
