//! The command line: what was typed, without side effects.

mod agents;
mod chains;
mod export;
mod names;
mod runs;
mod skills;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use crate::agent_fields::TypedFields;
pub(crate) use agents::{
    AgentDiscoveryArgs, AgentScopeArg, AgentsCommand, DeleteArgs, NamedArgs, OwnScope, OwnerArgs,
    RenameArgs,
};
pub(crate) use chains::{ChainDiscoveryArgs, ChainsCommand};
pub(crate) use export::ExportArgs;
pub(crate) use names::{command, other_names_table, with_names};
pub(crate) use runs::{GoOnArgs, LedgerArgs, PlanArgs, RunArgs, RunExportArgs, RunsCommand};
pub(crate) use skills::{ManageSkills, SkillFields};

/// What coding agents know and whom they delegate to: finds skills, explains what a model sees, runs child agents.
#[derive(Debug, Parser)]
#[command(
    name = "grove",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    /// The arguments of `grove` without a command.
    #[command(flatten)]
    pub(crate) discovery: DiscoveryArgs,
}

/// The arguments of every command that discovers skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DiscoveryArgs {
    /// Look in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Show what another host would see
    #[arg(long, value_name = "NAME", conflicts_with = "roots")]
    pub(crate) host: Option<String>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Manage skills: list, show, check, search, create, edit, rename, copy, delete, enable, disable, activate, …
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Manage agents: list, show, create, edit, rename, delete, enable, disable, reset
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Manage chains: list, show, check, create, edit, rename, delete
    #[command(subcommand)]
    Chains(ChainsCommand),
    /// Print what an agent is told: the skills it names, then its own text
    Prompt(Box<PromptArgs>),
    /// Get started: see what is on this machine and what to do next, and add Grove to your hosts if you like
    Init {
        /// Add the MCP server to the configuration of every host that is found, without asking
        #[arg(long)]
        yes: bool,
        /// Print JSON and ask nothing
        #[arg(long)]
        json: bool,
    },
    /// Try Grove: a chain of agents repairs a small repository, with recorded model answers
    Try(TryArgs),
    /// Run an agent as a child and print its result
    Run(Box<RunArgs>),
    /// Show what a run would do, with everything resolved, without starting it
    Plan(Box<PlanArgs>),
    /// Manage runs: list, show, watch, steer, resume, stop, and use their results
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Carry out the commands of runs until nothing is left to do; started when needed
    #[command(hide = true)]
    Supervise,
    /// Print what a model is told about your skills within a budget; with --host, what another host would tell it
    Catalog(Box<CatalogArgs>),
    /// Explain why a skill or an agent is shown or missing, host by host, and what to do about it
    Why {
        /// Its name, id, or id@root
        name: String,
        /// Say how Grove's catalog for this task shows a skill
        #[arg(long = "for", value_name = "TASK")]
        task: Option<String>,
        #[command(flatten)]
        discovery: DiscoveryArgs,
    },
    /// Serve skills and agents to a host over MCP, on stdin and stdout or over HTTP
    Mcp(Box<McpArgs>),
    /// Show runs and skills as a live page in a browser on this machine
    Web(WebArgs),
    /// Check files strictly: skills, folders of skills, agents, chains, manifests, settings
    Validate {
        /// The files or folders to check
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Rewrite what Grove had to be lenient about so that every reader understands it, and show the difference
        #[arg(long)]
        fix: bool,
        /// Print findings as annotations for GitHub Actions
        #[arg(long, conflicts_with = "json")]
        github: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Report everything that needs attention in skills, agents, chains and settings; with paths, check those files as `validate`
    /// does. Exits 1 if there are findings
    Check(Box<CheckArgs>),
    /// Review a project and trust it as it is now, so that its skills and agents are used
    Trust(TrustArgs),
    /// Stop trusting a project
    Untrust {
        /// The project [default: the one that contains the working folder]
        folder: Option<PathBuf>,
        /// Withdraw the approval of a command or program instead, named by the beginning of its digest
        #[arg(long, value_name = "DIGEST", conflicts_with = "folder")]
        approval: Option<String>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Undo the last change that a command made to your files
    Undo(UndoArgs),
    /// Make the change again that was undone last
    Redo(RedoArgs),
    /// List the known hosts, where they look for skills and what they may spend on them
    Hosts {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// List what can drive a child: the built-in engine and the installed agent programs
    Engines {
        /// Run one tiny turn with each installed engine against a stand-in for a model
        #[arg(long = "try")]
        try_each: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the installation: what was found and what needs attention
    Doctor {
        #[command(flatten)]
        discovery: DiscoveryArgs,
    },
    /// Print the current skills and then every change, one line of JSON each, until interrupted
    Watch {
        #[command(flatten)]
        discovery: DiscoveryArgs,
    },
    /// Show the settings in force and where each one comes from
    Config {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script
    Completions {
        /// The shell that reads the script
        shell: clap_complete::Shell,
    },
    /// Behave exactly like the reference library of the Agent Skills standard (needs the build feature `reference`)
    #[command(disable_help_flag = true)]
    Reference {
        /// `validate`, `read-properties` or `to-prompt`, then paths
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print a generated reference page as Markdown
    #[command(hide = true)]
    Manual {
        /// The reference page to print
        page: ManualPage,
    },
}

/// The arguments of `grove check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// Files and folders to check strictly; without any, everything Grove finds is checked
    #[arg(value_name = "PATH", conflicts_with_all = ["roots", "host", "all", "codes", "name", "label", "severity"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Rewrite what Grove understood so that every reader understands it, and show the difference
    #[arg(long, requires = "paths")]
    pub(crate) fix: bool,
    #[command(flatten)]
    pub(crate) discovery: DiscoveryArgs,
    #[command(flatten)]
    pub(crate) only: FindingFilter,
}

/// The arguments of `grove try`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TryArgs {
    /// Use this folder, which must not exist yet [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Only create the files and print the folder they are in
    #[arg(long)]
    pub(crate) files_only: bool,
}

/// The arguments of `grove catalog`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CatalogArgs {
    #[command(flatten)]
    pub(crate) discovery: DiscoveryArgs,
    /// At most this many characters, or tokens with --tokens
    #[arg(long, value_name = "CHARS", conflicts_with = "host")]
    pub(crate) budget: Option<usize>,
    /// At most this many entries
    #[arg(long, value_name = "N", conflicts_with = "host")]
    pub(crate) max_skills: Option<usize>,
    /// Count the budget in tokens of four bytes each
    #[arg(long, conflicts_with = "host")]
    pub(crate) tokens: bool,
    /// Use a share of a context window of this many tokens as the budget; with --host, the host's own share
    #[arg(long, value_name = "TOKENS", conflicts_with_all = ["budget", "tokens"])]
    pub(crate) window: Option<usize>,
    /// The share of the context window, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 2.0,
        requires = "window"
    )]
    pub(crate) share: f64,
    /// The format of the text
    #[arg(long, value_enum, default_value_t = StyleArg::Xml, conflicts_with = "host")]
    pub(crate) style: StyleArg,
    /// Show where the budget goes and how each skill was treated, instead of the text
    #[arg(long, conflicts_with = "host")]
    pub(crate) explain: bool,
    /// Show first what a search for this task finds
    #[arg(long = "for", value_name = "TASK", conflicts_with = "host")]
    pub(crate) task: Option<String>,
    /// Print only what changed since the catalog with this digest; `last` with --session
    #[arg(long, value_name = "DIGEST", conflicts_with_all = ["explain", "host"])]
    pub(crate) since: Option<String>,
    /// The session file of a conversation: what was opened in it stays open; created if it does not exist
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    pub(crate) session: Option<PathBuf>,
    /// Write index files to this folder instead of the cache folder
    #[arg(long, value_name = "DIR", conflicts_with = "host")]
    pub(crate) index_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StyleArg {
    /// `<available_skills>` with one `<skill>` per line
    Xml,
    /// A list in Markdown
    Markdown,
    /// One object in JSON
    Json,
    /// One line per skill without locations, for a program that opens skills by name
    Names,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List every skill with its state
    List {
        #[command(flatten)]
        discovery: DiscoveryArgs,
        /// Only skills in this state (repeatable)
        #[arg(long = "state", value_name = "STATE")]
        states: Vec<String>,
        /// Show a tree of folders
        #[arg(long, conflicts_with = "json")]
        tree: bool,
    },
    /// Show one skill, by name, id, or id@root
    Show {
        /// Its name, id, or id@root
        name: String,
        #[command(flatten)]
        discovery: DiscoveryArgs,
    },
    /// List everything that needs attention, by kind; exits 1 if there is anything
    Check {
        #[command(flatten)]
        discovery: DiscoveryArgs,
        #[command(flatten)]
        only: FindingFilter,
    },
    /// Find the right skill for a task in plain words, for keywords or for a name
    Search(Box<SearchArgs>),
    /// Find skills that a model would confuse and skills that match everything, and say what to change
    Confusable {
        #[command(flatten)]
        discovery: DiscoveryArgs,
    },
    /// List the folders that are searched, the strongest first
    Roots {
        #[command(flatten)]
        discovery: DiscoveryArgs,
    },
    /// Print a skill's instructions as a model should read them, or the skills of a group or branch
    Activate {
        /// Its name, id, or id@root; `/name` to call it as a person would; or a group
        id: String,
        /// Arguments for the skill; put `--` before words that begin with a hyphen
        #[arg(value_name = "ARGS")]
        arguments: Vec<String>,
        /// Print the instructions even if they are already active in the session
        #[arg(long)]
        again: bool,
        #[command(flatten)]
        conversation: ConversationArgs,
    },
    /// Show the skills of a group or branch in its place in the session's catalog
    Expand {
        /// A group or a skill
        id: String,
        #[command(flatten)]
        conversation: ConversationArgs,
    },
    /// Show a group or branch again in place of its skills
    Collapse {
        /// A group or a skill
        id: String,
        #[command(flatten)]
        conversation: ConversationArgs,
    },
    #[command(flatten)]
    Manage(ManageSkills),
}

/// The choice of findings. With any of these filters every finding is shown on its own.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FindingFilter {
    /// Only findings with this code (repeatable)
    #[arg(long = "code", value_name = "CODE", conflicts_with = "json")]
    pub(crate) codes: Vec<String>,
    /// Only findings about the skill, agent or chain with this name or id
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub(crate) name: Option<String>,
    /// Only findings in the root with this label, as `grove skills roots` shows it
    #[arg(long, value_name = "ROOT", conflicts_with = "json")]
    pub(crate) label: Option<String>,
    /// Only findings of this severity
    #[arg(long, value_name = "SEVERITY", conflicts_with = "json")]
    pub(crate) severity: Option<String>,
    /// Print each finding as an annotation for GitHub Actions
    #[arg(long, conflicts_with = "json")]
    pub(crate) github: bool,
}

/// The arguments of `grove prompt`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PromptArgs {
    /// The agent's name, alias, id, or id@root
    #[arg(required_unless_present = "run")]
    pub(crate) agent: Option<String>,
    /// Print what a child of a run was told: RUN or RUN.CHILD
    #[arg(long, value_name = "RUN", conflicts_with_all = ["agent", "roots", "all", "budget", "base", "explain"])]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) discovery: AgentDiscoveryArgs,
    /// Look for skills in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// The task of the agent: what a search for it finds comes first in the catalog that the agent inherits
    #[arg(long = "for", value_name = "TASK", conflicts_with = "run")]
    pub(crate) task: Option<String>,
    /// At most this many characters for the skills in the prompt [default: `limits.preload_chars`]
    #[arg(long, value_name = "CHARS")]
    pub(crate) budget: Option<usize>,
    /// A file with the prompt of the calling agent, or `-` for standard input: it comes first if the agent appends to
    /// it, and is left out if the agent replaces it
    #[arg(long, value_name = "FILE")]
    pub(crate) base: Option<PathBuf>,
    /// Show each part with its cost, digest and file instead of the text
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `grove skills search`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchArgs {
    /// A task in plain words, keywords, a name or an id
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// At most this many results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = limit)]
    pub(crate) limit: usize,
    /// Search as a person: include skills that models are not told about
    #[arg(long)]
    pub(crate) person: bool,
    /// The session file of a conversation: find only what it allows; the file is not changed
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    pub(crate) session: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) discovery: DiscoveryArgs,
}

/// A number of results that can be given.
fn limit(text: &str) -> Result<usize, NotALimit> {
    let number = text.parse().ok();
    let fits = |number: &usize| (1..=grove_skills::search::MAX_LIMIT).contains(number);
    number.filter(fits).ok_or(NotALimit)
}

/// The error about a number of results that cannot be given.
#[derive(Debug)]
struct NotALimit;

impl std::fmt::Display for NotALimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let most = grove_skills::search::MAX_LIMIT;
        write!(f, "give a number from 1 to {most}")
    }
}

impl std::error::Error for NotALimit {}

/// Where to look and what to remember; on every command of a conversation with the catalog.
///
/// There is no other host's view here: what is given is Grove's own.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConversationArgs {
    /// The session file that remembers what was expanded and activated; created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// Look in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ConversationArgs {
    /// Returns the arguments with which skills are discovered.
    pub(crate) fn discovery_args(&self) -> DiscoveryArgs {
        DiscoveryArgs {
            roots: self.roots.clone(),
            host: None,
            all: self.all,
            json: self.json,
        }
    }
}

/// The arguments of `grove mcp`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Serve over HTTP at this address, under /mcp; only on this machine and on a free port by default
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) http: Option<String>,
    /// Look in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Look for agents in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "agents-dir", value_name = "DIR")]
    pub(crate) agents_dirs: Vec<PathBuf>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
}

/// Where the live page is served.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WebArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WebCommand>,
    /// The port on this machine [default: the one of the last time, or any that is free]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Print the link and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// A name under which a tunnel of yours leads to the page (repeatable)
    #[arg(long = "tunnel", value_name = "NAME")]
    pub(crate) tunnels: Vec<String>,
    /// End once no browser was there for half an hour
    #[arg(long, hide = true)]
    pub(crate) until_idle: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum WebCommand {
    /// Print another link to the page, for one more browser
    Link {
        /// A link with which everything can be read and nothing be done
        #[arg(long)]
        read: bool,
        /// A link with which everything can be read and questions be answered
        #[arg(long, conflicts_with = "read")]
        answer: bool,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum McpCommand {
    /// Add the server to a host's configuration; shows the difference first
    Install {
        #[command(flatten)]
        entry: McpEntryArgs,
    },
    /// Remove the server from a host's configuration; shows the difference first
    Uninstall {
        #[command(flatten)]
        entry: McpEntryArgs,
    },
}

/// The host into whose configuration the server is entered.
#[derive(Debug, Clone, Args)]
pub(crate) struct McpEntryArgs {
    /// The host to configure
    #[arg(long, value_enum)]
    pub(crate) host: McpHost,
    /// For you in every project, or for everyone in this one
    #[arg(long, value_enum, default_value_t = McpScope::User)]
    pub(crate) scope: McpScope,
    /// Show the difference and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpHost {
    /// Claude Code, by Anthropic
    Claude,
    /// Codex CLI, by OpenAI
    Codex,
    /// Copilot CLI, by GitHub
    Copilot,
    /// Gemini CLI, by Google
    Gemini,
    #[value(name = "opencode", help = "OpenCode")]
    OpenCode,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpScope {
    /// You, in every project
    User,
    /// Everyone who works on this project
    Project,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ManualPage {
    Agents,
    Cli,
    Config,
    Diagnostics,
    Environment,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The project [default: the one that contains the working folder]
    pub(crate) folder: Option<PathBuf>,
    /// Trust later changes too; for folders that only you write to
    #[arg(long)]
    pub(crate) follow: bool,
    /// Trust what is printed without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print what would be trusted and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// List what is trusted
    #[arg(long, conflicts_with_all = ["folder", "follow", "yes", "dry_run"])]
    pub(crate) list: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Default, Args)]
pub(crate) struct UndoArgs {
    /// List the changes that can be undone, the last first
    #[arg(long, conflicts_with_all = ["dry_run", "yes"])]
    pub(crate) list: bool,
    /// Print the files that would be put back and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RedoArgs {
    /// Print the files that would be changed again and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RedoArgs {
    /// The same for both directions.
    pub(crate) fn as_undo(&self) -> UndoArgs {
        UndoArgs {
            dry_run: self.dry_run,
            json: self.json,
            ..UndoArgs::default()
        }
    }
}

/// The arrows between the steps of `grove run`, which would be taken for options, as words.
pub(crate) fn with_arrows(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments
        .get(1)
        .is_some_and(|word| word == "run" || word == "plan")
    {
        let arrows = arguments.iter_mut().filter(|word| *word == "->");
        for arrow in arrows {
            *arrow = "→".into();
        }
    }
    arguments
}
