//! Laws of the catalog: within its budget, the same every time, well formed, and nothing out of reach.

mod budgets;
mod ladder_laws;
mod laws;
mod real_collections;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use grove_catalog::catalog::{Catalog, CatalogBudget, CatalogRequest, CatalogStyle, catalog};
use grove_catalog::content::SkillContent;
use grove_catalog::resolve::SkillCandidate;
use grove_catalog::root::{Root, RootSource, make_labels_unique};
use grove_catalog::snapshot::Snapshot;
use grove_spec::config::Settings;
use grove_spec::skill::{ParsedSkill, SkillFile};

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

fn snapshot(sources: &[RootSource], skills: &[Made]) -> Snapshot {
    let mut roots: Vec<Root> = sources
        .iter()
        .enumerate()
        .map(|(at, source)| {
            let path = match source {
                RootSource::User => format!("{HOME}/.agents/skills{at}"),
                _ => format!("/srv/a rather long folder/{at}/skills"),
            };
            let label = format!("{}:skills", source.as_str());
            let mut root = library::root(*source, &label, path);
            root.rank.order = at as u32;
            root
        })
        .collect();
    make_labels_unique(&mut roots);
    let mut candidates: Vec<SkillCandidate> = skills
        .iter()
        .enumerate()
        .map(|(at, made)| {
            let skill = SkillFile {
                name: Some(made.name.clone()),
                description: Some(made.description.clone()),
                model_invocable: true,
                user_invocable: true,
                ..SkillFile::default()
            };
            let parsed = ParsedSkill {
                skill,
                body_offset: 0,
                diagnostics: Vec::new(),
            };
            SkillCandidate {
                content: Arc::new(SkillContent::new(at as u128, None, 1, parsed)),
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
    budget: CatalogBudget,
    usage: &'a BTreeMap<String, u32>,
    expanded: &'a [String],
) -> CatalogRequest<'a> {
    CatalogRequest {
        style: CatalogStyle::Xml,
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

fn plain(snapshot: &Snapshot, budget: CatalogBudget) -> Catalog {
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
