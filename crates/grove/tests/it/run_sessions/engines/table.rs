//! What a provider can do, and what becomes of a run then: every program, from one table.

use std::ops::RangeInclusive;
use std::thread;

use grove_testkit::model_server::{ModelServer, Script, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::{Value, json};

use super::super::{AGENT, run_of};
use super::{ENGINES, call, model_of, scene};

/// The engines that are tried, with commas between them: what differs is said, in place of failing. `cargo xtask programs
/// --newest` sets it.
const REPORT: &str = "GROVE_TABLE_REPORT";

/// In place of what an answer has, where that is chance.
const ANYTHING: &str = "?";

/// One way in which a provider behaves, and what has to come of it.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The replies in order; the last one goes on for ever.
    pub(super) replies: Vec<Value>,
    /// The agent's own lines.
    agent: &'static str,
    /// Beside agent, task, engine and model.
    pub(super) request: Value,
    pub(super) exit: i32,
    pub(super) state: &'static str,
    /// Its kind, and a provider's failure.
    pub(super) cause: (Value, Value),
    pub(super) result: Value,
    structured: Value,
    /// What each answer that was recorded has.
    pub(super) turns: Vec<&'static str>,
    /// Tools that began and how they ended.
    pub(super) tools: Vec<&'static str>,
    /// How often the model was asked, at least and at most.
    pub(super) requests: RangeInclusive<usize>,
    /// What the server sent and was recorded: input and output.
    pub(super) usage: (u64, u64),
    pub(super) estimated: bool,
}

fn usual(name: &'static str, replies: Vec<Value>) -> Case {
    Case {
        name,
        replies,
        agent: "tools: read, write, bash\n",
        request: json!({}),
        exit: 0,
        state: "complete",
        cause: (Value::Null, Value::Null),
        result: json!("Fine."),
        structured: Value::Null,
        turns: vec!["text"],
        tools: Vec::new(),
        requests: 1..=1,
        usage: (16, 8),
        estimated: false,
    }
}

/// A model that fails for good; how often it is asked is the program's own affair.
fn failed(
    name: &'static str,
    reply: Value,
    failure: &str,
    requests: RangeInclusive<usize>,
) -> Case {
    Case {
        exit: 1,
        state: "failed",
        cause: (json!("model"), json!(failure)),
        result: Value::Null,
        turns: Vec::new(),
        requests,
        usage: (0, 0),
        ..usual(name, vec![reply])
    }
}

fn error(status: u16) -> Value {
    let headers = json!([["retry-after", "0"]]);
    json!({ "error": { "status": status, "message": "refused", "headers": headers } })
}

/// Where programs differ, the number of requests says so; Codex does not tell of a call that it refuses.
pub(super) fn cases(engine: &str, tool: &str) -> Vec<Case> {
    let of = |claude, codex, pi, copilot| match engine {
        "claude" => claude,
        "codex" => codex,
        "pi" => pi,
        _ => copilot,
    };
    let bash = |command: &str| call(engine, tool, command);
    let value = runtime_call(engine, "structured_output", &json!({ "n": 7 }));
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let again = json!({ "text": "Again.", "calls": [bash("echo again")], "usage": { "input": 10, "output": 5 } });
    let mut all = vec![
        usual("text", vec![json!({ "text": "Fine." })]),
        Case {
            turns: vec!["text,toolUse", "text"],
            tools: vec!["start", "end"],
            requests: 2..=2,
            usage: (32, 16),
            ..usual(
                "tool call",
                vec![
                    json!({ "text": "I look.", "calls": [bash("echo made > made.txt")] }),
                    json!({ "text": "Fine." }),
                ],
            )
        },
        Case {
            agent: "tools: read\n",
            turns: vec!["toolUse", "text"],
            tools: if engine == "codex" {
                Vec::new()
            } else {
                vec!["start", "failed"]
            },
            requests: 2..=2,
            usage: (32, 16),
            ..usual(
                "refusal of a tool",
                vec![
                    json!({ "calls": [bash("echo made > made.txt")] }),
                    json!({ "text": "Fine." }),
                ],
            )
        },
        failed("401", error(401), "auth", of(4..=4, 4..=4, 1..=1, 3..=3)),
        Case {
            requests: 2..=2,
            ..usual(
                "429 then fine",
                vec![error(429), json!({ "text": "Fine." })],
            )
        },
        Case {
            turns: vec!["text,toolUse", "text"],
            tools: vec!["start", "end"],
            requests: 4..=4,
            usage: (46, 23),
            ..usual(
                "refused in the middle",
                vec![
                    json!({ "text": "I look.", "calls": [bash("echo made > made.txt")] }),
                    error(429),
                    error(500),
                    json!({ "text": "Fine.", "usage": { "input": 30, "output": 15 } }),
                ],
            )
        },
        Case {
            // Of the answer that was cut the server had said what it took, in Anthropic's format alone. Claude Code may ask
            // again without a stream, and then the answer is counted and not read.
            turns: [&["", ANYTHING][..], &["text"]][usize::from(engine != "claude")].to_vec(),
            usage: [(46, 23), (30, 15)][usize::from(engine != "claude")],
            requests: 2..=3,
            ..usual(
                "cut, then fine",
                vec![
                    json!({ "text": "Words", "delivery": { "cutAfterBytes": 420 } }),
                    json!({ "text": "Fine.", "usage": { "input": 30, "output": 15 } }),
                ],
            )
        },
        failed(
            "500 for ever",
            error(500),
            "overload",
            of(4..=4, 16..=16, 4..=4, 6..=6),
        ),
        failed(
            "cut stream",
            json!({ "text": "Words", "delivery": { "cutAfterBytes": 120 } }),
            "cutStream",
            // Where a cut is noticed in the middle of an event, Claude Code asks once more without a stream, at each of its
            // tries; when it is noticed is chance. How often a program asks is its own affair within twice its tries.
            of(4..=8, 4..=8, 4..=8, 6..=12),
        ),
        Case {
            request: json!({ "timeoutMs": 10_000 }),
            exit: 6,
            state: "failed",
            cause: (json!("timedOut"), Value::Null),
            result: Value::Null,
            turns: Vec::new(),
            usage: (0, 0),
            ..usual(
                "hang",
                vec![json!({ "text": "x", "delivery": { "hangAfterBytes": 0 } })],
            )
        },
        Case {
            estimated: true,
            usage: (0, 2),
            ..usual(
                "no usage",
                vec![json!({ "text": "Fine.", "withoutUsage": true })],
            )
        },
        Case {
            request: json!({ "maxTokens": 40 }),
            exit: 6,
            state: "failed",
            cause: (json!("limit"), Value::Null),
            result: json!("Again."),
            turns: vec!["text,toolUse"; 3],
            // The third request came to the limit; whether its tool began is chance.
            tools: vec!["start", "end", "start", "end"],
            requests: 3..=3,
            usage: (30, 15),
            ..usual("token limit", vec![again.clone()])
        },
        Case {
            agent: "tools: bash\nmaxTurns: 2\n",
            exit: 6,
            state: "failed",
            cause: (json!("limit"), Value::Null),
            result: json!("Again."),
            turns: vec!["text,toolUse"; 2],
            tools: vec!["start", "end", "start", "end"],
            requests: 2..=2,
            usage: (20, 10),
            ..usual("turn limit", vec![again])
        },
    ];
    if let Some(value) = value {
        all.push(Case {
            request: json!({ "outputSchema": schema }),
            structured: json!({ "n": 7 }),
            result: json!("```json\n{\"n\": 7}\n```"),
            ..usual(
                "data in words",
                vec![json!({ "text": "```json\n{\"n\": 7}\n```" })],
            )
        });
        all.push(Case {
            request: json!({ "outputSchema": schema }),
            structured: json!({ "n": 7 }),
            result: json!("{\"n\": 7}"),
            turns: vec!["text", "text"],
            requests: 2..=2,
            usage: (32, 16),
            ..usual(
                "data when it is asked for once more",
                vec![json!({ "text": "Seven." }), json!({ "text": "{\"n\": 7}" })],
            )
        });
        all.push(Case {
            request: json!({ "outputSchema": schema }),
            structured: json!({ "n": 7 }),
            turns: vec!["toolUse", "text"],
            tools: vec!["start", "end"],
            requests: 2..=2,
            usage: (32, 16),
            ..usual(
                "structured output",
                vec![json!({ "calls": [value] }), json!({ "text": "Fine." })],
            )
        });
    }
    all
}

/// The call of a tool of the runtime's own in a program's words; none for a program that cannot have them.
pub(super) fn runtime_call(engine: &str, tool: &str, arguments: &Value) -> Option<Value> {
    match engine {
        "claude" => Some(json!({ "name": format!("mcp__grove__{tool}"), "arguments": arguments })),
        "codex" => Some(json!({ "name": tool, "namespace": "mcp__grove", "arguments": arguments })),
        "copilot" => Some(json!({ "name": format!("grove-{tool}"), "arguments": arguments })),
        "opencode" => Some(json!({ "name": format!("grove_{tool}"), "arguments": arguments })),
        _ => None,
    }
}

/// A server that gives these replies in turn, the last one for ever.
pub(super) fn server_of(replies: &[Value]) -> ModelServer {
    let replies = replies.iter().cloned().map(serde_json::from_value);
    let replies: Vec<ScriptedReply> = replies.map(Result::unwrap).collect();
    let script = Script::chosen_by(move |number, _| {
        let last = replies.len() - 1;
        replies[number.min(last)].clone()
    });
    ModelServer::start(script).unwrap()
}

/// The kinds of blocks of each answer in the journal.
fn turns(stdout: &str) -> Vec<String> {
    let lines = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let turned = lines.filter(|line| line["fact"] == "turned");
    let kinds = turned.map(|line| {
        let blocks = line["turn"]["content"]["inline"].as_array().cloned();
        let kinds = blocks
            .unwrap()
            .into_iter()
            .map(|block| block["kind"].as_str().unwrap().to_owned());
        kinds.collect::<Vec<_>>().join(",")
    });
    kinds.collect()
}

/// Tools in the attempt's log.
pub(super) fn tools(session: &Session, run: &Value) -> Vec<&'static str> {
    let path = format!("state/grove/logs/{}/1-1.jsonl", run["id"].as_str().unwrap());
    let log = std::fs::read_to_string(session.path(path)).unwrap_or_default();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let tools = lines.filter_map(|line| match line["log"].as_str().unwrap() {
        "toolStart" => Some("start"),
        "toolEnd" if line["failed"] == true => Some("failed"),
        "toolEnd" => Some("end"),
        _ => None,
    });
    tools.collect()
}

/// What came of a case that is not in the table, in words.
fn differences(engine: &str, case: &Case) -> Vec<String> {
    let server = server_of(&case.replies);
    let session = scene(&server);
    session.definition(AGENT, case.agent, "You work.");
    let mut request = json!({ "agent": "worker", "task": "Do it.", "engine": engine,
        "model": model_of(engine) });
    let more = case.request.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(more);
    session.file("request.json", request.to_string());
    let file = session.path("request.json");
    let outcome = session.grove(["run", "--request", file.to_str().unwrap(), "--json"]);
    let run = run_of(&outcome.stdout);
    let (cause, usage) = (&run["cause"], &run["usage"]);
    let turns = turns(&outcome.stdout);
    let is_like = |(turn, expected): (&String, &&str)| *expected == ANYTHING || turn == expected;
    let tools = tools(&session, &run);
    let posts = server.requests().into_iter();
    let posts = posts.filter(|request| request.method == "POST").count();
    let input = usage["input"].as_u64().unwrap_or_default();
    // Four bytes are a token, and how long its request is is the program's affair.
    let is_guess = case.name == "no usage";
    let makes = matches!(case.name, "tool call" | "refused in the middle");
    let structured = &run["nodes"][0]["output"]["structured"];
    let all = [
        (
            outcome.code == case.exit,
            format!("it exits with {}", outcome.code),
        ),
        (
            run["state"] == case.state,
            format!("the state is {}", run["state"]),
        ),
        (
            (&cause["kind"], &cause["failure"]) == (&case.cause.0, &case.cause.1),
            format!("the cause is {cause}"),
        ),
        (
            run["result"] == case.result,
            format!("the result is {}", run["result"]),
        ),
        (
            *structured == case.structured,
            format!("the data is {structured}"),
        ),
        (
            turns.len() == case.turns.len() && turns.iter().zip(&case.turns).all(is_like),
            format!("the turns are {turns:?}"),
        ),
        (
            tools.starts_with(&case.tools) && tools.len() <= case.tools.len() + 2,
            format!("the tools are {tools:?}"),
        ),
        (
            case.requests.contains(&posts),
            format!("there are {posts} requests"),
        ),
        (
            usage["estimated"] == case.estimated
                && usage["output"] == case.usage.1
                && if is_guess {
                    input > 100
                } else {
                    input == case.usage.0
                },
            format!("the usage is {usage}"),
        ),
        (
            session.path("project/made.txt").exists() == makes,
            "the tool did something else".to_owned(),
        ),
    ];
    let differing = all.into_iter().filter(|(is_same, _)| !is_same);
    differing.map(|(_, what)| what).collect()
}

/// Tries each case in turn; in a report the ones that differ are said and not failed for.
pub(super) fn try_all(engine: &str, cases: &[Case]) {
    let report = std::env::var(REPORT).ok();
    let is_report = report.is_some();
    if report.is_some_and(|engines| !engines.split(',').any(|wanted| wanted == engine)) {
        return;
    }
    let mut as_before = 0;
    for case in cases {
        let differing = differences(engine, case);
        assert!(
            is_report || differing.is_empty(),
            "{engine}: {}: {differing:?}",
            case.name
        );
        as_before += usize::from(differing.is_empty());
        for what in differing {
            println!("DIFFERS {engine}: {}: {what}", case.name);
        }
    }
    if is_report {
        let all = cases.len();
        println!("TABLE {engine}: {as_before} of {all} cases as in the table");
    }
}

#[test]
fn every_program_comes_to_the_same_verdict_whatever_it_says_of_itself() {
    needs![Claude, Codex, Copilot, Pi, Node];
    // Programs wait more than they work, so all four are tried at once.
    thread::scope(|scope| {
        for (engine, _, tool) in ENGINES {
            scope.spawn(move || {
                try_all(engine, &cases(engine, tool));
            });
        }
    });
}

#[test]
fn what_a_program_cannot_do_is_refused_before_it_starts() {
    needs![Claude, Codex, Copilot, Pi, Node];
    let server = server_of(&[json!({ "text": "x" })]);
    let session = scene(&server);
    let request = json!({ "agent": "worker", "task": "Do it.", "engine": "pi", "model": "for-pi/m",
        "outputSchema": { "type": "object" } });
    session.file("request.json", request.to_string());
    let file = session.path("request.json");
    let outcome = session
        .grove(["run", "--request", file.to_str().unwrap()])
        .fails(2);
    outcome.says(["pi cannot return structured output", "--engine native"]);
    assert_eq!(server.requests().len(), 0);
    assert_eq!(session.json("runs list")["runs"], json!([]));
}
