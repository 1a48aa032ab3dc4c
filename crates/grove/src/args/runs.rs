//! What is typed to run agents and to look after runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// A request for a run that is only looked at.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print the graph in the language of Mermaid
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
}

/// A request for a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// An agent and what it is to do; `'->' AGENT [TASK]` for a next step, `, AGENT TASK` for another beside it
    #[arg(value_name = "AGENT TASK", required_unless_present = "request")]
    pub(crate) words: Vec<String>,
    /// Read the request from a JSON file, `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "chain"])]
    pub(crate) request: Option<PathBuf>,
    /// Run a saved chain with this task
    #[arg(long, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// How many children of a step run at a time
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<u64>,
    /// Begin with the conversation of another child: RUN or RUN.NODE; of the child that this is, when none is named
    #[arg(long, value_name = "SESSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) fork: Option<String>,
    /// The folder for files of sessions
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
    /// The model, as `provider/id[:thinking]`
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What drives it: `native`, `claude`, `codex`, `pi`, `copilot`, `opencode`, `gemini` or `acp:COMMAND`
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// Where it works; here by default
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// How many seconds the whole run may take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// How many tokens it may use
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// What it may cost, in the currency of the prices
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_cost: Option<f64>,
    /// A JSON Schema that the result has to meet
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// What the work has to be before it counts: auto, attested, checked, verified or reviewed
    #[arg(long, value_name = "LEVEL")]
    pub(crate) accept: Option<String>,
    /// A command that has to succeed afterwards, so that the work counts; may be given several times
    #[arg(long, value_name = "COMMAND")]
    pub(crate) verify: Vec<String>,
    /// Approve the commands that a project's agent or chain asks for, by the digest that is printed without this
    #[arg(long, value_name = "DIGEST")]
    pub(crate) approve: Vec<String>,
    /// Give each child a git working tree of its own
    #[arg(long)]
    pub(crate) worktree: bool,
    /// With --worktree: begin with the files as they are now, also those that are not committed
    #[arg(long)]
    pub(crate) include_changes: bool,
    /// Do not wait for it
    #[arg(long = "bg")]
    pub(crate) background: bool,
    /// Write what the model answers to this file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Let this file answer instead of a model
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// With --replay: a tool that comes to something else than in the recording is an error
    #[arg(long, requires = "replay")]
    pub(crate) strict: bool,
    /// Print JSON: a line for each event, the last one is the run
    #[arg(long)]
    pub(crate) json: bool,
}

/// A child that goes on.
#[derive(Debug, Clone, Args)]
pub(crate) struct GoOnArgs {
    /// The run, or one child of it as RUN.NODE
    pub(crate) run: String,
    /// Do not wait for it
    #[arg(long = "bg")]
    pub(crate) background: bool,
    /// Print JSON: a line for each event, the last one is the run
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Runs, the newest first
    List {
        /// Only those that are not over
        #[arg(long)]
        open: bool,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// One run: what it did and what came of it
    Show {
        /// Its id, or any beginning that is its alone
        run: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What a run did, event by event
    Logs {
        /// Its id, or any beginning that is its alone
        run: String,
        /// Print JSON: the events as they are recorded
        #[arg(long)]
        json: bool,
    },
    /// Wait until a run is over, and print its result
    Wait {
        /// Its id, or any beginning that is its alone
        run: String,
        /// How many seconds at most
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show runs while they go on, from any terminal; closing it stops nothing
    Watch {
        /// Their ids, or any beginnings that are theirs alone; all runs without any
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Write a run as one page that needs nothing else: graph, timeline, prompts, calls, money, patches, ledger
    Export(RunExportArgs),
    /// The file with a child's session, brought to what the journal says
    Session {
        /// The run, or one child of it as RUN.NODE
        run: String,
    },
    /// Let a child pause; it can go on later
    Interrupt {
        /// The run, or one child of it as RUN.NODE
        run: String,
    },
    /// Let a child go on in its session: one that was paused, or has ended
    Resume {
        #[command(flatten)]
        arguments: GoOnArgs,
        /// What it is told
        message: Option<String>,
    },
    /// Run the plan of a run again from a step on; what was done before it is taken over
    Again {
        #[command(flatten)]
        arguments: GoOnArgs,
        /// The step, or one child of it; the first that was not done by default
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
    },
    /// Tell a child something while it works
    Steer {
        /// The run, or one child of it as RUN.NODE
        run: String,
        /// What it is told
        message: String,
    },
    /// Answer a child that asks
    Answer {
        #[command(flatten)]
        arguments: GoOnArgs,
        /// The answer
        answer: String,
    },
    /// Print what children did in working trees of their own, as patches
    Diff {
        /// The run, or one child of it as RUN.NODE
        run: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put what children did in working trees of their own into the repository here, by a three-way merge
    Apply {
        /// The run, or one child of it as RUN.NODE
        run: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What was asked of the work, what was seen of it, and whether it counts
    Ledger(LedgerArguments),
    /// End a run; what it has is kept
    Stop {
        /// Its id, or any beginning that is its alone
        run: String,
        /// At once
        #[arg(long)]
        now: bool,
    },
    /// Take away runs that are over
    Prune {
        /// Those that ended so many days ago; `runs.keepDays` by default
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
        /// Also runs whose result nobody took
        #[arg(long)]
        unacknowledged: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What a run is written to.
#[derive(Debug, Args)]
pub(crate) struct RunExportArgs {
    /// Its id, or any beginning that is its alone
    pub(crate) run: String,
    /// The file, `-` for standard output; `grove-run-RUN.html` here by default
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write JSON; to standard output by default
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is printed of a run's ledger.
#[derive(Debug, Args)]
pub(crate) struct LedgerArguments {
    /// Its id, or any beginning that is its alone
    #[arg(required_unless_present = "public_key")]
    pub(crate) run: Option<String>,
    /// Look whether anything was changed since it was recorded
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print it as an in-toto statement in a signed DSSE envelope, when the run is over and nothing was changed
    #[arg(long, conflicts_with_all = ["verify", "json"])]
    pub(crate) attest: bool,
    /// Print the key of this installation that signatures are checked with, as PEM
    #[arg(long, conflicts_with_all = ["run", "verify", "attest"])]
    pub(crate) public_key: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
