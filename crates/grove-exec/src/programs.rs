//! Agent programs that people have installed: the way to start each for one task, and the reading of its output.
//!
//! Each program is one file with its recipe and its traps. The claims of a program about itself are evidence: [`verdict`]
//! alone decides how its attempt ended.

mod acp;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod pi;
mod shell_words;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use grove_plan::{ModelFailure, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use crate::keeper::{EndReason, KeeperReport, ProgramExit};

#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    pub title: &'static str,
    pub binary: &'static str,
    /// The path of its native program, below the folder of its launcher's npm package. A launcher would be left behind when
    /// the program that it started is ended, and the other way round.
    pub native: &'static [&'static str],
    /// The version with which it was tried.
    pub tried: &'static str,
    /// The interfaces with which it can ask a provider of ours, in configuration's words, the usual one first; none for a
    /// program that cannot be sent to another provider.
    pub apis: &'static [&'static str],
    /// Set if its own names of models begin with a vendor, as `anthropic/ID`.
    pub names_vendors: bool,
    pub can: ProgramCapabilities,
    /// Our names of tools and its own names; it does not have a tool that is not here.
    pub tools: &'static [(&'static str, &'static str)],
    /// Its names of tools that run a command, each with the input field for the command line.
    pub commands: &'static [(&'static str, &'static str)],
    /// Its names of tools that write files, each with the input field for a path, or for a list of entries with paths.
    pub writing: &'static [(&'static str, &'static str)],
    /// The person's variables that it may need: keys, and the place of a login.
    pub variables: &'static [&'static str],
    /// The files in the home folder that exist when the person is logged in.
    pub logins: &'static [&'static str],
    /// The parts of the person's own configuration that stay on when the person's login is used.
    pub not_switched_off: &'static [&'static str],
    /// Reads its usage from the file `usage.json` that it leaves, for a program whose lines do not tell it.
    usage_left: Option<fn(&Value) -> Usage>,
    /// Makes the line that asks it to stop, from its name of the conversation; for a program that listens while it works.
    cancel: Option<fn(&str) -> Value>,
    launch: fn(&ProgramTask<'_>) -> ProgramLaunch,
    take: fn(&mut ProgramState, &Value, &mut dyn FnMut(ProgramEvent)),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a row of a table of what there is"
)]
pub struct ProgramCapabilities {
    /// It takes another system text in place of its own.
    pub system_prompt: bool,
    pub tool_list: bool,
    pub base_url: bool,
    pub model: bool,
    /// It can go on with an earlier conversation.
    pub resume: bool,
    /// It tells its text while it writes it.
    pub streaming: bool,
    pub usage: bool,
    /// It can use the runtime's own tools: skills, questions, results as data.
    pub runtime_tools: bool,
    /// It can be asked to stop by a line of its input, before its process is ended.
    pub cancel: bool,
    /// It tells the input and the end of its tool calls, so that commands and files are known without asking it.
    pub calls: bool,
}

impl ProgramCapabilities {
    pub fn missing(self) -> Vec<&'static str> {
        let all = [
            (self.system_prompt, "system prompt"),
            (self.tool_list, "tool list"),
            (self.base_url, "address"),
            (self.model, "model"),
            (self.resume, "resume"),
            (self.streaming, "streaming"),
            (self.usage, "usage"),
            (self.runtime_tools, "runtime tools"),
            (self.cancel, "in-band cancel"),
            (self.calls, "evidence of its calls"),
        ];
        let missing = all.into_iter().filter(|(can, _)| !can);
        missing.map(|(_, what)| what).collect()
    }
}

pub const PROGRAMS: [&Program; 6] = [
    &claude::PROGRAM,
    &codex::PROGRAM,
    &pi::PROGRAM,
    &copilot::PROGRAM,
    &opencode::PROGRAM,
    &gemini::PROGRAM,
];

#[derive(Debug, Clone)]
pub struct ProgramTask<'a> {
    pub program: &'a Path,
    /// The words after the program in an engine's name.
    pub arguments: &'a [String],
    pub work_folder: &'a Path,
    pub system: &'a str,
    pub message: &'a str,
    /// Its model; it chooses one itself if there is none.
    pub model: Option<&'a str>,
    pub thinking: Option<&'a str>,
    pub tools: &'a [String],
    /// Set if one of these tools can change files.
    pub writes: bool,
    /// The provider that it asks; the one of the person's login if there is none.
    pub provider: Option<&'a ProgramProvider>,
    /// The person's variables that it is given when it chooses its provider itself.
    pub variables: &'a [String],
    pub bridge: Option<&'a ProgramBridge>,
    /// Its own name of the earlier conversation that it goes on with.
    pub resumes: Option<&'a str>,
    /// A folder for this attempt alone, for the program's input files and for those that it leaves.
    pub folder: &'a Path,
    /// A folder for this conversation alone, which stays: for its configuration and its memory.
    pub home: &'a Path,
}

#[derive(Debug, Clone)]
pub struct ProgramProvider {
    /// The interface of the provider, in configuration's word.
    pub api: &'static str,
    /// Its address, without a version in the path.
    pub origin: String,
    /// The key, which is in the environment alone.
    pub key: String,
}

/// The runtime's own tools, as an MCP server for one attempt.
#[derive(Debug, Clone)]
pub struct ProgramBridge {
    pub url: String,
    /// The secret of its clients; in a file or the environment alone.
    pub token: String,
    pub tools: Vec<String>,
}

impl ProgramBridge {
    pub const NAME: &str = "grove";

    /// Returns true if a program's name of a tool is that of one of these, in any of the forms that programs make of the
    /// names of a server and a tool.
    fn is_named_in(tool: &str) -> bool {
        let of_server = tool.strip_prefix("mcp__").unwrap_or(tool);
        let rest = of_server.strip_prefix(Self::NAME);
        rest.is_some_and(|rest| rest.starts_with(['_', '-']))
    }

    fn described(&self) -> Value {
        let authorization = format!("Bearer {}", self.token);
        let server = json!({
            "type": "http",
            "url": self.url,
            "headers": { "Authorization": authorization },
        });
        json!({ "mcpServers": { Self::NAME: server } })
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramLaunch {
    pub command: Vec<String>,
    /// Variables in addition to the usual ones.
    pub environment: Vec<(String, String)>,
    /// The files to write first, readable by their owner alone.
    pub files: Vec<(PathBuf, String)>,
    /// The file that is its standard input; a pipe if it gets lines while it runs.
    pub input: Option<PathBuf>,
    /// The lines that it is told, each after the one before was answered.
    pub input_lines: VecDeque<Value>,
    /// Its words for the tools that it may use without asking a person.
    pub permitted_tools: Vec<&'static str>,
    /// Set if its memory of the conversation is in the folder for that, so that it can go on with it.
    pub remembers: bool,
}

impl ProgramLaunch {
    /// Starts a launch with a file for the system text, and returns that file's name too.
    fn with_system(task: &ProgramTask<'_>) -> (Self, String) {
        let mut launch = Self {
            remembers: task.provider.is_some(),
            ..Self::default()
        };
        let system = launch.file(task.folder.join("system.md"), task.system);
        launch.args([task.program.to_string_lossy()]);
        (launch, system)
    }

    /// Makes the input a pipe, for a program that is told these lines in turn while it runs.
    fn set_input_lines(&mut self, task: &ProgramTask<'_>, says: impl IntoIterator<Item = Value>) {
        self.input = Some(task.folder.join("input"));
        self.input_lines = says.into_iter().collect();
    }

    fn file(&mut self, path: PathBuf, text: &str) -> String {
        let name = path.to_string_lossy().into_owned();
        self.files.push((path, text.to_owned()));
        name
    }

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    fn args<S: Into<String>>(&mut self, arguments: impl IntoIterator<Item = S>) {
        self.command.extend(arguments.into_iter().map(Into::into));
    }

    /// The command with its standard input, since a keeper's own input is taken, and with its error output in a file, so
    /// that error messages do not stand in the middle of a line.
    pub fn whole_command(&self, complaints: &Path) -> Vec<String> {
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let nothing = Path::new("/dev/null");
        let input = self.input.as_deref().unwrap_or(nothing);
        let line = "complaints=$1; shift; exec \"$@\" < \"$0\" 2> \"$complaints\"";
        let shell = ["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()];
        let files = [name(input), name(complaints)];
        let words = shell.into_iter().chain(files);
        words.chain(self.command.iter().cloned()).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEvent {
    Text(String),
    Thinking(String),
    ToolStart {
        id: String,
        tool: String,
        input: Value,
        /// Set if it is one of the runtime's own tools, whose calls the bridge sees itself.
        of_runtime: bool,
    },
    ToolEnd {
        id: String,
        failed: bool,
        result: String,
        /// Set if a command that the call began goes on, so that its end is unknown.
        goes_on: bool,
    },
    /// The program asks its provider again.
    Retrying(String),
    /// Something else that deserves a line.
    Note(String),
    /// A line for the program's standard input.
    Say(String),
    /// The input is closed: the program gets no more lines.
    Close,
}

/// The effect of a tool call, as far as evidence needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEffect {
    Command(String),
    Writes(Vec<String>),
    Other,
}

/// Everything that a program has said so far.
#[derive(Debug, Default)]
pub struct ProgramState {
    /// The text of its last message.
    pub text: String,
    /// Its name of the conversation.
    pub session: Option<String>,
    pub model: Option<String>,
    /// The tokens that it used, by its own account.
    pub usage: Usage,
    pub failure: Option<(ModelFailure, String)>,
    pub is_interrupted: bool,
    pub is_over: bool,
    /// Set if its input was closed after its own word for the end: the end of its process then means nothing.
    pub ended_by_word: bool,
    /// Set if its next text begins another message.
    pub begins_anew: bool,
    pub input_lines: VecDeque<Value>,
    pub permitted_tools: Vec<&'static str>,
    /// The ids of tool calls that have begun and not ended.
    pub running: Vec<String>,
    /// The last line among its events that is no event: usually a complaint.
    pub stray: String,
}

#[derive(Debug)]
pub struct ProgramReader {
    program: &'static Program,
    line: Vec<u8>,
    state: ProgramState,
}

/// The most bytes of a line; the rest of a longer one is dropped.
const LONGEST_LINE: usize = 16 << 20;
/// The most bytes that are kept of a line for people.
const LONGEST_STRAY: usize = 4 << 10;

impl Program {
    /// The prefix of an engine's name whose rest is the command of a program with the Agent Client Protocol.
    pub const ACP: &str = "acp:";
    pub const USAGE_FILE: &str = "usage.json";

    pub fn named(name: &str) -> Option<&'static Self> {
        if name.starts_with(Self::ACP) {
            return Some(&acp::PROGRAM);
        }
        PROGRAMS.into_iter().find(|program| program.name == name)
    }

    pub fn command_of(name: &str) -> Vec<String> {
        let command = name.strip_prefix(Self::ACP).unwrap_or_default();
        command.split_whitespace().map(str::to_owned).collect()
    }

    /// Returns the line that asks it to stop without ending it; none if it does not listen while it works.
    pub fn cancel(&self, session: &str) -> Option<String> {
        self.cancel.map(|line| line(session).to_string())
    }

    pub fn speaks(&self, api: &str) -> bool {
        self.apis.contains(&api)
    }

    pub fn launch(&self, task: &ProgramTask<'_>) -> ProgramLaunch {
        (self.launch)(task)
    }

    /// Returns its usage, from the text of the file [`Self::USAGE_FILE`] that some leave in the folder of their task.
    pub fn usage_left(&self, text: &[u8]) -> Option<Usage> {
        let read = self.usage_left?;
        serde_json::from_slice(text).ok().map(|value| read(&value))
    }

    pub fn reader(&'static self, launch: &ProgramLaunch) -> ProgramReader {
        ProgramReader {
            program: self,
            line: Vec::new(),
            state: ProgramState {
                input_lines: launch.input_lines.clone(),
                permitted_tools: launch.permitted_tools.clone(),
                ..ProgramState::default()
            },
        }
    }

    pub fn effect(&self, tool: &str, input: &Value) -> CallEffect {
        let field = |rows: &[(&str, &'static str)]| {
            let row = rows.iter().find(|(name, _)| *name == tool);
            row.map(|(_, field)| &input[*field])
        };
        if let Some(line) = field(self.commands) {
            return CallEffect::Command(line.as_str().unwrap_or_default().to_owned());
        }
        let path = |value: &Value| {
            let path = value.as_str().or_else(|| value["path"].as_str());
            path.map(str::to_owned)
        };
        match field(self.writing) {
            Some(Value::Array(files)) => {
                CallEffect::Writes(files.iter().filter_map(path).collect())
            }
            Some(file) => CallEffect::Writes(path(file).into_iter().collect()),
            None => CallEffect::Other,
        }
    }

    /// Returns its names of the tools of a task, and our names of those that it does not have.
    pub fn tools<'a>(&self, ours: &'a [String]) -> (Vec<&'static str>, Vec<&'a str>) {
        let (mut theirs, mut missing) = (Vec::new(), Vec::new());
        for tool in ours {
            match self.tools.iter().find(|(name, _)| name == tool) {
                Some((_, name)) if theirs.contains(name) => {}
                Some((_, name)) => theirs.push(*name),
                None => missing.push(tool.as_str()),
            }
        }
        (theirs, missing)
    }
}

impl ProgramState {
    /// Notes that it is over by its own word, and closes its input.
    fn end(&mut self, on_event: &mut dyn FnMut(ProgramEvent)) {
        self.is_over = true;
        self.ended_by_word = true;
        on_event(ProgramEvent::Close);
    }

    fn write_next(&mut self, on_event: &mut dyn FnMut(ProgramEvent)) {
        self.input_lines.pop_front();
        if let Some(next) = self.input_lines.front() {
            on_event(ProgramEvent::Say(next.to_string()));
        }
    }
}

impl ProgramReader {
    /// Reads the next bytes, in pieces of any size. Only line feeds end a line.
    pub fn push(&mut self, bytes: &[u8], on_event: &mut dyn FnMut(ProgramEvent)) {
        for byte in bytes {
            match byte {
                b'\n' => self.take_line(on_event),
                byte if self.line.len() < LONGEST_LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    pub fn heard(&self) -> &ProgramState {
        &self.state
    }

    /// Reads the last line and returns everything that was heard.
    pub fn finish(mut self, on_event: &mut dyn FnMut(ProgramEvent)) -> ProgramState {
        self.take_line(on_event);
        self.state
    }

    fn take_line(&mut self, on_event: &mut dyn FnMut(ProgramEvent)) {
        let line = std::mem::take(&mut self.line);
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice(&line) {
            return (self.program.take)(&mut self.state, &value, on_event);
        }
        // A line that is no JSON is for people, from either stream.
        let text = String::from_utf8_lossy(line.get(..LONGEST_STRAY).unwrap_or(&line));
        if !text.trim().is_empty() {
            text.trim().clone_into(&mut self.state.stray);
        }
    }
}

/// The end of a program's attempt, no matter what the program says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramVerdict {
    Answered,
    Interrupted,
    /// The attempt reached its time limit.
    TimedOut,
    ModelFailed(ModelFailure, String),
    /// The attempt ended without an answer, for this reason.
    NoAnswer(String),
}

/// Decides how an attempt ended: by the keeper's report, then by the provider's failure, then by the presence of an answer
/// and of an end. Exit codes and words for success decide nothing alone.
pub fn verdict(heard: &ProgramState, report: &KeeperReport) -> ProgramVerdict {
    match report.why {
        _ if heard.ended_by_word => {}
        EndReason::TimedOut => return ProgramVerdict::TimedOut,
        EndReason::Told | EndReason::Abandoned => return ProgramVerdict::Interrupted,
        EndReason::Done | EndReason::UsedTooMuch => {}
    }
    if let Some((failure, message)) = &heard.failure {
        return ProgramVerdict::ModelFailed(*failure, message.clone());
    }
    if heard.is_interrupted {
        return ProgramVerdict::Interrupted;
    }
    let no_answer = |why: String| ProgramVerdict::NoAnswer(why);
    match &report.exit {
        _ if heard.ended_by_word && !heard.text.trim().is_empty() => ProgramVerdict::Answered,
        _ if heard.ended_by_word => no_answer("it said nothing".to_owned()),
        ProgramExit::NotStarted(why) => no_answer(format!("it could not be started: {why}")),
        ProgramExit::Signal(signal) => no_answer(format!("it was ended by signal {signal}")),
        ProgramExit::Code(code) if !heard.is_over => no_answer(format!(
            "it ended with code {code} and without an end of its answer"
        )),
        ProgramExit::Code(code) if *code != 0 => no_answer(format!("it ended with code {code}")),
        ProgramExit::Code(_) if heard.text.trim().is_empty() => {
            no_answer("it said nothing".to_owned())
        }
        ProgramExit::Code(_) => ProgramVerdict::Answered,
    }
}

fn failure_of_status(status: Option<u64>) -> ModelFailure {
    match status {
        Some(401 | 403) => ModelFailure::Auth,
        Some(402) => ModelFailure::Quota,
        Some(404) => ModelFailure::NoSuchModel,
        Some(413) => ModelFailure::ContextTooLong,
        Some(429) => ModelFailure::Rate,
        Some(400..500) => ModelFailure::BadRequest,
        _ => ModelFailure::Overload,
    }
}

/// The text of a tool's result: a text, or the texts of its blocks.
fn words_of(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match text(block, "type") {
                // Some protocols put a block into a block.
                "content" => words_of(&block["content"]),
                _ => words_of(block),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(block) if block.contains_key("text") => text(result, "text").to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
