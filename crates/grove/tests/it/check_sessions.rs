//! `grove skills check`: findings by kind, with an example, the number and the way to see all; and filters.

use grove_testkit::session::Session;

/// Five skills of another name than their folders, in two roots, and one that cannot be used.
fn session() -> Session {
    let session = crate::session().without_bundled();
    for at in 0..4 {
        session.skill(format!("home/.agents/skills/f{at}"), &format!("n{at}"), "d");
    }
    session.skill("home/.claude/skills/f4", "n4", "d");
    session.file(
        "home/.agents/skills/broken/SKILL.md",
        "---\nname: broken\ndescription: {a: b}\n---\n",
    );
    session
}

fn count(text: &str, code: &str) -> usize {
    text.matches(&format!("[{code}]")).count()
}

#[test]
fn many_of_one_kind_are_an_example_a_number_and_the_way_to_see_all() {
    let session = session();
    let said = session.grove("skills check").fails(1);
    assert_eq!(count(&said.stdout, "name-mismatch"), 1, "{said}");
    let error = said.stdout.find("error[").unwrap();
    assert!(error < said.stdout.find("warning[").unwrap(), "{said}");
    let said = said.prints([
        "4 more of `name-mismatch`; add `--code name-mismatch` to see all 5\n",
        "6 findings need attention",
    ]);
    drop(said);
    let all = session.grove("skills check --code name-mismatch").fails(1);
    assert_eq!(count(&all.stdout, "name-mismatch"), 5, "{all}");
    all.prints(["5 findings\n"])
        .lacks(["more of", "field-required-type"]);
}

#[test]
fn few_of_one_kind_are_all_shown() {
    let session = session();
    session.remove("home/.agents/skills/f0");
    session.remove("home/.agents/skills/f1");
    let said = session.grove("skills check").fails(1);
    assert_eq!(count(&said.stdout, "name-mismatch"), 3, "{said}");
    said.lacks(["more of"]);
}

#[test]
fn findings_are_chosen_by_name_root_and_severity() {
    let session = session();
    for (words, n_findings) in [
        ("--name n1", 1),
        ("--name f1", 1),
        ("--name f1@user:.agents/skills", 1),
        ("--label user:.claude/skills", 1),
        ("--label user:.agents/skills", 5),
        ("--severity error", 1),
        ("--severity warning", 5),
        (
            "--severity warning --label user:.claude/skills --code name-mismatch",
            1,
        ),
        ("--name nobody", 0),
        ("--severity info", 0),
    ] {
        let said = session.grove(&format!("skills check {words}"));
        let said = said.fails(i32::from(n_findings > 0));
        let lines = said.stdout.lines();
        let shown = lines.filter(|line| line.starts_with("error[") || line.starts_with("warning["));
        assert_eq!(shown.count(), n_findings, "{words}: {said}");
    }
    for (words, hint) in [
        ("--code name-mismach", "did you mean `name-mismatch`"),
        ("--severity eror", "did you mean `error`?"),
        ("--host cladue", "did you mean `claude`?"),
    ] {
        let said = session.grove(&format!("skills check {words}"));
        said.fails(2).says([hint]);
    }
}

/// A line for each finding that GitHub Actions shows at the place in the file.
#[test]
fn findings_are_annotations_where_they_are_asked_for() {
    let session = session();
    let said = session.grove("skills check --github").fails(1);
    assert_eq!(said.stdout.lines().count(), 6, "{said}");
    let is_annotation = |line: &str| line.starts_with("::error ") || line.starts_with("::warning ");
    assert!(said.stdout.lines().all(is_annotation), "{said}");
    let file = session.path("home/.agents/skills/broken/SKILL.md");
    let expected = format!(
        "::error title=field-required-type,file={},line=3,col=",
        file.display()
    );
    let said = said.prints([&*expected]);
    drop(said);
    let home = session.working_in("home");
    let said = home
        .grove("validate --github .agents/skills/broken")
        .fails(1);
    said.prints(["::error title=field-required-type,file=.agents/skills/broken/SKILL.md,line=3,"]);
}
