//! What twenty children of one step cost: they share the beginning of their prompts, which a provider keeps.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use grove_engine::RunOrder;
use grove_spec::chain::{ChainStep, ChainTask, GroupSettings, ParallelTasks};
use grove_testkit::model_server::{Request, Script, ScriptedReply, TokenCounts};

use crate::scene::Scene;

const CHILDREN: usize = 20;

/// The count of a provider that keeps the beginnings of prompts: tools and instructions, four bytes a token.
#[derive(Debug, Default)]
struct KeptBeginnings {
    known: BTreeSet<String>,
    cached: u64,
}

/// Runs twenty tasks over sixty skills, of which few have room, with an order of the catalog.
fn fan_out(order: &str) -> KeptBeginnings {
    let kept = Arc::new(Mutex::new(KeptBeginnings::default()));
    let count = Arc::clone(&kept);
    let scene = Scene::new(Script::chosen_by(move |_, request: &Request| {
        let body = request.json();
        let beginning = format!("{}{}", body["tools"], body["system"]);
        let tokens = beginning.len() as u64 / 4;
        let mut kept = count.lock().unwrap();
        let cached = if kept.known.insert(beginning) {
            0
        } else {
            tokens
        };
        kept.cached += cached;
        let usage = TokenCounts {
            cached,
            ..TokenCounts::default()
        };
        ScriptedReply {
            text: Some("Done.".to_owned()),
            usage,
            ..ScriptedReply::default()
        }
    }));
    scene.agent("reader", "tools: read\ninheritSkills: true");
    let config = format!("catalog.order = \"{order}\"\nlimits.prompt_chars = 4000\n");
    fs::create_dir_all(scene.path("home/.config/grove")).unwrap();
    fs::write(scene.path("home/.config/grove/config.toml"), config).unwrap();
    for number in 0..3 * CHILDREN {
        let folder = scene.path(&format!("home/.grove/skills/part-{number}"));
        let about = format!("Repairs part{number} of the engine. ").repeat(6);
        let text = format!("---\nname: part-{number}\ndescription: {about}\n---\nBody.\n");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    let task = |number: usize| ChainTask {
        agent: "reader".to_owned(),
        task: Some(format!("Repair part{}", 2 * number)),
        ..ChainTask::default()
    };
    let group = ParallelTasks {
        tasks: (0..CHILDREN).map(task).collect(),
        settings: GroupSettings::default(),
    };
    let order = RunOrder {
        steps: Some(vec![ChainStep::Parallel(Box::new(group))]),
        ..RunOrder::of_task("reader", "")
    };
    let _served = scene.engine.serve_here().unwrap();
    let resolved = scene.engine.resolve(&order).unwrap();
    let run = scene.engine.submit(&resolved).unwrap().0.id;
    scene.wait(&run);
    assert_eq!(scene.server.requests().len(), CHILDREN);
    std::mem::take(&mut kept.lock().unwrap())
}

#[test]
fn a_fan_out_loses_no_cached_token_by_the_order_of_its_tasks() {
    let (usual, ordered) = (fan_out("usual"), fan_out("task"));
    assert_ne!(usual.known, ordered.known, "the order is another one");
    for kept in [&usual, &ordered] {
        assert_eq!(kept.known.len(), 1, "all children have one beginning");
        let whole = kept.known.iter().map(|known| known.len() as u64 / 4);
        assert_eq!(kept.cached, (CHILDREN as u64 - 1) * whole.sum::<u64>());
    }
    println!("cached: {} and {}", usual.cached, ordered.cached);
}
