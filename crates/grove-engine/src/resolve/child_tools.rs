//! The tools of a child: those that its agent lists, less what its file forbids, what the child that asks lacks, and what
//! the engine does not have.

use std::collections::BTreeSet;

use grove_exec::Program;
use grove_plan::Tools;
use grove_spec::agent::formats::restriction::denies_server_tool;

use crate::error::EngineError;
use crate::mcp::{MCP, selected};
use crate::powers::{Powers, USUAL_TOOLS};
use crate::program::RUNTIME_TOOLS;
use crate::tools::ToolRow;

/// The tools that an agent lists, and what decides which of them its child gets.
pub(crate) struct ListedTools<'a> {
    pub(crate) agent: &'a str,
    /// The list itself; none means the tools that read.
    pub(crate) listed: Option<Vec<String>>,
    /// Tools that it does not get, even if it lists them or they are usual.
    pub(crate) denied: &'a BTreeSet<String>,
    pub(crate) engine: &'a str,
    /// The names of the servers that have `mcp:` tools.
    pub(crate) servers: &'a [String],
}

/// The tools of a child, with notes about those that it does not get.
#[derive(Debug)]
pub(crate) struct ChosenTools {
    pub(crate) tools: Tools,
    pub(crate) notes: Vec<String>,
}

impl ListedTools<'_> {
    /// Chooses the tools, in our words; a child that is left without any is refused. `above` has the powers of the child
    /// that asks, if one does.
    pub(crate) fn choose(mut self, above: Option<&Powers>) -> Result<ChosenTools, EngineError> {
        let usual = || USUAL_TOOLS.map(str::to_owned).to_vec();
        let mut listed = self.listed.take().unwrap_or_else(usual);
        let mut notes = Vec::new();
        if let Some(above) = above {
            self.leave_covered(&mut listed, above, &mut notes)?;
        }
        self.leave_permitted(&mut listed, &mut notes);
        let mut allowed = self.known(&listed, &mut notes)?;
        let can_write = allowed
            .iter()
            .any(|name| ToolRow::by_name(name).is_some_and(ToolRow::writes));
        self.leave_those_of_program(&mut allowed, &mut notes);
        Ok(ChosenTools {
            tools: Tools { allowed, can_write },
            notes,
        })
    }

    /// Leaves the tools that the powers of the child above it cover.
    fn leave_covered(
        &self,
        listed: &mut Vec<String>,
        above: &Powers,
        notes: &mut Vec<String>,
    ) -> Result<(), EngineError> {
        let (agent, engine) = (self.agent, self.engine);
        let program = Program::named(engine);
        if program.is_some_and(|program| !program.can.tool_list) && !above.are_whole() {
            let message = format!(
                "engine `{engine}` of `{agent}` chooses its tools itself, and the child that asks does not have all of them"
            );
            return Err(EngineError::usage(message).hint("choose `engine: native` for it"));
        }
        let is_covered = |name: &String| {
            above.cover_tool(name) && (program.is_none() || above.cover_in_program(name))
        };
        let lost: Vec<String> = listed.extract_if(.., |name| !is_covered(name)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let lost = lost.join(", ");
        if listed.is_empty() {
            let message =
                format!("`{agent}` needs {lost}, which the child that asks does not have");
            return Err(EngineError::usage(message).hint("ask an agent that needs less"));
        }
        notes.push(format!(
            "`{agent}` works without {lost}: the child that asks does not have them"
        ));
        Ok(())
    }

    /// Leaves the tools that the agent's file does not forbid.
    fn leave_permitted(&self, listed: &mut Vec<String>, notes: &mut Vec<String>) {
        listed.retain(|name| {
            let mut denied = self.denied.iter();
            let is_denied = match ToolRow::by_name(name) {
                Some(row) => self.denies(row),
                None => denied.any(|denied| denies_server_tool(denied, name)),
            };
            if is_denied {
                let agent = self.agent;
                notes.push(format!("the file of agent `{agent}` forbids `{name}`"));
            }
            !is_denied
        });
    }

    fn denies(&self, row: &ToolRow) -> bool {
        self.denied.iter().any(|name| row.is_called(name))
    }

    /// The tools that exist, each once.
    fn known(
        &self,
        listed: &[String],
        notes: &mut Vec<String>,
    ) -> Result<Vec<String>, EngineError> {
        let mut allowed: Vec<String> = Vec::new();
        let is_served = |name: &str| {
            selected(name).is_some_and(|(server, _)| self.servers.iter().any(|it| it == server))
        };
        for name in listed {
            match ToolRow::by_name(name) {
                Some(row) if !allowed.iter().any(|known| known == row.name) => {
                    allowed.push(row.name.to_owned());
                }
                Some(_) => {}
                None if is_served(name) => allowed.push(name.clone()),
                None if name.starts_with(MCP) => notes.push(format!(
                    "tool `{name}` belongs to a server that is not in `[mcp]` of the configuration"
                )),
                None => notes.push(format!(
                    "tool `{name}` is not provided by the built-in engine"
                )),
            }
        }
        if allowed.is_empty() && !listed.is_empty() {
            let message = format!(
                "agent `{}` lists only tools that do not exist here: {}",
                self.agent,
                listed.join(", ")
            );
            return Err(EngineError::usage(message)
                .hint("list tools such as read, grep, edit or bash in the agent's file"));
        }
        // Any agent may ask for the instructions of skills, whatever it lists: they are knowledge, not a power.
        let may_ask = !ToolRow::by_name("skill").is_some_and(|row| self.denies(row));
        if may_ask && !allowed.iter().any(|name| name == "skill") && !allowed.is_empty() {
            allowed.push("skill".to_owned());
        }
        Ok(allowed)
    }

    fn leave_those_of_program(&self, allowed: &mut Vec<String>, notes: &mut Vec<String>) {
        let Some(program) = Program::named(self.engine) else {
            return;
        };
        let (_, missing) = program.tools(allowed);
        // Skills that the agent names are in its prompt, so a missing `skill` tool is not reported.
        let is_given = |tool: &str| {
            let is_ours = RUNTIME_TOOLS.contains(&tool) || tool.starts_with(MCP);
            program.can.runtime_tools && is_ours
        };
        let missing: Vec<String> = missing
            .into_iter()
            .filter(|tool| !is_given(tool))
            .map(str::to_owned)
            .collect();
        allowed.retain(|tool| !missing.contains(tool));
        let said = missing.iter().filter(|tool| *tool != "skill");
        notes.extend(said.map(|tool| format!("{} has no tool `{tool}`", program.title)));
    }
}

/// Leaves a reviewer the tools that change nothing.
pub(crate) fn of_reviewer(mut listed: Option<Vec<String>>) -> Option<Vec<String>> {
    let reads = |name: &String| ToolRow::by_name(name).is_some_and(|row| !row.writes());
    if let Some(tools) = &mut listed {
        tools.retain(reads);
    }
    listed.filter(|tools| !tools.is_empty())
}
