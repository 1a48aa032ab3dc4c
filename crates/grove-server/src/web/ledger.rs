//! What was required of work, what Grove saw of it, and the verdict: apart from what was said.

use grove_engine::view::{Check, CheckResult, Contract, LiveChild, NodeView};
use grove_engine::words::{PROTECTED, check_facts, check_line};
use grove_spec::text::{counted, one_line};

use super::html::HtmlPage;
use super::scene::Scene;
use super::wording;

/// The most children in the ledger of a run.
const MOST: usize = 100;
/// The most bytes of what a command printed.
const MOST_PRINTED: usize = 16 << 10;

/// Writes the ledger of a run: a row for each child of whose work something was asked.
pub(super) fn of_run(scene: &Scene<'_>, html: &mut HtmlPage) {
    let asked = scene
        .live
        .children()
        .filter(|child| child.child.contract.is_some());
    let asked: Vec<&LiveChild<'_>> = asked.collect();
    html.markup("<div id=\"ledger\">\n");
    if asked.is_empty() {
        html.markup("<p class=\"quiet\">Nothing was required of the work.</p>\n</div>\n");
        return;
    }
    html.markup("<table><thead><tr><th>Child</th><th>Required</th><th>Seen</th><th>Verdict</th></tr></thead><tbody>\n");
    for child in asked.iter().take(MOST) {
        let Some(view) = scene.journal.node_view(scene.run, &child.id) else {
            continue;
        };
        let name = format!("{} {}", view.id, one_line(&view.agent));
        let address = scene.viewer.child(&scene.run.id, &child.id);
        html.markup("<tr><td>");
        html.leaf("a", &[("href", &address)], &name);
        html.markup("</td><td data-of=\"Required\">");
        let contract = child.child.contract.as_ref();
        html.text(contract.map_or("nothing", Contract::level_word));
        html.markup("</td><td data-of=\"Seen\">");
        seen(contract, &view, html);
        html.markup("</td><td data-of=\"Verdict\">");
        verdict(&view, html);
        html.markup("</td></tr>\n");
    }
    html.markup("</tbody></table>\n");
    if let Some(more @ 1..) = asked.len().checked_sub(MOST) {
        html.text(&format!("and {more} more"));
    }
    let verify = format!("grove runs ledger {} --verify", scene.run.id);
    html.markup("<p class=\"quiet\">");
    html.element(
        "<code>",
        &verify,
        "</code> checks that nothing of the record was changed.</p>\n</div>\n",
    );
}

/// The verdict on work, with the reason where it does not count.
pub(super) fn verdict(view: &NodeView, html: &mut HtmlPage) {
    match (&view.rejected, view.acceptance) {
        (Some(why), _) => {
            wording::state(view.shown(), html);
            html.element("<p>", why, "</p>");
        }
        (None, "none") => {
            wording::state(view.state, html);
        }
        (None, level) => {
            html.element(
                "<span class=\"good\"><span aria-hidden=\"true\">✓</span> ",
                level,
                "</span>",
            );
        }
    }
    for missing in &view.missing {
        html.element("<p class=\"doubt\">missing: ", missing, "</p>");
    }
}

/// What was seen of the work.
fn seen(contract: Option<&Contract>, view: &NodeView, html: &mut HtmlPage) {
    for check in contract.iter().flat_map(|contract| &contract.verify) {
        let result = view.checks.iter().find(|result| result.id == check.id);
        html.element("<p>", &one_line(&check_line(check, result)), "</p>");
        facts(result, html);
    }
    let facts = view.seen.as_ref().map(|seen| &seen.facts);
    if let Some(changed) = facts.and_then(|facts| facts.changed.as_ref()) {
        html.element("<p>changed ", &counted(changed.len(), "file"), "</p>");
    }
    for (what, line) in view.remarks() {
        html.element("<p>", &format!("{what}: {line}"), "</p>");
    }
}

/// Writes the contract of a child with the evidence and the verdict.
pub(super) fn of_child(
    scene: &Scene<'_>,
    child: &LiveChild<'_>,
    view: &NodeView,
    html: &mut HtmlPage,
) {
    let Some(contract) = &child.child.contract else {
        html.markup("<p class=\"quiet\">Nothing was required of its work.</p>\n");
        return;
    };
    html.markup("<p>");
    verdict(view, html);
    html.markup("</p>\n<p class=\"quiet\">required: ");
    html.text(contract.level_word());
    if contract.is_inferred {
        html.markup(", which Grove inferred");
    }
    html.markup("</p>\n");
    if let Some(engine) = &contract.not_observed {
        html.element(
            "<p class=\"doubt\">not observed: ",
            engine,
            " does not tell what it runs</p>\n",
        );
    }
    if !contract.criteria.is_empty() {
        html.markup("<ul>\n");
        for criterion in &contract.criteria {
            html.element("<li>", &criterion.must, "</li>\n");
        }
        html.markup("</ul>\n");
    }
    for check in &contract.verify {
        command(scene, check, view, html);
    }
    let facts = view.seen.as_ref().map(|seen| &seen.facts);
    if let Some(changed) = facts.and_then(|facts| facts.changed.as_ref()) {
        html.element("<p>changed ", &counted(changed.len(), "file"), "</p>");
    }
    for (what, line) in view.remarks() {
        html.element("<p>", &format!("{what}: {line}"), "</p>");
    }
}

fn facts(result: Option<&CheckResult>, html: &mut HtmlPage) {
    for line in result.map_or_else(Vec::new, check_facts) {
        html.element("<p class=\"quiet\">", &line, "</p>");
    }
}

/// A command of a contract with what it printed.
fn command(scene: &Scene<'_>, check: &Check, view: &NodeView, html: &mut HtmlPage) {
    let result = view.checks.iter().find(|result| result.id == check.id);
    let is_met = result.is_some_and(|result| check.is_met_by(&result.end));
    let printed = result.and_then(|result| scene.text(&result.output));
    html.markup("<details class=\"call\"><summary>");
    wording::outcome(result.map(|_| is_met), html);
    html.markup(" <code>")
        .text(&one_line(&check_line(check, result)));
    html.markup("</code></summary>\n");
    facts(result, html);
    if !is_met && result.is_some_and(|result| !result.as_before.is_empty()) {
        html.element("<p class=\"quiet\">", PROTECTED, "</p>\n");
    }
    let printed = printed.unwrap_or_default();
    let end = printed.floor_char_boundary(MOST_PRINTED);
    html.markup("<pre tabindex=\"0\">");
    html.text(printed.get(..end).unwrap_or_default());
    html.markup("</pre></details>\n");
}
