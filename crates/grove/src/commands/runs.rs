//! `grove run`, `grove runs …`: submitting, looking after and ending runs. These are views: a supervisor does the work,
//! and closing a view stops nothing.

mod acceptance;
mod again;
mod approving;
mod attestation;
mod children;
mod controlling;
mod export;
mod following;
mod forks;
mod health;
mod ledger;
mod live;
mod marks;
mod model_settings;
mod patches;
mod planning;
mod request;
mod required_sandbox;
mod run_rules;
mod schema_files;
mod subagent;
mod supervise;
mod told;
mod typed_texts;
mod words;
mod worktree_plans;

use std::path::PathBuf;
use std::sync::Arc;

use grove_exec::{Liveness, Owner, now};
use grove_fs::FileId;
use grove_plan::{Body, CallOutcome, EffectKind, Event, Fact, FoundFile, REJECTED, RunView, Wish};
use grove_runs::{ChildWish, JournalError, RunPlaces, about, plan_of, submit};
use grove_skills::{Environment, Parts, Request, World};
use grove_spec::Digest;
use grove_spec::text::one_line;
use grove_store::{Draft, LoadedRun, OpenRow, RunFilter, RunRow, Store, StoreError};
use serde_json::{Value, json};

use super::Outcome;
use crate::args::{PlanArgs, RunArgs, RunsCommand};
use crate::command_error::CommandError;
use crate::output::{Output, page};
use crate::table::Table;

use following::Following;
pub(super) use health::{ProviderHealth, RunsHealth};
pub(super) use marks::mark_of;
pub(super) use model_settings::ModelSettings;
pub(super) use subagent::SubagentTool;
pub(super) use supervise::{passed_on as environment_of_git, supervise};
pub(super) use told::print_told;

/// Names the newest run of the working folder.
const LAST: &str = "last";
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Days after which a result that nobody took may be taken away like any other.
const UNACKNOWLEDGED_DAYS: u64 = 30;
/// Of a tool's result, in a line of a log.
const MOST_OF_RESULT: usize = 120;

/// The journal and where it is.
struct Runs {
    places: RunPlaces,
    store: Arc<Store>,
    /// The journal's file when it was opened.
    journal: Option<FileId>,
    /// Whether this process belongs to a child.
    is_child: bool,
    /// The folder of which `last` names the newest run.
    folder: PathBuf,
}

impl Runs {
    fn open(environment: &Environment) -> Result<Self, CommandError> {
        let places = RunPlaces::in_state(&environment.state);
        grove_fs::files::make_closed_folder(places.folder())?;
        let store = places.open_journal()?;
        Ok(Self {
            journal: grove_fs::files::identity(store.path()).ok(),
            places,
            store: Arc::new(store),
            is_child: mark_of(environment).is_some(),
            folder: environment.working.clone(),
        })
    }

    /// A number that changes when something was recorded, and an error when the journal is no longer where it was: in a
    /// file that was removed nothing will ever change, and its supervisor has ended every child.
    fn version(&self) -> Result<u64, CommandError> {
        let path = self.store.path();
        if grove_fs::files::identity(path).ok() != self.journal {
            let message = format!("the journal of runs, {}, was removed", path.display());
            let hint = "its runs have been ended with it; start them again";
            return Err(CommandError::finding(message).hint(hint));
        }
        Ok(self.store.data_version()?)
    }

    /// The id of the run that is named by its id, by a beginning of it, or as the last one of this folder.
    fn find(&self, given: &str) -> Result<String, CommandError> {
        if given != LAST {
            return Ok(self.store.find(given)?);
        }
        let newest = self.store.newest_in(&self.folder.to_string_lossy())?;
        newest.ok_or_else(|| {
            let refused = CommandError::finding("no run was asked for in this folder");
            refused.hint("`grove runs list` lists those of all folders")
        })
    }

    fn load(&self, given: &str) -> Result<LoadedRun, CommandError> {
        let id = self.find(given)?;
        Ok(self.store.load(&id)?)
    }

    fn view(&self, run: &LoadedRun) -> RunView {
        let text = |digest: &Digest| {
            let bytes = self.store.artifact(digest).ok().flatten()?;
            String::from_utf8(bytes).ok()
        };
        RunView::of(&run.id, &run.plan, &run.state, &text).bounded(&run.plan)
    }

    /// Sees to it that somebody does the work of a run. Whoever looks after a child looks after what that asks for: a
    /// supervisor that a child's process started would end with the child.
    fn ensure(&self, surroundings: &str, run: &str) -> Result<(), CommandError> {
        if self.is_child {
            grove_runs::wake(&self.places, surroundings, run);
            return Ok(());
        }
        supervise::ensure(&self.places, surroundings, run)
    }

    /// Whether somebody has to look after what a dead owner left, or after what nobody has taken. A process of a child
    /// neither recovers nor prunes.
    fn needs_recovery(&self) -> Result<bool, CommandError> {
        if self.is_child {
            return Ok(false);
        }
        let is_left = |row: &OpenRow| {
            let holder = row.holder.clone();
            let is_timer = row.effect.kind == EffectKind::Timer;
            !is_timer && holder.is_none_or(|it| Owner(it).liveness() == Liveness::Gone)
        };
        Ok(self.store.outbox()?.iter().any(is_left))
    }

    /// Records a wish. One that comes too late is none.
    fn wish(&self, run: &str, wish: Wish) -> Result<(), CommandError> {
        let fact = Fact::Wanted {
            by: "a terminal".to_owned(),
            id: grove_runs::new_run_id(),
            wish,
        };
        let draft = Draft {
            fact,
            artifacts: Vec::new(),
            at: now(),
        };
        match self.store.append(run, draft) {
            Err(error) if !error.is_refusal() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Folder(error) => error.into(),
            JournalError::Store(error) => error.into(),
            error @ (JournalError::Key { .. } | JournalError::NotOwn { .. }) => {
                Self::finding(error)
            }
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NoRun(_) => Self::finding(error).hint("`grove runs list` lists them"),
            StoreError::Ambiguous { .. } => Self::usage(error).hint("give more of the id"),
            StoreError::Newer { .. } => Self::finding(error).hint("use the newer version of Grove"),
            _ => Self::internal(error),
        }
    }
}

/// `grove run`.
pub(super) fn run(environment: &Environment, arguments: &RunArgs, out: &mut Output) -> Outcome {
    let runs = Runs::open(environment)?;
    let above = marks::above(environment, &runs)?;
    let child = request::resolve(environment, arguments, above.as_ref())?;
    for warning in &child.warnings {
        out.diagnostic(warning);
    }
    if arguments.require_sandbox {
        required_sandbox::check(environment, &child.request)?;
    }
    approving::keep(environment, &child.approved)?;
    let submitted = submit(&runs.store, &child.request)?;
    for note in child.notes.iter().chain(&submitted.notes) {
        out.note(&format!("note: {note}"));
    }
    let surroundings = &child.request.surroundings;
    runs.ensure(surroundings, &submitted.id)?;
    if child.request.background {
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
    let following = Following {
        environment,
        runs: &runs,
        run: &submitted.id,
        surroundings,
        json: arguments.json,
        timeout: None,
    };
    following.follow(out)
}

/// `grove plan`.
pub(super) fn plan(environment: &Environment, arguments: &PlanArgs, out: &mut Output) -> Outcome {
    let resolved = request::resolve(environment, &arguments.run, None)?;
    for warning in &resolved.warnings {
        out.diagnostic(warning);
    }
    let planned = plan_of(&resolved.request)?;
    for note in resolved.notes.iter().chain(&planned.notes) {
        out.note(&format!("note: {note}"));
    }
    if arguments.mermaid {
        out.text(&planned.plan.mermaid());
    } else if arguments.run.json {
        out.json(&planned.plan);
    } else {
        planning::print(&planned, &resolved.request.task, out);
    }
    Ok(0)
}

/// `grove runs …`.
pub(super) fn manage(
    environment: &Environment,
    command: &RunsCommand,
    out: &mut Output,
) -> Outcome {
    let runs = Runs::open(environment)?;
    let surroundings = || ModelSettings::find(environment).surroundings();
    if runs.needs_recovery()? {
        supervise::start_or_wake(&runs.places, &surroundings(), "")?;
    }
    match command {
        RunsCommand::List { open, limit, json } => {
            let filter = RunFilter {
                only_open: *open,
                most: Some(*limit),
                ..RunFilter::default()
            };
            let rows = runs.store.runs(&filter)?;
            if rows.is_empty() && !json && *open {
                out.note("no open runs; `grove runs list` lists those that have ended");
                return Ok(0);
            }
            list(environment, &rows, *json, out);
            Ok(0)
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
            Ok(0)
        }
        RunsCommand::Logs { run, json } => {
            let loaded = runs.load(run)?;
            for event in &loaded.events {
                if *json {
                    out.json_line(event);
                } else {
                    out.line(&line_of(event));
                }
            }
            Ok(0)
        }
        RunsCommand::Wait { run, timeout, json } => {
            let loaded = runs.load(run)?;
            let surroundings = surroundings();
            if loaded.state.ended.is_none() {
                runs.ensure(&surroundings, &loaded.id)?;
            }
            let following = Following {
                environment,
                runs: &runs,
                run: &loaded.id,
                surroundings: &surroundings,
                json: *json,
                timeout: *timeout,
            };
            following.follow(out)
        }
        RunsCommand::Watch { runs: named } => live::watch(environment, &runs, named, out),
        RunsCommand::Export(arguments) => export::export(environment, &runs, arguments, out),
        RunsCommand::Session { run } => forks::print_session(&runs, run, out),
        RunsCommand::Interrupt { run } => {
            controlling::tell(environment, &runs, run, ChildWish::Pause, out)
        }
        RunsCommand::Steer { run, message } => {
            let wish = ChildWish::Steer(message.clone());
            controlling::tell(environment, &runs, run, wish, out)
        }
        RunsCommand::Resume { arguments, message } => {
            let wish = ChildWish::Resume(message.clone());
            controlling::go_on(environment, &runs, arguments, wish, out)
        }
        RunsCommand::Again { arguments, from } => {
            again::run(environment, &runs, arguments, from.as_deref(), out)
        }
        RunsCommand::Answer { arguments, answer } => {
            let wish = ChildWish::Answer(answer.clone());
            controlling::go_on(environment, &runs, arguments, wish, out)
        }
        RunsCommand::Ledger(arguments) => ledger::show(&runs, arguments, out),
        RunsCommand::Diff { run, json } => patches::diff(&runs, run, *json, out),
        RunsCommand::Apply { run, json } => {
            let named = runs.find(controlling::parts_of(run).0)?;
            marks::require_own(environment, &runs, &named)?;
            patches::apply(environment, &runs, run, *json, out)
        }
        RunsCommand::Stop { run, now } => {
            let loaded = runs.load(run)?;
            marks::require_own(environment, &runs, &loaded.id)?;
            if loaded.state.ended.is_some() {
                let state = loaded.state.shown();
                out.line(&format!("{} has ended already: {state}", loaded.id));
                return Ok(0);
            }
            runs.wish(&loaded.id, Wish::Stop { now: *now })?;
            runs.ensure(&surroundings(), &loaded.id)?;
            out.line(&format!("{} has been told to stop", loaded.id));
            Ok(0)
        }
        RunsCommand::Prune {
            days,
            unacknowledged,
            json,
        } => {
            if runs.is_child {
                let message = "a child does not take runs away";
                return Err(CommandError::usage(message));
            }
            let days = days.unwrap_or_else(|| keep_days(environment));
            prune(&runs, days, *unacknowledged, *json, out)
        }
    }
}

/// How long the configuration says that runs are kept.
fn keep_days(environment: &Environment) -> u64 {
    let nothing = Request {
        parts: Parts::NOTHING,
        ..Request::default()
    };
    let world = World::find(&Arc::new(environment.clone()), &nothing);
    world.settings.settings.run_keep_days.value
}

fn prune(runs: &Runs, days: u64, unacknowledged: bool, json: bool, out: &mut Output) -> Outcome {
    let at = now();
    let filter = RunFilter {
        ended_before: Some(at.wall.saturating_sub(days.saturating_mul(DAY_MS))),
        most: Some(usize::MAX),
        ..RunFilter::default()
    };
    let old = runs.store.runs(&filter)?;
    let long_ago = at.wall.saturating_sub(UNACKNOWLEDGED_DAYS * DAY_MS);
    // A result that nobody took waits a month for its owner; a run that somebody is still being told of is not over.
    let taken = old.into_iter().filter(|run| {
        let is_old = run.ended_at.is_some_and(|ended| ended <= long_ago);
        let is_quiet = runs
            .store
            .outbox_of(&run.id)
            .is_ok_and(|rows| rows.is_empty());
        is_quiet && (run.acknowledged || unacknowledged || is_old)
    });
    // A working tree that was left has what is nowhere else.
    let (kept, ids): (Vec<String>, Vec<String>) = taken
        .map(|run| run.id)
        .partition(|id| grove_fs::files::is_there(&runs.places.worktrees(id)));
    let pruned = runs.store.prune(ids.clone(), at)?;
    for id in &ids {
        grove_fs::files::remove_folder(&runs.places.of_run(id))?;
    }
    if json {
        out.json(&json!({ "schema": "grove.pruned/1", "runs": pruned.runs, "artifacts": pruned.artifacts, "kept": kept }));
    } else {
        out.line(&format!("{} deleted", super::counted(pruned.runs, "run")));
        for id in &kept {
            out.note(&format!(
                "{id} was kept: `grove runs show {id}` names its working trees"
            ));
        }
    }
    Ok(0)
}

fn list(environment: &Environment, rows: &[RunRow], json: bool, out: &mut Output) {
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
        let state = match &row.reason {
            Some(reason) => format!("{}: {reason}", row.shown()),
            None => row.shown().to_owned(),
        };
        let tokens = page.number(usize::try_from(row.tokens).unwrap_or(usize::MAX));
        table.row(&[&row.id, &state, &tokens, &row.title]);
    }
    out.painted(&table.render(page));
}

fn row_json(row: &RunRow) -> Value {
    json!({
        "id": row.id,
        "title": row.title,
        "folder": row.folder,
        "state": row.state,
        "reason": row.reason,
        "submittedAt": row.submitted_at,
        "endedAt": row.ended_at,
        "tokens": row.tokens,
        "acknowledged": row.acknowledged,
        "parent": row.parent,
    })
}

/// The one number of tokens that people are shown: those that limits count.
fn tokens_in_words(tokens: u64) -> String {
    match usize::try_from(tokens).unwrap_or(usize::MAX) {
        1 => "1 token".to_owned(),
        several => format!("{} tokens", super::grouped(several)),
    }
}

fn show(view: &RunView, out: &mut Output) {
    let reason = view
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    out.line(&format!("run {} {}{reason}", view.id, view.shown()));
    for node in &view.nodes {
        let engine = match node.engine.as_str() {
            "native" => String::new(),
            engine => {
                let version = node.program_version.as_ref();
                let version = version.map_or_else(String::new, |it| format!(" {it}"));
                format!(" by {engine}{version}")
            }
        };
        let items = node.items.map_or_else(String::new, |count| {
            format!(" for {}", super::counted(count, "item"))
        });
        out.line(&format!(
            "  {} {}{engine}{items} ({})",
            node.id,
            node.agent,
            node.shown()
        ));
        for attempt in &node.attempts {
            // A question has a line of its own.
            let reason = attempt
                .reason
                .as_ref()
                .filter(|_| attempt.state != "asking");
            let reason = reason.map_or_else(String::new, |why| format!(" ({})", one_line(why)));
            out.line(&format!(
                "    try {} with {}: {}{reason}, {}, {}, {}",
                attempt.n,
                attempt.model,
                attempt.state,
                super::counted(attempt.turns as usize, "answer"),
                super::counted(attempt.tool_calls, "tool call"),
                tokens_in_words(attempt.tokens),
            ));
            for run in &attempt.delegated {
                out.line(&format!(
                    "      asked for run {run}: `grove runs show {run}`"
                ));
            }
        }
        if node.state == "asking" {
            let question = node.reason.as_deref().unwrap_or_default();
            out.line(&format!("    asks: {question}"));
        }
        match (&node.rejected, node.acceptance) {
            (Some(why), _) => {
                out.line(&format!("    {REJECTED}: {why}"));
                if !node.checks.is_empty() {
                    let run = &view.id;
                    out.line(&format!("    what it printed: `grove runs ledger {run}`"));
                }
            }
            (None, "none") => {}
            (None, level) => out.line(&format!("    {level}")),
        }
        if let Some(patch) = &node.patch {
            let files = usize::try_from(patch.files).unwrap_or(usize::MAX);
            let (run, id) = (&view.id, &node.id);
            let mut line = "    changed no file".to_owned();
            if files > 0 {
                let files = super::counted(files, "file");
                line = format!("    changed {files}: `grove runs diff {run}.{id}`");
            }
            out.line(&line);
        }
        if let Some(tree) = &node.worktree {
            let why = tree.kept.as_deref().unwrap_or("in use");
            out.line(&format!("    working tree {}: {why}", tree.path.display()));
        }
        if let Some(why) = &node.not_proven_ended {
            out.line(&format!("    not proven to have ended: {why}"));
        }
    }
    if let Some(delivered) = &view.on_complete {
        out.line(&format!("  on_complete {}", delivered.end));
    }
    if let Some(result) = &view.answer {
        out.line("");
        out.text(result);
        if !result.ends_with('\n') {
            out.line("");
        }
    }
}

/// The first line of a result after a colon, as far as it is short.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = one_line(line.unwrap_or_default().trim());
    let end = line.floor_char_boundary(MOST_OF_RESULT);
    match line.get(..end).unwrap_or_default() {
        "" => String::new(),
        kept if kept.len() < line.len() => format!(": {kept}…"),
        kept => format!(": {kept}"),
    }
}

/// An event in a line.
fn line_of(event: &Event) -> String {
    let what = match &event.fact {
        Fact::Submitted { .. } => "submitted".to_owned(),
        Fact::Leased {
            effect,
            epoch,
            holder,
        } => {
            format!("{effect} taken by process {} (epoch {epoch})", holder.pid)
        }
        Fact::Told { of, .. } => format!("{of} gets the message that was put together for it"),
        Fact::Found { of, file, .. } => match file {
            FoundFile::Absent => format!("{of} has no answer file yet"),
            FoundFile::There { .. } => format!("{of} finds an earlier answer file"),
        },
        Fact::Noticed { of, why, .. } => format!("{of} may need attention: {why}"),
        Fact::Compacted { of, turns, .. } => {
            format!("{of} its first {turns} turns were summarised")
        }
        Fact::Turned { of, turn, .. } => format!(
            "{of} the model answered: {}, {}",
            tokens_in_words(turn.usage.counted()),
            turn.stop
        ),
        Fact::Wasted { of, usage, .. } => format!(
            "{of} a request failed: {}",
            tokens_in_words(usage.counted())
        ),
        Fact::Delegated { of, run, .. } => format!("{of} asked for run {run}"),
        Fact::Used { of, usage, .. } => format!(
            "{of} a run below it used {}",
            tokens_in_words(usage.counted())
        ),
        Fact::Called { of, call, .. } => match &call.arguments {
            Body::Inline(arguments) => format!("{of} calls {}: {}", call.tool, about(arguments)),
            Body::Artifact(_) => format!("{of} calls {}", call.tool),
        },
        Fact::Returned {
            of, call, outcome, ..
        } => {
            let how = match outcome {
                CallOutcome { is_error: true, .. } => "failed",
                CallOutcome { goes_on: true, .. } => "goes on",
                _ => "returned",
            };
            let said = match &outcome.content {
                Body::Inline(Value::String(text)) => first_line(text),
                _ => String::new(),
            };
            format!("{of} call {} {how}{said}", call.0)
        }
        Fact::Answered { effect, .. } => format!("{effect} done"),
        Fact::Gone { effect, why, .. } => format!("{effect} lost its holder: {why}"),
        Fact::Wanted { by, wish, .. } => match wish {
            Wish::Stop { now: true } => format!("{by} asked it to end now"),
            Wish::Stop { now: false } => format!("{by} asked it to stop"),
            Wish::Acknowledge => format!("{by} collected the result"),
            Wish::Pause { node: Some(node) } => format!("{by} asked {node} to pause"),
            Wish::Pause { node: None } => format!("{by} asked it to pause"),
            Wish::Resume { node, .. } => format!("{by} asked {node} to continue"),
            Wish::Steer { node, .. } => format!("{by} sent {node} a message"),
            Wish::Answer { node, .. } => format!("{by} answered {node}"),
        },
        Fact::Fired { timer } => format!("{timer} fired"),
    };
    format!("{:>4} {what}", event.seq)
}
