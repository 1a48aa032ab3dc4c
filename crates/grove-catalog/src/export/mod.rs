//! Agents and their skills for another host, as the files that it reads.
//!
//! Pure: the caller reads the files and writes the result. The same agents give the same bytes; no path of a machine is
//! in them. What a host has no place for is left out with a finding: a warning if it changes the agent's prompt or
//! powers, and information if it only says how Grove runs the agent.

mod keys;
mod models;
mod packaged;
mod powers;
mod toml;
mod tools;

use std::path::Path;

use grove_spec::agent::{self, AgentFormat, SkillInjection, print, prompt_text};
use grove_spec::text::{escape_xml, one_line};
use grove_spec::yaml::Key;
use grove_spec::{Code, Diagnostic, Position, generated};

use crate::catalog;
use crate::disclosure::{MAX_FILLED, block, body_for_prompt};
use crate::hosts::{AgentRules, Preload};
use crate::prompt::LISTING;
use crate::snapshot::Skill;

pub use packaged::{packaged_skill, printed_skill};
pub(crate) use powers::CHANGING;
pub(crate) use tools::own_names;

/// The target of an export, with its options.
#[derive(Debug, Clone, Copy)]
pub struct ExportJob<'a> {
    /// The title of the host, for people.
    pub title: &'a str,
    /// The rules of the host.
    pub rules: &'a AgentRules,
    /// Set if the text of skills is written into agents even where the host reads `skills` itself.
    pub inline: bool,
    /// The most characters that the skills of an agent may take.
    pub budget: usize,
}

/// An agent that is exported.
#[derive(Debug, Clone, Copy)]
pub struct ExportSource<'a> {
    /// The name of the agent.
    pub name: &'a str,
    /// Its address, which the written file names as its source; none for an agent that is made for the host alone,
    /// whose file then belongs to the owner.
    pub address: Option<&'a str>,
    /// The fields of the agent.
    pub agent: &'a agent::AgentFile,
    /// The format of its file.
    pub format: AgentFormat,
    /// Set if it came with a package, and so may not grant itself anything.
    pub is_packaged: bool,
    /// The positions of the keys in its file, by Grove's names for them.
    pub places: &'a [(Key, Position)],
    /// The agent's own text.
    pub body: &'a str,
    /// The skills it has, in the order in which it names them.
    pub skills: &'a [AgentSkill<'a>],
}

impl ExportSource<'_> {
    /// Returns the position of a key, or of one with the same meaning.
    fn place(&self, key: &str) -> Option<Position> {
        let mut places = self.places.iter();
        places
            .find(|(name, _)| *name == key)
            .map(|(_, place)| *place)
    }

    /// Returns true if the agent gets a list of its skills and reads them itself.
    fn is_light(&self) -> bool {
        self.agent.skill_injection == SkillInjection::Light
    }
}

/// A skill that an agent has.
#[derive(Debug, Clone)]
pub struct AgentSkill<'a> {
    /// The skill in the snapshot.
    pub skill: &'a Skill,
    /// Its name at the host, which is its folder's name too.
    pub name: &'a str,
    /// The body of its file.
    pub body: &'a str,
    /// The skills right below it.
    pub children: Vec<ChildSkill<'a>>,
}

/// A skill below another one, with its name at the host and its description.
#[derive(Debug, Clone, Copy)]
pub struct ChildSkill<'a> {
    /// Its name, which is its folder's name too.
    pub name: &'a str,
    /// The description, as the parent's text shows it.
    pub description: Option<&'a str>,
}

/// A file for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// Its path below the folder that is exported to.
    pub path: String,
    /// The text that it holds.
    pub text: String,
}

/// Returns the name under which a host has an agent or a skill: letters, digits, `-` and `_`.
pub fn host_name(rules: &AgentRules, name: &str) -> String {
    if rules.export.format == AgentFormat::Native {
        return name.to_owned();
    }
    let kept = |c: char| match c {
        c if rules.slugs => c.to_ascii_lowercase(),
        c => c,
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.chars()
        .map(|c| if fits(c) { kept(c) } else { '-' })
        .collect()
}

/// Returns the folder name under which a host has a skill; none if nothing of the name is left, or if it would be taken
/// for the file of a skill.
pub fn skill_folder(name: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let folder: String = name
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect();
    // No host looks in a hidden folder.
    let folder = folder.trim_start_matches('.');
    let is_folder = !folder.is_empty() && !folder.eq_ignore_ascii_case("SKILL.md");
    is_folder.then(|| folder.to_owned())
}

/// Returns the file of an agent, with findings about what could not be written into it.
pub fn agent(job: &ExportJob<'_>, source: &ExportSource<'_>) -> (HostFile, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let export = &job.rules.export;
    let name = host_name(job.rules, source.name);
    // For `skills`, a host with another format always reads the whole text.
    let by_host = export.preload == Preload::Skills
        && !job.inline
        && (!source.is_light() || export.format == AgentFormat::Native);
    let body = body(job, source, by_host, &mut diagnostics);
    let skills: Vec<String> = if by_host {
        let names = source.skills.iter().map(|named| named.name.to_owned());
        names.collect()
    } else {
        Vec::new()
    };
    if name != source.name {
        let message = format!(
            "agent `{}` is called `{name}` in {}",
            source.name, job.title
        );
        let finding = Diagnostic::new(Code::ExportUnmapped, message);
        diagnostics.push(finding.with_severity(grove_spec::Severity::Info));
    }
    let entries = keys::translate(job, source, &name, &skills, &mut diagnostics);
    let mark = source.address.map(generated::mark);
    let text = match export.format {
        AgentFormat::Codex => toml::role(&entries, mark.as_deref(), &body),
        _ => print::markdown(&entries, mark.as_deref(), &body),
    };
    let length = body.chars().count();
    if let Some(longest) = export.prompt_chars.filter(|longest| length > *longest) {
        let message = format!(
            "the text of agent `{}` has {length} characters, more than the {longest} that {} takes",
            source.name, job.title
        );
        diagnostics.push(Diagnostic::new(Code::ExportBudget, message));
    }
    let path = format!("{}/{name}{}", export.agents, export.ending);
    (HostFile { path, text }, diagnostics)
}

/// Returns the agent's prompt: its skills' text if the host does not add it, then its own.
fn body(
    job: &ExportJob<'_>,
    source: &ExportSource<'_>,
    by_host: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> String {
    let own = prompt_text(source.body);
    let mut parts = Vec::new();
    if by_host {
        return own;
    }
    if source.is_light() {
        parts.push(own);
        parts.extend(listing(job, source.skills));
    } else {
        for named in source.skills {
            let Some(text) = inlined(job, named) else {
                let message = format!(
                    "skill `{}` takes more than {MAX_FILLED} characters, so it was left out",
                    named.name
                );
                diagnostics.push(Diagnostic::new(Code::PreloadBudget, message));
                continue;
            };
            parts.push(text);
        }
        parts.push(own);
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Returns a skill's text in its boundary, with its folder as it is in the project.
fn inlined(job: &ExportJob<'_>, named: &AgentSkill<'_>) -> Option<String> {
    let folder = format!("{}/{}", job.rules.export.skills, named.name);
    let body = body_for_prompt(named.skill, Path::new(&folder), named.body).ok()?;
    let mut text = format!(
        "{}\n<folder>{}</folder>\nRelative paths in this skill are relative to that folder of the project.\n",
        block(named.skill.name(), &body),
        escape_xml(&folder)
    );
    if !named.children.is_empty() {
        text.push_str("\nFurther skills; read the file of the one that the task needs:\n\n");
        text.push_str(&child_lines(&job.rules.export.skills, &named.children));
    }
    Some(text)
}

/// Returns the list of skills for an agent that reads them itself.
fn listing(job: &ExportJob<'_>, skills: &[AgentSkill<'_>]) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    let mut text = format!("{LISTING}\n<available_skills>\n");
    for named in skills {
        let location = format!("{}/{}/SKILL.md", job.rules.export.skills, named.name);
        text.push_str(&catalog::entry_line(
            named.skill.name(),
            named.skill.description(),
            &location,
        ));
    }
    text.push_str("</available_skills>\n");
    Some(text)
}

/// Returns a skill's file with the mark, and the paths of the skills below it, as no host follows a tree by itself.
pub fn skill_text(source: &str, address: &str, children: &[ChildSkill<'_>]) -> Option<String> {
    let mut text = generated::marked(source, address)?;
    if children.is_empty() {
        return Some(text);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("\n## Further skills\n\nRead the file of the one that the task needs.\n\n");
    text.push_str(&child_lines("..", children));
    Some(text)
}

fn child_lines(folder: &str, children: &[ChildSkill<'_>]) -> String {
    let mut lines = String::new();
    for child in children {
        let about = child.description.map(one_line).unwrap_or_default();
        let colon = if about.is_empty() { "" } else { ": " };
        lines.push_str("- `");
        lines.push_str(folder);
        lines.push('/');
        lines.push_str(child.name);
        lines.push_str("/SKILL.md`");
        lines.push_str(colon);
        lines.push_str(&about);
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests;
