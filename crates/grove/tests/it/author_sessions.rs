//! Sessions of whoever writes files: `grove validate` for every kind of file, what it repairs, and completions.

use std::path::Path;
use std::process::Command;

use grove_testkit::process;

const LOOSE: &str = "---\nname: pdf\ndescription: Use when: joining files\n---\n# Body\n";

#[test]
fn every_kind_of_file_is_checked_as_what_it_is() {
    let session = crate::session();
    let token = "sk-never-shown";
    for (file, text, kind, code) in [
        (
            "home/.claude/agents/scout.md",
            "---\nname: scout\ndescription: Looks round\nmodel: [\n---\nLook.\n",
            "agent",
            "yaml-",
        ),
        (
            "home/flows/build.chain.json",
            "{\"steps\": [{\"agnet\": \"scout\"}]}",
            "chain",
            "chain-",
        ),
        (
            "home/pack/package.json",
            "{\"grove\": {\"skills\": 7}}",
            "manifest",
            "package-",
        ),
        (
            "home/.config/grove/config.toml",
            "[catalog]\nbudgt = \"sk-never-shown\"\n",
            "settings",
            "config-",
        ),
    ] {
        session.file(file, text);
        let outcome = session.grove(["validate", session.path(file).to_str().unwrap()]);
        assert_eq!(outcome.code, 1, "{outcome}");
        let json = session.grove(["validate", "--json", session.path(file).to_str().unwrap()]);
        let json = json.json();
        assert_eq!(json["files"][0]["kind"], kind, "{json}");
        let found = json["files"][0]["diagnostics"][0]["code"].as_str().unwrap();
        assert!(found.starts_with(code), "{kind}: {json}");
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(!said.contains(token), "{said}");
    }
    // The same files put right.
    session.file(
        "home/.claude/agents/scout.md",
        "---\nname: scout\ndescription: Looks round\n---\nLook.\n",
    );
    session.file(
        "home/.config/grove/config.toml",
        "[catalog]\npinned = [\"pdf\"]\n",
    );
    for file in [
        "home/.claude/agents/scout.md",
        "home/.config/grove/config.toml",
    ] {
        session.done(["validate", session.path(file).to_str().unwrap()]);
    }
}

#[test]
fn what_is_certain_is_repaired_shown_and_can_be_taken_back() {
    let session = crate::session();
    session.file("home/skills/pdf/SKILL.md", LOOSE);
    session.file(
        "home/skills/odd/SKILL.md",
        "---\nname: odd\ndescription: Never ends\n",
    );
    let root = session.path("home/skills");
    let root = root.to_str().unwrap();
    let found = session.grove(["validate", root]);
    assert_eq!(found.code, 1, "{found}");
    found.says(["--fix"]);
    assert_eq!(session.read("home/skills/pdf/SKILL.md"), LOOSE);
    let fixed = session.grove(["validate", "--fix", root]);
    assert_eq!(fixed.code, 1, "the other one cannot be repaired: {fixed}");
    let fixed = fixed.prints([
        "- description: Use when: joining files",
        "1 of 2 files not valid",
    ]);
    fixed.says(["`grove undo` takes it back"]);
    assert_ne!(session.read("home/skills/pdf/SKILL.md"), LOOSE);
    let pdf = session.path("home/skills/pdf");
    session.done(["validate", pdf.to_str().unwrap()]);
    session.done("undo");
    assert_eq!(session.read("home/skills/pdf/SKILL.md"), LOOSE);
}

#[test]
fn completions_offer_names_and_never_run_them() {
    let session = crate::session().without_bundled();
    session
        .skill("home/.agents/skills/pdf-join", "pdf-join", "Joins files")
        .skill("home/.agents/skills/pdf-split", "pdf-split", "Splits files")
        .skill(
            "home/.agents/skills/odd",
            "pdf-$(touch ran)",
            "Says more than a name",
        );
    let script = session.done("completions bash").stdout;
    session.file("home/completions", &script);
    let programs = Path::new(env!("CARGO_BIN_EXE_grove")).parent().unwrap();
    let complete = |words: &str, typed: &str| {
        let asked = format!(
            "source completions; COMP_WORDS=({words} '{typed}'); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _grove_with_names grove '{typed}' \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut shell = Command::new("bash");
        shell
            .args(["--norc", "-c", &asked])
            .current_dir(session.path("home"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .env("HOME", session.path("home"));
        let done = process::capture(&mut shell, process::HANGING).unwrap();
        let mut offered: Vec<String> = done.stdout_text().lines().map(str::to_owned).collect();
        offered.sort();
        offered
    };
    for words in ["grove why", "grove skills show"] {
        assert_eq!(
            complete(words, "pdf-"),
            ["pdf-join", "pdf-split"],
            "{words}"
        );
    }
    assert!(!complete("grove skills", "pdf-").contains(&"pdf-join".to_owned()));
    assert!(complete("grove catalog --host", "cod").contains(&"codex".to_owned()));
    assert!(!session.has("home/ran"));
}

/// Whoever misspells a key is told the one that was meant, wherever keys are written.
#[test]
fn a_misspelt_key_is_answered_with_the_one_that_was_meant() {
    let session = crate::session().without_bundled();
    session.file(
        "config/grove/config.toml",
        "[catalog]\npined = []\n\n[skills.entries.pdf]\nenabeld = false\n\n[agents.overrides.x]\nmodle = \"o\"\n",
    );
    let checked = session.grove("skills check").fails(1);
    checked.prints([
        "did you mean `catalog.pinned`?",
        "did you mean `skills.entries.pdf.enabled`?",
        "did you mean `agents.overrides.x.model`?",
    ]);
    session.file(
        "work/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Merges.\nlicence: MIT\n---\nx\n",
    );
    let validated = session.grove(["validate", &*session.path("work/pdf").to_string_lossy()]);
    validated.fails(1).prints(["did you mean `license`?"]);
    let created = session.done("agents create a --description d");
    created.says(["Grove alone reads this file", "claude, codex, copilot"]);
    let edited = session.done("agents edit a --set modle=opus");
    edited.says(["did you mean `model`?"]);
}
