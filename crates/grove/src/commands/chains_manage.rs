//! `grove chains create | edit | rename | delete`.

use std::path::Path;

use grove_skills::Environment;
use grove_skills::managing::{ChainChanges, Manager, NewChain};
use grove_spec::json;
use grove_spec::package::EntryKind;
use grove_spec::text::one_line;
use serde_json::Value;

use super::Outcome;
use super::change_report::{self, layer, read_text};
use crate::args::ChainsCommand;
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::CommandOutput;

pub(super) fn run(
    environment: &Environment,
    command: &ChainsCommand,
    out: &mut CommandOutput,
) -> Outcome {
    let steps = match command {
        ChainsCommand::Create { steps, .. } => Some(parsed(environment, steps)?),
        ChainsCommand::Edit { steps, .. } => {
            let steps = steps.as_deref();
            steps.map(|steps| parsed(environment, steps)).transpose()?
        }
        _ => None,
    };
    let in_words = match command {
        ChainsCommand::Create { name, .. } => format!("chains create {name}"),
        ChainsCommand::Edit { name, .. } => format!("chains edit {name}"),
        ChainsCommand::Rename(asked) => format!("chains rename {}", asked.name),
        ChainsCommand::Delete(asked) => {
            if !change_report::may_delete(environment, EntryKind::Chains, asked, out)? {
                return Ok(ErrorKind::Finding.exit_code());
            }
            format!("chains delete {}", asked.named.name)
        }
        // The caller has answered these.
        ChainsCommand::List { .. } | ChainsCommand::Show { .. } | ChainsCommand::Check { .. } => {
            return Ok(0);
        }
    };
    let mut manager = Manager::new(environment, &in_words)?;
    let (action, json, changed) = match command {
        ChainsCommand::Create {
            name,
            package,
            description,
            scope,
            json,
            ..
        } => {
            let asked = NewChain {
                name,
                package: package.as_deref(),
                scope: layer(*scope),
                description,
                steps: &steps.unwrap_or_default(),
            };
            ("create", *json, manager.create_chain(&asked)?)
        }
        ChainsCommand::Edit {
            name,
            description,
            whose,
            ..
        } => {
            let asks = ChainChanges {
                description: description.as_deref(),
                steps: steps.as_ref(),
            };
            if asks.description.is_none() && asks.steps.is_none() {
                let error = CommandError::usage("there is nothing to change");
                return Err(error.hint("give `--description TEXT` or `--steps JSON`"));
            }
            let scope = whose.scope.map(layer);
            ("edit", whose.json, manager.edit_chain(name, scope, &asks)?)
        }
        ChainsCommand::Rename(asked) => {
            change_report::rename(&mut manager, EntryKind::Chains, asked)?
        }
        ChainsCommand::Delete(asked) => {
            change_report::delete(&mut manager, EntryKind::Chains, &asked.named)?
        }
        ChainsCommand::List { .. } | ChainsCommand::Show { .. } | ChainsCommand::Check { .. } => {
            return Ok(0);
        }
    };
    change_report::print(environment, "chains", action, &changed, json, out);
    Ok(0)
}

fn parsed(environment: &Environment, steps: &str) -> Result<Value, CommandError> {
    let text = if steps.trim_start().starts_with(['[', '{']) {
        steps.to_owned()
    } else {
        read_text(environment, Path::new(steps))?
    };
    let usage = |message: String| CommandError::usage(message);
    let document = json::parse(&text).map_err(|fault| {
        let at = fault.position;
        let place = format!("line {}, column {}", at.line, at.column);
        usage(format!("`steps` is not JSON: {} ({place})", fault.message))
    })?;
    // A reader must not guess which of two equal keys is meant.
    if let Some((key, at)) = document.duplicates.first() {
        let place = format!("line {}, column {}", at.line, at.column);
        let key = one_line(key);
        return Err(usage(format!("`{key}` appears twice in `steps` ({place})")));
    }
    Ok(json::value_of(&document.node))
}
