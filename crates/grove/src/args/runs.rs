//! The arguments of commands that run agents and look after runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// A request for a run that is only looked at.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print the graph as Mermaid
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
}

/// A request for a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// An agent and its task; `'->' AGENT [TASK]` adds a next step, `, AGENT TASK` another child in parallel
    /// (`-` for TASK reads it from standard input)
    #[arg(value_name = "AGENT TASK", required_unless_present_any = ["request", "chain"])]
    pub(crate) words: Vec<String>,
    /// Read the task of the first agent from this file; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "request")]
    pub(crate) task_file: Option<PathBuf>,
    /// Run the first agent once for each of these; `{item}` in its task is the one
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["request", "chain"])]
    pub(crate) each: Vec<String>,
    /// The same for each line of this file that is not empty; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["request", "chain", "each"])]
    pub(crate) each_line: Option<PathBuf>,
    /// The most tasks that a step may have [default: `runs.maxTasks`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tasks: Option<u64>,
    /// Read the request from a JSON file; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "chain"])]
    pub(crate) request: Option<PathBuf>,
    /// Run a saved chain with this task
    #[arg(long, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// Run at most this many children of a step at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) concurrency: Option<u64>,
    /// Start from the conversation of another child, RUN or RUN.NODE; without a value, from the calling child's
    #[arg(long, value_name = "SESSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) fork: Option<String>,
    /// The folder for session files
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
    /// The model, as `provider/id[:thinking]`
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The engine that drives it: `native`, `claude`, `codex`, `pi`, `copilot`, `opencode`, `gemini` or `acp:COMMAND`
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// The folder it works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The most seconds that the whole run may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// The most tokens that it may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// The most that it may cost, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_cost: Option<f64>,
    /// A JSON Schema that the result has to match
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The level at which the work is accepted: auto, attested, checked, verified or reviewed
    #[arg(long, value_name = "LEVEL")]
    pub(crate) accept: Option<String>,
    /// A command that has to succeed afterwards for the work to be accepted (repeatable)
    #[arg(long, value_name = "COMMAND")]
    pub(crate) verify: Vec<String>,
    /// Approve the commands that a project's agent or chain asks for, by the digest that the refusal prints
    #[arg(long, value_name = "DIGEST")]
    pub(crate) approve: Vec<String>,
    /// Refuse to start unless the kernel can hold everything that commands are kept from
    #[arg(long)]
    pub(crate) require_sandbox: bool,
    /// Give each child its own git working tree
    #[arg(long)]
    pub(crate) worktree: bool,
    /// With --worktree: start from this commit, branch or tag [default: HEAD]
    #[arg(long, value_name = "REF", conflicts_with = "include_changes")]
    pub(crate) base_ref: Option<String>,
    /// With --worktree: start from the files as they are now, including uncommitted changes
    #[arg(long)]
    pub(crate) include_changes: bool,
    /// Run in the background and do not wait
    #[arg(long = "bg")]
    pub(crate) background: bool,
    /// Open the page of the run in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Record the model's answers in this file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Take the answers from this recording instead of asking a model
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// With --replay: fail if a tool's result differs from the recording
    #[arg(long, requires = "replay")]
    pub(crate) strict: bool,
    /// Print JSON; a run prints one line per event and then the run
    #[arg(long)]
    pub(crate) json: bool,
}

/// A child that goes on.
#[derive(Debug, Clone, Args)]
pub(crate) struct GoOnArgs {
    /// The run, or one child of it as RUN.NODE
    pub(crate) run: String,
    /// Run in the background and do not wait
    #[arg(long = "bg")]
    pub(crate) background: bool,
    /// Print JSON; a run prints one line per event and then the run
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, the newest first
    List {
        /// Only runs that have not ended
        #[arg(long)]
        open: bool,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one run: what it did and its result
    Show {
        /// Its id, any unique beginning of it, or `last`: the newest run of this folder
        run: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what a run did, event by event
    Logs {
        /// Its id, any unique beginning of it, or `last`: the newest run of this folder
        run: String,
        /// Print JSON: the events as recorded
        #[arg(long)]
        json: bool,
    },
    /// Wait for a run to end and print its result
    Wait {
        /// Its id, any unique beginning of it, or `last`: the newest run of this folder
        run: String,
        /// Wait at most this many seconds
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show runs live, from any terminal; closing it stops nothing
    Watch {
        /// Their ids, or any unique beginnings of them [default: all runs]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Write a run as one self-contained page: graph, timeline, prompts, calls, cost, patches, ledger
    Export(RunExportArgs),
    /// Bring the file with a child's session up to date with the journal and print its path
    Session {
        /// The run, or one child of it as RUN.NODE
        run: String,
    },
    /// Pause a child; it can be resumed later
    Interrupt {
        /// The run, or one child of it as RUN.NODE
        run: String,
    },
    /// Continue a child that was paused or has ended, in its session
    Resume {
        #[command(flatten)]
        arguments: GoOnArgs,
        /// The message to the child
        message: Option<String>,
    },
    /// Run the plan of a run again from a step on; the results of earlier steps are reused
    Again {
        #[command(flatten)]
        arguments: GoOnArgs,
        /// The step, or one child of it [default: the first that is not done]
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
        /// Another task for the child of that step, with the variables that its task had
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
    },
    /// Send a child a message while it works
    Steer {
        /// The run, or one child of it as RUN.NODE
        run: String,
        /// The message to the child
        message: String,
    },
    /// Answer a child's question
    Answer {
        #[command(flatten)]
        arguments: GoOnArgs,
        /// The answer to its question
        answer: String,
    },
    /// Print what children changed in their own working trees, as patches
    Diff {
        /// The run, or one child of it as RUN.NODE
        run: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Apply what children changed in their own working trees to the repository here, by a three-way merge
    Apply {
        /// The run, or one child of it as RUN.NODE
        run: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Open the page of a run in a browser
    Open {
        /// Its id, any unique beginning of it, or `last`: the newest run of this folder
        run: String,
    },
    /// Print what was required of the work, what was observed, and whether it was accepted
    Ledger(LedgerArgs),
    /// Stop a run; its results so far are kept
    Stop {
        /// Its id, any unique beginning of it, or `last`: the newest run of this folder
        run: String,
        /// Stop at once, without time to finish
        #[arg(long)]
        now: bool,
    },
    /// Delete runs that have ended
    Prune {
        /// Runs that ended at least this many days ago [default: `runs.keepDays`]
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
        /// Also delete runs whose result was never collected
        #[arg(long)]
        unacknowledged: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// The arguments of `grove runs export`.
#[derive(Debug, Args)]
pub(crate) struct RunExportArgs {
    /// Its id, any unique beginning of it, or `last`: the newest run of this folder
    pub(crate) run: String,
    /// The file, `-` for standard output [default: `grove-run-RUN.html` here]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write JSON, to standard output by default
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a trace in Chrome's format, which Perfetto opens
    #[arg(long, conflicts_with = "json")]
    pub(crate) trace: bool,
}

/// The arguments of `grove runs ledger`.
#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// Its id, any unique beginning of it, or `last`: the newest run of this folder
    #[arg(required_unless_present = "public_key")]
    pub(crate) run: Option<String>,
    /// Check that nothing was changed since it was recorded
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print it as an in-toto statement in a signed DSSE envelope; the run must have ended and be unchanged
    #[arg(long, conflicts_with_all = ["verify", "json"])]
    pub(crate) attest: bool,
    /// Print this installation's public key, which checks signatures, as PEM
    #[arg(long, conflicts_with_all = ["run", "verify", "attest"])]
    pub(crate) public_key: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
