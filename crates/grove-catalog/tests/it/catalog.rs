//! Laws of the catalog: within its budget, the same every time, well formed, and nothing out of reach.

mod budgets;
mod ladder_laws;
mod laws;
mod real_collections;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use grove_catalog::catalog::{Budget, Catalog, Request, Style, catalog};
use grove_catalog::content::Content;
use grove_catalog::resolve::Candidate;
use grove_catalog::root::{Root, Source, make_labels_unique};
use grove_catalog::snapshot::Snapshot;
use grove_spec::config::Settings;
use grove_spec::skill::{Parsed, Skill};

use crate::library::{self, candidate, look};

const HOME: &str = "/home/me";
const INDEX: &str = "/home/me/.cache/grove/index";

/// A skill before it is anywhere: root, id, description, and the skill it is a child of.
#[derive(Debug, Clone)]
struct Made {
    root: usize,
    id: String,
    name: String,
    description: String,
}

impl Made {
    fn new(root: usize, id: &str, description: &str) -> Self {
        let name = id.rsplit('/').next().unwrap_or(id).to_owned();
        Self {
            root,
            id: id.to_owned(),
            name,
            description: description.to_owned(),
        }
    }
}

fn snapshot(sources: &[Source], skills: &[Made]) -> Snapshot {
    let mut roots: Vec<Root> = sources
        .iter()
        .enumerate()
        .map(|(at, source)| {
            let path = match source {
                Source::User => format!("{HOME}/.agents/skills{at}"),
                _ => format!("/srv/a rather long folder/{at}/skills"),
            };
            let label = format!("{}:skills", source.as_str());
            let mut root = library::root(*source, &label, path);
            root.standing.order = at as u32;
            root
        })
        .collect();
    make_labels_unique(&mut roots);
    let mut candidates: Vec<Candidate> = skills
        .iter()
        .enumerate()
        .map(|(at, made)| {
            let skill = Skill {
                name: Some(made.name.clone()),
                description: Some(made.description.clone()),
                model_invocable: true,
                user_invocable: true,
                ..Skill::default()
            };
            let parsed = Parsed {
                skill,
                body_offset: 0,
                diagnostics: Vec::new(),
            };
            Candidate {
                content: Arc::new(Content::new(at as u128, None, 1, parsed)),
                ..candidate(made.root, &made.id, "")
            }
        })
        .collect();
    candidates.sort_by(|a, b| (a.root, &a.id).cmp(&(b.root, &b.id)));
    candidates.dedup_by(|a, b| a.root == b.root && a.id == b.id);
    let mut settings = Settings::default();
    settings.lift_caps();
    look(roots, candidates, &settings)
}

fn request<'a>(
    budget: Budget,
    usage: &'a BTreeMap<String, u32>,
    expanded: &'a [String],
) -> Request<'a> {
    Request {
        style: Style::Xml,
        budget,
        home: Some(Path::new(HOME)),
        index_dir: Path::new(INDEX),
        pinned: &[],
        usage,
        expanded,
        exclude: &[],
        task: None,
    }
}

fn plain(snapshot: &Snapshot, budget: Budget) -> Catalog {
    catalog(snapshot, &request(budget, &BTreeMap::new(), &[]))
}

/// A path as a reader would name it.
fn shown(path: &Path) -> String {
    path.strip_prefix(HOME).map_or_else(
        |_| path.display().to_string(),
        |below| format!("~/{}", below.display()),
    )
}

fn locations(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot
        .skills
        .iter()
        .filter(|skill| skill.model_invocable())
        .map(|skill| shown(&snapshot.location(&skill.place)))
        .collect()
}

fn described(count: usize, length: usize) -> Vec<Made> {
    (0..count).map(|at| {
        let words = "Writes careful reports about many kinds of things, with tables and figures. Use when the user asks for one of them in any form at all, or for something near to it, and whenever nothing more specific is at hand";
        let text: String = words.chars().cycle().take(length).collect();
        Made::new(0, &format!("skill-{at:05}"), text.trim())
    }).collect()
}
