//! What every surface says of one home, and the laws that hold between them.

use std::collections::{BTreeMap, BTreeSet};

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::{Value, json};

/// The JSON of all surfaces, from processes that saw the same files.
pub(crate) struct Answers {
    pub(crate) list: Value,
    check: Value,
    check_exit: Ending,
    pub(crate) roots: Value,
    doctor: Value,
    overview: Value,
    /// The summary lines of the two surfaces that print one.
    list_text: String,
    overview_text: String,
}

type Counts = BTreeMap<String, u64>;

impl Answers {
    pub(crate) fn ask(home: &TestHome, cwd: &str, flags: &[&str]) -> Self {
        let text = |command: &[&str]| {
            let finished = home.run(cwd, command.iter().chain(flags));
            assert_eq!(finished.ending, Ending::Exited(0), "{command:?}");
            assert_clean(&finished.stdout_text());
            assert_clean(&finished.stderr_text());
            finished.stdout_text() + &finished.stderr_text()
        };
        let (check, check_exit) = ask_json(home, cwd, &["skills", "check"], flags);
        let json = |command: &[&str]| {
            let (value, ending) = ask_json(home, cwd, command, flags);
            assert_eq!(ending, Ending::Exited(0), "{command:?}");
            value
        };
        Self {
            list: json(&["skills", "list"]),
            roots: json(&["skills", "roots"]),
            doctor: json(&["doctor"]),
            overview: json(&[]),
            list_text: text(&["skills", "list"]),
            overview_text: text(&[]),
            check,
            check_exit,
        }
    }

    pub(crate) fn skills(&self) -> &[Value] {
        array(&self.list["skills"])
    }

    /// All laws that need no further process.
    pub(crate) fn agree(&self) {
        self.agree_on_the_snapshot();
        self.agree_on_findings();
        self.agree_on_roots();
        self.agree_on_sources();
        self.states_have_reasons();
        self.rank_is_kept();
        self.texts_count_the_same();
    }

    fn agree_on_the_snapshot(&self) {
        for other in [&self.check, &self.roots, &self.doctor, &self.overview] {
            assert_eq!(
                other["snapshot"], self.list["snapshot"],
                "{}",
                other["schema"]
            );
            assert_eq!(
                other["diagnostics"], self.list["diagnostics"],
                "{}",
                other["schema"]
            );
        }
        assert_eq!(self.check["skills"], self.list["skills"]);
        assert_eq!(self.check["states"], json!(count(self.skills(), "state")));
    }

    fn agree_on_findings(&self) {
        let of_skills = self
            .skills()
            .iter()
            .flat_map(|skill| array(&skill["diagnostics"]));
        let all = array(&self.list["diagnostics"]).iter().chain(of_skills);
        let findings = all.filter(|finding| finding["severity"] != "info").count();
        for other in [&self.check, &self.doctor, &self.overview] {
            assert_eq!(other["findings"], findings, "{}", other["schema"]);
        }
        assert_eq!(self.check_exit, Ending::Exited(i32::from(findings > 0)));
    }

    fn agree_on_roots(&self) {
        let roots = array(&self.roots["roots"]);
        let mut total = 0;
        for root in roots {
            let inside: Vec<Value> = self
                .skills()
                .iter()
                .filter(|skill| skill["root"] == root["label"])
                .cloned()
                .collect();
            assert_eq!(root["skills"], inside.len(), "{root:#}");
            assert_eq!(root["states"], json!(count(&inside, "state")), "{root:#}");
            for skill in &inside {
                assert_eq!(skill["source"], root["source"]);
                let below = format!("{}/", string(&root["path"]));
                assert!(string(&skill["location"]).starts_with(&below), "{skill:#}");
            }
            total += inside.len();
        }
        assert_eq!(
            total,
            self.skills().len(),
            "every skill is in a root that is shown"
        );
        for key in ["label", "path"] {
            assert_eq!(
                count(roots, key).len(),
                roots.len(),
                "every root has a {key} of its own"
            );
        }
        let there = roots.iter().filter(|root| root["exists"] == true).count();
        assert_eq!(self.doctor["roots"], there);
    }

    fn agree_on_sources(&self) {
        let mut by_source: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for skill in self.skills() {
            by_source
                .entry(string(&skill["source"]).to_owned())
                .or_default()
                .push(skill.clone());
        }
        let mut shown: BTreeMap<String, (u64, Value)> = BTreeMap::new();
        for row in array(&self.doctor["skills"]) {
            let counts = (row["skills"].as_u64().unwrap(), row["states"].clone());
            shown.insert(string(&row["source"]).to_owned(), counts);
        }
        let counted = by_source
            .iter()
            .map(|(source, skills)| {
                (
                    source.clone(),
                    (skills.len() as u64, json!(count(skills, "state"))),
                )
            })
            .collect();
        assert_eq!(shown, counted);
        assert_eq!(self.overview["skills"], self.doctor["skills"]);
        let told = self
            .skills()
            .iter()
            .filter(|skill| skill["modelInvocable"] == true)
            .count();
        assert_eq!(self.overview["catalog"]["skills"], told);
    }

    fn states_have_reasons(&self) {
        for skill in self.skills() {
            let reasons = array(&skill["reasons"]);
            assert_eq!(skill["state"] == "ok", reasons.is_empty(), "{skill:#}");
            for reason in reasons {
                for part in ["code", "message", "fix"] {
                    assert!(!string(&reason[part]).is_empty(), "{skill:#}");
                }
            }
            let invalid = array(&skill["diagnostics"])
                .iter()
                .any(|f| f["severity"] == "error");
            assert_eq!(skill["state"] == "invalid", invalid, "{skill:#}");
        }
    }

    /// A usable skill is shadowed by a usable one of its name in a stronger root, and by no other.
    fn rank_is_kept(&self) {
        let place = |skill: &Value| {
            let roots = array(&self.roots["roots"]);
            roots
                .iter()
                .position(|root| root["label"] == skill["root"])
                .unwrap()
        };
        let offered = |skill: &Value| matches!(string(&skill["state"]), "ok" | "capped");
        for skill in self.skills() {
            let instead = skill.get("standIn").map(|address| {
                self.skills()
                    .iter()
                    .find(|other| other["address"] == *address)
                    .unwrap()
            });
            if let Some(instead) = instead {
                assert!(
                    offered(instead) && instead["name"] == skill["name"],
                    "{skill:#}"
                );
                assert!(
                    skill["state"] != "shadowed" || place(instead) < place(skill),
                    "{skill:#}"
                );
            }
            assert!(
                skill["state"] != "shadowed" || instead.is_some(),
                "{skill:#}"
            );
            let same = |other: &&Value| offered(other) && other["name"] == skill["name"];
            if offered(skill) {
                let elsewhere = self.skills().iter().filter(same);
                assert!(
                    elsewhere
                        .clone()
                        .all(|other| other["root"] == skill["root"]),
                    "{skill:#}"
                );
            } else if self.skills().iter().any(|other| same(&other)) {
                assert!(instead.is_some(), "what stands in is shown: {skill:#}");
            }
        }
    }

    fn texts_count_the_same(&self) {
        let usable = self
            .skills()
            .iter()
            .filter(|skill| skill["state"] == "ok")
            .count();
        let all = self.skills().len();
        let noun = if all == 1 { "skill" } else { "skills" };
        for (text, line) in [
            (
                &self.list_text,
                format!("{all} {noun} listed, {usable} usable\n"),
            ),
            (
                &self.overview_text,
                format!("{all} {noun} found, {usable} usable\n"),
            ),
        ] {
            assert!(
                all == 0 || text.contains(&line),
                "{line:?} is not in:\n{text}"
            );
        }
    }

    /// `id@root`; a flat file beside a folder of the same name keeps its ending.
    fn address_of(&self, skill: &Value) -> String {
        let (id, root) = (string(&skill["id"]), string(&skill["root"]));
        let named = |other: &&Value| other["id"] == skill["id"] && other["root"] == skill["root"];
        let twins = self.skills().iter().filter(named).count() > 1;
        let is_flat = !string(&skill["location"]).ends_with("/SKILL.md");
        let ending = if twins && is_flat { ".md" } else { "" };
        format!("{id}{ending}@{root}")
    }

    /// Every address leads to its skill, and every name of one offered skill too.
    pub(crate) fn every_skill_can_be_shown(&self, home: &TestHome, cwd: &str, flags: &[&str]) {
        let mut addresses = BTreeSet::new();
        for skill in self.skills() {
            let address = string(&skill["address"]);
            assert_eq!(address, self.address_of(skill));
            assert!(addresses.insert(address), "{address} stands twice");
            let (shown, ending) = ask_json(home, cwd, &["skills", "show", address], flags);
            assert_eq!(ending, Ending::Exited(0), "{address}");
            assert_eq!(shown["skill"], *skill);
        }
    }
}

fn ask_json(home: &TestHome, cwd: &str, command: &[&str], flags: &[&str]) -> (Value, Ending) {
    let finished = home.run(cwd, command.iter().chain(flags).chain(&["--json"]));
    let text = finished.stdout_text();
    assert_clean(&text);
    let value = serde_json::from_str(&text)
        .unwrap_or_else(|why| panic!("{command:?}: {why}\n{text}\n{}", finished.stderr_text()));
    (value, finished.ending)
}

/// No control character but newline and tab reaches anybody, and none in JSON's escapes either.
fn assert_clean(text: &str) {
    let bad = text.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(bad, None, "{text:?}");
    assert!(!text.contains("\\u001b") && !text.contains("\\r"), "{text}");
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("not a list: {value}"))
}

pub(crate) fn string(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("not text: {value}"))
}

fn count(values: &[Value], key: &str) -> Counts {
    let mut counts = Counts::new();
    for value in values {
        *counts.entry(string(&value[key]).to_owned()).or_default() += 1;
    }
    counts
}
