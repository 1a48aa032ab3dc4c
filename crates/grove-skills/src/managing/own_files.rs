//! Files that are one's own to change: found, read, written, moved and deleted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::RootSource;
use grove_catalog::entry::Entries;
use grove_catalog::target::ChangeTarget;
use grove_fs::files;
use grove_fs::undo::UndoRecording;
use grove_spec::agent::naming;
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use grove_spec::text::one_line;

use super::within::WritePlace;
use super::{ManageError, ManagedEntry};
use crate::sources::Sources;

/// The files of all skills, of all agents, or of all chains.
pub(super) struct OwnFiles<'a, E> {
    pub(super) found: Entries<'a, E>,
    /// The access to the files: each is read again only if it is still the one that was judged.
    pub(super) sources: &'a Sources,
    pub(super) recording: &'a Arc<UndoRecording>,
}

impl<'a, E: ManagedEntry> OwnFiles<'a, E> {
    pub(super) fn own(
        &self,
        query: &str,
        scope: Option<LayerScope>,
    ) -> Result<(&'a E, LayerScope), ManageError> {
        let noun = E::KIND.noun();
        let refused = |message: String| ManageError::refused(message);
        let at = match self.found.target(query, scope) {
            ChangeTarget::One(at) => at,
            ChangeTarget::Unknown(near) => return Err(ManageError::not_found(noun, query, &near)),
            ChangeTarget::ReadOnly(at) => return Err(self.read_only(query, at)),
            ChangeTarget::BothScopes(files) => {
                let files: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
                let files = files.join(", ");
                return Err(refused(format!("`{query}` is in both scopes: {files}"))
                    .hint("say which with `--scope user` or `--scope project`"));
            }
            ChangeTarget::Several(addresses) => {
                let all = addresses.join(", ");
                return Err(
                    refused(format!("several files are called `{query}`: {all}"))
                        .hint("say which by one of these addresses"),
                );
            }
            ChangeTarget::OtherScope(file) => {
                let file = file.display();
                return Err(
                    refused(format!("`{query}` is not in this scope: it is {file}"))
                        .hint("give the other `--scope`"),
                );
            }
        };
        let scope = match self.found.source(at) {
            Some(RootSource::Project) => LayerScope::Project,
            _ => LayerScope::User,
        };
        let one = self.found.all.get(at);
        let one = one.ok_or_else(|| ManageError::not_found(noun, query, &[]))?;
        if one.is_its_hosts() {
            let (name, file) = (one.name(), self.location(one));
            let file = file.display();
            return Err(refused(format!(
                "`{name}` cannot be changed here: {file} is in the format of its host"
            ))
            .hint("change the file itself")
            .hint(instead_of_editing(name)));
        }
        Ok((one, scope))
    }

    /// The refusal of a change to what came from elsewhere.
    fn read_only(&self, query: &str, at: usize) -> ManageError {
        let name = self.found.all.get(at).map_or(query, |one| one.name());
        let came_from = match self.found.source(at).unwrap_or(RootSource::Bundled) {
            RootSource::Bundled => "comes with Grove",
            RootSource::Package => "comes with a package",
            RootSource::Extra => "is in an extra folder",
            RootSource::Managed => "is managed",
            RootSource::User | RootSource::Project => "is written elsewhere",
        };
        let error = ManageError::refused(format!("`{name}` cannot be changed: it {came_from}"));
        let error = match E::KIND {
            EntryKind::Agents => error.hint(instead_of_editing(name)),
            EntryKind::Skills => {
                error.hint(format!("switch it off with `grove skills disable {name}`"))
            }
            EntryKind::Chains => error,
        };
        let kind = E::KIND.word();
        error.hint(format!(
            "`grove {kind} create {name} …` makes one of your own that takes its place"
        ))
    }

    pub(super) fn readable(&self, one: &E) -> Result<(WritePlace, String), ManageError> {
        let shown = self.location(one);
        if !one.is_read() {
            return Err(ManageError::unreadable(&shown, "it cannot be read"));
        }
        let Some(bytes) = one.bytes(self.sources) else {
            return Err(ManageError::changed(&shown));
        };
        let text = utf8(bytes, &shown)?;
        let place = self.place(one, &shown)?;
        // A file that came with a project must not lead out of its folder for such files.
        let root = self.found.root_of(one);
        if let Some(root) = root.filter(|root| root.source == RootSource::Project)
            && !place.real().starts_with(files::canonical(&root.path)?)
        {
            return Err(ManageError::not_plain(&shown));
        }
        Ok((place, text))
    }

    pub(super) fn moved(
        &self,
        one: &E,
        to: &Path,
        before: &str,
        after: &str,
    ) -> Result<(), ManageError> {
        let shown = self.location(one);
        let from = self.place(one, &shown)?;
        if shown == to {
            return from.replace(before.as_bytes(), after.as_bytes());
        }
        self.require_plain(one)?;
        let folder = |file: &Path| -> Result<WritePlace, ManageError> {
            self.place(one, file.parent().unwrap_or(file))
        };
        let new = self.place(one, to)?;
        if one.has_folder() {
            folder(&shown)?.rename_tree(&folder(to)?)?;
            if after == before {
                return Ok(());
            }
            return new
                .replace(before.as_bytes(), after.as_bytes())
                .or_else(|error| {
                    folder(to)?.rename_tree(&folder(&shown)?)?;
                    Err(error)
                });
        }
        // It is one file all the time, and its text names it: a command that is killed between the two has changed
        // nothing but the file's name, and the same command does the rest.
        from.rename_new(&new, before.as_bytes())?;
        new.replace(before.as_bytes(), after.as_bytes())
            .or_else(|error| {
                new.rename_new(&from, before.as_bytes())?;
                Err(error)
            })
    }

    /// The path that a deletion would remove.
    pub(super) fn deletes(
        &self,
        query: &str,
        scope: Option<LayerScope>,
    ) -> Result<PathBuf, ManageError> {
        let (one, _) = self.own(query, scope)?;
        self.require_plain(one)?;
        let file = self.location(one);
        let folder = file.parent().filter(|_| one.has_folder());
        Ok(folder.map(Path::to_path_buf).unwrap_or(file))
    }

    /// Deletes a file that still has the text it was read with, or the folder that is all its own.
    pub(super) fn delete(&self, one: &E, before: &str) -> Result<(), ManageError> {
        self.require_plain(one)?;
        let file = self.location(one);
        if let Some(folder) = file.parent().filter(|_| one.has_folder()) {
            return self.place(one, folder)?.remove_tree();
        }
        if self.place(one, &file)?.remove_same(before.as_bytes())? {
            Ok(())
        } else {
            Err(ManageError::changed(&file))
        }
    }

    /// The place of a file in the root of another one: a project's is held beneath the project.
    fn place(&self, one: &E, file: &Path) -> Result<WritePlace, ManageError> {
        let planned = one.planned(self.sources);
        let base = planned
            .filter(|planned| planned.root.source == RootSource::Project)
            .map(|planned| planned.base.as_deref().unwrap_or(&planned.root.path));
        match base.and_then(|base| Some((base, file.strip_prefix(base).ok()?))) {
            Some((base, below)) => WritePlace::within(self.recording, base, below),
            None => Ok(WritePlace::of_user(self.recording, file.to_path_buf())),
        }
    }

    /// Notes about the entries whose place a file takes.
    pub(super) fn stands_in_for(&self, file: &Path) -> Vec<String> {
        let entries = self.found;
        let at = entries
            .all
            .iter()
            .position(|one| entries.location(one) == file);
        let others = entries
            .all
            .iter()
            .filter(|other| at.is_some() && other.stand_in() == at);
        let note = |other| format!("it takes the place of {}", entries.address(other));
        others.map(|other| one_line(&note(other))).collect()
    }

    pub(super) fn location(&self, one: &E) -> PathBuf {
        self.found.location(one)
    }

    /// Refuses a file that is no plain file in its root's folder: such files are not moved or deleted.
    fn require_plain(&self, one: &E) -> Result<(), ManageError> {
        let file = self.location(one);
        let root = self.found.root_of(one);
        let folder = root.map(|root| files::canonical(&root.path)).transpose()?;
        let inside = folder.is_some_and(|folder| {
            files::canonical(&file).is_ok_and(|file| file.starts_with(folder))
        });
        if inside && !files::is_link(&file) {
            Ok(())
        } else {
            Err(ManageError::not_plain(&file))
        }
    }
}

/// A file's text; where it is not UTF-8, the error names the line.
pub(super) fn utf8(bytes: Vec<u8>, file: &Path) -> Result<String, ManageError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(valid);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        ManageError::unreadable(file, &format!("line {line} is not UTF-8"))
    })
}

pub(super) fn sanitised(name: &str) -> Result<String, ManageError> {
    naming::sanitised(name).ok_or_else(|| nothing_left("name", name))
}

/// A package as it is used in names; an empty text says that there is none, and blanks say nothing.
pub(super) fn package(text: &str) -> Result<Option<String>, ManageError> {
    if text.is_empty() {
        return Ok(None);
    }
    let package = naming::package(text);
    package
        .map(Some)
        .ok_or_else(|| nothing_left("package", text))
}

fn nothing_left(of: &str, typed: &str) -> ManageError {
    let typed = one_line(typed);
    ManageError::bad_request(format!(
        "the {of} `{typed}` has no usable characters: it needs letters or digits"
    ))
}

/// The hint for an agent whose file is not changed.
fn instead_of_editing(name: &str) -> String {
    format!(
        "override single fields with `grove agents edit {name} --override …`, or switch it off with `grove agents disable {name}`"
    )
}

pub(super) fn full_name(name: &str, package: Option<&str>) -> String {
    match package {
        Some(package) => format!("{package}.{name}"),
        None => name.to_owned(),
    }
}
