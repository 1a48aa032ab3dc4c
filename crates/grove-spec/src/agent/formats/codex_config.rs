//! Roles that Codex's settings declare: `[agents.NAME]` with a description and the file of the role.
//!
//! The file has the instructions and settings of the role; its name and description take precedence over those of the
//! settings. Any other value under `agents` is a setting of Codex and not a role.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{AgentFormat, FoundAgent, codex, read_keys};
use crate::agent::ParsedAgent;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::frontmatter;
use crate::json::{kind_of, text_of};
use crate::text::one_line;
use crate::yaml::{YamlEntry, YamlNode, key};

const FILE: &str = "config_file";
const MAX_ROLES: usize = 500;

/// Files that a file names, under the paths as they are written there.
pub type NamedFiles = BTreeMap<String, NamedFile>;

/// A file that another one names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The path of the named file.
    pub path: PathBuf,
    /// The content of the file, or the reason why it was not read.
    pub content: Result<Vec<u8>, String>,
}

/// The paths that a text names, as they are written, each once.
pub(super) fn named_files(text: &str) -> Vec<String> {
    let roles = roles_in(text).unwrap_or_default();
    let mut paths: Vec<String> = roles
        .iter()
        .filter_map(|role| Some(text_of(role.value.get(FILE)?)?.to_owned()))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The folders under `projects`, each with true if it is trusted.
pub(super) fn trusted_projects(text: &str) -> Vec<(String, bool)> {
    let projects = codex::tables_of(text, "projects").unwrap_or_default();
    let projects = projects.into_iter().filter_map(|project| {
        let level = text_of(project.value.get("trust_level")?)?;
        Some((project.key.to_string(), level == "trusted"))
    });
    projects.collect()
}

pub(super) fn roles(text: &str, named: &NamedFiles) -> Vec<FoundAgent> {
    let roles = match roles_in(text) {
        Ok(roles) => roles,
        Err(finding) => {
            return vec![FoundAgent {
                member: None,
                parsed: ParsedAgent::refused(finding),
            }];
        }
    };
    let mut found: Vec<FoundAgent> = roles
        .iter()
        .take(MAX_ROLES)
        .map(|role| FoundAgent {
            member: Some(role.key.to_string()),
            parsed: parsed(role, named),
        })
        .collect();
    if let Some(beyond) = roles.get(MAX_ROLES) {
        let message = format!("more than {MAX_ROLES} roles in one file; the rest are not read");
        let finding = Diagnostic::new(Code::CandidateLimit, message);
        found.push(FoundAgent {
            member: Some(beyond.key.to_string()),
            parsed: ParsedAgent::refused(finding.at(beyond.position)),
        });
    }
    found
}

/// The entries of `agents` that are roles, up to one more than the limit, so that the rest can be reported.
fn roles_in(text: &str) -> Result<Vec<YamlEntry>, Diagnostic> {
    let tables = codex::tables_of(text, "agents")?;
    let roles = tables.into_iter();
    let roles = roles.filter(|entry| entry.value.as_map().is_some());
    Ok(roles.take(MAX_ROLES + 1).collect())
}

/// The role that a declaration and the file that it names describe together.
fn parsed(role: &YamlEntry, named: &NamedFiles) -> ParsedAgent {
    let mut declared = role.value.as_map().unwrap_or_default().to_vec();
    let file = declared.iter().position(|entry| entry.key == FILE);
    let file = file.map(|at| declared.remove(at));
    declared.insert(
        0,
        YamlEntry {
            key: key("name"),
            position: role.position,
            value: YamlNode::text(&*role.key, role.position),
        },
    );
    let mut diagnostics = Vec::new();
    let own = read_keys(
        declared,
        AgentFormat::Codex,
        role.position,
        &mut diagnostics,
    )
    .agent;
    let mut parsed = match role_file(role.position, file.as_ref(), named) {
        Ok(parsed) => parsed,
        Err(finding) => ParsedAgent::refused(finding),
    };
    let agent = &mut parsed.agent;
    agent.name = agent.name.take().or(own.name);
    agent.description = agent.description.take().or(own.description);
    agent.unknown.extend(own.unknown);
    // The description may be in the declaration or in the file.
    let is_missed = agent.description.is_none();
    let is_said = |finding: &Diagnostic| finding.code == Code::DescriptionMissing;
    parsed.diagnostics.retain(|finding| !is_said(finding));
    let (missing, mut findings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(is_said);
    findings.append(&mut parsed.diagnostics);
    findings.extend(missing.into_iter().filter(|_| is_missed));
    parsed.diagnostics = findings;
    parsed
}

fn role_file(
    declared: Position,
    entry: Option<&YamlEntry>,
    named: &NamedFiles,
) -> Result<ParsedAgent, Diagnostic> {
    let Some(entry) = entry else {
        let message = format!("no `{FILE}`, so there is nothing to tell the agent");
        return Err(Diagnostic::new(Code::AgentSyntax, message).at(declared));
    };
    let Some(path) = text_of(&entry.value) else {
        let message = format!("`{FILE}` is {}, not text", kind_of(&entry.value));
        return Err(Diagnostic::new(Code::FieldRequiredType, message).at(entry.position));
    };
    let unread = |why: &str| {
        let message = format!(
            "`{FILE}` names `{}`, which was not read: {why}",
            one_line(path)
        );
        let finding = Diagnostic::new(Code::AgentElsewhere, message);
        let help = "name a TOML file with `developer_instructions`, by its path from this file";
        finding.with_help(help).at(entry.position)
    };
    let file = named
        .get(path)
        .ok_or_else(|| unread("it is not known here"))?;
    let bytes = file.content.as_ref().map_err(|why| unread(why))?;
    let mut parsed = match frontmatter::text_of(bytes) {
        Ok(text) => codex::role(text),
        Err(refusal) => ParsedAgent::refused(refusal),
    };
    for finding in &mut parsed.diagnostics {
        finding.file.get_or_insert_with(|| file.path.clone());
    }
    parsed.named_file = Some(path.to_owned());
    Ok(parsed)
}
