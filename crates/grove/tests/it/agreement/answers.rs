//! What every surface says of one home, and the laws that hold between them.

use std::collections::{BTreeMap, BTreeSet};

use grove_testkit::session::{Outcome, Session};
use serde_json::{Value, json};

/// The JSON of all surfaces, from processes that saw the same files.
pub(crate) struct Answers<'a> {
    session: &'a Session,
    cwd: &'a str,
    flags: &'a str,
    pub(crate) list: Value,
    check: Value,
    check_code: i32,
    roots: Value,
    doctor: Value,
    overview: Value,
    /// The summary lines of the two surfaces that print one.
    list_text: String,
    overview_text: String,
}

impl<'a> Answers<'a> {
    pub(crate) fn ask(session: &'a Session, cwd: &'a str, flags: &'a str) -> Self {
        let ask = |command: &str| clean(session.grove_in(cwd, &format!("{command} {flags}")));
        let json = |command: &str| ask(&format!("{command} --json")).ok().json();
        let text = |command: &str| {
            let outcome = ask(command).ok();
            outcome.stdout + &outcome.stderr
        };
        let check = ask("skills check --json");
        Self {
            session,
            cwd,
            flags,
            list: json("skills list"),
            roots: json("skills roots"),
            doctor: json("doctor"),
            overview: json(""),
            list_text: text("skills list"),
            overview_text: text(""),
            check: check.json(),
            check_code: check.code,
        }
    }

    pub(crate) fn skills(&self) -> &[Value] {
        array(&self.list["skills"])
    }

    /// The skills of which a member is so.
    pub(crate) fn with(&self, key: &str, value: &Value) -> Vec<&Value> {
        let skills = self.skills().iter();
        skills.filter(|skill| skill[key] == *value).collect()
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
            for key in ["snapshot", "diagnostics"] {
                assert_eq!(other[key], self.list[key], "{}", other["schema"]);
            }
        }
        assert_eq!(self.check["skills"], self.list["skills"]);
        assert_eq!(self.check["states"], count(self.skills(), "state"));
    }

    fn agree_on_findings(&self) {
        let skills = self.skills().iter();
        let of_skills = skills.flat_map(|skill| array(&skill["diagnostics"]));
        let all = array(&self.list["diagnostics"]).iter().chain(of_skills);
        let findings = all.filter(|finding| finding["severity"] != "info").count();
        for other in [&self.check, &self.doctor, &self.overview] {
            assert_eq!(other["findings"], findings, "{}", other["schema"]);
        }
        assert_eq!(self.check_code, i32::from(findings > 0));
    }

    fn agree_on_roots(&self) {
        let roots = array(&self.roots["roots"]);
        let mut total = 0;
        for root in roots {
            let inside = self.with("root", &root["label"]);
            assert_eq!(root["skills"], inside.len(), "{root:#}");
            assert_eq!(root["states"], count(inside.iter().copied(), "state"));
            for skill in &inside {
                assert_eq!(skill["source"], root["source"]);
                let below = format!("{}/", string(&root["path"]));
                assert!(string(&skill["location"]).starts_with(&below), "{skill:#}");
            }
            total += inside.len();
        }
        assert_eq!(total, self.skills().len(), "every skill is in a root");
        for key in ["label", "path"] {
            let different: BTreeSet<&str> = roots.iter().map(|root| string(&root[key])).collect();
            assert_eq!(different.len(), roots.len(), "every root has its {key}");
        }
        let there = roots.iter().filter(|root| root["exists"] == true).count();
        assert_eq!(self.doctor["roots"], there);
    }

    fn agree_on_sources(&self) {
        let rows = array(&self.doctor["skills"]);
        let mut total = 0;
        for row in rows {
            let inside = self.with("source", &row["source"]);
            assert_eq!(row["skills"], inside.len(), "{row:#}");
            assert_eq!(row["states"], count(inside.iter().copied(), "state"));
            total += inside.len();
        }
        assert_eq!(total, self.skills().len(), "every skill is counted once");
        assert_eq!(self.overview["skills"], self.doctor["skills"]);
        let told = self.with("modelInvocable", &json!(true)).len();
        assert_eq!(self.overview["hosts"][0]["skills"], told);
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
            let mut findings = array(&skill["diagnostics"]).iter();
            let invalid = findings.any(|finding| finding["severity"] == "error");
            assert_eq!(skill["state"] == "invalid", invalid, "{skill:#}");
        }
    }

    /// A usable skill is shadowed by a usable one of its name in a stronger root, and by no other.
    fn rank_is_kept(&self) {
        let place = |skill: &Value| {
            let mut roots = array(&self.roots["roots"]).iter();
            roots
                .position(|root| root["label"] == skill["root"])
                .unwrap()
        };
        for skill in self.skills() {
            let instead = skill.get("standIn").map(|it| self.with("address", it)[0]);
            let is_shadowed = skill["state"] == "shadowed";
            if let Some(instead) = instead {
                let is_same = is_offered(instead) && instead["name"] == skill["name"];
                assert!(is_same, "{skill:#}");
                assert!(!is_shadowed || place(instead) < place(skill), "{skill:#}");
            }
            assert!(!is_shadowed || instead.is_some(), "{skill:#}");
            let mut same = self.with("name", &skill["name"]);
            same.retain(|other| is_offered(other));
            if is_offered(skill) {
                let is_alone = same.iter().all(|other| other["root"] == skill["root"]);
                assert!(is_alone, "{skill:#}");
            } else {
                let is_shown = same.is_empty() || instead.is_some();
                assert!(is_shown, "what stands in is shown: {skill:#}");
            }
        }
    }

    fn texts_count_the_same(&self) {
        let of = |state: &str| self.with("state", &json!(state)).len();
        let (all, usable) = (self.skills().len(), of("ok") + of("capped"));
        let noun = if all == 1 { "skill" } else { "skills" };
        for (text, verb) in [(&self.list_text, "listed"), (&self.overview_text, "found")] {
            let line = format!("{all} {noun} {verb}, {usable} usable\n");
            assert!(
                all == 0 || text.contains(&line),
                "{line:?} is not in:\n{text}"
            );
        }
    }

    /// `id@root`; a flat file beside a folder of the same name keeps its ending.
    fn address_of(&self, skill: &Value) -> String {
        let (id, root) = (string(&skill["id"]), string(&skill["root"]));
        let mut named = self.with("id", &skill["id"]);
        named.retain(|other| other["root"] == skill["root"]);
        let is_flat = !string(&skill["location"]).ends_with("/SKILL.md");
        let ending = if named.len() > 1 && is_flat {
            ".md"
        } else {
            ""
        };
        format!("{id}{ending}@{root}")
    }

    /// Every address leads to its skill, and every name of one offered skill too.
    pub(crate) fn every_skill_can_be_shown(&self) {
        let mut addresses = BTreeSet::new();
        for skill in self.skills() {
            let address = string(&skill["address"]);
            assert_eq!(address, self.address_of(skill));
            assert!(addresses.insert(address), "{address} appears twice");
            let flags = self.flags.split_whitespace();
            let words = ["skills", "show", address, "--json"]
                .into_iter()
                .chain(flags);
            let shown = self.session.grove_in(self.cwd, words.collect::<Vec<_>>());
            assert_eq!(clean(shown).ok().json()["skill"], *skill);
        }
    }
}

/// No control character but newline and tab reaches anybody, and none in JSON's escapes either.
fn clean(outcome: Outcome) -> Outcome {
    for text in [&outcome.stdout, &outcome.stderr] {
        let bad = text.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(bad, None, "{text:?}");
        assert!(!text.contains("\\u001b") && !text.contains("\\r"), "{text}");
    }
    outcome
}

pub(crate) fn is_offered(skill: &Value) -> bool {
    matches!(string(&skill["state"]), "ok" | "capped")
}

pub(crate) fn array(value: &Value) -> &[Value] {
    let array = value.as_array();
    array.unwrap_or_else(|| panic!("not a list: {value}"))
}

pub(crate) fn string(value: &Value) -> &str {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("not text: {value}"))
}

fn count<'a>(values: impl IntoIterator<Item = &'a Value>, key: &str) -> Value {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for value in values {
        *counts.entry(string(&value[key])).or_default() += 1;
    }
    json!(counts)
}
