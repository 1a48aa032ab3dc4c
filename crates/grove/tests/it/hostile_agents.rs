//! The hostile corpus against the program: every case about agent files, chain files, manifests of packages and
//! settings, each with good neighbours beside it, and generated counter-cases.

use std::collections::BTreeMap;
use std::time::Duration;

use grove_testkit::process;
use grove_testkit::session::{column, rows};
use serde_json::{Value, json};

use crate::hostile::corpus::{Case, Corpus, Kind};
use crate::hostile::session::{Session, paths_below};

/// A case of another kind that is about settings of a project.
const SETTINGS: &str = "g03";

/// Limits are for a release build on an idle machine.
const TIME_FACTOR: u64 = if cfg!(debug_assertions) { 6 } else { 2 };

const NEIGHBOUR_AGENT: &str = "---\nname: neighbour\ndescription: Good\n---\n\nGood.\n";

/// A case in a home of its own.
struct Examination<'a> {
    case: &'a Case,
    session: Session,
    /// How many texts of skills stood in prompts.
    blocks: usize,
    /// What runs took, together: by the clock and of the processor.
    spent: (Duration, Duration),
}

/// What the program says of a project.
struct Seen {
    agents: Value,
    chains: Value,
    skills: Value,
}

impl<'a> Examination<'a> {
    fn new(case: &'a Case) -> Self {
        let mut session = Session::new();
        session.forbid(&case.expected.must_not_contain);
        case.clone_to(&session.home.path("project"));
        session.work_in(&session.home.path("project/root"));
        let chain =
            json!({"name": "neighbour", "description": "Good", "chain": [{"agent": "scout"}]});
        let root = "project/root";
        let package = format!("{root}/.pi/npm/node_modules/neighbour");
        let packaged = NEIGHBOUR_AGENT.replace("neighbour", "packaged");
        let manifest = r#"{"pi": {"subagents": {"agents": ["agents"]}}}"#;
        session
            .home
            .dir(format!("{root}/.git"))
            .file(
                format!("{root}/.agents/agents/neighbour.md"),
                NEIGHBOUR_AGENT,
            )
            .file(
                format!("{root}/.pi/chains/neighbour.chain.json"),
                chain.to_string(),
            )
            .file(format!("{package}/package.json"), manifest)
            .file(format!("{package}/agents/packaged.md"), packaged);
        Self {
            case,
            session,
            blocks: 0,
            spent: Default::default(),
        }
    }

    fn json(&mut self, words: &[&str]) -> Value {
        let words = [words, &["--json"]].concat();
        let finished = self.session.run(&words, &[0, 1]);
        self.spent.0 += finished.elapsed;
        self.spent.1 += finished.processor_time;
        let read = serde_json::from_slice(&finished.stdout);
        self.require(read.is_ok(), format!("{words:?} printed no JSON"));
        read.unwrap_or_default()
    }

    fn look(&mut self) -> Seen {
        Seen {
            agents: self.json(&["agents", "list"]),
            chains: self.json(&["chains", "list"]),
            skills: self.json(&["skills", "list"]),
        }
    }

    fn require(&mut self, holds: bool, text: impl Into<String>) {
        self.session.require(holds, || text.into());
    }

    /// Looks before and after trust, and holds everything against what is expected.
    fn judge(&mut self) {
        let before = self.look();
        let mut early = usable(&before.agents, "agents");
        early.extend(usable(&before.chains, "chains"));
        early.retain(|it| it["source"] == "project" || it["source"] == "package");
        self.require(early.is_empty(), format!("used before trust: {early:?}"));

        self.session.trust(&[]);
        self.spent = Default::default();
        let seen = self.look();
        if let Some(limit) = self.case.expected.max_ms {
            let limit = Duration::from_millis(limit * TIME_FACTOR);
            let is_within = process::is_within(limit, self.spent.0, self.spent.1);
            self.require(is_within, format!("took {:?}", self.spent));
        }
        self.json(&["doctor"]);
        self.json(&["chains", "check"]);
        let warnings = self.prompts(&seen);
        for (listed, kind, name) in [
            (&seen.agents, "agents", "neighbour"),
            (&seen.agents, "agents", "packaged"),
            (&seen.chains, "chains", "neighbour"),
        ] {
            let is_used = usable(listed, kind).iter().any(|it| it["name"] == name);
            self.require(is_used, format!("`{name}` of the {kind} is not usable"));
        }
        self.verdict(&seen, &warnings);
        let made = &self.case.expected.must_not_exist;
        let project = self.session.home.path("project");
        self.session.require_absent(&project, made);
    }

    /// The prompts of all agents of the project, and how many warnings each has.
    fn prompts(&mut self, seen: &Seen) -> BTreeMap<String, usize> {
        let mut warnings = BTreeMap::new();
        for agent in usable(&seen.agents, "agents") {
            if agent["source"] == "bundled" {
                continue;
            }
            let name = agent["name"].as_str().unwrap_or_default().to_owned();
            let prompt = self.json(&["prompt", &name]);
            for [kind, text] in rows(&prompt["blocks"], ["kind", "text"]) {
                if kind == "skill" {
                    self.bounded(&text);
                }
            }
            let count = prompt["warnings"].as_array().map_or(0, Vec::len);
            warnings.insert(name, count);
        }
        warnings
    }

    /// A skill's text ends where its own end mark says, and that mark is in it once.
    fn bounded(&mut self, text: &str) {
        self.blocks += 1;
        let boundary = text.split("boundary=\"").nth(1);
        let boundary = boundary.and_then(|rest| rest.split('"').next());
        let end = format!("</skill boundary=\"{}\">", boundary.unwrap_or("?"));
        let count = text.matches(&end).count();
        self.require(count == 1, format!("{count} end marks in a skill's block"));
    }

    fn verdict(&mut self, seen: &Seen, warnings: &BTreeMap<String, usize>) {
        let expected = &self.case.expected;
        let said = findings(seen);
        for code in expected.codes() {
            let is_said = said.iter().any(|said| said == code);
            self.require(is_said, format!("`{code}` is not said: {said:?}"));
        }
        let mut of_case = all(&seen.agents, "agents");
        of_case.retain(|agent| agent["source"] == "project" && agent["name"] != "neighbour");
        let count_ok = of_case
            .iter()
            .filter(|agent| agent["state"] == "ok")
            .count();
        let mut chains = usable(&seen.chains, "chains");
        chains.retain(|it| it["source"] != "bundled");
        let (holds, why) = match (expected.verdict.as_str(), self.case.kind) {
            ("load", Kind::AgentFile) => (
                count_ok == of_case.len() && count_ok > 0,
                format!("{of_case:?}"),
            ),
            ("load+warn", Kind::AgentFile) => {
                let warned = rows(&Value::Array(of_case.clone()), ["name", "diagnostics/0"]);
                let warned = warned.iter().any(|[name, own]| {
                    !own.is_empty() || warnings.get(name).is_some_and(|count| *count > 0)
                });
                let is_ok = count_ok == of_case.len() && count_ok > 0;
                (is_ok && warned, format!("warned {warned}: {of_case:?}"))
            }
            ("skip+diagnose", Kind::AgentFile) => (
                count_ok == 0 && !said.is_empty(),
                format!("{said:?} of {of_case:?}"),
            ),
            ("skip+diagnose", Kind::Package) => (!said.is_empty(), "nothing is said".to_owned()),
            ("load" | "load+warn", Kind::Package) => {
                let mut packaged = usable(&seen.agents, "agents");
                packaged.retain(|it| it["source"] == "package");
                let count = packaged.len() + usable(&seen.skills, "skills").len();
                (count > 1, "nothing of the package is used".to_owned())
            }
            // Nothing is run here: a chain that must not run is not usable, or nothing of it happens.
            ("refuse-run", Kind::Chain) => {
                let is_said = said.iter().any(|code| code == "chain-limit");
                let is_about_cap = expected.expect.contains("cap");
                let is_refused = chains.len() == 1 && is_said;
                (
                    !is_about_cap || is_refused,
                    format!("{said:?} of {chains:?}"),
                )
            }
            ("load" | "load+warn", Kind::Chain) => {
                (chains.len() > 1, "the chain is not usable".to_owned())
            }
            ("skip+diagnose", Kind::Chain) => (
                chains.len() == 1 && !said.is_empty(),
                format!("{said:?} of {chains:?}"),
            ),
            // Settings of a project do nothing by themselves.
            ("refuse-run", Kind::Trust) => (true, String::new()),
            other => (false, format!("what does {other:?} mean?")),
        };
        self.require(holds, why);
        let skills = usable(&seen.skills, "skills");
        for (name, count) in &expected.count {
            let found = skills.iter().filter(|skill| skill["name"] == *name).count();
            self.require(found == *count, format!("`{name}` is there {found} times"));
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
        let mut said = rows(&listed["diagnostics"], ["severity", "code"]);
        for it in all(listed, kind) {
            said.extend(rows(&it["diagnostics"], ["severity", "code"]));
        }
        said.retain(|[severity, _]| severity != "info");
        codes.extend(said.into_iter().map(|[_, code]| code));
    }
    codes
}

#[test]
fn every_case_about_agents_chains_packages_and_settings_is_met() {
    let corpus = Corpus::copy();
    let kinds = [Kind::AgentFile, Kind::Chain, Kind::Package, Kind::Trust];
    let mut cases = corpus.cases_of(&kinds, "abcdefgh");
    cases.retain(|case| case.kind != Kind::Trust || case.number() == SETTINGS);
    let (mut complaints, mut blocks) = (Vec::new(), 0);
    for case in &cases {
        let mut examination = Examination::new(case);
        examination.judge();
        blocks += examination.blocks;
        let found = examination.session.complaints().into_iter();
        complaints.extend(found.map(|text| format!("{}: {text}", case.id())));
    }
    assert!(blocks > 0, "no case has a prompt with a skill's text in it");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_fan_out_up_to_the_cap_is_fine_and_one_beyond_it_is_refused() {
    let session = crate::session().with_repository();
    let cap = grove_spec::chain::MAX_ITEMS;
    for (name, items) in [("fits", cap), ("flood", 1_000_000), ("over", cap + 1)] {
        let chain = json!({"name": name, "description": "d", "chain": [
            {"agent": "scout", "as": "found", "outputSchema": {"type": "object"}},
            {"expand": {"from": {"output": "found", "path": "/items"}, "maxItems": items},
             "parallel": {"agent": "worker", "task": "{item}"}, "collect": {"as": "all"}}
        ]});
        let file = format!("project/.pi/chains/{name}.chain.json");
        session.file(file, chain.to_string());
    }
    session.trust();
    let listed = session.json("chains list");
    let mut states = rows(&listed["chains"], ["name", "state", "source"]);
    states.retain(|it| it[2] == "project");
    states.sort();
    let expected = [
        ["fits", "ok", "project"],
        ["flood", "invalid", "project"],
        ["over", "invalid", "project"],
    ];
    assert_eq!(states, expected);
}

#[test]
fn a_command_in_a_chain_is_text_until_somebody_runs_it() {
    let session = crate::session().with_repository();
    let command = "touch pwned; $(touch pwned)";
    let verify = json!({"level": "verified", "verify": [{"id": "t", "command": command}]});
    let step = json!({"agent": "worker", "task": "`touch pwned`", "acceptance": verify});
    let chain = json!({"name": "x", "description": "$(touch pwned)", "chain": [step]});
    session
        .file("project/.pi/chains/x.chain.json", chain.to_string())
        .trust();
    for words in ["chains list", "chains show x", "chains check", "doctor"] {
        session.grove(words);
    }
    let mut made = paths_below(&session.path("")).into_iter();
    assert!(!made.any(|file| file.ends_with("pwned")));
    let shown = session.json("chains show x");
    assert_eq!(shown["chain"]["state"], "ok");
    let verify = &shown["fields"]["steps"][0]["acceptance"]["verify"];
    assert_eq!(column(verify, "command"), [command], "shown in full");
}

#[test]
fn names_with_dots_blanks_and_letters_of_any_language_are_names() {
    let session = crate::session();
    let good = ["a.b", "a b", "größe", "a_b-c"].map(|name| ("good", name));
    let bad = ["'a\\nb'", "\"a\\nb\"", "../a", "-a", ".a", "\"a\\u001bb\""];
    let names = good.into_iter().chain(bad.map(|name| ("bad", name)));
    for (at, (kind, name)) in names.enumerate() {
        let text = format!("---\nname: {name}\ndescription: d\n---\n\nx\n");
        session.file(format!("home/.agents/agents/{kind}{at}.md"), text);
    }
    let listed = session.json("agents list");
    let mut own = rows(&listed["agents"], ["source", "id", "state"]);
    own.retain(|[source, ..]| source == "user");
    assert_eq!(own.len(), 10, "each file is listed, usable or not");
    for [_, id, state] in own {
        let is_ok = id.starts_with("good");
        assert_eq!(state, if is_ok { "ok" } else { "invalid" }, "{id}");
    }
}
