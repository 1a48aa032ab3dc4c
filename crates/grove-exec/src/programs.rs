//! Agent programs that people have installed: how each is started for one task, and what it says while it works.
//!
//! A program is one file with its recipe and its traps. What it claims of itself is evidence: [`verdict`] alone decides
//! how it ended.

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

use crate::keeper::{Exit, Report, Why};

/// What one program is and can do.
#[derive(Debug)]
pub struct Program {
    /// What it is called as an engine.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it is called in the search path.
    pub binary: &'static str,
    /// Where npm keeps its native program, below the folder of the launcher's package: a launcher would be left behind
    /// when what it started is ended, and the other way round.
    pub native: &'static [&'static str],
    /// Its versions that were tried.
    pub tried: &'static str,
    /// The interfaces that it can ask a provider of ours with, in configuration's words, the usual one first; none for one
    /// that can be sent nowhere.
    pub apis: &'static [&'static str],
    /// Whether its own names of models begin with a vendor, as `anthropic/ID`.
    pub names_vendors: bool,
    /// What it can be told.
    pub can: Capabilities,
    /// Our names of tools and its own; a tool that is not here it does not have.
    pub tools: &'static [(&'static str, &'static str)],
    /// Its names of tools that run a command, and the field that has its line.
    pub commands: &'static [(&'static str, &'static str)],
    /// Its names of tools that write files, and the field that has a path, or a list of what has one.
    pub writing: &'static [(&'static str, &'static str)],
    /// Variables of a person's that it may need: keys, and where a login is kept.
    pub variables: &'static [&'static str],
    /// Files at home that are there when somebody is logged in.
    pub logins: &'static [&'static str],
    /// What of a person's own configuration cannot be switched off when the person's login is used.
    pub not_switched_off: &'static [&'static str],
    /// What it used, from the file `usage.json` that it leaves, where its lines do not say.
    usage_left: Option<fn(&Value) -> Usage>,
    /// What asks it to stop without ending it, with its name of the conversation, where it listens while it works.
    cancel: Option<fn(&str) -> Value>,
    launch: fn(&ProgramTask<'_>) -> Launch,
    take: fn(&mut Heard, &Value, &mut dyn FnMut(ProgramEvent)),
}

/// What a program can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a row of a table of what there is"
)]
pub struct Capabilities {
    /// Another system text than its own.
    pub system_prompt: bool,
    /// Which tools there are.
    pub tool_list: bool,
    /// Where its provider is.
    pub base_url: bool,
    /// Which model it asks.
    pub model: bool,
    /// To go on with an earlier conversation.
    pub resume: bool,
    /// It tells its words while it writes them.
    pub streaming: bool,
    /// It tells what it used.
    pub usage: bool,
    /// To use the runtime's own tools: skills, questions, results as data.
    pub runtime_tools: bool,
    /// To stop what it does, in its own words, before it is ended.
    pub cancel: bool,
    /// It tells what its tools were given and how they ended, so that commands and files are known without asking it.
    pub calls: bool,
}

impl Capabilities {
    /// What it cannot, in words.
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

/// All of them.
pub const PROGRAMS: [&Program; 6] = [
    &claude::PROGRAM,
    &codex::PROGRAM,
    &pi::PROGRAM,
    &copilot::PROGRAM,
    &opencode::PROGRAM,
    &gemini::PROGRAM,
];

/// What a program is to do.
#[derive(Debug, Clone)]
pub struct ProgramTask<'a> {
    /// The program that is started.
    pub program: &'a Path,
    /// What stands after it in an engine's name.
    pub arguments: &'a [String],
    /// Where it works.
    pub work_folder: &'a Path,
    /// The system text.
    pub system: &'a str,
    /// The message.
    pub message: &'a str,
    /// Its model; its own choice when nothing is said.
    pub model: Option<&'a str>,
    /// How much it thinks.
    pub thinking: Option<&'a str>,
    /// Our names of the tools that it may use.
    pub tools: &'a [String],
    /// Whether one of them can change files.
    pub writes: bool,
    /// Whom it asks; whoever it is logged in with when nothing is said.
    pub provider: Option<&'a ProgramProvider>,
    /// Which of its variables of the person's it is given, where it asks whom it likes.
    pub variables: &'a [String],
    /// The runtime's own tools.
    pub bridge: Option<&'a ProgramBridge>,
    /// Its own name of the earlier conversation that it goes on with.
    pub resumes: Option<&'a str>,
    /// A folder of this attempt alone, for what the program is given and for what it leaves.
    pub folder: &'a Path,
    /// A folder of this conversation alone, which stays: its configuration, and what it remembers.
    pub home: &'a Path,
}

/// A provider that a program is sent to.
#[derive(Debug, Clone)]
pub struct ProgramProvider {
    /// The interface that it has, in configuration's word.
    pub api: &'static str,
    /// Where it is, without a version in its path.
    pub origin: String,
    /// The key, which is in the environment alone.
    pub key: String,
}

/// The runtime's own tools, as an MCP server of one attempt's.
#[derive(Debug, Clone)]
pub struct ProgramBridge {
    /// Where it is.
    pub url: String,
    /// What a client must know; in a file or the environment alone.
    pub token: String,
    /// The names of its tools.
    pub tools: Vec<String>,
}

impl ProgramBridge {
    /// What the server is called in a program's configuration.
    pub const NAME: &str = "grove";

    /// Whether a program's name of a tool is that of one of these, in any of the forms that programs make of a server's
    /// name and a tool's.
    fn is_named_in(tool: &str) -> bool {
        let of_server = tool.strip_prefix("mcp__").unwrap_or(tool);
        let rest = of_server.strip_prefix(Self::NAME);
        rest.is_some_and(|rest| rest.starts_with(['_', '-']))
    }

    /// The form in which most programs are told of servers.
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

/// How a program is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables beside the usual ones.
    pub environment: Vec<(String, String)>,
    /// Files that have to be there first, for their owner alone.
    pub files: Vec<(PathBuf, String)>,
    /// The file that is its standard input; a pipe where it is told things while it runs.
    pub input: Option<PathBuf>,
    /// What it is told in turn, the next one when the one before was answered.
    pub says: VecDeque<Value>,
    /// Its words for what it may do without asking a person.
    pub may: Vec<&'static str>,
    /// Whether what it remembers of the conversation is in the folder for that, so that it can go on with it.
    pub remembers: bool,
}

impl Launch {
    /// A program with a file for its system text, and that file.
    fn with_system(task: &ProgramTask<'_>) -> (Self, String) {
        let mut launch = Self {
            remembers: task.provider.is_some(),
            ..Self::default()
        };
        let system = launch.file(task.folder.join("system.md"), task.system);
        launch.args([task.program.to_string_lossy()]);
        (launch, system)
    }

    /// A program that is told these things in turn, while it runs.
    fn tells(&mut self, task: &ProgramTask<'_>, says: impl IntoIterator<Item = Value>) {
        self.input = Some(task.folder.join("input"));
        self.says = says.into_iter().collect();
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

    /// The command with its standard input, since a keeper's own is taken, and with its complaints in a file, so that
    /// they do not stand in the middle of a line.
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

/// What happens in a program, whichever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEvent {
    /// It says something.
    Text(String),
    /// It thinks.
    Thinking(String),
    /// It begins to use a tool.
    ToolStart {
        /// Its name of the call.
        id: String,
        /// Its name of the tool.
        tool: String,
        /// What the tool is given.
        input: Value,
        /// Whether it is one of the runtime's own, whose call the bridge sees itself.
        of_runtime: bool,
    },
    /// A tool is done.
    ToolEnd {
        /// Its name of the call.
        id: String,
        /// Whether it failed.
        failed: bool,
        /// What the model is told.
        result: String,
        /// Whether what it began goes on, so that nothing is known of its end.
        goes_on: bool,
    },
    /// It asks its provider again.
    Retrying(String),
    /// Something else that is worth a line.
    Note(String),
    /// A line for its standard input.
    Say(String),
    /// Nothing more is said to it.
    Close,
}

/// What a call of a tool does, as far as evidence needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEffect {
    /// It runs a command line.
    Command(String),
    /// It writes files.
    Writes(Vec<String>),
    /// Anything else.
    Other,
}

/// What a program said so far.
#[derive(Debug, Default)]
pub struct Heard {
    /// Its last words.
    pub text: String,
    /// Its name of the conversation.
    pub session: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// What it used, by its own account.
    pub usage: Usage,
    /// What its provider failed with.
    pub failure: Option<(ModelFailure, String)>,
    /// Whether it said that it was interrupted.
    pub is_interrupted: bool,
    /// Whether it said that it is done.
    pub is_over: bool,
    /// Whether it was told nothing more after its end: how its process ends then means nothing.
    pub ended_by_word: bool,
    /// Whether what it says next is another message.
    pub begins_anew: bool,
    /// What it is still to be told.
    pub says: VecDeque<Value>,
    /// Its words for what it may do.
    pub may: Vec<&'static str>,
    /// Tools that it has told of and that have not ended.
    pub running: Vec<String>,
    /// The last line that it wrote among its events and that is none: what it complains about.
    pub stray: String,
}

/// Reads what a program writes, a line at a time.
#[derive(Debug)]
pub struct ProgramReader {
    program: &'static Program,
    line: Vec<u8>,
    heard: Heard,
}

/// A line longer than this is passed over.
const LONGEST_LINE: usize = 16 << 20;
/// Bytes of a line for people that are kept.
const LONGEST_STRAY: usize = 4 << 10;

impl Program {
    /// What stands before the command of a program that speaks the Agent Client Protocol.
    pub const ACP: &str = "acp:";
    /// The file in which some leave what they used.
    pub const USAGE_FILE: &str = "usage.json";

    /// The program with a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        if name.starts_with(Self::ACP) {
            return Some(&acp::PROGRAM);
        }
        PROGRAMS.into_iter().find(|program| program.name == name)
    }

    /// The words of a command that is a part of an engine's name.
    pub fn command_of(name: &str) -> Vec<String> {
        let command = name.strip_prefix(Self::ACP).unwrap_or_default();
        command.split_whitespace().map(str::to_owned).collect()
    }

    /// What asks it to stop without ending it, where it listens while it works.
    pub fn cancel(&self, session: &str) -> Option<String> {
        self.cancel.map(|line| line(session).to_string())
    }

    /// Whether it can ask a provider with this interface.
    pub fn speaks(&self, api: &str) -> bool {
        self.apis.contains(&api)
    }

    /// How it is started for a task.
    pub fn launch(&self, task: &ProgramTask<'_>) -> Launch {
        (self.launch)(task)
    }

    /// What it used, from the text of the file [`Self::USAGE_FILE`] that some leave in the folder of their task.
    pub fn usage_left(&self, text: &[u8]) -> Option<Usage> {
        let read = self.usage_left?;
        serde_json::from_slice(text).ok().map(|value| read(&value))
    }

    /// Reads what it writes.
    pub fn reader(&'static self, launch: &Launch) -> ProgramReader {
        ProgramReader {
            program: self,
            line: Vec::new(),
            heard: Heard {
                says: launch.says.clone(),
                may: launch.may.clone(),
                ..Heard::default()
            },
        }
    }

    /// What a call of one of its tools does.
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

    /// Its names of the tools of a task, and our names of those that it does not have.
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

impl Heard {
    /// Takes note that it is over by its own word, and that it is told nothing more.
    fn end(&mut self, on_event: &mut dyn FnMut(ProgramEvent)) {
        self.is_over = true;
        self.ended_by_word = true;
        on_event(ProgramEvent::Close);
    }

    /// What is said next, now that the one before was answered.
    fn say_next(&mut self, on_event: &mut dyn FnMut(ProgramEvent)) {
        self.says.pop_front();
        if let Some(next) = self.says.front() {
            on_event(ProgramEvent::Say(next.to_string()));
        }
    }
}

impl ProgramReader {
    /// Takes the next bytes, however they are cut. Only line feeds end a line.
    pub fn push(&mut self, bytes: &[u8], on_event: &mut dyn FnMut(ProgramEvent)) {
        for byte in bytes {
            match byte {
                b'\n' => self.take_line(on_event),
                byte if self.line.len() < LONGEST_LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    /// What was heard so far.
    pub fn heard(&self) -> &Heard {
        &self.heard
    }

    /// What was heard until its end.
    pub fn finish(mut self, on_event: &mut dyn FnMut(ProgramEvent)) -> Heard {
        self.take_line(on_event);
        self.heard
    }

    fn take_line(&mut self, on_event: &mut dyn FnMut(ProgramEvent)) {
        let line = std::mem::take(&mut self.line);
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice(&line) {
            return (self.program.take)(&mut self.heard, &value, on_event);
        }
        // What is no JSON is for people, on whichever stream it came.
        let text = String::from_utf8_lossy(line.get(..LONGEST_STRAY).unwrap_or(&line));
        if !text.trim().is_empty() {
            text.trim().clone_into(&mut self.heard.stray);
        }
    }
}

/// How a program's attempt ended, whatever it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramVerdict {
    /// It answered.
    Answered,
    /// It was stopped.
    Interrupted,
    /// Its time was up.
    TimedOut,
    /// Its provider failed it.
    ModelFailed(ModelFailure, String),
    /// It did something that is no answer.
    NoAnswer(String),
}

/// Decides how an attempt ended: by what the keeper saw, then by what the provider did, then by whether there is an
/// answer and an end. Exit codes and words for success decide nothing alone.
pub fn verdict(heard: &Heard, report: &Report) -> ProgramVerdict {
    match report.why {
        _ if heard.ended_by_word => {}
        Why::TimedOut => return ProgramVerdict::TimedOut,
        Why::Told | Why::Abandoned => return ProgramVerdict::Interrupted,
        Why::Done | Why::UsedTooMuch => {}
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
        Exit::NotStarted(why) => no_answer(format!("it could not be started: {why}")),
        Exit::Signal(signal) => no_answer(format!("it was ended by signal {signal}")),
        Exit::Code(code) if !heard.is_over => no_answer(format!(
            "it ended with code {code} and without an end of its answer"
        )),
        Exit::Code(code) if *code != 0 => no_answer(format!("it ended with code {code}")),
        Exit::Code(_) if heard.text.trim().is_empty() => no_answer("it said nothing".to_owned()),
        Exit::Code(_) => ProgramVerdict::Answered,
    }
}

/// What a status of a provider's means.
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

/// The words of a tool's result: a text, or the texts of its blocks.
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
