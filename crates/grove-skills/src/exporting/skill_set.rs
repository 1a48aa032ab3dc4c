//! The skills of an export: those that agents name and those below them, each once and under one name.

use std::collections::{BTreeMap, BTreeSet};

use grove_catalog::export::{self, AgentSkill, ChildSkill};
use grove_catalog::hosts::ExportRules;
use grove_catalog::identity;
use grove_catalog::prompt::ChosenSkills;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_spec::{Code, Diagnostic, generated};

use super::missing::{MissingFiles, is_larger};
use super::target::ExportTarget;
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

    /// Replaces the numbers of skills that an agent chose by their numbers among the skills of all agents.
    pub(super) fn name_among_all(&self, offered: &Snapshot, chosen: &mut ChosenSkills) {
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

    /// The skill that this one was made from by an earlier export, if it is still there.
    ///
    /// In a project the copy goes before its original, and would be copied again and again.
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
                "skill `{}` was left out: its name cannot be the name of a folder",
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

    fn shown_children(&self, at: usize) -> Vec<ChildSkill<'_>> {
        let one = |child: usize| {
            Some(ChildSkill {
                name: self.names.get(&child)?,
                description: self.skill(child)?.description(),
            })
        };
        self.children(at).into_iter().filter_map(one).collect()
    }

    pub(super) fn named<'b>(&'b self, kept: &'b [(usize, String)]) -> Vec<AgentSkill<'b>> {
        let one = |(at, body): &'b (usize, String)| {
            Some(AgentSkill {
                skill: self.skill(*at)?,
                name: self.names.get(at)?,
                body,
                children: self.shown_children(*at),
            })
        };
        kept.iter().filter_map(one).collect()
    }

    pub(super) fn put(
        &self,
        target: &mut ExportTarget,
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
            let unsteady = || PromptError::FileChanged(location.clone());
            let (source, findings) = text_for_host(self.files, skill).ok_or_else(unsteady)?;
            diagnostics.extend(findings);
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

    pub(super) fn held(&self) -> BTreeSet<String> {
        let skills = self.snapshot.skills.iter();
        skills
            .filter(|skill| !skill.state.is_usable())
            .map(|skill| self.snapshot.address(skill))
            .collect()
    }

    fn put_resources(
        &self,
        skill: &Skill,
        folder: &str,
        target: &mut ExportTarget,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(), ExportError> {
        let (beside, missing) = beside_skill(self.files, self.snapshot, skill)?;
        for one in beside {
            target.put_resource(folder, &one.name, one.bytes, one.is_executable);
        }
        diagnostics.extend(missing);
        Ok(())
    }
}

/// The text of a skill's file as a host may have it, and what was changed in it; none where the file is another one now.
///
/// A skill that came with a package may not grant itself anything.
pub(crate) fn text_for_host(
    files: &SkillFiles,
    skill: &Skill,
) -> Option<(String, Vec<Diagnostic>)> {
    let source = files.read_text(skill)?;
    let planned = files.planned(skill)?;
    let location = planned.root.path.join(identity::file_below_root(
        skill.place.layout,
        &skill.place.id,
    ));
    if planned.package_folder().is_some() {
        let (text, findings) = export::packaged_skill(skill.name(), &source);
        let findings = findings.into_iter().map(|one| one.in_file(&location));
        return Some((text, findings.collect()));
    }
    // Another reader may not accept a file in which Grove finds errors.
    let text = if skill.content.parsed().has_errors() {
        export::printed_skill(skill.content.parsed(), &source)
    } else {
        source
    };
    Some((text, Vec::new()))
}

pub(crate) struct ResourceFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_executable: bool,
}

pub(crate) fn beside_skill(
    files: &SkillFiles,
    snapshot: &Snapshot,
    skill: &Skill,
) -> Result<(Vec<ResourceFile>, Vec<Diagnostic>), ExportError> {
    let found = files.resources(snapshot, skill)?;
    let location = snapshot.location(&skill.place);
    let folder = location.parent().unwrap_or(&location);
    let (mut beside, mut findings) = (Vec::new(), Vec::new());
    let mut missing = MissingFiles::of(&found);
    for name in found.names {
        if name.ends_with('/') {
            missing.add(name, "it is deeper than folders are searched");
            continue;
        }
        if is_twin(&name) {
            missing.add(
                name,
                "on a file system that ignores case it would be `SKILL.md`",
            );
            continue;
        }
        match files.read_file(snapshot, skill, &name, MAX_BYTES) {
            Ok(bytes) => {
                let mode = grove_fs::files::mode(&folder.join(&name)).unwrap_or_default();
                beside.push(ResourceFile {
                    name,
                    bytes,
                    is_executable: mode & 0o111 != 0,
                });
            }
            Err(_) if is_larger(&folder.join(&name)) => {
                missing.add(name, format!("it has more than {} MiB", MAX_BYTES >> 20));
            }
            Err(ReadRefusal::Fs(error)) => missing.add(name, error.source.to_string()),
            Err(refusal) => missing.add(name, refusal.to_string()),
        }
    }
    missing.say(skill.name(), &location, &mut findings);
    Ok((beside, findings))
}
