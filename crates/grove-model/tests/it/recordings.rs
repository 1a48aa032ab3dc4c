//! Recordings: made against a provider, played without one.

use std::sync::{Arc, Mutex};

use grove_model::{
    AnswerCounter, Api, AskedRequest, Block, Deadlines, Message, ModelClient as _, ModelError,
    ModelEvent, ModelRequest, Network, Places, Player, Recorder, RecordingSink, Relay, ReplayError,
    Role, Tape,
};
use grove_plan::ModelFailure;
use grove_testkit::model_server::{Delivery, Format, ModelServer, Reply, Script, ScriptedReply};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::World;
use crate::world::{Asked, KEY, ask, provider, request, runtime, said};

fn places(folder: &str, run: &str) -> Places {
    Places {
        run_ids: vec![run.to_owned()],
        work: Some(format!("{folder}/project")),
        project: Some(format!("{folder}/project")),
        home: Some(format!("{folder}/home")),
        state: Some(format!("{folder}/home/.state")),
        temp: Some(format!("{folder}/tmp")),
    }
}

/// A request after which the model has read a file, in a folder and with a result.
fn second(folder: &str, asked: &ModelRequest, answer: Vec<Block>, result: &str) -> ModelRequest {
    let mut next = asked.clone();
    let Some(Block::ToolUse { id, input, .. }) = answer.last() else {
        panic!("no call");
    };
    assert_eq!(input["path"], format!("{folder}/project/a.txt"));
    let result = Block::ToolResult {
        id: id.clone(),
        content: result.to_owned(),
        is_error: false,
    };
    next.messages.push(Message::assistant(answer));
    next.messages.push(Message {
        role: Role::User,
        content: vec![result],
    });
    next
}

/// Records a conversation of two turns, one that is asked twice, and one that fails.
fn recording() -> String {
    let folder = "/var/one";
    let world = World::new(Script::replies([
        Reply::call("read", json!({ "path": format!("{folder}/project/a.txt") })),
        Reply::text(format!("It is in {folder}/home, says run r1x.")),
        Reply::text("First."),
        Reply::text("Second."),
        Reply::error(401, format!("no such key {KEY}")),
    ]));
    let sink = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder::new(world.client, Arc::clone(&sink), places(folder, "r1x")).unwrap();
    let asked = request(&format!("Look into {folder}/project."));
    world.runtime.block_on(async {
        let (answer, events) = ask(&recorder, &asked).await;
        assert!(events.iter().any(ModelEvent::is_content));
        let next = second(folder, &asked, answer.unwrap().blocks, "hello");
        ask(&recorder, &next).await.0.unwrap();
        for _ in 0..2 {
            ask(&recorder, &request("Again.")).await.0.unwrap();
        }
        ask(&recorder, &request("Fail.")).await.0.unwrap_err();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let cancelled = recorder.ask(&asked, &mut |_| {}, &cancel).await;
        assert_eq!(cancelled, Err(ModelError::Cancelled));
    });
    let bytes = sink.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn play(player: &Player, request: &ModelRequest) -> Asked {
    runtime().block_on(ask(player, request))
}

fn player(text: &str, is_strict: bool) -> Player {
    let tape = Tape::read(text.as_bytes(), is_strict).unwrap();
    Player::new(Arc::new(tape), places("/home/b", "r9z"))
}

#[test]
fn a_recording_has_neither_keys_nor_folders_nor_run_ids_and_sorted_keys() {
    let text = recording();
    for absent in [KEY, "/var/one", "r1x"] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
    assert_eq!(text.lines().count(), 6);
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut sorted = value.clone();
        sorted.sort_all_objects();
        assert_eq!(sorted.to_string(), line);
    }
}

#[test]
fn what_a_model_gave_is_played_with_its_keys_in_order() {
    let given = json!({ "weight": 1, "at": { "line": 2, "file": "a" } });
    let world = World::new(Script::replies([Reply::call("report", given.clone())]));
    let sink = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder::new(world.client, Arc::clone(&sink), Places::default()).unwrap();
    let recorded = world
        .runtime
        .block_on(ask(&recorder, &request("Report.")))
        .0;
    recorded.unwrap();
    let text = String::from_utf8(sink.lock().unwrap().clone()).unwrap();
    let played = play(&player(&text, true), &request("Report.")).0.unwrap();
    let Some(Block::ToolUse { input, .. }) = played.blocks.first() else {
        panic!("no call: {played:?}");
    };
    assert_eq!(input.to_string(), given.to_string());
}

#[test]
fn a_recording_is_played_in_another_folder_and_in_order() {
    let player = player(&recording(), true);
    let asked = request("Look into /home/b/project.");
    let (answer, events) = play(&player, &asked);
    let answer = answer.unwrap();
    assert!(matches!(&events[0], ModelEvent::ToolStart { name, .. } if name == "read"));
    assert_eq!(answer.usage.input, 16);
    let next = second("/home/b", &asked, answer.blocks, "hello");
    let (answer, events) = play(&player, &next);
    assert_eq!(
        answer.unwrap().text(),
        "It is in /home/b/home, says run r9z."
    );
    assert_eq!(said(&events), "It is in /home/b/home, says run r9z.");
    for expected in ["First.", "Second."] {
        assert_eq!(
            play(&player, &request("Again.")).0.unwrap().text(),
            expected
        );
    }
    let failed = play(&player, &request("Fail.")).0.unwrap_err();
    assert_eq!(failed.failure(), Some(ModelFailure::Auth));
    assert_eq!(
        play(&player, &request("Again.")).0,
        Err(ModelError::Replay(ReplayError::UsedUp { times: 2 }))
    );
}

#[test]
fn a_result_that_differs_is_a_warning_and_strictly_an_error() {
    let text = recording();
    for is_strict in [false, true] {
        let player = player(&text, is_strict);
        let asked = request("Look into /home/b/project.");
        let answer = play(&player, &asked).0.unwrap();
        let next = second("/home/b", &asked, answer.blocks, "hullo");
        let (answer, events) = play(&player, &next);
        let difference =
            "the result of `read` differs: recorded \"hello\", now \"hullo\"".to_owned();
        if is_strict {
            let error = ReplayError::ResultDiffers { difference };
            assert_eq!(answer, Err(ModelError::Replay(error)));
        } else {
            assert!(answer.is_ok());
            assert_eq!(
                events[0],
                ModelEvent::Warning {
                    message: difference
                }
            );
        }
    }
}

#[test]
fn what_was_not_recorded_is_said_with_the_difference() {
    let player = player(&recording(), false);
    let asked = request("Look into /home/b/elsewhere.");
    let (answer, _) = play(&player, &asked);
    let message = answer.unwrap_err().to_string();
    assert!(
        message
            .starts_with("the recording has no such request: the first message differs: recorded"),
        "{message}"
    );
}

#[test]
fn a_cut_last_line_is_left_out_and_other_damage_is_said() {
    let text = recording();
    let cut = &text[..text.len() - 40];
    let played = player(cut, false);
    assert!(play(&played, &request("Again.")).0.is_ok());
    assert!(matches!(
        play(&played, &request("Fail.")).0,
        Err(ModelError::Replay(ReplayError::NotRecorded { .. }))
    ));
    // Begun again behind the cut, as after a crash.
    let again = format!("{cut}{text}{text}");
    let played = player(&again, false);
    for expected in [
        "First.", "Second.", "First.", "Second.", "First.", "Second.",
    ] {
        let (answer, _) = play(&played, &request("Again."));
        assert_eq!(answer.unwrap().text(), expected);
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines[3] = "{}";
    for (text, line) in [
        (lines.join("\n").as_str(), 4),
        ("", 1),
        ("{\"recording\":\"grove.recording/9\"}\n", 1),
    ] {
        let refused = Tape::read(text.as_bytes(), false).err();
        assert!(
            matches!(refused, Some(ReplayError::Damaged { line: at, .. }) if at == line),
            "{refused:?}"
        );
    }
}

#[test]
fn a_recording_that_cannot_be_written_is_a_warning() {
    struct Full;
    impl grove_model::RecordingSink for Full {
        fn append(&self, line: &str) -> std::io::Result<()> {
            if line.contains("\"recording\"") {
                return Ok(());
            }
            Err(std::io::Error::other("the disk is full"))
        }
    }
    let world = World::new(Script::plain());
    let recorder = Recorder::new(world.client, Full, Places::default()).unwrap();
    let (answer, events) = world.runtime.block_on(ask(&recorder, &request("Look.")));
    assert_eq!(answer.unwrap().text(), "Done.");
    let message = "the recording is not whole: the disk is full".to_owned();
    assert_eq!(events.last(), Some(&ModelEvent::Warning { message }));
}

/// The provider keeps its connection open, as a program sees that hangs up once it has the whole answer.
#[test]
fn an_answer_that_is_whole_is_recorded_although_its_connection_goes_on() {
    let reply = ScriptedReply::from(Reply::text("Whole."));
    let length = Format::Anthropic.stream(&reply).len();
    let delivery = Delivery {
        hang_after_bytes: Some(length),
        ..Delivery::default()
    };
    let server = ModelServer::start(Script::replies([ScriptedReply { delivery, ..reply }]));
    let server = server.unwrap();
    let endpoint = provider(Api::Anthropic, &server.url())
        .endpoint(None)
        .unwrap();
    let sink = Arc::new(Mutex::new(Vec::new()));
    let relay = Relay::new(Arc::new(Network::new()), endpoint, Deadlines::default());
    let relay = relay
        .recording_to(
            Arc::clone(&sink) as Arc<dyn RecordingSink>,
            places("/var/one", "r1x"),
        )
        .unwrap();
    let body = json!({ "model": "m", "stream": true, "max_tokens": 9, "messages": [] }).to_string();
    runtime().block_on(async {
        let asked = AskedRequest {
            method: http::Method::POST,
            target: "/v1/messages".to_owned(),
            headers: http::HeaderMap::new(),
            body: body.into_bytes().into(),
        };
        let mut answer = relay.send(asked).await.unwrap();
        let mut counter = AnswerCounter::new(Api::Anthropic, answer.is_stream(), 9);
        while !counter.is_complete() {
            counter.push(&answer.next().await.unwrap().unwrap());
        }
        answer.end();
        answer.end();
    });
    let recorded = String::from_utf8(sink.lock().unwrap().clone()).unwrap();
    // The heading, and the answer once.
    assert_eq!(recorded.lines().count(), 2, "{recorded}");
    assert!(recorded.contains("Whole."), "{recorded}");
}
