//! Sessions about trust: a project's skills are used once somebody has looked at them, and as long
//! as they are what was looked at.

mod folder_changes;
mod naming;
mod session;
mod stand_ins;

use std::fs;
use std::path::Path;

use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use serde_json::{Value, json};
use session::{assert_states, diagnostic_codes, json, new_home, run};

/// A home with a skill `deploy` in the project.
fn project_home() -> TestHome {
    let home = new_home();
    home.skill(
        "project/.agents/skills/deploy",
        "deploy",
        "Deploys the project",
    );
    home
}

/// The text of the skill as a review shows it.
const SKILL_TEXT: &str = "    | ---
    | name: deploy
    | description: Deploys the project
    | ---
    |
    | # deploy
";
const DEPLOY: &str = "deploy@project:.agents/skills";
const OK: (&str, &str, &[&str]) = (DEPLOY, "ok", &[]);
const UNTRUSTED: (&str, &str, &[&str]) = (DEPLOY, "untrusted", &["untrusted"]);
const CHANGED: (&str, &str, &[&str]) = (DEPLOY, "changed", &["changed"]);

fn edit(home: &TestHome) {
    home.skill(
        "project/.agents/skills/deploy",
        "deploy",
        "Deploys something else",
    );
}

#[test]
fn an_untrusted_project_is_shown_with_what_to_do() {
    let home = project_home();
    assert_states(&home, "project", &[UNTRUSTED]);
    assert_eq!(diagnostic_codes(&home, "project"), ["project-untrusted"]);
    for arguments in [
        &[][..],
        &["skills", "list"],
        &["skills", "check"],
        &["skills", "show", "deploy"],
    ] {
        let finished = home.run("project", arguments);
        let told = finished.stdout_text() + &finished.stderr_text();
        assert!(
            told.contains("untrusted") || told.contains("not trusted"),
            "{arguments:?}\n{told}"
        );
    }
    for arguments in [&[][..], &["skills", "check"], &["skills", "show", "deploy"]] {
        let told = home.run("project", arguments).stdout_text();
        assert!(told.contains("grove trust"), "{arguments:?}\n{told}");
    }
    let list = json(&home, "project", &["skills", "list", "--json"]);
    let deploy = &list["skills"][0];
    assert_eq!(
        (&deploy["modelInvocable"], &deploy["userInvocable"]),
        (&json!(false), &json!(false))
    );
}

#[test]
fn trust_makes_it_usable_and_says_what_was_seen() {
    let home = project_home();
    let told = run(&home, "project", &["trust", "--yes"]).stdout_text();
    let folder = home.path("project");
    assert_eq!(
        told,
        format!(
            "skill .agents/skills/deploy\n  new .agents/skills/deploy/SKILL.md\n{SKILL_TEXT}trusted {} as it is now\n",
            folder.display()
        )
    );
    assert_states(&home, "project", &[OK]);
    assert_eq!(diagnostic_codes(&home, "project"), [] as [&str; 0]);
}

#[test]
fn nothing_is_trusted_without_a_yes() {
    let home = project_home();
    home.file(
        "project/.agents/skills/deploy/scripts/setup.sh",
        "echo setup\n",
    );
    home.file(
        "project/.agents/agents/helper.md",
        "---\nname: helper\ndescription: Helps\ntools: bash, read\n---\nYou help.\n",
    );
    home.file("project/.grove/config.toml", "[skills]\nonly = []\n");
    let review = format!(
        "\
! skill .agents/skills/deploy brings programs: scripts/setup.sh
! agent .agents/agents/helper.md asks for the tools bash, read
skill .agents/skills/deploy
agent .agents/agents/helper.md
setting .grove/config.toml
  new .agents/agents/helper.md
    | ---
    | name: helper
    | description: Helps
    | tools: bash, read
    | ---
    | You help.
  new .agents/skills/deploy/SKILL.md
{SKILL_TEXT}  new .agents/skills/deploy/scripts/setup.sh
    | echo setup
  new .grove/config.toml
    not shown: it is no text, too long, or has settings
"
    );
    for (arguments, code, said) in [
        (
            &["trust"][..],
            2,
            "there is no terminal to ask on\nhint: review",
        ),
        (&["trust", "--dry-run"], 0, "this was a dry run"),
    ] {
        let finished = home.run("project", arguments);
        assert_eq!(finished.ending, Ending::Exited(code), "{arguments:?}");
        assert_eq!(finished.stdout_text(), review);
        let told = finished.stderr_text();
        assert!(told.contains(said), "{told}");
    }
    let refused = home.run("project", ["trust", "--json"]);
    assert_eq!(refused.ending, Ending::Exited(2));
    let dry = json(&home, "project", &["trust", "--dry-run", "--json"]);
    assert_eq!(dry["granted"], false);
    assert_eq!(dry["items"].as_array().map(Vec::len), Some(3));
    assert!(!home.path("state/grove").exists(), "nothing was written");
    assert_states(&home, "project", &[UNTRUSTED]);
    let granted = json(&home, "project", &["trust", "--yes", "--json"]);
    assert_eq!(granted["granted"], true);
}

#[test]
fn the_second_review_shows_what_is_different() {
    let home = project_home();
    let folder = "project/.agents/skills/deploy";
    home.file(format!("{folder}/scripts/setup.sh"), "one\ntwo\nthree\n");
    home.file(format!("{folder}/data.bin"), [0xff, 0]);
    home.file(format!("{folder}/gone.md"), "text\n");
    home.file("project/.grove/config.toml", "[skills]\nonly = []\n");
    run(&home, "project", &["trust", "--yes"]);
    home.file(format!("{folder}/scripts/setup.sh"), "one\n2\nthree\n");
    home.file(format!("{folder}/data.bin"), [0xff, 1]);
    home.file(format!("{folder}/more.md"), "text\n");
    home.file("project/.grove/config.toml", "[skills]\n");
    fs::remove_file(home.path(format!("{folder}/gone.md"))).unwrap();
    let told = run(&home, "project", &["trust", "--yes"]).stdout_text();
    assert_eq!(
        told,
        format!(
            "\
! skill .agents/skills/deploy brings programs: scripts/setup.sh
skill .agents/skills/deploy
setting .grove/config.toml
  new .agents/skills/deploy/more.md
    | text
  removed .agents/skills/deploy/gone.md
  changed .agents/skills/deploy/data.bin
    its earlier text was not kept
  changed .agents/skills/deploy/scripts/setup.sh
    @@ -1,3 +1,3 @@
     one
    -two
    +2
     three
  changed .grove/config.toml
    its earlier text was not kept
  1 file unchanged since you last looked
trusted {} as it is now
",
            home.path("project").display()
        )
    );
}

#[test]
fn what_changes_later_waits_until_it_is_seen() {
    let home = project_home();
    run(&home, "project", &["trust", "--yes"]);
    edit(&home);
    assert_states(&home, "project", &[CHANGED]);

    home.skill("project/.agents/skills/extra", "extra", "Came later");
    let extra = "extra@project:.agents/skills";
    assert_states(&home, "project", &[CHANGED, (extra, "changed", &["new"])]);
    let told = home.run("project", [] as [&str; 0]).stdout_text();
    assert!(told.contains("grove trust"), "{told}");

    let granted = json(&home, "project", &["trust", "--yes", "--json"]);
    assert_eq!(granted["new"], json!([".agents/skills/extra/SKILL.md"]));
    assert_eq!(
        granted["changed"],
        json!([".agents/skills/deploy/SKILL.md"])
    );
    assert_eq!(granted["unchanged"], 0);
    assert_states(&home, "project", &[OK, (extra, "ok", &[])]);
    assert_eq!(
        json(&home, "project", &["trust", "--yes", "--json"])["unchanged"],
        2
    );
}

#[test]
fn the_old_content_is_trusted_again_when_it_comes_back() {
    let home = project_home();
    run(&home, "project", &["trust", "--yes"]);
    edit(&home);
    assert_states(&home, "project", &[CHANGED]);
    home.skill(
        "project/.agents/skills/deploy",
        "deploy",
        "Deploys the project",
    );
    assert_states(&home, "project", &[OK]);
}

#[test]
fn follow_trusts_changes_until_it_is_taken_back() {
    let home = project_home();
    let told = run(&home, "project", &["trust", "--yes", "--follow"]).stdout_text();
    assert!(told.contains("later changes too"), "{told}");
    edit(&home);
    home.skill("project/.agents/skills/extra", "extra", "Came later");
    let extra = "extra@project:.agents/skills";
    assert_states(&home, "project", &[OK, (extra, "ok", &[])]);

    run(&home, "project", &["trust", "--yes"]);
    home.skill("project/.agents/skills/extra", "extra", "Changed again");
    assert_states(&home, "project", &[OK, (extra, "changed", &["changed"])]);
}

#[test]
fn untrust_takes_it_back() {
    let home = project_home();
    run(&home, "project", &["trust", "--yes"]);
    let taken = json(&home, "project", &["untrust", "--json"]);
    assert_eq!(taken["wasTrusted"], true);
    assert_states(&home, "project", &[UNTRUSTED]);
    assert_eq!(
        json(&home, "project", &["untrust", "--json"])["wasTrusted"],
        false
    );
    assert_eq!(
        json(&home, "project", &["trust", "--list", "--json"])["grants"],
        json!([])
    );
}

#[test]
fn grants_are_listed() {
    let home = project_home();
    run(&home, "project", &["trust", "--yes", "--follow"]);
    let grants = &json(&home, "home", &["trust", "--list", "--json"])["grants"];
    let folder = home.path("project");
    assert_eq!(
        *grants,
        json!([{ "folder": folder, "follow": true, "files": 1 }])
    );
    let doctor = json(&home, "home", &["doctor", "--json"]);
    assert_eq!(doctor["trustedFolders"], 1);
}

/// A repository with skills at its root and in a package inside it.
fn nested_home() -> TestHome {
    let home = project_home();
    home.dir("project/.git").dir("project/pkg/src");
    home.skill(
        "project/pkg/.agents/skills/build",
        "build",
        "Builds the package",
    );
    home
}

const BUILD: &str = "build@project:pkg/.agents/skills";

#[test]
fn trust_given_below_covers_the_whole_repository() {
    let home = nested_home();
    let granted = json(&home, "project/pkg/src", &["trust", "--yes", "--json"]);
    assert_eq!(granted["folder"], json!(home.path("project")));
    assert_states(&home, "project", &[OK]);
    assert_states(&home, "project/pkg", &[(BUILD, "ok", &[]), OK]);
    assert_states(&home, "project/pkg/src", &[(BUILD, "ok", &[]), OK]);
}

#[test]
fn trust_given_at_the_top_covers_the_folders_below() {
    let home = nested_home();
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project/pkg", &[(BUILD, "ok", &[]), OK]);
}

#[test]
fn trusting_again_from_elsewhere_forgets_nothing() {
    let home = nested_home();
    run(&home, "project/pkg", &["trust", "--yes"]);
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project/pkg", &[(BUILD, "ok", &[]), OK]);
}

#[test]
fn what_was_seen_below_a_hidden_folder_stays_seen() {
    let home = nested_home();
    let hidden = "project/.hidden/inner";
    home.skill(format!("{hidden}/.agents/skills/tidy"), "tidy", "Tidies up");
    let tidy = "tidy@project:.hidden/inner/.agents/skills";
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, hidden, &[(tidy, "changed", &["new"]), OK]);
    run(&home, hidden, &["trust", "--yes"]);
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, hidden, &[(tidy, "ok", &[]), OK]);

    // Trusting again where it is not seen does not accept what it is now.
    home.skill(
        format!("{hidden}/.agents/skills/tidy"),
        "tidy",
        "Does something else",
    );
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, hidden, &[(tidy, "changed", &["changed"]), OK]);
}

#[test]
fn folders_that_were_not_searched_are_named() {
    let home = nested_home();
    let deep = "project/1/2/3/4/5/6/7";
    home.skill(format!("{deep}/.agents/skills/far"), "far", "Lies deep");
    let finished = run(&home, "project", &["trust", "--yes"]);
    let told = finished.stderr_text();
    assert!(told.contains("1 folder was not searched"), "{told}");
    assert!(told.contains("1/2/3/4/5/6/7"), "{told}");
    let granted = json(&home, "project", &["trust", "--yes", "--json"]);
    assert_eq!(granted["notSearched"], json!(["1/2/3/4/5/6/7"]));
    let far = "far@project:1/2/3/4/5/6/7/.agents/skills";
    assert_states(&home, deep, &[(far, "changed", &["new"]), OK]);
    run(&home, deep, &["trust", "--yes"]);
    assert_states(&home, deep, &[(far, "ok", &[]), OK]);
}

/// The nearest grant decides, so one below must not stand in the way of the advice to trust again.
#[test]
fn trusting_the_repository_takes_in_a_grant_below() {
    let home = nested_home();
    run(&home, "project", &["trust", "--yes", "pkg"]);
    home.skill(
        "project/pkg/.agents/skills/build",
        "build",
        "Builds something else",
    );
    let granted = json(&home, "project/pkg", &["trust", "--yes", "--json"]);
    assert_eq!(
        granted["changed"],
        json!(["pkg/.agents/skills/build/SKILL.md"])
    );
    assert_states(&home, "project/pkg", &[(BUILD, "ok", &[]), OK]);

    run(&home, "project", &["trust", "--yes", "pkg", "--follow"]);
    run(&home, "project", &["trust", "--yes"]);
    home.skill(
        "project/pkg/.agents/skills/build",
        "build",
        "Is followed all the same",
    );
    assert_states(&home, "project/pkg", &[(BUILD, "ok", &[]), OK]);
}

#[test]
fn a_projects_configuration_that_leads_out_of_it_is_not_read() {
    let home = project_home();
    home.file("elsewhere/config.toml", "[skills]\nonly = []\n")
        .dir("project/.grove");
    home.link(
        "project/.grove/config.toml",
        home.path("elsewhere/config.toml"),
    );
    run(&home, "project", &["trust", "--yes", "--follow"]);
    assert_states(&home, "project", &[OK]);
}

#[test]
fn trust_given_at_the_top_does_not_cover_a_neighbour() {
    let home = project_home();
    home.skill(
        "project-two/.agents/skills/deploy",
        "deploy",
        "Another project",
    );
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project-two", &[UNTRUSTED]);
}

#[test]
fn trusting_one_folder_of_a_repository_leaves_the_rest_untrusted() {
    let home = nested_home();
    run(&home, "project", &["trust", "--yes", "pkg"]);
    assert_states(&home, "project/pkg", &[(BUILD, "ok", &[]), UNTRUSTED]);
}

#[test]
fn a_link_to_the_project_has_the_projects_trust() {
    let home = project_home();
    home.link("alias", home.path("project"));
    let granted = json(
        &home,
        "home",
        &[
            "trust",
            "--yes",
            home.path("alias").to_str().unwrap(),
            "--json",
        ],
    );
    assert_eq!(granted["folder"], json!(home.path("project")));
    assert_states(&home, "project", &[OK]);
    assert_states(&home, "alias", &[OK]);
    run(&home, "alias", &["untrust"]);
    assert_states(&home, "project", &[UNTRUSTED]);
}

#[test]
fn another_folder_at_the_same_path_has_no_trust() {
    let home = project_home();
    run(&home, "project", &["trust", "--yes", "--follow"]);
    fs::rename(home.path("project"), home.path("old")).unwrap();
    home.skill(
        "project/.agents/skills/deploy",
        "deploy",
        "Deploys the project",
    );
    assert_states(&home, "project", &[UNTRUSTED]);
    let codes = diagnostic_codes(&home, "project");
    assert!(codes.contains(&"trust-moved".to_owned()), "{codes:?}");
    assert_states(&home, "old", &[UNTRUSTED]);
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project", &[OK]);
}

fn grant_file(home: &TestHome) -> std::path::PathBuf {
    let folder = home.path("state/grove/trust");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn a_damaged_grant_is_no_grant() {
    let home = project_home();
    run(&home, "project", &["trust", "--yes", "--follow"]);
    let file = grant_file(&home);
    let good = fs::read_to_string(&file).unwrap();
    let other_path = good.replace(home.path("project").to_str().unwrap(), "/somewhere/else");
    let next_version = good.replacen("\"version\":2", "\"version\":99", 1);
    for damaged in [
        "",
        "{}",
        "null",
        &good[..good.len() / 2],
        &other_path,
        &next_version,
        "\u{0}\u{0}",
    ] {
        assert_ne!(damaged, good);
        fs::write(&file, damaged).unwrap();
        assert_states(&home, "project", &[UNTRUSTED]);
        let codes = diagnostic_codes(&home, "project");
        let code = if damaged == next_version {
            "trust-newer"
        } else {
            "trust-damaged"
        };
        assert_eq!(codes, [code, "project-untrusted"], "{damaged:?}");
    }
    let check = home.run("project", ["skills", "check"]);
    assert_eq!(
        check.ending,
        Ending::Exited(1),
        "a damaged grant needs attention"
    );
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project", &[OK]);
}

#[test]
fn a_grant_that_is_a_folder_or_a_loop_is_no_grant() {
    for replace in [
        (|file: &Path| fs::create_dir(file).unwrap()) as fn(&Path),
        |file| std::os::unix::fs::symlink(file, file).unwrap(),
    ] {
        let home = project_home();
        run(&home, "project", &["trust", "--yes"]);
        let file = grant_file(&home);
        fs::remove_file(&file).unwrap();
        replace(&file);
        assert_states(&home, "project", &[UNTRUSTED]);
    }
}

#[test]
fn home_the_root_folder_and_the_temporary_folder_are_never_projects() {
    let home = new_home();
    home.link("alias-of-home", home.path("home"));
    let (own, temporary) = (home.path("home"), home.path("tmp"));
    let alias = home.path("alias-of-home");
    for (cwd, folder) in [
        ("project", Some(own.to_str().unwrap())),
        ("project", Some(alias.to_str().unwrap())),
        ("project", Some("/")),
        ("project", Some(temporary.to_str().unwrap())),
        ("project", Some("../home")),
        ("home", None),
        ("home", Some(".")),
        ("tmp", None),
    ] {
        let finished = home.run(cwd, ["trust", "--yes"].into_iter().chain(folder));
        let told = finished.stderr_text();
        assert_eq!(
            finished.ending,
            Ending::Exited(1),
            "{cwd} {folder:?}: {told}"
        );
        assert!(
            told.starts_with("error: ") && told.contains("\nhint: "),
            "{told}"
        );
        assert_eq!(finished.stdout_text(), "");
    }
    assert_eq!(
        json(&home, "project", &["trust", "--list", "--json"])["grants"],
        json!([])
    );
}

#[test]
fn working_in_home_there_are_the_users_skills_once_and_no_project() {
    let home = new_home();
    home.skill("home/.agents/skills/notes", "notes", "Takes notes");
    home.dir("home/.git").dir("home/sub");
    for cwd in ["home", "home/sub"] {
        assert_states(&home, cwd, &[("notes@user:.agents/skills", "ok", &[])]);
        let roots = json(&home, cwd, &["skills", "roots", "--json"]);
        let of_home: Vec<_> = roots["roots"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|root| root["source"] == "project" && root["exists"] == true)
            .collect();
        assert_eq!(of_home, [] as [&Value; 0], "{cwd}");
    }
}

#[test]
fn the_temporary_folder_is_not_everybodys_project() {
    let home = new_home();
    home.skill(
        "tmp/.agents/skills/planted",
        "planted",
        "Put there by anybody",
    )
    .dir("tmp/mine");
    assert_states(&home, "tmp", &[]);
    assert_states(&home, "tmp/mine", &[]);
}

#[test]
fn an_untrusted_skill_never_shadows_the_users() {
    let home = project_home();
    home.skill(
        "home/.agents/skills/deploy",
        "deploy",
        "My own way to deploy",
    );
    let mine = "deploy@user:.agents/skills";
    assert_states(&home, "project", &[UNTRUSTED, (mine, "ok", &[])]);
    let list = json(&home, "project", &["skills", "list", "--json"]);
    assert_eq!(list["skills"][0]["standIn"], mine);
    let shown = json(&home, "project", &["skills", "show", "deploy", "--json"]);
    assert_eq!(shown["skill"]["address"], mine);

    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project", &[OK, (mine, "shadowed", &["shadowed"])]);
    edit(&home);
    assert_states(&home, "project", &[CHANGED, (mine, "ok", &[])]);
}

#[test]
fn a_skill_that_the_user_links_to_is_seen_by_trust_all_the_same() {
    let home = project_home();
    home.link(
        "home/.agents/skills/deploy",
        home.path("project/.agents/skills/deploy"),
    );
    run(&home, "project", &["skills", "list"]);
    run(&home, "project", &["trust", "--yes"]);
    assert_states(&home, "project", &[OK]);
    fs::remove_file(home.path("home/.agents/skills/deploy")).unwrap();
    assert_states(&home, "project", &[OK]);
}

#[test]
fn a_folder_that_does_not_exist_is_an_error_with_its_path() {
    let home = new_home();
    let finished = home.run("project", ["trust", "--yes", "no-such-folder"]);
    let told = finished.stderr_text();
    assert_eq!(finished.ending, Ending::Exited(2), "{told}");
    assert!(told.contains("no-such-folder"), "{told}");
    assert!(told.contains("\nhint: "), "{told}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_an_error() {
    let home = project_home();
    fs::remove_dir(home.path("state")).unwrap();
    home.file("state", "in the way");
    let finished = home.run("project", ["trust", "--yes"]);
    assert_eq!(
        finished.ending,
        Ending::Exited(4),
        "{}",
        finished.stderr_text()
    );
    assert_states(&home, "project", &[UNTRUSTED]);
}
