//! The JSON shapes of this program alone, documented in docs/reference/json.md; those that others print too are
//! `grove_catalog::report`'s.

use grove_catalog::report;
pub(crate) use grove_catalog::report::{
    DiagnosticJson, EntryJson, SnapshotJson, StateCounts, count_states,
};
use grove_catalog::snapshot::Snapshot;
use grove_skills::PlannedRoot;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RootJson {
    label: String,
    path: String,
    source: &'static str,
    trust: &'static str,
    exists: bool,
    skills: usize,
    states: StateCounts,
}

impl RootJson {
    pub(crate) fn new(planned: &PlannedRoot, snapshot: &Snapshot) -> Self {
        let root = &planned.root;
        let index = snapshot
            .roots
            .iter()
            .position(|known| known.path == root.path);
        let states = count_states(
            snapshot
                .skills
                .iter()
                .filter(|skill| Some(skill.place.root) == index),
        );
        Self {
            label: root.label.clone(),
            path: root.path.to_string_lossy().into_owned(),
            source: root.source.as_str(),
            trust: grove_skills::trusting::describe(&root.trust),
            exists: planned.exists,
            skills: states.values().sum(),
            states,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SourceJson {
    source: &'static str,
    skills: usize,
    states: StateCounts,
}

/// Counts by source, strongest first, sources without skills left out.
pub(crate) fn count_sources(snapshot: &Snapshot) -> Vec<SourceJson> {
    let counts = report::count_sources(snapshot.entries()).into_iter();
    let all = counts.map(|(source, states)| SourceJson {
        source: source.as_str(),
        skills: states.values().sum(),
        states,
    });
    all.collect()
}

pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    }
}

pub(crate) fn without_empty(mut all: Value, keys: &[&str]) -> Value {
    if let Some(map) = all.as_object_mut() {
        map.retain(|key, value| !(keys.contains(&key.as_str()) && is_nothing(value)));
    }
    all
}
