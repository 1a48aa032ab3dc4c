//! Other hosts as data: the folders of each, its scan, its order of precedence, its budget.
//!
//! A host is a file; a new host is a new file. The behaviour of a host is one of a few strategies in code. Facts that
//! are not known about a host are listed in the file and shown as unknown.

mod agent_rules;
mod name_form;
mod skill_list;

use std::sync::LazyLock;

use grove_spec::agent::AgentFormat;
use serde::Deserialize;

pub use agent_rules::{
    AgentRules, ExportRules, FoldersEntered, FrontmatterReading, HostModels, Preload,
};
pub use name_form::NameForm;
pub use skill_list::{BuiltInSkill, ListBudget, ListMeasure, ListOverflow, ListRules, ListStyle};

use crate::root::RootSource;

/// The rules of one host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The name used on the command line.
    pub name: String,
    /// The name of the product.
    pub title: String,
    /// The version for which these facts were checked.
    pub checked: String,
    /// The name that it gives to an MCP server.
    pub mcp_client: Option<String>,
    /// The rules for scanning a root.
    pub scan: ScanRules,
    /// The rules for names and for equal names.
    pub identity: IdentityRules,
    /// The places of its skills.
    pub roots: Vec<HostRoot>,
    /// The places of its agents.
    #[serde(default)]
    pub agent_roots: Vec<HostRoot>,
    /// The places of its chains.
    #[serde(default)]
    pub chain_roots: Vec<HostRoot>,
    /// The form of its list.
    pub listing: ListRules,
    /// The limits on its list.
    pub budget: ListBudget,
    /// The facts that are not known about it.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// Files and folders, below home or in the working folder, that give it skills which Grove does not read.
    #[serde(default)]
    pub not_followed: Vec<String>,
}

/// The rules by which a host scans a root.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanRules {
    /// The levels of groups above a skill folder.
    pub depth: u64,
    /// Set if a skill folder ends the descent.
    pub stop_at_skill: bool,
    /// Set if `<root>/<name>.md` counts as a skill.
    pub flat_files: bool,
    /// Set if `<root>/SKILL.md` counts as a skill.
    pub root_file: bool,
    /// Set if `.gitignore`, `.ignore` and `.fdignore` are honoured.
    pub ignore_files: bool,
    /// Set if it searches folders called `node_modules`.
    #[serde(default)]
    pub node_modules: bool,
    /// Set if it goes on to the folders above when there is no repository to end at.
    #[serde(default)]
    pub climbs: bool,
    /// The settings that name further folders, if any do.
    #[serde(default)]
    pub named_folders: NamedFolders,
    /// The treatment of a skill file that is itself a link.
    #[serde(default)]
    pub linked_files: LinkedFileRule,
    /// The largest skill file it reads, if it has a limit.
    pub file_bytes: Option<u64>,
    /// The most skill folders of a root that it reads, if it has a limit.
    pub candidates_per_root: Option<u64>,
    /// The most skills of a source that it offers, if it has a limit.
    pub loaded_per_source: Option<u64>,
}

/// The settings that name folders with skills, which a host searches before its own folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedFolders {
    /// No settings name folders.
    #[default]
    Nowhere,
    /// Those of pi: `skills` in `.pi/settings.json` of the working folder and in the user's.
    Pi,
}

/// The treatment of a skill file that is itself a link; links to folders are another matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkedFileRule {
    /// It is read, wherever it leads.
    #[default]
    Follow,
    /// It is not read.
    Skip,
    /// It is read if it leads to a file in the skill's own folder.
    Inside,
}

/// The rules by which a host names skills and treats equal names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityRules {
    /// The source of the name.
    pub name: NameFrom,
    /// The treatment of a skill whose frontmatter has no name.
    #[serde(default)]
    pub missing_name: MissingName,
    /// The treatment of equal names.
    pub same_name: SameNameRule,
    /// The treatment of a skill without a description.
    pub missing_description: MissingDescription,
    /// The longest description it takes, in UTF-16 units; a skill beyond it is left out.
    pub longest_description: Option<u64>,
    /// The longest name it takes, in characters; a skill beyond it is left out.
    pub longest_name: Option<u64>,
    /// The names that it takes, and its way of writing them.
    #[serde(default)]
    pub name_form: NameForm,
    /// Set if `disable-model-invocation` is honoured.
    #[serde(default = "yes")]
    pub honours_invocation: bool,
    /// Set if frontmatter that is not valid YAML is repaired; otherwise such a skill is left out.
    #[serde(default = "yes")]
    pub repairs: bool,
    /// Its reading of frontmatter that is not quite YAML, if it repairs some.
    #[serde(default)]
    pub frontmatter: FrontmatterReading,
    /// Set if a file without frontmatter is a skill, with all of it as the body.
    #[serde(default)]
    pub bare_files: bool,
    /// Set if a skill with `paths` is left out until a file that they name is worked with.
    #[serde(default)]
    pub honours_paths: bool,
    /// Set if a folder nearer to the working folder goes before one that the host names first.
    #[serde(default = "yes")]
    pub nearest_first: bool,
    /// Set if `requires` is honoured.
    pub requirements: bool,
    /// The sources of skills, strongest first.
    pub order: Vec<RootSource>,
}

/// The source from which a host takes the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameFrom {
    /// The name of the skill's folder.
    Folder,
    /// The name in the frontmatter.
    Frontmatter,
}

/// The rule for a missing name at a host that takes the name from the frontmatter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingName {
    /// The folder's name is used.
    #[default]
    Folder,
    /// The skill is left out.
    Skip,
}

/// The treatment of equal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SameNameRule {
    /// The strongest one stays; several in one root stay side by side.
    Strongest,
    /// One stays: of the strongest root, and in that the first by its path.
    One,
    /// All of them stay.
    All,
}

/// The treatment of a skill that has no description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingDescription {
    /// It is left out.
    Skip,
    /// It can be named, and the model does not see it.
    Unlisted,
    /// The model sees it with a substitute for the description.
    Fallback,
}

/// A place that a host searches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRoot {
    /// The source that it belongs to.
    pub source: RootSource,
    /// The path: absolute, below home (`~/…`), or below a project folder; empty if a variable lists the folders.
    #[serde(default)]
    pub path: String,
    /// A variable that names the folder in place of all but the last part of the path.
    pub env: Option<String>,
    /// A variable that lists folders, with commas between them, in place of a path.
    pub env_list: Option<String>,
    /// A variable that, when set, keeps the host from searching here.
    pub unless_env: Option<String>,
    /// Set if `<root>/<name>.md` counts here too, provided the host's scan has it.
    #[serde(default = "yes")]
    pub flat_files: bool,
    /// The folders of a project that may hold it.
    #[serde(default)]
    pub levels: FolderLevels,
    /// Set if Grove itself searches here too.
    #[serde(default = "yes")]
    pub compat: bool,
    /// The format of agents here; the path of settings that hold agents is that of a file.
    #[serde(default)]
    pub format: AgentFormat,
}

/// The folders between the working folder and the repository root that may hold a project path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FolderLevels {
    /// All of these folders.
    #[default]
    All,
    /// Only the working folder.
    Working,
}

const fn yes() -> bool {
    true
}

const FILES: [(&str, &str); 7] = [
    ("claude", include_str!("../hosts/claude.toml")),
    ("codex", include_str!("../hosts/codex.toml")),
    ("copilot", include_str!("../hosts/copilot.toml")),
    ("gemini", include_str!("../hosts/gemini.toml")),
    ("openclaw", include_str!("../hosts/openclaw.toml")),
    ("opencode", include_str!("../hosts/opencode.toml")),
    ("pi", include_str!("../hosts/pi.toml")),
];

/// Returns the names of all known hosts, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Returns all known hosts. Their files are read once: every look at Grove's own places asks for them.
pub fn all() -> &'static [Host] {
    static ALL: LazyLock<Vec<Host>> = LazyLock::new(|| {
        let hosts = FILES.iter().filter_map(|(_, text)| parse(text).ok());
        hosts.collect()
    });
    &ALL
}

/// Returns the host that gives this name to an MCP server.
pub fn by_mcp_client(client: &str) -> Option<Host> {
    let mut hosts = all().iter();
    let host = hosts.find(|host| host.mcp_client.as_deref() == Some(client));
    host.cloned()
}

/// Returns one host by its name.
pub fn by_name(name: &str) -> Option<Host> {
    FILES
        .iter()
        .find(|(known, _)| *known == name)
        .and_then(|(_, text)| parse(text).ok())
}

/// Reads a host file.
pub fn parse(text: &str) -> Result<Host, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_file_is_read_and_named_after_its_host() {
        for (name, text) in FILES {
            let host = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(host.name, name);
            assert!(
                host.roots
                    .iter()
                    .any(|root| root.source == RootSource::User),
                "{name}"
            );
            assert!(
                host.roots
                    .iter()
                    .any(|root| root.source == RootSource::Project),
                "{name}"
            );
            assert!(
                !host.budget.about.is_empty() && !host.checked.is_empty(),
                "{name}"
            );
            assert_eq!(
                host.budget.limit(None).is_none(),
                host.budget.overflow == ListOverflow::None,
                "{name}: a limit and what happens beyond it belong together"
            );
            let scan = &host.scan;
            for limit in [
                scan.file_bytes,
                scan.candidates_per_root,
                scan.loaded_per_source,
            ] {
                assert_ne!(
                    limit,
                    Some(0),
                    "{name}: no limit is written by leaving it out"
                );
            }
            assert!(
                host.identity.missing_name == MissingName::Folder
                    || host.identity.name == NameFrom::Frontmatter,
                "{name}: a folder always has a name"
            );
            for root in &host.roots {
                check_root(&host, root);
            }
        }
        assert_eq!(all().len(), FILES.len());
        assert!(by_name("pi").is_some() && by_name("nobody").is_none());
    }

    fn check_root(host: &Host, root: &HostRoot) {
        let name = format!("{}: {root:?}", host.name);
        assert!(host.identity.order.contains(&root.source), "{name}");
        assert!(!root.path.contains(".."), "{name}");
        assert_ne!(root.path.is_empty(), root.env_list.is_none(), "{name}");
        if root.env_list.is_some() {
            assert!(
                root.source == RootSource::Extra && root.env.is_none(),
                "{name}"
            );
        } else {
            let is_in_project = !root.path.starts_with(['~', '/']);
            assert_eq!(is_in_project, root.source == RootSource::Project, "{name}");
        }
        assert!(
            root.unless_env.is_none()
                || host.roots.iter().any(|other| other.env == root.unless_env),
            "{name}: a variable that switches a root off moves another one"
        );
        assert!(
            root.flat_files || host.scan.flat_files,
            "{name}: nothing to switch off"
        );
    }

    #[test]
    fn a_limit_is_a_share_of_the_window_or_a_number() {
        for (host, window, limit) in [
            ("claude", None, Some(8_000)),
            ("claude", Some(1_000_000), Some(40_000)),
            ("codex", None, Some(5_440)),
            ("codex", Some(400_000), Some(8_000)),
            ("copilot", Some(1_000_000), Some(15_000)),
            ("openclaw", None, Some(18_000)),
            ("pi", None, None),
        ] {
            assert_eq!(by_name(host).unwrap().budget.limit(window), limit, "{host}");
        }
    }

    #[test]
    fn what_a_host_file_leaves_out_is_no_rule() {
        let host = by_name("claude").unwrap();
        assert_eq!(host.scan.candidates_per_root, None);
        assert_eq!(host.scan.loaded_per_source, None);
        assert_eq!(host.scan.linked_files, LinkedFileRule::Follow);
        assert_eq!(host.identity.missing_name, MissingName::Folder);
        for wrong in [
            "linked_files = \"sometimes\"",
            "candidates_per_root = -1",
            "loaded_per_root = 3",
        ] {
            let text = FILES[0].1.replace("[scan]", &format!("[scan]\n{wrong}"));
            assert!(parse(&text).is_err(), "{wrong}");
        }
    }
}
