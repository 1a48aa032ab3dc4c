//! The files inside the binary, written once to the data folder so that every location can be read.

use std::path::PathBuf;

use grove_catalog::Digest;
use grove_fs::atomic::{self, Durability};
use grove_fs::{FsError, files};
use grove_spec::package::EntryKind;

use crate::environment::Environment;

type Files = [(&'static str, &'static str)];

const SKILLS: [(&str, &str); 1] = [("grove/SKILL.md", include_str!("../bundled/grove/SKILL.md"))];

const AGENTS: [(&str, &str); 8] = [
    (
        "context-builder.md",
        include_str!("../bundled/agents/context-builder.md"),
    ),
    ("delegate.md", include_str!("../bundled/agents/delegate.md")),
    ("oracle.md", include_str!("../bundled/agents/oracle.md")),
    ("planner.md", include_str!("../bundled/agents/planner.md")),
    (
        "researcher.md",
        include_str!("../bundled/agents/researcher.md"),
    ),
    ("reviewer.md", include_str!("../bundled/agents/reviewer.md")),
    ("scout.md", include_str!("../bundled/agents/scout.md")),
    ("worker.md", include_str!("../bundled/agents/worker.md")),
];

macro_rules! chain_files {
    ($($name:literal),+ $(,)?) => {
        [$((
            concat!($name, ".chain.json"),
            include_str!(concat!("../bundled/chains/", $name, ".chain.json")),
        )),+]
    };
}

/// The workflows, in the order in which the documentation has them.
const CHAINS: [(&str, &str); 7] = chain_files![
    "parallel-review",
    "review-loop",
    "research",
    "build-context",
    "clean-up",
    "plan-and-implement",
    "handoff",
];

/// The folder with what is bundled of a kind, if anything is; written first if this version's is not there yet.
pub(crate) fn folder(
    kind: EntryKind,
    environment: &Environment,
) -> Option<Result<PathBuf, FsError>> {
    match (kind, &environment.bundled_dir) {
        (EntryKind::Skills, Some(folder)) => Some(Ok(folder.clone())),
        (EntryKind::Skills, None) => Some(written(environment, &SKILLS)),
        (EntryKind::Agents | EntryKind::Chains, _)
            if environment.data.starts_with(Environment::NOWHERE) =>
        {
            None
        }
        (EntryKind::Agents, _) => Some(written(environment, &AGENTS)),
        // A folder in place of the bundled skills is taken to bring its own workflows.
        (EntryKind::Chains, Some(_)) => None,
        (EntryKind::Chains, None) => Some(written(environment, &CHAINS)),
    }
}

fn written(environment: &Environment, all: &Files) -> Result<PathBuf, FsError> {
    let folder = environment.data.join("bundled").join(&version(all)[..16]);
    for (path, text) in all {
        let file = folder.join(path);
        // The binary decides about bundled files: one that was cut short or changed is written again.
        let is_same = files::read_bounded(&file, text.len() as u64)
            .is_ok_and(|bytes| bytes == text.as_bytes());
        if !is_same {
            atomic::write(&file, text.as_bytes(), Durability::Cache)?;
        }
    }
    Ok(folder)
}

fn version(files: &Files) -> String {
    let mut all = String::new();
    for (path, text) in files {
        all.push_str(path);
        all.push('\0');
        all.push_str(text);
        all.push('\0');
    }
    Digest::of(all.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use grove_spec::acceptance::Acceptance;
    use grove_spec::agent::{self, ContextMode};
    use grove_spec::chain;

    #[test]
    fn bundled_skills_are_beyond_reproach() {
        for (path, text) in super::SKILLS {
            let folder = path.split('/').next().unwrap_or_default();
            let findings =
                grove_spec::skill::strict::validate(&grove_spec::skill::parse(text), folder);
            assert_eq!(findings, [], "{path}");
        }
    }

    #[test]
    fn bundled_chains_are_beyond_reproach_and_ask_bundled_agents_alone() {
        let agents: Vec<&str> = super::AGENTS
            .iter()
            .filter_map(|(path, _)| path.strip_suffix(".md"))
            .collect();
        for (path, text) in super::CHAINS {
            let parsed = chain::parse(text, chain::ChainFormat::Json);
            assert_eq!(parsed.diagnostics, [], "{path}");
            let chain = &parsed.chain;
            let name = chain.name.as_deref().unwrap_or_default();
            assert_eq!(format!("{name}.chain.json"), path);
            for task in chain.steps.iter().flat_map(chain::ChainStep::tasks) {
                assert!(agents.contains(&&*task.agent), "{path}: {}", task.agent);
                assert!(task.label.is_some(), "{path}: every child has a name");
                // Only the person may give the commands.
                if let Some(Acceptance::Contract(contract)) = &task.acceptance {
                    assert_eq!(contract.verify, [], "{path}");
                }
            }
        }
    }

    #[test]
    fn bundled_agents_are_beyond_reproach() {
        const READ_ONLY: [&str; 6] = [
            "context-builder",
            "oracle",
            "planner",
            "researcher",
            "reviewer",
            "scout",
        ];
        const FORKING: [&str; 3] = ["oracle", "planner", "worker"];
        for (path, text) in super::AGENTS {
            let parsed = agent::parse(text);
            assert_eq!(parsed.diagnostics, [], "{path}");
            let agent = &parsed.agent;
            let name = agent.name.as_deref().unwrap_or_default();
            assert_eq!(format!("{name}.md"), path);
            assert!(agent.description.is_some(), "{path}");
            assert_eq!(agent.model, None, "{path} leaves the model to its user");
            assert!(agent.fallback_models.is_empty(), "{path}");
            let body = text.get(parsed.body_offset..).unwrap_or_default();
            assert!(!body.trim().is_empty(), "{path}");
            let forks = agent.default_context == Some(ContextMode::Fork);
            assert_eq!(forks, FORKING.contains(&name), "{path}");
            assert!(
                agent.inherit_project_context,
                "{path} keeps to a project's rules"
            );
            let tools = agent.plain_tools().unwrap_or_default();
            assert!(!tools.is_empty(), "{path} says which tools it has");
            // A shell writes as well as an editor does.
            let writes = tools
                .iter()
                .any(|tool| ["write", "edit", "bash"].contains(tool));
            assert_eq!(writes, !READ_ONLY.contains(&name), "{path}");
        }
    }
}
