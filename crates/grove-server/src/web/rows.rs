//! The children of a run: a row for each, with its bar on the time of the run.
//!
//! A step of many children shows those that a person has to see first, and leads to the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use grove_engine::view::history::{ChildHistory, Phase, PhaseSpan};
use grove_engine::view::{Execution, LiveChild, LiveStep, NodeId};
use grove_spec::text::{counted, grouped, one_line};

use super::asked::Fields;
use super::html::HtmlPage;
use super::list_page;
use super::scene::Scene;
use super::viewer::anchor;
use super::wording;

/// The most children of a step that have a row each; of more, some are chosen.
const MOST_ROWS: usize = 40;
/// The most rows that are chosen of a step with more children.
const CHOSEN: usize = 25;
/// The children that a page of a single step shows.
pub(super) const PAGE: usize = 200;

/// The children of a step that are shown.
pub(super) fn shown<'s, 'a>(step: &'s LiveStep<'a>) -> Vec<&'s LiveChild<'a>> {
    if step.children.len() <= MOST_ROWS {
        return step.children.iter().collect();
    }
    let mut chosen: Vec<&LiveChild<'a>> = step.children.iter().collect();
    // Sorting keeps the order of the plan among those that are alike.
    chosen.sort_by_key(|child| urgency(child));
    chosen.truncate(CHOSEN);
    chosen
}

/// Returns how much a person has to see a child before others: less is sooner.
fn urgency(child: &LiveChild<'_>) -> u8 {
    match child.state {
        Execution::Asking(_) => 0,
        _ if child.attention.is_some() => 1,
        Execution::Paused(_) => 2,
        Execution::Failed(_) | Execution::Lost(_) => 3,
        _ if child.accepted.is_rejected() => 3,
        Execution::Running => 4,
        Execution::Queued => 5,
        Execution::Stopped(_) => 6,
        Execution::Complete => 7,
        Execution::Skipped | Execution::Pending => 8,
    }
}

/// Writes every step with its children.
pub(super) fn steps(scene: &Scene<'_>, html: &mut HtmlPage) {
    for step in &scene.live.steps {
        section(scene, step, html);
    }
}

/// Writes a step with its children.
pub(super) fn section(scene: &Scene<'_>, step: &LiveStep<'_>, html: &mut HtmlPage) {
    let id = anchor("s", &step.id);
    html.tag("section", &[("id", &id), ("class", "step")]);
    let is_many = step.is_group || step.children.len() > 1;
    if is_many {
        html.markup("<h3>");
        let name = if step.name.is_empty() {
            "step"
        } else {
            step.name
        };
        html.text(&format!("{} {}", step.id, one_line(name)));
        html.element(" <small class=\"quiet\">", &counts(step), "</small></h3>\n");
    }
    html.markup("<ol class=\"children\">\n");
    let shown = shown(step);
    let names = names(scene, &shown);
    for child in &shown {
        row(scene, child, names.get(&child.id).map(String::as_str), html);
    }
    html.markup("</ol>\n");
    if step.children.is_empty() {
        html.markup("<p class=\"quiet\">Its items are not known yet.</p>\n");
    }
    if let Some(more @ 1..) = step.children.len().checked_sub(shown.len()) {
        let words = format!("and {} more", grouped(more));
        match scene
            .viewer
            .address(&["runs", &scene.run.id, "steps", step.id.as_str()])
        {
            Some(address) => html
                .markup("<p>")
                .leaf("a", &[("href", &address)], &words)
                .markup("</p>\n"),
            None => html.element("<p class=\"quiet\">", &words, "</p>\n"),
        };
    }
    html.markup("</section>\n");
}

/// Writes a page of a step: its children in their order, or those in a state.
pub(super) fn step_page(
    scene: &Scene<'_>,
    step: &LiveStep<'_>,
    query: &Fields,
    html: &mut HtmlPage,
) {
    let name = if step.name.is_empty() {
        "step"
    } else {
        step.name
    };
    html.element(
        "<h1>",
        &format!("{} {}", step.id, one_line(name)),
        "</h1>\n",
    );
    let address = scene
        .viewer
        .address(&["runs", &scene.run.id, "steps", step.id.as_str()]);
    let address = address.unwrap_or_default();
    let state = query.said("state").unwrap_or_default();
    let mut words: Vec<&'static str> = Vec::new();
    for child in &step.children {
        if !words.contains(&child.shown()) {
            words.push(child.shown());
        }
    }
    html.tag("form", &[("class", "filters"), ("action", &address)]);
    list_page::select("State", "state", state, &words, html);
    html.markup("<button>Show</button></form>\n");
    let children = step.children.iter();
    let children = children.filter(|child| state.is_empty() || child.shown() == state);
    let children: Vec<&LiveChild<'_>> = children.collect();
    let from = query
        .number::<usize>("from")
        .unwrap_or(0)
        .min(children.len());
    html.markup("<p class=\"pages\">");
    for first in (0..children.len()).step_by(PAGE) {
        let last = (first + PAGE).min(children.len());
        let words = format!("{} to {}", grouped(first + 1), grouped(last));
        let address = format!("{address}?state={state}&from={first}");
        let mut link = vec![("href", address.as_str())];
        if first == from {
            link.push(("aria-current", "page"));
        }
        html.leaf("a", &link, &words).markup(" ");
    }
    html.markup("</p>\n<ol class=\"children\">\n");
    let shown: Vec<&LiveChild<'_>> = children.into_iter().skip(from).take(PAGE).collect();
    let names = names(scene, &shown);
    for child in shown {
        row(scene, child, names.get(&child.id).map(String::as_str), html);
    }
    html.markup("</ol>\n");
}

/// The states of a step's children with their numbers.
pub(super) fn counts(step: &LiveStep<'_>) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for child in &step.children {
        let word = child.shown();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let words = counts
        .iter()
        .map(|(word, count)| format!("{} {word}", grouped(*count)));
    words.collect::<Vec<_>>().join(", ")
}

/// Writes the rows of some children of a step.
pub(super) fn changed(
    scene: &Scene<'_>,
    step: &LiveStep<'_>,
    children: &[&LiveChild<'_>],
    html: &mut HtmlPage,
) {
    let names = names(scene, &shown(step));
    for child in children {
        row(scene, child, names.get(&child.id).map(String::as_str), html);
    }
}

/// The words that tell children of a step apart that have no names of their own.
pub(super) fn names(scene: &Scene<'_>, shown: &[&LiveChild<'_>]) -> BTreeMap<NodeId, String> {
    if shown.len() < 2 {
        return BTreeMap::new();
    }
    let authors = shown
        .iter()
        .filter(|child| scene.run.plan.reviews(&child.id).is_none());
    scene.journal.told_apart(authors.copied())
}

/// Writes the row of a child, with the words that tell it apart.
pub(super) fn row(
    scene: &Scene<'_>,
    child: &LiveChild<'_>,
    told: Option<&str>,
    html: &mut HtmlPage,
) {
    let word = child.shown();
    let id = anchor("c", &child.id);
    html.tag("li", &[("id", &id), ("class", "child")]);
    html.markup("<div class=\"who\">");
    let address = scene.viewer.child(&scene.run.id, &child.id);
    let name = format!("{} {}", child.id, one_line(child.name));
    html.leaf("a", &[("href", &address)], &name).markup(" ");
    wording::state(word, html);
    if let Some(told) = told {
        html.element("<p class=\"quiet\">", &first_words(told, 60), "</p>");
    }
    html.markup("</div>");
    bar(scene, &child.id, html);
    html.markup("<div class=\"now\">");
    now(scene, child, html);
    html.markup("</div><div class=\"with quiet\">");
    html.text(&with(child))
        .markup("</div><div class=\"spent\">");
    html.text(&spent(child));
    html.markup("</div></li>\n");
}

/// What a child does now, or how it ended.
fn now(scene: &Scene<'_>, child: &LiveChild<'_>, html: &mut HtmlPage) {
    if let Some(doing) = child.doing {
        html.text(&one_line(doing));
        if let Some(at) = child.last_sign_at {
            html.markup(" <span class=\"quiet\">");
            wording::age(at.wall, &scene.viewer, scene.last(), html);
            html.markup("</span>");
        }
    }
    if let Some(why) = child.attention {
        html.element(" <b class=\"doubt\">▲ ", &why.to_string(), "</b>");
    }
    let reason = match child.state {
        Execution::Asking(question) => Some(one_line(&question.text)),
        _ if child.accepted.is_rejected() => rejection(child),
        state => state.reason().map(|reason| one_line(&reason)),
    };
    match reason {
        Some(reason) => html.text(&first_words(&reason, 160)),
        None => html.element(
            "<span class=\"quiet\">",
            &first_of_answer(scene, child),
            "</span>",
        ),
    };
}

/// The first words of the answer of a child that is done.
fn first_of_answer(scene: &Scene<'_>, child: &LiveChild<'_>) -> String {
    let output = child.node.filter(|_| *child.state == Execution::Complete);
    let text = output.and_then(|node| node.output()?.text.as_ref());
    let text = text
        .and_then(|digest| scene.text(digest))
        .unwrap_or_default();
    let line = text.lines().find(|line| !line.trim().is_empty());
    first_words(&one_line(line.unwrap_or_default()), 100)
}

/// The reason why the work of a child does not count.
pub(super) fn rejection(child: &LiveChild<'_>) -> Option<String> {
    match child.accepted {
        grove_engine::view::Accepted::Rejected { why } => Some(one_line(why)),
        _ => None,
    }
}

/// The beginning of a line, with a sign where there is more of it.
pub(super) fn first_words(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// The model and the engine of a child, and its attempt if it is not the first.
pub(super) fn with(child: &LiveChild<'_>) -> String {
    let mut words = one_line(child.model());
    if child.child.engine != "native" {
        words.push_str(" by ");
        words.push_str(&one_line(&child.child.engine));
    }
    if let Some(tries @ 2..) = child.node.map(|node| node.attempts.len()) {
        let _ = write!(words, ", try {tries}");
    }
    words
}

/// The calls of a child.
pub(super) fn calls(scene: &Scene<'_>, child: &LiveChild<'_>) -> String {
    let calls = scene.history(&child.id).map_or(0, ChildHistory::calls);
    counted(calls, "call")
}

/// The tokens and the money of a child, beside its limit if it has one.
pub(super) fn spent(child: &LiveChild<'_>) -> String {
    let limit = child.child.limits.max_tokens;
    let of = limit.map_or_else(String::new, |most| format!(" of {}", wording::tokens(most)));
    let mut words = if child.tokens == 0 && limit.is_none() {
        String::new()
    } else {
        format!("{}{of} tokens", wording::tokens(child.tokens))
    };
    if let Some(cost) = child.cost.filter(|cost| *cost > 0) {
        words.push_str(" · ");
        words.push_str(&wording::money(cost));
    }
    words
}

/// The bar of a child: a span for each phase, on the time of the whole run. Phases differ in height, not in colour alone.
pub(super) fn bar(scene: &Scene<'_>, id: &NodeId, html: &mut HtmlPage) {
    let began = scene.began();
    // In a part that is sent when it changes the script says how far the time is.
    let until = if scene.viewer.is_stream() && scene.goes_on() {
        began
    } else {
        scene.until()
    };
    let all = until.saturating_sub(began).max(1);
    let spans = scene.history(id).map_or(&[][..], |history| &history.phases);
    let view = format!("0 0 {all} 12");
    let mut svg = vec![
        ("class", "bar"),
        ("viewBox", view.as_str()),
        ("preserveAspectRatio", "none"),
        ("role", "img"),
    ];
    let words = bar_in_words(spans);
    svg.push(("aria-label", &words));
    let from = began.to_string();
    if scene.goes_on() {
        svg.push(("data-from", &from));
    }
    html.tag("svg", &svg);
    for span in spans {
        let x = span.from.saturating_sub(began);
        let end = span.until.unwrap_or(until).max(span.from);
        let (x, width) = (x.to_string(), (end - span.from).max(1).to_string());
        let (y, height) = shape(span.phase);
        let class = format!("p-{}", span.phase.class());
        let mut rect = vec![
            ("class", class.as_str()),
            ("x", &x),
            ("y", y),
            ("width", &width),
            ("height", height),
        ];
        if span.until.is_none() && scene.goes_on() {
            rect.push(("data-open", ""));
        }
        html.tag("rect", &rect).markup("</rect>");
    }
    html.markup("</svg>");
}

/// The phases of a bar in words, for readers who do not see it.
fn bar_in_words(spans: &[PhaseSpan]) -> String {
    let words = spans.iter().map(|span| match span.until {
        Some(until) => {
            let took = wording::duration(until.saturating_sub(span.from));
            format!("{} {took}", span.phase.word())
        }
        None => format!("{} now", span.phase.word()),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return "not begun".to_owned();
    }
    words.join(", ")
}

/// The top and the height of a phase in a bar that is twelve high.
const fn shape(phase: Phase) -> (&'static str, &'static str) {
    match phase {
        Phase::Waiting => ("5.5", "1"),
        Phase::Preparing => ("4", "4"),
        Phase::Working => ("1", "10"),
        Phase::Recovering | Phase::Paused => ("5", "2"),
        Phase::Checking => ("3", "6"),
        Phase::Reviewed => ("4.5", "3"),
        Phase::Asking => ("0", "12"),
    }
}

/// The phases that bars show, with their names.
pub(super) fn legend(scene: &Scene<'_>, html: &mut HtmlPage) {
    let mut there: Vec<Phase> = Vec::new();
    for (_, history) in scene.run.history.children() {
        for span in &history.phases {
            if !there.contains(&span.phase) {
                there.push(span.phase);
            }
        }
    }
    html.markup("<p class=\"legend quiet\">");
    for phase in Phase::ALL.into_iter().filter(|phase| there.contains(phase)) {
        html.markup("<span><svg viewBox=\"0 0 18 12\" aria-hidden=\"true\">");
        let (y, height) = shape(phase);
        let class = format!("p-{}", phase.class());
        let rect = [
            ("class", class.as_str()),
            ("x", "0"),
            ("y", y),
            ("width", "18"),
            ("height", height),
        ];
        html.tag("rect", &rect).markup("</rect></svg> ");
        html.text(phase.word()).markup("</span> ");
    }
    html.markup("</p>\n");
}

/// A number that changes when the row of a child does.
pub(super) fn signature(child: &LiveChild<'_>, history: Option<&ChildHistory>) -> u64 {
    let mut hasher = DefaultHasher::new();
    child.shown().hash(&mut hasher);
    child.doing.hash(&mut hasher);
    let sign = child.last_sign_at.map(|at| at.wall / 1_000);
    (sign, child.tokens, child.cost).hash(&mut hasher);
    child.attention.map(|why| why.to_string()).hash(&mut hasher);
    child.node.map(|node| node.attempts.len()).hash(&mut hasher);
    child
        .question()
        .map(|question| &question.text)
        .hash(&mut hasher);
    history
        .map(|history| history.phases.len())
        .hash(&mut hasher);
    let last = history.and_then(|history| history.phases.last());
    last.map(|span| span.until).hash(&mut hasher);
    hasher.finish()
}

/// The number of a run's children that are over, and of all.
pub(super) fn progress(scene: &Scene<'_>) -> String {
    let (mut over, mut all) = (0, 0);
    for child in scene.live.children() {
        all += 1;
        over += usize::from(child.state.is_terminal());
    }
    if over == all {
        return counted(all, "child").replace("childs", "children");
    }
    format!("{} of {} children over", grouped(over), grouped(all))
}
