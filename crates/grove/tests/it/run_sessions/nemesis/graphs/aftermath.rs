//! What holds once a graph was disturbed and is over: no event that somebody was told of is lost, nobody has two ends, and
//! nothing is left of it: no process, no lease, no working tree that its list does not name.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use grove_engine::below::grove_plan::{Attempt, Fact, Outcome};
use grove_engine::below::grove_store::{LoadedRun, RunFilter, Store};
use serde_json::Value;

use super::super::super::environments;
use super::super::AFTERWARDS;
use super::{Graph, TOLD};

/// What may have become of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// All are complete, but for what a kill cannot let go on: a program that was cut off, and a tree whose git was killed.
    AsPlanned,
    /// Whatever is not complete says why.
    WithReasons,
}

impl Graph {
    /// Everybody has one end, and nothing is left. Says whether the run is complete.
    pub(super) fn check(&self, run: &str, ends: Ends) -> Result<bool, String> {
        let waited = self
            .session
            .grove(["runs", "wait", run, "--timeout", "50", "--json"]);
        let over = Instant::now();
        let last = waited.stdout.lines().last().unwrap_or_default();
        let shown: Value =
            serde_json::from_str(last).map_err(|error| format!("{error}: {waited}"))?;
        let nodes = shown["nodes"].as_array().cloned().unwrap_or_default();
        let is_whole = self.check_ends(run, &shown, &nodes, ends)?;
        self.check_store(run, is_whole)?;
        // Of whom nobody could prove that it ended, that is said.
        let is_said = nodes.iter().any(|node| !node["notProvenEnded"].is_null());
        let mark = format!("GROVE_RUN={run}/");
        while !is_said && environments().iter().any(|(_, it)| it.contains(&mark)) {
            if over.elapsed() > AFTERWARDS {
                return Err("a process is left".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.check_trees(&nodes, is_of_git(&shown))?;
        Ok(shown["state"] == "complete")
    }

    /// Every step has one end that says what happened; says whether all of the graph came to be.
    fn check_ends(
        &self,
        run: &str,
        shown: &Value,
        nodes: &[Value],
        ends: Ends,
    ) -> Result<bool, String> {
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let is_of_git = is_of_git(shown);
        let is_explained = match ends {
            // A program that was cut off is not asked the same again, and that is said too.
            Ends::AsPlanned => nodes.iter().all(|node| {
                node["state"] == "complete"
                    || node["id"] == "3" && !text(&node["reason"]).is_empty()
            }),
            Ends::WithReasons => nodes.iter().all(|node| {
                let is_over = ["complete", "skipped"]
                    .iter()
                    .any(|it| node["state"] == *it);
                let is_at_work = ["pending", "queued", "running"];
                let is_at_work = is_at_work.iter().any(|it| node["state"] == *it);
                is_over || !is_at_work && !text(&node["reason"]).is_empty()
            }),
        };
        if shown["state"] != "complete" && !is_of_git && !is_explained {
            return Err(format!("it ended as {shown}"));
        }
        let ids: Vec<&str> = nodes.iter().filter_map(|it| it["id"].as_str()).collect();
        let is_whole = ids == ["1", "2", "2[a]", "2[b]", "3"];
        if !is_whole && !is_of_git && ends == Ends::AsPlanned {
            return Err(format!("its nodes are {ids:?}"));
        }
        let items = nodes
            .iter()
            .filter(|it| it["agent"] == "boss" && it["items"].is_null());
        for node in items.filter(|it| it["state"] == "complete") {
            self.check_item(run, node)?;
        }
        for node in nodes {
            let tries = node["attempts"].as_array().cloned().unwrap_or_default();
            let ends = tries.iter().filter(|it| it["state"] == "complete");
            if ends.count() > 1 {
                return Err(format!("more than one end: {node}"));
            }
        }
        let summed = self.session.has("project/summed");
        if summed && self.session.read("project/summed") != "ran\n" {
            return Err("the program's command ran twice".to_owned());
        }
        self.check_beginning(nodes)?;
        let items = nodes.iter().filter(|it| it["agent"] == "boss");
        let mut items = items.filter(|it| it["items"].is_null());
        Ok(is_whole && items.all(|it| it["state"] == "complete"))
    }

    /// The tree of the last step began with what the items did.
    fn check_beginning(&self, nodes: &[Value]) -> Result<(), String> {
        let patch_of = |id: &str| {
            nodes
                .iter()
                .find(|it| it["id"] == id)
                .map(|it| &it["patch"])
        };
        let ran = ["2[a]", "2[b]"].into_iter().filter_map(patch_of);
        let ran = ran
            .filter(|patch| patch["files"].as_u64() > Some(0))
            .count();
        let base = patch_of("3").and_then(|patch| patch["base"].as_str());
        let Some(base) = base.filter(|_| ran > 0) else {
            return Ok(());
        };
        let shown = Command::new("git")
            .args(["show", &format!("{base}:ran")])
            .current_dir(self.session.path("project"))
            .output();
        match shown.unwrap().stdout.as_slice() {
            b"ran\n" => Ok(()),
            other => Err(format!(
                "step 3 began with {}",
                String::from_utf8_lossy(other)
            )),
        }
    }

    /// Its command ran once at most, and once when somebody saw it; it asked for one run, and that is over.
    fn check_item(&self, run: &str, node: &Value) -> Result<(), String> {
        let id = node["id"].as_str().unwrap_or_default();
        let patch = self.session.grove(["runs", "diff", &format!("{run}.{id}")]);
        let times = patch.stdout.lines().filter(|line| *line == "+ran").count();
        let is_kept = !node["worktree"]["kept"].is_null();
        if times > 1 || (node["patch"].is_null() && !is_kept) {
            return Err(format!("{id} has a patch with {times} lines: {patch}"));
        }
        let tries = node["attempts"].as_array().cloned().unwrap_or_default();
        let asked: Vec<Value> = tries
            .iter()
            .flat_map(|it| it["delegated"].as_array().cloned().unwrap_or_default())
            .collect();
        let [nested] = asked.as_slice() else {
            return Err(format!("{id} asked for {asked:?}"));
        };
        let nested = nested.as_str().unwrap_or_default();
        let below = self.session.json(["runs", "show", nested]);
        if below["state"] != "complete" || below["result"] != "<Look>" {
            return Err(format!("below {id} there is {below}"));
        }
        Ok(())
    }

    /// Every journal is whole and has what was told of it, and nobody holds anything.
    fn check_store(&self, run: &str, is_whole: bool) -> Result<(), String> {
        let text = |error: grove_engine::below::grove_store::StoreError| error.to_string();
        let store = Store::open(&self.session.path("state/grove/runs.db")).map_err(text)?;
        let rows = store.runs(&RunFilter::default()).map_err(text)?;
        if rows.len() != 3 && is_whole {
            return Err(format!("there are {} runs", rows.len()));
        }
        let mut spent = 0;
        for row in &rows {
            if let Some(fault) = store.verify(&row.id).map_err(text)? {
                return Err(format!("the chain of {} is broken: {fault}", row.id));
            }
            let own = store.load(&row.id).map_err(text)?;
            if own.state.run().word() != row.state {
                return Err(format!("{} is listed as {}", row.id, row.state));
            }
            check_endings(&own)?;
            if row.id == run {
                self.check_told(&own)?;
            }
            let own = own.state.nodes.values().flat_map(|node| &node.attempts);
            spent += own.map(|attempt| attempt.usage.counted()).sum::<u64>();
        }
        let open = store.outbox().map_err(text)?;
        if !open.is_empty() {
            return Err(format!("{} effects are open", open.len()));
        }
        let whole = store.load(run).map_err(text)?.state.spent.counted();
        if whole != spent {
            return Err(format!("{spent} tokens were used, and {whole} are counted"));
        }
        Ok(())
    }

    /// Whatever a client was told of stands in the journal, in its place.
    fn check_told(&self, run: &LoadedRun) -> Result<(), String> {
        if !self.session.has(TOLD) {
            return Ok(());
        }
        let text = self.session.read(TOLD);
        // A client that was killed may have left half a line, and its last one is the run.
        let lines = text.lines().filter_map(|it| serde_json::from_str(it).ok());
        for told in lines.filter(|line: &Value| line["seq"].is_u64()) {
            let known = run.events.iter().find(|event| told["seq"] == event.seq);
            let known = known.map(|event| serde_json::to_value(event).unwrap());
            if known.as_ref() != Some(&told) {
                return Err(format!("a client was told {told}, and there is {known:?}"));
            }
        }
        Ok(())
    }

    /// No folder and no entry of git that is not on the run's own list. Where every git is killed, none can take an entry
    /// away that another one made before.
    fn check_trees(&self, nodes: &[Value], is_of_git: bool) -> Result<(), String> {
        let kept = nodes.iter().map(|node| &node["worktree"]);
        let kept = kept.filter(|tree| !tree["kept"].is_null());
        let kept: Vec<&str> = kept.filter_map(|tree| tree["path"].as_str()).collect();
        let project = self.session.path("project");
        let listed = Command::new("git")
            .args(["worktree", "list", "--porcelain"])
            .current_dir(&project)
            .output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        let listed = listed.lines().filter_map(|it| it.strip_prefix("worktree "));
        let listed = listed.skip(1).map(str::to_owned);
        let mut found: Vec<String> = listed.filter(|_| !is_of_git).collect();
        let trees = self.session.path("state/grove/worktrees");
        for of_run in folders(&trees) {
            let below = folders(&of_run);
            if below.is_empty() {
                return Err(format!("{} is left empty", of_run.display()));
            }
            found.extend(below.iter().map(|it| it.display().to_string()));
        }
        match found.iter().find(|it| !kept.contains(&it.as_str())) {
            Some(left) => Err(format!(
                "the working tree {left} is left, and {kept:?} are known"
            )),
            None => Ok(()),
        }
    }
}

/// Where every git is killed, no working tree can be made, and that is said.
fn is_of_git(shown: &Value) -> bool {
    let reason = shown["reason"].as_str().unwrap_or_default();
    shown["cause"]["kind"] == "isolation" && reason.contains("signal 9")
}

fn folders(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// No attempt has two results that were accepted.
fn check_endings(run: &LoadedRun) -> Result<(), String> {
    let mut endings: BTreeMap<&Attempt, u32> = BTreeMap::new();
    for event in &run.events {
        if let Fact::Answered {
            effect,
            outcome: Outcome::Ended(_),
            ..
        } = &event.fact
        {
            *endings.entry(&effect.of).or_default() += 1;
        }
    }
    match endings.iter().find(|(_, count)| **count > 1) {
        Some((of, count)) => Err(format!("{} {of} has {count} results", run.id)),
        None => Ok(()),
    }
}
