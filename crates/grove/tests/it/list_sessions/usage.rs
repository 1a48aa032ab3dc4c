//! What is typed wrong, what is asked for and not there, and readers that go away.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use grove_testkit::process::{Ending, HANGING, capture, stream};
use grove_testkit::session::{Session, USER_CONFIG};
use insta::assert_snapshot;

use super::{empty, small};

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    assert_snapshot!(small().transcript(["skills show tmxu", "skills show kubernetes"]), @"
    $ grove skills show tmxu
    [stderr]
    error: no skill is called `tmxu`
    hint: did you mean `tmux`?
    [exit code 1]
    $ grove skills show kubernetes
    [stderr]
    error: no skill is called `kubernetes`
    hint: `grove skills list` lists them all
    [exit code 1]
    ");
}

#[test]
fn a_name_that_several_bear_is_answered_with_their_addresses() {
    let session = empty();
    session
        .skill("home/.agents/skills/aws/deploy", "deploy", "To one cloud")
        .skill("home/.agents/skills/gcp/deploy", "deploy", "To another");
    assert_snapshot!(session.grove("skills show deploy"), @"
    [stderr]
    error: 2 skills are called `deploy`
    hint: grove skills show 'aws/deploy@user:.agents/skills'
    hint: grove skills show 'gcp/deploy@user:.agents/skills'
    [exit code 1]
    ");
    for id in ["aws/deploy", "gcp/deploy@user:.agents/skills"] {
        session.done(["skills", "show", id]);
    }
}

#[test]
fn a_hint_can_be_pasted_into_a_shell_and_looks_in_the_same_place() {
    let session = small();
    session
        .skill("home/work/it's/a", "same", "d")
        .skill("home/work/it's/b", "same", "d");
    assert_snapshot!(session.grove("skills show same --all --root it's"), @r"
    [stderr]
    error: 2 skills are called `same`
    hint: grove skills show --root 'it'\''s' --all 'a@user:it'\''s'
    hint: grove skills show --root 'it'\''s' --all 'b@user:it'\''s'
    [exit code 1]
    ");
}

#[test]
fn paths_are_shown_with_every_blank_and_nothing_hidden() {
    let session = small();
    session.skill("home/work/r/two  blanks", "blanks", "d");
    session.grove("skills show blanks --root r").prints([
        "\nid           two  blanks\n",
        "\nlocation     ~/work/r/two  blanks/SKILL.md\n",
    ]);
    session.dir("home/a\n\u{1b}[2Jb");
    let shown = session.grove_in("home/a\n\u{1b}[2Jb", "").stdout;
    let start = "Grove in ~/a\\u{a}\\u{1b}[2Jb\n";
    assert!(shown.starts_with(start), "{shown}");
}

#[test]
fn a_working_folder_that_is_not_utf8_is_shown_as_well_as_it_can_be() {
    let session = small();
    let folder = Path::new("home").join(OsStr::from_bytes(b"w\xff"));
    session.dir(&folder);
    for words in ["", "doctor", "config", "trust --list", "untrust"] {
        session.json_in(&folder, words);
    }
    let state = session.path(&folder);
    session.with_env("XDG_STATE_HOME", state).json("doctor");
}

#[test]
fn a_working_folder_that_is_gone_is_an_error() {
    let session = small();
    for (words, code) in [("skills list", 4), ("doctor", 4), ("completions bash", 0)] {
        session.dir("home/gone");
        let program = env!("CARGO_BIN_EXE_grove");
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("rmdir ../gone; exec {program} {words}")])
            .current_dir(session.path("home/gone"))
            .env("HOME", session.path("home"));
        let finished = capture(&mut command, HANGING).unwrap();
        assert_eq!(finished.ending, Ending::Exited(code), "{words}");
        let told = finished.stderr_text();
        let gone = "error: the working folder no longer exists\n";
        assert_eq!(told.starts_with(gone), code == 4, "{told}");
    }
}

#[test]
fn nothing_listed_is_explained() {
    let session = small();
    let told = session.grove("skills list --state changed").stderr;
    assert_eq!(told, "no skill is changed\n");
    let told = session.grove("skills list --root nowhere").stderr;
    let expected = "no skills found\nwarning[root-unreadable]";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn skills_that_wait_are_not_called_nothing() {
    let session = empty();
    session.skill("home/work/.agents/skills/deploy", "deploy", "Deploys");
    let checked = session.done("skills check").stdout;
    let waits = "\nno findings; 1 skill is not used for the reason above\n";
    assert!(checked.ends_with(waits), "{checked}");
}

#[test]
fn show_tells_who_is_asked_instead_and_no_size_of_what_was_not_read() {
    let session = small();
    let shown = session.grove("skills show pdf@user:.claude/skills");
    shown.prints([
        "\nfor          neither models nor people; models and people use `pdf@user:.agents/skills` instead\n",
    ]);
    session.dir("home/work/r/odd/SKILL.md");
    let shown = session.grove("skills show odd --root r");
    shown.prints(["not-regular-file"]).lacks(["\nsize"]);
}

#[test]
fn configuration_that_is_there_is_said_to_be() {
    // Wide enough for the path of any temporary folder.
    let session = small().with_env("COLUMNS", "1000");
    session.file(USER_CONFIG, "[skills.entries.pdf]\napi_key = \"k\"\n");
    let shown = session.grove("config").stdout;
    let row = shown.lines().find(|line| line.contains("api_key")).unwrap();
    assert!(row.ends_with("config.toml"), "{row}");
    session.file(USER_CONFIG, b"\xff");
    session.grove("config").lacks(["no configuration file"]);
}

#[test]
fn what_is_typed_wrong_is_a_usage_error() {
    let session = small();
    for words in [
        "frobnicate",
        "skills",
        "skills lst",
        "skills show",
        "skills list --nope",
        "skills list --state good",
        "skills list --host emacs",
        "skills list --host pi --root .",
        "validate",
        "completions cobol",
        "trust --list --follow",
        "--root r skills list",
        "--json hosts",
        "--host bogus skills list",
    ] {
        let refused = session.refused(words).fails(2);
        assert!(!refused.stderr.is_empty(), "{words}");
    }
    let told = session.grove("skills list --state good").stderr;
    assert_snapshot!(told, @"
    error: unknown state `good`
    hint: states: ok, shadowed, capped, ineligible, untrusted, changed, disabled, filtered, invalid
    ");
}

#[test]
fn flags_in_front_of_a_command_are_refused_with_where_to_put_them() {
    let session = small();
    let told = session.grove("--json skills list").stderr;
    let hint = "hint: put the flags after the command: `grove skills list --json`\n";
    assert!(told.ends_with(hint), "{told}");
    session.grove("--bogus skills").lacks(["put the flags"]);
}

#[test]
fn states_and_hosts_are_known_in_any_case() {
    let session = small();
    for typed in ["skills list --state OK", "skills list --host Claude"] {
        let plain = session.done(&typed.to_lowercase()).stdout;
        assert!(!plain.is_empty());
        assert_eq!(session.done(typed).stdout, plain);
    }
}

#[test]
fn help_and_version_are_data() {
    let session = small();
    for words in [
        "--help",
        "skills --help",
        "skills list --help",
        "help",
        "help skills list",
        "--version",
    ] {
        let told = session.done(words);
        assert!(!told.stdout.is_empty() && told.stderr.is_empty(), "{words}");
    }
    let version = format!("grove {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(session.grove("--version").stdout, version);
    let help = session.grove("--help").stdout;
    assert_eq!(session.grove("help").stdout, help);
}

#[test]
fn completions_are_printed_for_every_shell() {
    let session = small();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = session.done(["completions", shell]);
        script.prints(["grove", "skills", "validate", "host"]);
    }
}

#[test]
fn a_root_that_is_not_there_is_said() {
    let session = small();
    for (folder, code) in [
        ("nowhere", "warning[root-unreadable]"),
        ("../.agents/skills/pdf/SKILL.md", "warning[root-invalid]"),
    ] {
        let checked = session.grove(["skills", "check", "--root", folder]);
        checked.fails(1).prints([code]);
        session.done(["skills", "list", "--root", folder]);
    }
}

/// A pipe that nobody reads.
fn nobody() -> io::PipeWriter {
    io::pipe().unwrap().1
}

fn full_disk() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// Runs a command with these streams.
fn streamed(
    session: &Session,
    words: &str,
    out: impl Into<Stdio>,
    err: impl Into<Stdio>,
) -> Ending {
    let mut command = session.command("home/work");
    let words = words.split_whitespace();
    command.args(words).stdout(out).stderr(err);
    stream(&mut command, HANGING).unwrap().ending
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let session = small();
    for words in ["skills list --json", "completions bash", "--help", ""] {
        let errors = File::create(session.path("errors")).unwrap();
        let ending = streamed(&session, words, nobody(), errors);
        assert_eq!(ending, Ending::Exited(0), "{words}");
        let told = session.read("errors");
        let is_silent = !told.contains("panicked") && !told.contains("error");
        assert!(is_silent, "{words}: {told}");
    }
}

#[test]
fn findings_are_told_by_the_exit_code_even_if_nobody_reads_them() {
    let session = small();
    let gone = streamed(&session, "skills check", nobody(), full_disk());
    let shown = File::create(session.path("shown")).unwrap();
    let no_notes = streamed(&session, "skills check", shown, full_disk());
    assert_eq!([gone, no_notes], [Ending::Exited(1); 2]);
}

#[test]
fn a_cache_that_cannot_be_written_is_said_beside_the_data() {
    let session = small();
    session.file("in-the-way", "a file");
    let in_the_way = session.path("in-the-way");
    let session = session.with_env("XDG_CACHE_HOME", in_the_way);
    let listed = session.done("skills list --json");
    let told = listed.stderr.matches("info[cache-unwritable]").count();
    assert_eq!(told, 1, "once for all roots: {listed}");
    assert!(!listed.stdout.contains("cache-unwritable"));
}

#[test]
fn a_full_disk_is_not_taken_for_success() {
    let session = small();
    let errors = File::create(session.path("errors")).unwrap();
    let ending = streamed(&session, "skills list --json", full_disk(), errors);
    assert_eq!(ending, Ending::Exited(4), "nothing was written");
    let told = session.read("errors");
    assert!(told.contains("error"), "{told}");
}

/// Other programs have other names for the same, and whoever types one of them means the command here.
#[test]
fn names_of_other_programs_are_understood_and_help_has_four_groups() {
    let session = small();
    let plain = session.done("skills list").stdout;
    for typed in ["ls", "skills ls"] {
        assert_eq!(session.done(typed).stdout, plain, "{typed}");
    }
    for typed in ["ps", "status", "runs ls", "runs status"] {
        session.done(typed).says(["no runs"]);
    }
    for typed in [
        "status zzz",
        "logs zzz",
        "attach zzz",
        "cancel zzz",
        "retry zzz",
    ] {
        session
            .grove(typed)
            .fails(1)
            .says(["there is no run `zzz`"]);
    }
    let help = session.done("--help").stdout;
    let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ');
    let headings: Vec<&str> = help.lines().filter(is_heading).collect();
    assert_eq!(
        headings,
        [
            "Skills and agents:",
            "Running agents:",
            "Connecting hosts:",
            "Checking and maintenance:",
            "Options:"
        ]
    );
    assert_eq!(help.matches("  Example: grove ").count(), 4);
    assert!(help.contains("ls (skills list)"), "{help}");
}
