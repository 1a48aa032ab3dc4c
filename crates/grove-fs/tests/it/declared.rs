//! Folders that a file declares below its own: what is found, what is never looked at, and what it costs.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use grove_fs::Stamp;
use grove_fs::probe_walk::{
    AcceptedLayouts, CallCounts, DeclaredFolders, LinkRule, ProbeOrder, RootFolder, VisitedFile,
    Visitor, WalkOptions, WalkProblem, WalkResult, WalkTrouble, WalkedContent, WalkedFile, walk,
};

use crate::probe_walk::{ALL_MODES, options};

/// A file declares the words after `below:`; `*` means every folder.
#[derive(Default)]
struct Reader {
    /// What an earlier walk met.
    met: Vec<Met>,
    declaring: Vec<usize>,
}

#[derive(Clone)]
struct Met {
    path: Arc<str>,
    stamp: Stamp,
    text: String,
}

impl Reader {
    fn after(walk: &WalkResult<String>) -> Self {
        let met: Vec<Met> = walk
            .found
            .iter()
            .map(|found| Met {
                path: Arc::clone(&found.path),
                stamp: found.stamp.unwrap(),
                text: match &found.content {
                    WalkedContent::Item(text) => text.clone(),
                    other => panic!("{other:?}"),
                },
            })
            .collect();
        let declares = |(at, met): (usize, &Met)| below(&met.text).map(|_| at);
        Self {
            declaring: met.iter().enumerate().filter_map(declares).collect(),
            met,
        }
    }
}

impl Visitor for Reader {
    type Item = String;

    fn known(&self, _: &Stamp, _: &mut usize) -> Option<String> {
        None
    }

    fn recognise(&self, sighting: &VisitedFile<'_>, _: &mut usize) -> Option<usize> {
        let same = |met: &Met| *met.path == *sighting.path && met.stamp == *sighting.stamp;
        self.met.iter().position(same)
    }

    fn recall(&self, number: usize) -> Option<WalkedFile<String>> {
        let Met { path, stamp, text } = self.met.get(number)?.clone();
        Some(WalkedFile {
            path,
            layout: grove_fs::probe_walk::FileLayout::Folder,
            stamp: Some(stamp),
            links: 1,
            through_link: false,
            content: WalkedContent::Item(text),
        })
    }

    fn met_before(&self) -> usize {
        self.met.len()
    }

    fn declares(&self, found: &WalkedFile<String>) -> Option<DeclaredFolders> {
        match &found.content {
            WalkedContent::Item(text) => below(text),
            _ => None,
        }
    }

    fn declaring(&self) -> &[usize] {
        &self.declaring
    }

    fn read(&self, _: &Stamp, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn below(text: &str) -> Option<DeclaredFolders> {
    match text.strip_prefix("below: ")? {
        "*" => Some(DeclaredFolders::Every),
        names => Some(DeclaredFolders::Named(
            names.split_whitespace().map(str::to_owned).collect(),
        )),
    }
}

fn walked(root: &Path, options: &WalkOptions) -> WalkResult<String> {
    walked_by(root, options, &Reader::default())
}

fn walked_by(root: &Path, options: &WalkOptions, reader: &Reader) -> WalkResult<String> {
    let root = RootFolder {
        base: None,
        path: root.to_path_buf(),
    };
    walk(&root, options, reader).unwrap()
}

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path).join("SKILL.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn tree(skills: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in skills {
        put(folder.path(), path, text);
    }
    folder
}

fn paths(walk: &WalkResult<String>) -> Vec<&str> {
    walk.found.iter().map(|found| &*found.path).collect()
}

fn about(path: &str, trouble: WalkTrouble) -> WalkProblem {
    WalkProblem {
        path: path.to_owned(),
        trouble,
    }
}

#[test]
fn declared_children_are_found_in_both_places_and_nothing_else() {
    let folder = tree(&[
        ("a", "below: x y missing"),
        ("a/skills/x", "below: deep"),
        ("a/skills/x/deep", "leaf"),
        ("a/skills/x/other", "not declared"),
        ("a/y", "leaf"),
        ("a/z", "not declared"),
        ("a/skills/z", "not declared"),
        ("a/skills/group/x", "not declared, and deeper"),
        ("b", "plain"),
        ("b/skills/x", "declared by nobody"),
        ("b-c", "plain"),
        ("g/c", "below: k"),
        ("g/c/skills/k", "leaf"),
    ]);
    for (links, probe) in ALL_MODES {
        let walk = walked(folder.path(), &options(links, probe));
        assert_eq!(
            paths(&walk),
            [
                "a",
                "a/skills/x",
                "a/skills/x/deep",
                "a/y",
                "b",
                "b-c",
                "g/c",
                "g/c/skills/k"
            ],
            "{links:?} {probe:?}"
        );
        assert_eq!(walk.problems, []);
        assert!(!walk.unchanged);
        assert_eq!((walk.counts.file_opens, walk.counts.file_reads), (8, 8));
        // The root and one group; `a` and its `skills`, `a/skills/x` alone, `g/c` and its `skills`.
        assert_eq!(walk.counts.folder_opens, 2 + 2 + 1 + 2);
    }
}

#[test]
fn a_star_takes_every_folder_with_a_file_in_both_places() {
    let folder = tree(&[
        ("a", "below: *"),
        ("a/skills/x", "leaf"),
        ("a/skills/group/deep", "in a group"),
        ("a/y", "leaf"),
        ("a/.hidden", "hidden"),
        ("a/skills/.hidden", "hidden"),
        ("a/node_modules", "a package"),
        ("a/references/z", "in a group"),
        ("a/y/skills/w", "declared by nobody"),
    ]);
    for (links, probe) in ALL_MODES {
        let walk = walked(folder.path(), &options(links, probe));
        assert_eq!(
            paths(&walk),
            ["a", "a/skills/x", "a/y"],
            "{links:?} {probe:?}"
        );
        assert_eq!(walk.problems, []);
    }
}

#[test]
fn without_a_declaration_no_skill_folder_is_opened() {
    let folder = tree(&[
        ("a", "plain"),
        ("a/skills/x", "x"),
        ("g/b", "plain"),
        ("g/b/y", "y"),
    ]);
    for (links, probe) in ALL_MODES {
        let CallCounts {
            file_opens,
            file_reads,
            folder_opens,
            ..
        } = walked(folder.path(), &options(links, probe)).counts;
        assert_eq!((file_opens, file_reads, folder_opens), (2, 2, 2));
    }
}

#[test]
fn who_does_not_know_of_declarations_finds_what_was_found_without_them() {
    let skills = [("a", "below: x"), ("a/skills/x", "leaf"), ("b", "plain")];
    let folder = tree(&skills);
    let layout = |declared, stop_at_skill| WalkOptions {
        layout: AcceptedLayouts {
            declared,
            stop_at_skill,
            ..AcceptedLayouts::ALL
        },
        ..options(LinkRule::Follow, ProbeOrder::Stat)
    };
    let root = folder.path();
    assert_eq!(paths(&walked(root, &layout(false, true))), ["a", "b"]);
    for declared in [true, false] {
        let walk = walked(root, &layout(declared, false));
        assert_eq!(paths(&walk), ["a", "a/skills/x", "b"], "each once");
    }
}

#[test]
fn the_roots_own_file_may_declare_what_is_below_the_root() {
    let folder = tree(&[
        ("", "below: x y"),
        ("skills/x", "leaf"),
        ("y", "leaf"),
        ("z", "other"),
    ]);
    for (links, probe) in ALL_MODES {
        let walk = walked(folder.path(), &options(links, probe));
        assert_eq!(paths(&walk), ["", "skills/x", "y"]);
    }
}

#[test]
fn a_child_in_both_places_is_read_once_and_named() {
    let folder = tree(&[
        ("a", "below: x y"),
        ("a/skills/x", "first"),
        ("a/x", "second"),
        ("a/skills/y", "first"),
    ]);
    symlink("skills/y", folder.path().join("a/y")).unwrap();
    for (links, probe) in ALL_MODES {
        let walk = walked(folder.path(), &options(links, probe));
        assert_eq!(paths(&walk), ["a", "a/skills/x", "a/skills/y"]);
        let twins = WalkTrouble::Twins(vec!["x".to_owned()]);
        assert_eq!(
            walk.problems,
            [about("a/SKILL.md", twins)],
            "{links:?} {probe:?}"
        );
    }
}

#[test]
fn a_tree_has_six_levels() {
    let folder = tempfile::tempdir().unwrap();
    let mut path = "top".to_owned();
    for _ in 0..7 {
        put(folder.path(), &path, "below: c");
        path.push_str("/c");
    }
    for (links, probe) in ALL_MODES {
        let walk = walked(folder.path(), &options(links, probe));
        assert_eq!(walk.found.len(), 6);
        let last = format!("{}/SKILL.md", walk.found.last().unwrap().path);
        assert_eq!(walk.problems, [about(&last, WalkTrouble::TooDeep)]);
    }
}

#[test]
fn links_round_a_tree_end() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..8).map(|n| format!("n{n}")).collect();
    for name in &names {
        put(folder.path(), name, &format!("below: {}", names.join(" ")));
        for other in &names {
            let link = folder.path().join(name).join(other);
            symlink(format!("../{other}"), link).unwrap();
        }
    }
    for (links, probe) in ALL_MODES {
        let walk = walked(folder.path(), &options(links, probe));
        assert_eq!(walk.found.len(), 8 + 64, "{links:?} {probe:?}");
        let linked = walk.found.iter().filter(|found| found.through_link);
        assert_eq!(linked.count(), 64);
    }
}

#[test]
fn links_out_of_a_contained_root_are_not_followed() {
    let outside = tree(&[("x", "secret")]);
    let folder = tree(&[
        ("a", "below: x"),
        ("b", "below: x"),
        ("c", "below: x"),
        ("d", "below: x"),
    ]);
    let root = folder.path();
    let inside = |path: &str| root.join(path);
    std::fs::create_dir(inside("a/skills")).unwrap();
    symlink(outside.path().join("x"), inside("a/skills/x")).unwrap();
    symlink(outside.path(), inside("b/skills")).unwrap();
    std::fs::create_dir(inside("c/x")).unwrap();
    symlink(outside.path().join("x/SKILL.md"), inside("c/x/SKILL.md")).unwrap();
    symlink("nowhere", inside("d/x")).unwrap();
    let broken = WalkTrouble::BrokenLink("nowhere".into());
    for probe in [ProbeOrder::Stat, ProbeOrder::Open] {
        let walk = walked(root, &options(LinkRule::Contain, probe));
        assert_eq!(paths(&walk), ["a", "b", "c", "d"]);
        let at: Vec<&str> = walk.problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(at, ["a/skills/x", "b/skills", "c/x/SKILL.md", "d/x"]);
        let escapes = walk
            .problems
            .iter()
            .filter(|p| matches!(p.trouble, WalkTrouble::Escape(..)));
        assert_eq!(escapes.count(), 3);

        let walk = walked(root, &options(LinkRule::Follow, probe));
        assert_eq!(
            paths(&walk),
            ["a", "a/skills/x", "b", "b/skills/x", "c", "c/x", "d"]
        );
        assert_eq!(walk.problems, [about("d/x", broken.clone())]);
    }
}

#[test]
fn children_count_as_candidates_after_those_that_nobody_declared() {
    let folder = tree(&[
        ("a", "below: x y z"),
        ("a/x", "below: deep"),
        ("a/x/deep", "leaf"),
        ("a/y", "leaf"),
        ("a/z", "leaf"),
        ("b", "plain"),
    ]);
    for (limit, read, beyond) in [
        (1, vec!["a"], vec!["b", "a/x", "a/y", "a/z"]),
        (2, vec!["a", "b"], vec!["a/x", "a/y", "a/z"]),
        (4, vec!["a", "a/x", "a/y", "b"], vec!["a/z", "a/x/deep"]),
        (6, vec!["a", "a/x", "a/x/deep", "a/y", "a/z", "b"], vec![]),
    ] {
        let limited = WalkOptions {
            max_candidates: limit,
            ..options(LinkRule::Follow, ProbeOrder::Stat)
        };
        let walk = walked(folder.path(), &limited);
        let is_read = |found: &&WalkedFile<String>| matches!(found.content, WalkedContent::Item(_));
        let was_read: Vec<&str> = walk
            .found
            .iter()
            .filter(is_read)
            .map(|f| &*f.path)
            .collect();
        assert_eq!(was_read, read, "{limit}");
        assert_eq!(walk.limits.candidates, beyond, "{limit}");
        assert_eq!(walk.counts.file_reads, read.len() as u64);
    }
}

type Change = fn(&Path);

#[test]
fn a_tree_that_is_met_again_is_unchanged_and_any_change_is_seen() {
    let options = options(LinkRule::Follow, ProbeOrder::Stat);
    let changes: [(&str, Change, &[&str]); 6] = [
        ("nothing", |_| {}, &[]),
        (
            "a child appears",
            |root| put(root, "a/skills/late", "leaf"),
            &["a", "a/skills/late", "a/skills/x", "a/skills/x/deep", "b"],
        ),
        (
            "a child goes",
            |root| std::fs::remove_dir_all(root.join("a/skills/x/deep")).unwrap(),
            &["a", "a/skills/x", "b"],
        ),
        (
            "a child is written anew",
            |root| put(root, "a/skills/x/deep", "longer than before"),
            &["a", "a/skills/x", "a/skills/x/deep", "b"],
        ),
        (
            "a branch declares nothing any more",
            |root| put(root, "a", "plain"),
            &["a", "b"],
        ),
        (
            "a skill that nobody declared appears",
            |root| put(root, "c", "plain"),
            &["a", "a/skills/x", "a/skills/x/deep", "b", "c"],
        ),
    ];
    for (what, change, expected) in changes {
        let folder = tree(&[
            ("a", "below: x late"),
            ("a/skills/x", "below: deep"),
            ("a/skills/x/deep", "leaf"),
            ("b", "plain"),
        ]);
        let first = walked(folder.path(), &options);
        change(folder.path());
        let again = walked_by(folder.path(), &options, &Reader::after(&first));
        assert_eq!(again.unchanged, expected.is_empty(), "{what}");
        assert_eq!(paths(&again), expected, "{what}");
        assert!(again.counts.file_reads <= 1, "{what}");
    }
}
