//! Whole command sessions in a small home: what is printed, where, and with which exit code.

mod layouts;
mod session;
mod usage;
mod validate;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, HANGING};
use serde_json::Value;
use session::{assert_session, assert_session_in, run, small_home};
use unicode_width::UnicodeWidthStr as _;

#[test]
fn list() {
    assert_session(
        &["skills", "list"],
        0,
        "\
NAME    STATE       ROOT                    DESCRIPTION
broken  invalid     user:.agents/skills     (no frontmatter: the first line is…
deploy  untrusted   project:.agents/skills  (the project is not trusted)…
gh      ineligible  user:.agents/skills     (program `no-such-program` is not…
memo    ok          user:.agents/skills     Keeps notes
pdf     ok          user:.agents/skills     Reads PDF files
pdf     shadowed    user:.claude/skills     (shadowed by `pdf@user:.agents/skil…
tmux    ok          user:.agents/skills     Drives tmux sessions
",
        "\
7 skills listed, 3 usable
2 findings: run `grove skills check`
",
    );
}

#[test]
fn list_of_some_states() {
    let home = small_home();
    for (states, names) in [
        (&["ok"][..], &["memo", "pdf", "tmux"][..]),
        (&["shadowed"], &["pdf"]),
        (&["untrusted", "invalid"], &["broken", "deploy"]),
        (&["capped"], &[]),
    ] {
        let mut arguments = vec!["skills", "list"];
        arguments.extend(states.iter().flat_map(|state| ["--state", state]));
        let session = run(&home, &arguments);
        let rows = session.stdout.lines().skip(1);
        let found: Vec<&str> = rows.filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(found, names, "{states:?}");
        assert_eq!(session.ending, Ending::Exited(0));
        let json = home.run("home/work", arguments.iter().chain(&["--json"]));
        let json: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(
            json["skills"].as_array().map(Vec::len),
            Some(names.len()),
            "{states:?}"
        );
    }
}

#[test]
fn show() {
    let home = small_home();
    let json = home.run("home/work", ["skills", "show", "tmux", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let digest = json["digest"].as_str().unwrap();
    let file = home.path("home/.agents/skills/shell/tmux/SKILL.md");
    let size = std::fs::metadata(file).unwrap().len();
    let expected = format!(
        "\
name         tmux
id           shell/tmux
state        ok
description  Drives tmux sessions
location     ~/.agents/skills/shell/tmux/SKILL.md
root         user:.agents/skills
for          models and people
size         {size} bytes
digest       {digest}
"
    );
    for name in ["tmux", "shell/tmux", "shell/tmux@user:.agents/skills"] {
        assert_session_in(&home, &["skills", "show", name], 0, &expected, "");
    }
}

#[test]
fn show_says_why_a_skill_is_not_used() {
    let home = small_home();
    for (name, expected) in [
        (
            "deploy",
            "\
name         deploy
id           deploy
state        untrusted
             the project is not trusted; review the project, then run `grove trust`
description  Deploys the project
location     ~/work/.agents/skills/deploy/SKILL.md
root         project:.agents/skills
",
        ),
        (
            "gh",
            "\
name         gh
id           gh
state        ineligible
             program `no-such-program` is not on the path; install `no-such-program`
description  Works with issues
location     ~/.agents/skills/gh/SKILL.md
root         user:.agents/skills
",
        ),
        (
            "pdf@user:.claude/skills",
            "\
name         pdf
id           pdf
state        shadowed
             shadowed by `pdf@user:.agents/skills`; use it as `pdf@user:.claude/skills`, or rename one of the two
instead      pdf@user:.agents/skills
description  Another PDF reader
location     ~/.claude/skills/pdf/SKILL.md
root         user:.claude/skills
",
        ),
    ] {
        let session = run(&home, &["skills", "show", name]);
        assert!(session.stdout.starts_with(expected), "{}", session.stdout);
        assert_eq!((session.ending, session.stderr.as_str()), (Ending::Exited(0), ""));
    }
}

#[test]
fn check() {
    assert_session(
        &["skills", "check"],
        1,
        "\
error[frontmatter-missing]: no frontmatter: the first line is not `---`
  --> [T]/home/.agents/skills/broken/SKILL.md:1:1
  |
1 | no frontmatter here
  | ^
  = help: start the file with a line `---`, then `name:` and `description:`, then a line `---`

warning[name-mismatch]: name `memo` differs from the folder's name `notes`
  --> [T]/home/.agents/skills/notes/SKILL.md
  = help: rename the folder or the skill so that both agree

untrusted deploy@project:.agents/skills: the project is not trusted; review the project, then run `grove trust`
ineligible gh@user:.agents/skills: program `no-such-program` is not on the path; install `no-such-program`

7 skills: 1 ineligible, 1 invalid, 3 ok, 1 shadowed, 1 untrusted
2 findings need attention
",
        "",
    );
}

#[test]
fn roots() {
    let session = run(&small_home(), &["skills", "roots"]);
    assert_eq!(
        session.stdout,
        "\
ROOT                    SKILLS  TRUST      PATH
project:.agents/skills  1       untrusted  ~/work/.agents/skills
user:.agents/skills     5       trusted    ~/.agents/skills
user:.claude/skills     1       trusted    ~/.claude/skills
bundled:skills          0       trusted    ~/bundled
"
    );
    let absent = session.stderr.lines().next().unwrap();
    assert!(absent.starts_with("not there: "), "{absent}");
    for folder in [
        "~/.grove/skills",
        "~/.codex/skills",
        "~/work/.claude/skills",
    ] {
        assert!(absent.contains(folder), "{folder} in {absent}");
    }
    assert!(!absent.contains("~/.claude/skills,"), "{absent}");
    assert_eq!(session.ending, Ending::Exited(0));
}

/// The list that a model is given, by the rule: name, description, location, home as `~`.
fn catalog() -> String {
    let entry = |name: &str, description: &str, folder: &str| {
        format!(
            "<skill><name>{name}</name><description>{description}</description><location>~/.agents/skills/{folder}/SKILL.md</location></skill>\n"
        )
    };
    [
        format!("{}\n", grove_catalog::catalog::INSTRUCTIONS),
        "<available_skills>\n".to_owned(),
        entry("memo", "Keeps notes", "notes"),
        entry("pdf", "Reads PDF files", "pdf"),
        entry("tmux", "Drives tmux sessions", "shell/tmux"),
        "</available_skills>\n".to_owned(),
    ]
    .concat()
}

#[test]
fn overview() {
    let (chars, tokens) = (catalog().len(), catalog().len().div_ceil(4));
    assert_session(
        &[],
        0,
        &format!(
            "\
Grove in ~/work

7 skills found, 3 usable
  project       1  1 untrusted
  user          6  3 ok, 1 shadowed, 1 ineligible, 1 invalid

A model would be told of 3 skills: {chars} characters, about {tokens} tokens.

  grove skills list         every skill with its state
  grove catalog             what a model is told
  grove skills check        2 findings need attention
  grove trust               use this project's skills, once you have looked at them
"
        ),
        "",
    );
}

#[test]
fn doctor() {
    let version = env!("CARGO_PKG_VERSION");
    assert_session(
        &["doctor"],
        0,
        &format!(
            "\
grove {version}
config   [T]/config/grove
state    [T]/state/grove
data     [T]/data/grove
cache    [T]/cache/grove
trust    0 folders

7 skills found, 3 usable
  project       1  1 untrusted
  user          6  3 ok, 1 shadowed, 1 ineligible, 1 invalid
8 agents found, 8 usable
  bundled       8  8 ok

2 findings need attention: run `grove skills check`
"
        ),
        "",
    );
}

#[test]
fn hosts() {
    let session = run(&small_home(), &["hosts"]);
    let first_words: Vec<&str> = session
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        first_words,
        [
            "HOST", "claude", "codex", "copilot", "gemini", "openclaw", "opencode", "pi"
        ]
    );
    assert!(
        session.stderr.contains("grove skills list --host NAME"),
        "{}",
        session.stderr
    );
}

#[test]
fn nothing_found_is_said_with_where_to_look() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    let empty = home.path("home");
    let home = home.with_env("GROVE_BUNDLED_DIR", empty.join("bundled"));
    home.dir("home/work").dir("home/bundled");
    let hint = "no skills found\nhint: `grove skills roots` shows where Grove looks\n";
    assert_session_in(&home, &["skills", "list"], 0, "", hint);
    assert_session_in(
        &home,
        &["skills", "check"],
        0,
        "0 skills: nothing found\nnothing needs attention\n",
        "",
    );
}

/// One finding needs, two findings need.
#[test]
fn one_finding_is_not_two() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/work")
        .skill("home/.agents/skills/notes", "memo", "Keeps notes");
    for (arguments, expected) in [
        (&["skills", "check"][..], "1 finding needs attention\n"),
        (
            &["doctor"],
            "1 finding needs attention: run `grove skills check`\n",
        ),
        (&[], "1 finding needs attention\n"),
    ] {
        let session = run(&home, arguments);
        assert!(
            session.stdout.contains(expected),
            "{expected:?} in:\n{}",
            session.stdout
        );
    }
    home.skill("home/work/.agents/skills/deploy", "deploy", "Deploys");
    let told = run(&home, &["skills", "roots"]).stderr;
    assert!(
        told.contains("1 skill of this project is not used"),
        "{told}"
    );
}

#[test]
fn every_line_of_a_table_fits() {
    let home = small_home();
    let (long, wide) = (
        "long-".repeat(12) + "name",
        "日本語のとても長い名前のスキル",
    );
    home.skill(
        format!("home/.agents/skills/{long}"),
        &long,
        &"Does it. ".repeat(50),
    )
    .skill(
        format!("home/.agents/skills/{wide}"),
        wide,
        &"漢字".repeat(60),
    );
    for (columns, arguments) in [
        ("80", &["skills", "list"][..]),
        ("80", &["skills", "roots"]),
        ("80", &["hosts"]),
        ("80", &["config"]),
        ("60", &["skills", "list"]),
        ("40", &["skills", "list"]),
        ("120", &["skills", "list"]),
    ] {
        let mut command = home.command("home/work");
        command.args(arguments).env("COLUMNS", columns);
        let table = grove_testkit::process::capture(&mut command, HANGING)
            .unwrap()
            .stdout_text();
        assert!(table.lines().count() > 1, "{table}");
        for line in table.lines() {
            let width = line.width();
            assert!(
                width <= columns.parse().unwrap(),
                "{width} of {columns}: {line}"
            );
            assert_eq!(line, line.trim_end());
        }
    }
}
