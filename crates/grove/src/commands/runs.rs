//! `grove run`, `grove runs …`: submitting, looking after and ending runs. These are views: the engine decides, a
//! supervisor does the work, and closing a view stops nothing.

mod export;
mod following;
mod health;
mod ledger;
mod live;
mod order;
mod patches;
mod told;
mod typed_texts;
mod words;

use grove_engine::view::{ChildWish, RunFilter, RunRow, RunView, Woken};
use grove_engine::words::{event_line, row_json, row_state, show_lines};
use grove_engine::{Engine, RunJournal, plan_lines};
use grove_skills::Environment;
use serde_json::{Value, json};

use super::Outcome;
use crate::args::{GoOnArgs, PlanArgs, RunArgs, RunsCommand};
use crate::output::{CommandOutput, page};
use crate::table::Table;

use following::FollowedRun;
pub(super) use health::print_health;
pub(super) use told::print_told;

pub(super) fn run(
    environment: &Environment,
    arguments: &RunArgs,
    out: &mut CommandOutput,
) -> Outcome {
    let engine = Engine::new(environment.clone());
    let order = order::order(environment, arguments)?;
    let resolved = engine.resolve_as_caller(&order)?;
    for warning in &resolved.warnings {
        out.diagnostic(warning);
    }
    if arguments.require_sandbox {
        engine.require_sandbox(&resolved)?;
    }
    let (submitted, woken) = engine.submit(&resolved)?;
    for note in &resolved.notes {
        out.note(&format!("note: {note}"));
    }
    if arguments.open {
        super::web::open_run(environment, &submitted.id, out)?;
    }
    if resolved.background {
        if woken == Woken::Unanswered {
            out.note(&engine.journal()?.note_of_silence(&submitted.id)?);
        }
        if arguments.json {
            out.json_line(&json!({ "schema": "grove.submitted/1", "id": submitted.id, "ownerToken": submitted.owner_token }));
        } else {
            out.line(&submitted.id);
            out.note(&format!(
                "`grove runs wait {}` waits for its result",
                submitted.id
            ));
        }
        return Ok(0);
    }
    let following = FollowedRun {
        environment,
        runs: &*engine.journal()?,
        run: &submitted.id,
        surroundings: &resolved.envelope.surroundings,
        json: arguments.json,
        timeout: None,
    };
    following.follow(out)
}

pub(super) fn plan(
    environment: &Environment,
    arguments: &PlanArgs,
    out: &mut CommandOutput,
) -> Outcome {
    let engine = Engine::new(environment.clone());
    let order = order::order(environment, &arguments.run)?;
    let resolved = engine.resolve(&order)?;
    for warning in &resolved.warnings {
        out.diagnostic(warning);
    }
    for note in &resolved.notes {
        out.note(&format!("note: {note}"));
    }
    if arguments.mermaid {
        out.child_text(&resolved.plan.mermaid());
    } else if arguments.run.json {
        out.json(&resolved.plan);
    } else {
        for line in plan_lines(&resolved) {
            out.line(&line);
        }
    }
    Ok(0)
}

pub(super) fn manage(
    environment: &Environment,
    command: &RunsCommand,
    out: &mut CommandOutput,
) -> Outcome {
    let runs = RunJournal::open(environment)?;
    runs.recover("")?;
    match command {
        RunsCommand::List { open, limit, json } => {
            let filter = RunFilter {
                only_open: *open,
                most: Some(*limit),
                ..RunFilter::default()
            };
            let rows = runs.runs(&filter)?;
            if rows.is_empty() && !json && *open {
                out.note("no open runs; `grove runs list` lists those that have ended");
                return Ok(0);
            }
            list(environment, &rows, *json, out);
        }
        RunsCommand::Show { run, json } => {
            let loaded = runs.load(run)?;
            let view = runs.view(&loaded);
            if *json {
                out.json(&view);
            } else {
                show(&view, out);
                if loaded.state.run().is_waiting() {
                    out.note(&following::how_to_go_on(&view));
                }
            }
        }
        RunsCommand::Logs { run, json } => {
            for event in &runs.load(run)?.events {
                if *json {
                    out.json_line(event);
                } else {
                    out.line(&event_line(event));
                }
            }
        }
        RunsCommand::Wait { run, timeout, json } => {
            let loaded = runs.load(run)?;
            let surroundings = runs.surroundings();
            if loaded.state.ended.is_none() {
                runs.ensure(&surroundings, &loaded.id)?;
            }
            let following = FollowedRun {
                environment,
                runs: &runs,
                run: &loaded.id,
                surroundings: &surroundings,
                json: *json,
                timeout: *timeout,
            };
            return following.follow(out);
        }
        RunsCommand::Watch { runs: named } => return live::watch(environment, &runs, named, out),
        RunsCommand::Export(arguments) => {
            return export::export(environment, &runs, arguments, out);
        }
        RunsCommand::Session { run } => out.line(&runs.session(run)?.display().to_string()),
        RunsCommand::Interrupt { run } => {
            let child = runs.want(run, ChildWish::Pause)?;
            let (run, node) = (child.run, child.node);
            out.line(&format!(
                "child {node} of run {run} has been told to pause; `grove runs resume {run}.{node}` continues it"
            ));
        }
        RunsCommand::Steer { run, message } => {
            let child = runs.want(run, ChildWish::Steer(message.clone()))?;
            out.line(&format!(
                "child {} of run {} gets the message before its next step",
                child.node, child.run
            ));
        }
        RunsCommand::Resume { arguments, message } => {
            let wish = ChildWish::Resume(message.clone());
            let child = runs.want(&arguments.run, wish)?;
            return go_on(environment, &runs, arguments, &child.run, out);
        }
        RunsCommand::Again {
            arguments,
            from,
            task,
        } => {
            let submitted = runs.again(&arguments.run, from.as_deref(), task.as_deref())?;
            return go_on(environment, &runs, arguments, &submitted.id, out);
        }
        RunsCommand::Answer { arguments, answer } => {
            let child = runs.want(&arguments.run, ChildWish::Answer(answer.clone()))?;
            return go_on(environment, &runs, arguments, &child.run, out);
        }
        RunsCommand::Open { run } => {
            let run = runs.find(run)?;
            return super::web::open_run(environment, &run, out);
        }
        RunsCommand::Ledger(arguments) => return ledger::show(&runs, arguments, out),
        RunsCommand::Diff { run, json } => return patches::diff(&runs, run, *json, out),
        RunsCommand::Apply { run, json } => {
            return patches::apply(environment, &runs, run, *json, out);
        }
        RunsCommand::Stop { run, now } => {
            let stopped = runs.stop(run, *now)?;
            out.line(&match (stopped.ended, stopped.node) {
                (Some(state), _) => format!("{} has ended already: {state}", stopped.run),
                (None, Some(node)) => {
                    format!("child {node} of run {} has been told to stop", stopped.run)
                }
                (None, None) => format!("{} has been told to stop", stopped.run),
            });
        }
        RunsCommand::Prune {
            days,
            unacknowledged,
            json,
        } => prune(&runs, *days, *unacknowledged, *json, out)?,
    }
    Ok(0)
}

/// Follows a run that was continued or repeated, or names it if it continues in the background.
fn go_on(
    environment: &Environment,
    runs: &RunJournal,
    arguments: &GoOnArgs,
    run: &str,
    out: &mut CommandOutput,
) -> Outcome {
    if arguments.background {
        out.line(run);
        return Ok(0);
    }
    let following = FollowedRun {
        environment,
        runs,
        run,
        surroundings: &runs.surroundings(),
        json: arguments.json,
        timeout: None,
    };
    following.follow(out)
}

fn prune(
    runs: &RunJournal,
    days: Option<u64>,
    unacknowledged: bool,
    json: bool,
    out: &mut CommandOutput,
) -> Result<(), crate::command_error::CommandError> {
    let pruned = runs.prune(days, unacknowledged)?;
    if json {
        out.json(&json!({ "schema": "grove.pruned/1", "runs": pruned.runs, "artifacts": pruned.artifacts, "kept": pruned.kept }));
        return Ok(());
    }
    out.line(&format!("{} deleted", super::counted(pruned.runs, "run")));
    for id in &pruned.kept {
        out.note(&format!(
            "{id} was kept: `grove runs show {id}` names its working trees"
        ));
    }
    Ok(())
}

fn list(environment: &Environment, rows: &[RunRow], json: bool, out: &mut CommandOutput) {
    if json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        out.json(&json!({ "schema": "grove.runs/1", "runs": rows }));
        return;
    }
    if rows.is_empty() {
        out.note("no runs; `grove run AGENT \"task\"` starts one");
        return;
    }
    let page = page(&environment.variables);
    let mut table = Table::new(&["RUN", "STATE", "TOKENS", "WHAT"]);
    for row in rows {
        let state = row_state(row);
        let tokens = page.number(usize::try_from(row.tokens).unwrap_or(usize::MAX));
        table.row(&[&row.id, &state, &tokens, &row.title]);
    }
    out.painted(&table.render(page));
}

fn show(view: &RunView, out: &mut CommandOutput) {
    for line in show_lines(view) {
        out.line(&line);
    }
    if let Some(result) = &view.answer {
        out.line("");
        out.child_text(result);
    }
}
