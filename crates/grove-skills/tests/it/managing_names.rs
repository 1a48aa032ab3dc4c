//! Whatever name is taken for an agent, its file is read again as that agent.

use grove_skills::managing::{ChangeReport, ManageError, Manager, NewAgent, RenameRequest};
use grove_skills::{DiscoveryParts, DiscoveryRequest, Environment, Library};
use grove_spec::agent::compose::FileEdit;
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use proptest::prelude::*;

/// Names that mean something to YAML, to file systems or to the files of skills, and any others.
fn names() -> impl Strategy<Value = String> {
    let known = [
        "skill",
        "SKILL",
        "Skill.md",
        "x.chain",
        "chain",
        "agent",
        "x.agent",
        "README",
        "true",
        "null",
        "no",
        "1e5",
        "0x1f",
        "12",
        "-",
        "..",
        "a/b",
        "node_modules",
        "skills",
        "agents",
        "con",
        "x@y",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        "[ -~]{0,12}",
        "[a-z0-9]{1,3}[-. ][a-z0-9]{1,3}",
        "\\PC{0,6}",
        "[a-z]{60,300}",
    ]
}

fn packages() -> impl Strategy<Value = Option<String>> {
    prop::option::of(names())
}

/// A file whose agent is called `start`, in each way in which a file gives a name.
fn files() -> impl Strategy<Value = (&'static str, &'static str)> {
    let files = [
        ("start.md", "---\nname: start\ndescription: d\n---\nB\n"),
        ("start.md", "---\ndescription: d\n---\nB\n"),
        ("start.md", "---\nname: a/b\ndescription: d\n---\nB\n"),
        ("start.agent.md", "---\ndescription: d\n---\nB\n"),
        (
            "start.agent.md",
            "---\nname: \"start\"\ndescription: d\n---\nB\n",
        ),
    ];
    prop::sample::select(files.to_vec())
}

fn judge(environment: &Environment, before: usize, made: &Result<ChangeReport, ManageError>) {
    let request = DiscoveryRequest {
        parts: DiscoveryParts::AGENTS,
        ..DiscoveryRequest::default()
    };
    let snapshot = Library::new(environment.clone(), request).load();
    let agents = &snapshot.agents;
    let folder = environment.home.as_ref().unwrap().join(".grove/agents");
    let n_files = std::fs::read_dir(folder).map_or(0, Iterator::count);
    match made {
        Ok(changed) => {
            let read = agents
                .all
                .iter()
                .find(|agent| agents.location(agent) == changed.file);
            assert_eq!(
                read.map(|agent| &agent.name),
                Some(&changed.name),
                "{changed:?}"
            );
        }
        Err(_) => assert_eq!(n_files, before, "nothing is written"),
    }
}

fn environment(folder: &tempfile::TempDir) -> Environment {
    let home = folder.path().canonicalize().unwrap();
    Environment::for_home(home.clone(), home)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_created_is_read_as_the_agent_of_that_name(name in names(), package in packages()) {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(&folder);
        let asks = [FileEdit::Set("description".to_owned(), "d".to_owned())];
        let made = Manager::new(&environment, "test").unwrap().create(&NewAgent {
            name: &name,
            package: package.as_deref(),
            scope: LayerScope::User,
            edits: &asks,
            host: None,
        });
        judge(&environment, 0, &made);
    }

    #[test]
    fn whatever_is_renamed_is_read_as_the_agent_of_that_name(
        to in names(),
        package in packages(),
        (file, text) in files(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(&folder);
        let agents = folder.path().join(".grove/agents");
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::write(agents.join(file), text).unwrap();
        let made = Manager::new(&environment, "test").unwrap().rename(EntryKind::Agents, &RenameRequest {
            name: "start",
            to: &to,
            package: package.as_deref(),
            scope: None,
        });
        judge(&environment, 1, &made);
        if made.is_err() {
            assert_eq!(std::fs::read_to_string(agents.join(file)).unwrap(), text);
        }
    }
}
