//! Folders whose trust is in question, one scenario for each case.

use std::fs;
use std::path::Path;

use super::corpus::{Case, clone_tree};
use super::session::Session;
use super::skills_root::{NEIGHBOUR, NEIGHBOUR_DESCRIPTION};

/// The exit code of a command that was refused is not 0, and not that of an internal error.
const REFUSED: [i32; 3] = [1, 2, 3];

/// The scenario of a case, by its number.
pub(crate) fn complaints(case: &Case) -> Vec<String> {
    let scenario = match case.number() {
        "g01" => a_project_has_the_name_of_a_users_skill,
        "g03" => a_project_brings_settings,
        "g05" => the_working_folder_is_home,
        "g07" => a_trusted_folder_is_reached_by_a_link_or_replaced,
        "g09" => a_trusted_project_changes,
        other => return vec![format!("there is no scenario for the trust case {other}")],
    };
    let mut session = Session::new();
    session.forbid(&case.expected.must_not_contain);
    let clone = session.home.path("case");
    case.clone_to(&clone);
    let home = session.home.path("case/home");
    if home.is_dir() {
        clone_tree(&home, &session.home.path("home"));
    }
    scenario(&mut session);
    let listing = session.list();
    for (name, count) in &case.expected.count {
        let found = listing.count_ok(name);
        session.require(found == *count, || {
            format!("{found} usable skills called {name}")
        });
    }
    session.show_everything(&listing, &[]);
    session.require_absent(&clone, &case.expected.must_not_exist);
    session.complaints()
}

/// Requires the states of skills, each given as source, id and state.
fn require_states(session: &mut Session, when: &str, expected: &[(&str, &str, &str)]) {
    let listing = session.list();
    for (source, id, state) in expected {
        let found = listing.state(source, id);
        session.require(found == *state, || {
            format!("{when}: the {source} skill {id} is {found}, not {state}")
        });
    }
}

fn a_project_has_the_name_of_a_users_skill(session: &mut Session) {
    session.work_in(&session.home.path("case/root"));
    require_states(
        session,
        "before trust",
        &[("user", "deploy", "ok"), ("project", "deploy", "untrusted")],
    );
    require_stand_in(session, "project", "user");
    session.trust(&[]);
    require_states(
        session,
        "after trust",
        &[("project", "deploy", "ok"), ("user", "deploy", "shadowed")],
    );
    require_stand_in(session, "user", "project");
    session.run(&["untrust"], &[0]);
    require_states(
        session,
        "after trust was taken back",
        &[("user", "deploy", "ok"), ("project", "deploy", "untrusted")],
    );
}

/// The loser says why it lost and what is used in its stead.
fn require_stand_in(session: &mut Session, loser: &str, winner: &str) {
    let listing = session.list();
    let lost = listing.get(loser, "deploy");
    let stand_in = listing.get(winner, "deploy").map(|skill| &skill.address);
    let said =
        lost.is_some_and(|lost| lost.stand_in.as_ref() == stand_in && !lost.reasons.is_empty());
    session.require(said && stand_in.is_some(), || {
        format!("the {loser} skill is not said to be replaced by the {winner}'s")
    });
}

fn a_project_brings_settings(session: &mut Session) {
    let root = session.home.path("case/root");
    let foreign = session.home.path("foreign");
    session.home.skill(
        root.join(".agents/skills").join(NEIGHBOUR),
        NEIGHBOUR,
        NEIGHBOUR_DESCRIPTION,
    );
    session
        .home
        .skill(foreign.join("lured"), "lured", "Lies outside the project");
    // What a project may never set, in Grove's own words.
    let config = format!(
        "extra_dirs = [{:?}]\n[limits]\nfile_bytes = 1\n",
        foreign.display().to_string()
    );
    session.home.file(root.join(".grove/config.toml"), config);
    session.forbid(["attacker.example", "bypassPermissions"]);
    session.work_in(&root);
    let states = |state| [("project", NEIGHBOUR, state), ("extra", "lured", "absent")];
    require_states(session, "before trust", &states("untrusted"));
    let listing = session.list();
    session.show_everything(&listing, &[NEIGHBOUR.to_owned()]);
    session.require_absent(&root, &[]);

    // A trusted project can narrow, so its limit on file sizes counts; its folders elsewhere do not.
    fs::write(
        root.join(".grove/config.toml"),
        format!("extra_dirs = [{:?}]\n", foreign.display().to_string()),
    )
    .expect("the project's configuration is ours");
    session.trust(&[]);
    require_states(session, "after trust", &states("ok"));
}

fn the_working_folder_is_home(session: &mut Session) {
    let home = session.home.path("home");
    for folder in [&home, &session.home.path("tmp"), Path::new("/")] {
        session.work_in(folder);
        require_states(
            session,
            "in a folder that is no project",
            &[("user", "mine", "ok"), ("project", "mine", "absent")],
        );
        session.run(&["trust", "--yes"], &REFUSED);
        session.run(
            &["trust".as_ref(), "--yes".as_ref(), folder.as_os_str()],
            &REFUSED,
        );
    }
    session.work_in(&home);
}

fn a_trusted_folder_is_reached_by_a_link_or_replaced(session: &mut Session) {
    let [real, alias, other, moved] =
        ["real", "alias", "other", "moved"].map(|name| session.home.path("case").join(name));
    session.home.skill(
        other.join(".agents/skills/x"),
        "x",
        "Another skill of the same name",
    );
    session.work_in(&alias);
    session.trust(&[]);
    for folder in [&real, &alias] {
        session.work_in(folder);
        require_states(
            session,
            "the same folder by both paths",
            &[("project", "x", "ok")],
        );
    }

    fs::remove_file(&alias).expect("the link is ours");
    session.home.link(&alias, "other");
    session.work_in(&alias);
    require_states(
        session,
        "a link that leads elsewhere now",
        &[("project", "x", "untrusted")],
    );

    // Renamed, not removed: its inode must not be given to the folder that takes its place.
    fs::rename(&real, &moved).expect("the folder is ours");
    session.home.link(&real, "other");
    session.work_in(&real);
    require_states(
        session,
        "replaced by a link",
        &[("project", "x", "untrusted")],
    );
    session.work_in(&moved);
    require_states(
        session,
        "the trusted folder under another path",
        &[("project", "x", "untrusted")],
    );

    fs::remove_file(&real).expect("the link is ours");
    clone_tree(&other, &real);
    session.work_in(&real);
    require_states(
        session,
        "replaced by a folder",
        &[("project", "x", "untrusted")],
    );
    let listing = session.list();
    session.require(listing.has_code("trust-moved"), || {
        format!(
            "the changed identity is not reported: {}",
            listing.summary()
        )
    });
}

fn a_trusted_project_changes(session: &mut Session) {
    let skills = session.home.path("case/root/.agents/skills");
    let (new, aside) = (skills.join("new-after-pull"), session.home.path("aside"));
    fs::rename(&new, &aside).expect("the new skill is ours");
    session.work_in(&session.home.path("case/root"));
    session.trust(&[]);
    require_states(session, "as trusted", &[("project", "old", "ok")]);

    fs::rename(&aside, &new).expect("the new skill is ours");
    require_states(
        session,
        "after a pull",
        &[
            ("project", "old", "ok"),
            ("project", "new-after-pull", "changed"),
        ],
    );
    let listing = session.list();
    let told = listing.get("project", "new-after-pull");
    let told = told.is_some_and(|skill| skill.reasons.iter().any(|reason| reason.code == "new"));
    session.require(told, || "the new skill is not said to be new".to_owned());

    session.trust(&[]);
    require_states(
        session,
        "seen once",
        &[
            ("project", "old", "ok"),
            ("project", "new-after-pull", "ok"),
        ],
    );

    let text = "---\nname: old\ndescription: Says something else now\n---\nElse\n";
    session.home.file(skills.join("old/SKILL.md"), text);
    require_states(
        session,
        "after a change",
        &[
            ("project", "old", "changed"),
            ("project", "new-after-pull", "ok"),
        ],
    );
    session.run(&["untrust"], &[0]);
    require_states(
        session,
        "after trust was taken back",
        &[
            ("project", "old", "untrusted"),
            ("project", "new-after-pull", "untrusted"),
        ],
    );

    session.trust(&["--follow"]);
    session
        .home
        .file(skills.join("old/SKILL.md"), text.replace("Else", "Again"));
    require_states(
        session,
        "followed",
        &[
            ("project", "old", "ok"),
            ("project", "new-after-pull", "ok"),
        ],
    );
}
