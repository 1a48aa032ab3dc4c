//! Every configuration key, once; the configuration reference is generated from this table.

/// One key as documented.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path.
    pub path: &'static str,
    /// What kind of value it takes.
    pub kind: &'static str,
    /// The default, as written in TOML.
    pub default: &'static str,
    /// Whether a project may set it (to narrow).
    pub project: bool,
    /// What it does.
    pub about: &'static str,
}

const fn key(
    path: &'static str,
    kind: &'static str,
    default: &'static str,
    project: bool,
    about: &'static str,
) -> Key {
    Key {
        path,
        kind,
        default,
        project,
        about,
    }
}

/// All keys in the order of the reference page.
pub const KEYS: &[Key] = &[
    key(
        "compat_roots",
        "true or false",
        "true",
        true,
        "Look in the folders of all known hosts, not only in `.grove` and `.agents`.",
    ),
    key(
        "extra_dirs",
        "list of paths",
        "[]",
        false,
        "Further folders with skills. They rank below the user's own and are never written to.",
    ),
    key(
        "packages",
        "list of packages",
        "[]",
        false,
        "Further packages with agents, chains and skills: `npm:NAME`, `git:HOST/PATH`, `file:PATH` or a path.",
    ),
    key(
        "limits.candidates_per_root",
        "number",
        "300",
        true,
        "Skill folders that are read in one root. The rest are named.",
    ),
    key(
        "limits.loaded_per_source",
        "number",
        "200",
        true,
        "Skills that one source offers. The rest are listed as `capped`.",
    ),
    key(
        "limits.file_bytes",
        "number",
        "256000",
        true,
        "Bytes of one skill file that are kept, inclusive; what a description has beyond 16,384 characters may be dropped instead.",
    ),
    key(
        "limits.group_depth",
        "number",
        "6",
        true,
        "Group levels above a skill folder.",
    ),
    key(
        "limits.prompt_skills",
        "number",
        "150",
        true,
        "Skills in one catalog.",
    ),
    key(
        "limits.prompt_chars",
        "number",
        "30000",
        true,
        "Characters of one catalog.",
    ),
    key(
        "limits.preload_chars",
        "number",
        "100000",
        true,
        "Characters that the skills an agent names may take in its prompt. What does not fit is left out whole.",
    ),
    key(
        "limits.instruction_chars",
        "number",
        "40000",
        true,
        "Characters that a project's instructions may take in an agent's prompt. What does not fit is left out whole.",
    ),
    key(
        "catalog.pinned",
        "list of names",
        "[]",
        false,
        "Skills that come first in a catalog. A session takes them when it begins.",
    ),
    key(
        "skills.allow_bundled",
        "list of names",
        "(all)",
        true,
        "Bundled skills that may be used. An empty list means none.",
    ),
    key(
        "skills.only",
        "list of names",
        "(all)",
        true,
        "Names that are let through. An empty list means none.",
    ),
    key(
        "skills.entries.KEY.enabled",
        "true or false",
        "true",
        true,
        "Switches one skill off. KEY is its `skillKey` or its name.",
    ),
    key(
        "skills.entries.KEY.env",
        "table of texts",
        "{}",
        false,
        "Variables for the skill. They satisfy `requires.env`; values are never shown.",
    ),
    key(
        "skills.entries.KEY.api_key",
        "text",
        "(none)",
        false,
        "The value for the skill's `primaryEnv`. It is never shown.",
    ),
    key(
        "skills.entries.KEY.config",
        "table",
        "{}",
        false,
        "Configuration for the skill. Set paths satisfy `requires.config`.",
    ),
];
