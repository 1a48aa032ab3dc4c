//! Clients that do what no client should: `grove mcp` stays well, stays small, and ends when they are gone.

pub(crate) mod raw_client;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use grove_testkit::process::Ending;
use grove_testkit::session::USER_CONFIG;
use raw_client::{RawClient, WAIT, activate, call, hello, request};
use serde_json::json;

use crate::mcp_sdk::http_server::HttpServer;
use crate::mcp_sdk::library;

const ENDED_WELL: Ending = Ending::Exited(0);

#[test]
fn what_is_not_a_message_is_passed_over() {
    let home = library::make();
    let mut client = RawClient::connect(&home);
    let deep = "[".repeat(200_000);
    for line in [
        "",
        "{",
        "nonsense",
        "null",
        "[]",
        "{}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\",\"params\":[1,2]}",
        deep.as_str(),
    ] {
        client.send_bytes(line.as_bytes());
    }
    client.send_bytes(b"\xff\xfe\x00\x80");
    client.assert_well();
    assert_eq!(client.leave(), ENDED_WELL);
}

#[test]
fn unknown_methods_and_odd_parameters_are_errors() {
    let home = library::make();
    let mut client = RawClient::connect(&home);
    let outside = json!({ "uri": "skill://greet/../../secret" });
    let no_text = json!({ "name": "deploy", "arguments": { "where": 7 } });
    for (method, params) in [
        ("no/such", json!({})),
        ("skills/delete", json!({})),
        ("tools/call", json!({ "name": "rm" })),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({})),
        ("resources/read", outside),
        ("resources/read", json!({ "uri": ["x"] })),
        ("prompts/get", no_text),
        ("skills/list", json!({ "cursor": 7 })),
    ] {
        let request = request("wrong", method, &params);
        let answer = client.ask(&request);
        assert!(answer["error"]["code"].is_i64(), "{request}: {answer}");
    }
    for params in [json!([]), json!("x"), json!(7)] {
        let answer = client.ask(&request("shape", "skills/list", &params));
        assert_eq!(answer["error"]["code"], -32_600, "{answer}");
    }
    for arguments in [
        json!({ "name": "x".repeat(1_000_000) }),
        json!({ "name": "pivot", "arguments": ["x".repeat(200_000)] }),
        json!({ "name": "pivot", "arguments": 7 }),
        json!({ "action": "remove", "name": "pivot" }),
        json!({ "name": "\u{0}\u{1b}[31m" }),
    ] {
        let answer = client.ask(&call("odd", &arguments));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains(['\u{0}', '\u{1b}']), "{text:?}");
    }
    client.assert_well();
}

/// A method with parameters that cannot be read is not an unknown one.
#[test]
fn what_a_method_lacks_is_said() {
    let home = library::make();
    let mut client = RawClient::connect(&home);
    for (method, needed) in [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("resources/subscribe", "uri"),
        ("resources/unsubscribe", "uri"),
        ("skills/get", "uri"),
        ("initialize", "protocolVersion"),
    ] {
        let mut wrong = json!({});
        wrong[needed] = json!(7);
        for (params, why) in [
            (None, "is missing"),
            (Some(json!({})), "is missing"),
            (Some(wrong), "is not text"),
        ] {
            let mut asked = json!({ "jsonrpc": "2.0", "id": "lacks", "method": method });
            if let Some(params) = params {
                asked["params"] = params;
            }
            let answer = client.ask(&asked);
            assert_eq!(answer["error"]["code"], -32_602, "{asked}: {answer}");
            let expected = format!("`{needed}` {why}");
            assert_eq!(answer["error"]["message"], expected, "{asked}: {answer}");
        }
    }
    let list = json!({ "name": "skill", "arguments": [] });
    let answer = client.ask(&request("list", "tools/call", &list));
    assert_eq!(answer["error"]["code"], -32_602, "{answer}");
    assert_eq!(answer["error"]["message"], "`arguments` is not an object");
    for unknown in ["no/such", "tasks/get", "subscriptions/listen"] {
        let answer = client.ask(&request("unknown", unknown, &json!({})));
        assert_eq!(answer["error"]["code"], -32_601, "{answer}");
    }
    client.assert_well();
}

#[test]
fn a_skill_that_was_not_read_is_said_to_be_there() {
    let home = library::make();
    home.file(USER_CONFIG, "[limits]\ncandidates_per_root = 1\n");
    let mut client = RawClient::connect(&home);
    let said = "`note` is there and was not read: its root has more skills than are read; look with --all, or raise `limits.candidates_per_root`";
    let told = client.ask(&call("tool", &json!({ "name": "note" })));
    assert_eq!(told["result"]["isError"], true, "{told}");
    assert_eq!(told["result"]["content"][0]["text"], said, "{told}");
    let told = client.ask(&request(
        "prompt",
        "prompts/get",
        &json!({ "name": "note" }),
    ));
    assert_eq!(told["error"]["message"], said, "{told}");
    let told = client.ask(&call("unknown", &json!({ "name": "nobody" })));
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("no skill is called `nobody`"), "{text}");
}

#[test]
fn huge_messages_are_not_kept() {
    let home = library::make();
    let mut client = RawClient::connect(&home);
    client.assert_well();
    let before = client.memory();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..3 {
        client
            .stdin()
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"")
            .unwrap();
        for _ in 0..64 {
            client.stdin().write_all(&piece).unwrap();
        }
        client.send_bytes(b"\"}");
    }
    client.assert_well();
    let grown = client.memory().saturating_sub(before);
    // Less than a single one of the three. What there is, is what the allocator has not yet given back of the longest
    // messages that are accepted, and depends on how threads take turns.
    assert!(
        grown < 60 << 20,
        "{grown} bytes more for 192 MiB that were sent"
    );
}

#[test]
fn a_hundred_calls_at_once_are_all_answered() {
    let home = library::make();
    let mut client = RawClient::connect(&home);
    for id in 0..100 {
        client.send(&activate(id));
    }
    let mut answered: Vec<u64> = (0..100)
        .map(|_| {
            let answer = client.next_answer();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("Pivot with care."), "{answer}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..100).collect::<Vec<u64>>());
    assert_eq!(client.leave(), ENDED_WELL);
}

#[test]
fn a_client_that_reads_nothing_is_not_read_from() {
    const MOST: usize = 20_000;
    let home = library::make();
    home.file(
        format!("{}/greet/big.txt", library::SKILLS),
        vec![b'x'; 3 << 20],
    );
    let mut client = RawClient::connect_reading(&home, 0);
    client.assert_well();
    let before = client.memory();
    let uri = json!({ "uri": "skill://greet/big.txt" });
    let read = request(1, "resources/read", &uri);
    // Far more than the pipe holds: whoever goes on reading has taken all of it before it can be measured.
    let sent = client.send_until_full(&read, MOST);
    assert!(sent > 0 && sent < MOST, "{sent} requests were taken");
    let grown = client.memory().saturating_sub(before);
    assert!(grown < 400 << 20, "{grown} bytes after {sent} requests");
}

#[test]
fn cancelled_requests_get_no_answer_and_hold_nothing_up() {
    let home = library::make();
    let mut client = RawClient::connect(&home);
    for id in 0..200 {
        client.send(&request(id, "skills/list", &json!({})));
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id, "reason": "changed my mind" },
        }));
    }
    client.assert_well();
    assert_eq!(client.leave(), ENDED_WELL);
}

#[test]
fn a_client_that_goes_is_the_end() {
    let home = library::make();
    // Without a word, after half a message, and in the middle of many calls.
    assert_eq!(RawClient::start(&home, 0).leave(), ENDED_WELL);
    let mut half = RawClient::connect(&home);
    half.stdin()
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,")
        .unwrap();
    assert_eq!(half.leave(), ENDED_WELL);
    let mut busy = RawClient::connect(&home);
    for id in 0..50 {
        busy.send(&activate(id));
    }
    assert_eq!(busy.leave(), ENDED_WELL);
}

/// One request over HTTP, and the status and body of the answer.
fn http(server: &HttpServer, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
    let (address, path) = server.address_and_path();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let host = headers
        .iter()
        .find(|(name, _)| *name == "Host")
        .map_or(address, |(_, host)| host);
    let mut head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
        body.len()
    );
    for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
        head.extend([name, ": ", value, "\r\n"]);
    }
    // A server that refuses may close before it read everything.
    let _ = stream.write_all(format!("{head}\r\n").as_bytes());
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap_or_default();
    (status.parse().unwrap_or(0), answer)
}

fn authorized(value: &str) -> (&str, &str) {
    ("Authorization", value)
}

#[test]
fn http_is_for_those_who_know_the_token_and_come_from_here() {
    let home = library::make();
    let server = HttpServer::start(&home, &["--http", "127.0.0.1:0"]);
    let (address, _) = server.address_and_path();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let right = format!("Bearer {}", server.token);
    let almost = format!("Bearer {}0", server.token);
    let hello = hello().to_string();
    let ask = |headers: &[(&str, &str)]| http(&server, headers, hello.as_bytes());
    let own_origin = server.url.trim_end_matches("/mcp").to_owned();
    let evil = "http://evil.example";
    for (headers, expected) in [
        (vec![authorized(&right)], 200),
        (vec![authorized(&right), ("Origin", &own_origin)], 200),
        (vec![], 401),
        (vec![authorized("Bearer ")], 401),
        (vec![authorized(&almost)], 401),
        (vec![authorized(&server.token)], 401),
        (vec![authorized(&right), ("Host", "evil.example")], 403),
        (vec![authorized(&right), ("Origin", evil)], 403),
        (vec![authorized(&right), ("Origin", "null")], 403),
    ] {
        let (status, answer) = ask(&headers);
        assert_eq!(status, expected, "{headers:?}: {answer}");
        assert_eq!(answer.contains("serverInfo"), expected == 200, "{answer}");
    }
    let kept = home.path("state/grove/mcp-token");
    assert_eq!(std::fs::read_to_string(&kept).unwrap().trim(), server.token);
    assert_eq!(
        std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let huge = vec![b' '; 5 << 20];
    let (status, _) = http(&server, &[authorized(&right)], &huge);
    assert!(matches!(status, 413 | 0), "{status}");
    let (status, _) = http(&server, &[authorized(&right)], b"{");
    assert!((400..500).contains(&status), "{status}");
    // Connections that say nothing take no place for ever.
    let (address, _) = server.address_and_path();
    let silent = [(); 50].map(|()| TcpStream::connect(address).unwrap());
    assert_eq!(ask(&[authorized(&right)]).0, 200);
    drop(silent);
}

#[test]
fn silent_strangers_hold_nobody_up() {
    let home = library::make();
    let server = HttpServer::start(&home, &["--http", "127.0.0.1:0"]);
    let (address, path) = server.address_and_path();
    let right = format!("Bearer {}", server.token);
    let ask = || {
        let began = Instant::now();
        let (status, answer) = http(
            &server,
            &[authorized(&right)],
            hello().to_string().as_bytes(),
        );
        assert_eq!(status, 200, "{answer}");
        began.elapsed()
    };
    ask();
    // Nothing at all, half a request, one that is never finished, one without the token that stays.
    let beginnings = [
        String::new(),
        format!("POST /{path} HTTP/1.1\r\nHost: {address}\r\n"),
        "G".to_owned(),
        format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    ];
    let stranger = |at: usize| {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(beginnings[at % beginnings.len()].as_bytes());
        stream
    };
    let mut strangers: Vec<TcpStream> = (0..200).map(stranger).collect();
    let mut took = Vec::new();
    for round in 0..15 {
        took.push(ask());
        // They come again, all of them.
        if round % 3 == 2 {
            strangers = (0..200).map(stranger).collect();
        }
    }
    took.sort();
    println!("answers beside 200 strangers: {took:?}");
    let (middle, last) = (took[took.len() / 2], took[took.len() - 1]);
    assert!(middle < Duration::from_millis(250), "{took:?}");
    // A machine that is busy with other tests.
    assert!(last < Duration::from_secs(2), "{took:?}");
    drop(strangers);
}

#[test]
fn other_machines_are_not_served_by_mistake() {
    let home = library::make();
    for (address, expected) in [
        ("0.0.0.0:0", "not an address of this machine"),
        ("[::]:0", "not an address of this machine"),
        ("x", "not an address"),
    ] {
        let finished = home.grove_in("home/work", ["mcp", "--http", address]);
        finished.fails(2).says([expected]);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    home.grove_in("home/work", ["mcp", "--http", &port])
        .fails(1);
}
