//! The picture of runs that go on, for a terminal: a function of their states, of what the person types and of the size
//! of the terminal. No line is wider and no frame is higher than there is room, and no word is broken that has room.

use grove_engine::view::{Execution, LiveChild, LiveRun, LiveStep, NodeId, REJECTED};
use grove_spec::text::{counted, one_line};
use unicode_width::UnicodeWidthStr as _;

use super::child_line::{ColumnWidths, mark, meaning, meaning_of};
use super::line::{FrameLine, fitted, money, time, whole};
use crate::colour::ColourMeaning;
use crate::table::wrapped;
use grove_spec::text::grouped;

pub(super) struct ShownRun<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) live: LiveRun<'a>,
    /// True if it has a heading and nothing else.
    pub(super) is_brief: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameFooter<'a> {
    pub(super) hint: &'a str,
    /// The answer that the person types: the number of its question, and the words.
    pub(super) answer: Option<(usize, &'a str)>,
    pub(super) more_runs: usize,
}

const SHOWN_QUESTIONS: usize = 3;
const QUESTION_LINES: usize = 3;

pub(super) struct AskingChild<'a> {
    pub(super) run: &'a str,
    pub(super) child: &'a LiveChild<'a>,
    pub(super) question: &'a str,
}

/// Returns all children that ask, in the order in which they are shown.
pub(super) fn asking_children<'a>(runs: &'a [ShownRun<'a>]) -> Vec<AskingChild<'a>> {
    let mut all = Vec::new();
    for run in runs {
        for child in run.live.children() {
            if let Execution::Asking(question) = child.state {
                all.push(AskingChild {
                    run: run.id,
                    child,
                    question: &question.text,
                });
            }
        }
    }
    all
}

pub(super) fn frame(
    runs: &[ShownRun<'_>],
    footer: &FrameFooter<'_>,
    size: FrameSize,
) -> Vec<FrameLine> {
    let below = footer_lines(runs, footer, size.columns);
    let room = size.rows.saturating_sub(below.len()).max(1);
    let mut lines = run_lines(runs, footer.more_runs, FrameSize { rows: room, ..size });
    lines.extend(below);
    // The line that the person types comes last, and always has room.
    let over = lines.len().saturating_sub(size.rows);
    lines.drain(..over);
    lines
}

fn run_lines(runs: &[ShownRun<'_>], more: usize, size: FrameSize) -> Vec<FrameLine> {
    let FrameSize { columns, rows } = size;
    let is_beyond = more > 0 || runs.len() > rows;
    let shown = runs.len().min(rows.saturating_sub(usize::from(is_beyond)));
    let hidden = more + runs.len() - shown;
    let runs = runs.get(..shown).unwrap_or_default();
    let headings = shown + usize::from(hidden > 0);
    let wanted: Vec<usize> = runs
        .iter()
        .map(|run| {
            if run.is_brief {
                0
            } else {
                wanted_rows(&run.live)
            }
        })
        .collect();
    let given = shares(&wanted, rows.saturating_sub(headings));
    let mut lines = Vec::new();
    for (run, rows) in runs.iter().zip(given) {
        lines.push(heading(run, columns));
        lines.extend(body(&run.live, FrameSize { columns, rows }));
    }
    if hidden > 0 {
        let more = format!("… and {}", counted(hidden, "more run"));
        lines.push(FrameLine::meaning(ColourMeaning::Quiet, &more, columns));
    }
    lines
}

/// Shares rows out: none gets more than it wants, and what one leaves the others have.
fn shares(wanted: &[usize], rows: usize) -> Vec<usize> {
    let mut given = vec![0; wanted.len()];
    let mut left = rows;
    while left > 0 {
        let mut hungry: Vec<usize> = (0..wanted.len())
            .filter(|at| given.get(*at) < wanted.get(*at))
            .collect();
        if hungry.is_empty() {
            break;
        }
        hungry.truncate(left);
        let each = (left / hungry.len()).max(1);
        for at in hungry {
            if let (Some(given), Some(wanted)) = (given.get_mut(at), wanted.get(at)) {
                let more = each.min(wanted - *given).min(left);
                *given += more;
                left -= more;
            }
        }
    }
    given
}

/// The rows below its heading that a run would like.
fn wanted_rows(run: &LiveRun<'_>) -> usize {
    let flow = usize::from(run.steps.len() > 1);
    flow + run.steps.iter().map(rows_of_step).sum::<usize>()
}

fn rows_of_step(step: &LiveStep<'_>) -> usize {
    usize::from(step.is_group) + step.children.len()
}

fn heading(run: &ShownRun<'_>, columns: usize) -> FrameLine {
    let live = &run.live;
    let word = if live.is_stopping && !live.state.is_terminal() {
        "stopping"
    } else {
        live.shown()
    };
    let mut line = FrameLine::default();
    line.push_marked(Some(ColourMeaning::Heading), &format!("run {}", run.id));
    line.push(" ");
    let meaning = if live.is_rejected() {
        Some(ColourMeaning::Bad)
    } else {
        meaning(&live.state)
    };
    line.push_marked(meaning, word);
    let mut line = cut(line, columns);
    let mut add = |text: &str| {
        if !text.is_empty() && line.width + 3 + text.width() <= columns {
            line.push(" · ");
            line.push(text);
        }
    };
    add(&time(live.ms));
    add(&format!("{} tokens", grouped(whole(live.tokens))));
    if let Some(cost) = live.cost.filter(|cost| *cost > 0) {
        add(&format!("cost {}", money(cost)));
    }
    let reason = live.reason.as_deref().map(one_line);
    let is_asking = matches!(live.state, Execution::Asking(_));
    let about = reason.filter(|_| !is_asking);
    let about = about.unwrap_or_else(|| one_line(run.title));
    let room = columns.saturating_sub(line.width + 3);
    if room >= 8 && !about.is_empty() {
        line.push(" · ");
        line.push_marked(Some(ColourMeaning::Quiet), &fitted(&about, room));
    }
    line
}

fn body(run: &LiveRun<'_>, size: FrameSize) -> Vec<FrameLine> {
    let FrameSize { columns, rows } = size;
    if rows == 0 {
        return Vec::new();
    }
    if wanted_rows(run) > rows {
        return in_short(run, size);
    }
    let mut lines = Vec::new();
    if run.steps.len() > 1 {
        lines.push(flow(run, columns));
    }
    let layout = ColumnWidths::of(run.children(), columns);
    for step in &run.steps {
        if step.is_group {
            lines.push(card(step, columns));
        }
        let last = step.children.len().saturating_sub(1);
        for (at, child) in step.children.iter().enumerate() {
            let edge = match (step.is_group, at == last) {
                (false, _) => "",
                (true, false) => "│ ",
                (true, true) => "└ ",
            };
            lines.push(layout.line(edge, child));
        }
    }
    lines
}

/// A run with more children than rows: the number in each state, then those that ask, failed and work now.
fn in_short(run: &LiveRun<'_>, size: FrameSize) -> Vec<FrameLine> {
    let FrameSize { columns, rows } = size;
    let mut lines = vec![summary(run, columns)];
    if run.steps.len() > 1 && rows > 3 {
        lines.push(flow(run, columns));
    }
    let room = rows.saturating_sub(lines.len());
    let is_bad = |state: &Execution| {
        let is_over = state.is_terminal() && !matches!(state, Execution::Complete);
        is_over && !matches!(state, Execution::Skipped)
    };
    let fits: [&dyn Fn(&LiveChild<'_>) -> bool; 3] = [
        &|child| child.state.is_waiting(),
        &|child| child.is_at_work(),
        &|child| is_bad(child.state) || child.accepted.is_rejected(),
    ];
    let of = |fits: &dyn Fn(&LiveChild<'_>) -> bool| run.children().filter(|it| fits(it)).count();
    let counts: Vec<usize> = fits.iter().map(|fits| of(fits)).collect();
    // Children that ask come first; the others have what is left in equal parts.
    let waiting = counts.first().copied().unwrap_or(0).min(room);
    let mut given = vec![waiting];
    given.extend(shares(counts.get(1..).unwrap_or_default(), room - waiting));
    let mut chosen: Vec<&LiveChild<'_>> = Vec::new();
    for (fits, most) in fits.iter().zip(given) {
        chosen.extend(run.children().filter(|it| fits(it)).take(most));
    }
    let layout = ColumnWidths::of(chosen.iter().copied(), columns);
    lines.extend(chosen.iter().map(|child| layout.line("", child)));
    lines.truncate(rows);
    lines
}

/// `1,000 children: 612 complete, 40 running, 3 failed, 345 pending`.
fn summary(run: &LiveRun<'_>, columns: usize) -> FrameLine {
    let all = run.children().count();
    let noun = if all == 1 { "child" } else { "children" };
    let mut line = FrameLine::default();
    line.push(&fitted(&format!("{} {noun}:", grouped(all)), columns));
    push_counts(&mut line, " ", run.children(), columns);
    line
}

/// Adds the number of children in each state, and a mark where there is no room for all of it.
fn push_counts<'a>(
    line: &mut FrameLine,
    before: &str,
    children: impl Iterator<Item = &'a LiveChild<'a>>,
    columns: usize,
) {
    let counts = counts(children);
    let mut between = before;
    for (at, (child, how_many)) in counts.iter().enumerate() {
        let text = format!("{} {}", grouped(*how_many), child.shown());
        let mark = if at + 1 == counts.len() { 0 } else { 3 };
        if line.width + between.width() + text.width() + mark > columns {
            line.push(if line.width + 3 > columns {
                ""
            } else {
                ", …"
            });
            return;
        }
        line.push(between);
        line.push_marked(meaning_of(child), &text);
        between = ", ";
    }
}

/// Counts children by state: those that ask, failed and work come first.
fn counts<'a>(
    children: impl Iterator<Item = &'a LiveChild<'a>>,
) -> Vec<(&'a LiveChild<'a>, usize)> {
    const ORDER: [&str; 11] = [
        "asking", "failed", "lost", REJECTED, "running", "paused", "stopped", "complete", "queued",
        "pending", "skipped",
    ];
    let mut counts: [Option<(&'a LiveChild<'a>, usize)>; 11] = [None; 11];
    for child in children {
        let at = ORDER.iter().position(|word| *word == child.shown());
        if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
            count.get_or_insert((child, 0)).1 += 1;
        }
    }
    counts.into_iter().flatten().collect()
}

/// `✓ 1 scout → ▸ 2 worker 1/3 → · 3 judge`; steps that are done give way where there is no room.
fn flow(run: &LiveRun<'_>, columns: usize) -> FrameLine {
    const ARROW: &str = " → ";
    let steps: Vec<(Option<ColourMeaning>, String)> = run.steps.iter().map(flow_step).collect();
    let is_over = |step: &LiveStep<'_>| {
        let mut children = step.children.iter();
        !step.children.is_empty() && children.all(|child| child.state.is_terminal())
    };
    let over = run.steps.iter().take_while(|step| is_over(step)).count();
    let width = |steps: &[(Option<ColourMeaning>, String)]| {
        let words: usize = steps.iter().map(|(_, text)| text.width()).sum();
        words + ARROW.width() * steps.len().saturating_sub(1)
    };
    let mut line = FrameLine::default();
    let mut shown = steps.as_slice();
    if width(shown) > columns && over > 1 {
        let hidden = over - 1;
        line.push_marked(Some(ColourMeaning::Good), &format!("✓ {hidden} steps"));
        shown = steps.get(hidden..).unwrap_or_default();
    }
    for (at, (meaning, text)) in shown.iter().enumerate() {
        let arrow = if line.width == 0 { "" } else { ARROW };
        let is_last = at + 1 == shown.len();
        // Unless it is the last one, room is kept for a mark that there are more.
        let mark = if is_last { 0 } else { ARROW.width() + 1 };
        if line.width + arrow.width() + text.width() + mark > columns {
            let mark = if line.width == 0 {
                fitted(text, columns)
            } else {
                "…".to_owned()
            };
            line.push(if line.width + arrow.width() < columns {
                arrow
            } else {
                ""
            });
            line.push(&mark);
            break;
        }
        line.push(arrow);
        line.push_marked(*meaning, text);
    }
    line
}

fn flow_step(step: &LiveStep<'_>) -> (Option<ColourMeaning>, String) {
    let (meaning, mark) = match state_of(step) {
        // A step whose work does not count is not done, however its other children are.
        Execution::Complete if step.children.iter().any(|it| it.accepted.is_rejected()) => {
            (Some(ColourMeaning::Bad), "✗")
        }
        state => (meaning(state), mark(state)),
    };
    let name = one_line(step.name);
    let name = if name.is_empty() {
        "several".to_owned()
    } else {
        name
    };
    let name = fitted(&name, 24);
    let how_many = if step.is_group {
        let done = step
            .children
            .iter()
            .filter(|child| child.state.is_terminal());
        format!(" {}/{}", done.count(), step.children.len())
    } else {
        String::new()
    };
    (meaning, format!("{mark} {} {name}{how_many}", step.id))
}

/// Returns the state of the worst of a step's children, else the one that they all have.
fn state_of<'a>(step: &LiveStep<'a>) -> &'a Execution {
    const ORDER: [&str; 7] = [
        "asking", "failed", "lost", "stopped", "paused", "running", "queued",
    ];
    let states = || step.children.iter().map(|child| child.state);
    let first = |word: &&str| states().find(|state| state.word() == *word);
    if let Some(state) = ORDER.iter().find_map(first) {
        return state;
    }
    let pending = states().find(|state| !state.is_terminal());
    let none = step.list.unwrap_or(&Execution::Pending);
    pending.or_else(|| states().next()).unwrap_or(none)
}

fn card(step: &LiveStep<'_>, columns: usize) -> FrameLine {
    let mut line = FrameLine::default();
    line.push("┌ ");
    let name = fitted(step.name, columns / 3);
    let name = format!("{} {name}", step.id);
    line.push_marked(Some(ColourMeaning::Heading), name.trim_end());
    if step.children.is_empty() {
        let list = step.list.map_or("", Execution::word);
        line.push(&format!(": its items are not known yet, {list}"));
        return cut(line, columns);
    }
    push_counts(&mut line, ": ", step.children.iter(), columns);
    let tokens: u64 = step.children.iter().map(|child| child.tokens).sum();
    let tokens = format!(" · {} tokens", grouped(whole(tokens)));
    if line.width + tokens.width() <= columns {
        line.push(&tokens);
    }
    line
}

/// A line without marks that has no room as it is.
fn cut(line: FrameLine, columns: usize) -> FrameLine {
    if line.width <= columns {
        return line;
    }
    let plain = grove_spec::text::without_controls(&line.text).into_owned();
    FrameLine::of(&plain, columns)
}

fn footer_lines(runs: &[ShownRun<'_>], footer: &FrameFooter<'_>, columns: usize) -> Vec<FrameLine> {
    let askers = asking_children(runs);
    let at = footer.answer.map_or(0, |(at, _)| at);
    let mut lines = Vec::new();
    let first = at.saturating_sub(SHOWN_QUESTIONS - 1);
    for (number, asker) in askers.iter().enumerate().skip(first).take(SHOWN_QUESTIONS) {
        let who = who_asks(runs, asker.run, &asker.child.id);
        let text = format!(
            "{who} {} asks: {}",
            asker.child.name,
            one_line(asker.question)
        );
        let room = columns.saturating_sub(2);
        let all = wrapped(&one_line(&text), room);
        let is_cut = all.len() > QUESTION_LINES;
        for (of, text) in all.iter().take(QUESTION_LINES).enumerate() {
            let is_last = of + 1 == QUESTION_LINES && is_cut;
            let text = if is_last {
                fitted(&format!("{text} …"), room)
            } else {
                text.clone()
            };
            let is_meant = number == at && askers.len() > 1 && footer.answer.is_some();
            let mut line = FrameLine::default();
            line.push(match (of, is_meant) {
                (0, true) => "▸ ",
                (0, false) => "? ",
                _ => "  ",
            });
            line.push_marked(Some(ColourMeaning::Doubtful), &text);
            lines.push(line);
        }
    }
    if askers.len() > first + SHOWN_QUESTIONS {
        let more = askers.len() - first - SHOWN_QUESTIONS;
        let more = format!("… and {}", counted(more, "more question"));
        lines.push(FrameLine::meaning(ColourMeaning::Quiet, &more, columns));
    }
    if !footer.hint.is_empty() {
        lines.push(FrameLine::meaning(
            ColourMeaning::Quiet,
            footer.hint,
            columns,
        ));
    }
    if let Some((at, typed)) = footer.answer
        && let Some(asker) = askers.get(at)
    {
        let who = who_asks(runs, asker.run, &asker.child.id);
        lines.push(prompt(&who, typed, columns));
    }
    lines
}

/// The line that is typed, its end where it has no room; a line that is being typed is cut anywhere.
fn prompt(who: &str, typed: &str, columns: usize) -> FrameLine {
    let mut line = FrameLine::of(&format!("answer {who}:"), columns / 2);
    line.push(" ");
    // A place for the cursor is left.
    let room = columns.saturating_sub(line.width + 1);
    let mut shown = typed;
    while shown.width() > room {
        let mut chars = shown.chars();
        chars.next();
        shown = chars.as_str();
    }
    line.push(shown);
    line
}

/// Returns the name of the child that asks: the child alone where one run is shown.
fn who_asks(runs: &[ShownRun<'_>], run: &str, child: &NodeId) -> String {
    if runs.len() > 1 {
        format!("{run}.{child}")
    } else {
        child.to_string()
    }
}

#[cfg(test)]
mod tests;
