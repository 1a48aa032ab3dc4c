//! The page of a run: what waits for the person, what every child does, what it costs, what it came to.

use grove_engine::view::{Execution, LiveChild, LiveStep, NodeId};
use grove_engine::words::event_line;
use grove_spec::text::one_line;

use super::access::PageRight;
use super::html::HtmlPage;
use super::ledger;
use super::markdown;
use super::plots;
use super::rows::{self, first_words};
use super::scene::{Scene, Written};
use super::viewer::{ActionForm, anchor};
use super::wording;

/// The events that the page shows; of more it leads to the others.
pub(super) const MOST_EVENTS: u64 = 40;
/// The most children whose answers are put together on the page.
const MOST_ANSWERS: usize = 40;
/// The most bytes of the task and of the result.
const MOST_TEXT: usize = 64 << 10;

/// Writes all parts of the page.
pub(super) fn run_page(scene: &Scene<'_>, html: &mut HtmlPage) -> Written<()> {
    top(scene, html);
    actions(scene, html);
    asks(scene, html);
    task(scene, html);
    outcome(scene, html);
    flow(scene, html);
    html.markup("<h2>Children</h2>\n");
    rows::legend(scene, html);
    rows::steps(scene, html);
    html.markup("<h2>Tokens and money</h2>\n");
    plots::spending(scene, html);
    html.markup("<h2>Ledger</h2>\n");
    ledger::of_run(scene, html);
    if scene.viewer.is_live() {
        html.markup("<h2>Events</h2>\n");
        events(scene, html)?;
    }
    Ok(())
}

/// The title and the facts about the run as a whole, with what can be done about it.
pub(super) fn top(scene: &Scene<'_>, html: &mut HtmlPage) {
    html.markup("<header id=\"top\">\n<p class=\"quiet\">Run ");
    html.element("<code>", &scene.run.id, "</code> ");
    wording::state(scene.live.shown(), html);
    if scene.live.is_stopping {
        html.markup(" <span class=\"doubt\">is stopping</span>");
    }
    html.markup("</p>\n");
    let title = one_line(&scene.run.title);
    html.element("<h1>", &first_words(&title, 160), "</h1>\n");
    facts(scene, html);
    if let Some(reason) = &scene.live.reason {
        html.tag("p", &[("class", wording::class(scene.live.shown()))]);
        html.text(reason).markup("</p>\n");
    }
    html.markup("</header>\n");
}

fn facts(scene: &Scene<'_>, html: &mut HtmlPage) {
    let state = &scene.run.state;
    let limits = &scene.run.plan.tree;
    html.markup("<ul class=\"facts\">");
    let fact = |name: &'static str, value: &str, html: &mut HtmlPage| {
        html.element("<li><span class=\"quiet\">", name, "</span> ");
        html.element("<b>", value, "</b></li>");
    };
    fact("", &rows::progress(scene), html);
    let of = |limit: Option<String>| limit.map_or_else(String::new, |most| format!(" of {most}"));
    let tokens = wording::all_tokens(scene.live.tokens);
    let most = limits.max_tokens.map(wording::all_tokens);
    fact("tokens", &format!("{tokens}{}", of(most)), html);
    let most = limits.max_cost.map(wording::money);
    match scene.live.cost {
        Some(0) if most.is_none() => {}
        Some(cost) => fact(
            "cost",
            &format!("{}{}", wording::money(cost), of(most)),
            html,
        ),
        None => fact("cost", "not known", html),
    }
    if let Some(at) = state.submitted {
        fact("since", &wording::utc(at.wall), html);
        html.markup("<li><span class=\"quiet\">took</span> <b>");
        match (state.ended, scene.goes_on()) {
            (None, true) => wording::age(at.wall, &scene.viewer, scene.last(), html),
            _ => {
                html.text(&wording::duration(scene.until() - scene.began()));
            }
        }
        html.markup("</b></li>");
    }
    if let Some(most) = limits.timeout_ms {
        fact("at most", &wording::duration(most), html);
    }
    fact("in", &scene.run.envelope.folder.to_string_lossy(), html);
    html.markup("</ul>\n");
}

/// What can be done about the run as a whole. It is apart from what changes all the time, so that nobody's finger misses it.
pub(super) fn actions(scene: &Scene<'_>, html: &mut HtmlPage) {
    let id = scene.run.id.as_str();
    let form = |action: &'static str| ActionForm {
        action,
        about: id,
        right: PageRight::All,
    };
    if !scene.viewer.may(PageRight::All) {
        return;
    }
    html.markup("<div class=\"actions\" id=\"actions\">");
    if scene.run.state.ended.is_none() {
        let is_at_work = scene.live.children().any(LiveChild::is_at_work);
        if is_at_work {
            scene.viewer.button(&form("pause"), "Pause all", html);
        }
        scene.viewer.button(&form("stop"), "Stop the run", html);
    } else if let Some(address) = scene.viewer.address(&["runs", id, "again"]) {
        html.leaf("a", &[("href", &address), ("class", "button")], "Run again");
    }
    let has_patch = scene.live.children().any(|child| {
        let tree = child.node.and_then(|node| node.worktree.as_ref());
        let stored = tree.and_then(|tree| tree.captured.as_ref());
        stored.is_some_and(|stored| stored.files > 0)
    });
    if has_patch {
        scene
            .viewer
            .button(&form("apply"), "Apply all patches", html);
    }
    html.markup("</div>\n");
}

/// What waits for the person: questions with a place for the answer, and children that are paused.
pub(super) fn asks(scene: &Scene<'_>, html: &mut HtmlPage) {
    html.markup("<div id=\"asks\" data-keyed>\n");
    let waiting = scene
        .live
        .children()
        .filter(|child| child.state.is_waiting());
    for child in waiting.take(rows::PAGE) {
        question(scene, &child.id, html);
    }
    html.markup("</div>\n");
}

/// The question of a child with a place for the answer, or a paused child with the way to go on.
pub(super) fn question(scene: &Scene<'_>, node: &NodeId, html: &mut HtmlPage) {
    let Some(child) = scene.child(node) else {
        return;
    };
    let about = format!("{}.{node}", scene.run.id);
    let tries = child.node.map_or(0, |node| node.attempts.len());
    let id = format!("{}-{tries}", anchor("q", node));
    let address = scene.viewer.child(&scene.run.id, node);
    let name = format!("{node} {}", one_line(child.name));
    html.tag("section", &[("id", &id), ("class", "ask")]);
    if let Execution::Asking(question) = child.state {
        html.markup("<h2><span aria-hidden=\"true\">?</span> ");
        html.leaf("a", &[("href", &address)], &name)
            .markup(" asks</h2>\n");
        html.markup("<div class=\"words\">");
        markdown::write(&question.text, html);
        html.markup("</div>\n");
        let form = ActionForm {
            action: "answer",
            about: &about,
            right: PageRight::Answer,
        };
        scene.viewer.form(&form, html, |html| {
            let label = format!("{id}-answer");
            html.leaf("label", &[("for", &label)], "Your answer");
            let field = [
                ("id", label.as_str()),
                ("name", "text"),
                ("rows", "3"),
                ("required", ""),
            ];
            html.leaf("textarea", &field, "");
            html.markup("<button class=\"first\">Answer</button>");
        });
    } else {
        html.markup("<h2><span aria-hidden=\"true\">‖</span> ");
        html.leaf("a", &[("href", &address)], &name);
        html.text(" is paused").markup("</h2>\n");
        let form = ActionForm {
            action: "resume",
            about: &about,
            right: PageRight::All,
        };
        scene.viewer.form(&form, html, |html| {
            let label = format!("{id}-words");
            html.leaf(
                "label",
                &[("for", &label)],
                "What it hears when it goes on, if anything",
            );
            let field = [("id", label.as_str()), ("name", "text"), ("rows", "2")];
            html.leaf("textarea", &field, "");
            html.markup("<button class=\"first\">Continue</button>");
        });
    }
    html.markup("</section>\n");
}

/// The steps in their order, each with how far its children are.
pub(super) fn flow(scene: &Scene<'_>, html: &mut HtmlPage) {
    html.markup("<nav id=\"flow\" aria-label=\"Steps\">");
    if scene.live.steps.len() > 1 {
        html.markup("<ol class=\"flow\">\n");
        for step in &scene.live.steps {
            chip(scene, step, html);
        }
        html.markup("</ol>\n");
    }
    html.markup("</nav>\n");
}

fn chip(scene: &Scene<'_>, step: &LiveStep<'_>, html: &mut HtmlPage) {
    let urgent = step
        .children
        .iter()
        .map(LiveChild::shown)
        .min_by_key(|word| match *word {
            "asking" => 0,
            "paused" => 1,
            "running" => 2,
            "failed" | "lost" | "rejected" => 3,
            "queued" => 4,
            "pending" => 5,
            _ => 6,
        });
    let class = wording::class(urgent.unwrap_or_default());
    html.tag("li", &[("class", class)]);
    let to = format!("#{}", anchor("s", &step.id));
    html.tag("a", &[("href", &to)]);
    let name = if step.name.is_empty() {
        "step"
    } else {
        step.name
    };
    let sign = wording::sign(urgent.unwrap_or_default());
    html.element("<span aria-hidden=\"true\">", sign, "</span> ");
    html.text(&format!("{} {}", step.id, one_line(name)));
    html.element(" <small>", &rows::counts(step), "</small></a>");
    let after = after(scene, &step.id);
    if !after.is_empty() {
        html.element(
            "<small class=\"quiet\">after ",
            &after.join(", "),
            "</small>",
        );
    }
    html.markup("</li>\n");
}

/// The steps that have to be complete before a step, where those are others than the one before it.
fn after(scene: &Scene<'_>, id: &NodeId) -> Vec<String> {
    let plan = &scene.run.plan;
    let step_of = |node: &NodeId| plan.group_of(node).unwrap_or_else(|| node.clone());
    let mut nodes = plan.nodes.iter();
    let node = nodes.find(|node| node.id == *id || node.group.as_ref() == Some(id));
    let mut after: Vec<String> = Vec::new();
    for before in node.map_or(&[][..], |node| &node.after) {
        let step = step_of(before).to_string();
        if !after.contains(&step) {
            after.push(step);
        }
    }
    let steps = &scene.live.steps;
    let at = steps.iter().position(|step| step.id == *id);
    let before = at.and_then(|at| steps.get(at.checked_sub(1)?));
    let is_usual = match (after.as_slice(), before) {
        ([], None) => true,
        ([one], Some(before)) => *one == before.id.to_string(),
        _ => false,
    };
    if is_usual {
        return Vec::new();
    }
    if after.is_empty() {
        after.push("nothing".to_owned());
    }
    after
}

/// The task of the run, where it is longer than the title.
fn task(scene: &Scene<'_>, html: &mut HtmlPage) {
    let task = scene.run.envelope.task.as_str();
    if task.trim().is_empty() || task.trim() == scene.run.title {
        return;
    }
    html.markup("<details class=\"part\"><summary>Task</summary>\n<div class=\"words\">");
    markdown::write(cut(task), html);
    html.markup("</div></details>\n");
}

/// The result of the run, once it is over.
pub(super) fn outcome(scene: &Scene<'_>, html: &mut HtmlPage) {
    html.markup("<div id=\"outcome\">\n");
    if scene.run.state.ended.is_none() {
        html.markup("</div>\n");
        return;
    }
    let answer = (scene.live.children().count() <= MOST_ANSWERS).then(|| answer(scene));
    if let Some(answer) = answer.flatten() {
        html.markup("<h2>Result</h2>\n<div class=\"words\">");
        markdown::write(cut(&answer), html);
        html.markup("</div>\n");
    }
    html.markup("</div>\n");
}

/// The answer of the run, once some of its children gave one.
fn answer(scene: &Scene<'_>) -> Option<String> {
    use grove_engine::view::RunView;
    let texts = |digest: &grove_spec::Digest| scene.text(digest);
    let run = scene.run;
    let view = RunView::of(&run.id, &run.plan, &run.state, &texts);
    view.bounded(&run.plan)
        .answer
        .filter(|answer| !answer.trim().is_empty())
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_TEXT))
        .unwrap_or_default()
}

/// The last events of the run, the newest first.
pub(super) fn events(scene: &Scene<'_>, html: &mut HtmlPage) -> Written<()> {
    let first = scene.run.state.seq.saturating_sub(MOST_EVENTS);
    html.markup("<ol id=\"events\">\n");
    let most = usize::try_from(MOST_EVENTS).unwrap_or(usize::MAX);
    event_rows(scene, first, most, true, html)?;
    html.markup("</ol>\n");
    if let Some(address) = scene.viewer.address(&["runs", &scene.run.id, "events"]) {
        html.markup("<p>");
        html.leaf("a", &[("href", &address)], "All events")
            .markup("</p>\n");
    }
    Ok(())
}

/// The events after one, at most so many, a row each with an address of its own.
pub(super) fn event_rows(
    scene: &Scene<'_>,
    after: u64,
    most: usize,
    is_newest_first: bool,
    html: &mut HtmlPage,
) -> Written<()> {
    let mut events = scene.journal.next_events(&scene.run.id, after, most)?;
    if is_newest_first {
        events.reverse();
    }
    for event in events {
        let seq = event.seq.to_string();
        html.tag("li", &[("id", &format!("e{seq}")), ("value", &seq)]);
        let address = scene.viewer.address(&["runs", &scene.run.id, "e", &seq]);
        let address = address.unwrap_or_default();
        html.leaf("a", &[("href", &address)], &seq).markup(" ");
        let line = event_line(&event);
        let line = line
            .trim_start()
            .split_once(' ')
            .map_or("", |(_, line)| line);
        html.text(line).markup(" <span class=\"quiet\">");
        let after = event.at.wall.saturating_sub(scene.began());
        html.text(&format!("+{}", wording::duration(after)));
        html.markup("</span></li>\n");
    }
    Ok(())
}
