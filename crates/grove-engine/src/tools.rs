//! The tools of a child. Each tool is one row; which tools a child has is decided before it starts and enforced here.

mod file_tools;
mod output_file;
mod search_tools;
mod shell_tool;
mod work_folder;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use grove_exec::{Keeper, StopTokens};
use grove_fs::FsError;
use grove_model::{Secret, ToolDefinition};
use grove_plan::subagent_tool::{self, Caller};
use grove_plan::{CallId, report_of};
use serde_json::{Value, json};

use crate::calling_child::CallingChild;
use crate::data_check::DataCheck;
use crate::engine::Engine;
use crate::error::with_causes;
use crate::folder_skills::FolderSkills;
use crate::mcp::McpTools;
use crate::powers::Power;
pub(crate) use work_folder::{LinkedFolder, WorkFolder, require_unlinked};

/// The tool through which a child gives a value that meets a schema.
pub(crate) const STRUCTURED_OUTPUT: &str = "structured_output";

/// The tool through which a child asks the one who gave it its task, or reports its progress.
pub(crate) const CONTACT_SUPERVISOR: &str = "contact_supervisor";

/// The tool through which a child asks other agents for work.
pub(crate) const SUBAGENT: &str = subagent_tool::SUBAGENT;

/// The tool through which a child gives the report on its work.
pub(crate) const ACCEPTANCE_REPORT: &str = "acceptance_report";

/// A tool of the built-in engine.
#[derive(Debug)]
pub(crate) struct ToolRow {
    /// The name of the tool.
    pub name: &'static str,
    /// The names that other hosts give it.
    pub others: &'static [&'static str],
    /// The power that a child needs to have it.
    pub power: Power,
    /// The description for the model.
    pub description: &'static str,
    /// The name, type and meaning of each argument, and true if it has to be given.
    arguments: &'static [(&'static str, &'static str, &'static str, bool)],
    run: ToolFunction,
}

#[derive(Debug, Clone, Copy)]
enum ToolFunction {
    /// Looks at files and does nothing else, so that it runs on a thread beside others like it.
    Look(fn(&Toolbox, &Value) -> Result<String, ToolError>),
    /// Does something at once.
    Do(fn(&Toolbox, &Value) -> Result<String, ToolError>),
    /// It may take a while.
    Await(for<'a> fn(&'a Toolbox, ToolCall<'a>) -> RunningTool<'a>),
}

type RunningTool<'a> = Pin<Box<dyn Future<Output = ToolResult> + Send + 'a>>;

#[derive(Clone, Copy)]
pub(crate) struct ToolCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a Value,
    pub(crate) stop: &'a StopTokens,
    /// The name of the call in the journal, which it has again after a crash.
    pub(crate) id: Option<&'a CallId>,
}

/// Every tool of the built-in engine that an agent may list.
pub(crate) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: "read",
        others: &["Read", "view", "read_file"],
        power: Power::Read,
        description: "Reads a text file. Long files are given in parts: ask again with an offset.",
        arguments: &[
            ("path", "string", "the file", true),
            ("offset", "integer", "the first line, counted from 1", false),
            ("limit", "integer", "how many lines", false),
        ],
        run: ToolFunction::Look(Toolbox::read),
    },
    ToolRow {
        name: "ls",
        others: &["LS", "list_directory"],
        power: Power::Read,
        description: "Lists a folder.",
        arguments: &[(
            "path",
            "string",
            "the folder; the work folder when left out",
            false,
        )],
        run: ToolFunction::Look(Toolbox::list),
    },
    ToolRow {
        name: "find",
        others: &["Glob", "glob"],
        power: Power::Read,
        description: "Finds files by a pattern such as `src/**/*.rs`. Version control and ignored files are left out.",
        arguments: &[
            ("pattern", "string", "the pattern", true),
            (
                "path",
                "string",
                "where to look; the work folder when left out",
                false,
            ),
        ],
        run: ToolFunction::Look(Toolbox::find),
    },
    ToolRow {
        name: "grep",
        others: &["Grep", "search"],
        power: Power::Read,
        description: "Finds lines that match a regular expression, with file and line number.",
        arguments: &[
            ("pattern", "string", "the regular expression", true),
            (
                "path",
                "string",
                "a file or folder; the work folder when left out",
                false,
            ),
            (
                "glob",
                "string",
                "only files that match this pattern",
                false,
            ),
            (
                "ignoreCase",
                "boolean",
                "whether case does not matter",
                false,
            ),
        ],
        run: ToolFunction::Look(Toolbox::grep),
    },
    ToolRow {
        name: "write",
        others: &["Write", "create", "write_file"],
        power: Power::Write,
        description: "Writes a file, making it and its folders, or replacing all of it.",
        arguments: &[
            ("path", "string", "the file", true),
            ("content", "string", "its whole content", true),
        ],
        run: ToolFunction::Do(Toolbox::write),
    },
    ToolRow {
        name: "edit",
        others: &["Edit", "MultiEdit", "str_replace"],
        power: Power::Write,
        description: "Replaces a text in a file. The old text has to occur exactly once.",
        arguments: &[
            ("path", "string", "the file", true),
            ("oldText", "string", "the text to replace, exactly", true),
            ("newText", "string", "what to put in its place", true),
        ],
        run: ToolFunction::Do(Toolbox::edit),
    },
    ToolRow {
        name: "bash",
        others: &["Bash", "shell", "execute", "run_shell_command"],
        power: Power::Run,
        description: "Runs a shell command in the work folder and gives its output. Whatever it leaves running ends with it.",
        arguments: &[
            ("command", "string", "the command line", true),
            ("timeout", "integer", "how many seconds it may take", false),
        ],
        run: ToolFunction::Await(|toolbox, call| Box::pin(toolbox.bash(call))),
    },
    ToolRow {
        name: "skill",
        others: &["Skill"],
        power: Power::Words,
        description: "Gives the instructions of a skill by its name.",
        arguments: &[("name", "string", "the skill", true)],
        run: ToolFunction::Do(|toolbox, arguments| toolbox.skill(&text_of(arguments, "name")?)),
    },
    ToolRow {
        name: SUBAGENT,
        others: &["Task", "Agent", "task", "runSubagent"],
        power: Power::Delegate,
        description: subagent_tool::OF_CHILDREN,
        // The schema is that of hosts, without the fields that children do not have.
        arguments: &[],
        run: ToolFunction::Await(|toolbox, call| Box::pin(toolbox.ask_others(call))),
    },
    ToolRow {
        name: CONTACT_SUPERVISOR,
        others: &["intercom"],
        power: Power::Words,
        description: "Asks whoever gave you the task and waits for the answer, or says how far you are. Ask only what you \
cannot find out and must not decide yourself.",
        arguments: &[
            (
                "kind",
                "string",
                "`question`, which waits for the answer, or `progress`, which does not",
                true,
            ),
            (
                "message",
                "string",
                "the question, or how far you are",
                true,
            ),
        ],
        // A question is taken before the call is made: what comes here is progress.
        run: ToolFunction::Do(|_, arguments| {
            text_of(arguments, "message").map(|_| "noted".to_owned())
        }),
    },
];

impl ToolRow {
    /// Returns the tool of a name, in Grove's words or another host's.
    pub(crate) fn by_name(name: &str) -> Option<&'static Self> {
        let is_it = |row: &&Self| row.name == name || row.others.contains(&name);
        TOOLS.iter().find(is_it)
    }

    /// Returns true if it can change files.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.power, Power::Write | Power::Run)
    }

    /// Returns true if an agent that forbids a tool by this name means it, in upper or lower case.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let mut all = self.others.iter().chain([&self.name]);
        all.any(|known| known.eq_ignore_ascii_case(name))
    }

    fn definition(&self) -> ToolDefinition {
        if self.name == SUBAGENT {
            return ToolDefinition {
                name: self.name.to_owned(),
                description: self.description.to_owned(),
                input_schema: subagent_tool::schema(Caller::Child),
            };
        }
        let properties = self.arguments.iter().map(|(name, form, meaning, _)| {
            let mut property = json!({ "type": form, "description": meaning });
            if *form == "array" {
                property["items"] = json!({ "type": "object" });
            }
            ((*name).to_owned(), property)
        });
        let required = self.arguments.iter().filter(|it| it.3).map(|it| it.0);
        ToolDefinition {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": properties.collect::<serde_json::Map<_, _>>(),
                "required": required.collect::<Vec<_>>(),
                "additionalProperties": false,
            }),
        }
    }
}

pub(crate) struct ToolResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl ToolResult {
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_error: true,
        }
    }
}

impl From<Result<String, ToolError>> for ToolResult {
    fn from(result: Result<String, ToolError>) -> Self {
        match result {
            Ok(text) => Self {
                text,
                is_error: false,
            },
            Err(error) => Self::failed(with_causes(&error)),
        }
    }
}

/// The reason why a tool did not do what it was called for, as the model is told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error("`{0}` is missing or is no text")]
    Argument(&'static str),
    #[error("`{0}` is no text")]
    NoText(String),
    #[error("`{path}` is outside the work folder and cannot be {verb}")]
    Outside { path: String, verb: &'static str },
    #[error("there is no tool `{name}`; there are: {allowed}")]
    NoTool { name: String, allowed: String },
    #[error("{0} leads out of the work folder")]
    LeadsOut(String),
    #[error(transparent)]
    Files(FsError),
    /// It was done, and not as wanted: a command that failed, a text that does not occur.
    #[error("{0}")]
    Failed(String),
}

impl From<FsError> for ToolError {
    fn from(error: FsError) -> Self {
        if error.leads_out() {
            Self::LeadsOut(error.path.display().to_string())
        } else {
            Self::Files(error)
        }
    }
}

/// A working tree that only one child works in.
pub(crate) struct OwnTree {
    pub(crate) folder: PathBuf,
    /// The files and folders of the repository that are linked into it.
    pub(crate) linked: Vec<PathBuf>,
}

/// The parts that the tools of one child need.
pub(crate) struct Toolbox {
    pub(crate) allowed: Vec<String>,
    pub(crate) work: WorkFolder,
    pub(crate) keeper: Keeper,
    /// The path to the attempt from the root of its tree.
    pub(crate) mark: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) tool_timeout: Duration,
    pub(crate) skills: FolderSkills,
    pub(crate) schema: Option<Value>,
    pub(crate) reports: bool,
    /// Set if an agent program runs commands itself, so that their output cannot be masked.
    pub(crate) has_own_tools: bool,
    /// Values that are masked in the results of tools.
    pub(crate) secrets: Vec<Secret>,
    /// The variables that the child's skills set for its commands.
    pub(crate) of_skills: Mutex<Vec<(String, Secret)>>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) caller: Option<CallingChild>,
    pub(crate) mcp: McpTools,
    /// The folder for outputs that are too long for a model.
    pub(crate) outputs: PathBuf,
    pub(crate) is_sandboxed: bool,
    /// The working tree of its own that the child works in.
    pub(crate) own_tree: Option<OwnTree>,
    /// The folders of version control that the work needs, looked for once.
    pub(crate) git_folders: tokio::sync::OnceCell<Vec<PathBuf>>,
    /// Grove's own folder, which no command in a sandbox reads.
    pub(crate) state: PathBuf,
}

impl Toolbox {
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let rows = TOOLS.iter().filter(|row| self.allows(row.name));
        let mut all: Vec<ToolDefinition> = rows.map(ToolRow::definition).collect();
        // A server writes the descriptions of its tools, and may put values that it was given into them.
        all.extend(self.mcp.definitions().map(|definition| ToolDefinition {
            description: self.masked_text(definition.description),
            input_schema: self.masked_value(definition.input_schema),
            ..definition
        }));
        all.extend(self.schema.as_ref().map(|schema| ToolDefinition {
            name: STRUCTURED_OUTPUT.to_owned(),
            description: "Gives the result as data and ends the work.".to_owned(),
            input_schema: schema.clone(),
        }));
        all.extend(self.reports.then(|| ToolDefinition {
            name: ACCEPTANCE_REPORT.to_owned(),
            description: "Says what your work is judged by, in the form that you were shown. Call it when the work is done."
                .to_owned(),
            input_schema: json!({ "type": "object", "additionalProperties": true }),
        }));
        all
    }

    pub(crate) fn allows(&self, name: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == name)
    }

    /// Returns true if a call of a tool can change files.
    pub(crate) fn writes(&self, name: &str) -> bool {
        let of_server = self.mcp.writes(name);
        let can = |row: &ToolRow| row.writes() && self.allows(row.name);
        of_server.unwrap_or_else(|| match name {
            SUBAGENT => TOOLS.iter().any(can),
            _ => ToolRow::by_name(name).is_some_and(can),
        })
    }

    /// Returns true if a tool belongs to a server.
    pub(crate) fn is_of_server(&self, name: &str) -> bool {
        self.mcp.writes(name).is_some()
    }

    /// Returns true if a call of a tool changes nothing and can run beside others.
    pub(crate) fn only_looks(&self, name: &str) -> bool {
        let of_server = self.mcp.writes(name);
        of_server.map_or_else(|| self.looks_at_files(name), |writes| !writes)
    }

    fn row(&self, name: &str) -> Option<&'static ToolRow> {
        let row = TOOLS.iter().find(|row| row.name == name);
        row.filter(|row| self.allows(row.name))
    }

    /// Returns true if a tool looks at files and does nothing else.
    pub(crate) fn looks_at_files(&self, name: &str) -> bool {
        let row = self.row(name);
        row.is_some_and(|row| matches!(row.run, ToolFunction::Look(_)))
    }

    pub(crate) fn look(&self, name: &str, arguments: &Value) -> ToolResult {
        match self.row(name).map(|row| row.run) {
            Some(ToolFunction::Look(look)) => self.masked(look(self, arguments).into()),
            _ => self.no_tool(name),
        }
    }

    /// Returns true if a call asks other agents: made again with the same key, it leads to the same run.
    pub(crate) fn delegates(&self, name: &str) -> bool {
        name == SUBAGENT && self.allows(name) && self.caller.is_some()
    }

    /// Runs a tool. One that is not allowed is refused here, whatever the model was told.
    pub(crate) async fn run(&self, call: ToolCall<'_>) -> ToolResult {
        let ToolCall {
            name,
            arguments,
            stop,
            ..
        } = call;
        if let Some(result) = self.structured(name, arguments, stop).await {
            return result;
        }
        if let Some(result) = self.mcp.call(name, arguments, stop).await {
            return self.masked(result);
        }
        if self.reports && name == ACCEPTANCE_REPORT {
            let found = report_of(arguments);
            let noted = found.report.map(|_| "noted".to_owned());
            return noted
                .ok_or_else(|| ToolError::Failed(found.notes.join("; ")))
                .into();
        }
        let Some(row) = self.row(name) else {
            return self.no_tool(name);
        };
        self.masked(match row.run {
            ToolFunction::Look(act) | ToolFunction::Do(act) => act(self, arguments).into(),
            ToolFunction::Await(begin) => begin(self, call).await,
        })
    }

    fn no_tool(&self, name: &str) -> ToolResult {
        let error = ToolError::NoTool {
            name: name.to_owned(),
            allowed: self.allowed.join(", "),
        };
        Err(error).into()
    }

    async fn ask_others(&self, call: ToolCall<'_>) -> ToolResult {
        match &self.caller {
            Some(child) => self.engine.subagent_of_child(child, call).await,
            None => ToolResult::failed("nobody can be asked here"),
        }
    }

    /// Returns a result with its secret values masked.
    fn masked(&self, result: ToolResult) -> ToolResult {
        let text = self.masked_text(result.text);
        ToolResult { text, ..result }
    }

    /// Returns a text with its secret values masked.
    pub(crate) fn masked_text(&self, mut text: String) -> String {
        for secret in self.all_secrets() {
            text = secret.masked(&text);
        }
        text
    }

    /// Returns data with its secret values masked.
    fn masked_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.masked_text(text)),
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.masked_value(item));
                Value::Array(items.collect())
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let masked =
                    fields.map(|(name, value)| (self.masked_text(name), self.masked_value(value)));
                Value::Object(masked.collect())
            }
            other => other,
        }
    }

    /// Returns every secret value, the longest first: one may be a part of another.
    fn all_secrets(&self) -> Vec<Secret> {
        let of_skills = self.variables_of_skills();
        let of_skills = of_skills.into_iter().map(|(_, value)| value);
        let given = self.secrets.iter().chain(self.mcp.secrets()).cloned();
        let mut all: Vec<Secret> = given.chain(of_skills).collect();
        all.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
        all
    }

    fn variables_of_skills(&self) -> Vec<(String, Secret)> {
        let known = self.of_skills.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts the variables of a skill into the environment of the commands that follow.
    pub(crate) fn give_variables(&self, variables: Vec<(String, Secret)>) {
        let mut known = self
            .of_skills
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (name, value) in variables {
            known.retain(|(there, _)| *there != name);
            known.push((name, value));
        }
    }

    /// Returns the text of a skill, and lets its files be read from now on.
    pub(crate) fn skill(&self, name: &str) -> Result<String, ToolError> {
        let given = self.skills.activate(name)?;
        if let Some(folder) = &given.folder {
            self.work.grant(folder);
        }
        if self.has_own_tools && !given.environment.is_empty() {
            let names = given.environment.iter().map(|(name, _)| name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            return Ok(format!(
                "{}\n\n[{names} of this skill is not set here: what your commands print cannot be masked]",
                given.text
            ));
        }
        self.give_variables(given.environment);
        Ok(given.text)
    }

    /// Checks a value that a child gives as its result; none if another tool was called.
    pub(crate) async fn structured(
        &self,
        name: &str,
        arguments: &Value,
        stop: &StopTokens,
    ) -> Option<ToolResult> {
        let schema = self.schema.as_ref().filter(|_| name == STRUCTURED_OUTPUT)?;
        let check = DataCheck {
            keeper: &self.keeper,
            mark: &self.mark,
            folder: &self.outputs,
            stop,
        };
        let checked = match check.faults(schema, arguments).await {
            Ok(faults) if faults.is_empty() => Ok("taken".to_owned()),
            Ok(faults) => {
                let faults = faults.join("\n");
                let message = format!("the value does not meet the schema:\n{faults}");
                Err(ToolError::Failed(message))
            }
            Err(error) => Err(ToolError::Failed(format!(
                "the value was not checked: {error}"
            ))),
        };
        Some(checked.into())
    }
}

/// Returns the question that a child asks with a call and waits for.
pub(crate) fn question_of(tool: &str, arguments: &Value) -> Option<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let is_question = tool == CONTACT_SUPERVISOR && text("kind") != Some("progress");
    let text = text("message").filter(|text| is_question && !text.trim().is_empty())?;
    Some(text.to_owned())
}

fn text_of(arguments: &Value, name: &'static str) -> Result<String, ToolError> {
    let text = arguments.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or(ToolError::Argument(name))
}

/// Returns an argument that is a number, if it is given.
fn number_of(arguments: &Value, name: &str) -> Option<u64> {
    arguments.get(name).and_then(Value::as_u64)
}
