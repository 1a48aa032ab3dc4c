//! Agents on real folders: where they are found, who wins, whom nobody asked, and what is trusted.

use std::path::{Path, PathBuf};

use grove_skills::{Discovery, DiscoveryParts, DiscoveryRequest, Environment, Library, trusting};

struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    environment: Environment,
}

/// A home and a project with a repository in it.
fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("home")).unwrap();
    std::fs::create_dir_all(root.join("project/.git")).unwrap();
    let mut environment = Environment::for_home(root.join("home"), root.join("project"));
    environment.temporary = root.join("tmp");
    Place {
        _folder: folder,
        root,
        environment,
    }
}

impl Place {
    fn put(&self, path: &str, text: &str) {
        let file = self.root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn agent(&self, path: &str, name: &str) {
        self.put(path, &file(name));
    }

    fn load(&self) -> Discovery {
        self.load_in(Vec::new())
    }

    fn load_from(&self, folder: &str) -> Discovery {
        self.load_in(vec![self.root.join(folder)])
    }

    fn load_in(&self, agent_folders: Vec<PathBuf>) -> Discovery {
        let request = DiscoveryRequest {
            parts: DiscoveryParts::AGENTS,
            agent_folders,
            ..DiscoveryRequest::default()
        };
        Library::new(self.environment.clone(), request).discover()
    }

    /// Where the agent of a name is, below the place.
    fn used(&self, name: &str) -> Option<String> {
        let discovery = self.load();
        let Ok(at) = discovery.snapshot.agents.find(name) else {
            return None;
        };
        let location = discovery
            .snapshot
            .agents
            .location(&discovery.snapshot.agents.all[at]);
        let below = location.strip_prefix(&self.root).unwrap();
        Some(below.to_string_lossy().into_owned())
    }
}

fn file(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nI am {name}.\n")
}

fn names(discovery: &Discovery) -> Vec<&str> {
    let agents = discovery.snapshot.agents.all.iter();
    agents.map(|agent| agent.name.as_str()).collect()
}

fn state(discovery: &Discovery, address: &str) -> &'static str {
    let all = discovery.snapshot.agents.all.iter();
    let mut of = all.filter(|agent| discovery.snapshot.agents.address(agent) == address);
    of.next().map_or("absent", |agent| agent.state.as_str())
}

#[test]
fn the_nearest_and_strongest_place_wins_and_the_next_one_follows() {
    let mut place = place();
    place.environment.working = place.root.join("project/sub");
    place.environment.agent_dirs = vec![place.root.join("extra1"), place.root.join("extra2")];
    let ladder = [
        "project/sub/.pi/agents/x.md",
        "project/.grove/agents/x.md",
        "project/.agents/agents/x.md",
        "project/.claude/agents/x.md",
        "project/.github/agents/x.agent.md",
        "project/.opencode/agent/x.md",
        "project/.pi/agents/x.md",
        "home/.grove/agents/x.md",
        "home/.agents/team/x.md",
        "home/.claude/agents/x.md",
        "home/.copilot/agents/x.md",
        "home/.gemini/agents/x.md",
        "home/.pi/agent/agents/x.md",
        // Hosts stand by the name of their folder, which in `.config` has no dot.
        "home/.config/opencode/agents/x.md",
        "home/.local/share/grove/agents/x.md",
        "extra1/x.md",
        "extra2/deep/x.md",
    ];
    std::fs::create_dir_all(place.root.join("project/sub")).unwrap();
    for path in ladder {
        place.agent(path, "x");
    }
    trusting::grant(&place.environment, None, true).unwrap();
    for path in ladder {
        assert_eq!(place.used("x").as_deref(), Some(path));
        std::fs::remove_file(place.root.join(path)).unwrap();
    }
    assert_eq!(place.used("x"), None);
}

#[test]
fn a_variable_moves_a_hosts_folder() {
    let mut place = place();
    place.agent("elsewhere/agents/x.md", "x");
    place.agent("home/.pi/agent/agents/y.md", "y");
    let folder = place.root.join("elsewhere").into_os_string();
    place
        .environment
        .variables
        .insert("PI_CODING_AGENT_DIR".to_owned(), folder);
    assert_eq!(place.used("x").as_deref(), Some("elsewhere/agents/x.md"));
    assert_eq!(place.used("y"), None);
}

#[test]
fn what_is_no_agent_is_not_taken_for_one() {
    let place = place();
    for (path, is_agent) in [
        ("home/.claude/agents/a.md", true),
        ("home/.claude/agents/team/deep/b.md", true),
        ("home/.claude/agents/flow.chain.md", false),
        ("home/.claude/agents/SKILL.md", false),
        ("home/.claude/agents/skill/SKILL.md", false),
        ("home/.claude/agents/skill/references/c.md", false),
        ("home/.claude/agents/node_modules/p/d.md", false),
        ("home/.claude/agents/.git/e.md", false),
        ("home/.claude/agents/backup/.pi/x", false),
        ("home/.claude/agents/backup/f.md", false),
        ("home/.agents/skills/tmux/SKILL.md", false),
        ("home/.agents/skills/tmux/g.md", false),
        ("home/.agents/h.md", true),
        ("home/.agents/agents/i.md", true),
    ] {
        let stem = Path::new(path).file_stem().unwrap().to_str().unwrap();
        place.agent(path, &format!("at-{stem}-{is_agent}"));
    }
    // In an agents folder a file's name is enough; in the shared folder other things have descriptions too.
    place.put(
        "home/.claude/agents/unnamed.md",
        "---\ndescription: d\n---\n",
    );
    place.put("home/.agents/rules/rule.md", "---\ndescription: d\n---\n");
    place.put("home/.claude/agents/README.md", "# How we write agents\n");
    let discovery = place.load();
    let mut found: Vec<&str> = names(&discovery)
        .into_iter()
        .filter(|name| name.starts_with("at-") || ["unnamed", "rule", "README"].contains(name))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "at-a-true",
            "at-b-true",
            "at-h-true",
            "at-i-true",
            "unnamed"
        ]
    );
}

#[test]
fn the_bundled_agents_are_there_and_anybody_can_replace_them() {
    let place = place();
    let bundled = [
        "context-builder",
        "delegate",
        "oracle",
        "planner",
        "researcher",
        "reviewer",
        "scout",
        "worker",
    ];
    assert_eq!(names(&place.load()), bundled);
    place.agent("home/.grove/agents/my-scout.md", "scout");
    assert_eq!(
        place.used("scout").as_deref(),
        Some("home/.grove/agents/my-scout.md")
    );
    assert_eq!(state(&place.load(), "scout@bundled:agents"), "shadowed");
    assert_eq!(names(&place.load_from("home/.grove/agents")), ["scout"]);
}

#[test]
fn a_projects_agents_wait_for_trust_and_are_pinned() {
    let place = place();
    let address = "x@project:.claude/agents";
    place.agent("project/.claude/agents/x.md", "x");
    place.agent("home/.claude/agents/x.md", "x");
    assert_eq!(state(&place.load(), address), "untrusted");
    assert_eq!(
        place.used("x").as_deref(),
        Some("home/.claude/agents/x.md"),
        "what is not trusted shadows nobody"
    );
    let granted = trusting::grant(&place.environment, None, false).unwrap();
    assert_eq!(granted.new, [".claude/agents/x.md"]);
    assert_eq!(state(&place.load(), address), "ok");
    place.put(
        "project/.claude/agents/x.md",
        &format!("{}More.\n", file("x")),
    );
    place.agent("project/.claude/agents/y.md", "y");
    assert_eq!(state(&place.load(), address), "changed");
    assert_eq!(state(&place.load(), "y@project:.claude/agents"), "changed");
    trusting::grant(&place.environment, None, false).unwrap();
    assert_eq!(state(&place.load(), address), "ok");
}

#[test]
fn a_project_does_not_reach_out_of_its_folder() {
    let place = place();
    place.agent("secret/x.md", "stolen");
    std::fs::create_dir_all(place.root.join("project/.claude")).unwrap();
    std::os::unix::fs::symlink("../../secret", place.root.join("project/.claude/agents")).unwrap();
    std::fs::create_dir_all(place.root.join("project/.pi/agents")).unwrap();
    std::os::unix::fs::symlink(
        "../../../secret/x.md",
        place.root.join("project/.pi/agents/x.md"),
    )
    .unwrap();
    trusting::grant(&place.environment, None, true).unwrap();
    let discovery = place.load();
    assert!(!names(&discovery).contains(&"stolen"));
    let escapes = discovery.snapshot.agents.diagnostics.iter();
    let escapes = escapes.filter(|finding| finding.code.as_str() == "path-escape");
    assert_eq!(escapes.count(), 2);
}

#[test]
fn the_text_of_a_file_that_changed_is_not_given() {
    let place = place();
    place.agent("home/.claude/agents/x.md", "x");
    let discovery = place.load_from("home/.claude/agents");
    let agent = &discovery.snapshot.agents.all[0];
    assert_eq!(discovery.sources.agents.read(agent), Some(file("x")));
    place.agent("home/.claude/agents/x.md", "z");
    assert_eq!(discovery.sources.agents.read(agent), None);
}

#[test]
fn a_file_that_cannot_be_read_says_why_and_hides_nobody() {
    let place = place();
    place.put(
        "a/long.md",
        &format!("{}{}", file("long"), "x".repeat(300_000)),
    );
    place.put("a/bad.md", "---\nname: x\nname: y\n---\n");
    place.put("a/note.agent.md", "No frontmatter\n");
    std::fs::write(place.root.join("a/bytes.md"), b"---\nname: \xff\n---\n").unwrap();
    place.agent("a/good.md", "good");
    let discovery = place.load_from("a");
    let found: Vec<(&str, &str, Vec<&str>)> = discovery
        .snapshot
        .agents
        .all
        .iter()
        .map(|agent| {
            let codes = agent
                .diagnostics
                .iter()
                .map(|finding| finding.code.as_str());
            (agent.path.as_str(), agent.state.as_str(), codes.collect())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("bad.md", "invalid", vec!["duplicate-key"]),
            ("bytes.md", "invalid", vec!["not-utf8"]),
            ("good.md", "ok", vec![]),
            ("long.md", "invalid", vec!["file-too-large"]),
            ("note.agent.md", "invalid", vec!["frontmatter-missing"]),
        ]
    );
}
