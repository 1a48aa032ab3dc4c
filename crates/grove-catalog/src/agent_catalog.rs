//! The list of agents for a model that delegates: within a budget, in groups, and by search. It uses the catalog and
//! search of skills, over a snapshot in which the agents stand where skills do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use grove_spec::skill::{ParsedSkill, SkillFile};
use grove_spec::text::{counted, one_line};

use crate::agents::{Agent, Agents};
use crate::catalog::{
    BudgetUnit, Catalog, CatalogBudget, CatalogEntry, CatalogEntryKind, CatalogRequest,
    CatalogStyle, catalog, group_members, shorten,
};
use crate::content::SkillContent;
use crate::digest::Digest;
use crate::entry::Entry as _;
use crate::hosts::{MissingDescription, NameFrom};
use crate::identity::SkillLayout;
use crate::search::{
    self, IndexBuilder, SearchAudience, SearchDocument, SearchFit, SearchIndex, SearchQuery,
};
use crate::snapshot::{Skill, SkillLocation, Snapshot};
use crate::state::EntryState;
use crate::tree::SkillTree;

const MOST_ENTRIES: usize = 300;
const MOST_FOUND: usize = 12;
const LONGEST_FOUND: usize = 300;

/// The options of a list of agents.
#[derive(Debug, Clone, Copy)]
pub struct AgentListOptions<'a> {
    /// The most bytes that the list may take.
    pub bytes: usize,
    /// The group to open, by its name in a list.
    pub group: Option<&'a str>,
    /// The words or the task that the listed agents should fit.
    pub task: Option<&'a str>,
}

/// Returns the list of the usable agents that `is_meant` selects; none if there is no group of that name.
pub fn agent_catalog(
    agents: &Agents,
    asked: &AgentListOptions<'_>,
    is_meant: impl Fn(&Agent) -> bool,
) -> Option<String> {
    let mut all = as_skills(agents, is_meant);
    if let Some(group) = asked.group {
        let members = group_members(&all, &request(asked.bytes), group);
        if members.is_empty() {
            return None;
        }
        let mut at = 0;
        all.skills.retain(|_| {
            at += 1;
            members.contains(&(at - 1))
        });
    }
    let task = asked.task.filter(|task| !task.trim().is_empty());
    Some(match task {
        Some(task) => found(&all, task, asked.bytes),
        None => listed(&catalog(&all, &request(asked.bytes)), all.skills.len()),
    })
}

/// Turns the agents into a snapshot of skills. Roots and order are kept.
fn as_skills(agents: &Agents, is_meant: impl Fn(&Agent) -> bool) -> Snapshot {
    let usable = agents.all.iter().filter(|agent| agent.state.is_offered());
    let mut skills: Vec<Skill> = usable
        .filter(|agent| is_meant(agent))
        .map(as_skill)
        .collect();
    skills.sort_by(|a, b| (a.place.root, a.id()).cmp(&(b.place.root, b.id())));
    let nothing = Digest::of(b"");
    Snapshot {
        version: 0,
        digest: nothing,
        skills_digest: nothing,
        roots: agents.roots.clone(),
        skills,
        tree: SkillTree::of([]),
        diagnostics: Vec::new(),
        agents: Arc::default(),
        chains: Arc::default(),
    }
}

fn as_skill(agent: &Agent) -> Skill {
    let parsed = ParsedSkill {
        skill: SkillFile {
            name: Some(agent.name.clone()),
            description: agent.description().map(str::to_owned),
            ..SkillFile::default()
        },
        body_offset: 0,
        diagnostics: Vec::new(),
    };
    Skill {
        place: SkillLocation {
            root: agent.root,
            layout: SkillLayout::Flat,
            id: agent.id().into(),
        },
        also_at: Vec::new(),
        content: Arc::new(SkillContent::new(0, None, 0, parsed)),
        state: EntryState::Ok,
        reasons: Vec::new(),
        stand_in: None,
        named_by: NameFrom::Frontmatter,
        // An agent without a description stays in the list under its name.
        missing_description: MissingDescription::Fallback,
        honours_invocation: false,
        diagnostics: Vec::new(),
    }
}

fn request(bytes: usize) -> CatalogRequest<'static> {
    static NO_USAGE: BTreeMap<String, u32> = BTreeMap::new();
    CatalogRequest {
        style: CatalogStyle::Names,
        budget: CatalogBudget {
            size: bytes,
            unit: BudgetUnit::Bytes,
            entries: MOST_ENTRIES,
        },
        home: None,
        index_dir: Path::new(""),
        pinned: &[],
        usage: &NO_USAGE,
        expanded: &[],
        exclude: &[],
        task: None,
    }
}

fn listed(made: &Catalog, count: usize) -> String {
    let mut text = counted(count, "agent");
    let has_groups = made.entries.iter().any(is_group);
    text.push_str(if has_groups {
        "; `task` finds those that fit, `what` with a name that ends in / lists its agents\n"
    } else {
        "\n"
    });
    for entry in &made.entries {
        let description = entry.description.as_deref().unwrap_or_default();
        text.push_str(&line(&shown_name(entry), &of_agents(entry, description)));
    }
    text
}

const fn is_group(entry: &CatalogEntry) -> bool {
    matches!(entry.kind, CatalogEntryKind::Group | CatalogEntryKind::Rest)
}

/// Returns the name of an entry; the entry for everything says `agents/` in place of `skills/`.
fn shown_name(entry: &CatalogEntry) -> String {
    match entry.kind {
        CatalogEntryKind::Rest => entry.name.replacen("skills/", "agents/", 1),
        _ => entry.name.clone(),
    }
}

/// Returns a group's description with the word "agent" for "skill" behind its count.
fn of_agents(entry: &CatalogEntry, description: &str) -> String {
    if is_group(entry) {
        description.replacen("skill", "agent", 1)
    } else {
        description.to_owned()
    }
}

fn line(name: &str, description: &str) -> String {
    match description {
        "" => format!("- {name}\n"),
        description => format!("- {name}: {description}\n"),
    }
}

/// The agents that fit a task, best first.
fn found(all: &Snapshot, task: &str, bytes: usize) -> String {
    let mut builder = IndexBuilder::default();
    for (at, skill) in all.skills.iter().enumerate() {
        builder.add(&SearchDocument {
            key: at as u128,
            name: skill.name(),
            id: skill.id(),
            description: skill.description().unwrap_or_default(),
            body: "",
        });
    }
    let query = SearchQuery {
        text: task,
        limit: MOST_FOUND,
        audience: SearchAudience::Person,
    };
    let index = SearchIndex::open(builder.finish([0; 32]));
    let hits = index.and_then(|index| search::search(all, &index, &query).ok());
    let mut hits = hits.unwrap_or_default();
    let mut text = String::new();
    if search::anything_fits(&hits) {
        hits.retain(|hit| hit.fit != SearchFit::Hardly);
    } else {
        text.push_str("No agent fits that well.\n");
    }
    for skill in hits.iter().filter_map(|hit| all.skills.get(hit.skill)) {
        let description = one_line(skill.description().unwrap_or_default());
        let line = line(
            &one_line(skill.name()),
            &shorten(&description, LONGEST_FOUND),
        );
        if text.len() + line.len() > bytes {
            break;
        }
        text.push_str(&line);
    }
    text
}
