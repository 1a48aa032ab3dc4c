//! Trees of every shape, ended for every reason.

use std::time::{Duration, Instant};

use grove_exec::{
    EndReason, ExecError, Keeper, KeeperOrder, ProcessEnd, ProgramExit, StopTokens, find_marked,
};

use grove_testkit::process_shapes::{SHAPES, script, sleepers};

use crate::waiting::until;

/// Ending a tree takes the grace and at most this.
const ENDING: Duration = Duration::from_secs(6);

fn keeper() -> Keeper {
    Keeper::new(env!("CARGO_BIN_EXE_grove-test-keeper").into(), &[]).unwrap()
}

fn order(line: &str, mark: &str) -> KeeperOrder {
    KeeperOrder {
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        grace_ms: 300,
        ..KeeperOrder::shell(line, "/".into(), mark)
    }
}

async fn run(order: &KeeperOrder) -> ProcessEnd {
    let never = StopTokens::default();
    keeper().run(order, &never, |_| {}).await.unwrap()
}

#[tokio::test]
async fn a_program_that_ends_is_reported_with_its_output() {
    for (line, exit, output) in [
        ("echo one; echo two >&2", ProgramExit::Code(0), "one\ntwo\n"),
        ("exit 3", ProgramExit::Code(3), ""),
        ("kill -9 $$", ProgramExit::Signal(9), ""),
        ("echo $GROVE_RUN-$HOME", ProgramExit::Code(0), "r/1/1-\n"),
    ] {
        let end = run(&order(line, "r/1/1")).await;
        assert_eq!(
            (end.report.exit, end.report.why),
            (exit, EndReason::Done),
            "{line}"
        );
        assert_eq!(end.output.text(), output, "{line}");
        assert!(end.report.left.is_empty());
    }
    let mut missing = order("", "r/1/1");
    missing.command = vec!["/no/such/program".to_owned()];
    assert!(matches!(
        run(&missing).await.report.exit,
        ProgramExit::NotStarted(_)
    ));
}

#[tokio::test]
async fn output_is_bounded_and_its_end_is_kept() {
    let end = run(&order(
        "head -c 3000000 /dev/zero | tr '\\0' x; echo the end",
        "r/1/2",
    ))
    .await;
    assert_eq!(end.output.total(), 3_000_008);
    let text = end.output.text();
    assert!(
        text.ends_with("the end\n") && text.len() < 64 << 10,
        "{}",
        text.len()
    );
    let mut little = order("yes", "r/1/3");
    (little.most_output, little.limit_ms) = (1_000, 500);
    let end = run(&little).await;
    assert_eq!(
        (end.report.why, end.output.total()),
        (EndReason::TimedOut, 1_000)
    );
}

#[tokio::test]
async fn what_a_program_leaves_running_ends_with_it() {
    for (number, line) in [
        (1, "sleep @ & echo done"),
        (2, "setsid sleep @ >/dev/null & echo done"),
    ] {
        let (line, seconds) = script(line, number);
        let began = Instant::now();
        let end = run(&order(&line, "r/1/4")).await;
        assert_eq!(
            (end.report.exit, end.output.text().as_str()),
            (ProgramExit::Code(0), "done\n")
        );
        assert_eq!(sleepers(&seconds), 0, "{line}");
        assert!(began.elapsed() < ENDING);
    }
}

#[tokio::test]
async fn a_tree_of_any_shape_ends_when_its_time_is_up() {
    for (number, (name, shape)) in (10..).zip(SHAPES) {
        let (line, seconds) = script(shape, number);
        let mut order = order(&line, &format!("r/1/{number}"));
        order.limit_ms = 300;
        let began = Instant::now();
        let end = run(&order).await;
        assert_eq!(
            (end.report.why, end.report.left.len()),
            (EndReason::TimedOut, 0),
            "{name}"
        );
        assert_eq!(sleepers(&seconds), 0, "{name}");
        assert!(
            began.elapsed() < Duration::from_millis(300) + ENDING,
            "{name}"
        );
    }
}

#[tokio::test]
async fn of_two_trees_exactly_the_one_ends_that_is_stopped() {
    let keeper = keeper();
    for (number, (name, shape)) in (20..).zip(SHAPES) {
        let (line, seconds) = script(shape, number);
        let (other_line, others) = script(shape, number + 20);
        let (stop, stop_other) = (StopTokens::default(), StopTokens::default());
        let (one, other) = (
            order(&line, &format!("a/1/{number}")),
            order(&other_line, &format!("a/1/{number}0")),
        );
        let watched = async {
            assert!(until(ENDING, || sleepers(&seconds) > 0 && sleepers(&others) > 0).await);
            let began = Instant::now();
            stop.stop(false);
            assert!(
                until(ENDING, || sleepers(&seconds) == 0).await,
                "{name} survives"
            );
            assert!(began.elapsed() < ENDING, "{name}");
            assert!(sleepers(&others) > 0, "{name}: the other one goes on");
            stop_other.stop(false);
        };
        let (ended, other_ended, ()) = tokio::join!(
            keeper.run(&one, &stop, |_| {}),
            keeper.run(&other, &stop_other, |_| {}),
            watched
        );
        for end in [ended.unwrap(), other_ended.unwrap()] {
            assert_eq!(
                (end.report.why, end.report.left.len()),
                (EndReason::Told, 0),
                "{name}"
            );
        }
        assert_eq!(sleepers(&others), 0, "{name}");
    }
}

#[tokio::test]
async fn a_tree_ends_when_nobody_waits_for_it_any_more() {
    let (line, seconds) = script("setsid sleep @ & sleep @", 60);
    let order = order(&line, "r/1/60");
    let (never, keeper) = (StopTokens::default(), keeper());
    let running = keeper.run(&order, &never, |_| {});
    tokio::select! {
        _ = running => panic!("it does not end by itself"),
        began = until(ENDING, || sleepers(&seconds) == 2) => assert!(began),
    }
    assert!(until(ENDING, || sleepers(&seconds) == 0).await);
}

#[test]
fn what_a_killed_keeper_leaves_is_ended_whatever_it_did() {
    // It ends all children of the process that are not Grove's, and other tests have some.
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let inner = "trees::what_a_killed_keeper_leaves_is_ended_in_a_process_of_its_own";
    let ended = alone
        .args(["--exact", inner, "--ignored"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
#[ignore = "the test above starts it"]
async fn what_a_killed_keeper_leaves_is_ended_in_a_process_of_its_own() {
    let (line, seconds) = script("env -i setsid sleep @ & setsid sleep @ & sleep @", 61);
    let order = order(&line, "r/1/61");
    let (never, keeper) = (StopTokens::default(), keeper());
    let killer = async {
        assert!(until(ENDING, || sleepers(&seconds) == 3).await);
        let marked = find_marked("r/1/61");
        assert!(!marked.is_empty(), "the mark is inherited");
        // The shell's parent is the keeper.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", marked[0].pid)).unwrap();
        let parent = stat.rsplit(')').next().unwrap().split(' ').nth(2).unwrap();
        let killed = grove_testkit::process::kill().args(["-9", parent]).status();
        assert!(killed.unwrap().success());
    };
    let (ended, ()) = tokio::join!(keeper.run(&order, &never, |_| {}), killer);
    assert!(matches!(ended, Err(ExecError::NoReport { left }) if left.is_empty()));
    assert_eq!(sleepers(&seconds), 0);
}

#[tokio::test]
async fn who_is_told_before_it_began_does_not_begin() {
    // The word to end may come in one piece with the order, or at any moment after it.
    for delay in [0, 0, 1, 2, 5, 10, 20] {
        let stop = StopTokens::default();
        if delay == 0 {
            stop.stop(false);
        }
        let later = stop.clone();
        let told = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            later.stop(false);
        });
        let started = Instant::now();
        let order = order("sleep 3055.5", "r/1/9");
        let end = keeper().run(&order, &stop, |_| {}).await.unwrap();
        assert_eq!(end.report.why, EndReason::Told, "{delay} ms");
        assert!(started.elapsed() < ENDING, "{delay} ms");
        told.await.unwrap();
    }
    assert_eq!(sleepers("3055.5"), 0);
}
