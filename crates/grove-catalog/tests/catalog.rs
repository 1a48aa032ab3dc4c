//! Laws of the catalog: within its budget, the same every time, well formed, and nothing out of reach.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::catalog::{
    Budget, Catalog, EntryKind, Request, Style, Treatment, Unit, catalog, index, update,
    within_tokens,
};
use grove_catalog::content::Content;
use grove_catalog::eligibility::Facts;
use grove_catalog::identity::Layout;
use grove_catalog::resolve::{Candidate, Input, Rules, resolve};
use grove_catalog::root::{Root, Source, Standing, make_labels_unique};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::tree::Tree;
use grove_catalog::trust::Trust;
use grove_spec::config::Settings;
use grove_spec::skill::{Parsed, Skill};
use grove_testkit::catalog_reader::{reach, read_catalog};
use proptest::prelude::*;

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
        .map(|(at, source)| Root {
            label: format!("{}:skills", source.as_str()),
            path: if *source == Source::User {
                PathBuf::from(format!("{HOME}/.agents/skills{at}"))
            } else {
                PathBuf::from(format!("/srv/a rather long folder/{at}/skills"))
            },
            source: *source,
            standing: Standing {
                order: at as u32,
                ..Standing::of(*source)
            },
            trust: Trust::Trusted,
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
                root: made.root,
                layout: Layout::Folder,
                id: made.id.as_str().into(),
                file: None,
                hard_links: 1,
                through_link: false,
                content: Arc::new(Content::new(at as u128, None, 1, parsed)),
            }
        })
        .collect();
    candidates.sort_by(|a, b| (a.root, &a.id).cmp(&(b.root, &b.id)));
    candidates.dedup_by(|a, b| a.root == b.root && a.id == b.id);
    let mut settings = Settings::default();
    settings.lift_caps();
    resolve(Input {
        roots,
        candidates,
        settings: &settings,
        facts: &Facts::default(),
        names: None,
        rules: Rules::GROVE,
        diagnostics: Vec::new(),
    })
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

/// The laws that hold for any library and any budget.
fn check_laws(snapshot: &Snapshot, made: &Catalog, request: &Request<'_>) -> Result<(), String> {
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
        .find(|file| file.text.chars().count() > index::PAGE_CHARS)
    {
        return Err(format!(
            "an index file of {} characters",
            file.text.chars().count()
        ));
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
        let is_leaf = entry.is_some_and(|entry| entry.kind == EntryKind::Skill);
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

fn library() -> impl Strategy<Value = (Vec<Source>, Vec<Made>)> {
    let sources = prop::collection::vec(prop::sample::select(Source::ALL.to_vec()), 1..4);
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
    budget: Budget,
    usage: BTreeMap<String, u32>,
    expanded: Vec<String>,
    pinned: Vec<String>,
    index_dir: PathBuf,
}

impl Scene {
    fn check(&self) -> Result<(), String> {
        let request = Request {
            pinned: &self.pinned,
            index_dir: &self.index_dir,
            ..request(self.budget, &self.usage, &self.expanded)
        };
        let made = catalog(&self.snapshot, &request);
        check_laws(&self.snapshot, &made, &request)
            .map_err(|error| format!("{error}\n{}", made.text))?;
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
    (library(), budget, odds, lately).prop_map(
        |((sources, skills), (size, entries, bytes), odds, (used, opened, index_dir))| {
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
            snapshot.tree = Tree::of(pairs.into_iter().filter(same_root));
            for at in hidden {
                if let Some(skill) = snapshot.skills.get_mut(at) {
                    skill.state = grove_catalog::State::Disabled;
                }
            }
            let address = |at: usize| snapshot.skills.get(at).map(|skill| snapshot.address(skill));
            let mut expanded: Vec<String> = opened.into_iter().filter_map(address).collect();
            expanded.push(format!("a/@{}", snapshot.roots[0].label));
            let unit = if bytes { Unit::Bytes } else { Unit::Chars };
            Scene {
                budget: Budget {
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
                snapshot: Arc::new(snapshot),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_library_at_any_budget(scene in scene()) {
        if let Err(error) = scene.check() {
            return Err(TestCaseError::fail(error));
        }
    }
}

fn described(count: usize, length: usize) -> Vec<Made> {
    (0..count).map(|at| {
        let words = "Writes careful reports about many kinds of things, with tables and figures. Use when the user asks for one of them in any form at all, or for something near to it, and whenever nothing more specific is at hand";
        let text: String = words.chars().cycle().take(length).collect();
        Made::new(0, &format!("skill-{at:05}"), text.trim())
    }).collect()
}

#[test]
fn fifty_two_skills_are_shown_in_full_at_the_default_budget() {
    let made = plain(
        &snapshot(&[Source::User], &described(52, 300)),
        Budget::chars(30_000, 150),
    );
    assert_eq!(made.entries.len(), 52);
    assert!(made.report.is_whole() && made.index.is_empty());
    assert!(
        !made.text.contains("Locations:"),
        "aliases only where they are needed"
    );
}

#[test]
fn nothing_is_said_when_there_is_nothing() {
    let made = plain(&snapshot(&[Source::User], &[]), Budget::chars(30_000, 150));
    assert_eq!((made.text.as_str(), made.entries.len()), ("", 0));
}

#[test]
fn instructions_are_short() {
    assert!(grove_catalog::catalog::INSTRUCTIONS.len() <= 400);
}

/// Locations first, then groups, then descriptions, then names: each step is taken only when the ones
/// before it did not suffice.
#[test]
fn the_steps_come_in_their_order() {
    let mut skills = described(10, 200);
    for (at, made) in skills.iter_mut().enumerate() {
        made.id = format!("{}/skill-{at}", if at < 5 { "one" } else { "two" });
    }
    let snapshot = snapshot(&[Source::Package], &skills);
    let whole = plain(&snapshot, Budget::chars(30_000, 150));
    let at = |size: usize| plain(&snapshot, Budget::chars(size, 150));
    let aliased = at(whole.chars() - 1);
    assert!(
        aliased.report.is_whole() && aliased.text.contains("Locations:"),
        "{}",
        aliased.text
    );
    let collapsed = at(aliased.chars() - 1);
    let kinds: Vec<EntryKind> = collapsed.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == EntryKind::Group)
            .count(),
        1,
        "one group suffices: {kinds:?}"
    );
    assert_eq!(collapsed.report.count(Treatment::Shortened), 0);
    assert_eq!(collapsed.report.count(Treatment::Collapsed), 5);
}

#[test]
fn descriptions_are_shortened_before_names_stand_alone() {
    let snapshot = snapshot(&[Source::User], &described(60, 300));
    let shorter = plain(&snapshot, Budget::chars(16_000, 150));
    assert_eq!(shorter.report.count(Treatment::Shortened), 60);
    let names = plain(&snapshot, Budget::chars(9_000, 150));
    assert!(names.report.count(Treatment::NameOnly) > 0);
    assert_eq!(names.report.count(Treatment::LeftOut), 0);
    let bare: Vec<bool> = names
        .entries
        .iter()
        .map(|entry| entry.description.is_none())
        .collect();
    assert!(bare.is_sorted(), "only the last ones go without");
    let out = plain(&snapshot, Budget::chars(3_000, 150));
    let rest = out.entries.last().map(|entry| (entry.kind, entry.skills));
    assert_eq!(
        rest,
        Some((EntryKind::Rest, out.report.count(Treatment::LeftOut)))
    );
}

#[test]
fn a_group_of_two_is_never_collapsed() {
    let skills: Vec<Made> = (0..40)
        .map(|at| {
            Made::new(
                0,
                &format!("group-{}/skill-{at}", at / 2),
                &"word ".repeat(50),
            )
        })
        .collect();
    let made = plain(
        &snapshot(&[Source::User], &skills),
        Budget::chars(4_000, 150),
    );
    assert_eq!(made.report.count(Treatment::Collapsed), 0);
}

#[test]
fn a_project_cannot_take_the_half_of_the_users_own() {
    let mut skills = described(40, 250);
    skills.extend(
        (0..500).map(|at| Made::new(1, &format!("flood-{at}"), &"flood of words, ".repeat(60))),
    );
    let made = plain(
        &snapshot(&[Source::User, Source::Project], &skills),
        Budget::chars(30_000, 150),
    );
    let snapshot = snapshot(&[Source::User, Source::Project], &skills);
    let own = made
        .report
        .lines
        .iter()
        .filter(|line| snapshot.source_of(&snapshot.skills[line.skill]) == Source::User);
    assert!(
        own.clone().count() == 40 && own.clone().all(|line| line.treatment == Treatment::Listed)
    );
    assert!(
        made.entries
            .iter()
            .any(|entry| entry.name.starts_with("flood")),
        "nor does the project starve"
    );
}

#[test]
fn a_large_collection_does_not_hide_a_project() {
    let mut skills = described(500, 250);
    skills.extend((0..5).map(|at| {
        Made::new(
            1,
            &format!("ours-{at}"),
            "What this project needs. Use when working here.",
        )
    }));
    let made = plain(
        &snapshot(&[Source::User, Source::Project], &skills),
        Budget::chars(30_000, 150),
    );
    assert_eq!(
        made.entries
            .iter()
            .filter(|entry| entry.name.starts_with("ours"))
            .count(),
        5
    );
}

#[test]
fn one_endless_description_does_not_starve_the_others() {
    let mut skills = described(20, 200);
    skills.push(Made::new(
        0,
        "greedy",
        &"more words than anybody reads, ".repeat(3_000),
    ));
    let made = plain(
        &snapshot(&[Source::User], &skills),
        Budget::chars(30_000, 150),
    );
    assert_eq!(made.report.count(Treatment::Listed), 20);
    assert_eq!(made.report.count(Treatment::Shortened), 1);
    let greedy = made
        .entries
        .iter()
        .find(|entry| entry.name == "greedy")
        .and_then(|entry| entry.description.clone())
        .unwrap_or_default();
    assert!(
        greedy.chars().count() <= 1_024 && greedy.ends_with('…'),
        "{greedy}"
    );
}

#[test]
fn pinned_and_used_skills_keep_their_descriptions() {
    let skills = described(140, 300);
    let snapshot = snapshot(&[Source::User], &skills);
    let usage: BTreeMap<String, u32> = [("skill-00130@user:skills".to_owned(), 9)].into();
    let pinned = ["skill-00139".to_owned()];
    let budget = Budget::chars(16_000, 150);
    let request = Request {
        pinned: &pinned,
        ..request(budget, &usage, &[])
    };
    let made = catalog(&snapshot, &request);
    let of = |name: &str| {
        made.entries
            .iter()
            .position(|entry| entry.name == name && entry.description.is_some())
    };
    assert_eq!(of("skill-00139"), Some(0), "what is pinned comes first");
    assert!(of("skill-00130").is_some());
    assert!(of("skill-00138").is_none());
}

/// A three-level tree: opening a branch puts its children in its place, and the price follows the path.
#[test]
fn a_branch_stands_for_its_children_until_it_is_opened() {
    let mut skills = vec![Made::new(
        0,
        "docs",
        "Writes documents. Use when a document is asked for.",
    )];
    for middle in ["pdf", "word", "slides"] {
        skills.push(Made::new(
            0,
            &format!("docs/skills/{middle}"),
            &format!("Makes {middle} files of any kind."),
        ));
        for leaf in ["tables", "forms", "charts"] {
            skills.push(Made::new(
                0,
                &format!("docs/skills/{middle}/skills/{middle}-{leaf}"),
                &format!("Puts {leaf} into {middle} files."),
            ));
        }
    }
    let mut snapshot = snapshot(&[Source::User], &skills);
    let at = |id: &str| {
        snapshot
            .skills
            .iter()
            .position(|skill| skill.id() == id)
            .unwrap()
    };
    let mut pairs = Vec::new();
    for middle in ["pdf", "word", "slides"] {
        let id = format!("docs/skills/{middle}");
        pairs.push((at(&id), at("docs")));
        pairs.extend(
            ["tables", "forms", "charts"]
                .map(|leaf| (at(&format!("{id}/skills/{middle}-{leaf}")), at(&id))),
        );
    }
    snapshot.tree = Tree::of(pairs);
    let budget = Budget::chars(30_000, 150);
    let names = |expanded: &[&str]| {
        let expanded: Vec<String> = expanded
            .iter()
            .map(|id| format!("{id}@user:skills"))
            .collect();
        let usage = BTreeMap::new();
        let request = request(budget, &usage, &expanded);
        let made = catalog(&snapshot, &request);
        check_laws(&snapshot, &made, &request).unwrap();
        made.entries
            .into_iter()
            .map(|entry| entry.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["docs"]);
    assert_eq!(names(&["docs"]), ["pdf", "slides", "word"]);
    assert_eq!(
        names(&["docs", "docs/skills/pdf"]),
        ["pdf-charts", "pdf-forms", "pdf-tables", "slides", "word"]
    );
    // Asked for by name, an inner branch opens alone.
    assert_eq!(
        names(&["docs/skills/pdf"]),
        ["docs", "pdf-charts", "pdf-forms", "pdf-tables"]
    );
}

/// A child hangs on its nearest ancestor that may be shown.
#[test]
fn a_parent_that_is_not_shown_hides_nobody() {
    let skills = [
        Made::new(0, "top", "Is the top of them all."),
        Made::new(0, "top/mid", "Is between the others."),
        Made::new(0, "top/mid/low", "Is the lowest of them."),
    ];
    let mut snapshot = snapshot(&[Source::User], &skills);
    snapshot.tree = Tree::of([(1, 0), (2, 1)]);
    snapshot.skills[1].state = grove_catalog::State::Disabled;
    let expanded = ["top@user:skills".to_owned()];
    let made = catalog(
        &snapshot,
        &request(Budget::chars(30_000, 150), &BTreeMap::new(), &expanded),
    );
    assert_eq!(
        made.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["low"]
    );
    snapshot.skills[0].state = grove_catalog::State::Disabled;
    let made = plain(&snapshot, Budget::chars(30_000, 150));
    assert_eq!(
        made.entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["low"]
    );
}

#[test]
fn what_the_reader_has_is_not_told_again() {
    let snapshot = snapshot(&[Source::User], &described(3, 50));
    let exclude = ["skill-00001@user:skills".to_owned()];
    let usage = BTreeMap::new();
    let request = Request {
        exclude: &exclude,
        ..request(Budget::chars(30_000, 150), &usage, &[])
    };
    let names: Vec<String> = catalog(&snapshot, &request)
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["skill-00000", "skill-00002"]);
}

#[test]
fn an_update_tells_only_what_changed() {
    let before = plain(
        &snapshot(&[Source::User], &described(30, 100)),
        Budget::chars(30_000, 150),
    );
    let mut skills = described(30, 100);
    skills[3].description = "Something else altogether.".to_owned();
    skills.remove(9);
    let now = plain(
        &snapshot(&[Source::User], &skills),
        Budget::chars(30_000, 150),
    );
    let fragment = update(&before.text, &now, Style::Xml);
    assert_eq!(fragment.matches("skill-00003<").count(), 2, "{fragment}");
    assert_eq!(fragment.matches("skill-00009<").count(), 1);
    assert_eq!(fragment.matches("<skill>").count(), 3);
    assert_eq!(update(&now.text, &now, Style::Xml), "");
}

#[test]
fn other_styles_keep_the_budget_too() {
    let mut skills = described(200, 300);
    skills.push(Made::new(
        0,
        "odd",
        "a \"quoted\" *bold* [link](x) \\ and <b>",
    ));
    let snapshot = snapshot(&[Source::User], &skills);
    for style in [Style::Markdown, Style::Json] {
        let budget = Budget::chars(12_000, 150);
        let usage = BTreeMap::new();
        let request = Request {
            style,
            ..request(budget, &usage, &[])
        };
        let made = catalog(&snapshot, &request);
        assert!(
            made.chars() <= 12_000 && made.chars() > 10_000,
            "{style:?} {}",
            made.chars()
        );
    }
}

/// Whatever a token is, the text has no more of them than were given, and not far fewer.
#[test]
fn tokens_that_somebody_counts_are_kept_too() {
    let snapshot = snapshot(&[Source::User], &described(200, 300));
    let usage = BTreeMap::new();
    let request = request(Budget::tokens(0, 150), &usage, &[]);
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).count();
    let letters = |text: &str| text.len();
    for tokens in [600, 2_000, 5_000] {
        let made = within_tokens(&snapshot, &request, tokens, words);
        assert!(
            words(&made.text) <= tokens,
            "{} of {tokens}",
            words(&made.text)
        );
        assert!(
            words(&made.text) * 10 >= tokens * 8,
            "{} of {tokens}",
            words(&made.text)
        );
        let made = within_tokens(&snapshot, &request, tokens + 1_000, letters);
        assert!(letters(&made.text) <= tokens + 1_000);
    }
}

/// Room that others do not need after they were collapsed is the user's own.
#[test]
fn what_others_do_not_use_is_given_back() {
    let mut skills = described(30, 250);
    skills.extend((0..80).map(|at| {
        let about =
            format!("Does the thing number {at} of this project, and only that. ").repeat(4);
        Made::new(1, &format!("group-{}/thing-{at}", at % 4), &about)
    }));
    let snapshot = snapshot(&[Source::User, Source::Project], &skills);
    let made = plain(&snapshot, Budget::chars(14_000, 150));
    let own = made.report.lines.iter().filter(|line| {
        let skill = &snapshot.skills[line.skill];
        snapshot.source_of(skill) == Source::User && line.treatment != Treatment::Listed
    });
    assert_eq!(own.count(), 0, "{} used\n{}", made.report.used, made.text);
}

/// A branch deep in folders whose names grow sixfold when they are escaped, with more children than fit a page.
#[test]
fn long_paths_do_not_page_for_ever() {
    let deep = ["\"".repeat(120), "\"".repeat(120), "\"".repeat(120)].join("/");
    let mut skills = vec![Made::new(
        0,
        &format!("{deep}/top"),
        "Is on top of the others.",
    )];
    skills.extend((0..40).map(|at| {
        Made::new(
            0,
            &format!("{deep}/top/child-{at}"),
            "Is below it, as one of many.",
        )
    }));
    let mut snapshot = snapshot(&[Source::User], &skills);
    let top = snapshot
        .skills
        .iter()
        .position(|skill| skill.name() == "top")
        .unwrap();
    let others = (0..snapshot.skills.len()).filter(|at| *at != top);
    snapshot.tree = Tree::of(others.map(|at| (at, top)));
    let made = plain(&snapshot, Budget::chars(30_000, 150));
    let longest = made
        .index
        .iter()
        .map(|file| file.text.chars().count())
        .max();
    assert!(longest <= Some(index::PAGE_CHARS), "{longest:?}");
    assert_eq!(made.report.count(Treatment::Inside), 40);
}

#[test]
fn a_folder_cannot_redefine_an_alias() {
    let skills = described(60, 100);
    let mut snapshot = snapshot(&[Source::Package], &skills);
    snapshot.roots[0].path = PathBuf::from("/srv/a folder; r2 = ~/evil/skills");
    let made = plain(&snapshot, Budget::chars(6_000, 150));
    assert!(!made.text.contains("Locations:"), "{}", made.text);
}
