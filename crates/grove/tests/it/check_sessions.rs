//! `grove skills check`: findings by kind, with an example, the number and the way to see all; and filters.

use grove_testkit::session::{Session, USER_CONFIG};

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

/// Something to say of each kind: a skill, an agent, a chain and the settings.
fn everything() -> Session {
    let session = session();
    session
        .file(
            "home/.grove/agents/lead.md",
            "---\nname: lead\ndescription: Use when: asked\n---\nLead.\n",
        )
        .file(
            "home/.grove/chains/ship.chain.json",
            "{\"name\": \"ship\", \"description\": \"Ships\", \"chain\": [{\"agent\": \"nobody\", \"task\": 5}]}",
        )
        .file(
            "home/.agents/skills/colon/SKILL.md",
            "---\nname: colon\ndescription: Use when: asked\n---\nx\n",
        )
        .file(USER_CONFIG, "nonsense = 1\n");
    session
}

#[test]
fn everything_is_checked_at_once_and_skills_alone_as_before() {
    let session = everything();
    let of_skills = session.grove("skills check").fails(1);
    let of_skills = of_skills.lacks(["lead.md", "ship.chain", "chains:"]);
    let said = session.grove("check").fails(1);
    let said = said.prints([
        "[name-mismatch]",
        "lead.md",
        "[yaml-repaired]",
        "ship.chain.json",
        "config.toml",
        "4 more of `name-mismatch`; add `--code name-mismatch` to see all 5\n",
    ]);
    // What is said of the settings is said once.
    let settings = said.stdout.matches("nonsense").count();
    assert_eq!(settings, of_skills.stdout.matches("nonsense").count());
    for noun in ["7 skills: ", " agents: ", "1 chain: "] {
        assert!(said.stdout.contains(noun), "{said}");
    }
    said.says(["`grove check --fix ~/.agents/skills/colon/SKILL.md`"]);
}

#[test]
fn findings_about_agents_and_chains_are_chosen_like_those_about_skills() {
    let session = everything();
    for (words, has, lacks) in [
        ("--name lead", "lead.md", "ship.chain"),
        ("--label user:.grove/chains", "ship.chain", "lead.md"),
        ("--code yaml-repaired", "lead.md", "ship.chain"),
        ("--name n1", "name-mismatch", "lead.md"),
    ] {
        let said = session.grove(&format!("check {words}")).fails(1);
        said.prints([has]).lacks([lacks]);
    }
    session
        .grove("check --github --name lead")
        .fails(1)
        .prints(["::warning title=yaml-repaired,file=", "lead.md"]);
    let all = session.grove("check --json").fails(1).json();
    assert_eq!(all["schema"], "grove.check/1");
    assert_eq!(all["agents"][0]["name"], "lead");
    assert_eq!(all["chains"][0]["name"], "ship");
    assert_eq!(all["states"]["skills"]["ok"], 6);
    let text = session.grove("check").stdout;
    let n_findings = all["findings"].as_u64().unwrap();
    assert!(
        text.contains(&format!("{n_findings} findings need attention")),
        "{text}"
    );
    // With nothing to say it is quiet.
    let quiet = crate::session().without_bundled();
    quiet.done("check").prints(["nothing needs attention"]);
}

#[test]
fn a_path_is_checked_as_validate_does_and_repaired() {
    let session = everything();
    let file = "home/.agents/skills/colon/SKILL.md";
    let path = session.path(file);
    let path = path.to_str().unwrap();
    let checked = session.grove(["check", path]);
    let validated = session.grove(["validate", path]);
    assert_eq!(checked.stdout, validated.stdout);
    assert_eq!(checked.code, validated.code);
    session
        .done(["check", "--fix", path])
        .prints(["fixed ", "+ description: \"Use when: asked\""]);
    session.done("undo");
    assert!(
        session
            .read(file)
            .contains("description: Use when: asked\n")
    );
    // What would be repaired has to be named.
    session.grove("check --fix").fails(2).says(["PATH"]);
    session
        .grove(["check", path, "--code", "yaml-repaired"])
        .fails(2);
}

/// With a typing error a check would find nothing for ever, and succeed.
#[test]
fn a_name_or_label_that_nothing_has_is_refused() {
    let session = everything();
    for (words, hint) in [
        ("skills check --name brokn", "did you mean `broken`?"),
        ("skills check --name zzyzx", "`grove skills list` lists"),
        // An agent is no skill.
        ("skills check --name lead", "unknown name `lead`"),
        ("check --name laed", "did you mean `lead`?"),
        (
            "check --label user:.agent/skills",
            "did you mean `user:.agents/skills`",
        ),
        ("check --label nosuch", "labels: bundled:agents, "),
        ("skills check --label user:.grove/chains", "unknown label"),
    ] {
        session
            .grove(words)
            .fails(2)
            .says([hint])
            .lacks(["0 findings"]);
    }
    // What is there without a finding, and a root that is not there yet, are known.
    session.skill("home/.agents/skills/fine", "fine", "d");
    for words in ["check --name fine", "check --label user:.grove/skills"] {
        session.done(words).prints(["0 findings"]);
    }
}
