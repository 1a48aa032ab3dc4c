//! The bridge: the runtime's own tools for an agent program, as an MCP server of one attempt on loopback.
//!
//! A tool of the bridge is the same function that the built-in engine calls, and every call is recorded before and after it.
//! A question ends the attempt: the child waits for the answer without a process.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grove_exec::ProgramBridge;
use grove_model::ToolDefinition;
use grove_plan::{Call, CallId, Cause, Question};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::loopback::{Answer, Loopback, body_of, json_answer, refused};
use crate::driving::{DrivenChild, StoredBody, StoredOutcome};
use crate::native::MOST_SCHEMA_TRIES;
use crate::tools::{
    ACCEPTANCE_REPORT, CONTACT_SUPERVISOR, STRUCTURED_OUTPUT, ToolCall, ToolResult, question_of,
};

/// The runtime's own tools, which agent programs do not have; the bridge gives these and those of servers.
pub(crate) const RUNTIME_TOOLS: [&str; 4] = [
    "skill",
    CONTACT_SUPERVISOR,
    STRUCTURED_OUTPUT,
    ACCEPTANCE_REPORT,
];
/// The version of the protocol that is spoken when a client names none.
const PROTOCOL: &str = "2025-06-18";
/// The result of a call that asks a question.
const PASSED_ON: &str =
    "the question was passed on: end here, and its answer is the next message that you get";
/// The error code of JSON-RPC for a method that is not there.
const NO_SUCH_METHOD: i64 = -32_601;

/// The parts that a bridge needs.
pub(super) struct Bridged {
    pub(super) driven: Arc<DrivenChild>,
    /// Cancelled when the model may be asked nothing more, because the child waits.
    pub(super) hold: CancellationToken,
}

pub(super) struct Bridge {
    loopback: Loopback,
    bridging: Arc<Bridging>,
}

/// The results of the calls through a bridge.
#[derive(Debug, Default, Clone)]
pub(super) struct BridgeResults {
    /// The value that met the schema.
    pub(super) structured: Option<Value>,
    pub(super) asked: Option<Question>,
    /// The number of values that did not meet the schema.
    wrong: usize,
    /// The reason why the child cannot go on.
    pub(super) failed: Option<Cause>,
}

struct Bridging {
    bridged: Bridged,
    calls: AtomicU64,
    said: Mutex<BridgeResults>,
}

impl Bridged {
    /// Returns true if the bridge has a tool to give.
    pub(super) fn has_tools(&self) -> bool {
        !self.tools().is_empty()
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        let mut tools = self.driven.toolbox.definitions();
        let is_given = |name: &str| {
            let is_of_server = self.driven.toolbox.is_of_server(name);
            is_of_server || RUNTIME_TOOLS.contains(&name)
        };
        tools.retain(|tool| is_given(&tool.name));
        tools
    }
}

impl Bridge {
    pub(super) async fn start(bridged: Bridged) -> std::io::Result<Self> {
        let bridging = Arc::new(Bridging {
            bridged,
            calls: AtomicU64::new(0),
            said: Mutex::default(),
        });
        let shared = Arc::clone(&bridging);
        let loopback = Loopback::serve(Arc::new(move |request| {
            let bridging = Arc::clone(&shared);
            Box::pin(async move { bridging.answer(request).await })
        }));
        Ok(Self {
            loopback: loopback.await?,
            bridging,
        })
    }

    /// Returns the address, the token and the tools for the program.
    pub(super) fn described(&self) -> ProgramBridge {
        let tools = self.bridging.bridged.tools();
        ProgramBridge {
            url: format!("{}/mcp", self.loopback.url()),
            token: self.loopback.token().to_owned(),
            tools: tools.into_iter().map(|tool| tool.name).collect(),
        }
    }

    /// Ends the bridge, and returns the results of its calls.
    pub(super) fn finish(self) -> BridgeResults {
        let Self { loopback, bridging } = self;
        drop(loopback);
        bridging.said().clone()
    }
}

impl Bridging {
    fn said(&self) -> MutexGuard<'_, BridgeResults> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        if request.method() != Method::POST {
            // The bridge sends nothing unasked and remembers no conversation, so there is nothing to read or to end.
            return refused(StatusCode::METHOD_NOT_ALLOWED, "only messages are taken");
        }
        let body = body_of(request.into_body()).await;
        let message = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
        let Some(message) = message.filter(Value::is_object) else {
            return refused(StatusCode::BAD_REQUEST, "this is no message");
        };
        let Some(id) = message.get("id") else {
            return json_answer(StatusCode::ACCEPTED, &Value::Null);
        };
        let parameters = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let asked = parameters["protocolVersion"].as_str();
                json!({
                    "protocolVersion": asked.unwrap_or(PROTOCOL),
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "grove", "version": env!("CARGO_PKG_VERSION") },
                })
            }
            "ping" => json!({}),
            "tools/list" => {
                let tools = self.bridged.tools().into_iter().map(|tool| {
                    json!({
                        "name": tool.name,
                        "description": tool.description,
                        "inputSchema": tool.input_schema,
                    })
                });
                json!({ "tools": tools.collect::<Vec<_>>() })
            }
            "tools/call" => {
                let name = parameters["name"].as_str().unwrap_or_default();
                let result = self.call(name, &parameters["arguments"]).await;
                json!({
                    "content": [{ "type": "text", "text": result.text }],
                    "isError": result.is_error,
                })
            }
            other => {
                let message = format!("there is no method `{other}`");
                let error = json!({ "code": NO_SUCH_METHOD, "message": message });
                let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                return json_answer(StatusCode::OK, &answer);
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        json_answer(StatusCode::OK, &answer)
    }

    /// Runs a tool, recorded before and after.
    async fn call(&self, name: &str, arguments: &Value) -> ToolResult {
        let failed = |text: &str| ToolResult::failed(text);
        if !self.bridged.tools().iter().any(|tool| tool.name == name) {
            return failed("there is no such tool here");
        }
        if self.bridged.driven.stop.is_stopped() {
            return failed("not run: the child is to stop");
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let id = CallId(format!("bridge-{number}"));
        let driven = &self.bridged.driven;
        let stored = StoredBody::of(arguments.clone());
        let called = driven.called(Call {
            id: id.clone(),
            tool: name.to_owned(),
            arguments: stored.body,
            writes: driven.toolbox.writes(name),
            observed: false,
            given: None,
        });
        if driven.record(called, stored.artifacts).await.is_err() {
            return failed("not run: it could not be recorded, or no more tool calls may be made");
        }
        if let Some(text) = question_of(name, arguments) {
            // The answer comes when this process is gone; the call stays open until then.
            self.said().asked = Some(Question { call: id, text });
            self.bridged.hold.cancel();
            return Ok(PASSED_ON.to_owned()).into();
        }
        let made = ToolCall {
            name,
            arguments,
            stop: &driven.stop,
            id: None,
        };
        let mut result = driven.toolbox.run(made).await;
        if name == STRUCTURED_OUTPUT {
            self.take_value(arguments, &mut result);
        }
        let stored = StoredOutcome::of(result.text.clone(), result.is_error, false);
        let returned = driven.returned(id, stored.outcome);
        // Of a fact that is refused, the end of the child tells.
        let _ = driven.record(returned, stored.artifacts).await;
        result
    }

    /// Keeps a value that met the schema; after too many that did not, the child has failed.
    fn take_value(&self, value: &Value, result: &mut ToolResult) {
        let mut said = self.said();
        if !result.is_error {
            said.structured = Some(value.clone());
            let _ = write!(result.text, "; your work is done, end here");
            return;
        }
        said.wrong += 1;
        if said.wrong >= MOST_SCHEMA_TRIES {
            let message = result.text.clone();
            said.failed = Some(Cause::Schema { message });
            self.bridged.driven.stop.stop(false);
        }
    }
}
