//! The command `grove skills list`.

use grove_catalog::EntryState;
use grove_catalog::catalog::budget::BYTES_PER_TOKEN;
use grove_catalog::snapshot::{Skill, Snapshot};
use serde::Serialize;

use super::{DiscoveredLibrary, counted, entry_listing, naming, path_text, unread};
use crate::colour::{self, ColourMeaning, marked};
use crate::command_error::CommandError;
use crate::json::{DiagnosticJson, EntryJson, SnapshotJson};
use crate::output::{CommandOutput, page};
use crate::tokens;

pub(super) fn require_known(states: &[String]) -> Result<(), CommandError> {
    let known = |word: &str| EntryState::ALL.iter().any(|state| is(*state, word));
    let Some(unknown) = states.iter().find(|word| !known(word)) else {
        return Ok(());
    };
    let all: Vec<&str> = EntryState::ALL.iter().map(|state| state.as_str()).collect();
    Err(CommandError::usage(format!("unknown state `{unknown}`"))
        .hint(format!("states: {}", all.join(", "))))
}

/// Returns true if a word names a state, in any case.
fn is(state: EntryState, word: &str) -> bool {
    [state.as_str(), state.in_words()]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(word))
}

/// The list as JSON, which is written as it is made: a value of thousands of skills would be made, copied and dropped.
#[derive(Serialize)]
struct SkillListJson<'a> {
    schema: &'static str,
    snapshot: SnapshotJson,
    skills: Vec<EntryJson<'a>>,
    diagnostics: Vec<DiagnosticJson<'a>>,
}

/// The form in which the list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListForm {
    Json,
    Table,
    Tree,
}

pub(super) fn run(
    discovered: &DiscoveredLibrary,
    form: ListForm,
    states: &[String],
    out: &mut CommandOutput,
) -> u8 {
    let snapshot = &discovered.snapshot;
    let wanted =
        |skill: &&Skill| states.is_empty() || states.iter().any(|word| is(skill.state, word));
    let skills: Vec<&Skill> = snapshot.skills.iter().filter(wanted).collect();
    if form == ListForm::Json {
        let skills = skills.iter();
        let skills = skills.map(|skill| EntryJson::new(snapshot.entries(), skill));
        out.json(&SkillListJson {
            schema: "grove.skills.list/1",
            snapshot: SnapshotJson::new(snapshot),
            skills: skills.collect(),
            diagnostics: DiagnosticJson::list(&snapshot.diagnostics),
        });
        return 0;
    }
    if skills.is_empty() {
        if snapshot.skills.is_empty() {
            out.note("no skills found");
        } else {
            let states = states.iter().map(|word| word.to_ascii_lowercase());
            let states: Vec<String> = states.collect();
            out.note(&format!("no skill is {}", states.join(" or ")));
        }
        let findings = snapshot.diagnostics.iter();
        out.diagnostics(findings.filter(|finding| finding.needs_attention()));
        if snapshot.skills.is_empty() {
            out.note("hint: `grove skills roots` shows where Grove looks");
        }
        return 0;
    }
    let environment = discovered.library.environment();
    if form == ListForm::Tree {
        tree(snapshot, skills, out);
    } else {
        let page = page(&environment.variables);
        let numbers: [entry_listing::NumberColumn<'_, Skill>; 2] = [
            ("TOKENS", &|skill| page.number(listed_tokens(skill))),
            ("BODY", &|skill| page.number(body_tokens(skill))),
        ];
        entry_listing::table(snapshot.entries(), skills, &numbers, environment, out);
    }
    unread::say(snapshot, environment, out);
    let findings = grove_skills::host_views::count_findings(snapshot);
    if findings > 0 {
        let findings = counted(findings, "finding");
        let command = naming::command_with_flags("grove skills check", &discovered.request);
        out.note(&format!("{findings}: run `{command}`"));
    }
    0
}

/// Returns the tokens of name and description in a list that shows them whole.
pub(super) fn listed_tokens(skill: &Skill) -> usize {
    let description = skill.description().unwrap_or_default();
    tokens::count(skill.name()) + tokens::count(description)
}

/// Estimates the tokens of the instructions from the size of the file: nothing is read for it.
pub(super) fn body_tokens(skill: &Skill) -> usize {
    if skill.content.is_refused() {
        return 0;
    }
    let size = usize::try_from(skill.content.size).unwrap_or(usize::MAX);
    let body = size.saturating_sub(skill.content.parsed().body_offset);
    body.div_ceil(BYTES_PER_TOKEN)
}

fn tree(snapshot: &Snapshot, mut skills: Vec<&Skill>, out: &mut CommandOutput) {
    skills.sort_by_key(|skill| (skill.place.root, skill.id().split('/').collect::<Vec<_>>()));
    let mut root = None;
    let mut above: Vec<&str> = Vec::new();
    for skill in skills {
        if root.replace(skill.place.root) != Some(skill.place.root) {
            let label = snapshot.root_of(skill).map_or("", |root| &root.label);
            out.painted(&format!(
                "{}\n",
                marked(ColourMeaning::Heading, &path_text(label))
            ));
            above.clear();
        }
        let mut path: Vec<&str> = skill.id().split('/').collect();
        let last = path.pop().unwrap_or_default();
        let same = above.iter().zip(&path).take_while(|(a, b)| a == b).count();
        for (level, folder) in path.iter().enumerate().skip(same) {
            let indent = "  ".repeat(level + 1);
            out.line(&format!("{indent}{}/", path_text(folder)));
        }
        let state = skill.state.in_words();
        let mut line = format!("{}{}", "  ".repeat(path.len() + 1), path_text(last));
        if skill.state != EntryState::Ok {
            let meaning = colour::of_word(state).unwrap_or(ColourMeaning::Doubtful);
            line = format!("{line}  {}", marked(meaning, state));
        }
        out.painted(&format!("{line}\n"));
        // What lies below a skill is shown below it.
        above = path;
        above.push(last);
    }
}
