//! What is typed wrong, what is asked for and not there, and readers that go away.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use grove_testkit::home::TestHome;
use grove_testkit::process::{Ending, HANGING, capture, stream};

use super::session::{assert_session, assert_session_in, run, run_in, small_home};

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
fn a_hint_can_be_pasted_into_a_shell_and_looks_in_the_same_place() {
    let home = small_home();
    home.skill("home/work/it's/a", "same", "d")
        .skill("home/work/it's/b", "same", "d");
    assert_session_in(
        &home,
        &["skills", "show", "same", "--all", "--root", "it's"],
        1,
        "",
        r"error: 2 skills are called `same`
hint: grove skills show --root 'it'\''s' --all 'a@user:it'\''s'
hint: grove skills show --root 'it'\''s' --all 'b@user:it'\''s'
",
    );
}

#[test]
fn paths_are_shown_with_every_blank_and_nothing_hidden() {
    let home = small_home();
    home.skill("home/work/r/two  blanks", "blanks", "d");
    let shown = run(&home, &["skills", "show", "blanks", "--root", "r"]).stdout;
    assert!(shown.contains("\nid           two  blanks\n"), "{shown}");
    assert!(
        shown.contains("\nlocation     ~/work/r/two  blanks/SKILL.md\n"),
        "{shown}"
    );
    home.dir("home/a\n\u{1b}[2Jb");
    let shown = run_in(&home, "home/a\n\u{1b}[2Jb", &[]).stdout;
    assert!(
        shown.starts_with("Grove in ~/a\\u{a}\\u{1b}[2Jb\n"),
        "{shown}"
    );
}

#[test]
fn a_working_folder_that_is_not_utf8_is_shown_as_well_as_it_can_be() {
    let home = small_home();
    let folder = Path::new("home").join(OsStr::from_bytes(b"w\xff"));
    home.dir(&folder);
    for arguments in [
        &["--json"][..],
        &["doctor", "--json"],
        &["config", "--json"],
        &["trust", "--list", "--json"],
        &["untrust", "--json"],
    ] {
        let finished = home.run(&folder, arguments);
        assert_eq!(finished.ending, Ending::Exited(0), "{arguments:?}");
    }
    let mut command = home.command("home/work");
    command
        .args(["doctor", "--json"])
        .env("XDG_STATE_HOME", home.path(&folder));
    let finished = capture(&mut command, HANGING).unwrap();
    assert_eq!(finished.ending, Ending::Exited(0));
}

#[test]
fn a_working_folder_that_is_gone_is_an_error() {
    let home = small_home();
    for (arguments, code) in [("skills list", 4), ("doctor", 4), ("completions bash", 0)] {
        home.dir("home/gone");
        let mut command = std::process::Command::new("sh");
        let script = format!(
            "rmdir ../gone; exec {} {arguments}",
            env!("CARGO_BIN_EXE_grove")
        );
        command
            .args(["-c", &script])
            .current_dir(home.path("home/gone"))
            .env("HOME", home.path("home"));
        let finished = capture(&mut command, HANGING).unwrap();
        assert_eq!(finished.ending, Ending::Exited(code), "{arguments}");
        let told = finished.stderr_text();
        let gone = "error: the working folder does not exist any more\n";
        assert_eq!(told.starts_with(gone), code == 4, "{told}");
    }
}

#[test]
fn nothing_listed_is_explained() {
    let home = small_home();
    let told = run(&home, &["skills", "list", "--state", "changed"]).stderr;
    assert_eq!(told, "no skill is changed\n");
    let told = run(&home, &["skills", "list", "--root", "nowhere"]).stderr;
    assert!(
        told.starts_with("no skills found\nwarning[root-unreadable]"),
        "{told}"
    );
}

#[test]
fn skills_that_wait_are_not_called_nothing() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.skill("home/work/.agents/skills/deploy", "deploy", "Deploys");
    let session = run(&home, &["skills", "check"]);
    assert_eq!(session.ending, Ending::Exited(0));
    assert!(
        session
            .stdout
            .ends_with("\nno findings; 1 skill is not used for the reason above\n"),
        "{}",
        session.stdout
    );
}

#[test]
fn show_tells_who_is_asked_instead_and_no_size_of_what_was_not_read() {
    let home = small_home();
    let shown = run(&home, &["skills", "show", "pdf@user:.claude/skills"]).stdout;
    let who = "\nfor          nobody; models and people use `pdf@user:.agents/skills` instead\n";
    assert!(shown.contains(who), "{shown}");
    home.dir("home/work/r/odd/SKILL.md");
    let shown = run(&home, &["skills", "show", "odd", "--root", "r"]).stdout;
    assert!(
        shown.contains("not-regular-file") && !shown.contains("\nsize"),
        "{shown}"
    );
}

#[test]
fn configuration_that_is_there_is_said_to_be() {
    // Wide enough for the path of any temporary folder.
    let home = small_home().with_env("COLUMNS", "1000");
    home.file(
        "config/grove/config.toml",
        "[skills.entries.pdf]\napi_key = \"k\"\n",
    );
    let shown = run(&home, &["config"]).stdout;
    let row = shown.lines().find(|line| line.contains("api_key")).unwrap();
    assert!(row.ends_with("config.toml"), "{row}");
    home.file("config/grove/config.toml", b"\xff");
    let told = run(&home, &["config"]).stderr;
    assert!(!told.contains("no configuration file"), "{told}");
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
        &["--root", "r", "skills", "list"],
        &["--json", "hosts"],
        &["--host", "bogus", "skills", "list"],
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
fn flags_in_front_of_a_command_are_refused_with_where_to_put_them() {
    let home = small_home();
    let told = run(&home, &["--json", "skills", "list"]).stderr;
    assert!(
        told.ends_with("hint: put the flags after the command: `grove skills list --json`\n"),
        "{told}"
    );
    let told = run(&home, &["--bogus", "skills"]).stderr;
    assert!(!told.contains("put the flags"), "{told}");
}

#[test]
fn states_and_hosts_are_known_in_any_case() {
    let home = small_home();
    for (typed, plain) in [
        (["--state", "OK"], ["--state", "ok"]),
        (["--host", "Claude"], ["--host", "claude"]),
    ] {
        let [typed, plain] =
            [typed, plain].map(|[flag, word]| run(&home, &["skills", "list", flag, word]));
        assert_eq!(typed.ending, Ending::Exited(0));
        assert!(!typed.stdout.is_empty());
        assert_eq!(typed.stdout, plain.stdout);
    }
}

#[test]
fn help_and_version_are_data() {
    let home = small_home();
    for arguments in [
        &["--help"][..],
        &["skills", "--help"],
        &["skills", "list", "--help"],
        &["help"],
        &["help", "skills", "list"],
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
    assert_eq!(run(&home, &["help"]).stdout, run(&home, &["--help"]).stdout);
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
        let finished = stream(&mut command, HANGING).unwrap();
        assert_eq!(finished.ending, Ending::Exited(0), "{arguments:?}");
        let told = std::fs::read_to_string(&errors).unwrap();
        assert!(
            !told.contains("panicked") && !told.contains("error"),
            "{arguments:?}: {told}"
        );
    }
}

#[test]
fn findings_are_told_by_the_exit_code_even_if_nobody_reads_them() {
    let home = small_home();
    let full = || {
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut gone = home.command("home/work");
    gone.args(["skills", "check"]).stdout(writer).stderr(full());
    let mut no_notes = home.command("home/work");
    no_notes
        .args(["skills", "check"])
        .stdout(File::create(home.path("shown")).unwrap())
        .stderr(full());
    for command in [&mut gone, &mut no_notes] {
        let finished = stream(command, HANGING).unwrap();
        assert_eq!(finished.ending, Ending::Exited(1));
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
    let finished = capture(&mut command, HANGING).unwrap();
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
    let finished = stream(&mut command, HANGING).unwrap();
    assert_eq!(finished.ending, Ending::Exited(4), "nothing was written");
    let told = std::fs::read_to_string(&errors).unwrap();
    assert!(told.contains("error"), "{told}");
}
