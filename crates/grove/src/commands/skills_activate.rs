//! `grove skills activate | expand | collapse`: a conversation with the catalog.
//!
//! The data of `activate` and `expand` is exactly what a model should read; what it cost and what is not
//! remembered is said beside it.

use std::path::{Path, PathBuf};

use grove_catalog::catalog::Catalog;
use grove_catalog::disclosure::{DisclosureRefusal, ExpandOutcome, ListedChild};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_skills::disclosure::{
    ActivationResult, Disclosure, DisclosureError, ExpansionResult, SkillCall,
};
use grove_skills::{Environment, Rediscover as _};
use grove_spec::Diagnostic;
use serde_json::{Value, json};

use super::{DiscoveredLibrary, Outcome, cost, cost_note, counted, discover_in_session, naming};
use crate::args::{ConversationArgs, DiscoveryArgs, SkillsCommand};
use crate::command_error::CommandError;
use crate::json::DiagnosticJson;
use crate::output::CommandOutput;

pub(super) fn run(
    environment: Environment,
    command: &SkillsCommand,
    conversation: &ConversationArgs,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    let flags = conversation.discovery_args();
    let session = conversation.session.as_deref();
    let (seen, session) = discover_in_session(environment, &flags, session)?;
    let mut talk = ConversationCommand {
        discovered: discovered.insert(seen),
        flags,
        session,
        out,
    };
    match command {
        SkillsCommand::Activate {
            id,
            arguments,
            again,
            ..
        } => talk.activate(&SkillCall {
            typed: id,
            words: arguments,
            again: *again,
        }),
        SkillsCommand::Expand { id, .. } => talk.expand(id),
        SkillsCommand::Collapse { id, .. } => talk.collapse(id),
        _ => Ok(0),
    }
}

struct ConversationCommand<'a> {
    discovered: &'a mut DiscoveredLibrary,
    flags: DiscoveryArgs,
    session: Option<PathBuf>,
    out: &'a mut CommandOutput,
}

impl ConversationCommand<'_> {
    fn activate(&mut self, call: &SkillCall<'_>) -> Outcome {
        let session = self.session.as_deref();
        let DiscoveredLibrary { library, discovery } = &mut *self.discovered;
        let activate = |discovery: &grove_skills::Discovery| {
            Disclosure::new(discovery, session).activate(call)
        };
        let activated = library.fresh_from(discovery, activate);
        let activated =
            activated.map_err(|error| explain(error, "activate", call.typed, &self.flags))?;
        if self.flags.json {
            self.out
                .json(&activated_json(&activated, self.session.as_deref()));
        } else {
            self.out.text(&activated.text);
            self.diagnostics(&activated.diagnostics);
            self.cost(&activated.text);
        }
        Ok(0)
    }

    fn expand(&mut self, typed: &str) -> Outcome {
        let disclosure = Disclosure::new(&self.discovered.discovery, self.session.as_deref());
        let expanded = disclosure.expand(typed);
        let expanded = expanded.map_err(|error| explain(error, "expand", typed, &self.flags))?;
        if self.flags.json {
            self.out
                .json(&expanded_json(&expanded, self.session.as_deref()));
            return Ok(0);
        }
        self.out.text(&expanded.text);
        self.diagnostics(&expanded.diagnostics);
        match expanded.expansion {
            ExpandOutcome::Already => {
                self.out.note("grove: already expanded");
                self.not_remembered();
            }
            _ => self.not_remembered(),
        }
        self.cost(&expanded.text);
        Ok(0)
    }

    fn collapse(&mut self, typed: &str) -> Outcome {
        let disclosure = Disclosure::new(&self.discovered.discovery, self.session.as_deref());
        let collapsed = disclosure.collapse(typed);
        let collapsed =
            collapsed.map_err(|error| explain(error, "collapse", typed, &self.flags))?;
        if self.flags.json {
            self.out.json(&json!({
                "schema": "grove.skills.collapse/1",
                "key": collapsed.key,
                "wasExpanded": collapsed.was_expanded,
                "expanded": collapsed.expanded,
                "session": self.session.as_deref().map(text_of),
            }));
            return Ok(0);
        }
        if collapsed.was_expanded {
            self.out
                .note(&format!("grove: collapsed `{}`", collapsed.key));
        } else if self.session.is_some() {
            self.out
                .note(&format!("grove: `{}` is not expanded", collapsed.key));
        }
        self.not_remembered();
        Ok(0)
    }

    fn not_remembered(&mut self) {
        if self.session.is_none() {
            self.out
                .note("grove: nothing is remembered without --session FILE");
        }
    }

    fn diagnostics(&mut self, findings: &[Diagnostic]) {
        for finding in findings {
            self.out.diagnostic(finding);
        }
    }

    fn cost(&mut self, text: &str) {
        self.out.note(&cost_note(text));
    }
}

pub(super) fn explain(
    error: DisclosureError,
    verb: &str,
    typed: &str,
    flags: &DiscoveryArgs,
) -> CommandError {
    let finding = |message: String| CommandError::finding(message);
    match error {
        DisclosureError::Refused { snapshot, refusal } => {
            refused(&snapshot, &refusal, verb, typed, flags)
        }
        DisclosureError::Leaf(name) => finding(format!("`{name}` has nothing below it"))
            .hint(naming::command_for("grove skills activate", typed, flags)),
        DisclosureError::FileChanged(_) => finding(error.to_string()).hint("try again"),
        DisclosureError::Arguments(_) => {
            finding(error.to_string()).hint("put long texts in a file and give its path")
        }
        DisclosureError::Filled { ref location, .. } => {
            let file = format!("read {} itself", location.display());
            finding(error.to_string())
                .hint("give shorter arguments, or put them in a file and give its path")
                .hint(file)
        }
        DisclosureError::Full(_) => {
            finding(error.to_string()).hint("give another file to start a new session")
        }
        DisclosureError::Session(error) => error.into(),
        DisclosureError::TooSmall(shortest) => too_small(&shortest),
        DisclosureError::NoIndexFolder => {
            finding(error.to_string()).hint("set HOME or XDG_CACHE_HOME, or give --index-dir")
        }
        DisclosureError::Files(error) => finding(format!("{error}: {}", error.source))
            .hint("give a folder that can be written: --index-dir DIR"),
    }
}

/// A budget that nothing keeps, and what takes the room.
fn too_small(shortest: &Catalog) -> CommandError {
    let budget = shortest.report.budget;
    let (size, unit) = budget.shown(budget.size);
    let (least, _) = budget.shown(shortest.report.used);
    let entries = counted(shortest.entries.len(), "entry").replace("entrys", "entries");
    let message = format!(
        "a budget of {size} {unit} and {} entries is too small: the shortest catalog takes {least} and {entries}",
        budget.entries
    );
    CommandError::finding(message).hint(
        "raise --budget or --max-skills, or give a shorter --index-dir if paths take the room",
    )
}

fn refused(
    snapshot: &Snapshot,
    refusal: &DisclosureRefusal,
    verb: &str,
    typed: &str,
    flags: &DiscoveryArgs,
) -> CommandError {
    let command = format!("grove skills {verb}");
    let finding = |message: String| CommandError::finding(message);
    let about = |at: usize, say: &dyn Fn(&Skill) -> CommandError| match snapshot.skills.get(at) {
        Some(skill) => say(skill),
        None => naming::unknown(snapshot, typed, &[]),
    };
    let name = typed.strip_prefix('/').unwrap_or(typed);
    match refusal {
        DisclosureRefusal::Unknown(near) => naming::unknown(snapshot, name, near),
        DisclosureRefusal::Several(all) => naming::ambiguous(snapshot, &command, flags, name, all),
        DisclosureRefusal::SeveralGroups(groups) => {
            let mut error = finding(format!("{} groups are called `{name}`", groups.len()));
            for group in groups {
                error = error.hint(naming::command_for(&command, &group.key, flags));
            }
            error
        }
        DisclosureRefusal::NotUsable(at) => about(*at, &|skill| {
            let address = snapshot.address(skill);
            let mut reasons = skill.reasons.iter();
            let state = skill.state.as_str();
            let Some(first) = reasons.next() else {
                return finding(format!("`{address}` is {state}"));
            };
            let mut error = finding(format!("`{address}` is {state}: {}", first.message));
            error = error.hint(first.fix.clone());
            for reason in reasons {
                error = error.hint(format!("{}; {}", reason.message, reason.fix));
            }
            error
        }),
        DisclosureRefusal::Shadowed(at) => about(*at, &|skill| {
            let address = snapshot.address(skill);
            let instead = skill.stand_in.and_then(|at| snapshot.skills.get(at));
            let instead = instead.map_or_else(String::new, |other| {
                format!(" by `{}`", snapshot.address(other))
            });
            finding(format!("`{address}` is shadowed{instead}"))
                .hint(naming::command_for(&command, &address, flags))
        }),
        DisclosureRefusal::ForPeople(at) => about(*at, &|skill| {
            finding(format!(
                "`{}` is for people: no model may activate it",
                skill.name()
            ))
            .hint(naming::command_for(&command, &format!("/{name}"), flags))
        }),
        DisclosureRefusal::ForModels(at) => about(*at, &|skill| {
            finding(format!(
                "`{}` is for models: no person may call it as `/name`",
                skill.name()
            ))
            .hint(naming::command_for(&command, name, flags))
        }),
    }
}

fn children_json(children: &[ListedChild]) -> Vec<Value> {
    let one = |child: &ListedChild| {
        json!({
            "key": child.key,
            "name": child.name,
            "description": child.description,
            "location": text_of(&child.location),
        })
    };
    children.iter().map(one).collect()
}

fn activated_json(activated: &ActivationResult, session: Option<&Path>) -> Value {
    let snapshot = &activated.snapshot;
    let (chars, tokens) = cost(&activated.text);
    let (resources, more_resources) = activated.resources.shown();
    json!({
        "schema": "grove.skills.activate/1",
        "skill": activated.node.key(snapshot),
        "name": activated.node.name(snapshot),
        "folder": text_of(&activated.folder),
        "location": text_of(&activated.node.location(snapshot)),
        "text": activated.text,
        "chars": chars,
        "tokens": tokens,
        "boundary": activated.boundary,
        "resources": resources,
        "moreResources": more_resources,
        "children": children_json(&activated.children),
        "moreChildren": activated.more_children,
        "alreadyActive": activated.already_active,
        "session": session.map(text_of),
        "diagnostics": DiagnosticJson::list(&activated.diagnostics),
    })
}

fn expanded_json(expanded: &ExpansionResult, session: Option<&Path>) -> Value {
    let snapshot = &expanded.snapshot;
    let (chars, tokens) = cost(&expanded.text);
    json!({
        "schema": "grove.skills.expand/1",
        "key": expanded.node.key(snapshot),
        "name": expanded.node.name(snapshot),
        "alreadyExpanded": expanded.expansion != ExpandOutcome::Expanded,
        "text": expanded.text,
        "chars": chars,
        "tokens": tokens,
        "children": children_json(&expanded.children),
        "moreChildren": expanded.more_children,
        "expanded": expanded.expanded,
        "session": session.map(text_of),
        "diagnostics": DiagnosticJson::list(&expanded.diagnostics),
    })
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
