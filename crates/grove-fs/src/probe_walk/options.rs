//! What a walk looks for, and how far it goes.

use super::Links;

/// What to look for, and how far.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// What links may do.
    pub links: Links,
    /// How files are probed.
    pub probe: Probe,
    /// Which layouts count.
    pub layout: Layout,
    /// Files at the top of the root, by name: nothing but these is looked for.
    pub only: Option<Vec<String>>,
    /// How many files are read; the rest are named.
    pub max_candidates: usize,
    /// How large a file may be.
    pub max_bytes: u64,
    /// How many group levels lie above a skill folder at most.
    pub max_depth: usize,
    /// How many folders are opened at most.
    pub max_folders: usize,
    /// How many entries of one folder are looked at.
    pub max_entries: usize,
    /// How many levels of declared folders there are, the folder that nobody declared included.
    pub max_levels: usize,
}

/// Whether a probe looks first or opens at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Look first: right when most files are known or many will not be read.
    Stat,
    /// Open at once: right when every file has to be read anyway.
    Open,
}

/// Which layouts count as skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// A `SKILL.md` in the root itself counts, and ends the walk if a skill folder does.
    pub root_file: bool,
    /// `<root>/<name>.md` counts.
    pub flat_files: bool,
    /// Nothing below a skill folder is looked at, but for what its file declares.
    pub stop_at_skill: bool,
    /// What a skill file declares below its own folder is looked for, if a skill folder ends the walk.
    pub declared: bool,
    /// Folders called `node_modules` are looked in like others.
    pub node_modules: bool,
    /// What becomes of a skill file that is itself a link.
    pub linked_files: LinkedFiles,
    /// Ignore files of these names are collected from every folder walked.
    pub ignore_files: &'static [&'static str],
}

impl Layout {
    /// Everything Grove itself understands.
    pub const ALL: Self = Self {
        root_file: true,
        flat_files: true,
        stop_at_skill: true,
        declared: true,
        node_modules: false,
        linked_files: LinkedFiles::Follow,
        ignore_files: &[],
    };
}

/// What becomes of a skill file that is itself a link. All but the first cost one look more a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkedFiles {
    /// It is read as far as the root's links may lead.
    Follow,
    /// It is refused.
    Skip,
    /// It is refused unless it leads to a file in the skill's own folder.
    Inside,
}
