//! Sessions of `grove` alone and `grove why`: what each host on the machine shows, and why it does not.

use std::path::Path;

use grove_testkit::needs;
use grove_testkit::session::Session;
use grove_testkit::shared;
use serde_json::Value;

/// Every known host with the folder at home that says it is used here.
const HOSTS: [(&str, &str); 7] = [
    ("claude", ".claude"),
    ("codex", ".codex"),
    ("copilot", ".copilot"),
    ("gemini", ".gemini"),
    ("openclaw", ".openclaw"),
    ("opencode", ".config/opencode"),
    ("pi", ".pi/agent"),
];

/// What a command prints with `--json`, whatever its exit code.
fn any_json(session: &Session, words: &str) -> Value {
    session.grove(format!("{words} --json").as_str()).json()
}

/// Links every skill of the corpus side by side into a folder, and each collection as it is into another.
fn link_corpus(session: &Session, folder: &Path, flat: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.join("SKILL.md").is_file() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !session.has(format!("{flat}/{name}")) {
                session.link(format!("{flat}/{name}"), &path);
            }
        } else if path.is_dir() {
            link_corpus(session, &path, flat);
        }
    }
}

fn with_corpus() -> Session {
    let session = crate::session();
    for (_, folder) in HOSTS {
        session.dir(format!("home/{folder}"));
    }
    let corpus = shared::real_corpus().unwrap_or_else(|why| panic!("{why}"));
    link_corpus(&session, &corpus, "home/.claude/skills");
    link_corpus(&session, &corpus, "home/.gemini/skills");
    session.link("home/.agents/skills", &corpus);
    session.link("home/.config/opencode/skills", corpus.join("trailofbits"));
    session.file(
        "home/.claude/agents/helper.md",
        "---\nname: helper\ndescription: Helps\n---\nHelp.\n",
    );
    session
}

#[test]
fn the_numbers_are_those_of_the_catalog_of_every_host() {
    needs![RealCollections];
    let session = with_corpus();
    let overview = session.json("");
    let rows = overview["hosts"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    let known: Vec<&str> = HOSTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [&["grove"], &known[..]].concat());
    let mut cut = 0;
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let is_own = name == "grove";
        let flags = if is_own {
            String::new()
        } else {
            format!(" --host {name}")
        };
        let catalog = session.json(format!("catalog{flags}").as_str());
        let report = &catalog["report"];
        let count = |key: &str| report["counts"][key].as_u64().unwrap();
        let expected = if is_own {
            [
                count("listed"),
                count("shortened"),
                count("named"),
                count("counted") + count("opened") + count("inside"),
            ]
        } else {
            ["full", "shortened", "nameOnly", "leftOut"].map(|key| report[key].as_u64().unwrap())
        };
        let shown = ["whole", "shortened", "nameOnly", "notShown"];
        assert_eq!(
            shown.map(|key| row[key].as_u64().unwrap()),
            expected,
            "{name}"
        );
        assert_eq!(row["skills"], expected.iter().sum::<u64>(), "{name}");
        for size in ["chars", "tokens"] {
            assert_eq!(row[size], catalog[size], "{name}");
        }
        let text = catalog["text"].as_str().unwrap();
        assert_eq!(row["chars"], text.chars().count(), "{name}");
        let check = any_json(&session, &format!("skills check{flags}"));
        assert_eq!(row["problems"], check["findings"], "{name}");
        if row["agents"].is_null() {
            assert_eq!(name, "openclaw");
        } else {
            let agents = session.json(format!("agents list{flags}").as_str());
            let agents = agents["agents"].as_array().unwrap();
            let usable = agents.iter().filter(|agent| agent["state"] == "ok").count();
            assert_eq!(row["agents"], usable, "{name}");
        }
        assert!(row["skills"].as_u64().unwrap() > 0, "{name}");
        cut += expected[1] + expected[2] + expected[3];
    }
    assert!(cut > 0, "some host has more skills than room");
}

#[test]
fn only_hosts_of_this_machine_have_a_row() {
    let session = crate::session();
    let names = |overview: &Value| -> Vec<String> {
        grove_testkit::session::column(&overview["hosts"], "name")
    };
    // What hosts share is nobody's sign.
    session.dir("home/.agents/skills");
    assert_eq!(names(&session.json("")), ["grove"]);
    for (host, folder) in HOSTS {
        session.dir(format!("home/{folder}"));
        assert_eq!(names(&session.json("")), ["grove", host]);
        session.remove(format!("home/{folder}"));
    }
    session.file("home/bin/codex", "");
    let path = session.path("home/bin");
    let session = session.with_env("PATH", &path);
    assert_eq!(names(&session.json("")), ["grove"], "a file is no program");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.join("codex"), mode).unwrap();
    assert_eq!(names(&session.json("")), ["grove", "codex"]);
    assert_eq!(names(&session.json("--host claude")), ["claude"]);
    session.dir("home/skills");
    assert_eq!(names(&session.json("--root home/skills")), ["grove"]);
}

#[test]
fn what_a_host_has_besides_and_is_not_followed_is_said() {
    let session = crate::session().without_bundled();
    session.dir("home/.claude");
    session.done("").lacks(["not followed"]);
    session.file("home/.claude/commands/deploy.md", "Deploy.");
    let said = "Claude Code also reads ~/.claude/commands, which Grove does not follow";
    session.done("").prints([said]);
    let missing = session.grove("why deploy");
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.stderr.contains(said), "{missing}");
    session.skill("home/.claude/skills/pdf", "pdf", "Joins files");
    session.done("why pdf").prints([said]);
    let overview = session.json("");
    let hosts = overview["hosts"].as_array().unwrap();
    let claude = hosts.iter().find(|host| host["name"] == "claude").unwrap();
    assert_eq!(
        claude["notFollowed"],
        serde_json::json!(["~/.claude/commands"])
    );
    assert!(hosts[0].get("notFollowed").is_none(), "{overview}");
}

#[test]
fn what_was_not_read_is_said_in_one_line_wherever_skills_are_counted() {
    let session = crate::session().without_bundled();
    for name in ["a", "b", "c"] {
        session.skill(format!("home/.agents/skills/{name}"), name, "Joins files");
    }
    session.file(
        "config/grove/config.toml",
        "[limits]\ncandidates_per_root = 1\n",
    );
    for words in [
        "",
        "skills list",
        "skills search joins",
        "skills search zzyzx",
    ] {
        let said = session.grove(words);
        let line = "2 skills were not read: raise `limits.candidates_per_root`, or use --all";
        assert_eq!(said.stderr.matches(line).count(), 1, "{words}: {said}");
        let all = session.grove(format!("{words} --all").as_str().trim());
        assert!(!all.stderr.contains("not read"), "{words}: {all}");
    }
}

/// What `grove why` answers for one host.
fn answer(session: &Session, name: &str, kind: &str, host: &str) -> (String, String) {
    let why = any_json(session, &format!("why {name}"));
    let rows = why[kind].as_array().unwrap();
    let row = rows.iter().find(|row| row["host"] == host);
    let row = row.unwrap_or_else(|| panic!("{host} of {why}"));
    let fix = row["fix"].as_str().unwrap_or_default();
    (row["answer"].as_str().unwrap().to_owned(), fix.to_owned())
}

#[test]
fn why_has_an_answer_and_a_fix_for_every_host() {
    let session = crate::session().without_bundled();
    session
        .dir("home/.claude")
        .dir("home/.codex")
        .dir("project/.git");
    let put = |path: &str, front: &str| {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\n{front}\n---\nText.\n");
        session.file(format!("{path}/SKILL.md"), text);
    };
    put("home/.claude/skills/mine", "description: Of Claude");
    put("home/.claude/skills/group/deep", "description: In a group");
    put(
        "home/.claude/skills/hidden",
        "description: d\ndisable-model-invocation: true",
    );
    put("home/.agents/skills/silent", "license: MIT");
    put(
        "home/.agents/skills/needy",
        "description: d\nmetadata: {openclaw: {requires: {bins: [no-such-program]}}}",
    );
    put("home/.agents/skills/wrong", "description: {a: b}");
    put("home/.agents/skills/twice", "description: Of the user");
    put("home/.grove/skills/twice", "description: Of Grove");
    put(
        "project/.agents/skills/theirs",
        "description: Of the project",
    );
    session.file(
        "home/.agents/skills/flat.md",
        "---\nname: flat\ndescription: One file\n---\nx\n",
    );
    session.file(
        "config/grove/config.toml",
        "[skills.entries.off]\nenabled = false\n",
    );
    put("home/.agents/skills/off", "description: Switched off");
    put(
        "home/.claude/skills/some",
        "description: For some files\npaths: src/**",
    );
    put(
        "home/.claude/skills/all",
        "description: For all files\npaths: \"**\"",
    );
    session.file("home/.claude/skills/bare/SKILL.md", "# Bare\n\nText.\n");
    session.file(
        "home/.claude/agents/helper.md",
        "---\nname: helper\ndescription: Helps\n---\nHelp.\n",
    );
    for (name, host, expected, fix) in [
        ("mine", "grove", "whole", ""),
        ("mine", "claude", "whole", ""),
        ("mine", "codex", "not-looked-in", "~/.codex/skills"),
        ("deep", "grove", "whole", ""),
        ("deep", "claude", "too-deep", "~/.claude/skills/deep"),
        ("hidden", "grove", "people-only", "disable-model-invocation"),
        (
            "hidden",
            "claude",
            "people-only",
            "disable-model-invocation",
        ),
        ("silent", "grove", "no-description", "description:"),
        ("needy", "grove", "ineligible", "no-such-program"),
        ("needy", "codex", "whole", ""),
        ("wrong", "grove", "invalid", ""),
        ("twice", "grove", "whole", ""),
        ("theirs", "grove", "untrusted", "grove trust"),
        ("theirs", "codex", "whole", ""),
        (
            "theirs",
            "claude",
            "not-looked-in",
            "project/.claude/skills",
        ),
        ("some", "claude", "filtered", "`paths:`"),
        ("some", "grove", "whole", ""),
        ("all", "claude", "whole", ""),
        ("bare", "claude", "whole", ""),
        ("bare", "grove", "invalid", "`---`"),
        ("flat", "grove", "whole", ""),
        ("flat", "codex", "flat-file", "SKILL.md"),
        ("off", "grove", "disabled", "enabled"),
    ] {
        let (said, how) = answer(&session, name, "skills", host);
        assert_eq!(said, expected, "{name} of {host}: {how}");
        assert!(how.contains(fix), "{name} of {host}: {how}");
        assert_eq!(how.is_empty(), said == "whole", "{name} of {host}: {how}");
    }
    let all = session.json("why twice");
    let answers = grove_testkit::session::column(&all["skills"], "answer");
    assert!(answers.contains(&"shadowed".to_owned()), "{all}");
    assert_eq!(answer(&session, "helper", "agents", "claude").0, "usable");
    let (said, fix) = answer(&session, "helper", "agents", "codex");
    assert_eq!(said, "not-looked-in");
    assert!(
        fix.contains("grove agents export helper --host codex"),
        "{fix}"
    );
}

#[test]
fn a_skill_file_in_small_letters_was_not_spoken_of() {
    let session = crate::session();
    session.file(
        "home/.claude/skills/small/skill.md",
        "---\nname: small\ndescription: d\n---\nx\n",
    );
    let nowhere = session.grove("why small").fails(1);
    nowhere.says([
        "~/.claude/skills/small/skill.md",
        "`skill.md` is not `SKILL.md` and was not read",
    ]);
}

#[test]
fn a_name_that_is_nowhere_is_answered_with_near_ones_and_where_it_was_looked_for() {
    let session = crate::session();
    session.skill("home/.agents/skills/polars", "polars", "Frames");
    let nowhere = session.grove("why pollars");
    assert_eq!(nowhere.code, 1, "{nowhere}");
    assert_eq!(nowhere.stdout, "");
    for said in [
        "no skill or agent is called `pollars`",
        "did you mean `polars`?",
        "~/.agents/skills",
    ] {
        assert!(nowhere.stderr.contains(said), "{said}: {nowhere}");
    }
    let json = any_json(&session, "why pollars");
    assert_eq!(json["near"], serde_json::json!(["polars"]));
    assert_eq!(json["skills"], serde_json::json!([]));
}

#[test]
fn why_says_what_a_full_list_does_to_a_skill() {
    let session = crate::session().without_bundled();
    session.dir("home/.claude").dir("home/.copilot");
    for number in 0..700 {
        let name = format!("task-{number:03}");
        let about = format!("Does task {number}. {}", "More about it. ".repeat(20));
        session.skill(format!("home/.claude/skills/{name}"), &name, &about);
        session.link(
            format!("home/.copilot/skills/{name}"),
            session.path(format!("home/.claude/skills/{name}")),
        );
    }
    for (name, host, expected) in [
        ("task-000", "claude", "name-only"),
        ("task-000", "copilot", "whole"),
        ("task-699", "copilot", "left-out"),
        ("task-699", "grove", "name-only"),
    ] {
        let (said, fix) = answer(&session, name, "skills", host);
        assert_eq!(said, expected, "{name} of {host}");
        assert_eq!(fix.is_empty(), said == "whole", "{fix}");
    }
}

/// The table stands among sentences: without headings nobody knows what its numbers are.
#[test]
fn the_table_has_its_headings_in_a_pipe_too() {
    let session = crate::session().without_env("COLUMNS");
    session.skill("home/.agents/skills/a", "a", "d");
    let said = session.done("").prints(["SHOWN BY", "WHOLE", "TOKENS"]);
    assert!(!said.stdout.contains('\t'), "{said}");
}

/// Codex counts tokens itself, line by line and with its own skills: that number is its list's everywhere.
#[test]
fn a_host_that_counts_tokens_has_one_number_of_them() {
    let session = crate::session();
    session.dir("home/.codex");
    for name in ["a", "b", "c"] {
        let about = format!("Does {name} for whoever asks");
        session.skill(format!("home/.codex/skills/{name}"), name, &about);
    }
    let overview = session.json("");
    let hosts = overview["hosts"].as_array().unwrap();
    let row = hosts.iter().find(|row| row["name"] == "codex").unwrap();
    let catalog = session.json("catalog --host codex");
    let used = &catalog["report"]["budget"]["used"];
    assert_eq!(&row["tokens"], used);
    assert_eq!(&catalog["tokens"], used);
    let said = session.done("catalog --host codex");
    said.says([&format!("{used} of ")]);
}

/// A command that is advised looks where the one looked that advises it.
#[test]
fn what_is_advised_looks_at_the_same_skills() {
    let session = crate::session().without_bundled();
    session.file("home/.claude/skills/x/SKILL.md", "no frontmatter\n");
    let check = "`grove skills check --host claude`";
    session.done("doctor --host claude").prints([check]);
    session.done("skills list --host claude").says([check]);
    let root = session.path("home/.claude/skills");
    let root = root.to_str().unwrap();
    let check = format!("`grove skills check --root '{root}'`");
    session.done(["--root", root]).prints([&*check]);
    session.done(["doctor", "--root", root]).prints([&*check]);
}

/// What a reason says already is not said before it.
#[test]
fn the_word_for_a_state_is_said_once() {
    let session = crate::session().without_bundled();
    session.skill("home/.agents/skills/pdf", "pdf", "d").skill(
        "home/.claude/skills/pdf",
        "pdf",
        "e",
    );
    let said = session.done("why pdf").prints(["shadowed by `pdf@"]);
    said.lacks(["shadowed: shadowed"]);
}
