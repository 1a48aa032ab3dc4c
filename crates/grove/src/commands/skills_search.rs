//! `grove skills search`: the right skill for some words.

use grove_catalog::snapshot::Skill;
use grove_skills::Environment;
use grove_skills::search::{self, SearchAudience, SearchHit, SearchQuery, SearchResult, Searcher};
use serde_json::{Value, json};

use super::{DiscoveredLibrary, Outcome, counted, discover_in_session, unread};
use crate::args::SearchArgs;
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::json::{DiagnosticJson, SnapshotJson};
use crate::output::{CommandOutput, page};
use crate::table::Table;

/// Skills that are named when none fits well.
const NEAREST: usize = 3;

pub(super) fn run(
    environment: Environment,
    arguments: &SearchArgs,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    let text = arguments.words.join(" ");
    if text.trim().is_empty() {
        return Err(CommandError::usage("there is nothing to search for")
            .hint("give a task, keywords or a name: `grove skills search merge two documents`"));
    }
    let session = arguments.session.as_deref();
    let (seen, _) = discover_in_session(environment, &arguments.discovery, session)?;
    let discovered = discovered.insert(seen);
    let query = SearchQuery {
        text: &text,
        limit: arguments.limit,
        audience: if arguments.person {
            SearchAudience::Person
        } else {
            SearchAudience::Model
        },
    };
    let found =
        Searcher::default().search_in(&mut discovered.library, &discovered.discovery, &query);
    if arguments.discovery.json {
        out.json(&to_json(&text, &found));
    } else {
        print(discovered, &found, &text, out);
    }
    let is_found = search::anything_fits(&found.hits);
    Ok(ErrorKind::Finding.exit_code_if(!is_found))
}

fn print(
    discovered: &DiscoveredLibrary,
    found: &SearchResult,
    text: &str,
    out: &mut CommandOutput,
) {
    out.diagnostics(&found.diagnostics);
    unread::say(&found.snapshot, discovered.library.environment(), out);
    if found.hits.is_empty() {
        out.note(&format!("no skill matches `{text}`"));
        out.note("hint: describe the task in other words, or see `grove skills list`");
        return;
    }
    if !search::anything_fits(&found.hits) {
        let nearest = with_skills(found).map(|(_, skill)| skill.name());
        let nearest: Vec<&str> = nearest.take(NEAREST).collect();
        out.note(&format!(
            "nothing fits well; nearest: {}",
            nearest.join(", ")
        ));
        out.note("hint: describe the task in other words, or see `grove skills list`");
        return;
    }
    let mut table = Table::new(&["SKILL", "FITS", "WHY", "DESCRIPTION"]);
    for (hit, skill) in with_skills(found) {
        let shown = match hit.path.last() {
            None => skill.name().to_owned(),
            Some(nearest) => format!("{} (in {nearest})", skill.name()),
        };
        table.row(&[
            &shown,
            hit.fit.as_str(),
            &why(hit),
            skill.description().unwrap_or(""),
        ]);
    }
    out.painted(&table.render(page(&discovered.library.environment().variables)));
    out.note(&format!(
        "{} found; `grove skills activate NAME` prints the instructions",
        counted(found.hits.len(), "skill")
    ));
}

fn with_skills(found: &SearchResult) -> impl Iterator<Item = (&SearchHit, &Skill)> {
    let hits = found.hits.iter();
    hits.filter_map(|hit| Some((hit, found.snapshot.skills.get(hit.skill)?)))
}

fn why(hit: &SearchHit) -> String {
    let mut out = String::new();
    let mut field = None;
    for reason in &hit.why {
        if field.replace(reason.field) == Some(reason.field) {
            out.push_str(", ");
        } else {
            if !out.is_empty() {
                out.push_str("; ");
            }
            out.push_str(reason.field.as_str());
            out.push_str(": ");
        }
        out.push_str(&reason.word);
    }
    if out.is_empty() {
        let cause = match hit.closeness {
            Some(_) => "a similar meaning or name",
            None => "a similar name, or words in common with other results",
        };
        cause.clone_into(&mut out);
    }
    out
}

fn to_json(query: &str, found: &SearchResult) -> Value {
    let snapshot = &found.snapshot;
    let result = |(hit, skill): (&SearchHit, &Skill)| {
        json!({
            "id": skill.id(),
            "name": skill.name(),
            "description": skill.description(),
            "location": snapshot.location(&skill.place).to_string_lossy(),
            "address": snapshot.address(skill),
            "path": hit.path,
            "fits": hit.fit.as_str(),
            "why": why(hit),
        })
    };
    json!({
        "schema": "grove.skills.search/2",
        "snapshot": SnapshotJson::new(snapshot),
        "query": query,
        "fitsWell": search::anything_fits(&found.hits),
        "results": with_skills(found).map(result).collect::<Vec<_>>(),
        "diagnostics": DiagnosticJson::list(found.diagnostics.iter().chain(unread::roots(snapshot))),
    })
}
