//! `mcp:` tools: MCP servers of the configuration, started for one child and ended with it.
//!
//! A server is a process like a command: it has a keeper, the mark of the attempt and no more of the environment than
//! commands have. The worst that a server can cause is a call that fails: every wait has an end, its output is counted, and
//! one that died is started anew when it is called again.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use grove_exec::{Keeper, KeeperOrder, StopTokens};
use grove_fs::{FsError, files};
use grove_model::{Secret, ToolDefinition};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, Tool};
use rmcp::service::{RunningService, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceError};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::task::AbortOnDropHandle;

use crate::error::with_causes;
use crate::tools::ToolResult;

/// The prefix of an entry in an agent's list that names a server.
pub(crate) const MCP: &str = "mcp:";
/// The time within which a server has to be ready.
const LONGEST_START: Duration = Duration::from_secs(30);
/// The longest message of a server.
const MOST_MESSAGE: usize = 4 << 20;
/// The most bytes that a server may write between two calls; one that writes more is ended.
const MOST_WRITTEN: usize = 32 << 20;
/// The most bytes of one result that a model reads.
const MOST_RESULT: usize = 64 << 10;
const MOST_TOOLS: usize = 128;
/// The longest name of a tool that every provider takes.
const LONGEST_NAME: usize = 64;
/// The limit of a server's keeper; the limits of its child come first.
const LONGEST_LIFE_MS: u64 = 24 * 60 * 60 * 1_000;

/// A server of the configuration.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// The name of the server.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables that only this server is given.
    pub environment: Vec<(String, Secret)>,
}

/// The reason why a server did not do what was asked of it.
#[derive(Debug, thiserror::Error)]
enum McpError {
    #[error("the server is not there")]
    Gone,
    #[error("the server wrote more than {MOST_WRITTEN} bytes and was ended")]
    WroteTooMuch,
    #[error("the server did not answer: {0}")]
    NoAnswer(ServiceError),
    #[error("it was not ready within {0} s")]
    Late(f64),
    #[error("{}", with_causes(.0))]
    Files(#[from] FsError),
    #[error("{0}")]
    Pipe(std::io::Error),
    #[error("it does not speak MCP: {0}")]
    NotMcp(String),
    #[error("it does not say which tools it has: {0}")]
    NoTools(ServiceError),
}

/// The parts that are needed to start a child's servers.
pub(crate) struct McpPlace {
    pub(crate) keeper: Keeper,
    /// The path to the attempt from the root of its tree.
    pub(crate) mark: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) work: PathBuf,
    /// The folder for the pipes of the attempt.
    pub(crate) pipes: PathBuf,
    /// The time that one call may take.
    pub(crate) limit: Duration,
}

pub(crate) struct McpTools {
    place: McpPlace,
    servers: Vec<ServerOfChild>,
    tools: Vec<McpTool>,
}

struct ServerOfChild {
    server: McpServer,
    /// None before it was started, and after it was seen to have ended.
    running: Mutex<Option<RunningServer>>,
}

struct RunningServer {
    client: RunningService<RoleClient, ()>,
    /// The bytes that it has written since the last call.
    written: Arc<AtomicUsize>,
    stop: StopTokens,
    /// Runs the keeper; dropping it ends the server.
    _process: AbortOnDropHandle<()>,
}

struct McpTool {
    /// The name that models use.
    name: String,
    server: usize,
    /// The name that its server uses.
    own_name: String,
    description: String,
    input_schema: Value,
    writes: bool,
}

/// Returns the server that an entry of a list names, and the tool if there is one.
pub(crate) fn selected(entry: &str) -> Option<(&str, Option<&str>)> {
    let rest = entry.strip_prefix(MCP)?;
    Some(match rest.split_once('/') {
        Some((server, tool)) => (server, Some(tool)),
        None => (rest, None),
    })
}

impl McpTools {
    /// Starts the servers that the child's list names; the notes name those that could not be started.
    pub(crate) async fn start(
        place: McpPlace,
        known: &[McpServer],
        allowed: &[String],
    ) -> (Self, Vec<String>) {
        let mut all = Self {
            place,
            servers: Vec::new(),
            tools: Vec::new(),
        };
        let mut notes = Vec::new();
        let wanted: Vec<_> = allowed.iter().filter_map(|it| selected(it)).collect();
        for server in known {
            let tools = wanted.iter().filter(|(name, _)| *name == server.name);
            let tools: Vec<Option<&str>> = tools.map(|(_, tool)| *tool).collect();
            if tools.is_empty() {
                continue;
            }
            let of_child = ServerOfChild {
                server: server.clone(),
                running: Mutex::new(None),
            };
            match all.place.start(server).await {
                Ok((running, offered)) => {
                    notes.extend(all.take(server, &tools, offered));
                    *of_child.running.lock().await = Some(running);
                }
                Err(error) => notes.push(format!(
                    "the MCP server `{}` is not there: {error}",
                    server.name
                )),
            }
            all.servers.push(of_child);
        }
        (all, notes)
    }

    /// Takes the tools of a server that the child may call; the notes name wanted tools that the server does not have.
    fn take(
        &mut self,
        server: &McpServer,
        wanted: &[Option<&str>],
        offered: Vec<Tool>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        for name in wanted.iter().flatten() {
            if !offered.iter().any(|tool| tool.name == *name) {
                notes.push(format!(
                    "the MCP server `{}` has no tool `{name}`",
                    server.name
                ));
            }
        }
        let is_wanted = |tool: &Tool| {
            let mut wanted = wanted.iter();
            wanted.any(|name| name.is_none_or(|name| tool.name == name))
        };
        for tool in offered.into_iter().filter(is_wanted).take(MOST_TOOLS) {
            let name = model_name(&server.name, &tool.name);
            if self.find(&name).is_some() {
                notes.push(format!(
                    "two tools would be called `{name}`; one is left out"
                ));
                continue;
            }
            let hints = tool.annotations.as_ref();
            self.tools.push(McpTool {
                name,
                server: self.servers.len(),
                own_name: tool.name.into_owned(),
                description: tool.description.map(String::from).unwrap_or_default(),
                input_schema: Value::Object(tool.input_schema.as_ref().clone()),
                writes: hints.and_then(|it| it.read_only_hint) != Some(true),
            });
        }
        notes
    }

    fn find(&self, name: &str) -> Option<&McpTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(|tool| ToolDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
        })
    }

    /// Returns true if a call of a tool can change something; none if there is no such tool.
    pub(crate) fn writes(&self, name: &str) -> Option<bool> {
        self.find(name).map(|tool| tool.writes)
    }

    /// Returns the secret values that the servers were given, which must not be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let servers = self.servers.iter();
        servers.flat_map(|it| it.server.environment.iter().map(|(_, value)| value))
    }

    /// Calls a tool; none if there is no such tool.
    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: &Value,
        stop: &StopTokens,
    ) -> Option<ToolResult> {
        let tool = self.find(name)?;
        let server = self.servers.get(tool.server)?;
        let limit = self.place.limit;
        let called = tokio::time::timeout(limit, self.call_of(server, tool, arguments));
        Some(tokio::select! {
            called = called => match called {
                Ok(Ok(result)) => result,
                Ok(Err(error)) => ToolResult::failed(error.to_string()),
                Err(_) => {
                    ToolResult::failed(format!("[timed out after {} s]", limit.as_secs_f64()))
                }
            },
            () = stop.soft.cancelled() => ToolResult::failed("[stopped]"),
        })
    }

    async fn call_of(
        &self,
        server: &ServerOfChild,
        tool: &McpTool,
        arguments: &Value,
    ) -> Result<ToolResult, McpError> {
        let mut slot = server.running.lock().await;
        if slot.as_ref().is_none_or(|it| it.client.is_closed()) {
            // The old server has to be gone before the new one begins.
            *slot = None;
            *slot = Some(self.place.start(&server.server).await?.0);
        }
        let running = slot.as_ref().ok_or(McpError::Gone)?;
        running.written.store(0, Ordering::Relaxed);
        let mut request = CallToolRequestParams::new(tool.own_name.clone());
        if let Value::Object(arguments) = arguments {
            request = request.with_arguments(arguments.clone());
        }
        match running.client.peer().call_tool(request).await {
            Ok(result) => Ok(told(&result)),
            Err(ServiceError::McpError(error)) => {
                Ok(ToolResult::failed(error.message.into_owned()))
            }
            Err(error) => {
                let is_ended = running.stop.is_stopped();
                // The next call of a tool starts the server anew.
                *slot = None;
                Err(if is_ended {
                    McpError::WroteTooMuch
                } else {
                    McpError::NoAnswer(error)
                })
            }
        }
    }
}

impl McpPlace {
    async fn start(&self, server: &McpServer) -> Result<(RunningServer, Vec<Tool>), McpError> {
        let limit = self.limit.min(LONGEST_START);
        let started = tokio::time::timeout(limit, self.start_unbounded(server)).await;
        started.unwrap_or_else(|_| Err(McpError::Late(limit.as_secs_f64())))
    }

    async fn start_unbounded(
        &self,
        server: &McpServer,
    ) -> Result<(RunningServer, Vec<Tool>), McpError> {
        let input = self.pipes.join(format!("{}.in", file_name(&server.name)));
        files::make_closed_folder(&self.pipes)?;
        files::make_pipe(&input)?;
        let sender = pipe::OpenOptions::new()
            .read_write(true)
            .open_sender(&input)
            .map_err(McpError::Pipe)?;
        // The input of the process carries a keeper's orders, so the server reads from a named pipe; its complaints go nowhere,
        // because they must not stand in the middle of a message.
        let mut command = ["/bin/sh", "-c", "exec \"$@\" <\"$0\" 2>/dev/null"]
            .map(str::to_owned)
            .to_vec();
        command.push(input.to_string_lossy().into_owned());
        command.extend(server.command.iter().cloned());
        let mut environment = self.environment.clone();
        for (name, value) in &server.environment {
            environment.retain(|(known, _)| known != name);
            environment.push((name.clone(), value.reveal().to_owned()));
        }
        let order = KeeperOrder {
            command,
            environment,
            limit_ms: LONGEST_LIFE_MS,
            most_output: u64::MAX,
            ..KeeperOrder::shell("", self.work.clone(), &self.mark)
        };
        let (stop, written) = (StopTokens::default(), Arc::new(AtomicUsize::new(0)));
        let (mut feed, output) = tokio::io::duplex(64 << 10);
        let process = {
            let (keeper, stop, written) = (self.keeper.clone(), stop.clone(), Arc::clone(&written));
            let (sent, mut received) = unbounded_channel::<Vec<u8>>();
            let run = async move {
                let on_output = |bytes: &[u8]| {
                    let before = written.fetch_add(bytes.len(), Ordering::Relaxed);
                    if before.saturating_add(bytes.len()) > MOST_WRITTEN {
                        stop.stop(true);
                    } else {
                        let _ = sent.send(bytes.to_vec());
                    }
                };
                let _ = keeper.run(&order, &stop, on_output).await;
            };
            let pass_on = async move {
                while let Some(bytes) = received.recv().await {
                    if feed.write_all(&bytes).await.is_err() {
                        break;
                    }
                }
            };
            AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::join!(run, pass_on);
            }))
        };
        let transport = AsyncRwTransport::<RoleClient, _, _>::new(output, sender)
            .with_max_line_length(MOST_MESSAGE);
        let client = serve_client((), transport).await;
        let client = client.map_err(|error| McpError::NotMcp(error.to_string()))?;
        let tools = client.peer().list_all_tools().await;
        let tools = tools.map_err(McpError::NoTools)?;
        let running = RunningServer {
            client,
            written,
            stop,
            _process: process,
        };
        Ok((running, tools))
    }
}

/// Returns a result as the text that a model reads.
fn told(result: &CallToolResult) -> ToolResult {
    let mut parts: Vec<String> = result.content.iter().map(part).collect();
    if let (true, Some(value)) = (parts.is_empty(), &result.structured_content) {
        parts.push(value.to_string());
    }
    let mut text = parts.join("\n");
    let end = text.floor_char_boundary(MOST_RESULT);
    if end < text.len() {
        let rest = text.len() - end;
        text.truncate(end);
        let _ = write!(text, "\n[{rest} more bytes were cut off]");
    }
    ToolResult {
        text,
        is_error: result.is_error == Some(true),
    }
}

fn part(block: &ContentBlock) -> String {
    if let Some(text) = block.as_text() {
        return text.text.clone();
    }
    let value = serde_json::to_value(block).unwrap_or_default();
    let inner = value["resource"]["text"].as_str();
    inner.map_or_else(
        || format!("[{} left out]", value["type"].as_str().unwrap_or("a part")),
        str::to_owned,
    )
}

/// Returns the name of a server's tool for models, in characters that every provider takes.
fn model_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", file_name(server), file_name(tool));
    name.chars().take(LONGEST_NAME).collect()
}

fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_a_server_or_one_of_its_tools() {
        for (entry, expected) in [
            ("mcp:time", Some(("time", None))),
            ("mcp:time/now", Some(("time", Some("now")))),
            ("mcp:a/b/c", Some(("a", Some("b/c")))),
            ("time", None),
        ] {
            assert_eq!(selected(entry), expected, "{entry}");
        }
        assert_eq!(model_name("my server", "a.b/c"), "mcp__my_server__a_b_c");
        assert_eq!(model_name("s", &"x".repeat(99)).len(), LONGEST_NAME);
    }

    #[test]
    fn a_result_is_its_text_and_no_more_than_a_model_reads() {
        let text = |text: &str| ContentBlock::text(text);
        let long = told(&CallToolResult::success(vec![text(
            &"ü".repeat(MOST_RESULT),
        )]));
        assert!(long.text.ends_with("[65536 more bytes were cut off]"));
        assert!(long.text.len() < MOST_RESULT + 100);
        let several = told(&CallToolResult::success(vec![text("a"), text("b")]));
        assert_eq!((several.text.as_str(), several.is_error), ("a\nb", false));
        let failed = told(&CallToolResult::error(vec![text("no")]));
        assert_eq!((failed.text.as_str(), failed.is_error), ("no", true));
    }
}
