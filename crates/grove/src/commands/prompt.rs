//! `grove prompt AGENT`: exactly what an agent is told, and where each part comes from.

use std::path::Path;

use grove_catalog::Digest;
use grove_catalog::prompt::{BasePrompt, BasePromptUse, Prompt};
use grove_catalog::report::PromptJson;
use grove_skills::prompt::{AgentPrompt, PromptOptions, prompt};
use grove_skills::{
    Discovery as Seen, DiscoveryParts, DiscoveryRequest, Environment, Library, Rediscover as _,
};
use grove_spec::agent::PromptMode;

use super::runs::print_told;
use super::{DiscoveredLibrary, Outcome, agents, cost, cost_note, input_text, request, tilde};
use crate::args::{DiscoveryArgs, PromptArgs};
use crate::command_error::CommandError;
use crate::output::{CommandOutput, page};
use crate::table::Table;
use grove_engine::entries::require_usable;

const MAX_BASE: u64 = 4 << 20;

pub(super) fn run(
    environment: Environment,
    arguments: &PromptArgs,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    if let Some(run) = &arguments.run {
        return print_told(&environment, run, arguments.json, out);
    }
    let name = arguments.agent.clone().unwrap_or_default();
    let base = arguments.base.as_deref();
    let options = PromptOptions {
        budget: arguments.budget,
        base: base.map(|base| read_base(base, &environment)).transpose()?,
        asked: Some(name.clone()),
        skills: None,
        tasks: arguments.task.iter().cloned().collect(),
    };
    let flags = DiscoveryArgs {
        roots: arguments.roots.clone(),
        all: arguments.all,
        ..DiscoveryArgs::default()
    };
    let request = DiscoveryRequest {
        parts: DiscoveryParts::PROMPTS,
        agent_folders: agents::folders(&environment, &arguments.discovery),
        ..request(&environment, &flags, None)?
    };
    let mut library = Library::new(environment, request);
    let (discovery, made) = library.discover_until_fresh(|discovery| {
        let agents = &discovery.snapshot.agents;
        let agent = agents::find(agents, &name)?;
        require_usable(agents, agent)?;
        let made = prompt(&discovery.snapshot, &discovery.sources, agent, &options)?;
        Ok::<_, CommandError>((discovery.clone(), made))
    })?;
    made.write_index()?;
    print(&discovery, &name, &made, arguments, out)?;
    *discovered = Some(DiscoveredLibrary { library, discovery });
    Ok(0)
}

fn print(
    discovery: &Seen,
    name: &str,
    made: &AgentPrompt,
    arguments: &PromptArgs,
    out: &mut CommandOutput,
) -> Result<(), CommandError> {
    let prompt = &made.prompt;
    if arguments.json {
        let agents = &discovery.snapshot.agents;
        let agent = agents::find(agents, name)?;
        let (address, tokens) = (agents.address(agent), cost(&prompt.text).1);
        out.json(&PromptJson::new(&agent.name, address, prompt, tokens));
        return Ok(());
    }
    out.diagnostics(&prompt.warnings);
    if arguments.explain {
        explain(&discovery.world.environment, prompt, out);
        out.note(&base_prompt_note(prompt));
    } else {
        out.text(&prompt.text);
    }
    if !prompt.text.is_empty() {
        out.note(&cost_note(&prompt.text));
    }
    Ok(())
}

/// Reads the base prompt of the program that runs the agent, from a file or from standard input.
fn read_base(given: &Path, environment: &Environment) -> Result<BasePrompt, CommandError> {
    let read = input_text::read(environment, given, MAX_BASE, "the base prompt")?;
    Ok(BasePrompt {
        source: read.file,
        digest: Digest::of(read.text.as_bytes()),
        text: read.text,
    })
}

/// Says how the prompt stands to that of the program that runs the agent.
fn base_prompt_note(prompt: &Prompt) -> String {
    let mode = match prompt.mode {
        PromptMode::Append => "append",
        PromptMode::Replace => "replace",
    };
    let base = match prompt.base {
        BasePromptUse::Absent => "was not given",
        BasePromptUse::First => "comes first",
        BasePromptUse::Replaced => "is left out",
    };
    format!("mode {mode}: the caller's prompt {base}")
}

fn explain(environment: &Environment, prompt: &Prompt, out: &mut CommandOutput) {
    let mut table = Table::new(&["COST", "WHAT", "NAME", "DIGEST", "SOURCE"]);
    for block in &prompt.blocks {
        let source = block.source.as_deref();
        let source = source.map_or_else(String::new, |path| tilde(path, environment));
        let digest = block.digest.to_string();
        table.row(&[
            &block.cost().to_string(),
            block.kind.as_str(),
            &block.name,
            digest.get(..16).unwrap_or_default(),
            &source,
        ]);
    }
    out.painted(&table.render(page(&environment.variables)));
}
