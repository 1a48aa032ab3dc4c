//! The folders and files of skills: made, changed, renamed, deleted, switched off and on.

use std::path::{Path, PathBuf};

use grove_catalog::eligibility::entry_key;
use grove_catalog::entry::Entries;
use grove_catalog::hosts::Host;
use grove_catalog::identity::SkillLayout;
use grove_catalog::snapshot::Skill;
use grove_catalog::state::EntryState;
use grove_fs::files;
use grove_spec::agent::compose::{self, FileEdit};
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use grove_spec::skill;
use grove_spec::text::one_line;
use serde_json::Value;

use super::agent_files::field;
use super::own_files::sanitised;
use super::skill_copies::own_root;
use super::{ChangeReport, ManageError, ManagedEntry, Manager, SKILLS};
use crate::library::Discovery;
use crate::planning::PlannedRoot;
use crate::sources::Sources;

/// A skill that is to be made.
#[derive(Debug, Clone)]
pub struct NewSkill<'a> {
    /// Its name, as typed.
    pub name: &'a str,
    /// The scope that it is made in.
    pub scope: LayerScope,
    /// The host in whose folder it is made; none means Grove's own.
    pub host: Option<&'a Host>,
    /// Its fields and its text.
    pub edits: &'a [FileEdit],
}

impl ManagedEntry for Skill {
    fn all(discovery: &Discovery) -> Entries<'_, Self> {
        discovery.snapshot.entries()
    }

    fn bytes(&self, sources: &Sources) -> Option<Vec<u8>> {
        sources.skills.read(self)
    }

    fn planned<'a>(&self, sources: &'a Sources) -> Option<&'a PlannedRoot> {
        sources.skills.planned(self)
    }

    fn is_read(&self) -> bool {
        self.content.size > 0
    }

    fn has_folder(&self) -> bool {
        self.place.layout == SkillLayout::Folder
    }

    fn renamed(
        &self,
        file: &Path,
        before: &str,
        name: &str,
        package: Option<&str>,
    ) -> Result<(PathBuf, String), ManageError> {
        if package.is_some() {
            return Err(ManageError::bad_request("a skill has no package"));
        }
        let after = compose::rename_skill(before, name).map_err(field)?;
        let file = match (self.place.layout, file.parent()) {
            (SkillLayout::Folder, Some(folder)) => folder.with_file_name(name).join("SKILL.md"),
            (SkillLayout::Flat, _) => file.with_file_name(format!("{name}.md")),
            _ => {
                let message = format!("{} is the skill of its whole root", file.display());
                return Err(ManageError::refused(message)
                    .hint("rename the folder yourself, and `name` in the file"));
            }
        };
        Ok((file, after))
    }
}

impl Manager {
    /// Makes a skill's folder and file.
    pub fn create_skill(&mut self, asked: &NewSkill<'_>) -> Result<ChangeReport, ManageError> {
        let name = sanitised(asked.name)?;
        let text = compose::create_skill(&name, asked.edits).map_err(field)?;
        if skill::parse(&text).skill.description.is_none() {
            return Err(ManageError::field("description", "a new skill needs one"));
        }
        let below = Path::new(&name).join("SKILL.md");
        let place = match asked.host {
            Some(host) => self.place_in(own_root(host, asked.scope)?, asked.scope, &below)?,
            None => self.new_file(asked.scope, &Path::new(SKILLS).join(below))?,
        };
        let file = place.path().to_path_buf();
        self.require_new(EntryKind::Skills, &name, asked.scope, None)?;
        if file.parent().is_some_and(files::is_there) {
            return Err(ManageError::file_exists(file.parent().unwrap_or(&file)));
        }
        place.create(text.as_bytes(), None)?;
        self.keep_trust(&place.real(), None, &text);
        let mut report = self.report::<Skill>(&name, asked.scope, file, true, Vec::new());
        let notes = Skill::own_files(self).stands_in_for(&report.file);
        report.notes.extend(notes);
        Ok(report)
    }

    /// Changes fields and text of a skill's file.
    pub fn edit_skill(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &[FileEdit],
    ) -> Result<ChangeReport, ManageError> {
        let files = Skill::own_files(self);
        let (skill, scope) = files.own(name, scope)?;
        let (name, location) = (skill.name().to_owned(), files.location(skill));
        let (place, before) = files.readable(skill)?;
        let after = compose::change_skill(&before, asks).map_err(field)?;
        let changed = after != before;
        if changed {
            place.replace(before.as_bytes(), after.as_bytes())?;
            self.keep_trust(&place.real(), Some(&before), &after);
        }
        Ok(self.report::<Skill>(&name, scope, location, changed, Vec::new()))
    }

    /// Switches a skill off or on in the configuration of a scope, for every skill of its name or `skillKey`.
    ///
    /// Where another file decides otherwise, nothing is changed and that is the error.
    pub fn switch_skill(
        &mut self,
        name: &str,
        scope: LayerScope,
        is_on: bool,
    ) -> Result<ChangeReport, ManageError> {
        let skills = self.discovery.snapshot.entries();
        // A skill that is off may have another one in its place that is on.
        let named = skills.named(name).into_iter();
        let mut off = named.filter(|at| {
            let skill = skills.all.get(*at);
            skill.is_some_and(|skill| skill.state == EntryState::Disabled)
        });
        let at = match off.next().filter(|_| is_on) {
            Some(at) => at,
            None => skills
                .find_first(name)
                .map_err(|near| ManageError::not_found("skill", name, &near))?,
        };
        let skill = skills.all.get(at);
        let skill = skill.ok_or_else(|| ManageError::not_found("skill", name, &[]))?;
        let (name, location) = (skill.name().to_owned(), skills.location(skill));
        let key = entry_key(skill.file().requirements.as_deref(), &name).to_owned();
        let path = ["skills", "entries", &key, "enabled"];
        let mut config = self.config(scope)?;
        let before = config.saved();
        if is_on {
            config.remove_value(&path)?;
        } else {
            config.set_value(&path, &Value::from(false))?;
        }
        let changed = config.write()?;
        let mut report = self.report::<Skill>(&name, scope, location, changed, Vec::new());
        report.file.clone_from(&config.path);
        let is_as_asked = (report.state == Some(EntryState::Disabled)) != is_on;
        if is_as_asked {
            return Ok(report);
        }
        if self.waits_for_trust(&config.path) {
            let note = "the project's configuration takes effect once you run `grove trust`";
            report.notes.push(note.to_owned());
            return Ok(report);
        }
        if !is_on && report.state.is_some_and(|state| !state.is_usable()) {
            return Ok(report);
        }
        config.restore(before)?;
        let (stays, hint) = if is_on {
            (
                "off",
                "another configuration switches it off: give the other `--scope`, or see `grove config`",
            )
        } else {
            ("on", "another configuration says so: see `grove config`")
        };
        let message = format!("`{}` stays switched {stays}", one_line(&name));
        Err(ManageError::refused(message).hint(hint))
    }
}
