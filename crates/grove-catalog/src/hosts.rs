//! Other hosts as data: where each looks, how it scans, who wins, what it spends.
//!
//! A host is a file; a new host is a new file. What a host does is one of a few strategies that live in
//! code; what is not known about a host is listed in the file and shown as unknown.

use serde::Deserialize;

use crate::root::Source;

/// A host's rules.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The name used on the command line.
    pub name: String,
    /// The product's name.
    pub title: String,
    /// The version these facts are about.
    pub checked: String,
    /// How it scans a root.
    pub scan: Scan,
    /// How it names skills and who wins.
    pub identity: Identity,
    /// Where it looks.
    pub roots: Vec<HostRoot>,
    /// What it spends on the list.
    pub budget: Budget,
    /// What is not known about it.
    #[serde(default)]
    pub unknown: Vec<String>,
}

/// How a host scans a root.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scan {
    /// Group levels above a skill folder.
    pub depth: u64,
    /// Whether a skill folder ends the descent.
    pub stop_at_skill: bool,
    /// Whether `<root>/<name>.md` counts.
    pub flat_files: bool,
    /// Whether `<root>/SKILL.md` counts.
    pub root_file: bool,
    /// Whether `.gitignore`, `.ignore` and `.fdignore` are honoured.
    pub ignore_files: bool,
    /// The largest skill file it reads, if it has a limit.
    pub file_bytes: Option<u64>,
}

/// How a host names skills and treats equal names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Where the name comes from.
    pub name: NameFrom,
    /// What happens to equal names.
    pub same_name: SameNameRule,
    /// What happens without a description.
    pub missing_description: MissingDescription,
    /// Whether `requires` is honoured.
    pub requirements: bool,
    /// Sources, strongest first.
    pub order: Vec<Source>,
}

/// Where a host takes the name from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameFrom {
    /// The folder.
    Folder,
    /// The frontmatter.
    Frontmatter,
}

/// What a host does with equal names in different roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SameNameRule {
    /// The strongest one stays.
    Strongest,
    /// All stay.
    All,
}

/// What a host does with a skill that has no description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingDescription {
    /// It is left out.
    Skip,
    /// Something else is shown.
    Fallback,
}

/// A place a host looks in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRoot {
    /// Which source it belongs to.
    pub source: Source,
    /// The path: absolute, below home (`~/…`), or below a project folder.
    pub path: String,
    /// A variable that names the folder in place of everything but the path's last part.
    pub env: Option<String>,
    /// Which folders of a project hold it.
    #[serde(default)]
    pub levels: Levels,
    /// Whether Grove itself looks here too.
    #[serde(default = "yes")]
    pub compat: bool,
}

/// Which folders from the working folder to the repository root a project path is looked for in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Levels {
    /// All of them.
    #[default]
    All,
    /// The working folder alone.
    Working,
}

/// What a host spends on the list of skills.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Characters in all, if that is how it counts.
    pub chars: Option<u64>,
    /// Share of the context window, if that is how it counts.
    pub window_share: Option<f64>,
    /// Characters of one description.
    pub entry_chars: Option<u64>,
    /// Skills in all.
    pub skills: Option<u64>,
    /// What happens beyond it, in words.
    pub overflow: String,
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

/// The names of all known hosts, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// All known hosts.
pub fn all() -> Vec<Host> {
    FILES
        .iter()
        .filter_map(|(_, text)| parse(text).ok())
        .collect()
}

/// One host by name.
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
                host.roots.iter().any(|root| root.source == Source::User),
                "{name}"
            );
            assert!(
                host.roots.iter().any(|root| root.source == Source::Project),
                "{name}"
            );
            assert!(
                !host.budget.overflow.is_empty() && !host.checked.is_empty(),
                "{name}"
            );
            for root in &host.roots {
                assert!(!root.path.contains(".."), "{name}: {}", root.path);
                assert_eq!(
                    root.path.starts_with(['~', '/']),
                    root.source != Source::Project,
                    "{name}: {}",
                    root.path
                );
                assert!(
                    host.identity.order.contains(&root.source),
                    "{name}: {:?}",
                    root.source
                );
            }
        }
        assert_eq!(all().len(), FILES.len());
        assert!(by_name("pi").is_some() && by_name("nobody").is_none());
    }
}
