//! One tiny turn of an agent program without a provider, which shows whether the program can be a child here at all.

use std::path::Path;
use std::sync::Arc;

use grove_exec::{
    Keeper, KeeperOrder, Program, ProgramEvent, ProgramProvider, ProgramTask, ProgramVerdict,
    StopTokens, verdict,
};
use grove_model::{ModelApi, RelayRule};
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::input::Input;
use super::loopback::{Answer, Loopback, refused};
use super::{complaint, prepared};

/// The answer of the stand-in model.
const WORDS: &str = "ready";
/// The time within which a program has to answer.
const LIMIT_MS: u64 = 60_000;

/// Has a program do one turn with a stand-in for a model.
pub(crate) async fn try_program(
    program: &'static Program,
    file: &Path,
    keeper: &Keeper,
    environment: Vec<(String, String)>,
    folder: &Path,
) -> Result<(), TrialError> {
    let apis = program.apis;
    let model = Loopback::serve(Arc::new(move |request| {
        let target = request.uri().path_and_query().map(ToString::to_string);
        let target = target.unwrap_or_default();
        let mut spoken = apis.iter().filter_map(|word| ModelApi::of_word(word));
        let passing = spoken.find_map(|api| RelayRule::of(api, request.method(), &target));
        let api = match passing {
            Some(RelayRule::Counted(api)) => Some(api),
            Some(RelayRule::Free) | None => None,
        };
        Box::pin(async move { answer(api) })
    }));
    let model = model.await.map_err(TrialError::NoListener)?;
    let provider = ProgramProvider {
        api: program.apis.first().copied().unwrap_or_default(),
        origin: model.url(),
        key: model.token().to_owned(),
    };
    let (work_folder, home) = (folder.join("work"), folder.join("home"));
    grove_fs::files::make_folder(&work_folder)?;
    let launch = program.launch(&ProgramTask {
        program: file,
        arguments: &[],
        work_folder: &work_folder,
        system: "You say one word.",
        message: "Say it.",
        model: Some("claude-sonnet-4-5"),
        thinking: None,
        tools: &[],
        writes: false,
        provider: Some(&provider),
        variables: &[],
        bridge: None,
        resumes: None,
        folder,
        home: &home,
    });
    let environment = prepared(&launch, environment)?;
    let complaints = folder.join("complaints.txt");
    let order = KeeperOrder {
        command: launch.whole_command(&complaints),
        environment,
        limit_ms: LIMIT_MS,
        ..KeeperOrder::shell("", work_folder, "try")
    };
    let mut reader = program.reader(&launch);
    let input = Input::of(&launch).map_err(TrialError::NoListener)?;
    let (sayer, stop) = (input.sayer(), StopTokens::default());
    let mut on_event = |event: ProgramEvent| match event {
        ProgramEvent::Say(line) => sayer.say(line),
        ProgramEvent::Close => sayer.close(),
        _ => {}
    };
    let ran = tokio::select! {
        ran = keeper.run(&order, &stop, |bytes| reader.push(bytes, &mut on_event)) => ran,
        never = input.speak(&stop) => match never {},
    };
    let end = ran?;
    let heard = reader.finish(&mut |_| {});
    match verdict(&heard, &end.report) {
        ProgramVerdict::Answered if heard.text.contains(WORDS) => Ok(()),
        ProgramVerdict::Answered => Err(TrialError::OtherWords),
        ProgramVerdict::Interrupted => Err(TrialError::Interrupted),
        ProgramVerdict::TimedOut => Err(TrialError::TooLate),
        ProgramVerdict::ModelFailed(_, why) => Err(TrialError::Refused(why)),
        ProgramVerdict::NoAnswer(why) => Err(TrialError::NoAnswer {
            complaint: complaint(&complaints),
            why,
        }),
    }
}

/// The reason why a program cannot be a child here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialError {
    #[error(transparent)]
    Files(#[from] grove_fs::FsError),
    #[error("nobody can listen beside it")]
    NoListener(#[source] std::io::Error),
    #[error(transparent)]
    NotRun(#[from] grove_exec::ExecError),
    #[error("it answered something else")]
    OtherWords,
    #[error("it was interrupted")]
    Interrupted,
    #[error("it did not answer in time")]
    TooLate,
    #[error("{0}")]
    Refused(String),
    #[error("{why}{complaint}")]
    NoAnswer { why: String, complaint: String },
}

fn answer(api: Option<ModelApi>) -> Answer {
    let Some(api) = api else {
        return refused(StatusCode::NOT_FOUND, "only a model is here");
    };
    let events = events(api).into_iter().map(|event| {
        let name = event["type"]
            .as_str()
            .map(|name| format!("event: {name}\n"));
        format!("{}data: {event}\n\n", name.unwrap_or_default())
    });
    let mut text: String = events.collect();
    if api == ModelApi::OpenaiChat {
        text.push_str("data: [DONE]\n\n");
    }
    let body = Full::new(Bytes::from(text));
    let mut answer = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    let kind = http::HeaderValue::from_static("text/event-stream");
    let headers = answer.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, kind);
    answer
}

/// Returns the events of one short answer in the format of an interface.
fn events(api: ModelApi) -> Vec<Value> {
    match api {
        ModelApi::Anthropic => {
            let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
            let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage });
            vec![
                json!({ "type": "message_start", "message": message }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": WORDS } }),
                json!({ "type": "content_block_stop", "index": 0 }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage }),
                json!({ "type": "message_stop" }),
            ]
        }
        ModelApi::OpenaiResponses => {
            let item = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": WORDS, "annotations": [] }] });
            let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
            let response = json!({ "id": "resp_1", "object": "response", "status": "completed",
                "output": [item], "usage": usage });
            vec![
                json!({ "type": "response.created", "response": { "id": "resp_1" } }),
                json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
                json!({ "type": "response.completed", "response": response }),
            ]
        }
        ModelApi::OpenaiChat => {
            let chunk = |choices: Value| {
                json!({ "id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m",
                    "choices": choices, "usage": null })
            };
            let mut last = chunk(json!([]));
            last["usage"] =
                json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
            vec![
                chunk(
                    json!([{ "index": 0, "delta": { "role": "assistant", "content": WORDS }, "finish_reason": null }]),
                ),
                chunk(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }])),
                last,
            ]
        }
    }
}
