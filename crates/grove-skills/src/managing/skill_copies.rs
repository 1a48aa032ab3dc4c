//! A skill copied into a folder of a host, with the files beside it. From then on the copy is its owner's.

use std::path::{Path, PathBuf};

use grove_catalog::export;
use grove_catalog::hosts::{self, Host, HostRoot};
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::Skill;
use grove_fs::files;
use grove_spec::config::LayerScope;
use grove_spec::text::one_line;

use super::within::WritePlace;
use super::{ChangeReport, ManageError, ManagedEntry as _, Manager};
use crate::exporting::{beside_skill, text_for_host};

/// A copy that is to be made.
#[derive(Debug)]
pub struct SkillCopy<'a> {
    /// The skill's name, id or address.
    pub name: &'a str,
    /// The host to whose folder it is copied.
    pub host: &'a Host,
    /// The user's folder, or the project's.
    pub scope: LayerScope,
}

impl Manager {
    /// Copies a skill to where a host looks for skills.
    pub fn copy_skill(&mut self, asked: &SkillCopy<'_>) -> Result<ChangeReport, ManageError> {
        let (snapshot, files) = (&self.discovery.snapshot, &self.discovery.sources.skills);
        let skills = snapshot.entries();
        let found = skills.find_first(asked.name);
        let at = found.map_err(|near| ManageError::not_found("skill", asked.name, &near))?;
        let skill = skills.all.get(at);
        let skill = skill.ok_or_else(|| ManageError::not_found("skill", asked.name, &[]))?;
        let (name, location) = (skill.name().to_owned(), skills.location(skill));
        let shown = one_line(&name);
        if !skill.state.is_usable() {
            let state = skill.state.as_str();
            return Err(ManageError::refused(format!(
                "`{shown}` is {state}, so it was not copied"
            ))
            .hint(format!("`grove skills show {shown}` says why")));
        }
        let folder = export::skill_folder(&name);
        let folder = folder
            .ok_or_else(|| ManageError::refused(format!("no folder can be called `{shown}`")))?;
        let root = own_root(asked.host, asked.scope)?;
        let to = |below: &Path| self.place_in(root, asked.scope, &Path::new(&folder).join(below));
        let place = to(Path::new("SKILL.md"))?;
        let file = place.path().to_path_buf();
        if file == location {
            return Ok(self.report::<Skill>(&name, asked.scope, file, false, Vec::new()));
        }
        if let Some(folder) = file.parent().filter(|folder| files::is_there(folder)) {
            return Err(ManageError::file_exists(folder));
        }
        let unsteady = || ManageError::changed(&location);
        let (text, mut warnings) = text_for_host(files, skill).ok_or_else(unsteady)?;
        let (beside, missing) = beside_skill(files, snapshot, skill).map_err(|_| unsteady())?;
        warnings.extend(missing);
        place.create(text.as_bytes(), None)?;
        for one in &beside {
            let mode = if one.is_executable { 0o755 } else { 0o644 };
            to(Path::new(&one.name))?.create(&one.bytes, Some(mode))?;
        }
        let mut report = self.report::<Skill>(&name, asked.scope, file, true, warnings);
        let notes = Skill::own_files(self).stands_in_for(&report.file);
        report.notes.extend(notes);
        Ok(report)
    }

    /// The titles of the hosts that look for skills where a skill lies.
    pub fn readers_of_skill(&self, file: &Path, scope: LayerScope) -> Vec<String> {
        let below =
            |folder: &Path| Some(PathBuf::from(folder.file_name()?).join(file.file_name()?));
        let Some(below) = file.parent().and_then(below) else {
            return Vec::new();
        };
        let reads = |host: &Host| {
            let mut roots = host.roots.iter().filter(|root| is_of_scope(root, scope));
            let is_it = |root: &HostRoot| {
                let place = self.place_in(root, scope, &below);
                place.is_ok_and(|place| place.path() == file)
            };
            roots.any(is_it)
        };
        let hosts = hosts::names().filter_map(hosts::by_name);
        hosts.filter(reads).map(|host| host.title).collect()
    }

    /// A place below a host's folder, which a variable of the host may have moved.
    pub(super) fn place_in(
        &self,
        root: &HostRoot,
        scope: LayerScope,
        below: &Path,
    ) -> Result<WritePlace, ManageError> {
        let variables = &self.discovery.world.environment.variables;
        let moved = root.env.as_ref().and_then(|name| variables.get(name));
        if let Some(folder) = moved.filter(|folder| !folder.is_empty()) {
            let last = Path::new(&root.path).file_name().unwrap_or_default();
            let path = PathBuf::from(folder).join(last).join(below);
            return Ok(WritePlace::of_user(&self.recording, path));
        }
        let path = root.path.strip_prefix("~/").unwrap_or(&root.path);
        self.new_file(scope, &Path::new(path).join(below))
    }
}

fn is_of_scope(root: &HostRoot, scope: LayerScope) -> bool {
    match scope {
        LayerScope::User => root.source == RootSource::User && root.path.starts_with("~/"),
        LayerScope::Project => root.source == RootSource::Project,
    }
}

/// The folder of a host's own in a scope; one that hosts share only where it has no other.
pub(super) fn own_root(host: &Host, scope: LayerScope) -> Result<&HostRoot, ManageError> {
    let is_own = |root: &&HostRoot| {
        let path = root.path.trim_start_matches("~/").trim_start_matches('.');
        path.starts_with(&host.name) || path.contains(&format!("/{}/", host.name))
    };
    let roots = || host.roots.iter().filter(|root| is_of_scope(root, scope));
    let root = roots().find(is_own).or_else(|| roots().next());
    root.ok_or_else(|| {
        let title = &host.title;
        ManageError::refused(format!("{title} has no folder of skills there"))
            .hint("`grove hosts` shows where each host looks")
    })
}
