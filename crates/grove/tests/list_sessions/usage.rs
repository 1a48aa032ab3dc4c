//! What is typed wrong, what is asked for and not there, and readers that go away.

use std::fs::File;
use std::io;
use std::time::Duration;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, capture, stream};

use crate::session::{assert_session, assert_session_in, run, small_home};

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    assert_session(
        &["skills", "show", "tmxu"],
        1,
        "",
        "error: no skill is called `tmxu`\nhint: did you mean `tmux`?\n",
    );
    assert_session(
        &["skills", "show", "kubernetes"],
        1,
        "",
        "error: no skill is called `kubernetes`\nhint: `grove skills list` lists them all\n",
    );
}

#[test]
fn a_name_that_several_bear_is_answered_with_their_addresses() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("home/work")
        .skill("home/.agents/skills/aws/deploy", "deploy", "To one cloud")
        .skill("home/.agents/skills/gcp/deploy", "deploy", "To another");
    assert_session_in(
        &home,
        &["skills", "show", "deploy"],
        1,
        "",
        "\
error: 2 skills are called `deploy`
hint: grove skills show 'aws/deploy@user:.agents/skills'
hint: grove skills show 'gcp/deploy@user:.agents/skills'
",
    );
    for id in ["aws/deploy", "gcp/deploy@user:.agents/skills"] {
        assert_eq!(
            run(&home, &["skills", "show", id]).ending,
            Ending::Exited(0),
            "{id}"
        );
    }
}

#[test]
fn what_is_typed_wrong_is_a_usage_error() {
    let home = small_home();
    for arguments in [
        &["frobnicate"][..],
        &["skills"],
        &["skills", "lst"],
        &["skills", "show"],
        &["skills", "list", "--nope"],
        &["skills", "list", "--state", "good"],
        &["skills", "list", "--host", "emacs"],
        &["skills", "list", "--host", "pi", "--root", "."],
        &["validate"],
        &["completions", "cobol"],
        &["trust", "--list", "--follow"],
    ] {
        let session = run(&home, arguments);
        assert_eq!(session.ending, Ending::Exited(2), "{arguments:?}");
        assert_eq!(session.stdout, "", "{arguments:?}");
        assert!(!session.stderr.is_empty(), "{arguments:?}");
    }
    let told = run(&home, &["skills", "list", "--state", "good"]).stderr;
    assert_eq!(
        told,
        "\
error: unknown state `good`
hint: states: ok, shadowed, capped, ineligible, untrusted, changed, disabled, filtered, invalid
"
    );
}

#[test]
fn help_and_version_are_data() {
    let home = small_home();
    for arguments in [
        &["--help"][..],
        &["skills", "--help"],
        &["skills", "list", "--help"],
        &["--version"],
    ] {
        let session = run(&home, arguments);
        assert_eq!(session.ending, Ending::Exited(0), "{arguments:?}");
        assert!(
            !session.stdout.is_empty() && session.stderr.is_empty(),
            "{arguments:?}"
        );
    }
    let version = format!("grove {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&home, &["--version"]).stdout, version);
}

#[test]
fn completions_are_printed_for_every_shell() {
    let home = small_home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let session = run(&home, &["completions", shell]);
        assert_eq!(session.ending, Ending::Exited(0), "{shell}");
        for word in ["grove", "skills", "validate", "--host"] {
            let bare = word.trim_start_matches('-');
            assert!(session.stdout.contains(bare), "{word} for {shell}");
        }
    }
}

#[test]
fn a_root_that_is_not_there_is_said() {
    let home = small_home();
    for (folder, code) in [
        ("nowhere", "root-unreadable"),
        ("../.agents/skills/pdf/SKILL.md", "root-invalid"),
    ] {
        let checked = run(&home, &["skills", "check", "--root", folder]);
        assert_eq!(checked.ending, Ending::Exited(1), "{folder}");
        assert!(
            checked.stdout.contains(&format!("warning[{code}]")),
            "{}",
            checked.stdout
        );
        assert_eq!(
            run(&home, &["skills", "list", "--root", folder]).ending,
            Ending::Exited(0)
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = small_home();
    let errors = home.path("errors");
    for arguments in [
        &["skills", "list", "--json"][..],
        &["completions", "bash"],
        &["--help"],
        &[],
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = home.command("home/work");
        command
            .args(arguments)
            .stdout(writer)
            .stderr(File::create(&errors).unwrap());
        let finished = stream(&mut command, Duration::from_mins(1)).unwrap();
        assert_eq!(finished.ending, Ending::Exited(0), "{arguments:?}");
        let told = std::fs::read_to_string(&errors).unwrap();
        assert!(
            !told.contains("panicked") && !told.contains("error"),
            "{arguments:?}: {told}"
        );
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_said_beside_the_data() {
    let home = small_home();
    home.file("in-the-way", "a file");
    let mut command = home.command("home/work");
    command
        .args(["skills", "list", "--json"])
        .env("XDG_CACHE_HOME", home.path("in-the-way"));
    let finished = capture(&mut command, Duration::from_mins(1)).unwrap();
    assert_eq!(finished.ending, Ending::Exited(0));
    let told = finished.stderr_text();
    assert_eq!(
        told.matches("info[cache-unwritable]").count(),
        1,
        "once for all roots: {told}"
    );
    assert!(!finished.stdout_text().contains("cache-unwritable"));
}

#[test]
fn a_full_disk_is_not_taken_for_success() {
    let home = small_home();
    let errors = home.path("errors");
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = home.command("home/work");
    command
        .args(["skills", "list", "--json"])
        .stdout(full)
        .stderr(File::create(&errors).unwrap());
    let finished = stream(&mut command, Duration::from_mins(1)).unwrap();
    assert_eq!(finished.ending, Ending::Exited(4), "nothing was written");
    let told = std::fs::read_to_string(&errors).unwrap();
    assert!(told.contains("error"), "{told}");
}
