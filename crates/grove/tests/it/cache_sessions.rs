//! Sessions about the cache: whatever happens to it or to the files, the answer is the one that a
//! first look would give.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use grove_testkit::process::{HANGING, capture};
use grove_testkit::session::{Arguments, Session, USER_CONFIG, rows};
use serde_json::Value;

use crate::session;

const SKILLS: &str = "home/.agents/skills";
const ONE: &str = "home/.agents/skills/one";
const ONE_FILE: &str = "home/.agents/skills/one/SKILL.md";

/// Writes this many skills in two groups.
fn put_skills(session: &Session, count: usize, word: &str) {
    for number in 0..count {
        let name = format!("skill-{number:03}");
        let folder = format!("{SKILLS}/group-{}/{name}", number % 2);
        session.skill(folder, &name, &format!("{word} {number:03}"));
    }
}

fn session_with(count: usize) -> Session {
    let session = session();
    put_skills(&session, count, "Number");
    session
}

/// The JSON of a command with another cache folder than the home's own.
fn asked_with_cache(session: &Session, cache: &Path, words: &str) -> Value {
    let mut command = session.command("project");
    command.args(words.arguments()).arg("--json");
    command.env("XDG_CACHE_HOME", cache);
    let finished = capture(&mut command, HANGING).unwrap();
    let finished = finished.require_success(words).unwrap();
    serde_json::from_slice(&finished.stdout).unwrap()
}

/// Asks the home's own cache and no cache at all; both must say the same, which is given.
#[track_caller]
fn agreed(session: &Session, words: &str) -> Value {
    let cached = session.json(words);
    let nowhere = tempfile::tempdir().unwrap();
    let fresh = asked_with_cache(session, nowhere.path(), words);
    assert_eq!(cached.to_string(), fresh.to_string());
    cached
}

/// The description of every skill that is not bundled, by id.
#[track_caller]
fn assert_descriptions(session: &Session, expected: &[[&str; 2]]) {
    let list = agreed(session, "skills list");
    let mut skills = rows(&list["skills"], ["id", "description", "source"]);
    skills.retain(|[.., source]| source != "bundled");
    let skills = skills.into_iter().map(|[id, text, _]| [id, text]);
    assert_eq!(skills.collect::<Vec<_>>(), expected);
}

/// The files of the home's own cache.
fn cache_files(session: &Session) -> Vec<PathBuf> {
    let folder = session.path("cache/grove/skills");
    let names = session.entries(&folder).into_iter();
    names.map(|name| folder.join(name)).collect()
}

#[test]
fn the_second_answer_is_the_first() {
    let session = session_with(40);
    let odd = "---\nname: odd\ndescription: Use when: x\n---\n";
    session
        .file(format!("{SKILLS}/broken/SKILL.md"), "no frontmatter\n")
        .file(format!("{SKILLS}/odd/SKILL.md"), odd)
        .skill("project/.agents/skills/theirs", "theirs", "Not trusted");
    for command in [
        "skills list --json",
        "skills list",
        "skills check --json",
        "skills check",
        "skills show odd",
        "doctor --json",
        "",
    ] {
        let [first, second] = [(); 2].map(|()| session.grove(command));
        assert_eq!(first.stdout, second.stdout, "{command}");
        assert_eq!(first.stderr, second.stderr, "{command}");
        assert_eq!(first.code, second.code, "{command}");
    }
    assert!(!cache_files(&session).is_empty());
}

/// A home with one skill that has been seen.
fn seen() -> Session {
    let session = session();
    session.skill(ONE, "one", "aaaa");
    assert_descriptions(&session, &[["one", "aaaa"]]);
    session
}

type Edit<'a> = &'a dyn Fn(&Session, &str);

#[test]
fn every_way_to_edit_a_file_is_noticed() {
    let modified = |session: &Session| session.path(ONE_FILE).metadata().unwrap().modified();
    let edits: [(&str, Edit<'_>); 4] = [
        ("of the same size", &|session, text| {
            session.skill(ONE, "one", text);
        }),
        ("with the time of before", &|session, text| {
            let before = modified(session).unwrap();
            session.skill(ONE, "one", text);
            let file = fs::File::options().write(true).open(session.path(ONE_FILE));
            file.unwrap().set_modified(before).unwrap();
            assert_eq!(modified(session).unwrap(), before);
        }),
        ("replaced by another file", &|session, text| {
            let before = modified(session).unwrap();
            let new = session
                .skill("home/new", "one", text)
                .path("home/new/SKILL.md");
            fs::File::open(&new).unwrap().set_modified(before).unwrap();
            fs::rename(&new, session.path(ONE_FILE)).unwrap();
        }),
        ("deleted and written again", &|session, text| {
            session.remove(ONE_FILE).skill(ONE, "one", text);
        }),
    ];
    for (how, edit) in edits {
        let session = seen();
        for text in ["bbbb", "cccc", "dddd", "eeee", "ffff", "gggg", "hhhh"] {
            edit(&session, text);
            let list = agreed(&session, "skills list");
            assert_eq!(list["skills"][0]["description"], text, "{how}");
        }
    }
}

#[test]
fn what_is_deleted_is_gone_and_what_is_added_is_there() {
    let session = seen();
    session.skill(format!("{SKILLS}/two"), "two", "bbbb");
    assert_descriptions(&session, &[["one", "aaaa"], ["two", "bbbb"]]);
    session.remove(ONE);
    assert_descriptions(&session, &[["two", "bbbb"]]);
    session.skill(format!("{SKILLS}/group/one"), "one", "cccc");
    assert_descriptions(&session, &[["group/one", "cccc"], ["two", "bbbb"]]);
    session.remove(SKILLS);
    assert_descriptions(&session, &[]);
    session.skill(ONE, "one", "dddd");
    assert_descriptions(&session, &[["one", "dddd"]]);
}

#[test]
fn folders_that_change_names_and_places_are_noticed_although_their_files_are_the_same() {
    let session = seen();
    let rename = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| session.path(format!("{SKILLS}/{name}")));
        fs::rename(from, to).unwrap();
    };
    let first = || {
        let list = agreed(&session, "skills list");
        let [first, ..] = &rows(&list["skills"], ["id", "name", "diagnostics/0/code"])[..] else {
            panic!("{list}");
        };
        first.clone()
    };
    rename("one", "two");
    assert_eq!(first(), ["two", "one", "name-mismatch"]);
    rename("two", "one");
    assert_eq!(first(), ["one", "one", ""]);

    session.skill(format!("{SKILLS}/two"), "two", "bbbb");
    assert_descriptions(&session, &[["one", "aaaa"], ["two", "bbbb"]]);
    rename("one", "three");
    rename("two", "one");
    rename("three", "two");
    assert_descriptions(&session, &[["one", "bbbb"], ["two", "aaaa"]]);
}

type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn a_damaged_cache_is_said_rebuilt_and_needs_no_attention() {
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
        let session = session_with(5);
        let first = agreed(&session, "skills list");
        let damage_all = || {
            for file in cache_files(&session) {
                let mut bytes = fs::read(&file).unwrap();
                damage(&mut bytes);
                fs::write(&file, bytes).unwrap();
            }
        };
        damage_all();
        let list = session.json("skills list");
        assert_eq!(list["skills"], first["skills"], "{what}");
        let found = rows(&list["diagnostics"], ["code", "severity"]);
        assert!(!found.is_empty(), "{what}");
        let expected = vec![["cache-damaged", "info"]; found.len()];
        assert_eq!(found, expected, "{what}");
        assert_eq!(agreed(&session, "skills list"), first, "{what}: rebuilt");
        damage_all();
        session.grove("skills check").ok();
    }
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let session = session_with(5);
    session
        .file("in-the-way", "a file")
        .file("read-only/grove/skills", "a file");
    let expected = agreed(&session, "skills list");
    for cache in [
        session.path("in-the-way"),
        session.path("read-only"),
        PathBuf::from("/proc/no-such-place"),
        PathBuf::from("/dev/null"),
    ] {
        let list = asked_with_cache(&session, &cache, "skills list");
        assert_eq!(list["skills"], expected["skills"], "{}", cache.display());
    }
}

#[test]
fn a_link_in_the_place_of_a_cache_file_is_not_written_through() {
    let session = session_with(3);
    agreed(&session, "skills list");
    session.file("precious", "do not touch");
    for file in cache_files(&session) {
        session.remove(&file).link(&file, session.path("precious"));
    }
    session.skill(format!("{SKILLS}/new"), "new", "Added");
    let list = session.json("skills list");
    let count = list["skills"].as_array().map(Vec::len);
    assert_eq!(count, Some(3 + 1 + 1), "and the bundled one");
    assert_eq!(session.read("precious"), "do not touch");
}

#[test]
fn eight_processes_at_once_all_have_the_right_answer() {
    let session = session_with(150);
    for round in ["cold", "warm", "edited", "damaged"] {
        if round == "edited" {
            put_skills(&session, 150, "Edited");
        }
        if round == "damaged" {
            for file in cache_files(&session) {
                fs::write(file, "x").unwrap();
            }
        }
        let nowhere = tempfile::tempdir().unwrap();
        let right = asked_with_cache(&session, nowhere.path(), "skills list");
        thread::scope(|scope| {
            let ask = || session.json("skills list")["skills"].clone();
            let all: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            for one in all {
                assert_eq!(one.join().unwrap(), right["skills"], "{round}");
            }
        });
    }
    let mut left_over = cache_files(&session);
    left_over.retain(|file| file.extension().is_none_or(|end| end != "bin"));
    assert_eq!(left_over, [] as [&Path; 0], "no half-written files stay");
}

#[test]
fn different_questions_do_not_disturb_each_other() {
    let session = session_with(6);
    session
        .skill("other/a", "a", "In another root")
        .skill("other/a/inner", "inner", "Inside a skill")
        .skill("home/.codex/skills/b", "b", "For Codex")
        .skill("project/.agents/skills/c", "c", "In the project");
    session.trust();
    session.file(USER_CONFIG, "[limits]\ncandidates_per_root = 4\n");
    let questions = [
        "skills list --root .agents/skills",
        "skills list",
        "skills list --all",
        "skills list --root ../home/.agents/skills",
        "skills list --root ../other",
        "skills list --root ../other --root ../home/.agents/skills --all",
        "skills list --host codex",
        "skills list --host pi",
        "skills list --root ../other --all",
    ];
    let first = questions.map(|question| agreed(&session, question));
    for (question, answer) in questions.iter().zip(&first).rev() {
        assert_eq!(agreed(&session, question), *answer, "{question}");
    }
}

#[test]
fn the_snapshots_digest_follows_every_byte_of_a_file() {
    let session = seen();
    let digest = || agreed(&session, "skills list")["snapshot"]["digest"].clone();
    let text = session.read(ONE_FILE);
    let before = digest();
    for other in [
        text.replace("# one", "# two"),
        format!("{text}\n"),
        text.replace("aaaa", "bbbb"),
    ] {
        session.file(ONE_FILE, &other);
        assert_ne!(digest(), before, "{other}");
        session.file(ONE_FILE, &text);
        assert_eq!(digest(), before, "{other}");
    }
}

#[test]
fn an_edit_right_after_a_look_is_never_missed() {
    let session = session();
    for number in 0..25 {
        let text = format!("{number:04}");
        session.skill(ONE, "one", &text);
        let list = session.json("skills list");
        assert_eq!(list["skills"][0]["description"], text);
    }
}
