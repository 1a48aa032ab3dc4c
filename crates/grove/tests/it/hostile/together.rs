//! Every skill of every case in one root, each case in a group of its own.

use std::fs;
use std::path::Path;

use super::corpus::{Case, Kind, clone_tree};
use super::listing::{Listing, Skill};
use super::session::Session;
use super::skills_root::{NEIGHBOUR_DESCRIPTION, require_neighbour};

/// Before, behind and below the hostile ones.
const NEIGHBOURS: [&str; 3] = ["0-neighbour", "zz-neighbour", "mm-group/mm-neighbour"];

/// Looks at the merged root as a trusted project and as a root of the user.
pub(crate) fn complaints(cases: &[Case], project: &Path) -> Vec<String> {
    let mut session = Session::new();
    let skills = project.join(".agents/skills");
    fs::create_dir_all(&skills).expect("the merged root");
    for case in cases {
        merge(case, project, &skills);
        session.forbid(&case.expected.must_not_contain);
    }
    for id in NEIGHBOURS {
        let name = id.rsplit('/').next().unwrap_or(id);
        session
            .home
            .skill(skills.join(id), name, NEIGHBOUR_DESCRIPTION);
    }
    session.work_in(project);
    session.trust(&[]);
    judge(cases, &mut session);
    session.look_in(&skills);
    judge(cases, &mut session);
    let bad_names = cases.iter().flat_map(|case| &case.expected.must_not_exist);
    session.require_absent(project, &bad_names.cloned().collect::<Vec<_>>());
    let told = session.complaints().into_iter();
    told.map(|text| format!("all together: {text}")).collect()
}

/// Moves the skills of a case into groups that have its name, and what its links lead to beside
/// them. The cases are not needed after this, and 5,000 folders are moved faster than copied.
fn merge(case: &Case, project: &Path, skills: &Path) {
    for (place, folder) in case.skill_folders() {
        fs::rename(&folder, skills.join(group(case, &place))).expect("a case can be moved");
    }
    // A group lies one level deeper than the skills of a case, so its links reach the project.
    let outside = case.folder().join("outside");
    if outside.is_dir() {
        clone_tree(&outside, &project.join("outside"));
    }
}

fn group(case: &Case, place: &str) -> String {
    format!("{}-{place}", case.id())
}

fn judge(cases: &[Case], session: &mut Session) {
    let listing = session.list();
    for id in NEIGHBOURS {
        require_neighbour(&listing, id, session);
    }
    for case in cases {
        if case.kind == Kind::SkillsRoot {
            require_counts(case, &listing, session);
        }
    }
    session.show_everything(&listing, &[]);
}

fn require_counts(case: &Case, listing: &Listing, session: &mut Session) {
    let group = format!("{}/", group(case, "root"));
    for (name, count) in &case.expected.count {
        let named = |skill: &&Skill| {
            skill.id.starts_with(&group) && skill.name == *name && skill.state == "ok"
        };
        let found = listing.found().filter(named).count();
        session.require(found == *count, || {
            format!("{found} usable skills called {name} in {group}, not {count}")
        });
    }
}
