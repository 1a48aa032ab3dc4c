//! The engine on real folders: what a load costs, when a snapshot is the same, and what changes it.

use std::path::Path;
use std::sync::Arc;

use grove_catalog::EntryState;
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::session::let_files_settle;
use proptest::prelude::*;

const N: usize = 60;

fn put(root: &Path, id: &str, text: &str) {
    let folder = root.join(id);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n# {name}\n")
}

/// A library in a temporary folder, old enough that its files count as settled.
fn make(root: &Path) {
    for n in 0..N {
        let id = format!("g{}/s{n}", n % 4);
        put(root, &id, &skill(&format!("s{n}")));
        put(&root.join(&id), "references", "not a skill of its own");
        age(&root.join(&id).join("SKILL.md"));
    }
}

/// Gives a file an old modification time; its change time is settled by waiting for the clock to pass it.
fn age(file: &Path) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000),
    )
    .unwrap();
}

fn library(root: &Path, cache: Option<&Path>, all: bool) -> Library {
    let nowhere = Path::new("/nonexistent").to_path_buf();
    let environment = Environment {
        cache: cache.map(Path::to_path_buf),
        ..Environment::for_home(nowhere.clone(), nowhere)
    };
    Library::new(
        environment,
        DiscoveryRequest {
            view: DiscoveryView::Folders(vec![root.to_path_buf()]),
            all,
            ..DiscoveryRequest::default()
        },
    )
}

#[test]
fn cold_is_one_open_and_one_read_a_skill_and_warm_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let (root, cache) = (folder.path().join("root"), folder.path().join("cache"));
    make(&root);
    let_files_settle();
    for all in [true, false] {
        let _ = std::fs::remove_dir_all(&cache);
        let mut first = library(&root, Some(&cache), all);
        let snapshot = first.load();
        assert_eq!(
            snapshot
                .skills
                .iter()
                .filter(|s| s.state == EntryState::Ok)
                .count(),
            N
        );
        let cold = first.counts();
        assert_eq!(
            (cold.file_opens, cold.file_reads),
            (N as u64, N as u64),
            "all: {all}"
        );
        assert_eq!(
            cold.folder_opens, 5,
            "the root and four groups, no skill folder"
        );
        assert!(first.save_cache().is_empty());

        let mut second = library(&root, Some(&cache), all);
        assert_eq!(
            second.load(),
            snapshot,
            "a cached library is the same library"
        );
        let warm = second.counts();
        assert_eq!(
            (warm.file_opens, warm.file_reads, warm.folder_opens),
            (0, 0, 5),
            "all: {all}"
        );

        let again = second.load();
        assert_eq!(second.counts().file_reads, 0);
        assert!(
            Arc::ptr_eq(&again, &second.load()),
            "nothing changed, so it is the same snapshot"
        );
    }
}

#[test]
fn the_version_rises_only_when_the_digest_differs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    make(root);
    let_files_settle();
    let mut library = library(root, None, true);
    let first = library.load();
    let touched = root.join("g1/s1/SKILL.md");
    std::fs::write(&touched, std::fs::read(&touched).unwrap()).unwrap();
    let same = library.load();
    assert_eq!(
        (same.version, same.digest),
        (1, first.digest),
        "the same bytes again"
    );

    std::fs::write(&touched, skill("s1").replace("Does", "DOES")).unwrap();
    let edited = library.load();
    assert_eq!(edited.version, 2);
    assert_ne!(edited.digest, first.digest);
    assert!(
        library.counts().file_reads <= 1,
        "only the edited file is read"
    );

    std::fs::rename(root.join("g1/s1"), root.join("g1/renamed")).unwrap();
    let renamed = library.load();
    assert_eq!(renamed.version, 3);
    assert!(renamed.skills.iter().any(|s| s.id() == "g1/renamed"));
    std::fs::remove_dir_all(root.join("g2")).unwrap();
    assert_eq!(library.load().skills.len(), N - N / 4);
    put(root, "new", &skill("new"));
    assert_eq!(library.load().skills.len(), N - N / 4 + 1);
}

/// Renaming a folder leaves no trace on the file in it: only the path tells.
#[test]
fn a_renamed_folder_is_seen_although_its_file_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    make(root);
    let_files_settle();
    let mut library = library(root, None, true);
    library.load();
    assert!(Arc::ptr_eq(&library.load(), &library.load()));
    std::fs::rename(root.join("g3/s3"), root.join("g3/renamed")).unwrap();
    let renamed = library.load();
    assert_eq!(library.counts().file_reads, 0, "the content is known");
    assert_eq!(renamed.version, 2);
    let ids: Vec<&str> = renamed
        .skills
        .iter()
        .map(grove_catalog::Skill::id)
        .collect();
    assert!(
        ids.contains(&"g3/renamed") && !ids.contains(&"g3/s3"),
        "{ids:?}"
    );
}

/// The files are met again as they were, and yet the library is not the same.
#[test]
fn a_link_that_leads_nowhere_appears_beside_skills_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    make(root);
    let_files_settle();
    let mut library = library(root, None, true);
    let before = library.load();
    std::os::unix::fs::symlink("nowhere", root.join("broken")).unwrap();
    for _ in 0..2 {
        let after = library.load();
        assert_eq!(after.skills, before.skills);
        let codes: Vec<_> = after.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, [grove_spec::Code::BrokenLink]);
        assert_eq!(library.counts().file_reads, 0);
    }
    std::fs::remove_file(root.join("broken")).unwrap();
    assert_eq!(*library.load(), *before);
}

/// Over the limit, and kept or refused: either way it is read once.
#[test]
fn a_file_over_the_limit_is_remembered_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let (project, cache) = (folder.path().join("project"), folder.path().join("cache"));
    let root = project.join(".agents/skills");
    let long = "word ".repeat(60_000);
    put(
        &root,
        "described",
        &format!("---\nname: described\ndescription: {long}\n---\n"),
    );
    put(
        &root,
        "bodied",
        &format!("---\nname: bodied\ndescription: d\n---\n{long}"),
    );
    for id in ["described", "bodied"] {
        age(&root.join(id).join("SKILL.md"));
    }
    let_files_settle();
    for view in [
        DiscoveryView::Folders(vec![root.clone()]),
        DiscoveryView::Own,
    ] {
        let _ = std::fs::remove_dir_all(&cache);
        let library = || {
            let environment = Environment {
                cache: Some(cache.clone()),
                ..Environment::for_home(folder.path().join("home"), project.clone())
            };
            let view = view.clone();
            Library::new(
                environment,
                DiscoveryRequest {
                    view,
                    ..DiscoveryRequest::default()
                },
            )
        };
        let mut first = library();
        first.load();
        assert!(first.counts().file_reads >= 2);
        // What comes with the program was written just now.
        let_files_settle();
        let snapshot = first.load();
        let valid: Vec<(&str, bool)> = snapshot
            .skills
            .iter()
            .filter(|skill| snapshot.location(&skill.place).starts_with(&root))
            .map(|skill| (skill.id(), skill.content.flags().valid))
            .collect();
        assert_eq!(valid, [("bodied", false), ("described", true)], "{view:?}");
        assert!(first.save_cache().is_empty());
        assert!(Arc::ptr_eq(&snapshot, &first.load()), "{view:?}");
        let mut second = library();
        assert_eq!(second.load(), snapshot, "{view:?}");
        assert_eq!(second.counts().file_reads, 0, "{view:?}");
    }
}

#[test]
fn an_edit_of_the_same_size_right_after_a_read_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut library = library(root, None, true);
    for n in 0..200_u32 {
        put(root, "x", &skill(&format!("n{n:03}")));
        let snapshot = library.load();
        assert_eq!(snapshot.skills[0].name(), format!("n{n:03}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    /// Discovery does not depend on the order in which a directory gives its names, nor on what was known.
    #[test]
    fn any_order_of_creation_gives_the_same_library(seed in any::<u64>(), cached in any::<bool>()) {
        let mut names: Vec<String> = (0..40).map(|n| format!("g{}/{}", n % 5, ["alpha", "beta", "gamma", "delta"][n % 4].to_owned() + &n.to_string())).collect();
        let reference = tempfile::tempdir().unwrap();
        for name in &names {
            put(&reference.path().join("root"), name, &skill(name.rsplit('/').next().unwrap()));
        }
        let mut state = seed | 1;
        for at in (1..names.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            names.swap(at, usize::try_from(state % (at as u64 + 1)).unwrap());
        }
        let shuffled = tempfile::tempdir().unwrap();
        let cache = shuffled.path().join("cache");
        let mut early = library(&shuffled.path().join("root"), Some(&cache), true);
        for (at, name) in names.iter().enumerate() {
            put(&shuffled.path().join("root"), name, &skill(name.rsplit('/').next().unwrap()));
            if cached && at == 20 {
                early.load();
                early.save_cache();
            }
        }
        let listing = |root: &Path, cache: Option<&Path>| {
            let snapshot = library(root, cache, true).load();
            snapshot.skills.iter().map(|s| (s.id().to_owned(), s.name().to_owned(), s.state)).collect::<Vec<_>>()
        };
        prop_assert_eq!(listing(&shuffled.path().join("root"), Some(&cache)), listing(&reference.path().join("root"), None));
    }
}
