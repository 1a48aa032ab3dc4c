//! A live library and all of pi's places: what stands in for a skill that is taken away is seen at once.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use grove_catalog::EntryState;
use grove_catalog::snapshot::Snapshot;
use grove_skills::live::LiveLibrary;
use grove_skills::{DiscoveryRequest, DiscoveryView, trusting};

use super::world::{World, reasons, skill, until};

/// Well below the five seconds for which a cache hides a skill elsewhere, and well above the time in which
/// events are gathered.
const SOON: Duration = Duration::from_secs(2);

const PROJECT_SETTINGS: &str = "home/work/.pi/settings.json";
const USER_SETTINGS: &str = "home/.pi/agent/settings.json";

/// Strongest first.
const PLACES: [&str; 9] = [
    "home/work/.agents/skills",
    "home/work/.pi/skills",
    "home/work/team",
    "home/.agents/skills",
    "home/.pi/agent/skills",
    "home/mine",
    "home/work/skills",
    "home/work/.pi/npm/node_modules/p/skills",
    "home/.pi/agent/npm/node_modules/p/skills",
];

fn nine_places() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("home/work/.git")).unwrap();
    world.write(PROJECT_SETTINGS, "{\"skills\": [\"../team\"]}");
    world.write(USER_SETTINGS, "{\"skills\": [\"~/mine\"]}");
    for package in [
        "home/work",
        "home/work/.pi/npm/node_modules/p",
        "home/.pi/agent/npm/node_modules/p",
    ] {
        let manifest = "{\"name\": \"p\", \"pi\": {\"skills\": [\"skills\"]}}";
        world.write(&format!("{package}/package.json"), manifest);
    }
    for place in PLACES {
        world.write(&format!("{place}/x/SKILL.md"), &skill("x", place));
    }
    trusting::grant(&world.environment(), None, false).unwrap();
    world
}

fn start(world: &World, view: DiscoveryView) -> LiveLibrary {
    let request = DiscoveryRequest {
        view,
        ..DiscoveryRequest::default()
    };
    let live = LiveLibrary::start(world.environment(), request);
    // Its thread watches before it answers.
    live.discover();
    live
}

/// Where the `x` in use is, below the world.
fn used(world: &World, snapshot: &Snapshot) -> Option<PathBuf> {
    let mut skills = snapshot.skills.iter();
    let x = skills.find(|skill| skill.name() == "x" && skill.state == EntryState::Ok)?;
    let root = &snapshot.root_of(x)?.path;
    Some(root.strip_prefix(world.path("")).unwrap().to_path_buf())
}

#[test]
fn whoever_is_told_hears_of_the_next_of_nine_places_soon() {
    let world = nine_places();
    let live = start(&world, DiscoveryView::Own);
    let mut told = live.subscribe();
    assert_eq!(used(&world, &live.latest()), Some(PLACES[0].into()));
    for (at, place) in PLACES.iter().enumerate() {
        let next = PLACES.get(at + 1).map(PathBuf::from);
        let gone = Instant::now();
        std::fs::remove_dir_all(world.path(place).join("x")).unwrap();
        until(&mut told, place, |now| used(&world, now) == next);
        assert!(gone.elapsed() < SOON, "{place}: {:?}", gone.elapsed());
    }
}

#[test]
fn whoever_asks_gets_the_next_of_nine_places_at_once() {
    let world = nine_places();
    let live = start(&world, DiscoveryView::Own);
    for (at, place) in PLACES.iter().enumerate() {
        std::fs::remove_dir_all(world.path(place)).unwrap();
        let next = PLACES.get(at + 1).map(PathBuf::from);
        assert_eq!(used(&world, &live.snapshot()), next, "{place}");
    }
}

#[test]
fn settings_that_name_another_folder_are_a_change_of_configuration() {
    let world = World::new();
    std::fs::create_dir_all(world.path("home/work/.git")).unwrap();
    for place in ["home/one", "home/two", "home/work/team"] {
        world.write(&format!("{place}/x/SKILL.md"), &skill("x", place));
    }
    let names = |path: &str| format!("{{\"skills\": [\"{path}\"]}}");
    for (view, team) in [
        (DiscoveryView::Own, None),
        // pi asks for trust itself, so that its view has what the project names.
        (
            DiscoveryView::Host("pi".to_owned()),
            Some(PathBuf::from("home/work/team")),
        ),
    ] {
        for settings in [USER_SETTINGS, PROJECT_SETTINGS] {
            world.write(settings, "{}");
        }
        let live = start(&world, view.clone());
        let mut told = live.subscribe();
        assert_eq!(used(&world, &live.latest()), None);
        for place in ["one", "two"] {
            let from = Instant::now();
            world.save(USER_SETTINGS, &names(&format!("~/{place}")));
            let updates = until(&mut told, place, |now| {
                used(&world, now) == Some(PathBuf::from("home").join(place))
            });
            assert!(from.elapsed() < SOON, "{place}: {:?}", from.elapsed());
            let why = reasons(&updates, &world.path(""));
            assert!(
                why.contains(&format!("configuration: {USER_SETTINGS}")),
                "{why:?}"
            );
            live.discover();
        }
        world.save(PROJECT_SETTINGS, &names("../team"));
        until(&mut told, "the project's settings", |now| {
            let all = now.skills.iter().filter(|skill| skill.name() == "x");
            all.count() == 2
        });
        let expected = team.unwrap_or_else(|| "home/two".into());
        assert_eq!(used(&world, &live.latest()), Some(expected), "{view:?}");
    }
}

#[test]
fn a_named_folder_is_seen_when_it_appears() {
    let world = World::new();
    world.write(USER_SETTINGS, "{\"skills\": [\"~/later/on\"]}");
    let live = start(&world, DiscoveryView::Own);
    let mut told = live.subscribe();
    assert_eq!(used(&world, &live.latest()), None);
    let from = Instant::now();
    world.write("home/later/on/x/SKILL.md", &skill("x", "later"));
    until(&mut told, "the folder", |now| used(&world, now).is_some());
    assert!(from.elapsed() < SOON, "{:?}", from.elapsed());
}
