//! Sessions about the cache: whatever happens to it or to the files, the answer is the one that a
//! first look would give.

mod session;

use std::fs;
use std::path::Path;
use std::thread;

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::Value;
use session::{
    SKILLS, agreed, assert_descriptions, cache_files, codes, home_with, new_home, run_with_cache,
};

#[test]
fn the_second_answer_is_the_first() {
    let home = home_with(40);
    home.file(format!("{SKILLS}/broken/SKILL.md"), "no frontmatter\n");
    home.file(
        format!("{SKILLS}/odd/SKILL.md"),
        "---\nname: odd\ndescription: Use when: x\n---\n",
    );
    home.skill("project/.agents/skills/theirs", "theirs", "Not trusted");
    for arguments in [
        &["skills", "list", "--json"][..],
        &["skills", "list"],
        &["skills", "check", "--json"],
        &["skills", "check"],
        &["skills", "show", "odd"],
        &["doctor", "--json"],
        &[],
    ] {
        let (first, second) = (
            home.run("project", arguments),
            home.run("project", arguments),
        );
        assert_eq!(first.stdout_text(), second.stdout_text(), "{arguments:?}");
        assert_eq!(first.stderr_text(), second.stderr_text(), "{arguments:?}");
        assert_eq!(first.ending, second.ending, "{arguments:?}");
    }
    assert!(!cache_files(&home).is_empty());
}

/// A home with one skill that has been seen.
fn seen() -> TestHome {
    let home = new_home();
    home.skill(format!("{SKILLS}/one"), "one", "aaaa");
    assert_descriptions(&home, &[("one", "aaaa")]);
    home
}

fn file(home: &TestHome) -> std::path::PathBuf {
    home.path(format!("{SKILLS}/one/SKILL.md"))
}

#[test]
fn an_edit_of_the_same_size_is_noticed() {
    let home = seen();
    for text in ["bbbb", "cccc", "dddd", "eeee", "ffff", "gggg", "hhhh"] {
        home.skill(format!("{SKILLS}/one"), "one", text);
        assert_descriptions(&home, &[("one", text)]);
    }
}

#[test]
fn an_edit_that_hides_its_time_is_noticed() {
    let home = seen();
    for text in ["bbbb", "cccc"] {
        let before = fs::metadata(file(&home)).unwrap().modified().unwrap();
        home.skill(format!("{SKILLS}/one"), "one", text);
        let handle = fs::OpenOptions::new()
            .write(true)
            .open(file(&home))
            .unwrap();
        handle.set_modified(before).unwrap();
        drop(handle);
        assert_eq!(
            fs::metadata(file(&home)).unwrap().modified().unwrap(),
            before
        );
        assert_descriptions(&home, &[("one", text)]);
    }
}

#[test]
fn a_replaced_file_is_noticed() {
    let home = seen();
    let new = home.path("home/new.md");
    for text in ["bbbb", "cccc"] {
        let before = fs::metadata(file(&home)).unwrap().modified().unwrap();
        home.file(
            &new,
            format!("---\nname: one\ndescription: {text}\n---\n\n# one\n"),
        );
        fs::File::open(&new).unwrap().set_modified(before).unwrap();
        fs::rename(&new, file(&home)).unwrap();
        assert_descriptions(&home, &[("one", text)]);
    }
}

#[test]
fn a_deleted_and_written_again_file_is_noticed() {
    let home = seen();
    for text in ["bbbb", "cccc", "dddd"] {
        fs::remove_file(file(&home)).unwrap();
        home.skill(format!("{SKILLS}/one"), "one", text);
        assert_descriptions(&home, &[("one", text)]);
    }
}

#[test]
fn what_is_deleted_is_gone_and_what_is_added_is_there() {
    let home = seen();
    home.skill(format!("{SKILLS}/two"), "two", "bbbb");
    assert_descriptions(&home, &[("one", "aaaa"), ("two", "bbbb")]);
    fs::remove_dir_all(home.path(format!("{SKILLS}/one"))).unwrap();
    assert_descriptions(&home, &[("two", "bbbb")]);
    home.skill(format!("{SKILLS}/group/one"), "one", "cccc");
    assert_descriptions(&home, &[("group/one", "cccc"), ("two", "bbbb")]);
    fs::remove_dir_all(home.path(SKILLS)).unwrap();
    assert_descriptions(&home, &[]);
    home.skill(format!("{SKILLS}/one"), "one", "dddd");
    assert_descriptions(&home, &[("one", "dddd")]);
}

#[test]
fn a_renamed_folder_is_noticed_although_its_file_is_the_same() {
    let home = seen();
    let (one, two) = (
        home.path(format!("{SKILLS}/one")),
        home.path(format!("{SKILLS}/two")),
    );
    fs::rename(&one, &two).unwrap();
    let list = agreed(&home, &["skills", "list", "--json"]);
    let skill = &list["skills"][0];
    assert_eq!(
        (&skill["id"], &skill["name"]),
        (&"two".into(), &"one".into())
    );
    assert_eq!(skill["diagnostics"][0]["code"], "name-mismatch");

    fs::rename(&two, &one).unwrap();
    let list = agreed(&home, &["skills", "list", "--json"]);
    assert_eq!(
        list["skills"][0]["diagnostics"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn two_folders_that_change_places_are_noticed() {
    let home = seen();
    home.skill(format!("{SKILLS}/two"), "two", "bbbb");
    assert_descriptions(&home, &[("one", "aaaa"), ("two", "bbbb")]);
    let path = |name: &str| home.path(format!("{SKILLS}/{name}"));
    fs::rename(path("one"), path("three")).unwrap();
    fs::rename(path("two"), path("one")).unwrap();
    fs::rename(path("three"), path("two")).unwrap();
    assert_descriptions(&home, &[("one", "bbbb"), ("two", "aaaa")]);
}

type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn a_damaged_cache_is_said_and_rebuilt() {
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    let damages: [(&str, Damage<'_>); 6] = [
        ("one bit", &flip),
        ("cut short", &|bytes| bytes.truncate(bytes.len() - 1)),
        ("empty", &Vec::clear),
        ("longer", &|bytes| bytes.push(0)),
        ("noise", &|bytes| bytes.fill(0xff)),
        ("another version", &|bytes| {
            bytes[8] = bytes[8].wrapping_add(1);
        }),
    ];
    for (what, damage) in damages {
        let home = home_with(5);
        let first = agreed(&home, &["skills", "list", "--json"]);
        for file in cache_files(&home) {
            let mut bytes = fs::read(&file).unwrap();
            damage(&mut bytes);
            fs::write(&file, bytes).unwrap();
        }
        let damaged = home.run("project", ["skills", "list", "--json"]);
        assert_eq!(damaged.ending, Ending::Exited(0), "{what}");
        let list: Value = serde_json::from_slice(&damaged.stdout).unwrap();
        assert_eq!(list["skills"], first["skills"], "{what}");
        let codes = codes(&list);
        assert!(!codes.is_empty(), "{what}");
        assert!(
            codes.iter().all(|code| *code == ("cache-damaged", "info")),
            "{what}: {codes:?}"
        );
        assert_eq!(
            agreed(&home, &["skills", "list", "--json"]),
            first,
            "{what}: rebuilt"
        );
    }
}

#[test]
fn a_damaged_cache_needs_no_attention() {
    let home = home_with(3);
    agreed(&home, &["skills", "list", "--json"]);
    for file in cache_files(&home) {
        fs::write(file, "damaged").unwrap();
    }
    assert_eq!(
        home.run("project", ["skills", "check"]).ending,
        Ending::Exited(0)
    );
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let home = home_with(5);
    home.file("in-the-way", "a file").dir("read-only/grove");
    home.file("read-only/grove/skills", "a file");
    let expected = agreed(&home, &["skills", "list", "--json"]);
    for cache in [
        home.path("in-the-way"),
        home.path("read-only"),
        Path::new("/proc/no-such-place").to_owned(),
        Path::new("/dev/null").to_owned(),
    ] {
        let finished = run_with_cache(&home, &cache, &["skills", "list", "--json"]);
        assert!(finished.success(), "{}", cache.display());
        let list: Value = serde_json::from_slice(&finished.stdout).unwrap();
        assert_eq!(list["skills"], expected["skills"], "{}", cache.display());
    }
}

#[test]
fn a_link_in_the_place_of_a_cache_file_is_not_written_through() {
    let home = home_with(3);
    agreed(&home, &["skills", "list", "--json"]);
    home.file("precious", "do not touch");
    for file in cache_files(&home) {
        fs::remove_file(&file).unwrap();
        home.link(&file, home.path("precious"));
    }
    home.skill(format!("{SKILLS}/new"), "new", "Added");
    let list: Value =
        serde_json::from_slice(&home.run("project", ["skills", "list", "--json"]).stdout).unwrap();
    assert_eq!(
        list["skills"].as_array().map(Vec::len),
        Some(3 + 1 + 1),
        "and the bundled one"
    );
    assert_eq!(
        fs::read_to_string(home.path("precious")).unwrap(),
        "do not touch"
    );
}

/// The skills that eight processes see which start at once.
fn eight_at_once(home: &TestHome) -> Vec<Value> {
    thread::scope(|scope| {
        let ask = || {
            let finished = run_with_cache(home, home.path("cache"), &["skills", "list", "--json"]);
            let list: Value = serde_json::from_slice(&finished.stdout).unwrap();
            list["skills"].clone()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn eight_processes_at_once_all_have_the_right_answer() {
    let home = home_with(150);
    let expected = |home: &TestHome| {
        let nowhere = tempfile::tempdir().unwrap();
        let fresh = run_with_cache(home, nowhere.path(), &["skills", "list", "--json"]);
        serde_json::from_slice::<Value>(&fresh.stdout).unwrap()["skills"].clone()
    };
    for round in ["cold", "warm", "edited", "damaged"] {
        match round {
            "edited" => {
                for number in 0..150 {
                    let name = format!("skill-{number:03}");
                    let folder = format!("{SKILLS}/group-{}/{name}", number % 2);
                    home.skill(folder, &name, &format!("Edited {number:03}"));
                }
            }
            "damaged" => cache_files(&home)
                .iter()
                .for_each(|file| fs::write(file, "x").unwrap()),
            _ => {}
        }
        let right = expected(&home);
        for answer in eight_at_once(&home) {
            assert_eq!(answer, right, "{round}");
        }
    }
    let left_over: Vec<_> = cache_files(&home)
        .into_iter()
        .filter(|file| file.extension().is_none_or(|end| end != "bin"))
        .collect();
    assert_eq!(left_over, [] as [&Path; 0], "no half-written files stay");
}

#[test]
fn different_questions_do_not_disturb_each_other() {
    let home = home_with(6);
    home.skill("other/a", "a", "In another root")
        .skill("other/a/inner", "inner", "Inside a skill");
    home.skill("home/.codex/skills/b", "b", "For Codex");
    home.skill("project/.agents/skills/c", "c", "In the project");
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    home.file(
        "config/grove/config.toml",
        "[limits]\ncandidates_per_root = 4\n",
    );
    let folders = [SKILLS, "other", "project/.agents/skills"].map(|folder| home.path(folder));
    let [own, other, theirs] = folders.each_ref().map(|folder| folder.to_str().unwrap());
    let questions: [&[&str]; 9] = [
        &["skills", "list", "--json", "--root", theirs],
        &["skills", "list", "--json"],
        &["skills", "list", "--json", "--all"],
        &["skills", "list", "--json", "--root", own],
        &["skills", "list", "--json", "--root", other],
        &[
            "skills", "list", "--json", "--root", other, "--root", own, "--all",
        ],
        &["skills", "list", "--json", "--host", "codex"],
        &["skills", "list", "--json", "--host", "pi"],
        &["skills", "list", "--json", "--root", other, "--all"],
    ];
    let first: Vec<Value> = questions
        .iter()
        .map(|question| agreed(&home, question))
        .collect();
    for (question, answer) in questions.iter().zip(&first).rev() {
        assert_eq!(agreed(&home, question), *answer, "{question:?}");
    }
}

#[test]
fn the_snapshots_digest_follows_every_byte_of_a_file() {
    let home = seen();
    let digest = || agreed(&home, &["skills", "list", "--json"])["snapshot"]["digest"].clone();
    let text = fs::read_to_string(file(&home)).unwrap();
    let before = digest();
    for other in [
        text.replace("# one", "# two"),
        format!("{text}\n"),
        text.replace("aaaa", "bbbb"),
    ] {
        fs::write(file(&home), &other).unwrap();
        assert_ne!(digest(), before, "{other}");
        fs::write(file(&home), &text).unwrap();
        assert_eq!(digest(), before, "{other}");
    }
}

#[test]
fn an_edit_right_after_a_look_is_never_missed() {
    let home = new_home();
    for number in 0..25 {
        let text = format!("{number:04}");
        home.skill(format!("{SKILLS}/one"), "one", &text);
        let list = home.run("project", ["skills", "list", "--json"]);
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        assert_eq!(list["skills"][0]["description"], text);
    }
}
