//! The powers that tools give a child, and the rule that they only shrink from a child to those it asks for work.
//!
//! Powers are compared and not the names of tools: a child with `edit` may have an agent work that has `write`, and one
//! with commands an agent that reads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_plan::Tools;

use crate::mcp::MCP;
use crate::tools::ToolRow;

/// The tools of a child that lists none: those that look at files, and the texts of skills.
pub(crate) const USUAL_TOOLS: [&str; 5] = ["read", "ls", "find", "grep", "skill"];

/// A thing that a tool lets a child do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Power {
    /// Words alone: a skill's text, a question to the one who gave the task.
    Words,
    /// Looking at files of the work folder.
    Read,
    /// Changing files of the work folder.
    Write,
    /// Running commands in a shell.
    Run,
    /// Asking other agents for work.
    Delegate,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Powers {
    held: BTreeSet<Power>,
    /// Tools of servers, each of which is a power of its own.
    of_servers: BTreeSet<String>,
    /// The folder it works in: everything that is done for it happens there or below.
    root: PathBuf,
}

impl Powers {
    /// Returns the powers of a child with these tools in a folder. A command can look at files; it changes some only where a
    /// tool that writes is listed, because the sandbox of the others holds it to that.
    pub(crate) fn of(tools: &Tools, root: &Path) -> Self {
        let rows = tools
            .allowed
            .iter()
            .filter_map(|name| ToolRow::by_name(name));
        let mut held: BTreeSet<Power> = rows.map(|row| row.power).collect();
        held.insert(Power::Words);
        if held.contains(&Power::Run) {
            held.insert(Power::Read);
        }
        let of_servers = tools.allowed.iter().filter(|name| name.starts_with(MCP));
        Self {
            held,
            of_servers: of_servers.cloned().collect(),
            root: root.to_path_buf(),
        }
    }

    /// Returns true if a child with these powers may run commands.
    pub(crate) fn can_run(&self) -> bool {
        self.held.contains(&Power::Run)
    }

    /// Returns true if a child with these powers may change files.
    pub(crate) fn can_write(&self) -> bool {
        self.held.contains(&Power::Write)
    }

    /// Returns true if a child with these powers may have another one call a tool. A name that is no tool gives nothing.
    pub(crate) fn cover_tool(&self, name: &str) -> bool {
        match ToolRow::by_name(name) {
            Some(row) => self.held.contains(&row.power),
            None => !name.starts_with(MCP) || self.of_servers.contains(name),
        }
    }

    /// Returns true if an agent program may have a tool. Nothing holds the commands of a program to changing no files, so they
    /// are for those who may change some.
    pub(crate) fn cover_in_program(&self, name: &str) -> bool {
        let is_run = ToolRow::by_name(name).is_some_and(|row| row.power == Power::Run);
        !is_run || self.held.contains(&Power::Write)
    }

    /// Returns true if nothing that a program can do by itself is missing.
    pub(crate) fn are_whole(&self) -> bool {
        [Power::Read, Power::Write, Power::Run]
            .iter()
            .all(|power| self.held.contains(power))
    }

    /// Returns true if a child with these powers may have another one work in a folder, whatever links lead there.
    pub(crate) fn cover_folder(&self, folder: &Path) -> bool {
        grove_fs::files::is_below(folder, &self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Tools {
        Tools {
            allowed: names.iter().map(|name| (*name).to_owned()).collect(),
            can_write: false,
        }
    }

    fn powers(names: &[&str]) -> Powers {
        Powers::of(&tools(names), Path::new("/"))
    }

    #[test]
    fn a_power_covers_the_tools_that_need_no_more() {
        for (held, tool, is_covered) in [
            (&["read"][..], "grep", true),
            (&["read"], "Edit", false),
            (&["edit"], "write", true),
            (&["edit"], "bash", false),
            (&["edit"], "read", false),
            (&["bash"], "read", true),
            (&["bash"], "write", false),
            (&["bash", "subagent"], "edit", false),
            (&["read"], "subagent", false),
            (&["subagent"], "Task", true),
            (&[], "skill", true),
            (&[], "contact_supervisor", true),
            (&["mcp:time/now"], "mcp:time/now", true),
            (&["mcp:time/now"], "mcp:time/set", false),
            (&["bash", "write"], "mcp:time/now", false),
        ] {
            assert_eq!(powers(held).cover_tool(tool), is_covered, "{held:?} {tool}");
        }
    }
}
