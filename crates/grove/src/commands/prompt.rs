//! `grove prompt AGENT`: exactly what an agent is told, and where each part comes from.

use grove_catalog::Digest;
use grove_catalog::agents::{Agent, Agents};
use grove_catalog::prompt::{Block, MAX_PRELOAD, Prompt};
use grove_catalog::state::State;
use grove_skills::Environment;
use grove_skills::prompt::{PromptError, prompt};
use grove_spec::{Diagnostic, Severity};
use serde::Serialize;

use super::{Looked, Outcome, agents, cost, cost_note, look, tilde};
use crate::args::{Look, PromptArgs};
use crate::command_error::{CommandError, ErrorKind};
use crate::json::DiagnosticJson;
use crate::output::{Output, columns};
use crate::table::Table;

pub(super) fn run(
    environment: Environment,
    arguments: &PromptArgs,
    looked: &mut Option<Looked>,
    out: &mut Output,
) -> Outcome {
    let library = agents::load(&environment, &arguments.look);
    let agent = agents::find(&library.agents, &arguments.agent)?;
    require_usable(&library.agents, agent)?;
    let flags = Look {
        roots: arguments.roots.clone(),
        all: arguments.all,
        ..Look::default()
    };
    let looked = looked.insert(look(environment, &flags)?);
    let budget = arguments.budget.unwrap_or(MAX_PRELOAD);
    let told = prompt(&mut looked.library, &library, agent, budget)?;
    looked.snapshot = told.snapshot;
    let mut warnings: Vec<Diagnostic> = agent.diagnostics.clone();
    warnings.retain(|finding| finding.severity != Severity::Info);
    warnings.extend(told.prompt.warnings.iter().cloned());
    if arguments.json {
        let address = library.agents.address(agent);
        out.json(&PromptJson::new(agent, address, &told.prompt, &warnings));
        return Ok(0);
    }
    for warning in &warnings {
        out.diagnostic(warning);
    }
    if arguments.explain {
        explain(looked, &told.prompt, out);
    } else {
        out.text(&told.prompt.text);
    }
    if !told.prompt.text.is_empty() {
        out.note(&cost_note(&told.prompt.text));
    }
    Ok(0)
}

impl From<PromptError> for CommandError {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Files(error) => error.into(),
            PromptError::Unsteady(_) => Self::new(ErrorKind::Finding, error.to_string())
                .hint("run the command again when nothing writes there"),
        }
    }
}

/// An agent that nobody may use has no prompt: its text has not been looked at, or cannot be read.
pub(super) fn require_usable(agents: &Agents, agent: &Agent) -> Result<(), CommandError> {
    if matches!(agent.state, State::Ok | State::Shadowed) {
        return Ok(());
    }
    let why: Vec<&str> = agent
        .reasons
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    let mut error = CommandError::new(
        ErrorKind::Finding,
        format!(
            "agent `{}` is {}: {}",
            agents.address(agent),
            agent.state.as_str(),
            why.join("; ")
        ),
    );
    for reason in &agent.reasons {
        error = error.hint(reason.fix.as_str());
    }
    Err(error)
}

fn explain(looked: &Looked, prompt: &Prompt, out: &mut Output) {
    let environment = looked.library.environment();
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
    out.text(&table.render(columns(&environment.variables)));
}

#[derive(Serialize)]
struct PromptJson<'a> {
    schema: &'static str,
    name: &'a str,
    address: String,
    prompt: &'a str,
    digest: String,
    chars: usize,
    tokens: usize,
    blocks: Vec<BlockJson<'a>>,
    tools: Option<&'a [String]>,
    active: &'a [String],
    warnings: Vec<DiagnosticJson<'a>>,
}

#[derive(Serialize)]
struct BlockJson<'a> {
    kind: &'static str,
    name: &'a str,
    source: Option<String>,
    digest: String,
    cost: usize,
    text: &'a str,
}

impl<'a> BlockJson<'a> {
    fn new(block: &'a Block) -> Self {
        let source = block.source.as_deref();
        Self {
            kind: block.kind.as_str(),
            name: &block.name,
            source: source.map(|path| path.to_string_lossy().into_owned()),
            digest: block.digest.to_string(),
            cost: block.cost(),
            text: &block.text,
        }
    }
}

impl<'a> PromptJson<'a> {
    fn new(
        agent: &'a Agent,
        address: String,
        prompt: &'a Prompt,
        warnings: &'a [Diagnostic],
    ) -> Self {
        let (chars, tokens) = cost(&prompt.text);
        Self {
            schema: "grove.prompt/1",
            name: &agent.name,
            address,
            prompt: &prompt.text,
            digest: Digest::of(prompt.text.as_bytes()).to_string(),
            chars,
            tokens,
            blocks: prompt.blocks.iter().map(BlockJson::new).collect(),
            tools: prompt.tools.as_deref(),
            active: &prompt.active,
            warnings: DiagnosticJson::list(warnings),
        }
    }
}
