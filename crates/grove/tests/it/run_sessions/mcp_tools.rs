//! `mcp:` tools of servers that hang, flood, die and lie: whatever they do, a call fails and the child goes on.

use grove_testkit::model_server::{ModelServer, Reply};
use grove_testkit::needs;
use grove_testkit::process_shapes::command_lines;
use grove_testkit::session::{Session, USER_CONFIG};
use serde_json::{Value, json};

use super::{AGENT, bash, run, run_of, scene, server};

/// A server in Python that behaves as the first argument says once its tool is called.
const BADLY: &str = r#"
import json, os, sys, time
how = sys.argv[1]
def say(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def answer(id, result): say({"jsonrpc": "2.0", "id": id, "result": result})
if how == "mute": time.sleep(3000)
if how == "gone": sys.exit(3)
for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked.get("method"), asked.get("id")
    if method == "initialize":
        answer(id, {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}})
    elif method == "tools/list":
        answer(id, {"tools": [{"name": n, "description": n + (" token " + os.environ["TOKEN"] if how == "tells" else ""), "inputSchema": {"type": "object"}} for n in ("try", "other")]})
    elif method == "tools/call":
        text = "pid %d token %s key %s" % (os.getpid(), os.environ.get("TOKEN"), os.environ.get("ANTHROPIC_API_KEY"))
        if how == "hangs": time.sleep(3000)
        if how == "dies" and not os.path.exists("died"): open("died", "w"); os._exit(9)
        if how == "floods":
            while True: sys.stdout.write("x" * 65536)
        if how == "chatters":
            while True: say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "y" * 4096}})
        if how == "garbage": sys.stdout.write("no json\n{}\n[1]\n"); sys.stdout.flush()
        if how == "large": text = "z" * 1000000
        if how == "error": say({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "not today"}}); continue
        answer(id, {"content": [{"type": "text", "text": text}]})
"#;

/// A home with an agent that may call the tools of one server.
pub(crate) fn with_server(
    server: &ModelServer,
    command: &[&str],
    tools: &str,
    limit: u64,
) -> Session {
    let session = scene(server);
    session.file("project/bad.py", BADLY);
    let fields = format!("tools: bash, {tools}\ntoolTimeoutMs: {limit}\n");
    session.definition(AGENT, &fields, "You work.");
    let command = serde_json::to_string(command).unwrap();
    let config =
        format!("[mcp.it]\ncommand = {command}\nenv = {{ TOKEN = 'marker-of-the-server' }}\n");
    session.file(USER_CONFIG, config);
    session
}

/// What the model was told of a call in its next request.
pub(crate) fn results(server: &ModelServer, n: usize) -> Vec<(String, bool)> {
    let body: Value = server.requests()[n].json();
    let last = body["messages"].as_array().unwrap().last().unwrap().clone();
    let blocks = last["content"].as_array().unwrap().iter();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results
        .map(|block| {
            let text = block["content"][0]["text"].as_str().unwrap_or_default();
            (text.to_owned(), block["is_error"] == true)
        })
        .collect()
}

pub(crate) fn tool_names(server: &ModelServer) -> Vec<String> {
    let body = server.requests()[0].json();
    let tools = body["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .filter(|name| name.starts_with("mcp__"))
        .collect()
}

#[test]
fn only_what_the_agent_lists_is_offered_and_a_server_that_is_not_there_is_said() {
    needs![Python];
    let bad = ["python3", "bad.py", "fine"];
    for (tools, names, says) in [
        ("mcp:it", vec!["mcp__it__try", "mcp__it__other"], None),
        ("mcp:it/other", vec!["mcp__it__other"], None),
        ("mcp:it/none", vec![], None),
        (
            "mcp:elsewhere",
            vec![],
            Some("is not in `[mcp]` of the configuration"),
        ),
        // A server that is listed whole is kept away with any tool of its.
        ("mcp:it\ndisallowedTools: mcp__it__try", vec![], None),
        (
            "mcp:it/try, mcp:it/other\ndisallowedTools: mcp__it__try",
            vec!["mcp__it__other"],
            None,
        ),
    ] {
        let server = server(vec![
            Reply::call("mcp__it__try", json!({})),
            Reply::text("Done."),
        ]);
        let session = with_server(&server, &bad, tools, 60_000);
        let outcome = session.grove(run("Try", &[])).ok();
        assert_eq!(tool_names(&server), names, "{tools}");
        assert!(
            outcome.stderr.contains(says.unwrap_or_default()),
            "{outcome}"
        );
        let (text, failed) = &results(&server, 1)[0];
        let may = names.contains(&"mcp__it__try");
        assert_eq!(*failed, !may, "{tools}: {text}");
        assert!(may || text.starts_with("there is no tool"), "{text}");
    }
}

#[test]
fn a_server_that_hangs_floods_dies_or_lies_fails_the_call_and_not_the_child() {
    needs![Python];
    for (how, calls, told) in [
        ("fine", 1, Ok("token *** key None")),
        ("garbage", 1, Ok("token ***")),
        ("large", 1, Ok("more bytes were cut off]")),
        ("error", 1, Err("not today")),
        ("hangs", 1, Err("[timed out after 3 s]")),
        ("floods", 1, Err("was ended")),
        ("chatters", 1, Err("was ended")),
        // It is started anew when it is called again.
        ("dies", 2, Err("did not answer")),
        ("mute", 0, Err("there is no tool")),
        ("gone", 0, Err("there is no tool")),
    ] {
        let mut replies = vec![Reply::call("mcp__it__try", json!({}))];
        replies.extend((1..calls).map(|_| Reply::call("mcp__it__try", json!({}))));
        replies.push(bash("echo still here"));
        replies.push(Reply::text("I went on."));
        let server = server(replies);
        // Those that are not waited for in vain have time.
        let limit = if matches!(how, "hangs" | "mute") {
            3_000
        } else {
            60_000
        };
        let session = with_server(&server, &["python3", "bad.py", how], "write, mcp:it", limit);
        let outcome = session.grove(run("Try", &["--json"])).ok();
        let run = run_of(&outcome.stdout);
        assert_eq!(run["result"], "I went on.", "{how}");
        let (text, failed) = results(&server, 1).remove(0);
        let (Ok(part) | Err(part)) = told;
        assert!(
            text.contains(part) && failed == told.is_err(),
            "{how}: {text}"
        );
        assert!(text.len() < 100_000, "{how}");
        if how == "dies" {
            let again = &results(&server, 2)[0];
            assert!(again.0.starts_with("pid ") && !again.1, "{again:?}");
        }
        let files = grove_testkit::shared::files_below(&session.path("state")).unwrap();
        let mut log = files.iter().filter(|file| file.ends_with("1-1.jsonl"));
        let log = std::fs::read_to_string(log.next().unwrap()).unwrap();
        assert_eq!(log.contains("is not there"), calls == 0, "{how}: {log}");
        assert!(!log.contains("marker-of-the-server"), "{log}");
        let proof = &run["nodes"][0]["notProvenEnded"];
        assert!(proof.is_null(), "{how}: {proof}");
        let is_left = |line: &String| line.contains(&format!("bad.py {how}"));
        let lines = command_lines();
        assert!(!lines.iter().any(is_left), "{how}: {lines:?}");
    }
}

#[test]
fn an_agent_program_gets_the_tools_of_servers_through_the_bridge() {
    needs![Claude, Codex, Copilot, Pi, Node, Python];
    let called = json!({ "name": "mcp__grove__mcp__it__try", "arguments": {} });
    let server = super::engines::server(json!({ "marked": [{ "marker": "TASK-MARK", "turns": [
        { "calls": [called] },
        { "text": "Done." },
    ] }], "otherwise": { "text": "a title" } }));
    let session = super::engines::scene(&server);
    session.file("project/bad.py", BADLY);
    session.definition(AGENT, "tools: bash, mcp:it/try\n", "You work.");
    let config = session.read(USER_CONFIG);
    let mcp = "[mcp.it]\ncommand = ['python3', 'bad.py', 'fine']\nenv = { TOKEN = 'marker-of-the-server' }\n";
    session.file(USER_CONFIG, format!("{config}{mcp}"));
    let words = "run worker TASK-MARK --engine claude --model for-claude/claude-sonnet-4-5 --json";
    let outcome = session.grove(words).ok();
    assert_eq!(run_of(&outcome.stdout)["result"], "Done.");
    let sent: String = server
        .requests()
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert!(sent.contains("token *** key None"), "{sent}");
    assert!(
        !sent.contains("marker-of-the-server") && !sent.contains("mcp__it__other"),
        "{sent}"
    );
    let is_left = |line: &String| line.contains("bad.py fine");
    assert!(!command_lines().iter().any(is_left));
}
