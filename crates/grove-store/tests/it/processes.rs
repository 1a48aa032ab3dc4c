//! Several writers, and writers that are killed in the middle.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use grove_plan::{EffectKind, Fact, Wish};
use grove_store::Store;

use crate::scene::{Scene, draft, leased, turned};

const PATH: &str = "GROVE_STORE_TEST_PATH";

#[test]
fn writers_in_two_stores_take_turns_and_lose_nothing() {
    let scene = Scene::new();
    scene.submit("r1");
    scene
        .store
        .append("r1", draft(leased(EffectKind::Start)))
        .unwrap();
    let other = Store::open(&scene.path()).unwrap();
    std::thread::scope(|scope| {
        for store in [&scene.store, &other] {
            scope.spawn(move || {
                for _ in 0..100 {
                    store.append("r1", draft(turned())).unwrap();
                }
            });
        }
    });
    let loaded = other.load("r1").unwrap();
    assert_eq!(loaded.state.seq, 202);
    assert_eq!(loaded.state.spent.counted(), 1_000);
    assert_eq!(other.verify("r1").unwrap(), None);
}

#[test]
fn one_of_many_who_want_an_effect_has_it() {
    let scene = Scene::new();
    scene.submit("r1");
    let stores: Vec<Store> = (0..4)
        .map(|_| Store::open(&scene.path()).unwrap())
        .collect();
    let taken = std::thread::scope(|scope| {
        let tries: Vec<_> = stores
            .iter()
            .map(|store| {
                scope.spawn(|| store.append("r1", draft(leased(EffectKind::Start))).is_ok())
            })
            .collect();
        tries
            .into_iter()
            .map(|it| it.join().unwrap())
            .filter(|it| *it)
            .count()
    });
    assert_eq!(taken, 1);
}

#[test]
fn what_was_said_to_be_recorded_is_there_after_a_kill() {
    let scene = Scene::new();
    scene.submit("r1");
    scene
        .store
        .append("r1", draft(leased(EffectKind::Start)))
        .unwrap();
    for round in 1..=5_usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "processes::records_until_it_is_killed",
                "--nocapture",
            ])
            .env(PATH, scene.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = 0_u64;
        let mut n_lines = 0;
        while n_lines < round * 37 {
            let line = lines.next().unwrap().unwrap();
            if let Some(seq) = line.strip_prefix("recorded ") {
                said = seq.parse().unwrap();
                n_lines += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let loaded = scene.store.load("r1").unwrap();
        assert!(loaded.state.seq >= said, "event {said} is lost");
        assert_eq!(scene.store.verify("r1").unwrap(), None);
    }
    let stop = Fact::Wanted {
        by: "t".to_owned(),
        id: "w".to_owned(),
        wish: Wish::Stop { now: true },
    };
    scene.store.append("r1", draft(stop)).unwrap();
}

#[test]
#[ignore = "a process that another test starts and kills"]
fn records_until_it_is_killed() {
    let path = std::env::var_os(PATH).unwrap();
    let store = Store::open(path.as_ref()).unwrap();
    for _ in 0..100_000 {
        let appended = store.append("r1", draft(turned())).unwrap();
        println!("recorded {}", appended.event.seq);
    }
}
