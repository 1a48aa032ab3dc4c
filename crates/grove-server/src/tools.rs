//! The tools for skills: `skill` gives instructions, `skills` gives the catalog.

use std::fmt::Write as _;

use grove_catalog::catalog::{CatalogBudget, CatalogStyle};
use grove_skills::Discovery;
use grove_skills::disclosure::{
    ActivationResult, CatalogOptions, ConversationCatalog, Disclosure, SessionCell, SkillCall,
};
use grove_spec::text::{counted, one_line, without_controls};
use grove_spec::{Code, Diagnostic};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::served_library::ServedLibrary;
use crate::wording::explain;

pub(crate) const SKILL: &str = "skill";
pub(crate) const SKILLS: &str = "skills";

/// The number of skills that a search returns by default.
const FOUND: usize = 10;
const MOST_FOUND: usize = 50;
/// The line after a catalog for a task that no skill is written for.
const NOTHING_FITS: &str = "No skill fits the task well; the nearest come first.\n";

/// Returns both tools. Every host puts them into every request, so each word here costs tokens every time.
pub(crate) fn all() -> Vec<Tool> {
    let skill = json!({
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "description": "Name, id or group, as the catalog shows it",
            },
            "action": {
                "type": "string",
                "enum": ["activate", "expand", "collapse", "search"],
                "description": "activate (default): the instructions, or the skills below a group; \
                                expand, collapse: show or hide in the catalog what is below; \
                                search: find skills for `query`",
            },
            "query": { "type": "string", "description": "Words or a task to search for" },
            "arguments": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Arguments for the skill",
            },
            "again": { "type": "boolean", "description": "Repeat instructions that were given before" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST_FOUND },
        },
    });
    let skills = json!({
        "type": "object",
        "properties": {
            "since": {
                "type": "string",
                "description": "Digest of a catalog you have, or `last`: get only what changed",
            },
            "task": {
                "type": "string",
                "description": "What you are about to do: the skills nearest to it come first",
            },
        },
    });
    let about = |title: &str| {
        ToolAnnotations::with_title(title)
            .read_only(true)
            .open_world(false)
    };
    vec![
        Tool::new(
            SKILL,
            "Get the instructions of a skill and follow them. Skills are written for recurring tasks: \
             when one fits the task, activate it before you begin. An entry with skills below it answers \
             with those; activate the one that fits. When none in the catalog fits, search.",
            object(skill),
        )
        .with_annotations(about("Use a skill")),
        Tool::new(
            SKILLS,
            "The catalog: which skills there are and when to use each.",
            object(skills),
        )
        .with_annotations(about("List skills")),
    ]
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SkillRequest {
    name: Option<String>,
    action: Option<SkillAction>,
    query: Option<String>,
    arguments: ArgumentWords,
    again: bool,
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SkillAction {
    Activate,
    Expand,
    Collapse,
    Search,
}

/// Arguments as a list, or as the one text that models like to send instead.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ArgumentWords {
    List(Vec<String>),
    One(String),
}

impl Default for ArgumentWords {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

/// The skills that the calling host lists to its model itself.
#[derive(Debug, Default)]
pub(crate) struct ListedByHost {
    pub(crate) title: String,
    pub(crate) addresses: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SkillsRequest {
    since: Option<String>,
    task: Option<String>,
}

/// The reason why a call is not answered, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("the arguments are not what this tool takes: {0}")]
    Arguments(#[from] serde_json::Error),
    #[error("give a `name`, or a `query` to search for")]
    NoQuery,
    #[error("give the `name` of a skill or group")]
    NoName,
    /// The skill or the catalog cannot be given.
    #[error("{0}")]
    NotGiven(String),
}

/// Returns the arguments in the form that a tool takes.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(
    arguments: Option<JsonObject>,
) -> Result<T, CallError> {
    let mut arguments = arguments.unwrap_or_default();
    // Some hosts send every parameter, with null for those that were left out.
    arguments.retain(|_, value| !value.is_null());
    Ok(serde_json::from_value(Value::Object(arguments))?)
}

impl SkillRequest {
    pub(crate) fn answer(
        self,
        library: &ServedLibrary,
        discovery: &Discovery,
        session: &SessionCell,
    ) -> Result<String, CallError> {
        let searching = matches!(self.action, Some(SkillAction::Search))
            || (self.action.is_none() && self.name.is_none());
        if searching {
            let words = self.query.or(self.name).ok_or(CallError::NoQuery)?;
            let limit = self.limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
            return Ok(library.find(discovery, &words, limit));
        }
        let name = self.name.ok_or(CallError::NoName)?;
        // A leading slash is the form in which people call a skill; here the caller is a model, even if it writes one.
        let typed = name.trim().trim_start_matches('/');
        let words = match self.arguments {
            ArgumentWords::List(words) => words,
            ArgumentWords::One(text) if text.is_empty() => Vec::new(),
            ArgumentWords::One(text) => vec![text],
        };
        let disclosure = Disclosure::in_memory(discovery, session);
        let done = match self.action {
            None | Some(SkillAction::Activate | SkillAction::Search) => {
                let call = SkillCall {
                    typed,
                    words: &words,
                    again: self.again,
                };
                let activate = |discovery: &Discovery| {
                    Disclosure::in_memory(discovery, session).activate(&call)
                };
                library.fresh_from(discovery, activate).map(with_notes)
            }
            Some(SkillAction::Expand) => {
                let expanded = disclosure.expand(typed);
                expanded.map(|expanded| expanded.text)
            }
            Some(SkillAction::Collapse) => {
                let collapsed = disclosure.collapse(typed);
                collapsed.map(|collapsed| {
                    let what = one_line(&collapsed.key);
                    if collapsed.was_expanded {
                        format!("The catalog shows `{what}` in place of its skills again.\n")
                    } else {
                        format!("`{what}` was not expanded.\n")
                    }
                })
            }
        };
        done.map_err(|error| CallError::NotGiven(explain(&error, typed)))
    }
}

fn with_notes(activated: ActivationResult) -> String {
    let mut text = activated.text;
    let unused = |finding: &&Diagnostic| finding.code == Code::ArgumentsUnused;
    for finding in activated.diagnostics.iter().filter(unused) {
        let _ = writeln!(text, "note: {}", finding.message);
    }
    text
}

impl SkillsRequest {
    /// Returns the catalog of a connection's session, or the changes in it.
    pub(crate) fn answer(
        self,
        library: &ServedLibrary,
        discovery: &Discovery,
        session: &SessionCell,
        known: ListedByHost,
    ) -> Result<String, CallError> {
        let task = self.task.as_deref().filter(|task| !task.trim().is_empty());
        let limits = &discovery.world.settings.settings.limits;
        let asked = CatalogOptions {
            style: CatalogStyle::Names,
            budget: CatalogBudget::chars(limits.prompt_chars.count(), limits.prompt_skills.count()),
            index_dir: None,
            exact: None,
            exclude: known.addresses,
            task: task.map(|task| library.order_for(discovery, task)),
        };
        let told = Disclosure::in_memory(discovery, session).catalog(&asked);
        let told = told.map_err(|error| CallError::NotGiven(explain(&error, "")))?;
        let whole = match told.catalog.text.as_str() {
            "" => "There are no skills in the catalog.\n",
            text => text,
        };
        let digest = &told.catalog.digest;
        let mut text = match self.since {
            None => whole.to_owned(),
            Some(since) => match told.since(&since, &asked, discovery) {
                Some(changes) if changes.is_empty() => {
                    return Ok(format!(
                        "Nothing has changed in the catalog.\ncatalog digest: {digest}\n"
                    ));
                }
                Some(changes) => changes,
                None => format!("{}\n{whole}", ConversationCatalog::NOT_ON_RECORD),
            },
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if !told.catalog.entries.is_empty() {
            if asked.task.as_ref().is_some_and(|task| !task.fits) {
                text.push_str(NOTHING_FITS);
            }
            text.push_str("To open one, call `skill` with its name.\n");
        }
        if !asked.exclude.is_empty() {
            let (title, n_skills) = (&known.title, counted(asked.exclude.len(), "other skill"));
            let _ = writeln!(
                text,
                "{title} itself lists {n_skills} to you; `skill` opens and searches those too."
            );
        }
        let _ = writeln!(text, "catalog digest: {digest}");
        Ok(text)
    }
}

/// Returns the answer of a tool in the protocol's form: an error is for the model to read, too.
pub(crate) fn result(answer: Result<String, CallError>) -> CallToolResult {
    let content = |text: &str| vec![ContentBlock::text(without_controls(text).into_owned())];
    match answer {
        Ok(text) => CallToolResult::success(content(&text)),
        Err(error) => CallToolResult::error(content(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tools_cost_less_than_their_budget() {
        let text = serde_json::to_string(&all()).unwrap();
        assert!(text.len() / 4 < 1_200, "{} tokens", text.len() / 4);
        assert_eq!(all().len(), 2);
    }

    #[test]
    fn arguments_are_taken_as_models_send_them() {
        let words = |arguments: Value| {
            let read = read::<SkillRequest>(Some(object(json!({ "arguments": arguments }))));
            read.map(|request| match request.arguments {
                ArgumentWords::List(words) => words.join("|"),
                ArgumentWords::One(text) => text,
            })
        };
        assert_eq!(words(json!(["a", "b c"])).unwrap(), "a|b c");
        assert_eq!(words(json!("a b")).unwrap(), "a b");
        assert_eq!(words(Value::Null).unwrap(), "");
        assert!(words(json!(7)).is_err());
        let odd = read::<SkillRequest>(Some(object(json!({ "action": "delete" }))));
        assert!(odd.unwrap_err().to_string().contains("delete"));
    }
}
