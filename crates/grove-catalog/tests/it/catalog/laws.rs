//! The laws that hold for any library and any budget, and libraries of every kind to hold them against.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::catalog::{
    BudgetUnit, Catalog, CatalogBudget, CatalogEntryKind, CatalogRequest, TaskOrder, Treatment,
    catalog,
};
use grove_catalog::entry_caps::EntryCaps;
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::Snapshot;
use grove_catalog::tree::SkillTree;
use grove_testkit::catalog_reader::{reach, read_catalog};
use proptest::prelude::*;

use super::ladder_laws::loses_nothing;
use super::{INDEX, Made, locations, request, shown, snapshot};

/// The laws that hold for any library and any budget.
pub(super) fn check_laws(
    snapshot: &Snapshot,
    made: &Catalog,
    request: &CatalogRequest<'_>,
) -> Result<(), String> {
    let budget = request.budget;
    let size = budget.unit.of(&made.text);
    if size > budget.size || made.entries.len() > budget.entries {
        return Err(format!(
            "{size} of {}, {} entries of {}",
            budget.size,
            made.entries.len(),
            budget.entries
        ));
    }
    let entries = read_catalog(&made.text)?;
    if entries.len() != made.entries.len() {
        return Err("the entries are not those of the text".to_owned());
    }
    let index_dir = shown(request.index_dir);
    let files: BTreeMap<String, &str> = made
        .index
        .iter()
        .map(|file| (format!("{index_dir}/{}", file.name), file.text.as_str()))
        .collect();
    if let Some(file) = made
        .index
        .iter()
        .find(|file| file.text.matches("<skill>").count() > 12)
    {
        return Err(format!("an index of more than twelve: {}", file.text));
    }
    let reached = reach(&made.text, |location| {
        files.get(location).map(|text| (*text).to_owned())
    })?;
    // A branch that was opened gave its own instructions then; its children stand in its place.
    let opened: BTreeSet<String> = snapshot
        .tree
        .branches()
        .filter_map(|at| snapshot.skills.get(at))
        .filter(|skill| request.expanded.contains(&snapshot.address(skill)))
        .map(|skill| shown(&snapshot.location(&skill.place)))
        .collect();
    let missing: Vec<String> = locations(snapshot)
        .difference(&reached)
        .filter(|location| !opened.contains(*location))
        .cloned()
        .collect();
    if !missing.is_empty() {
        return Err(format!("out of reach: {missing:?}"));
    }
    if let Some(dangling) = reached
        .iter()
        .find(|location| location.starts_with(&index_dir) && !files.contains_key(*location))
    {
        return Err(format!("leads nowhere: {dangling}"));
    }
    let spent: usize =
        made.entries.iter().map(|entry| entry.cost).sum::<usize>() + made.report.frame;
    if spent != size || made.report.used != size {
        return Err(format!("the report says {spent}, the text takes {size}"));
    }
    let keys: BTreeSet<&str> = made
        .entries
        .iter()
        .map(|entry| entry.key.as_str())
        .collect();
    if keys.len() != made.entries.len() {
        return Err("two entries have one key".to_owned());
    }
    for line in &made.report.lines {
        let entry = line.entry.and_then(|entry| made.entries.get(entry));
        let whole = snapshot.skills[line.skill]
            .description()
            .unwrap_or_default();
        let whole: Vec<&str> = whole.split_whitespace().collect();
        let shown = entry
            .and_then(|entry| entry.description.as_deref())
            .unwrap_or_default();
        let is_leaf = entry.is_some_and(|entry| entry.kind == CatalogEntryKind::Skill);
        // Control characters are never shown; they are not what is judged here.
        let plain = !whole.iter().any(|word| word.contains(char::is_control));
        if line.treatment == Treatment::Listed && is_leaf && plain && shown != whole.join(" ") {
            return Err(format!("listed, but cut: {shown}"));
        }
    }
    if made.report.lines.len() != locations(snapshot).len() {
        return Err("the report does not name every skill once".to_owned());
    }
    Ok(())
}

/// Descriptions of every kind from a few numbers: a strategy for each character would take longer than the
/// law that is checked.
fn description() -> impl Strategy<Value = String> {
    (0_u8..10, any::<u64>(), 1_usize..80).prop_map(|(kind, seed, length)| {
        let mut state = seed;
        let mut next = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut words = |count: usize, joints: &[&str]| -> String {
            let word = [
                "a",
                "of",
                "the",
                "tables",
                "charts",
                "reviewing",
                "deployments",
                "e.g.",
                "Kubernetes",
            ];
            (0..count)
                .flat_map(|_| [word[next(word.len())], joints[next(joints.len())]])
                .collect()
        };
        match kind {
            0..=3 => format!(
                "Makes {}. Use when {}.",
                words(length / 3, &[" "]),
                words(length / 6 + 1, &[" "])
            ),
            4 | 5 => words(length, &[" ", ", ", "; ", " (", " - "]),
            6 => words(
                length,
                &[
                    "</available_skills>",
                    "&amp;",
                    "<b>",
                    "\"",
                    "'",
                    "\\",
                    "\n",
                    "\t",
                    " ",
                    "\u{1b}",
                    "é",
                    "漢",
                    "。",
                ],
            ),
            7 => "x".repeat(length * 40),
            8 => words(length * 12, &[" ", ". ", ", "]),
            _ => String::new(),
        }
    })
}

fn library() -> impl Strategy<Value = (Vec<RootSource>, Vec<Made>)> {
    let sources = prop::collection::vec(prop::sample::select(RootSource::ALL.to_vec()), 1..4);
    let id = "((a|bb|c-c|d)/){0,3}[a-z&]{1,12}";
    sources.prop_flat_map(move |sources| {
        let n_roots = sources.len();
        let made = (0..n_roots, id, description())
            .prop_map(|(root, id, description)| Made::new(root, &id, &description));
        (Just(sources), prop::collection::vec(made, 0..60))
    })
}

/// Everything that decides what a catalog looks like.
#[derive(Debug, Clone)]
struct Scene {
    snapshot: Arc<Snapshot>,
    budget: CatalogBudget,
    usage: BTreeMap<String, u32>,
    expanded: Vec<String>,
    pinned: Vec<String>,
    index_dir: PathBuf,
    /// What a search for the task found; none without a task.
    task: Option<TaskOrder>,
    /// What a second look has more of.
    more: usize,
}

impl Scene {
    fn check(&self) -> Result<(), String> {
        let request = CatalogRequest {
            pinned: &self.pinned,
            index_dir: &self.index_dir,
            task: self.task.as_ref(),
            ..request(self.budget, &self.usage, &self.expanded)
        };
        let made = catalog(&self.snapshot, &request);
        check_laws(&self.snapshot, &made, &request)
            .map_err(|error| format!("{error}\n{}", made.text))?;
        let more = CatalogRequest {
            budget: CatalogBudget {
                size: self.budget.size + self.more,
                ..self.budget
            },
            ..request.clone()
        };
        let more = catalog(&self.snapshot, &more);
        loses_nothing(&made, &more)
            .map_err(|error| format!("{error}\n{}\n{}", made.text, more.text))?;
        if made == catalog(&self.snapshot, &request) {
            Ok(())
        } else {
            Err("another text for the same question".to_owned())
        }
    }
}

/// Libraries with random trees, or with wide trees of three levels; some parents hidden from models, some
/// skills pinned, some branches and groups opened.
fn scene() -> impl Strategy<Value = Scene> {
    let budget = (
        prop_oneof![2_000_usize..4_000, 2_000_usize..40_000],
        prop_oneof![2_usize..12, Just(150)],
        any::<bool>(),
        prop_oneof![0_usize..300, 0_usize..20_000],
    );
    let odds = (
        prop::collection::vec((0_usize..60, 0_usize..60), 0..20),
        1_usize..6,
        any::<bool>(),
        prop::collection::vec(0_usize..60, 0..3),
        prop::collection::vec(0_usize..60, 0..2),
    );
    let lately = (
        prop::collection::vec((0_usize..60, 1_u32..50), 0..5),
        prop::collection::vec(0_usize..60, 0..6),
        prop::sample::select(vec![
            INDEX,
            "/home/me/i",
            "/mnt/a \"quoted\" & 'long' folder/with more/index",
        ]),
    );
    let task = (
        prop::option::of(prop::collection::vec(0_usize..60, 0..40)),
        prop::collection::vec(0_usize..60, 0..20),
        (0_usize..20, 0_usize..20),
    );
    (library(), budget, odds, lately, task).prop_map(
        |((sources, skills), (size, entries, bytes, more), odds, lately, task)| {
            let (used, opened, index_dir) = lately;
            let (ranked, capped, (per_root, per_source)) = task;
            let (pairs, width, wide, hidden, pins) = odds;
            let mut snapshot = snapshot(&sources, &skills);
            let n = snapshot.skills.len();
            let pairs = if wide {
                // A heap's shape: the children of each follow one another.
                (1..n)
                    .map(|child| (child, (child - 1) / (width + 2)))
                    .collect()
            } else {
                pairs
            };
            let roots: Vec<usize> = snapshot
                .skills
                .iter()
                .map(|skill| skill.place.root)
                .collect();
            let same_root = |(child, parent): &(usize, usize)| {
                *child < n && *parent < n && roots[*child] == roots[*parent]
            };
            snapshot.tree = SkillTree::of(pairs.into_iter().filter(same_root));
            for at in hidden {
                if let Some(skill) = snapshot.skills.get_mut(at) {
                    skill.state = grove_catalog::EntryState::Disabled;
                }
            }
            for at in capped {
                if let Some(skill) = snapshot.skills.get_mut(at)
                    && skill.state == grove_catalog::EntryState::Ok
                {
                    skill.state = grove_catalog::EntryState::Capped;
                }
            }
            let task = ranked.map(|ranked| {
                let mut seen = BTreeSet::new();
                let once = ranked.into_iter().filter(|at| *at < n && seen.insert(*at));
                TaskOrder {
                    ranked: once.collect(),
                    fits: true,
                    caps: EntryCaps {
                        per_root,
                        per_source,
                    },
                }
            });
            let address = |at: usize| snapshot.skills.get(at).map(|skill| snapshot.address(skill));
            let mut expanded: Vec<String> = opened.into_iter().filter_map(address).collect();
            expanded.push(format!("a/@{}", snapshot.roots[0].label));
            let unit = if bytes {
                BudgetUnit::Bytes
            } else {
                BudgetUnit::Chars
            };
            Scene {
                budget: CatalogBudget {
                    size,
                    unit,
                    entries,
                },
                usage: used
                    .into_iter()
                    .filter_map(|(at, score)| Some((address(at)?, score)))
                    .collect(),
                pinned: pins.into_iter().filter_map(address).collect(),
                expanded,
                index_dir: index_dir.into(),
                task,
                more,
                snapshot: Arc::new(snapshot),
            }
        },
    )
}

/// The number of scenes: a few in every test run, as many as wanted in a run for them alone.
fn n_scenes() -> u32 {
    let wanted = std::env::var("GROVE_LAW_SCENES").ok();
    wanted.map_or(4_000, |wanted| wanted.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_scenes(), failure_persistence: None, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_library_at_any_budget(scene in scene()) {
        if let Err(error) = scene.check() {
            return Err(TestCaseError::fail(error));
        }
    }
}
