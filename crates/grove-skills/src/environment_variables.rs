//! Every environment variable that Grove reads, once; the comment of each is its documentation.
//!
//! Hosts' own variables are in their files. The library never reads the process: the embedding program gives an
//! [`Environment`](crate::Environment) with the values of these.

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
    /// The configuration is `grove/config.toml` below this folder; `~/.config` by default.
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME";
    /// Trust grants, the record of used skills and the journal of runs are in `grove` below this folder; `~/.local/state` by default.
    XDG_STATE_HOME = "XDG_STATE_HOME";
    /// Managed and bundled skills are in `grove` below this folder; `~/.local/share` by default.
    XDG_DATA_HOME = "XDG_DATA_HOME";
    /// The cache is in `grove` below this folder; `~/.cache` by default.
    XDG_CACHE_HOME = "XDG_CACHE_HOME";
    /// Further folders with skills, separated like PATH. They are never written to.
    GROVE_SKILL_DIRS = "GROVE_SKILL_DIRS";
    /// Further folders with agents, separated like PATH. They are never written to.
    GROVE_AGENT_DIRS = "GROVE_AGENT_DIRS";
    /// pi's name for further folders with agents; they come after those of `GROVE_AGENT_DIRS`.
    PI_SUBAGENT_EXTRA_AGENT_DIRS = "PI_SUBAGENT_EXTRA_AGENT_DIRS";
    /// A folder to use in place of the bundled skills; the bundled chains are then left out.
    GROVE_BUNDLED_DIR = "GROVE_BUNDLED_DIR";
    /// The folder of npm's global packages: they are in `lib/node_modules` below it. Without it, `prefix` in
    /// `~/.npmrc` is used, or the folder of `node`.
    NPM_CONFIG_PREFIX = "npm_config_prefix";
    /// The same as `npm_config_prefix`, which takes precedence.
    NPM_CONFIG_PREFIX_IN_CAPITALS = "NPM_CONFIG_PREFIX";
    /// The folders that are searched for required programs.
    PATH = "PATH";
    /// The temporary folder, which is never a project; `/tmp` by default.
    TMPDIR = "TMPDIR";
    /// The key of the provider `anthropic`. It is never printed, stored or passed to a command.
    ANTHROPIC_API_KEY = "ANTHROPIC_API_KEY";
    /// The address of the provider `anthropic`, if it is not the usual one.
    ANTHROPIC_BASE_URL = "ANTHROPIC_BASE_URL";
    /// The key of the provider `openai`.
    OPENAI_API_KEY = "OPENAI_API_KEY";
    /// The address of the provider `openai`, if it is not the usual one.
    OPENAI_BASE_URL = "OPENAI_BASE_URL";
    /// The path of the attempt that a process belongs to, set for everything that a child runs. If it is set, `grove`
    /// neither recovers nor prunes runs.
    GROVE_RUN = "GROVE_RUN";
    /// The conversation of the Claude Code that started `grove mcp`, which sets it.
    CLAUDE_CODE_SESSION_ID = "CLAUDE_CODE_SESSION_ID";
    /// The program that opens an address in a browser; `xdg-open` or `open` by default.
    BROWSER = "BROWSER";
    /// The width of tables; the terminal's width by default. If it is set, tables have columns in a pipe too.
    COLUMNS = "COLUMNS";
    /// With any value, output has no colours.
    NO_COLOR = "NO_COLOR";
    /// The kind of terminal; `dumb` gets no colours.
    TERM = "TERM";
}

/// Variables that name folders. A relative one would be another folder wherever Grove runs, and is refused.
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
