//! The walk on real folders: what is found, what is refused, and what it costs.

use std::os::unix::fs::symlink;
use std::path::Path;

use grove_fs::Stamp;
use grove_fs::probe_walk::{
    AcceptedLayouts, LinkRule, ProbeOrder, RootFolder, Visitor, WalkOptions, WalkResult,
    WalkTrouble, WalkedContent, walk,
};

struct Reader;

impl Visitor for Reader {
    type Item = String;

    fn known(&self, _: &Stamp, _: &mut usize) -> Option<String> {
        None
    }

    fn read(&self, _: &Stamp, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }
}

struct KnowsAll;

impl Visitor for KnowsAll {
    type Item = String;

    fn known(&self, _: &Stamp, _: &mut usize) -> Option<String> {
        Some("known".to_owned())
    }

    fn read(&self, _: &Stamp, _: &[u8]) -> String {
        "read".to_owned()
    }
}

pub(crate) fn options(links: LinkRule, probe: ProbeOrder) -> WalkOptions {
    WalkOptions {
        links,
        probe,
        layout: AcceptedLayouts::ALL,
        only: None,
        max_candidates: usize::MAX,
        max_bytes: 256_000,
        max_depth: 6,
        max_folders: 2_000,
        max_entries: 100_000,
        max_levels: 6,
    }
}

pub(crate) const ALL_MODES: [(LinkRule, ProbeOrder); 4] = [
    (LinkRule::Follow, ProbeOrder::Stat),
    (LinkRule::Follow, ProbeOrder::Open),
    (LinkRule::Contain, ProbeOrder::Stat),
    (LinkRule::Contain, ProbeOrder::Open),
];

fn walked(root: &Path, options: &WalkOptions) -> WalkResult<String> {
    walk(
        &RootFolder {
            base: None,
            path: root.to_path_buf(),
        },
        options,
        &Reader,
    )
    .unwrap()
}

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn paths(walk: &WalkResult<String>) -> Vec<&str> {
    walk.found.iter().map(|found| &*found.path).collect()
}

#[test]
fn all_layouts_are_found_and_anchors_hold() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in [
        "a/SKILL.md",
        "g/b/SKILL.md",
        "g/h/c/SKILL.md",
        "a/sub/SKILL.md",
        "a/references/x/SKILL.md",
        ".hidden/d/SKILL.md",
        "g/node_modules/e/SKILL.md",
        "flat.md",
    ] {
        put(root, path, path);
    }
    for (links, probe) in ALL_MODES {
        let walk = walked(root, &options(links, probe));
        assert_eq!(
            paths(&walk),
            ["a", "flat", "g/b", "g/h/c"],
            "{links:?} {probe:?}"
        );
        assert_eq!(walk.problems, []);
        assert!(walk.found.iter().all(
            |found| matches!(&found.content, WalkedContent::Item(text) if text.starts_with(&*found.path))
        ));
    }
    let no_stop = WalkOptions {
        layout: AcceptedLayouts {
            stop_at_skill: false,
            ..AcceptedLayouts::ALL
        },
        ..options(LinkRule::Follow, ProbeOrder::Stat)
    };
    assert_eq!(
        paths(&walked(root, &no_stop)),
        ["a", "a/references/x", "a/sub", "flat", "g/b", "g/h/c"]
    );
}

#[test]
fn a_skill_file_in_the_root_ends_the_walk() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "SKILL.md", "root");
    put(folder.path(), "a/SKILL.md", "a");
    for (links, probe) in ALL_MODES {
        assert_eq!(paths(&walked(folder.path(), &options(links, probe))), [""]);
    }
}

#[test]
fn the_bill_of_a_cold_and_a_warm_walk() {
    let folder = tempfile::tempdir().unwrap();
    for group in 0..10 {
        for skill in 0..50 {
            put(
                folder.path(),
                &format!("g{group}/s{skill}/SKILL.md"),
                "---\n",
            );
            put(
                folder.path(),
                &format!("g{group}/s{skill}/references/x.md"),
                "x",
            );
        }
    }
    for (links, probe) in ALL_MODES {
        let cold = walked(folder.path(), &options(links, probe)).counts;
        assert_eq!(
            (cold.file_opens, cold.file_reads),
            (500, 500),
            "one open and one read a file: {links:?} {probe:?}"
        );
        assert_eq!(
            cold.folder_opens, 11,
            "the root and the groups, no skill folder"
        );
    }
    for links in [LinkRule::Follow, LinkRule::Contain] {
        let root = RootFolder {
            base: None,
            path: folder.path().to_path_buf(),
        };
        let warm = walk(&root, &options(links, ProbeOrder::Stat), &KnowsAll).unwrap();
        assert_eq!(
            (
                warm.counts.file_opens,
                warm.counts.file_reads,
                warm.counts.folder_opens
            ),
            (0, 0, 11)
        );
        assert_eq!(warm.counts.stats, 510, "one look a child");
        assert!(
            warm.found.iter().all(
                |found| matches!(&found.content, WalkedContent::Item(text) if text == "known")
            )
        );
    }
}

#[test]
fn the_candidate_limit_names_the_rest_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..20 {
        put(folder.path(), &format!("s{n:02}/SKILL.md"), "x");
    }
    for (links, probe) in ALL_MODES {
        let limited = WalkOptions {
            max_candidates: 5,
            ..options(links, probe)
        };
        let walk = walked(folder.path(), &limited);
        assert_eq!(walk.limits.candidates.len(), 15);
        assert_eq!(walk.limits.candidates[0], "s05");
        let read = walk
            .found
            .iter()
            .filter(|found| matches!(found.content, WalkedContent::Item(_)))
            .count();
        assert_eq!(read, 5);
        if probe == ProbeOrder::Stat {
            assert_eq!(
                walk.counts.file_reads, 5,
                "what is beyond the limit is not read"
            );
        }
    }
}

#[test]
fn depth_and_folder_limits_are_reported_and_repeatable() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "1/2/3/4/5/6/deep/SKILL.md", "x");
    put(folder.path(), "1/2/3/4/5/6/7/deeper/SKILL.md", "x");
    let walk = walked(folder.path(), &options(LinkRule::Follow, ProbeOrder::Stat));
    assert_eq!(paths(&walk), ["1/2/3/4/5/6/deep"]);
    assert_eq!(walk.limits.depth, ["1/2/3/4/5/6/7"]);

    let wide = tempfile::tempdir().unwrap();
    for n in 0..400 {
        put(wide.path(), &format!("n{n:03}/x/SKILL.md"), "x");
    }
    put(wide.path(), "zz/SKILL.md", "x");
    let limited = WalkOptions {
        max_folders: 100,
        ..options(LinkRule::Follow, ProbeOrder::Stat)
    };
    let first = walked(wide.path(), &limited);
    assert_eq!(
        first.found.len(),
        101,
        "every child is probed, and the first hundred groups are opened"
    );
    assert_eq!(first.limits.folders.len(), 300);
    for _ in 0..5 {
        let again = walked(wide.path(), &limited);
        assert_eq!(
            (paths(&again), &again.limits),
            (paths(&first), &first.limits)
        );
    }
}

#[test]
fn links_are_followed_or_contained_and_never_silent() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().join("root");
    let outside = &folder.path().join("outside");
    put(outside, "evil/SKILL.md", "outside");
    put(outside, "group/x/SKILL.md", "outside");
    put(outside, "plain.md", "outside");
    put(root, "good/SKILL.md", "good");
    put(root, "filelink/other.txt", "x");
    symlink(outside.join("evil"), root.join("evil")).unwrap();
    symlink("../outside/group", root.join("grouplink")).unwrap();
    symlink(
        outside.join("evil/SKILL.md"),
        root.join("filelink/SKILL.md"),
    )
    .unwrap();
    symlink(outside.join("plain.md"), root.join("plain.md")).unwrap();
    symlink("good", root.join("inside")).unwrap();
    symlink("nowhere", root.join("broken")).unwrap();

    for probe in [ProbeOrder::Stat, ProbeOrder::Open] {
        let followed = walked(root, &options(LinkRule::Follow, probe));
        assert_eq!(
            paths(&followed),
            ["evil", "filelink", "good", "grouplink/x", "inside", "plain"]
        );
        assert_eq!(followed.problems.len(), 1, "{:?}", followed.problems);
        assert!(
            matches!(&followed.problems[0].trouble, WalkTrouble::BrokenLink(target) if target == Path::new("nowhere"))
        );

        let contained = walked(root, &options(LinkRule::Contain, probe));
        assert_eq!(paths(&contained), ["good", "inside"], "{probe:?}");
        let refused: Vec<_> = contained
            .problems
            .iter()
            .map(|p| (p.path.as_str(), &p.trouble))
            .collect();
        let escape = |target: &Path| WalkTrouble::Escape(target.to_path_buf());
        assert_eq!(
            refused,
            [
                ("broken", &WalkTrouble::BrokenLink("nowhere".into())),
                ("evil", &escape(&outside.join("evil"))),
                ("filelink/SKILL.md", &escape(&outside.join("evil/SKILL.md"))),
                ("grouplink", &escape(Path::new("../outside/group"))),
                ("plain.md", &escape(&outside.join("plain.md"))),
            ],
            "{probe:?}"
        );
    }
}

#[test]
fn a_contained_root_cannot_itself_lead_out_of_its_base() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "outside/x/SKILL.md", "x");
    std::fs::create_dir_all(folder.path().join("project")).unwrap();
    symlink("../outside", folder.path().join("project/skills")).unwrap();
    let root = RootFolder {
        base: Some(folder.path().join("project")),
        path: folder.path().join("project/skills"),
    };
    assert!(
        walk(
            &root,
            &options(LinkRule::Contain, ProbeOrder::Open),
            &Reader
        )
        .is_err()
    );
}

#[test]
fn loops_end_by_identity_and_the_result_is_repeatable() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "g/x/SKILL.md", "x");
    put(root, "h/y/SKILL.md", "y");
    symlink("../h", root.join("g/h")).unwrap();
    symlink("../g", root.join("h/g")).unwrap();
    symlink(".", root.join("self")).unwrap();
    for (links, probe) in ALL_MODES {
        let first = walked(root, &options(links, probe));
        assert_eq!(paths(&first), ["g/x", "h/y"], "{links:?} {probe:?}");
        assert!(
            first
                .problems
                .iter()
                .all(|p| p.trouble == WalkTrouble::Loop)
                && first.problems.len() == 3,
            "{:?}",
            first.problems
        );
    }
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "dir/SKILL.md/SKILL.md", "inner");
    put(root, "big/SKILL.md", &"x".repeat(256_001));
    put(root, "edge/SKILL.md", &"x".repeat(256_000));
    for name in ["pipe", "sock", "proc", "sys"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("pipe/SKILL.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("sock/SKILL.md")).unwrap();
    symlink("/proc/self/environ", root.join("proc/SKILL.md")).unwrap();
    symlink(
        "/sys/kernel/mm/transparent_hugepage/enabled",
        root.join("sys/SKILL.md"),
    )
    .unwrap();
    for probe in [ProbeOrder::Stat, ProbeOrder::Open] {
        let walk = walked(root, &options(LinkRule::Follow, probe));
        let outcome = |name: &str| {
            walk.found
                .iter()
                .find(|found| *found.path == *name)
                .map(|found| &found.content)
        };
        assert!(matches!(
            outcome("dir"),
            Some(WalkedContent::Refused(WalkTrouble::NotRegular))
        ));
        assert!(matches!(
            outcome("pipe"),
            Some(WalkedContent::Refused(WalkTrouble::NotRegular))
        ));
        assert!(matches!(
            outcome("sock"),
            Some(WalkedContent::Refused(WalkTrouble::NotRegular))
        ));
        assert!(matches!(
            outcome("proc"),
            Some(WalkedContent::Refused(WalkTrouble::Pseudo))
        ));
        assert!(!matches!(outcome("sys"), Some(WalkedContent::Item(_))));
        assert!(matches!(
            outcome("big"),
            Some(WalkedContent::Refused(WalkTrouble::TooLarge(256_001)))
        ));
        assert!(
            matches!(outcome("edge"), Some(WalkedContent::Item(_))),
            "the limit is inclusive"
        );
        assert_eq!(
            walk.found.len(),
            if Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
                7
            } else {
                6
            }
        );
    }
}

#[test]
fn names_that_cannot_be_shown_are_named_and_not_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    for name in [&b"x\n<"[..], b"esc\x1b[2J", b"latin\xe9"] {
        let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("SKILL.md"), "x").unwrap();
    }
    put(folder.path(), "good/skill.md", "x");
    let walk = walked(folder.path(), &options(LinkRule::Follow, ProbeOrder::Open));
    assert_eq!(paths(&walk), Vec::<&str>::new());
    assert_eq!(
        walk.problems
            .iter()
            .filter(|p| p.trouble == WalkTrouble::UnprintableName)
            .count(),
        3
    );
    assert!(
        walk.problems
            .iter()
            .any(|p| matches!(&p.trouble, WalkTrouble::WrongCase(name) if name == "skill.md"))
    );
}

#[test]
fn the_result_does_not_depend_on_the_order_of_creation() {
    let names: Vec<String> = (0..60)
        .map(|n| format!("g{}/s{:02}/SKILL.md", n % 7, n))
        .collect();
    let mut results = Vec::new();
    for turn in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let mut order = names.clone();
        order.rotate_left(turn * 13);
        if turn % 2 == 1 {
            order.reverse();
        }
        for name in &order {
            put(folder.path(), name, "x");
        }
        results.push(
            paths(&walked(
                folder.path(),
                &options(LinkRule::Follow, ProbeOrder::Stat),
            ))
            .iter()
            .map(|p| (*p).to_owned())
            .collect::<Vec<_>>(),
        );
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
