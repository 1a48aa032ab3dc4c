//! Every environment variable that Grove reads, once; the comment of each is its documentation.
//!
//! Hosts' own variables are in their files. The library never reads the process: whoever embeds it gives an
//! [`Environment`](crate::Environment) with what these say.

macro_rules! environment_variables {
    ($($(#[doc = $about:literal])+ $constant:ident = $name:literal;)+) => {
        $($(#[doc = $about])+ pub const $constant: &str = $name;)+

        /// Every variable with what it does, in the order of the reference page.
        pub const ALL: &[(&str, &str)] = &[$(($name, concat!($($about),+))),+];
    };
}

environment_variables! {
    /// The home folder. Without it there are no user roots.
    HOME = "HOME";
    /// Where the configuration is: `grove/config.toml` below it; `~/.config` by default.
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME";
    /// Where trust grants, the record of used skills and the journal of runs are kept: `grove` below it; `~/.local/state` by default.
    XDG_STATE_HOME = "XDG_STATE_HOME";
    /// Where managed and bundled skills are: `grove` below it; `~/.local/share` by default.
    XDG_DATA_HOME = "XDG_DATA_HOME";
    /// Where the cache is: `grove` below it; `~/.cache` by default.
    XDG_CACHE_HOME = "XDG_CACHE_HOME";
    /// Further folders with skills, separated like PATH. They are never written to.
    GROVE_SKILL_DIRS = "GROVE_SKILL_DIRS";
    /// Further folders with agents, separated like PATH. They are never written to.
    GROVE_AGENT_DIRS = "GROVE_AGENT_DIRS";
    /// pi's name for further folders with agents; they come after those of `GROVE_AGENT_DIRS`.
    PI_SUBAGENT_EXTRA_AGENT_DIRS = "PI_SUBAGENT_EXTRA_AGENT_DIRS";
    /// A folder to use in place of the bundled skills; the bundled chains are left out then.
    GROVE_BUNDLED_DIR = "GROVE_BUNDLED_DIR";
    /// Where npm installs for everybody: packages are in `lib/node_modules` below it. Without it, `prefix` of
    /// `~/.npmrc` says it, or where `node` is.
    NPM_CONFIG_PREFIX = "npm_config_prefix";
    /// The same as `npm_config_prefix`, which goes before it.
    NPM_CONFIG_PREFIX_IN_CAPITALS = "NPM_CONFIG_PREFIX";
    /// Where required programs are looked for.
    PATH = "PATH";
    /// The temporary folder, which is never a project; `/tmp` by default.
    TMPDIR = "TMPDIR";
    /// The key of the provider `anthropic`. It is never printed, stored or passed to a command.
    ANTHROPIC_API_KEY = "ANTHROPIC_API_KEY";
    /// Where the provider `anthropic` is, in place of its own address.
    ANTHROPIC_BASE_URL = "ANTHROPIC_BASE_URL";
    /// The key of the provider `openai`.
    OPENAI_API_KEY = "OPENAI_API_KEY";
    /// Where the provider `openai` is, in place of its own address.
    OPENAI_BASE_URL = "OPENAI_BASE_URL";
    /// The path to the attempt that a process belongs to, set for everything that a child runs. A `grove` with it neither
    /// recovers nor prunes runs.
    GROVE_RUN = "GROVE_RUN";
    /// The conversation of the Claude Code that started `grove mcp`; set by it.
    CLAUDE_CODE_SESSION_ID = "CLAUDE_CODE_SESSION_ID";
    /// How wide tables may be; the terminal's width by default. When it is set, a table is one in a pipe too.
    COLUMNS = "COLUMNS";
    /// With any value, output has no colours.
    NO_COLOR = "NO_COLOR";
    /// The terminal; one that is `dumb` gets no colours.
    TERM = "TERM";
}

/// Those that name folders. A relative one would be another folder wherever Grove runs, and is refused.
pub const FOLDERS: [&str; 10] = [
    HOME,
    XDG_CONFIG_HOME,
    XDG_STATE_HOME,
    XDG_DATA_HOME,
    XDG_CACHE_HOME,
    GROVE_SKILL_DIRS,
    GROVE_AGENT_DIRS,
    PI_SUBAGENT_EXTRA_AGENT_DIRS,
    GROVE_BUNDLED_DIR,
    TMPDIR,
];
