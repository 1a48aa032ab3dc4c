//! An agent's prompt: the skills it names, then its own text, each part with its source.
//!
//! Pure, in two steps. [`choose`] finds the skills that an agent's names mean; the caller reads their bodies;
//! [`assemble`] puts the parts together within the budget. Inherited parts are added after that:
//! [`Prompt::add_instructions`], [`Prompt::add_catalog`], and last [`Prompt::put_base`]. Parts that are left out give a
//! warning, and an agent that names no skill and inherits nothing gets exactly its own text.

mod base;
mod instructions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_spec::agent::{AgentFile, AgentFormat, PromptMode, SkillInjection, prompt_text};
use grove_spec::skill::name_key;
use grove_spec::text::{escape_xml, without_controls};
use grove_spec::words;
use grove_spec::{Code, Diagnostic};
use serde::Serialize;

use crate::address::{self, AddressMatch};
use crate::catalog;
use crate::digest::Digest;
use crate::disclosure::{BodyTooLong, MAX_FILLED, block, body_for_prompt, folder_of};
use crate::held_tools;
use crate::report;
use crate::snapshot::{Skill, Snapshot};
use crate::state::StateReason;

pub use base::{BasePrompt, BasePromptUse};
pub use instructions::InstructionFile;

pub(crate) const LISTING: &str = "These skills are instructions for particular tasks. When a task matches a description, read the file at its location before you begin; relative paths in it are relative to its folder.";

/// The tools that read files, by the names that hosts give them.
const READING: [&str; 3] = ["read", "read_file", "view"];

words! {
    /// The kind of a part of a prompt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PromptPartKind {
        /// The prompt of the program that runs the agent.
        Base = "base",
        /// The text of a skill.
        Skill = "skill",
        /// The agent's own text.
        Agent = "agent",
        /// A list of skills that the agent names.
        Listing = "listing",
        /// The instructions of a project for every agent that works in it.
        Instructions = "instructions",
        /// The catalog of all skills.
        Catalog = "catalog",
    }
}

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptPart {
    /// The kind of the part.
    pub kind: PromptPartKind,
    /// The skill's or the agent's name; empty for everything else.
    pub name: String,
    /// The file it was made of; none for lists, and for a base that came from no file.
    pub source: Option<PathBuf>,
    /// The digest of that file's bytes, or of the text if there is none.
    pub digest: Digest,
    /// The exact text in the prompt.
    pub text: String,
}

impl PromptPart {
    /// Makes the block of a list, which comes from no file.
    fn of_list(kind: PromptPartKind, text: String) -> Self {
        Self {
            kind,
            name: String::new(),
            source: None,
            digest: Digest::of(text.as_bytes()),
            text,
        }
    }

    /// Returns its cost in characters.
    pub fn cost(&self) -> usize {
        self.text.chars().count()
    }
}

/// A prompt with its parts and findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// The exact text that the agent gets.
    pub text: String,
    /// Its parts in order; with one empty line between them they are the text.
    pub blocks: Vec<PromptPart>,
    /// The parts that were left out, with the reasons.
    #[serde(serialize_with = "report::diagnostics")]
    pub warnings: Vec<Diagnostic>,
    /// The tools the agent is allowed, with one that reads if it has skills to read; none means the usual.
    pub tools: Option<Vec<String>>,
    /// Tools that other keys of its file deny, whatever is usual.
    #[serde(rename = "deniedTools")]
    pub denied_tools: BTreeSet<String>,
    /// Addresses of the skills whose text is in it: they are active.
    pub active: Vec<String>,
    /// Addresses of the skills in its list of named skills: they are known, and not active.
    pub listed: Vec<String>,
    /// The agent's wish: its text after the prompt of the program that runs it, or in place of that.
    pub mode: PromptMode,
    /// The use of the prompt of the program that runs it.
    pub base: BasePromptUse,
}

/// The skills that an agent's names mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChosenSkills {
    /// Skills of the snapshot, in declared order, each once.
    pub skills: Vec<usize>,
    /// Findings about names that mean nothing usable, or not the first skill that has the name.
    pub warnings: Vec<Diagnostic>,
}

/// A skill's file as it was read for a prompt.
#[derive(Debug, Clone)]
pub struct PromptSkill {
    /// The skill, by index.
    pub skill: usize,
    /// The body of its file.
    pub body: String,
    /// The digest of its file's bytes.
    pub digest: Digest,
}

/// An agent's own file, as it was read.
#[derive(Debug, Clone, Copy)]
pub struct PromptAgent<'a> {
    /// The name of the agent.
    pub name: &'a str,
    /// The fields of the agent.
    pub agent: &'a AgentFile,
    /// The format of its file.
    pub format: AgentFormat,
    /// The file that holds its text.
    pub file: &'a Path,
    /// The digest of that file's bytes.
    pub digest: Digest,
    /// The agent's own text.
    pub body: &'a str,
    /// The file that names its skills, which need not be the one with its text.
    pub named_in: &'a Path,
}

/// Finds the skills that an agent names.
pub fn choose(snapshot: &Snapshot, names: &[String]) -> ChosenSkills {
    choose_near(snapshot, names, &[])
}

/// Finds the skills of an agent that brings skills with it: roots at these paths are searched before all others,
/// whatever their rank.
pub fn choose_near(snapshot: &Snapshot, names: &[String], first: &[PathBuf]) -> ChosenSkills {
    let mut chosen = ChosenSkills::default();
    for name in names {
        let near = first.iter().find_map(|root| in_root(snapshot, root, name));
        let is_near = near.is_some();
        match near.unwrap_or_else(|| usable(snapshot, name)) {
            Ok(at) if chosen.skills.contains(&at) => {}
            Ok(at) => {
                chosen.skills.push(at);
                if !is_near {
                    let said = snapshot.entries().stand_in_findings(at, name);
                    chosen.warnings.extend(said);
                }
            }
            Err(warning) => chosen.warnings.push(warning),
        }
    }
    chosen
}

fn in_root(snapshot: &Snapshot, root: &Path, name: &str) -> Option<Result<usize, Diagnostic>> {
    let key = name_key(name);
    let fits = |skill: &Skill| {
        let of_root = snapshot
            .root_of(skill)
            .is_some_and(|known| known.path == root);
        let usable = skill.state.is_usable();
        of_root && usable && (skill.id() == name || name_key(skill.name()) == key)
    };
    let skills = snapshot.skills.iter().enumerate();
    let found = skills.filter(|(_, skill)| fits(skill)).map(|(at, _)| at);
    match found.collect::<Vec<_>>().as_slice() {
        [] => None,
        [one] => Some(Ok(*one)),
        all => Some(Err(several(snapshot, name, all))),
    }
}

/// Returns the skill of a name, if it may be used. Its author's limits on callers do not count here: the agent's author
/// has named it.
fn usable(snapshot: &Snapshot, name: &str) -> Result<usize, Diagnostic> {
    let at = match address::find(snapshot, name) {
        AddressMatch::One(at) => at,
        AddressMatch::Several(all) => return Err(several(snapshot, name, &all)),
        AddressMatch::None(near) => {
            if let Some(reason) = address::unread(snapshot, name) {
                let finding = Diagnostic::new(Code::PreloadUnusable, reason.message);
                return Err(finding.with_help(reason.fix));
            }
            let mut message = format!("there is no skill `{name}`");
            if !near.is_empty() {
                message.push_str(&format_near(&near));
            }
            return Err(Diagnostic::new(Code::PreloadUnknown, message).with_names(near));
        }
    };
    let skill = snapshot.skills.get(at);
    if skill.is_some_and(|skill| snapshot.entries().is_given(skill, name)) {
        return Ok(at);
    }
    let (state, reasons) = skill.map_or(("", &[][..]), |skill| {
        (skill.state.as_str(), skill.reasons.as_slice())
    });
    let why = StateReason::joined(reasons);
    let message = format!("skill `{name}` is {state} and was left out: {why}");
    let mut finding = Diagnostic::new(Code::PreloadUnusable, message);
    if let Some(reason) = reasons.first() {
        finding = finding.with_help(reason.fix.clone());
    }
    Err(finding)
}

fn several(snapshot: &Snapshot, name: &str, all: &[usize]) -> Diagnostic {
    let skills = all.iter().filter_map(|at| snapshot.skills.get(*at));
    let ids: Vec<String> = skills.map(|skill| snapshot.unique_id(skill)).collect();
    let message = format!("several skills are called `{name}`: {}", ids.join(", "));
    let finding = Diagnostic::new(Code::PreloadUnusable, message);
    finding.with_help("write the id of the one that is meant")
}

fn format_near(near: &[String]) -> String {
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!("; near: {}", names.join(", "))
}

/// Puts a prompt together from what was read. `budget` is in characters, for all skills together.
pub fn assemble(
    snapshot: &Snapshot,
    own: &PromptAgent<'_>,
    chosen: &ChosenSkills,
    read: &[PromptSkill],
    budget: usize,
) -> Prompt {
    let mut warnings = chosen.warnings.clone();
    let mut blocks = Vec::new();
    let (mut active, mut listed) = (Vec::new(), Vec::new());
    let own_block = PromptPart {
        kind: PromptPartKind::Agent,
        name: own.name.to_owned(),
        source: Some(own.file.to_path_buf()),
        digest: own.digest,
        text: prompt_text(own.body),
    };
    let mut tools = own.agent.tools.clone();
    let denied_tools = held_tools::remove_denied(own.agent, own.format, &mut tools);
    match own.agent.skill_injection {
        SkillInjection::Full => {
            let mut left = budget;
            for read in read {
                let Some(skill) = snapshot.skills.get(read.skill) else {
                    continue;
                };
                let takes = match preloaded(snapshot, skill, read) {
                    Ok(block) if block.cost() <= left => {
                        left -= block.cost();
                        active.push(snapshot.address(skill));
                        blocks.push(block);
                        continue;
                    }
                    Ok(block) => {
                        let cost = block.cost();
                        format!("{cost} characters and {left} of {budget} are left")
                    }
                    Err(_) => format!("more than {MAX_FILLED} characters"),
                };
                let name = skill.name();
                let message = format!("skill `{name}` takes {takes}, so it was left out");
                warnings.push(Diagnostic::new(Code::PreloadBudget, message));
            }
            blocks.push(own_block);
        }
        SkillInjection::Light => {
            blocks.push(own_block);
            if let Some(listing) = listing(snapshot, &chosen.skills) {
                let skills = chosen.skills.iter();
                let skills = skills.filter_map(|at| snapshot.skills.get(*at));
                listed.extend(skills.map(|skill| snapshot.address(skill)));
                blocks.push(listing);
                allow_reading(&mut tools, &denied_tools);
            }
        }
    }
    for warning in &mut warnings {
        let named_in = || own.named_in.to_path_buf();
        warning.file.get_or_insert_with(named_in);
    }
    // An empty part would leave an empty line.
    blocks.retain(|block| !block.text.is_empty());
    Prompt {
        text: joined(&blocks),
        blocks,
        warnings,
        tools,
        denied_tools,
        active,
        listed,
        mode: own.agent.system_prompt_mode,
        base: BasePromptUse::Absent,
    }
}

impl Prompt {
    /// Adds the catalog that the agent inherits, after everything else.
    pub fn add_catalog(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.blocks.push(PromptPart::of_list(
            PromptPartKind::Catalog,
            text.to_owned(),
        ));
        self.join();
        allow_reading(&mut self.tools, &self.denied_tools);
    }

    fn join(&mut self) {
        self.text = joined(&self.blocks);
    }
}

fn joined(blocks: &[PromptPart]) -> String {
    let texts: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
    texts.join("\n")
}

/// Returns a skill's whole text in its boundary, with its folder.
fn preloaded(
    snapshot: &Snapshot,
    skill: &Skill,
    read: &PromptSkill,
) -> Result<PromptPart, BodyTooLong> {
    let folder = folder_of(snapshot, skill);
    let body = body_for_prompt(skill, &folder, &read.body)?;
    let shown = folder.to_string_lossy();
    let shown = escape_xml(&without_controls(&shown)).into_owned();
    let text = format!(
        "{}\n<folder>{shown}</folder>\nRelative paths in this skill are relative to that folder.\n",
        block(skill.name(), &body)
    );
    Ok(PromptPart {
        kind: PromptPartKind::Skill,
        name: skill.name().to_owned(),
        source: Some(snapshot.location(&skill.place)),
        digest: read.digest,
        text,
    })
}

fn listing(snapshot: &Snapshot, skills: &[usize]) -> Option<PromptPart> {
    let mut text = format!("{LISTING}\n<available_skills>\n");
    for skill in skills.iter().filter_map(|at| snapshot.skills.get(*at)) {
        // The paths are whole, as the agent may run where `~` is another folder.
        let location = snapshot.location(&skill.place);
        text.push_str(&catalog::entry_line(
            skill.name(),
            skill.description(),
            &catalog::shown_path(&location, None),
        ));
    }
    text.push_str("</available_skills>\n");
    (!skills.is_empty()).then(|| PromptPart::of_list(PromptPartKind::Listing, text))
}

/// Adds a tool that reads to a list of allowed tools: without one, a list of files would be useless.
fn allow_reading(tools: &mut Option<Vec<String>>, denied: &BTreeSet<String>) {
    if let Some(tools) = tools {
        let reads = |tool: &String| READING.iter().any(|name| tool.eq_ignore_ascii_case(name));
        if !tools.iter().chain(denied).any(reads) {
            tools.push("read".to_owned());
        }
    }
}
