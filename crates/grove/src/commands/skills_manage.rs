//! `grove skills create | edit | rename | copy | delete | enable | disable`.

use grove_catalog::hosts::{self, Host};
use grove_skills::Environment;
use grove_skills::managing::{Manager, NewSkill, RenameRequest, SkillCopy};
use grove_spec::agent::compose::FileEdit;
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use grove_spec::text::one_line;

use super::change_report::{self, layer, read_text};
use super::{Outcome, naming};
use crate::args::{ManageSkills, SkillFields};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::CommandOutput;

pub(super) fn run(
    environment: &Environment,
    command: &ManageSkills,
    out: &mut CommandOutput,
) -> Outcome {
    if let ManageSkills::Delete(asked) = command
        && !change_report::may_delete(environment, EntryKind::Skills, asked, out)?
    {
        return Ok(ErrorKind::Finding.exit_code());
    }
    let asks = match command {
        ManageSkills::Create { asked, .. } => asks(environment, asked, &[])?,
        ManageSkills::Edit { asked, unset, .. } => asks(environment, asked, unset)?,
        _ => Vec::new(),
    };
    if asks.is_empty() && matches!(command, ManageSkills::Edit { .. }) {
        let error = CommandError::usage("there is nothing to change");
        return Err(error.hint("give `--description TEXT`, `--set FIELD=VALUE` or `--body TEXT`"));
    }
    let (verb, name) = match command {
        ManageSkills::Create { name, .. } => ("create", name),
        ManageSkills::Edit { name, .. } => ("edit", name),
        ManageSkills::Rename { name, .. } => ("rename", name),
        ManageSkills::Copy { name, .. } => ("copy", name),
        ManageSkills::Delete(asked) => ("delete", &asked.named.name),
        ManageSkills::Enable(asked) => ("enable", &asked.name),
        ManageSkills::Disable(asked) => ("disable", &asked.name),
    };
    let mut manager = Manager::new(environment, &format!("skills {verb} {name}"))?;
    let (json, changed) = match command {
        ManageSkills::Create {
            host, scope, json, ..
        } => {
            let host = host.as_deref().map(known_host).transpose()?;
            let asked = NewSkill {
                name,
                scope: layer(*scope),
                host: host.as_ref(),
                edits: &asks,
            };
            let mut changed = manager.create_skill(&asked)?;
            let readers = manager.readers_of_skill(&changed.file, asked.scope);
            changed.notes.push(readers_note(&changed.name, &readers));
            (*json, changed)
        }
        ManageSkills::Edit { whose, .. } => {
            let scope = whose.scope.map(layer);
            (whose.json, manager.edit_skill(name, scope, &asks)?)
        }
        ManageSkills::Rename { to, whose, .. } => {
            let asked = RenameRequest {
                name,
                to,
                package: None,
                scope: whose.scope.map(layer),
            };
            (whose.json, manager.rename(EntryKind::Skills, &asked)?)
        }
        ManageSkills::Copy {
            to, scope, json, ..
        } => {
            let host = known_host(to)?;
            let asked = SkillCopy {
                name,
                host: &host,
                scope: layer(*scope),
            };
            (*json, manager.copy_skill(&asked)?)
        }
        ManageSkills::Delete(asked) => {
            let (_, json, changed) =
                change_report::delete(&mut manager, EntryKind::Skills, &asked.named)?;
            (json, changed)
        }
        ManageSkills::Enable(asked) | ManageSkills::Disable(asked) => {
            // The configuration that is written unless told otherwise is the user's.
            let scope = asked.whose.scope.map_or(LayerScope::User, layer);
            let is_on = matches!(command, ManageSkills::Enable(_));
            (asked.whose.json, manager.switch_skill(name, scope, is_on)?)
        }
    };
    change_report::print(environment, "skills", verb, &changed, json, out);
    Ok(0)
}

fn known_host(name: &str) -> Result<Host, CommandError> {
    let host = naming::known_host(name, "known hosts", hosts::names())?;
    let host = hosts::by_name(host);
    host.ok_or_else(|| CommandError::internal("a host has no description"))
}

/// The hosts that read a new skill's file besides Grove, and the way to the others.
fn readers_note(name: &str, readers: &[String]) -> String {
    if readers.is_empty() {
        let name = one_line(name);
        return format!(
            "Grove alone reads this file; `grove skills copy {name} --to HOST` copies it, and `--host HOST` makes it there"
        );
    }
    format!("read by {}", readers.join(", "))
}

fn asks(
    environment: &Environment,
    asked: &SkillFields,
    unset: &[String],
) -> Result<Vec<FileEdit>, CommandError> {
    let description = asked.description.iter();
    let mut asks: Vec<FileEdit> = description
        .map(|text| FileEdit::Set("description".to_owned(), text.clone()))
        .collect();
    let fields = asked.fields.iter();
    asks.extend(fields.map(|(key, value)| FileEdit::Set(key.clone(), value.clone())));
    asks.extend(unset.iter().map(|key| FileEdit::Unset(key.clone())));
    let body = match &asked.body_file {
        Some(file) => Some(read_text(environment, file)?),
        None => asked.body.clone(),
    };
    asks.extend(body.map(FileEdit::Body));
    Ok(asks)
}
