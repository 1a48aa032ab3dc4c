//! Trees on real folders: what is read, what is not, and what a change below a branch does.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use grove_catalog::{EntryState, Snapshot};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_spec::Code;
use grove_testkit::session::let_files_settle;

fn put(root: &Path, id: &str, metadata: &str) {
    let name = id.rsplit('/').next().unwrap();
    let description = format!("Grows gardens, {name}");
    put_described(root, id, metadata, &description);
}

fn put_described(root: &Path, id: &str, metadata: &str, description: &str) {
    let folder = root.join(id);
    let name = id.rsplit('/').next().unwrap();
    let keys = if metadata.is_empty() {
        String::new()
    } else {
        format!("metadata:\n  {metadata}\n")
    };
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("SKILL.md");
    let text = format!("---\nname: {name}\ndescription: {description}\n{keys}---\n# {name}\n");
    std::fs::write(&file, text).unwrap();
    let file = std::fs::File::options().write(true).open(file).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    file.set_modified(long_ago).unwrap();
}

fn library(root: &Path, cache: Option<&Path>, view: Option<DiscoveryView>) -> Library {
    let home = root.parent().unwrap().to_path_buf();
    let environment = Environment {
        cache: cache.map(Path::to_path_buf),
        ..Environment::for_home(home.clone(), home)
    };
    Library::new(
        environment,
        DiscoveryRequest {
            view: view.unwrap_or_else(|| DiscoveryView::Folders(vec![root.to_path_buf()])),
            ..DiscoveryRequest::default()
        },
    )
}

fn load(root: &Path) -> Arc<Snapshot> {
    library(root, None, None).load()
}

fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .skills
        .iter()
        .map(grove_catalog::Skill::id)
        .collect()
}

/// `parent: child child` for each branch.
fn branches(snapshot: &Snapshot) -> Vec<String> {
    let id = |at: usize| snapshot.skills[at].id();
    let tree = &snapshot.tree;
    let line = |branch: usize| {
        let children: Vec<&str> = tree.children(branch).iter().map(|at| id(*at)).collect();
        format!("{}: {}", id(branch), children.join(" "))
    };
    tree.branches().map(line).collect()
}

/// Everything said about trees, with the file below the root that it is said of.
fn said(root: &Path, snapshot: &Snapshot) -> Vec<(Code, String)> {
    let of_skills = snapshot.skills.iter().flat_map(|skill| {
        let file = snapshot.location(&skill.place);
        skill
            .all_diagnostics()
            .map(move |found| (found.code, file.clone()))
    });
    let of_roots = snapshot
        .diagnostics
        .iter()
        .map(|found| (found.code, found.file.clone().unwrap_or_default()));
    of_skills
        .chain(of_roots)
        .map(|(code, file)| {
            let below = file.strip_prefix(root).unwrap_or(&file);
            (code, below.to_string_lossy().into_owned())
        })
        .collect()
}

/// Three levels and a skill beside them; files that nobody declared are in their midst.
fn make(root: &Path) {
    put(root, "garden", "children: trees, herbs flowers");
    put(root, "garden/skills/trees", "children: [oak, elm, yew]");
    put(root, "garden/skills/trees/skills/oak", "");
    put(root, "garden/skills/trees/elm", "");
    put(root, "garden/skills/trees/skills/yew", "");
    put(root, "garden/skills/trees/skills/undeclared", "");
    put(root, "garden/herbs", "");
    put(root, "garden/skills/flowers", "");
    put(root, "garden/undeclared", "children: '*'");
    put(root, "kitchen", "");
    put(root, "kitchen/skills/undeclared", "");
    let_files_settle();
}

const IDS: [&str; 8] = [
    "garden",
    "garden/herbs",
    "garden/skills/flowers",
    "garden/skills/trees",
    "garden/skills/trees/elm",
    "garden/skills/trees/skills/oak",
    "garden/skills/trees/skills/yew",
    "kitchen",
];
const BRANCHES: [&str; 2] = [
    "garden: garden/skills/trees garden/herbs garden/skills/flowers",
    "garden/skills/trees: garden/skills/trees/skills/oak garden/skills/trees/elm garden/skills/trees/skills/yew",
];

#[test]
fn a_tree_of_three_levels_is_read_and_nothing_that_nobody_declared() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("root");
    make(root);
    for all in [false, true] {
        let mut library = library(root, None, None);
        if all {
            library = Library::new(
                library.environment().clone(),
                DiscoveryRequest {
                    view: DiscoveryView::Folders(vec![root.clone()]),
                    all,
                    ..DiscoveryRequest::default()
                },
            );
        }
        let snapshot = library.load();
        assert_eq!(ids(&snapshot), IDS);
        assert_eq!(branches(&snapshot), BRANCHES);
        assert_eq!(said(root, &snapshot), []);
        assert!(
            snapshot
                .skills
                .iter()
                .all(|skill| skill.state == EntryState::Ok)
        );
        let counts = library.counts();
        assert_eq!((counts.file_opens, counts.file_reads), (8, 8));
        assert_eq!(counts.folder_opens, 1 + 2 + 2, "the root, and two a branch");
    }
}

#[test]
fn a_tree_is_the_same_in_memory_and_from_the_cache_of_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let (root, cache) = (folder.path().join("root"), folder.path().join("cache"));
    make(&root);
    let mut first = library(&root, Some(&cache), None);
    let snapshot = first.load();
    assert!(first.save_cache().is_empty());
    for _ in 0..3 {
        assert!(Arc::ptr_eq(&snapshot, &first.load()), "nothing changed");
        assert_eq!(
            (first.counts().file_opens, first.counts().file_reads),
            (0, 0)
        );
    }

    let mut second = library(&root, Some(&cache), None);
    let cached = second.load();
    assert_eq!(
        (second.counts().file_opens, second.counts().file_reads),
        (0, 0)
    );
    assert_eq!(*cached, *snapshot);
    assert_eq!(branches(&cached), BRANCHES);
    assert!(Arc::ptr_eq(&cached, &second.load()));
}

#[test]
fn a_change_below_a_branch_is_seen_and_only_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("root");
    make(root);
    let mut library = library(root, None, None);
    let mut version = 0;
    let mut next = |what: &str, reads: u64| {
        let_files_settle();
        let snapshot = library.load();
        assert!(library.counts().file_reads <= reads, "{what}");
        assert!(snapshot.version > version || what == "unchanged", "{what}");
        assert!(
            Arc::ptr_eq(&snapshot, &library.load()),
            "{what}, then nothing"
        );
        version = snapshot.version;
        snapshot
    };
    next("first", 8);
    std::fs::remove_dir_all(root.join("garden/skills/trees/elm")).unwrap();
    let snapshot = next("a child goes", 0);
    let trees = "garden/skills/trees/SKILL.md".to_owned();
    assert_eq!(said(root, &snapshot), [(Code::ChildMissing, trees)]);

    put(root, "garden/skills/trees/skills/elm", "");
    let snapshot = next("it comes back elsewhere", 1);
    assert_eq!(said(root, &snapshot), []);
    assert!(ids(&snapshot).contains(&"garden/skills/trees/skills/elm"));

    put_described(
        root,
        "garden/skills/trees/skills/oak",
        "",
        "Grows gardens of oak",
    );
    let snapshot = next("a child is written anew", 1);
    let oak = snapshot.skills.iter().find(|skill| skill.name() == "oak");
    assert_eq!(oak.unwrap().description(), Some("Grows gardens of oak"));

    put(root, "kitchen", "children: undeclared");
    let snapshot = next("a leaf becomes a branch", 2);
    assert_eq!(branches(&snapshot)[2], "kitchen: kitchen/skills/undeclared");

    put(root, "garden", "");
    let snapshot = next("a branch becomes a leaf", 1);
    assert_eq!(
        ids(&snapshot),
        ["garden", "kitchen", "kitchen/skills/undeclared"]
    );
}

/// A second folder of the same name is no new skill, so only the finding tells that it appeared.
#[test]
fn a_twin_that_appears_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("root");
    make(root);
    let mut library = library(root, None, None);
    let before = library.load();
    put(root, "garden/flowers", "");
    let snapshot = library.load();
    assert_eq!(ids(&snapshot), IDS);
    let garden = "garden/SKILL.md".to_owned();
    assert_eq!(said(root, &snapshot), [(Code::ChildDuplicate, garden)]);
    assert_eq!(snapshot.digest, before.digest);
    std::fs::remove_dir_all(root.join("garden/flowers")).unwrap();
    assert_eq!(said(root, &library.load()), []);
}

#[test]
fn every_form_of_a_declaration_finds_the_same() {
    for children in ["'*'", "x y z", "x, y, z", "[x, y, z]"] {
        let folder = tempfile::tempdir().unwrap();
        let root = &folder.path().join("root");
        put(root, "top", &format!("children: {children}"));
        put(root, "top/skills/x", "");
        put(root, "top/skills/y", "");
        put(root, "top/z", "");
        let snapshot = load(root);
        assert_eq!(
            branches(&snapshot),
            ["top: top/skills/x top/skills/y top/z"]
        );
        assert_eq!(said(root, &snapshot), [], "{children}");
    }
}

#[test]
fn siblings_that_name_their_parent_hang_under_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("root");
    put(root, "top", "");
    put(root, "a", "parent: top");
    put(root, "group/b", "parent: top");
    let flat = "---\nname: c\ndescription: Grows gardens\nmetadata: {parent: top}\n---\n";
    std::fs::write(root.join("c.md"), flat).unwrap();
    put(root, "d", "parent: nobody");
    let snapshot = load(root);
    assert_eq!(branches(&snapshot), ["top: a c group/b"]);
    let orphan = "d/SKILL.md".to_owned();
    assert_eq!(said(root, &snapshot), [(Code::ParentMissing, orphan)]);
}

#[test]
fn a_tree_deeper_than_six_levels_is_cut_with_one_finding() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("root");
    let mut id = "l1".to_owned();
    for level in 1..=8 {
        // Two more each, so that nothing else is to be said.
        let next = format!("l{}", level + 1);
        put(root, &id, &format!("children: {next} x{level} y{level}"));
        put(root, &format!("{id}/x{level}"), "");
        put(root, &format!("{id}/y{level}"), "");
        id = format!("{id}/{next}");
    }
    let snapshot = load(root);
    let last = "l1/l2/l3/l4/l5/l6/SKILL.md".to_owned();
    assert_eq!(said(root, &snapshot), [(Code::TreeDepth, last)]);
    assert_eq!(snapshot.skills.len(), 1 + 5 * 3);
}

#[test]
fn another_host_finds_what_it_found_without_declarations() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join(".agents/skills");
    let plain = tempfile::tempdir().unwrap();
    let plain_root = plain.path().join(".agents/skills");
    for (root, keys) in [(&root, "children: x"), (&plain_root, "")] {
        put(root, "top", keys);
        put(root, "top/skills/x", "");
        put(root, "top/y", "");
    }
    for host in grove_catalog::hosts::all() {
        let seen = |home: &Path| {
            let environment = Environment::for_home(home.to_path_buf(), home.to_path_buf());
            let request = DiscoveryRequest {
                view: DiscoveryView::Host(host.name.clone()),
                ..DiscoveryRequest::default()
            };
            let snapshot = Library::new(environment, request).load();
            assert!(snapshot.tree.is_flat(), "{}", host.name);
            let seen = snapshot
                .skills
                .iter()
                .map(|skill| (skill.id().to_owned(), skill.state));
            seen.collect::<Vec<_>>()
        };
        assert_eq!(seen(folder.path()), seen(plain.path()), "{}", host.name);
    }
}
