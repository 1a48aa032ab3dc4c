//! Runs of a thousand children and a hundred thousand events: what a page of them costs.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use grove_engine::below::grove_plan::{
    Attempt, Body, Call, CallId, CallOutcome, Child, EffectId, EffectKind, Fact, GroupRules,
    Holder, Node, NodeId, Plan, Times, Turn, Usage, Work,
};
use grove_engine::below::grove_store::{NewEvent, Store, Submission};
use grove_spec::Digest;
use grove_testkit::browser::{Browser, BrowserLook};
use grove_testkit::model_server::Reply;
use grove_testkit::needs;
use grove_testkit::session::{PROGRAM_VARIABLE, Session};
use serde_json::json;

use super::{ServedPage, model, page_of, scene};

/// A run whose events the test writes itself.
struct WrittenRun<'a> {
    store: &'a Store,
    id: &'static str,
    at: u64,
}

impl WrittenRun<'_> {
    /// Records facts, and waits until all are durable.
    fn record(&mut self, facts: impl IntoIterator<Item = Fact>) {
        let (done, waiting) = channel();
        let mut count = 0;
        for fact in facts {
            self.at += 7;
            let done = done.clone();
            let draft = NewEvent {
                fact,
                artifacts: Vec::new(),
                at: Times {
                    wall: self.at,
                    boot: self.at,
                },
            };
            count += 1;
            let told = self.store.append_then(self.id, draft, move |result| {
                done.send(result.map(drop)).unwrap();
            });
            told.unwrap();
        }
        for result in waiting.iter().take(count) {
            result.unwrap();
        }
    }
}

fn of(node: &NodeId) -> Attempt {
    Attempt {
        node: node.clone(),
        n: 1,
    }
}

/// The process of the test holds the children, so that no supervisor takes them.
fn holder() -> Holder {
    grove_engine::below::grove_exec::ProcessIdentity::this_process().0
}

fn lease(node: &NodeId) -> Fact {
    Fact::Leased {
        effect: EffectId::new(&of(node), EffectKind::Start, 0),
        epoch: 1,
        holder: holder(),
    }
}

fn turn(node: &NodeId, text: &str) -> Fact {
    Fact::Turned {
        of: of(node),
        epoch: 1,
        turn: Turn {
            content: Body::Inline(json!([{ "kind": "text", "text": text }])),
            usage: Usage {
                input: 900,
                output: 60,
                ..Usage::default()
            },
            stop: "endTurn".to_owned(),
            added: None,
        },
    }
}

/// A call of a tool and its result.
fn call(node: &NodeId, n: usize) -> [Fact; 2] {
    let id = CallId(format!("c{n}"));
    let called = Fact::Called {
        of: of(node),
        epoch: 1,
        call: Call {
            id: id.clone(),
            given: None,
            tool: "bash".to_owned(),
            arguments: Body::Inline(json!({ "command": format!("cargo test --package part-{n}") })),
            writes: false,
            observed: false,
        },
    };
    let returned = Fact::Returned {
        of: of(node),
        epoch: 1,
        call: id,
        outcome: CallOutcome {
            content: Body::Inline(format!("line {n}\n").repeat(20).into()),
            is_error: n.is_multiple_of(50),
            goes_on: false,
        },
    };
    [called, returned]
}

/// A run of so many children side by side, each of which is at work.
fn submit<'a>(
    store: &'a Store,
    session: &Session,
    id: &'static str,
    children: usize,
) -> (WrittenRun<'a>, Vec<NodeId>) {
    let told = json!({ "system": "You work.", "message": "Look at it." })
        .to_string()
        .into_bytes();
    let group = NodeId::step(1);
    let nodes: Vec<NodeId> = (0..children).map(|at| group.member(at)).collect();
    let plan = nodes.iter().map(|id| Node {
        id: id.clone(),
        after: Vec::new(),
        group: Some(group.clone()),
        reviews: None,
        work: Work::Child(Box::new(Child::new("worker", Digest::of(&told), "p/model"))),
    });
    let mut plan = Plan::of(plan.collect());
    plan.groups.insert(group, GroupRules::default());
    let at = grove_engine::now().wall - 800_000;
    let submission = Submission {
        id: id.to_owned(),
        plan,
        surroundings: String::new(),
        envelope: json!({ "title": format!("Run {id}"), "task": "Look", "folder": session.path("project"), "surroundings": "" }).to_string(),
        title: format!("Run {id}"),
        folder: session.path("project").display().to_string(),
        owner: Digest::of(b"owner"),
        key: None,
        parent: None,
        again: None,
        artifacts: vec![told],
        at: Times { wall: at, boot: at },
    };
    store.submit(submission).unwrap();
    let mut run = WrittenRun { store, id, at };
    run.record(nodes.iter().map(lease));
    (run, nodes)
}

/// The memory of a process that is its own, in KiB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// The time for which a process was at work, which a busy machine does not lengthen.
fn worked(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .flatten();
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}

/// What is owed holds for a program as it is released; one of the tests may take ten times as long.
fn owed(time: Duration) -> Duration {
    if std::env::var_os(PROGRAM_VARIABLE).is_some() {
        time
    } else {
        time * 10
    }
}

/// What a person waits for depends on what else the machine does: it is measured, and only what is far too much fails.
fn waited(time: Duration) -> Duration {
    owed(time) * 10
}

#[test]
fn a_thousand_children_and_a_hundred_thousand_events_are_a_page_at_once() {
    needs![Chromium, Node, Playwright, Axe];
    let server = model(|_, _, _| Reply::text("Done."));
    let session = scene(&server);
    session.dir("state/grove");
    let store = Store::open(&session.path("state/grove/runs.db")).unwrap();
    let (mut run, nodes) = submit(&store, &session, "big", 1_000);
    // Each child answers and calls; a hundred events a child.
    run.record(nodes.iter().flat_map(|node| {
        (0..33).flat_map(move |n| {
            let [called, returned] = call(node, n);
            [turn(node, "I look at the next part."), called, returned]
        })
    }));
    let (mut deep, one) = submit(&store, &session, "deep", 1);
    deep.record((0..10_000).flat_map(|n| call(&one[0], n)));
    let served = ServedPage::start(&session, &[]);
    let pid = served.process.id();
    let browser = Browser::start();
    let person = browser.person(BrowserLook::default());
    let page = page_of(&person, &served.link);
    // The list reads the open runs once, which is the time of a cold start.
    page.wait("#runs", "1,000 over");
    let timing = "(async () => { const [n] = performance.getEntriesByType('navigation'); let paint; \
        while (!(paint = performance.getEntriesByName('first-contentful-paint')[0])) await new Promise(requestAnimationFrame); \
        return { server: n.responseEnd - n.requestStart, paint: paint.startTime, size: n.transferSize }; })()";
    for path in [
        "/",
        "/runs/big",
        "/runs/big/steps/1",
        "/runs/deep/children/1.0",
    ] {
        let address = format!("{}{path}", served.base());
        // The first time a run is folded.
        page.open(&address);
        page.open("about:blank");
        let before = worked(pid);
        page.open(&address);
        let work = worked(pid).saturating_sub(before);
        let times = page.evaluate(timing);
        println!("{path}: {work:?} of work, {times}");
        let paint = Duration::from_secs_f64(times["paint"].as_f64().unwrap() / 1e3);
        assert!(work <= owed(Duration::from_millis(50)), "{path}: {work:?}");
        assert!(
            paint <= waited(Duration::from_millis(300)),
            "{path}: {times}"
        );
    }
    // Scrolling through ten thousand calls: every part is fetched as it comes, and no frame takes long.
    let frames = page.evaluate("(async () => { \
        scrollTo(0, 0); \
        const frames = []; let last = performance.now(); \
        for (let step = 0; step < 400; step++) { \
            scrollBy({ top: innerHeight, behavior: 'instant' }); \
            await new Promise(requestAnimationFrame); \
            const now = performance.now(); frames.push(now - last); last = now; \
        } \
        frames.sort((a, b) => a - b); \
        return { median: frames[200], p95: frames[380], most: frames[399], items: document.querySelectorAll('.item').length }; })()");
    println!("frames: {frames}");
    assert!(frames["p95"].as_f64().unwrap() <= 500.0, "{frames}");
    let used = memory(pid);
    println!("memory: {used} KiB");
    assert!(used <= 100 << 10, "{used} KiB");

    // A second tab shows each event soon; watching costs little.
    page.open(&format!("{}/runs/big", served.base()));
    let second = person.page();
    second.open(&format!("{}/runs/big", served.base()));
    for tab in [&page, &second] {
        tab.wait("#live", "live");
        tab.evaluate("(() => { window.seen = {}; \
            new MutationObserver(() => { for (const li of document.querySelectorAll('#events li')) window.seen[li.id] ??= Date.now(); }) \
            .observe(document.getElementById('events'), { childList: true }); })()");
    }
    let (before, begun) = (worked(pid), Instant::now());
    let first = {
        let journal = store.load("big").unwrap();
        journal.state.seq + 1
    };
    let mut written = Vec::new();
    for n in 0..200_usize {
        let at = grove_engine::now().wall;
        run.at = at;
        run.record([turn(&nodes[n * 5], "Another answer.")]);
        written.push(grove_engine::now().wall);
        std::thread::sleep(Duration::from_millis(40));
    }
    let (cost, time) = (worked(pid).saturating_sub(before), begun.elapsed());
    let last = first + 199;
    for tab in [&page, &second] {
        tab.wait(&format!("#e{last}"), "");
        let seen = tab.evaluate("window.seen");
        let mut delays: Vec<i64> = (0..200)
            .map(|n| {
                let seen = seen[format!("e{}", first + n)].as_i64();
                seen.unwrap_or_else(|| panic!("event {n} was never shown"))
                    - i64::try_from(written[usize::try_from(n).unwrap()]).unwrap()
            })
            .collect();
        delays.sort_unstable();
        println!("delays: median {} ms, p99 {} ms", delays[100], delays[197]);
        assert!(
            delays[197] <= i64::try_from(waited(Duration::from_millis(250)).as_millis()).unwrap(),
            "{delays:?}"
        );
    }
    let share = cost.as_secs_f64() / time.as_secs_f64() / 2.0;
    println!("watching: {:.1} % of a core for a tab", share * 100.0);
    assert!(
        share <= 0.05 * owed(Duration::from_secs(1)).as_secs_f64(),
        "{share}"
    );
}

#[test]
fn an_exported_page_of_a_hundred_children_is_the_same_each_time_small_and_whole_without_a_server() {
    needs![Chromium, Node, Playwright, Axe];
    let server = model(|_, _, _| Reply::text("Done."));
    let session = scene(&server);
    session.dir("state/grove");
    let store = Store::open(&session.path("state/grove/runs.db")).unwrap();
    let (mut run, nodes) = submit(&store, &session, "hundred", 100);
    run.record(nodes.iter().flat_map(|node| {
        (0..40).flat_map(move |n| {
            let [called, returned] = call(node, n);
            [turn(node, "I look at the next part."), called, returned]
        })
    }));
    let export = |name: &str| {
        let words = ["runs", "export", "hundred", "--output", name];
        session.grove(words).ok();
        session.read(format!("project/{name}"))
    };
    let (one, other) = (export("one.html"), export("other.html"));
    assert!(one == other, "the same journal gives the same bytes");
    println!("a hundred children: {} bytes", one.len());
    assert!(one.len() < 1_000_000, "{} bytes", one.len());
    let browser = Browser::start();
    let page = browser.person(BrowserLook::default()).page();
    page.open(&format!(
        "file://{}",
        session.path("project/one.html").display()
    ));
    let whole = page.evaluate("document.querySelectorAll('details.whole').length");
    assert_eq!(whole, json!(100));
    page.click("[id='child-1.99'] > summary");
    page.wait("[id='child-1.99'] .item", "I look at the next part.");
    assert_eq!(page.said(), Vec::<String>::new());
}
