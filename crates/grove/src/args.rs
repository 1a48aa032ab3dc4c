//! The command line: what was typed, without side effects.

mod agents;
mod chains;
mod export;
mod runs;
mod skills;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use crate::agent_fields::AskedFields;
pub(crate) use agents::{
    AgentLook, AgentScope, AgentsCommand, DeleteArgs, NamedArgs, OwnScope, RenameArgs, Whose,
};
pub(crate) use chains::{ChainLook, ChainsCommand};
pub(crate) use export::ExportArgs;
pub(crate) use runs::{GoOnArgs, LedgerArguments, PlanArgs, RunArgs, RunExportArgs, RunsCommand};
pub(crate) use skills::{ManageSkills, SkillFields};

/// Finds every skill you have, says which are usable and why, and what a model would see of them.
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
    pub(crate) command: Option<Command>,
    /// For `grove` alone.
    #[command(flatten)]
    pub(crate) look: Look,
}

/// Where to look and how to print; on every command that looks at skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Look {
    /// Look in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Show what another host would have
    #[arg(long, value_name = "NAME", conflicts_with = "roots")]
    pub(crate) host: Option<String>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Skills: list, show, check, search, create, edit, rename, copy, delete, enable, disable, activate, …
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Agents: list, show, create, edit, rename, delete, enable, disable, reset
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Chains: list, show, check, create, edit, rename, delete
    #[command(subcommand)]
    Chains(ChainsCommand),
    /// What an agent is told: the skills it names, then its own text
    Prompt(Box<PromptArgs>),
    /// Set yourself up: what is found here, what to do next, and the MCP entry of your hosts if you want it
    Init {
        /// Enter the MCP server in the configurations of the hosts that are found without asking
        #[arg(long)]
        yes: bool,
        /// Print JSON; nothing is asked
        #[arg(long)]
        json: bool,
    },
    /// Try it: a small repository, mended by a chain of agents whose model is a recording
    Try(TryArgs),
    /// Run an agent as a child and print its result
    Run(Box<RunArgs>),
    /// What a run would be, with everything resolved and nothing started
    Plan(Box<PlanArgs>),
    /// Look after runs: what they do, what came of them, and letting them go on
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Execute what runs command until nothing is left to do; started when it is needed
    #[command(hide = true)]
    Supervise,
    /// What a model is told of your skills, inside a budget; with --host, what another host would tell it
    Catalog(Box<CatalogArgs>),
    /// Why a skill or an agent is shown or missing, host by host, and what to do about it
    Why {
        /// Its name, id, or id@root
        name: String,
        #[command(flatten)]
        look: Look,
    },
    /// Serve skills to a host over MCP: on stdin and stdout, or over HTTP
    Mcp(Box<McpArgs>),
    /// Check files strictly: skills and folders of them, agents, chains, manifests, settings
    Validate {
        /// What to check
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Write what was understood in spite of its form so that every reader understands it, and show the difference
        #[arg(long)]
        fix: bool,
        /// Print findings as annotations for GitHub Actions
        #[arg(long, conflicts_with = "json")]
        github: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Everything that needs attention: skills, agents, chains, settings; or files, as `validate` does. Exits 1 if there is
    /// anything
    Check(Box<CheckArgs>),
    /// Review a project and trust it as it is now, so that its skills are used
    Trust(TrustArgs),
    /// Take trust back from a project
    Untrust {
        /// The project; the one around the working folder by default
        folder: Option<PathBuf>,
        /// Take back the approval of a command or program instead, by the beginning of its digest
        #[arg(long, value_name = "DIGEST", conflicts_with = "folder")]
        approval: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take the last change back that a command made to your files
    Undo {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Known hosts, where they look and what they spend
    Hosts {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What can drive a child: the built-in engine and the agent programs that are installed
    Engines {
        /// Let each that is installed do one tiny turn with a model that is none
        #[arg(long = "try")]
        try_each: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What is here and what needs attention, counted by source
    Doctor {
        #[command(flatten)]
        look: Look,
    },
    /// Print what there is and then every change, a line of JSON each, until interrupted
    Watch {
        #[command(flatten)]
        look: Look,
    },
    /// The settings in force and where each comes from
    Config {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Behave as the reference library of the Agent Skills standard does
    #[command(disable_help_flag = true)]
    Reference {
        /// `validate`, `read-properties` or `to-prompt`, then paths
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Print a generated reference page as Markdown
    #[command(hide = true)]
    Manual {
        /// Which page
        page: Page,
    },
}

/// What is checked.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// Files and folders, which are checked strictly; everything that is here by default
    #[arg(value_name = "PATH", conflicts_with_all = ["roots", "host", "all", "codes", "name", "label", "severity"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Write what was understood in spite of its form so that every reader understands it, and show the difference
    #[arg(long, requires = "paths")]
    pub(crate) fix: bool,
    #[command(flatten)]
    pub(crate) look: Look,
    #[command(flatten)]
    pub(crate) only: FindingFilter,
}

/// Where and how much is tried.
#[derive(Debug, Clone, Args)]
pub(crate) struct TryArgs {
    /// Use this folder, which must not be there yet; one of its own among the temporary files by default
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Only make the repository, and print where it is
    #[arg(long)]
    pub(crate) files_only: bool,
}

/// What is asked of a catalog.
#[derive(Debug, Clone, Args)]
pub(crate) struct CatalogArgs {
    #[command(flatten)]
    pub(crate) look: Look,
    /// At most this many characters; tokens with --tokens
    #[arg(long, value_name = "CHARS", conflicts_with = "host")]
    pub(crate) budget: Option<usize>,
    /// At most this many entries
    #[arg(long, value_name = "N", conflicts_with = "host")]
    pub(crate) max_skills: Option<usize>,
    /// Count the budget in tokens of four bytes
    #[arg(long, conflicts_with = "host")]
    pub(crate) tokens: bool,
    /// Take a share of a context window of this many tokens; with --host, the host's own share
    #[arg(long, value_name = "TOKENS", conflicts_with_all = ["budget", "tokens"])]
    pub(crate) window: Option<usize>,
    /// The share of the window, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 2.0,
        requires = "window"
    )]
    pub(crate) share: f64,
    /// How the text is written
    #[arg(long, value_enum, default_value_t = StyleArg::Xml, conflicts_with = "host")]
    pub(crate) style: StyleArg,
    /// Show where the budget goes and what was done to which skill, instead of the text
    #[arg(long, conflicts_with = "host")]
    pub(crate) explain: bool,
    /// Print only what changed since the catalog with this digest; `last` with --session
    #[arg(long, value_name = "DIGEST", conflicts_with_all = ["explain", "host"])]
    pub(crate) since: Option<String>,
    /// The conversation: what was opened in it is open; the file is made if it is not there
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    pub(crate) session: Option<PathBuf>,
    /// Write index files here instead of in the cache folder
    #[arg(long, value_name = "DIR", conflicts_with = "host")]
    pub(crate) index_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StyleArg {
    /// `<available_skills>`, one `<skill>` a line
    Xml,
    /// A list
    Markdown,
    /// One object
    Json,
    /// One line a skill and no locations, for a program that opens a skill by its name
    Names,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Every skill with its state
    List {
        #[command(flatten)]
        look: Look,
        /// Only skills in this state (repeatable)
        #[arg(long = "state", value_name = "STATE")]
        states: Vec<String>,
        /// As a tree of folders
        #[arg(long, conflicts_with = "json")]
        tree: bool,
    },
    /// One skill: by name, id, or id@root
    Show {
        /// Its name, id, or id@root
        name: String,
        #[command(flatten)]
        look: Look,
    },
    /// Everything that needs attention, by kind; exits 1 if there is anything
    Check {
        #[command(flatten)]
        look: Look,
        #[command(flatten)]
        only: FindingFilter,
    },
    /// The right skill for a task in plain words, for keywords or for a name
    Search(Box<SearchArgs>),
    /// Skills that a model would mix up and skills that answer to everything, with what to change
    Confusable {
        #[command(flatten)]
        look: Look,
    },
    /// The folders that are looked in, strongest first
    Roots {
        #[command(flatten)]
        look: Look,
    },
    /// Print a skill's instructions as a model should read them; a group's or branch's skills
    Activate {
        /// Its name, id, or id@root; `/name` as a person calls it; or a group
        id: String,
        /// Arguments; put `--` before words that begin with a hyphen
        #[arg(value_name = "ARGS")]
        arguments: Vec<String>,
        /// Print the instructions also when they are active in the session already
        #[arg(long)]
        again: bool,
        #[command(flatten)]
        conversation: Conversation,
    },
    /// Put the skills of a group or branch in its place in the session's catalog
    Expand {
        /// A group or a skill
        id: String,
        #[command(flatten)]
        conversation: Conversation,
    },
    /// Put a group or branch back in the place of its skills
    Collapse {
        /// A group or a skill
        id: String,
        #[command(flatten)]
        conversation: Conversation,
    },
    #[command(flatten)]
    Manage(ManageSkills),
}

/// Which findings are wanted. Whoever asks for some of them is shown each one.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FindingFilter {
    /// Only findings with this code (repeatable)
    #[arg(long = "code", value_name = "CODE", conflicts_with = "json")]
    pub(crate) codes: Vec<String>,
    /// Only findings about what has this name or id
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub(crate) name: Option<String>,
    /// Only findings in the root with this label, as `grove skills roots` shows it
    #[arg(long, value_name = "ROOT", conflicts_with = "json")]
    pub(crate) label: Option<String>,
    /// Only findings that weigh so much
    #[arg(long, value_name = "SEVERITY", conflicts_with = "json")]
    pub(crate) severity: Option<String>,
    /// Print each finding as an annotation for GitHub Actions
    #[arg(long, conflicts_with = "json")]
    pub(crate) github: bool,
}

/// What is asked of a prompt.
#[derive(Debug, Clone, Args)]
pub(crate) struct PromptArgs {
    /// The agent's name, alias, id, or id@root
    #[arg(required_unless_present = "run")]
    pub(crate) agent: Option<String>,
    /// What a child of a run was told, as RUN or RUN.CHILD
    #[arg(long, value_name = "RUN", conflicts_with_all = ["agent", "roots", "all", "budget", "base", "explain"])]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) look: AgentLook,
    /// Look for skills in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// At most this many characters for the skills in the prompt; `limits.preload_chars` by default
    #[arg(long, value_name = "CHARS")]
    pub(crate) budget: Option<usize>,
    /// The prompt of whoever runs the agent, or `-` for standard input: it stands first if the agent appends, and
    /// is left out if the agent replaces
    #[arg(long, value_name = "FILE")]
    pub(crate) base: Option<PathBuf>,
    /// Show each part with its cost, digest and file instead of the text
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is asked of a search.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchArgs {
    /// A task in plain words, keywords, a name or an id
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// At most this many results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = limit)]
    pub(crate) limit: usize,
    /// Search as a person does: also skills that models are not told of
    #[arg(long)]
    pub(crate) person: bool,
    /// The conversation: only what it lets through is found; it is not changed
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    pub(crate) session: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: Look,
}

/// A number of results that can be given.
fn limit(text: &str) -> Result<usize, String> {
    let most = grove_skills::search::MAX_LIMIT;
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("give a number from 1 to {most}")),
    }
}

/// Where to look and what to remember; on every command of a conversation with the catalog.
///
/// There is no other host's view here: what is given is Grove's own.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Conversation {
    /// The file that remembers what was expanded and activated; made if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// Look in exactly this folder, as a trusted user root, and nowhere else (repeatable)
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Lift the limits on how many skills are read and offered
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Conversation {
    /// Where to look.
    pub(crate) fn look(&self) -> Look {
        Look {
            roots: self.roots.clone(),
            host: None,
            all: self.all,
            json: self.json,
        }
    }
}

/// How skills are served over MCP.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Serve over HTTP here, at /mcp; on this machine alone and on a free port by default
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

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum McpCommand {
    /// Enter the server in a host's configuration; shows the difference first
    Install {
        #[command(flatten)]
        entry: McpEntry,
    },
    /// Take the server out of a host's configuration; shows the difference first
    Uninstall {
        #[command(flatten)]
        entry: McpEntry,
    },
}

/// Where the server is entered.
#[derive(Debug, Clone, Args)]
pub(crate) struct McpEntry {
    /// Which host
    #[arg(long, value_enum)]
    pub(crate) host: McpHost,
    /// For yourself in every project, or for everybody in this one
    #[arg(long, value_enum, default_value_t = McpScope::User)]
    pub(crate) scope: McpScope,
    /// Show the difference and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpHost {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Copilot CLI
    Copilot,
    /// Gemini CLI
    Gemini,
    #[value(name = "opencode", help = "OpenCode")]
    OpenCode,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum McpScope {
    /// Yourself, in every project
    User,
    /// Everybody who works on this project
    Project,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Page {
    Agents,
    Cli,
    Config,
    Diagnostics,
    Environment,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The project; the one around the working folder by default
    pub(crate) folder: Option<PathBuf>,
    /// Trust later changes too: for folders you write yourself
    #[arg(long)]
    pub(crate) follow: bool,
    /// Trust what is printed without being asked
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print what would be trusted and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// List what is trusted
    #[arg(long, conflicts_with_all = ["folder", "follow", "yes", "dry_run"])]
    pub(crate) list: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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
