//! The model server, spoken to over HTTP as a client does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use grove_testkit::model_server::{ModelServer, Reply, Script, ToolCall};
use serde_json::{Value, json};

const PLENTY: Duration = Duration::from_secs(20);

/// Sends bytes on a new connection and reads until the server closes it.
fn exchange(server: &ModelServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(PLENTY)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The status and the body of an answer, chunks put together.
fn parsed(answer: &str) -> (u16, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    if !head.contains("chunked") {
        return (status, body.to_owned());
    }
    let (mut rest, mut whole) = (body, String::new());
    loop {
        let (size, after) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (status, whole);
        }
        whole.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
}

/// The events of a stream, each with the name it bears.
fn events(body: &str) -> Vec<(String, Value)> {
    let member = |text: &str, key: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(key).map(str::to_owned))
    };
    let event = |text: &str| {
        let data = member(text, "data: ").unwrap();
        let data = serde_json::from_str(&data).unwrap_or_else(|_| json!(data));
        (member(text, "event: ").unwrap_or_default(), data)
    };
    let texts = body.split("\n\n").filter(|text| !text.is_empty());
    texts.map(event).collect()
}

fn ask(reply: Reply, path: &str, body: &Value) -> (u16, String) {
    let server = ModelServer::start(Script::replies([reply])).unwrap();
    parsed(&exchange(&server, &post(path, body)))
}

/// The answer with two calls, whole and as events.
fn both_forms(path: &str) -> (Value, Vec<(String, Value)>) {
    let (status, whole) = ask(two_calls(), path, &json!({ "model": "m" }));
    assert_eq!(status, 200);
    let usage = json!({ "include_usage": true });
    let asked = json!({ "model": "m", "stream": true, "stream_options": usage });
    let (_, streamed) = ask(two_calls(), &format!("{path}?beta=true"), &asked);
    (serde_json::from_str(&whole).unwrap(), events(&streamed))
}

fn two_calls() -> Reply {
    let call = |name: &str, namespace: Option<&str>| ToolCall {
        name: name.to_owned(),
        namespace: namespace.map(str::to_owned),
        arguments: json!({ "path": "a \"b\" ü", "n": 1 }),
    };
    Reply::Message {
        text: Some("First the files.".to_owned()),
        calls: vec![call("read", None), call("write", Some("mcp__x"))],
    }
}

#[test]
fn anthropic_messages_whole_and_streamed_say_the_same() {
    let (whole, events) = both_forms("/v1/messages");
    assert_eq!(whole["stop_reason"], "tool_use");
    assert_eq!(whole["content"][0]["text"], "First the files.");
    assert_eq!(whole["content"][2]["name"], "write");
    assert_eq!(events[0].0, "message_start");
    assert_eq!(events.last().unwrap().0, "message_stop");
    let mut blocks: Vec<(Value, String)> = Vec::new();
    for (name, event) in &events {
        assert_eq!(event["type"], *name);
        match name.as_str() {
            "content_block_start" => {
                assert_eq!(event["index"], blocks.len());
                blocks.push((event["content_block"].clone(), String::new()));
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let part = delta["text"].as_str().or(delta["partial_json"].as_str());
                blocks.last_mut().unwrap().1.push_str(part.unwrap());
            }
            _ => {}
        }
    }
    assert_eq!(blocks.len(), 3);
    assert_eq!(blocks[0].1, "First the files.");
    for (index, (block, arguments)) in blocks.iter().enumerate().skip(1) {
        assert_eq!(block["id"], whole["content"][index]["id"]);
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(arguments, whole["content"][index]["input"]);
    }
}

#[test]
fn responses_whole_and_streamed_say_the_same() {
    let (whole, events) = both_forms("/v1/responses");
    assert_eq!(whole["output"].as_array().unwrap().len(), 3);
    assert_eq!(whole["output"][2]["namespace"], "mcp__x");
    assert!(whole["output"][1].get("namespace").is_none());
    assert_eq!(events[0].0, "response.created");
    let (last, completed) = events.last().unwrap();
    assert_eq!(last, "response.completed");
    assert_eq!(completed["response"]["output"], whole["output"]);
    let done: Vec<&Value> = events
        .iter()
        .filter(|(name, _)| name == "response.output_item.done")
        .map(|(_, event)| &event["item"])
        .collect();
    assert_eq!(json!(done), whole["output"]);
    let deltas = |kind: &str, item: &Value| -> String {
        events
            .iter()
            .filter(|(name, event)| name == kind && event["item_id"] == item["id"])
            .map(|(_, event)| event["delta"].as_str().unwrap())
            .collect()
    };
    let text = deltas("response.output_text.delta", done[0]);
    assert_eq!(text, "First the files.");
    for item in &done[1..] {
        let arguments = deltas("response.function_call_arguments.delta", item);
        assert_eq!(item["arguments"], arguments);
    }
    for (number, (_, event)) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
}

#[test]
fn chat_completions_whole_and_streamed_say_the_same() {
    let (whole, events) = both_forms("/v1/chat/completions");
    let message = &whole["choices"][0]["message"];
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(events.last().unwrap().1, "[DONE]");
    let mut text = String::new();
    let mut calls: Vec<(Value, String)> = Vec::new();
    let mut has_usage = false;
    for (_, event) in &events {
        has_usage |= event["usage"].is_object();
        let delta = &event["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            if call["id"].is_string() {
                assert_eq!(call["index"], calls.len());
                calls.push((call["function"]["name"].clone(), String::new()));
            }
            let part = call["function"]["arguments"].as_str().unwrap();
            calls.last_mut().unwrap().1.push_str(part);
        }
    }
    assert!(has_usage);
    assert_eq!(message["content"], text);
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let call = &message["tool_calls"][index]["function"];
        assert_eq!(*name, call["name"]);
        assert_eq!(call["arguments"], *arguments);
    }
    assert_eq!(calls.len(), 2);
}

#[test]
fn an_error_has_its_status_and_the_providers_form() {
    for path in ["/v1/messages", "/v1/responses", "/v1/chat/completions"] {
        let failure = Reply::error(429, "slow down");
        let (status, body) = ask(failure, path, &json!({ "stream": true }));
        assert_eq!(status, 429, "{path}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["error"]["type"], "rate_limit_error", "{path}");
        assert_eq!(body["error"]["message"], "slow down");
    }
}

#[test]
fn replies_are_given_in_turn_and_counting_tokens_takes_none() {
    let server = ModelServer::start(Script::replies([
        Reply::call("shell", json!({ "cmd": "true" })),
        Reply::text("Finished."),
    ]))
    .unwrap();
    let said = |path: &str| {
        let (status, body) = parsed(&exchange(&server, &post(path, &json!({ "model": "m" }))));
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&body).unwrap()
    };
    let counted = &said("/v1/messages/count_tokens")["input_tokens"];
    assert!(counted.as_u64().unwrap() > 0);
    assert_eq!(said("/v1/messages")["content"][0]["name"], "shell");
    assert_eq!(said("/v1/messages")["content"][0]["text"], "Finished.");
    assert_eq!(said("/v1/messages")["content"][0]["text"], "Done.");
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/messages/count_tokens");
    assert!(requests[1..].iter().all(|one| one.path == "/v1/messages"));
    assert_eq!(requests.len(), 4);
}

#[test]
fn a_reply_can_be_chosen_by_what_is_asked() {
    let server = ModelServer::start(Script::chosen_by(|number, request| {
        let asked = request.json()["input"].as_str().unwrap_or("?").to_owned();
        Reply::text(format!("{number}: {asked}"))
    }))
    .unwrap();
    for (number, word) in ["one", "two"].into_iter().enumerate() {
        let bytes = post("/v1/responses", &json!({ "input": word }));
        let body: Value = serde_json::from_str(&parsed(&exchange(&server, &bytes)).1).unwrap();
        let text = &body["output"][0]["content"][0]["text"];
        assert_eq!(*text, format!("{number}: {word}"));
    }
}

#[test]
fn a_kept_connection_and_a_chunked_body_are_understood() {
    let server = ModelServer::start(Script::plain()).unwrap();
    let two = b"GET /v1/models?limit=5 HTTP/1.1\r\nHost: x\r\n\r\n\
        POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Key: K\r\nConnection: close\r\n\r\n\
        5\r\n{\"a\":\r\n3;x=y\r\n 1}\r\n0\r\n\r\n";
    let answers = exchange(&server, two);
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    let requests = server.requests();
    assert_eq!(requests[0].query.as_deref(), Some("limit=5"));
    assert_eq!(requests[1].json(), json!({ "a": 1 }));
    assert_eq!(requests[1].header("x-key"), Some("K"));
}

#[test]
fn nonsense_ends_its_own_connection_alone() {
    let server = ModelServer::start(Script::plain()).unwrap();
    for bytes in [
        &b"\x16\x03\x01\r\n\r\n"[..],
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: no\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nno header\r\n\r\n",
    ] {
        assert_eq!(exchange(&server, bytes), "");
    }
    assert!(server.requests().is_empty());
    for (path, expected) in [("/v1/messages", 200), ("/elsewhere", 404)] {
        let (status, _) = parsed(&exchange(&server, &post(path, &json!({}))));
        assert_eq!(status, expected);
    }
}

#[test]
fn a_dropped_server_ends_open_connections_and_frees_its_port() {
    let server = ModelServer::start(Script::plain()).unwrap();
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut open = TcpStream::connect(&address).unwrap();
    open.set_read_timeout(Some(PLENTY)).unwrap();
    open.write_all(b"GET /v1/mod").unwrap();
    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < PLENTY);
    // Either an end or a reset, but no waiting.
    assert_eq!(open.read(&mut [0; 8]).unwrap_or(0), 0);
    assert!(TcpStream::connect(&address).is_err());
}

/// The program with a script on its standard input, and its address.
struct Program {
    child: std::process::Child,
    address: String,
}

impl Program {
    fn start(script: &Value) -> Self {
        use std::io::BufRead as _;
        use std::process::{Command, Stdio};
        let mut child = Command::new(env!("CARGO_BIN_EXE_grove-model-server"))
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(script.to_string().as_bytes()).unwrap();
        drop(stdin);
        let mut line = String::new();
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { child, address }
    }

    fn ask(&self, task: &str) -> String {
        let asked = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": task }] });
        self.send(&post("/v1/messages", &asked))
    }

    fn get(&self, path: &str) -> Value {
        let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n");
        serde_json::from_str(&parsed(&self.send(request.as_bytes())).1).unwrap()
    }

    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PLENTY)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_program_answers_by_its_script_and_tells_what_it_was_asked() {
    let program = Program::start(&json!({
        "marked": [
            { "marker": "@@RETRY", "turns": [{ "tries": [
                { "error": { "status": 429, "message": "slow", "headers": [["retry-after", "1"]] } },
                { "text": "fine" },
            ] }] },
            { "marker": "@@CUT", "turns": [{ "text": "never whole", "delivery": { "cutAfterBytes": 90 } }] },
            { "marker": "@@BYTES", "turns": [{ "text": "ab", "delivery": { "chunkBytes": 1 } }] },
            { "marker": "@@FAIL", "turns": [{ "text": "half", "streamError": { "type": "overloaded_error" } }] },
        ],
        "replies": [{ "thinking": "hm", "structured": { "n": 1 }, "usage": { "input": 5, "output": 6, "cached": 7 } }],
        "otherwise": { "text": "the rest", "withoutUsage": true, "stop": "max_tokens" },
    }));
    let limited = program.ask("@@RETRY");
    assert!(limited.starts_with("HTTP/1.1 429") && limited.contains("retry-after: 1\r\n"));
    let (status, body) = parsed(&program.ask("@@RETRY"));
    assert!(status == 200 && body.contains("\"fi\""), "{body}");
    let cut = program.ask("@@CUT");
    assert!(cut.contains("message_start") && !cut.contains("\r\n0\r\n"));
    let bytes = program.ask("@@BYTES");
    assert!(bytes.contains("\r\n1\r\ne\r\n1\r\nv\r\n"), "{bytes}");
    assert!(parsed(&program.ask("@@FAIL")).1.contains("event: error"));
    let first = parsed(&program.ask("anything")).1;
    for part in [
        "thinking_delta",
        "signature_delta",
        "structured_output",
        "\"cache_read_input_tokens\":7",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let rest = parsed(&program.ask("anything")).1;
    assert!(
        rest.contains("max_tokens") && !rest.contains("usage"),
        "{rest}"
    );

    let requests = program.get("/requests");
    assert_eq!(requests.as_array().unwrap().len(), 7);
    assert_eq!(requests[2]["body"]["messages"][0]["content"], "@@CUT");
    let stats = program.get("/stats");
    assert_eq!(
        (&stats["requests"], &stats["replies"], &stats["delivered"]),
        (&json!(7), &json!(7), &json!(6))
    );
}

#[test]
fn the_program_refuses_a_script_with_a_mistake() {
    let program = env!("CARGO_BIN_EXE_grove-model-server");
    for (arguments, part) in [
        (&["/does/not/exist.json"][..], "cannot read"),
        (&["--port"], "usage:"),
        (&["--speed"], "unknown option"),
        (&["/dev/null"], "is no script"),
    ] {
        let output = std::process::Command::new(program)
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains(part), "{said}");
    }
}
