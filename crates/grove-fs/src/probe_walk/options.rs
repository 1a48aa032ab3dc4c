//! The rules and bounds of a walk.

use super::LinkRule;

#[derive(Debug, Clone)]
pub struct WalkOptions {
    pub links: LinkRule,
    pub probe: ProbeOrder,
    pub layout: AcceptedLayouts,
    /// Files at the top of the root, by name: nothing but these is looked for.
    pub only: Option<Vec<String>>,
    /// The most files that are read; the rest are named.
    pub max_candidates: usize,
    pub max_bytes: u64,
    /// The most group levels above a skill folder.
    pub max_depth: usize,
    pub max_folders: usize,
    pub max_entries: usize,
    /// The most levels of declared folders, the first folder, which is not declared, included.
    pub max_levels: usize,
}

/// The choice between looking first and opening at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeOrder {
    /// Look first: right when most files are known or many will not be read.
    Stat,
    /// Open at once: right when every file has to be read anyway.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedLayouts {
    /// A `SKILL.md` in the root itself counts, and ends the walk if a skill folder does.
    pub root_file: bool,
    /// A file `<root>/<name>.md` counts.
    pub flat_files: bool,
    /// Nothing below a skill folder is looked at, but for what its file declares.
    pub stop_at_skill: bool,
    /// The folders that a skill file declares below its own are looked for, if a skill folder ends the walk.
    pub declared: bool,
    /// Folders called `node_modules` are looked in like others.
    pub node_modules: bool,
    pub linked_files: LinkedFiles,
    /// Ignore files of these names are collected from every folder walked.
    pub ignore_files: &'static [&'static str],
}

impl AcceptedLayouts {
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

/// The treatment of a skill file that is itself a link. All but the first cost one more system call a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkedFiles {
    /// It is read as far as the root's links may lead.
    Follow,
    Skip,
    /// It is refused unless it leads to a file in the skill's own folder.
    Inside,
}
