//! What was meant to hold something back and quietly stopped doing so: each case by the name of what went wrong, and
//! the laws behind them.

mod granted;
mod killed;
#[path = "../../../grove-spec/src/malformed_values.rs"]
mod malformed_values;
mod restricted;
mod stale;
mod surfaces;
mod swapped_links;

use std::os::unix::fs::PermissionsExt as _;

use grove_testkit::session::{Session, USER_CONFIG, assert_text, column, rows};

use crate::mcp_hostile::raw_client::{RawClient, call};

/// How often or how long something is tried: a little by default, as much as `cargo xtask closed` says.
fn effort(variable: &str, usual: u64) -> u64 {
    let told = std::env::var(variable).ok();
    told.and_then(|told| told.parse().ok()).unwrap_or(usual)
}

fn session() -> Session {
    crate::session().with_repository().without_bundled()
}

#[test]
fn a_relative_extra_folder_was_the_skills_folder_of_every_clone() {
    let session = session();
    session
        .skill("project/skills/stranger", "stranger", "Of the clone.")
        .skill("config/grove/skills/own", "own", "Beside the file.")
        .file(USER_CONFIG, "extra_dirs = ['skills']\n");
    let list = session.json("skills list");
    assert_eq!(column(&list["skills"], "name"), ["own"]);
}

#[test]
fn a_relative_folder_in_a_variable_was_another_one_in_every_folder() {
    for (variable, value) in [
        ("GROVE_SKILL_DIRS", "skills"),
        ("GROVE_SKILL_DIRS", "./skills:~/none"),
        ("CLAUDE_CONFIG_DIR", "."),
        ("PI_CODING_AGENT_DIR", "."),
    ] {
        let session = session().with_env(variable, value);
        session.skill("project/skills/stranger", "stranger", "Of the clone.");
        let list = session.json("skills list");
        assert_eq!(column(&list["skills"], "name"), [""; 0], "{variable}");
        let said = column(&list["diagnostics"], "message").join("\n");
        assert_text(&said, &[variable, "relative"], &[]);
    }
    let session = session();
    session.skill("home/more/own", "own", "By its whole path.");
    let whole = session.path("home/more");
    let session = session.with_env("GROVE_SKILL_DIRS", whole);
    let list = session.json("skills list");
    assert_eq!(column(&list["skills"], "name"), ["own"]);
    assert_eq!(list["diagnostics"].as_array().map(Vec::len), Some(0));
}

#[test]
fn credentials_of_a_package_stood_in_findings_and_in_the_configuration() {
    let session = session();
    let packages = "packages = ['https://me:s3cret@h.example/o/r', 'git:h.example/o/r#--output=/x', 'https://h.example/o/r?t=s3cret']\n";
    session.file(USER_CONFIG, packages);
    for words in [
        "skills list --json",
        "skills check",
        "config",
        "config --json",
        "doctor",
        "doctor --json",
    ] {
        let outcome = session.grove(words);
        let shown = format!("{outcome}");
        assert!(!shown.contains("s3cret"), "{words}: {shown}");
    }
    let said = session.json("agents list");
    let said = column(&said["diagnostics"], "message").join("\n");
    assert_text(
        &said,
        &["https://***@h.example", "begins like an option"],
        &["s3cret"],
    );
}

#[test]
fn names_of_folders_with_hidden_characters_reached_models() {
    let hidden = "\u{e0041}\u{e0042}";
    let session = session();
    for name in [
        format!("a{hidden}b"),
        "c\u{202e}d".to_owned(),
        "e\u{200b}f".to_owned(),
        "g\u{fffe}h".to_owned(),
    ] {
        session.file(
            format!("home/.agents/skills/{name}/SKILL.md"),
            "---\ndescription: d\n---\n",
        );
        session.definition(format!("home/.grove/agents/x{name}.md"), "", "x");
        session.skill(format!("home/.agents/skills/{name}group/in"), "in", "d");
    }
    session.skill(
        "home/.agents/skills/\u{6cc}\u{200c}\u{645}",
        "plain",
        "Persian has joiners.",
    );
    let plain = session.json("skills list");
    assert_eq!(column(&plain["skills"], "name"), ["plain"]);
    let codes = column(&plain["diagnostics"], "code");
    assert_eq!(
        codes
            .iter()
            .filter(|code| *code == "unprintable-path")
            .count(),
        8
    );
    for words in [
        "skills list",
        "catalog",
        "skills check",
        "skills list --json",
        "agents list --json",
        "agents list",
        "skills search in",
    ] {
        let shown = format!("{}", session.grove(words));
        assert!(
            !shown.contains(['\u{e0041}', '\u{202e}', '\u{200b}', '\u{fffe}']),
            "{words}"
        );
    }
}

#[test]
fn a_version_of_a_package_was_an_option_of_git() {
    for package in [
        "git:h.example/o/r#--orphan",
        "git:h.example/o/r@--output=/x",
        "https://h.example/o/r#--upload-pack=touch x",
        "npm:left-pad@--registry=http://h.example",
    ] {
        let session = session();
        session.file(USER_CONFIG, format!("packages = ['{package}']\n"));
        let list = session.json("agents list");
        let said = rows(&list["diagnostics"], ["severity", "message"]);
        let is_refused = |[severity, message]: &[String; 2]| {
            severity != "info" && message.contains("begins like an option")
        };
        assert!(said.iter().any(is_refused), "{package}: {list}");
    }
}

#[test]
fn names_of_resources_with_hidden_characters_reached_models() {
    let session = session();
    session.skill("home/.agents/skills/a", "a", "d");
    for name in [
        "x\u{202e}dm.exe",
        "y\u{e0041}.md",
        "z\u{fffe}.md",
        "w\u{200b}.md",
        "plain.md",
    ] {
        session.file(format!("home/.agents/skills/a/{name}"), "text");
    }
    for words in [
        "skills activate a",
        "skills activate a --json",
        "skills show a",
        "skills show a --json",
    ] {
        let shown = format!("{}", session.grove(words));
        let hidden = ['\u{202e}', '\u{e0041}', '\u{fffe}', '\u{200b}'];
        assert!(!shown.contains(hidden), "{words}: {shown:?}");
    }
    session.done("skills activate a").prints(["plain.md"]);
}

#[test]
fn what_is_no_character_reached_xml() {
    let session = session();
    let text =
        "---\nname: \"a\\uFFFEb\"\ndescription: \"one \\uFFFF \\U0001FFFE two\"\n---\nBODY\n";
    session.file("home/.agents/skills/a/SKILL.md", text);
    session.definition("home/.grove/agents/all.md", "inheritSkills: true\n", "x");
    for words in [
        "catalog",
        "skills list",
        "skills list --json",
        "skills search one",
        "prompt all",
    ] {
        let shown = format!("{}", session.grove(words));
        let is_none = |c: char| (c as u32) & 0xfffe == 0xfffe;
        assert!(!shown.contains(is_none), "{words}: {shown:?}");
    }
    assert_text(&session.done("catalog").stdout, &["one", "two"], &[]);
}

#[test]
fn a_folder_made_anew_at_the_same_path_was_trusted() {
    for how in ["", "--follow"] {
        let session = session();
        session.skill("project/.agents/skills/a", "a", "d");
        session.trust_with(how);
        assert_eq!(
            column(&session.json("skills list")["skills"], "state"),
            ["ok"]
        );
        // On many file systems the next folder gets the inode of the last.
        session.remove("project");
        session.dir("project/.git");
        session.skill("project/.agents/skills/a", "a", "d");
        let list = session.json("skills list");
        assert_eq!(column(&list["skills"], "state"), ["untrusted"], "{how}");
        session.refused("skills activate a");
    }
}

#[test]
fn a_folder_that_was_put_in_the_place_of_a_followed_one_was_activated() {
    let session = session();
    session.dir("home/work/.git");
    session.skill("home/work/.agents/skills/a", "a", "d");
    session.file(
        "other/.agents/skills/a/SKILL.md",
        "---\nname: a\ndescription: d\n---\nOTHER\n",
    );
    session.dir("other/.git");
    session.trust_in("home/work", "--follow");
    let mut client = RawClient::connect(&session);
    let ask = |client: &mut RawClient, id: &str| {
        let answer = client.ask(&call(
            id,
            &serde_json::json!({ "name": "a", "again": true }),
        ));
        (answer["result"]["isError"] == true, answer.to_string())
    };
    let (is_refused, answer) = ask(&mut client, "first");
    assert!(!is_refused, "{answer}");
    std::fs::rename(session.path("home/work"), session.path("away")).unwrap();
    std::fs::rename(session.path("other"), session.path("home/work")).unwrap();
    let (is_refused, answer) = ask(&mut client, "second");
    assert!(is_refused && !answer.contains("OTHER"), "{answer}");
}

#[test]
fn a_name_of_dots_or_of_the_own_file_was_an_export_folder() {
    for name in [".", "..", "...", "SKILL.md", "skill.MD"] {
        let session = session();
        session.file(
            "home/.grove/skills/s/SKILL.md",
            format!("---\nname: {name}\ndescription: d\n---\nBODY\n"),
        );
        session.definition(
            "home/.grove/agents/a.md",
            &format!("skills: '{name}'\n"),
            "x",
        );
        session.grove("agents export --host claude --json --yes");
        assert!(!session.has("project/.claude/skills/SKILL.md"), "{name}");
        assert!(
            !session.has("project/.claude/SKILL.md") && !session.has("project/SKILL.md"),
            "{name}"
        );
    }
}

#[test]
fn a_name_that_was_shortened_in_the_catalog_could_not_be_activated() {
    let session = session();
    let name = format!("long-{}", "x".repeat(80));
    session.skill(format!("home/.agents/skills/{name}"), &name, "Long.");
    let catalog = session.done("catalog").stdout;
    let shown = catalog
        .split('\u{2026}')
        .next()
        .and_then(|text| text.rsplit('>').next());
    let shown = format!("{}\u{2026}", shown.unwrap_or_default());
    assert!(shown.starts_with("long-"), "{catalog}");
    session.done(["skills", "activate", &shown]);
    session.done(["skills", "show", &shown]);
    session.refused(["skills", "activate", "long-\u{2026}"]);
}

#[test]
fn a_file_beside_the_own_one_that_differs_in_case_was_not_said() {
    let session = session();
    session.skill("home/.agents/skills/a", "a", "d");
    session.file("home/.agents/skills/a/skill.md", "other");
    let activated = session.json("skills activate a");
    let codes = column(&activated["diagnostics"], "code");
    assert_eq!(codes, ["file-name-case"]);
    let check = session.grove("skills check").fails(1);
    check.prints(["file-name-case", "1 finding"]);
    let check = session.grove("skills check --json").json();
    let codes = column(&check["diagnostics"], "code");
    assert_eq!(codes, ["file-name-case"]);
    assert_eq!(check["findings"], 1);
    session.remove("home/.agents/skills/a/skill.md");
    session.done("skills check");
}

#[test]
fn a_grant_in_a_folder_that_others_may_write_counted() {
    let session = session();
    session.skill("project/.agents/skills/a", "a", "d");
    session.trust();
    let state = |session: &Session| {
        let list = session.json("skills list");
        (
            column(&list["skills"], "state"),
            column(&list["diagnostics"], "code"),
        )
    };
    assert_eq!(state(&session).0, ["ok"]);
    for folder in ["state/grove/trust", "state/grove"] {
        let path = session.path(folder);
        let mode = |mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        mode(0o777);
        let (states, codes) = state(&session);
        assert_eq!(states, ["untrusted"], "{folder}");
        assert!(codes.contains(&"trust-not-own".to_owned()), "{codes:?}");
        mode(0o700);
        assert_eq!(state(&session).0, ["ok"]);
    }
}

#[test]
fn a_grant_of_a_later_version_was_called_damaged() {
    let session = session();
    session.skill("project/.agents/skills/a", "a", "d");
    session.trust();
    let file = format!(
        "state/grove/trust/{}",
        session.entries("state/grove/trust")[0]
    );
    let text = session
        .read(&file)
        .replacen("\"version\":2", "\"version\":77", 1);
    session.file(&file, &text);
    let list = session.json("skills list");
    assert_eq!(column(&list["skills"], "state"), ["untrusted"]);
    assert!(column(&list["diagnostics"], "code").contains(&"trust-newer".to_owned()));
    session
        .grove("trust --yes")
        .fails(4)
        .says(["a later version"]);
    assert_eq!(session.read(&file), text, "it is left alone");
}

#[test]
fn what_home_lies_in_could_be_trusted() {
    let session = session();
    for folder in [
        session.path(""),
        std::path::PathBuf::from("/var/tmp"),
        "/dev/shm".into(),
    ] {
        let words = [
            "trust".into(),
            folder.clone().into_os_string(),
            "--yes".into(),
        ];
        let outcome = session.refused(words);
        assert!(
            format!("{outcome}").contains("cannot be trusted"),
            "{folder:?} {outcome}"
        );
    }
}

#[test]
fn an_index_file_of_the_right_length_was_taken_for_the_right_one() {
    let session = session();
    for at in 0..60 {
        session.skill(
            format!("home/.agents/skills/g/s{at}"),
            &format!("s{at}"),
            "About a thing.",
        );
    }
    session.done("catalog --budget 900");
    let names = session.entries("cache/grove/index");
    assert!(!names.is_empty());
    let file = format!("cache/grove/index/{}", names[0]);
    let text = session.read(&file);
    session.file(&file, "x".repeat(text.len()));
    session.done("catalog --budget 900");
    assert_eq!(session.read(&file), text);
}

#[test]
fn a_file_that_turned_out_to_be_another_stayed_remembered() {
    let session = session();
    let file = "home/.agents/skills/a/SKILL.md";
    session.file(file, "---\nname: a\ndescription: d\n---\nBEFORE\n");
    grove_testkit::session::let_files_settle();
    session.done("skills list");
    let path = session.path(file);
    let then = std::fs::metadata(&path).unwrap();
    // A write that leaves every stamp but the one that nobody can set; the cache is made to believe that one too.
    let cache = session.path("cache/grove/skills");
    let stored = std::fs::read_dir(&cache)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    std::fs::write(&path, "---\nname: a\ndescription: d\n---\nAFTER.\n").unwrap();
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(then.modified().unwrap())
        .unwrap();
    forge_change_time(&stored, &then, &std::fs::metadata(&path).unwrap());
    session.done("skills activate a").prints(["AFTER."]);
}

/// Puts the change time that a file has now into a cache file that remembers another one, with a checksum that fits.
fn forge_change_time(cache: &std::path::Path, then: &std::fs::Metadata, now: &std::fs::Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let stamp =
        |of: &std::fs::Metadata| (of.ctime() * 1_000_000_000 + of.ctime_nsec()).to_le_bytes();
    let mut bytes = std::fs::read(cache).unwrap();
    let (old, new) = (stamp(then), stamp(now));
    let at = bytes
        .windows(8)
        .position(|window| window == old)
        .expect("the old change time");
    bytes[at..at + 8].copy_from_slice(&new);
    // It also has to be old enough to be believed: the time of the read comes next.
    let read_at = i64::MAX.to_le_bytes();
    bytes[at + 8..at + 16].copy_from_slice(&read_at);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[28..]);
    bytes[20..28].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(cache, bytes).unwrap();
}
