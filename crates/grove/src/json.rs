//! The JSON shapes, documented in docs/reference/json.md. Nothing below this crate is serialised to users.

use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::{Reason, Source, State};
use grove_skills::PlannedRoot;
use grove_spec::Diagnostic;
use serde::Serialize;

/// A diagnostic.
#[derive(Debug, Serialize)]
pub(crate) struct DiagnosticJson<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    help: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    names: &'a [String],
}

impl<'a> DiagnosticJson<'a> {
    pub(crate) fn new(diagnostic: &'a Diagnostic, file: Option<&str>) -> Self {
        Self {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity.as_str(),
            message: &diagnostic.message,
            file: diagnostic
                .file
                .as_ref()
                .map(|file| file.to_string_lossy().into_owned())
                .or_else(|| file.map(str::to_owned)),
            line: diagnostic.position.map(|at| at.line),
            column: diagnostic.position.map(|at| at.column),
            help: diagnostic.help_text(),
            names: &diagnostic.names,
        }
    }

    pub(crate) fn list(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<Self> {
        diagnostics
            .into_iter()
            .map(|diagnostic| Self::new(diagnostic, None))
            .collect()
    }
}

/// What identifies a snapshot.
#[derive(Debug, Serialize)]
pub(crate) struct SnapshotJson {
    version: u64,
    digest: String,
}

impl SnapshotJson {
    pub(crate) fn new(snapshot: &Snapshot) -> Self {
        Self {
            version: snapshot.version,
            digest: snapshot.skills_digest.to_string(),
        }
    }
}

/// A skill in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillJson<'a> {
    id: &'a str,
    name: &'a str,
    description: Option<&'a str>,
    location: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_at: Vec<String>,
    source: &'static str,
    root: &'a str,
    address: String,
    state: &'static str,
    reasons: &'a [Reason],
    #[serde(skip_serializing_if = "Option::is_none")]
    stand_in: Option<String>,
    model_invocable: bool,
    user_invocable: bool,
    diagnostics: Vec<DiagnosticJson<'a>>,
}

impl<'a> SkillJson<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, skill: &'a Skill) -> Self {
        let location = snapshot
            .location(&skill.place)
            .to_string_lossy()
            .into_owned();
        Self {
            id: skill.id(),
            name: skill.name(),
            description: skill.description(),
            also_at: skill
                .also_at
                .iter()
                .map(|place| snapshot.location(place).to_string_lossy().into_owned())
                .collect(),
            source: snapshot.source_of(skill).as_str(),
            root: snapshot
                .root_of(skill)
                .map_or("", |root| root.label.as_str()),
            address: snapshot.address(skill),
            state: skill.state.as_str(),
            reasons: &skill.reasons,
            stand_in: skill
                .stand_in
                .and_then(|at| snapshot.skills.get(at))
                .map(|other| snapshot.address(other)),
            model_invocable: skill.model_invocable(),
            user_invocable: skill.user_invocable(),
            diagnostics: skill
                .all_diagnostics()
                .map(|diagnostic| DiagnosticJson::new(diagnostic, Some(&location)))
                .collect(),
            location,
        }
    }

    pub(crate) fn list(snapshot: &'a Snapshot) -> Vec<Self> {
        snapshot
            .skills
            .iter()
            .map(|skill| Self::new(snapshot, skill))
            .collect()
    }
}

/// How many skills are in each state.
pub(crate) type StateCounts = std::collections::BTreeMap<&'static str, usize>;

/// Counts states over an iterator of skills.
pub(crate) fn count_states<'a>(skills: impl Iterator<Item = &'a Skill>) -> StateCounts {
    let mut counts = StateCounts::new();
    for skill in skills {
        *counts.entry(skill.state.as_str()).or_insert(0) += 1;
    }
    counts
}

/// A root.
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

/// The skills of one source, counted.
#[derive(Debug, Serialize)]
pub(crate) struct SourceJson {
    source: &'static str,
    skills: usize,
    states: StateCounts,
}

/// Counts by source, strongest first, sources without skills left out.
pub(crate) fn count_sources(snapshot: &Snapshot) -> Vec<SourceJson> {
    let of = |(source, states): (Source, Vec<(State, usize)>)| {
        let states: StateCounts = states
            .into_iter()
            .map(|(state, count)| (state.as_str(), count))
            .collect();
        SourceJson {
            source: source.as_str(),
            skills: states.values().sum(),
            states,
        }
    };
    snapshot.counts().into_iter().map(of).collect()
}
