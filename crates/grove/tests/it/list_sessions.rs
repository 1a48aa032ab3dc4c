//! Whole command sessions in a small home: what is printed, where, and with which exit code.

mod layouts;
mod usage;
mod validate;

use grove_testkit::session::{Session, column};
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr as _;

/// An empty home with an empty folder to work in.
fn empty() -> Session {
    crate::session().working_in("home/work")
}

/// Seven skills: three usable, and one for each common reason not to be.
fn small() -> Session {
    let session = empty().without_bundled().with_env("COLUMNS", "80");
    let skills = "home/.agents/skills";
    session
        .skill(format!("{skills}/pdf"), "pdf", "Reads PDF files")
        .skill(format!("{skills}/shell/tmux"), "tmux", "Drives tmux sessions")
        .skill(format!("{skills}/notes"), "memo", "Keeps notes")
        .skill("home/.claude/skills/pdf", "pdf", "Another PDF reader")
        .skill("home/work/.agents/skills/deploy", "deploy", "Deploys the project")
        .file(format!("{skills}/broken/SKILL.md"), "no frontmatter here\n")
        .file(
            format!("{skills}/gh/SKILL.md"),
            "---\nname: gh\ndescription: Works with issues\nmetadata: {openclaw: {requires: {bins: [no-such-program]}}}\n---\n",
        );
    session
}

#[test]
fn list() {
    assert_snapshot!(small().grove("skills list"), @"
    NAME    STATE       ROOT                    TOKENS  BODY
    broken  invalid     user:.agents/skills          2     5
        (no frontmatter: the first line is not `---`)
    deploy  untrusted   project:.agents/skills       7     3
        (the project is not trusted) Deploys the project
    gh      ineligible  user:.agents/skills          6     0
        (program `no-such-program` is not on the path) Works with issues
    memo    ok          user:.agents/skills          4     2
        Keeps notes
    pdf     ok          user:.agents/skills          5     2
        Reads PDF files
    pdf     shadowed    user:.claude/skills          6     2
        (shadowed by `pdf@user:.agents/skills`) Another PDF reader
    tmux    ok          user:.agents/skills          6     2
        Drives tmux sessions
    [stderr]
    7 skills listed, 3 usable
    2 findings: run `grove skills check`
    [exit code 0]
    ");
}

#[test]
fn list_of_some_states() {
    let session = small();
    for (states, names) in [
        ("--state ok", &["memo", "pdf", "tmux"][..]),
        ("--state shadowed", &["pdf"]),
        ("--state untrusted --state invalid", &["broken", "deploy"]),
        ("--state capped", &[]),
    ] {
        let words = format!("skills list {states}");
        let table = session.done(&words).stdout;
        let rows = table.lines().skip(1).filter(|row| !row.starts_with(' '));
        let found: Vec<&str> = rows.filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(found, names, "{states}");
        let mut found = column(&session.json(&words)["skills"], "name");
        found.sort();
        assert_eq!(found, names, "{states}");
    }
}

#[test]
fn show() {
    let session = small();
    let file = session.read("home/.agents/skills/shell/tmux/SKILL.md");
    let digest = session.json("skills show tmux")["digest"].clone();
    let shown = session.done("skills show tmux");
    assert_snapshot!(shown, @"
    name         tmux
    id           shell/tmux
    state        ok
    description  Drives tmux sessions
    location     ~/.agents/skills/shell/tmux/SKILL.md
    root         user:.agents/skills
    for          models and people
    size         61 bytes
    tokens       about 6 in a list, 2 for its instructions
    digest       [DIGEST]
    [exit code 0]
    ");
    assert_eq!(file.len(), 61);
    for name in ["shell/tmux", "shell/tmux@user:.agents/skills"] {
        let same = session.done(["skills", "show", name]);
        assert_eq!(same.stdout, shown.stdout);
    }
    shown.prints([digest.as_str().unwrap()]);
}

#[test]
fn show_says_why_a_skill_is_not_used() {
    let session = small();
    let start_of = |name: &str| {
        let shown = session.done(["skills", "show", name]);
        assert_eq!(shown.stderr, "");
        let (start, _) = shown.stdout.split_once("\nfor ").unwrap();
        start.to_owned()
    };
    assert_snapshot!(start_of("deploy"), @"
    name         deploy
    id           deploy
    state        untrusted
                 the project is not trusted; review the project, then run `grove trust`
    description  Deploys the project
    location     ~/work/.agents/skills/deploy/SKILL.md
    root         project:.agents/skills
    ");
    assert_snapshot!(start_of("gh"), @"
    name         gh
    id           gh
    state        ineligible
                 program `no-such-program` is not on the path; install `no-such-program`
    description  Works with issues
    location     ~/.agents/skills/gh/SKILL.md
    root         user:.agents/skills
    ");
    assert_snapshot!(start_of("pdf@user:.claude/skills"), @"
    name         pdf
    id           pdf
    state        shadowed
                 shadowed by `pdf@user:.agents/skills`; use it as `pdf@user:.claude/skills`, or rename one of the two
    instead      pdf@user:.agents/skills
    description  Another PDF reader
    location     ~/.claude/skills/pdf/SKILL.md
    root         user:.claude/skills
    ");
}

#[test]
fn check() {
    assert_snapshot!(small().grove("skills check"), @"
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
    [exit code 1]
    ");
}

#[test]
fn roots() {
    let roots = small().done("skills roots");
    assert_snapshot!(roots.stdout, @"
    ROOT                    SKILLS  TRUST      PATH
    project:.agents/skills  1       untrusted  ~/work/.agents/skills
    user:.agents/skills     5       trusted    ~/.agents/skills
    user:.claude/skills     1       trusted    ~/.claude/skills
    bundled:skills          0       trusted    ~/bundled
    ");
    let absent = roots.stderr.lines().next().unwrap();
    assert!(absent.starts_with("missing: "), "{absent}");
    for folder in [
        "~/.grove/skills",
        "~/.codex/skills",
        "~/work/.claude/skills",
    ] {
        assert!(absent.contains(folder), "{folder} in {absent}");
    }
    assert!(!absent.contains("~/.claude/skills,"), "{absent}");
}

/// The list that a model is given, by the rule: name, description, location, home as `~`.
fn catalog() -> String {
    let entry = |name: &str, description: &str, folder: &str| {
        format!(
            "<skill><name>{name}</name><description>{description}</description><location>~/.agents/skills/{folder}/SKILL.md</location></skill>\n"
        )
    };
    let entries = [
        entry("memo", "Keeps notes", "notes"),
        entry("pdf", "Reads PDF files", "pdf"),
        entry("tmux", "Drives tmux sessions", "shell/tmux"),
    ]
    .concat();
    let instructions = grove_catalog::catalog::INSTRUCTIONS;
    format!("{instructions}\n<available_skills>\n{entries}</available_skills>\n")
}

#[test]
fn overview() {
    let tokens = catalog().len().div_ceil(4).to_string();
    let shown = small().grove([""; 0]).to_string();
    assert_snapshot!(shown.replace(&tokens, "[COUNTED]"), @"
    Grove in ~/work

    7 skills found, 3 usable
      project       1  1 untrusted
      user          6  3 ok, 1 shadowed, 1 ineligible, 1 invalid

    SHOWN BY     SKILLS  WHOLE  CUT  NAME ONLY  NOT SHOWN  TOKENS  AGENTS  PROBLEMS
    Grove             3      3    0          0          0     [COUNTED]       8         2
    Claude Code       1      1    0          0          0      23       0         0

    Needs attention:
      1 skill is in a project that is not trusted: `grove trust`
      Grove: 2 problems: `grove skills check`

      grove skills list         every skill with its state
      grove catalog             what a model is told
      grove why NAME            why a skill is shown or missing, host by host
      grove init                what is set up to run agents, and what to do next
    [exit code 0]
    ");
}

#[test]
fn doctor() {
    assert_snapshot!(small().grove("doctor"), @"
    grove [VERSION]
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

    provider anthropic (anthropic) at https://api.anthropic.com: key in the variable `ANTHROPIC_API_KEY` is missing
    provider openai (openai-responses) at https://api.openai.com/v1: key in the variable `OPENAI_API_KEY` is missing

    2 findings need attention: run `grove skills check`
    [exit code 0]
    ");
}

#[test]
fn hosts() {
    let hosts = small()
        .done("hosts")
        .says(["grove skills list --host NAME"]);
    let rows = hosts.stdout.lines().filter(|row| !row.starts_with(' '));
    let first_words: Vec<&str> = rows.filter_map(|row| row.split(' ').next()).collect();
    let known = "HOST claude codex copilot gemini openclaw opencode pi";
    assert_eq!(first_words.join(" "), known);
}

#[test]
fn nothing_found_is_said_with_where_to_look() {
    let session = empty().without_bundled();
    assert_snapshot!(session.transcript(["skills list", "skills check"]), @"
    $ grove skills list
    [stderr]
    no skills found
    hint: `grove skills roots` shows where Grove looks
    [exit code 0]
    $ grove skills check
    0 skills: nothing found
    nothing needs attention
    [exit code 0]
    ");
}

/// One finding needs, two findings need.
#[test]
fn one_finding_is_not_two() {
    let session = empty();
    session.skill("home/.agents/skills/notes", "memo", "Keeps notes");
    for (words, expected) in [
        ("skills check", "1 finding needs attention\n"),
        (
            "doctor",
            "1 finding needs attention: run `grove skills check`\n",
        ),
        ("", "Grove: 1 problem: `grove skills check`\n"),
    ] {
        session.grove(words).prints([expected]);
    }
    session.skill("home/work/.agents/skills/deploy", "deploy", "Deploys");
    let told = session.grove("skills roots");
    told.says(["1 skill of this project is not used"]);
}

#[test]
fn every_line_of_a_table_fits() {
    let long = "long-".repeat(12) + "name";
    let wide = "日本語のとても長い名前のスキル";
    for (columns, commands) in [
        (80, &["skills list", "skills roots", "hosts", "config"][..]),
        (60, &["skills list"]),
        (40, &["skills list"]),
        (120, &["skills list"]),
    ] {
        let session = small().with_env("COLUMNS", columns.to_string());
        for (name, description) in [(&*long, "Does it. ".repeat(50)), (wide, "漢字".repeat(60))] {
            session.skill(format!("home/.agents/skills/{name}"), name, &description);
        }
        for words in commands {
            let table = session.grove(*words).stdout;
            assert!(table.lines().count() > 1, "{table}");
            for line in table.lines() {
                let width = line.width();
                // A name is never cut.
                let fits = width <= columns || line.starts_with(&*long);
                assert!(fits, "{width} of {columns}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}
