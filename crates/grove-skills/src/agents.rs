//! Agents on disk: where they are looked for, what is in their files, and which of them are used.

use std::path::PathBuf;

use grove_catalog::agents::{Agents, resolve_for, resolve_with};
use grove_catalog::definitions::DefinitionCandidate;
use grove_catalog::hosts::{AgentRules, FoldersEntered, FrontmatterReading};
use grove_spec::agent::{AgentFormat, ParsedAgent, formats, naming};
use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic, Severity};

use crate::agent_overrides::LoadedOverrides;
use crate::definition_files::{
    DefinitionFile, DefinitionFileKind, DefinitionMemory, FoundDefinitions, ReadBounds,
};
use crate::planning::{self, PlannedRoot};
use crate::request::DiscoveryView;
use crate::world::World;

/// Folder levels in which a host's own folders are looked through.
const HOST_DEPTH: usize = 64;

pub(crate) const AGENT_FILES: DefinitionFileKind<ParsedAgent> = DefinitionFileKind {
    noun: "agent",
    wanted: |format| match format {
        AgentFormat::Codex => |name| AgentFormat::Codex.takes(name),
        _ => naming::is_agent_file,
    },
    parse: |format, _, bytes, named| {
        let found = formats::read_with(bytes, format, named).into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    counts: is_agent,
    left_out: no_agent,
    note: unnamed,
};

/// The same for a host that takes a file without frontmatter for an agent.
const BARE_FILES: DefinitionFileKind<ParsedAgent> = DefinitionFileKind {
    parse: |format, _, bytes, named| {
        let found = if format.is_markdown() {
            formats::read_bare(bytes, format)
        } else {
            formats::read_with(bytes, format, named)
        };
        let found = found.into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    counts: |document, format, is_shared| !is_shared || is_agent(document, format, is_shared),
    ..AGENT_FILES
};

/// The same for a host that repairs frontmatter by quotes alone.
const QUOTED_FILES: DefinitionFileKind<ParsedAgent> = DefinitionFileKind {
    parse: |format, _, bytes, _| {
        let found = formats::read_quoted(bytes, format).into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    ..AGENT_FILES
};

/// The same for a host that repairs no frontmatter.
const STRICT_FILES: DefinitionFileKind<ParsedAgent> = DefinitionFileKind {
    parse: |format, _, bytes, _| {
        let found = formats::read_strict(bytes, format).into_iter();
        found.map(|found| (found.member, found.parsed)).collect()
    },
    ..AGENT_FILES
};

pub(crate) fn discover(
    world: &World,
    view: &DiscoveryView,
    memory: Option<&mut DefinitionMemory<ParsedAgent>>,
) -> FoundDefinitions<ParsedAgent> {
    let limits = &world.definition_settings(view).settings.limits;
    let plan = planning::plan(EntryKind::Agents, world, view);
    let max_bytes = limits.file_bytes.value;
    let Some(rules) = host_rules(view) else {
        let bounds = ReadBounds {
            max_bytes,
            max_depth: limits.group_depth.count(),
            folders: FoldersEntered::Grove,
        };
        return AGENT_FILES.discover(plan, bounds, |_| false, memory);
    };
    let files = match rules.frontmatter {
        FrontmatterReading::Quoting => &QUOTED_FILES,
        FrontmatterReading::Strict => &STRICT_FILES,
        FrontmatterReading::Grove if rules.without_frontmatter => &BARE_FILES,
        FrontmatterReading::Grove => &AGENT_FILES,
    };
    let bounds = ReadBounds {
        max_bytes,
        max_depth: HOST_DEPTH,
        folders: rules.folders,
    };
    // A host that looks in the shared folder has no root of its own in it.
    let is_shared = |planned: &PlannedRoot| planned.root.path.ends_with(planning::SHARED);
    files.discover(plan, bounds, is_shared, memory)
}

pub(crate) fn resolve(
    world: &World,
    view: &DiscoveryView,
    found: FoundDefinitions<ParsedAgent>,
    overrides: LoadedOverrides,
) -> Agents {
    let (planned, mut candidates, named, of_roots) = found.into_parts();
    leave_out_declared(&planned, &mut candidates, &named);
    let roots = planned.into_iter().map(|planned| planned.root).collect();
    if let Some(rules) = host_rules(view) {
        return resolve_for(&rules, roots, candidates, of_roots);
    }
    let mut diagnostics = world.definition_settings(view).diagnostics.clone();
    diagnostics.extend(of_roots);
    diagnostics.extend(overrides.diagnostics);
    let layers = &overrides.layers;
    let mut agents = resolve_with(roots, candidates, layers, diagnostics);
    if *view == DiscoveryView::Own {
        let unknown = agents.unknown_overrides(layers);
        agents.diagnostics.extend(unknown);
    }
    let untrusted = AGENT_FILES.untrusted(&agents.all);
    agents.diagnostics.extend(untrusted);
    agents
}

/// The agents that another host would have, in a world that was found; nothing where its rules are not known.
pub fn of_host(world: &World, host: &str) -> Agents {
    let view = DiscoveryView::Host(host.to_owned());
    let found = discover(world, &view, None);
    resolve(world, &view, found, LoadedOverrides::default())
}

fn host_rules(view: &DiscoveryView) -> Option<AgentRules> {
    match view {
        DiscoveryView::Host(name) => AgentRules::by_name(name),
        DiscoveryView::Own | DiscoveryView::Folders(_) => None,
    }
}

/// Leaves out files without a name that settings declare: the settings say what such a role is called.
fn leave_out_declared(
    planned: &[PlannedRoot],
    candidates: &mut Vec<DefinitionCandidate<ParsedAgent>>,
    named: &[PathBuf],
) {
    let is_declared = |candidate: &DefinitionCandidate<ParsedAgent>| {
        let content = candidate.content.as_ref();
        let is_nameless = content.is_ok_and(|content| content.parsed.agent.name.is_none());
        let root = planned.get(candidate.root);
        let file = root.map(|planned| planned.root.path.join(&candidate.path));
        let is_codex = root.is_some_and(|planned| planned.format == AgentFormat::Codex);
        is_codex
            && candidate.member.is_none()
            && is_nameless
            && file.is_some_and(|it| named.contains(&it))
    };
    if !named.is_empty() {
        candidates.retain(|candidate| !is_declared(candidate));
    }
}

/// Returns true if a document can be read as an agent, or fails as one. A note beside agents is no agent, and in the
/// folder that all hosts share other things than agents have frontmatter too.
fn is_agent(document: &DefinitionFile<ParsedAgent>, format: AgentFormat, is_shared: bool) -> bool {
    let parsed = match &document.content {
        Ok(content) => match content.found.as_slice() {
            [(_, parsed)] if format.is_markdown() => parsed,
            _ => return true,
        },
        Err(_) => return !is_shared,
    };
    if is_shared {
        return parsed.agent.name.is_some() && parsed.agent.description.is_some();
    }
    // Bytes that are no text have no frontmatter and are no note either.
    let is_text = |finding: &Diagnostic| finding.code != Code::NotUtf8;
    let is_note = !parsed.has_frontmatter() && parsed.diagnostics.iter().all(is_text);
    !is_note || document.path.ends_with(".agent.md")
}

/// The finding about a document that is no agent in a folder for agents. In the folder that all hosts share any
/// document may lie, so nothing is said there.
fn no_agent(document: &DefinitionFile<ParsedAgent>, is_shared: bool) -> Option<Diagnostic> {
    let content = document.content.as_ref().ok().filter(|_| !is_shared)?;
    let mut findings = content.found.iter().flat_map(|(_, it)| &it.diagnostics);
    let refusal = findings.next()?;
    if refusal.code == Code::FrontmatterMissing {
        let message = "no frontmatter: taken for a note, not an agent";
        return Some(Diagnostic::new(Code::AgentNote, message));
    }
    let message = format!("{}, so the file is not an agent", refusal.message);
    let finding = refusal.clone().with_severity(Severity::Warning);
    Some(Diagnostic { message, ..finding })
}

fn unnamed(parsed: &ParsedAgent, file_name: &str) -> Option<Diagnostic> {
    let is_unnamed = parsed.is_valid() && parsed.agent.name.is_none();
    is_unnamed.then(|| {
        let stem = naming::stem(file_name);
        let message = format!("no name; the file's name `{stem}` is used");
        let help = format!("add `name: {stem}`");
        Diagnostic::new(Code::NameMissing, message).with_help(help)
    })
}
