//! A live library over real folders: what it tells, when, and why.

mod nine_places;
pub(crate) mod world;

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use grove_catalog::EntryState;
use grove_catalog::entry::Entry as _;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_skills::disclosure::{Disclosure, SkillCall};
use grove_skills::live::{LiveLibrary, LiveOptions};
use grove_skills::{DiscoveryParts, DiscoveryRequest, trusting};
use grove_spec::Code;
use world::{PLENTY, World, reasons, skill, until};

fn start(world: &World) -> LiveLibrary {
    let live = LiveLibrary::start(world.environment(), DiscoveryRequest::default());
    // Its thread watches before it answers.
    live.discover();
    live
}

fn find<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a Skill> {
    snapshot.skills.iter().find(|skill| skill.name() == name)
}

const A: &str = "home/.agents/skills/a/SKILL.md";

#[test]
fn an_atomic_save_is_one_change_of_one_skill() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    world.write("home/.agents/skills/b/SKILL.md", &skill("b", "other"));
    let live = start(&world);
    let mut told = live.subscribe();
    let before = live.snapshot();
    world.save(A, &skill("a", "two"));
    let updates = until(&mut told, "the save", |now| {
        find(now, "a").unwrap().description() == Some("two")
    });
    let last = updates.last().unwrap();
    assert_eq!(last.changed, ["a@user:.agents/skills"]);
    assert_eq!((&last.added, &last.removed), (&vec![], &vec![]));
    assert_eq!(last.version, before.version + 1);
    assert_eq!(last.digest, last.snapshot.digest);
    assert_ne!(last.digest, before.digest);
    let why = reasons(&updates, &world.path(""));
    assert!(why.contains(&format!("edited: {A}")), "{why:?}");
    assert!(Arc::ptr_eq(&live.latest(), &last.snapshot));
}

#[test]
fn skills_come_go_and_are_renamed_in_groups_that_come_and_go() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    let live = start(&world);
    let mut told = live.subscribe();
    // A group at first without anything, so that it has to be watched before it holds a skill.
    std::fs::create_dir_all(world.path("home/.agents/skills/group/deep")).unwrap();
    world.write(
        "home/.agents/skills/group/deep/n/SKILL.md",
        &skill("n", "new"),
    );
    let added = until(&mut told, "the new skill", |now| find(now, "n").is_some());
    let all: Vec<&String> = added.iter().flat_map(|update| &update.added).collect();
    assert_eq!(all, ["group/deep/n@user:.agents/skills"]);

    let (from, to) = ("home/.agents/skills/group", "home/.agents/skills/moved");
    std::fs::rename(world.path(from), world.path(to)).unwrap();
    let updates = until(&mut told, "the renamed group", |now| {
        find(now, "n").is_some_and(|skill| skill.id() == "moved/deep/n")
    });
    let last = updates.last().unwrap();
    assert_eq!(last.added, ["moved/deep/n@user:.agents/skills"]);
    assert_eq!(last.removed, ["group/deep/n@user:.agents/skills"]);

    // What was renamed is still watched, at its new place.
    world.write(
        "home/.agents/skills/moved/deep/n/SKILL.md",
        &skill("n", "edited"),
    );
    until(&mut told, "the edit after the move", |now| {
        find(now, "n").is_some_and(|skill| skill.description() == Some("edited"))
    });
    std::fs::remove_file(world.path("home/.agents/skills/moved/deep/n/SKILL.md")).unwrap();
    until(&mut told, "the removed file", |now| {
        find(now, "n").is_none()
    });
    // The folder without its file is a group now; a file that comes back makes it a skill again.
    world.write(
        "home/.agents/skills/moved/deep/n/SKILL.md",
        &skill("n", "back"),
    );
    until(&mut told, "the file that came back", |now| {
        find(now, "n").is_some()
    });
}

#[test]
fn roots_are_seen_to_come_to_go_and_to_come_again() {
    let world = World::new();
    std::fs::remove_dir_all(world.path("home")).unwrap();
    let live = start(&world);
    let mut told = live.subscribe();
    assert_eq!(live.snapshot().skills, []);
    world.write(A, &skill("a", "one"));
    let updates = until(&mut told, "the new root", |now| find(now, "a").is_some());
    let why = reasons(&updates, &world.path(""));
    assert!(
        why.iter().any(|why| why.starts_with("root appeared")),
        "{why:?}"
    );

    live.discover();
    std::fs::remove_dir_all(world.path("home/.agents")).unwrap();
    let updates = until(&mut told, "the removed root", |now| now.skills.is_empty());
    let why = reasons(&updates, &world.path(""));
    assert!(
        why.iter().any(|why| why.starts_with("root removed")),
        "{why:?}"
    );

    live.discover();
    world.write("elsewhere/skills/b/SKILL.md", &skill("b", "moved in"));
    std::fs::rename(world.path("elsewhere"), world.path("home/.agents")).unwrap();
    until(&mut told, "the root that moved in", |now| {
        find(now, "b").is_some()
    });
    live.discover();
    std::fs::rename(world.path("home"), world.path("away")).unwrap();
    until(&mut told, "the home that moved away", |now| {
        now.skills.is_empty()
    });
    live.discover();
    std::fs::rename(world.path("away"), world.path("home")).unwrap();
    until(&mut told, "the home that came back", |now| {
        find(now, "b").is_some()
    });
    world.save(
        "home/.agents/skills/b/SKILL.md",
        &skill("b", "still watched"),
    );
    until(&mut told, "an edit after all that", |now| {
        find(now, "b").unwrap().description() == Some("still watched")
    });
}

#[test]
fn a_root_behind_a_link_that_is_laid_elsewhere() {
    let world = World::new();
    world.write("one/a/SKILL.md", &skill("a", "one"));
    world.write("two/a/SKILL.md", &skill("a", "two"));
    std::fs::create_dir_all(world.path("home/.agents")).unwrap();
    let link = world.path("home/.agents/skills");
    std::os::unix::fs::symlink(world.path("one"), &link).unwrap();
    let live = start(&world);
    let mut told = live.subscribe();
    assert_eq!(
        find(&live.snapshot(), "a").unwrap().description(),
        Some("one")
    );
    let new = world.path("home/.agents/new");
    std::os::unix::fs::symlink(world.path("two"), &new).unwrap();
    std::fs::rename(&new, &link).unwrap();
    until(&mut told, "the other target", |now| {
        find(now, "a").unwrap().description() == Some("two")
    });
    world.save("two/a/SKILL.md", &skill("a", "edited"));
    until(&mut told, "an edit in the other target", |now| {
        find(now, "a").unwrap().description() == Some("edited")
    });
}

#[test]
fn what_is_behind_a_link_was_not_seen_to_change_before_half_a_minute() {
    let world = World::new();
    let link = |target: &str, at: &str| {
        let at = world.path(at);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(world.path(target), at).unwrap();
    };
    // A linked file, a linked folder, a chain of links, a linked agent, and a file that becomes a link later.
    world.write("far/file.md", &skill("file", "one"));
    link("far/file.md", "home/.agents/skills/file/SKILL.md");
    world.write("far/folder/SKILL.md", &skill("folder", "one"));
    link("far/folder", "home/.agents/skills/folder");
    world.write("far/last/SKILL.md", &skill("chain", "one"));
    link("far/last", "far/second");
    link("far/second", "home/.agents/skills/chain");
    world.write("far/agent.md", &skill("agent", "one"));
    link("far/agent.md", "home/.agents/agents/agent.md");
    world.write("home/.agents/skills/later/SKILL.md", &skill("later", "one"));
    world.write("near/later.md", &skill("later", "two"));
    let request = DiscoveryRequest {
        parts: DiscoveryParts::PROMPTS,
        ..DiscoveryRequest::default()
    };
    let live = LiveLibrary::start(world.environment(), request);
    live.discover();
    let mut told = live.subscribe();
    let is_now = |now: &Snapshot, name: &str, about: &str| {
        let agent = now.agents.all.iter().find(|agent| agent.name == name);
        let agent = agent.and_then(|agent| agent.file()?.description.as_deref());
        let skill = find(now, name).and_then(|skill| skill.description());
        skill.or(agent) == Some(about)
    };
    for (file, name) in [
        ("far/file.md", "file"),
        ("far/folder/SKILL.md", "folder"),
        ("far/last/SKILL.md", "chain"),
        ("far/agent.md", "agent"),
    ] {
        live.discover();
        world.write(file, &skill(name, "edited"));
        until(&mut told, file, |now| is_now(now, name, "edited"));
    }
    live.discover();
    link("near/later.md", "home/.agents/skills/new");
    let later = world.path("home/.agents/skills/later/SKILL.md");
    std::fs::rename(world.path("home/.agents/skills/new"), later).unwrap();
    until(&mut told, "the link", |now| is_now(now, "later", "two"));
    live.discover();
    world.write("near/later.md", &skill("later", "edited"));
    until(&mut told, "behind the link", |now| {
        is_now(now, "later", "edited")
    });
}

#[test]
fn a_program_that_appears_and_goes_is_a_change() {
    let world = World::new();
    let needs = "---\nname: a\ndescription: d\nmetadata:\n  openclaw:\n    requires:\n      bins: [frob]\n---\n";
    world.write(A, needs);
    let live = start(&world);
    let mut told = live.subscribe();
    let state = |snapshot: &Snapshot| find(snapshot, "a").unwrap().state;
    assert_eq!(state(&live.snapshot()), EntryState::Ineligible);
    // The folder of the search path is not there yet either.
    world.write("bin/frob", "#!/bin/sh\n");
    let run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path("bin/frob"), run).unwrap();
    let updates = until(&mut told, "the program", |now| state(now) == EntryState::Ok);
    assert_eq!(updates.last().unwrap().changed, ["a@user:.agents/skills"]);
    let why = reasons(&updates, &world.path(""));
    assert!(why.iter().any(|why| why.starts_with("program")), "{why:?}");

    // What has become new to watch is watched.
    live.discover();
    std::fs::remove_file(world.path("bin/frob")).unwrap();
    let updates = until(&mut told, "that it is gone", |now| {
        state(now) == EntryState::Ineligible
    });
    let why = reasons(&updates, &world.path(""));
    assert_eq!(why, ["program removed: bin/frob"]);
}

#[test]
fn configuration_and_trust_are_changes() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    world.write(
        "home/work/.agents/skills/p/SKILL.md",
        &skill("p", "project"),
    );
    std::fs::create_dir_all(world.path("home/work/.git")).unwrap();
    let live = start(&world);
    let mut told = live.subscribe();
    let config = "home/.config/grove/config.toml";
    world.write(config, "[skills.entries.a]\nenabled = false\n");
    let updates = until(&mut told, "the configuration", |now| {
        find(now, "a").unwrap().state == EntryState::Disabled
    });
    let why = reasons(&updates, &world.path(""));
    assert!(
        why.iter().any(|why| why.starts_with("configuration: ")),
        "{why:?}"
    );
    live.discover();
    world.save(config, "");
    let updates = until(&mut told, "the empty configuration", |now| {
        find(now, "a").unwrap().state == EntryState::Ok
    });
    assert_eq!(
        reasons(&updates, &world.path("")),
        [format!("configuration: {config}")]
    );
    assert_eq!(
        find(&live.latest(), "p").unwrap().state,
        EntryState::Untrusted
    );
    trusting::grant(&world.environment(), None, false).unwrap();
    let updates = until(&mut told, "trust", |now| {
        find(now, "p").unwrap().state == EntryState::Ok
    });
    let why = reasons(&updates, &world.path(""));
    assert!(why.iter().any(|why| why.starts_with("trust: ")), "{why:?}");
}

/// Agents are watched like skills: their folders, the files that they name, and what overrides them.
#[test]
fn agents_come_change_and_go_like_skills() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    let request = DiscoveryRequest {
        parts: DiscoveryParts::PROMPTS,
        ..DiscoveryRequest::default()
    };
    let live = LiveLibrary::start(world.environment(), request);
    live.discover();
    let mut told = live.subscribe();
    let agent = |now: &Snapshot| {
        let mut agents = now.agents.all.iter();
        let found = agents.find(|agent| agent.name == "x");
        found.map(|agent| (agent.state, agent.description().map(str::to_owned)))
    };
    let is = |state: EntryState, text: &str| Some((state, Some(text.to_owned())));
    let text = |description: &str| format!("---\nname: x\ndescription: {description}\n---\nText\n");
    let file = "home/.agents/agents/group/x.md";
    let first = live.latest();
    // Neither the folder of agents nor the group in it is there yet.
    world.write(file, &text("one"));
    let updates = until(&mut told, "the agent", |now| {
        agent(now) == is(EntryState::Ok, "one")
    });
    let last = updates.last().unwrap();
    assert!(last.version > first.version);
    assert_eq!(last.snapshot.skills_digest, first.skills_digest);
    live.discover();
    world.save(file, &text("two"));
    let updates = until(&mut told, "the edit", |now| {
        agent(now) == is(EntryState::Ok, "two")
    });
    let why = reasons(&updates, &world.path(""));
    assert!(why.contains(&format!("edited: {file}")), "{why:?}");
    let config = "home/.config/grove/config.toml";
    world.write(config, "[agents.overrides.x]\ndisabled = true\n");
    until(&mut told, "the override", |now| {
        agent(now) == is(EntryState::Disabled, "two")
    });
    live.discover();
    world.save(config, "");
    until(&mut told, "the empty configuration", |now| {
        agent(now) == is(EntryState::Ok, "two")
    });
    std::fs::remove_file(world.path(file)).unwrap();
    until(&mut told, "that it is gone", |now| agent(now).is_none());
}

/// A file is invalid while it is written; the skill stays, and says what is wrong.
#[test]
fn an_invalid_file_keeps_its_last_good_version() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    let live = start(&world);
    let mut told = live.subscribe();
    let good = live.snapshot();
    world.save(A, "---\nname: a\n");
    let kept = |now: &Snapshot| {
        let findings = find(now, "a").map(Skill::all_diagnostics);
        findings.is_some_and(|mut all| all.any(|found| found.code == Code::KeptLastGood))
    };
    let updates = until(&mut told, "that the file is invalid", kept);
    let last = updates.last().unwrap();
    assert_eq!((last.version, last.digest), (good.version, good.digest));
    assert_eq!(last.changed, [] as [&str; 0]);
    let [finding] = &last.findings[..] else {
        panic!("{:?}", last.findings)
    };
    assert_eq!(finding.file, Some(world.path(A)));
    assert!(
        finding.message.contains("frontmatter-unclosed"),
        "{finding:?}"
    );
    let skill_now = find(&last.snapshot, "a").unwrap();
    assert_eq!(skill_now.state, EntryState::Ok);
    assert_eq!(skill_now.description(), Some("one"));
    // Also its body can still be had.
    let activated = Disclosure::new(&live.discover(), None).activate(&SkillCall::of("a"));
    assert!(activated.unwrap().text.contains("Body of one"));
    // A second invalid version changes what is said and nothing else.
    world.save(A, "");
    let updates = until(&mut told, "that the file is empty", |now| {
        let mut all = find(now, "a").unwrap().all_diagnostics();
        all.any(|found| found.message.contains("empty-file"))
    });
    assert_eq!(updates.last().unwrap().digest, good.digest);

    world.save(A, &skill("a", "two"));
    let updates = until(&mut told, "the corrected file", |now| {
        find(now, "a").unwrap().description() == Some("two")
    });
    assert!(!kept(&updates.last().unwrap().snapshot));
    // Once more, and then the file goes: there is nothing to be kept for.
    world.save(A, "");
    until(&mut told, "that it is invalid again", kept);
    std::fs::remove_file(world.path(A)).unwrap();
    until(&mut told, "that it is gone", |now| find(now, "a").is_none());
    world.write(A, "");
    let updates = until(&mut told, "an invalid file at its place", |now| {
        !now.skills.is_empty()
    });
    assert_eq!(
        updates.last().unwrap().snapshot.skills[0].state,
        EntryState::Invalid
    );
}

/// The children of a branch are declared in its file.
#[test]
fn the_children_of_a_branch_with_an_invalid_file_stay() {
    let world = World::new();
    let branch = "---\nname: a\ndescription: d\nmetadata:\n  children: [x, y, z]\n---\n";
    world.write(A, branch);
    for child in ["x", "y", "z"] {
        let file = format!("home/.agents/skills/a/skills/{child}/SKILL.md");
        world.write(&file, &skill(child, "child"));
    }
    let live = start(&world);
    let mut told = live.subscribe();
    let good = live.snapshot();
    assert_eq!(good.skills.len(), 4);
    world.save(A, "---\nname: a\n");
    let updates = until(&mut told, "that it is invalid", |now| {
        !find(now, "a").unwrap().diagnostics.is_empty()
    });
    assert_eq!(updates.last().unwrap().digest, good.digest);
    for _ in 0..2 {
        assert_eq!(live.snapshot().digest, good.digest);
    }
    world.save(
        "home/.agents/skills/a/skills/x/SKILL.md",
        &skill("x", "edited"),
    );
    let updates = until(&mut told, "an edited child", |now| {
        find(now, "x").is_some_and(|skill| skill.description() == Some("edited"))
    });
    assert_eq!(updates.last().unwrap().snapshot.skills.len(), 4);
}

/// Pinned content is judged as it is: nothing of an earlier version stands in for it.
#[test]
fn in_a_pinned_project_nothing_is_kept() {
    let world = World::new();
    let file = "home/work/.agents/skills/p/SKILL.md";
    world.write(file, &skill("p", "project"));
    std::fs::create_dir_all(world.path("home/work/.git")).unwrap();
    trusting::grant(&world.environment(), None, false).unwrap();
    let live = start(&world);
    let mut told = live.subscribe();
    assert_eq!(find(&live.snapshot(), "p").unwrap().state, EntryState::Ok);
    world.save(file, &skill("p", "changed"));
    until(&mut told, "the change", |now| {
        find(now, "p").unwrap().state == EntryState::Changed
    });
    world.save(file, "");
    let updates = until(&mut told, "that it is invalid", |now| {
        now.skills
            .iter()
            .any(|skill| skill.state == EntryState::Invalid)
    });
    let last = &updates.last().unwrap().snapshot;
    let findings = last.skills.iter().flat_map(|skill| &skill.diagnostics);
    assert!(
        !findings
            .into_iter()
            .any(|found| found.code == Code::KeptLastGood)
    );
}

#[test]
fn the_version_rises_with_the_digest_alone() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    let live = start(&world);
    let mut told = live.subscribe();
    let first = live.snapshot();
    // The same bytes again, a file that is nobody's business, and an empty group.
    world.save(A, &skill("a", "one"));
    world.write("home/.agents/skills/a/notes.txt", "notes");
    std::fs::create_dir(world.path("home/.agents/skills/group")).unwrap();
    let again = live.snapshot();
    assert_eq!((again.version, again.digest), (first.version, first.digest));
    world.save(A, &skill("a", "two"));
    let updates = until(&mut told, "the edit", |now| now.digest != first.digest);
    assert_eq!(updates.len(), 1, "nothing was told before: {updates:#?}");
    assert_eq!(updates[0].version, first.version + 1);
    // Back to what it was: another version all the same.
    world.save(A, &skill("a", "one"));
    let updates = until(&mut told, "the way back", |now| now.digest == first.digest);
    assert_eq!(updates.last().unwrap().version, first.version + 2);
}

/// A turn does not wait for events: whatever was written before it is in its snapshot.
#[test]
fn a_turn_sees_what_was_written_before_it() {
    let world = World::new();
    let patient = LiveOptions {
        quiet: PLENTY,
        longest_wait: PLENTY,
        ..LiveOptions::default()
    };
    std::fs::create_dir_all(world.path("root")).unwrap();
    let live = world.start_root(patient);
    for n in 0..50 {
        world.write("root/a/SKILL.md", &skill("a", &format!("version {n}")));
        let snapshot = live.snapshot();
        let description = find(&snapshot, "a").unwrap().description();
        assert_eq!(description, Some(&*format!("version {n}")));
    }
}

#[test]
fn a_slow_subscriber_is_told_once_of_everything() {
    let world = World::new();
    world.write("root/a/SKILL.md", &skill("a", "one"));
    world.write("root/gone/SKILL.md", &skill("gone", "one"));
    let live = world.start_root(LiveOptions::default());
    let first = live.snapshot();
    let mut told = live.subscribe();
    for n in 0..200 {
        world.write(
            &format!("root/n{n}/SKILL.md"),
            &skill(&format!("n{n}"), "new"),
        );
        live.discover();
    }
    std::fs::remove_dir_all(world.path("root/gone")).unwrap();
    world.save("root/a/SKILL.md", &skill("a", "two"));
    let last = live.snapshot();
    let update = told.next(PLENTY).unwrap();
    assert_eq!(update.digest, last.digest);
    assert!(update.version >= first.version + 200);
    assert_eq!(update.added.len(), 200);
    assert_eq!(update.removed, ["gone@user:root"]);
    assert_eq!(update.changed, ["a@user:root"]);
}

#[test]
fn when_watches_run_out_it_polls_and_says_so() {
    let world = World::new();
    for n in 0..20 {
        world.write(
            &format!("root/s{n}/SKILL.md"),
            &skill(&format!("s{n}"), "d"),
        );
    }
    let live = world.start_root(LiveOptions {
        max_watches: 3,
        poll: Duration::from_millis(20),
        ..LiveOptions::default()
    });
    let mut told = live.subscribe();
    let has_notice = |now: &Snapshot| {
        let mut all = now.diagnostics.iter();
        all.any(|found| found.code == Code::WatchPolling)
    };
    if !has_notice(&live.latest()) {
        until(&mut told, "the notice", has_notice);
    }
    world.save("root/s19/SKILL.md", &skill("s19", "edited"));
    let updates = until(&mut told, "the edit", |now| {
        find(now, "s19").unwrap().description() == Some("edited")
    });
    let why = reasons(&updates, &world.path(""));
    assert!(why.contains(&"poll".to_owned()), "{why:?}");
    assert!(has_notice(&live.snapshot()));
}

#[test]
fn it_ends_at_once_whatever_it_waits_for() {
    let world = World::new();
    world.write(A, &skill("a", "one"));
    let began = Instant::now();
    for _ in 0..5 {
        let live = start(&world);
        let mut told = live.subscribe();
        let waiting = std::thread::spawn(move || told.next(PLENTY).is_none());
        drop(live);
        assert!(waiting.join().unwrap(), "the subscriber is let go");
    }
    drop(LiveLibrary::start(
        world.environment(),
        DiscoveryRequest::default(),
    ));
    assert!(began.elapsed() < PLENTY);
}
