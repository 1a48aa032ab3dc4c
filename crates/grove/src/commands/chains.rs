//! `grove chains list`, `grove chains show NAME` and `grove chains check`.

use grove_catalog::chains::{Chain, Chains};
use grove_catalog::root::RootSource;
use grove_catalog::state::{EntryState, StateReason};
use grove_skills::chains::source_of;
use grove_skills::{Discovery, DiscoveryParts, DiscoveryRequest, Environment};
use grove_spec::Diagnostic;
use grove_spec::chain::{ChainStep, print};
use grove_spec::text::one_line;
use serde_json::{Value, json};

use super::entry_listing::{self, definition_rows, findings, row};
use super::{DiscoveredLibrary, Outcome, absolute, chains_manage, counted, need_attention};
use crate::args::{ChainDiscoveryArgs, ChainsCommand};
use crate::command_error::{ErrorKind, ExitCode as _};
use crate::json::{DiagnosticJson, EntryJson};
use crate::output::CommandOutput;
use crate::table::shorten;

pub(super) fn run(
    environment: Environment,
    command: &ChainsCommand,
    out: &mut CommandOutput,
) -> Outcome {
    match command {
        ChainsCommand::List { discovery, json } => {
            let discovery = load(environment, discovery, DiscoveryParts::CHAINS);
            list(
                &discovery.world.environment,
                &discovery.snapshot.chains,
                *json,
                out,
            );
            Ok(0)
        }
        ChainsCommand::Show {
            name,
            discovery,
            json,
        } => {
            let discovery = load(environment, discovery, DiscoveryParts::ALL);
            let all = discovery.snapshot.chains.entries();
            let chain = entry_listing::find(all, name)?;
            if *json {
                out.json(&json!({
                    "schema": "grove.chains.show/1",
                    "chain": EntryJson::new(all, chain),
                    "fields": fields(chain),
                    "digest": chain.content.as_ref().map(|it| it.digest),
                }));
            } else {
                show(&discovery, chain, out);
            }
            Ok(0)
        }
        ChainsCommand::Check { discovery, json } => {
            let discovery = load(environment, discovery, DiscoveryParts::ALL);
            Ok(check(&discovery, *json, out))
        }
        _ => chains_manage::run(&environment, command, out),
    }
}

/// Looks for chains as asked; with everything else, what they name is checked.
fn load(
    environment: Environment,
    discovery: &ChainDiscoveryArgs,
    parts: DiscoveryParts,
) -> Discovery {
    let folders = discovery.chains_dirs.iter();
    let request = DiscoveryRequest {
        parts,
        chain_folders: folders
            .map(|folder| absolute(folder, &environment))
            .collect(),
        ..DiscoveryRequest::default()
    };
    DiscoveredLibrary::new(environment, request).discovery
}

fn list(environment: &Environment, chains: &Chains, json: bool, out: &mut CommandOutput) {
    if json {
        out.json(&json!({
            "schema": "grove.chains.list/1",
            "chains": EntryJson::list(chains.entries()),
            "diagnostics": DiagnosticJson::list(&chains.diagnostics),
        }));
        return;
    }
    out.diagnostics(&chains.diagnostics);
    if chains.all.is_empty() {
        return out.note("no chains found");
    }
    let all = chains.all.iter().collect();
    entry_listing::table(chains.entries(), all, &[], environment, out);
}

fn show(discovery: &Discovery, chain: &Chain, out: &mut CommandOutput) {
    let all = discovery.snapshot.chains.entries();
    definition_rows(all, chain, &discovery.world.environment, out);
    let steps = chain.file().map_or(&[][..], |file| file.steps.as_slice());
    for (at, step) in steps.iter().enumerate() {
        row(&format!("step {}", at + 1), &step_line(step), out);
        // A person who decides whether to trust a chain must see everything that it would do.
        for (key, value) in details(step) {
            row("", &format!("{key}: {value}"), out);
        }
    }
    let source = discovery.sources.chains.read(chain);
    findings(&chain.diagnostics, source.as_deref(), out);
}

/// Everything that a step says beside what its line shows whole, each as one line.
fn details(step: &ChainStep) -> Vec<(String, String)> {
    let mut waiting: Vec<(String, Value)> = vec![(String::new(), print::step_json(step))];
    let mut all = Vec::new();
    while let Some((key, value)) = waiting.pop() {
        let below = |name: &str| match key.as_str() {
            "" => name.to_owned(),
            above => format!("{above}.{name}"),
        };
        match value {
            Value::Object(fields) => {
                let fields = fields.into_iter().rev();
                waiting.extend(fields.map(|(name, value)| (below(&name), value)));
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let items = items.into_iter().enumerate().rev();
                waiting.extend(items.map(|(at, item)| (below(&(at + 1).to_string()), item)));
            }
            Value::String(text) => all.push((one_line(&key), one_line(&text))),
            other => all.push((one_line(&key), one_line(&other.to_string()))),
        }
    }
    all.retain(|(key, _)| key != "agent");
    all
}

/// The columns of a task in the line of its step.
const TASK_COLUMNS: usize = 60;

/// A step as one line: who, how, and the start of the task.
fn step_line(step: &ChainStep) -> String {
    let tasks = step.tasks().iter().map(|task| {
        let times = task.count.map_or_else(String::new, |n| format!(" ×{n}"));
        format!("{}{times}", task.agent)
    });
    let who = tasks.collect::<Vec<_>>().join(" + ");
    let names: Vec<&str> = step.output_names().iter().map(|(name, _)| *name).collect();
    let gives = if names.is_empty() {
        String::new()
    } else {
        format!(" → {}", names.join(", "))
    };
    let what = match step {
        ChainStep::One(task) => task.task.clone().unwrap_or_default(),
        ChainStep::Parallel(group) => counted(group.tasks.len(), "task"),
        ChainStep::FanOut(fan_out) => {
            let expand = &fan_out.expand;
            match &expand.items {
                Some(items) => format!("each of {}", counted(items.len(), "item")),
                None => format!("each of {}{}", expand.output, expand.path),
            }
        }
    };
    let what = shorten(&one_line(&what), TASK_COLUMNS);
    one_line(&format!("{who}{gives}: {what}"))
}

struct ScopeChains<'a> {
    source: RootSource,
    chains: Vec<&'a Chain>,
    /// Findings about folders and settings, not about one chain.
    diagnostics: Vec<&'a Diagnostic>,
}

impl ScopeChains<'_> {
    fn findings(&self) -> usize {
        let of_chains = self.chains.iter().flat_map(|chain| &chain.diagnostics);
        let all = of_chains.chain(self.diagnostics.iter().copied());
        all.filter(|finding| finding.needs_attention()).count()
    }
}

/// Everything by scope, strongest first, without scopes in which there is nothing.
fn by_scope(discovery: &Discovery) -> Vec<ScopeChains<'_>> {
    let found = &discovery.snapshot.chains;
    let of_chain = |chain: &Chain| found.roots.get(chain.root).map(|root| root.source);
    let scopes = RootSource::ALL.into_iter().map(|source| ScopeChains {
        source,
        chains: found
            .all
            .iter()
            .filter(|chain| of_chain(chain).unwrap_or(RootSource::Bundled) == source)
            .collect(),
        diagnostics: found
            .diagnostics
            .iter()
            .filter(|finding| source_of(&discovery.world, found, finding) == source)
            .collect(),
    });
    scopes
        .filter(|scope| !scope.chains.is_empty() || !scope.diagnostics.is_empty())
        .collect()
}

fn check(discovery: &Discovery, json: bool, out: &mut CommandOutput) -> u8 {
    let all = discovery.snapshot.chains.entries();
    let scopes = by_scope(discovery);
    let findings = scopes.iter().map(ScopeChains::findings).sum();
    if json {
        let scopes = scopes.iter().map(|scope| {
            let chains = scope.chains.iter().map(|chain| EntryJson::new(all, chain));
            json!({
                "source": scope.source.as_str(),
                "chains": chains.collect::<Vec<_>>(),
                "diagnostics": DiagnosticJson::list(scope.diagnostics.iter().copied()),
            })
        });
        out.json(&json!({
            "schema": "grove.chains.check/1",
            "findings": findings,
            "scopes": scopes.collect::<Vec<_>>(),
        }));
    } else {
        for scope in &scopes {
            print_scope(discovery, scope, out);
        }
        out.line(&match findings {
            0 => "nothing needs attention".to_owned(),
            _ => need_attention(findings),
        });
    }
    ErrorKind::Finding.exit_code_if(findings > 0)
}

fn print_scope(discovery: &Discovery, scope: &ScopeChains<'_>, out: &mut CommandOutput) {
    let count = counted(scope.chains.len(), "chain");
    out.line(&format!("{}: {count}", scope.source.as_str()));
    for finding in scope.diagnostics.iter().filter(|it| it.needs_attention()) {
        out.finding(finding, None);
    }
    for chain in &scope.chains {
        if let Some(reason) = unused(chain) {
            let (name, why, fix) = (&chain.name, &reason.message, &reason.fix);
            out.line(&one_line(&format!("{name}: {why} ({fix})")));
        }
        let source = discovery.sources.chains.read(chain);
        let all = chain.diagnostics.iter();
        for finding in all.filter(|it| it.needs_attention()) {
            out.finding(finding, source.as_deref());
        }
    }
}

/// Returns the reason why a chain is not used although nothing is wrong with its file.
fn unused(chain: &Chain) -> Option<&StateReason> {
    let waits = matches!(
        chain.state,
        EntryState::Changed | EntryState::Untrusted | EntryState::Disabled
    );
    chain.reasons.first().filter(|_| waits)
}

/// Returns the fields of a chain's file, as a `.chain.json` would have them.
fn fields(chain: &Chain) -> Value {
    let Some(file) = chain.file() else {
        return json!({});
    };
    let unknown: serde_json::Map<String, Value> = file.extra.iter().cloned().collect();
    let mut fields = serde_json::Map::new();
    if let Some(package) = &file.package {
        fields.insert("package".to_owned(), json!(package));
    }
    let steps: Vec<Value> = file.steps.iter().map(print::step_json).collect();
    fields.insert("steps".to_owned(), steps.into());
    if !file.intro.is_empty() {
        fields.insert("intro".to_owned(), json!(file.intro));
    }
    if !unknown.is_empty() {
        fields.insert("unknown".to_owned(), unknown.into());
    }
    fields.into()
}
