//! The hostile corpus against the program: every case about agent files, chain files, manifests of packages and
//! settings, each with good neighbours beside it, and generated counter-cases.
//!
//! Not covered, because they are about what Grove does not do yet: installing (`install-source`, `archive`,
//! `source-spec`), locks (`lock`), running what verifies (`verify`) and the state of runs (`run-state`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_testkit::home::TestHome;
use grove_testkit::process::{self, Ending, Finished};
use grove_testkit::shared::hostile_copy;
use serde::Deserialize;
use serde_json::{Value, json};

/// Kinds whose cases are run here.
const KINDS: [&str; 3] = ["agent-file", "package", "chain"];
/// A case of another kind that is about settings of a project.
const SETTINGS: &str = "g03";
/// Kinds that are somebody else's.
const OTHERS: [&str; 7] = [
    "install-source",
    "archive",
    "source-spec",
    "lock",
    "verify",
    "run-state",
    "skills-root",
];

/// Limits are for a release build on an idle machine.
const TIME_FACTOR: u64 = if cfg!(debug_assertions) { 6 } else { 2 };

#[derive(Debug, Deserialize)]
struct Expectation {
    case: String,
    kind: String,
    expect: String,
    verdict: String,
    #[serde(default)]
    count: BTreeMap<String, usize>,
    #[serde(default)]
    must_not_contain: Vec<String>,
    #[serde(default)]
    must_not_exist: Vec<String>,
    max_ms: Option<u64>,
}

impl Expectation {
    /// Codes that the line for people names.
    fn codes(&self) -> Vec<&str> {
        let known = |word: &&str| {
            let mut codes = grove_spec::Code::ALL.iter();
            codes.any(|code| code.as_str() == *word)
        };
        self.expect.split('`').filter(known).collect()
    }
}

/// A case in a home of its own, with what was wrong so far.
struct Session {
    home: TestHome,
    expected: Expectation,
    complaints: Vec<String>,
    /// Everything that was printed.
    printed: String,
    /// How many texts of skills stood in prompts.
    blocks: usize,
    spent: Spent,
}

/// What runs took, together.
#[derive(Debug, Default)]
struct Spent {
    clock: Duration,
    processor: Duration,
}

/// What the program says of a project.
struct Seen {
    agents: Value,
    chains: Value,
    skills: Value,
}

const NEIGHBOUR_AGENT: &str = "---\nname: neighbour\ndescription: Good\n---\n\nGood.\n";

impl Session {
    fn new(case: &Path, expected: Expectation) -> Self {
        let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(case.join(".")).arg(home.path("project"));
        process::capture(&mut copy, Duration::from_mins(10))
            .unwrap()
            .require_success("cp")
            .unwrap();
        let root = "project/root";
        home.dir(format!("{root}/.git"));
        home.file(
            format!("{root}/.agents/agents/neighbour.md"),
            NEIGHBOUR_AGENT,
        );
        home.file(
            format!("{root}/.pi/chains/neighbour.chain.json"),
            json!({"name": "neighbour", "description": "Good", "chain": [{"agent": "scout"}]})
                .to_string(),
        );
        let package = format!("{root}/.pi/npm/node_modules/neighbour");
        home.file(
            format!("{package}/package.json"),
            "{\"pi\": {\"subagents\": {\"agents\": [\"agents\"]}}}",
        );
        home.file(
            format!("{package}/agents/packaged.md"),
            NEIGHBOUR_AGENT.replace("neighbour", "packaged"),
        );
        Self {
            home,
            expected,
            complaints: Vec::new(),
            printed: String::new(),
            blocks: 0,
            spent: Spent::default(),
        }
    }

    fn run(&mut self, arguments: &[&str]) -> Finished {
        let finished = self.home.run("project/root", arguments);
        self.spent.clock += finished.elapsed;
        self.spent.processor += finished.processor_time;
        let fine = matches!(finished.ending, Ending::Exited(0 | 1));
        if !fine {
            self.complain(format!("{arguments:?} ended with {:?}", finished.ending));
        }
        for text in [finished.stdout_text(), finished.stderr_text()] {
            let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            if text.contains(control) {
                self.complain(format!("{arguments:?} printed a control character"));
            }
            self.printed.push_str(&text);
        }
        finished
    }

    fn json(&mut self, arguments: &[&str]) -> Value {
        let text = self.run(arguments).stdout_text();
        serde_json::from_str(&text).unwrap_or_else(|error| {
            self.complain(format!("{arguments:?}: {error}"));
            Value::Null
        })
    }

    fn look(&mut self) -> Seen {
        Seen {
            agents: self.json(&["agents", "list", "--json"]),
            chains: self.json(&["chains", "list", "--json"]),
            skills: self.json(&["skills", "list", "--json"]),
        }
    }

    fn complain(&mut self, text: impl Into<String>) {
        self.complaints
            .push(format!("{}: {}", self.expected.case, text.into()));
    }

    fn require(&mut self, holds: bool, text: impl Into<String>) {
        if !holds {
            self.complain(text);
        }
    }

    /// Looks before and after trust, and holds everything against what is expected.
    fn judge(&mut self) {
        let before = self.look();
        let outside = usable(&before.agents, "agents")
            .into_iter()
            .filter(|agent| agent["source"] == "project" || agent["source"] == "package");
        let early: Vec<Value> = outside.chain(usable(&before.chains, "chains")).collect();
        self.require(early.is_empty(), format!("used before trust: {early:?}"));

        self.run(&["trust", "--yes"]);
        self.spent = Spent::default();
        let seen = self.look();
        if let Some(limit) = self.expected.max_ms {
            let limit = Duration::from_millis(limit * TIME_FACTOR);
            let is_within = process::is_within(limit, self.spent.clock, self.spent.processor);
            self.require(is_within, format!("took {:?}", self.spent));
        }
        self.run(&["doctor", "--json"]);
        self.run(&["chains", "check", "--json"]);
        let warnings = self.prompts(&seen);
        for name in ["neighbour", "packaged"] {
            let used = usable(&seen.agents, "agents");
            let is_used = used.iter().any(|agent| agent["name"] == name);
            self.require(is_used, format!("the good agent `{name}` is not usable"));
        }
        let chains = usable(&seen.chains, "chains");
        let is_used = chains.iter().any(|chain| chain["name"] == "neighbour");
        self.require(is_used, "the good chain is not usable");
        self.verdict(&seen, &warnings);
        self.traces();
    }

    /// The prompts of all agents of the project, and how many warnings each has.
    fn prompts(&mut self, seen: &Seen) -> BTreeMap<String, usize> {
        let mut warnings = BTreeMap::new();
        for agent in usable(&seen.agents, "agents") {
            if agent["source"] == "bundled" {
                continue;
            }
            let name = agent["name"].as_str().unwrap_or_default().to_owned();
            let prompt = self.json(&["prompt", &name, "--json"]);
            for block in prompt["blocks"].as_array().unwrap_or(&Vec::new()) {
                self.bounded(block);
            }
            let count = prompt["warnings"].as_array().map_or(0, Vec::len);
            warnings.insert(name, count);
        }
        warnings
    }

    /// A skill's text ends where its own end mark says, and that mark is in it once.
    fn bounded(&mut self, block: &Value) {
        if block["kind"] != "skill" {
            return;
        }
        self.blocks += 1;
        let text = block["text"].as_str().unwrap_or_default();
        let boundary = text.split("boundary=\"").nth(1);
        let boundary = boundary.and_then(|rest| rest.split('"').next());
        let end = format!("</skill boundary=\"{}\">", boundary.unwrap_or("?"));
        let count = text.matches(&end).count();
        self.require(count == 1, format!("{count} end marks in a skill's block"));
    }

    fn verdict(&mut self, seen: &Seen, warnings: &BTreeMap<String, usize>) {
        let said = findings(seen);
        for code in self
            .expected
            .codes()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            self.require(
                said.contains(&code),
                format!("`{code}` is not said: {said:?}"),
            );
        }
        let kind = self.expected.kind.clone();
        let of_case: Vec<Value> = all(&seen.agents, "agents")
            .into_iter()
            .filter(|agent| agent["source"] == "project" && agent["name"] != "neighbour")
            .collect();
        match (self.expected.verdict.as_str(), kind.as_str()) {
            ("load", "agent-file") => {
                let ok = of_case.iter().all(|agent| agent["state"] == "ok");
                self.require(ok && !of_case.is_empty(), format!("{of_case:?}"));
            }
            ("load+warn", "agent-file") => {
                let ok = of_case.iter().all(|agent| agent["state"] == "ok");
                self.require(ok && !of_case.is_empty(), format!("{of_case:?}"));
                let warned = of_case.iter().any(|agent| {
                    let name = agent["name"].as_str().unwrap_or_default();
                    let own = agent["diagnostics"].as_array().map_or(0, Vec::len);
                    own + warnings.get(name).copied().unwrap_or(0) > 0
                });
                self.require(warned, "no warning");
            }
            ("skip+diagnose", "agent-file") => {
                let used = of_case.iter().any(|agent| agent["state"] == "ok");
                self.require(!used, format!("{of_case:?}"));
                self.require(!said.is_empty(), "nothing is said");
            }
            ("skip+diagnose", "package") => self.require(!said.is_empty(), "nothing is said"),
            ("load" | "load+warn", "package") => {
                let packaged = usable(&seen.agents, "agents");
                let packaged = packaged.iter().filter(|it| it["source"] == "package");
                let packaged = packaged.count() + usable(&seen.skills, "skills").len();
                self.require(packaged > 1, "nothing of the package is used");
            }
            // Nothing is run here: a chain that must not run is not usable, or nothing of it happens.
            ("refuse-run", "chain") => {
                let used = usable(&seen.chains, "chains");
                let used: Vec<_> = used.iter().filter(|it| it["name"] != "neighbour").collect();
                let is_about_cap = self.expected.expect.contains("cap");
                self.require(!is_about_cap || used.is_empty(), format!("{used:?}"));
                let is_said = said.iter().any(|code| code == "chain-limit");
                self.require(!is_about_cap || is_said, format!("no limit: {said:?}"));
            }
            ("load" | "load+warn", "chain") => {
                let used = usable(&seen.chains, "chains");
                self.require(used.len() > 1, "the chain is not usable");
            }
            ("skip+diagnose", "chain") => {
                let used = usable(&seen.chains, "chains");
                self.require(used.len() == 1 && !said.is_empty(), format!("{used:?}"));
            }
            // Settings of a project do nothing by themselves.
            ("refuse-run", "trust") => {}
            other => self.complain(format!("what does {other:?} mean?")),
        }
        let skills = usable(&seen.skills, "skills");
        for (name, count) in self.expected.count.clone() {
            let found = skills.iter().filter(|skill| skill["name"] == *name).count();
            self.require(found == count, format!("`{name}` is there {found} times"));
        }
    }

    /// What must be in no output and on no disk.
    fn traces(&mut self) {
        for marker in self.expected.must_not_contain.clone() {
            let shown = self.printed.contains(&marker);
            self.require(!shown, format!("`{marker}` was printed"));
        }
        let files = files_below(&self.home.path(""));
        for name in self.expected.must_not_exist.clone() {
            let exists = files
                .iter()
                .any(|file| file.file_name().is_some_and(|it| it == name.as_str()));
            self.require(!exists, format!("`{name}` was made: something ran"));
        }
    }
}

fn all(listed: &Value, kind: &str) -> Vec<Value> {
    listed[kind].as_array().cloned().unwrap_or_default()
}

fn usable(listed: &Value, kind: &str) -> Vec<Value> {
    let mut all = all(listed, kind);
    all.retain(|it| it["state"] == "ok");
    all
}

/// The codes of everything that is said, but for what is merely worth knowing.
fn findings(seen: &Seen) -> Vec<String> {
    let lists = [
        (&seen.agents, "agents"),
        (&seen.chains, "chains"),
        (&seen.skills, "skills"),
    ];
    let mut codes = Vec::new();
    for (listed, kind) in lists {
        let of_each = all(listed, kind);
        let of_each = of_each.iter().flat_map(|it| all(it, "diagnostics"));
        let findings = all(listed, "diagnostics").into_iter().chain(of_each);
        let findings = findings.filter(|finding| finding["severity"] != "info");
        codes.extend(findings.filter_map(|finding| Some(finding["code"].as_str()?.to_owned())));
    }
    codes
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn every_case_about_agents_chains_packages_and_settings_is_met() {
    let folder = tempfile::tempdir().unwrap();
    let copy =
        hostile_copy(&folder.path().join("copy")).unwrap_or_else(|missing| panic!("{missing}"));
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&copy)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|case| case.join("expect.json").is_file())
        .collect();
    cases.sort();
    let (mut complaints, mut met, mut blocks) = (Vec::new(), Vec::new(), 0);
    for case in cases {
        let text = std::fs::read(case.join("expect.json")).unwrap();
        let expected: Expectation = serde_json::from_slice(&text).unwrap();
        let is_settings = expected.case.starts_with(SETTINGS);
        if !KINDS.contains(&expected.kind.as_str()) && !is_settings {
            let is_ours = expected.case.starts_with(['f', 'h']);
            assert!(
                !is_ours || OTHERS.contains(&expected.kind.as_str()),
                "{} is of a kind nobody looks at: {}",
                expected.case,
                expected.kind
            );
            continue;
        }
        met.push(expected.kind.clone());
        let mut session = Session::new(&case, expected);
        session.judge();
        blocks += session.blocks;
        complaints.extend(session.complaints);
    }
    assert!(blocks > 0, "no case has a prompt with a skill's text in it");
    for kind in KINDS {
        assert!(met.iter().any(|met| met == kind), "no case of kind {kind}");
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The states of the chains of a trusted project, by name.
fn chain_states(chains: &[(&str, Value)]) -> BTreeMap<String, String> {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    for (name, chain) in chains {
        home.file(
            format!("project/.pi/chains/{name}.chain.json"),
            chain.to_string(),
        );
    }
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    let printed = home
        .run("project", ["chains", "list", "--json"])
        .stdout_text();
    let listed: Value = serde_json::from_str(&printed).unwrap();
    let states = all(&listed, "chains").into_iter();
    states
        .map(|chain| {
            let text = |key: &str| chain[key].as_str().unwrap().to_owned();
            (text("name"), text("state"))
        })
        .collect()
}

#[test]
fn a_fan_out_up_to_the_cap_is_fine_and_one_beyond_it_is_refused() {
    let chain = |name: &str, items: u64| {
        json!({"name": name, "description": "d", "chain": [
            {"agent": "scout", "as": "found", "outputSchema": {"type": "object"}},
            {"expand": {"from": {"output": "found", "path": "/items"}, "maxItems": items},
             "parallel": {"agent": "worker", "task": "{item}"}, "collect": {"as": "all"}}
        ]})
    };
    let cap = grove_spec::chain::MAX_ITEMS;
    let states = chain_states(&[
        ("fits", chain("fits", cap)),
        ("over", chain("over", cap + 1)),
        ("flood", chain("flood", 1_000_000)),
    ]);
    let expected = [("fits", "ok"), ("flood", "invalid"), ("over", "invalid")];
    let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
    assert_eq!(states, BTreeMap::from(expected));
}

#[test]
fn a_command_in_a_chain_is_text_until_somebody_runs_it() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    home.file(
        "project/.pi/chains/x.chain.json",
        json!({"name": "x", "description": "$(touch pwned)", "chain": [{"agent": "worker", "task": "`touch pwned`",
            "acceptance": {"level": "verified", "verify": [{"id": "t", "command": "touch pwned; $(touch pwned)"}]}}]})
        .to_string(),
    );
    home.run("project", ["trust", "--yes"])
        .require_success("trust")
        .unwrap();
    for arguments in [
        vec!["chains", "list"],
        vec!["chains", "show", "x"],
        vec!["chains", "check"],
        vec!["doctor"],
    ] {
        home.run("project", &arguments);
    }
    let made = files_below(&home.path(""));
    assert!(!made.iter().any(|file| file.ends_with("pwned")));
    let shown = home
        .run("project", ["chains", "show", "x", "--json"])
        .stdout_text();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["chain"]["state"], "ok");
    let command = &shown["fields"]["steps"][0]["acceptance"]["verify"][0]["command"];
    assert_eq!(command, "touch pwned; $(touch pwned)", "shown in full");
}

#[test]
fn names_with_dots_blanks_and_letters_of_any_language_are_names() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    for (at, name) in ["a.b", "a b", "größe", "a_b-c"].iter().enumerate() {
        let text = format!("---\nname: {name}\ndescription: d\n---\n\nx\n");
        home.file(format!("home/.agents/agents/{at}.md"), text);
    }
    for (at, name) in ["'a\\nb'", "\"a\\nb\"", "../a", "-a", ".a", "\"a\\u001bb\""]
        .iter()
        .enumerate()
    {
        let text = format!("---\nname: {name}\ndescription: d\n---\n\nx\n");
        home.file(format!("home/.agents/agents/bad{at}.md"), text);
    }
    let printed = home
        .run("project", ["agents", "list", "--json"])
        .stdout_text();
    let listed: Value = serde_json::from_str(&printed).unwrap();
    let own: Vec<Value> = all(&listed, "agents")
        .into_iter()
        .filter(|agent| agent["source"] == "user")
        .collect();
    assert_eq!(own.len(), 10, "each file is listed, usable or not");
    for agent in own {
        let is_bad = agent["id"].as_str().unwrap().starts_with("bad");
        let state = if is_bad { "invalid" } else { "ok" };
        assert_eq!(agent["state"], state, "{agent}");
    }
}
