//! The page: graph, timeline, children, ledger. It needs no script, and its policy allows none.

use grove_engine::view::{NodeId, NodeView, REJECTED, Usage};
use grove_spec::duration::in_words;

use super::html::HtmlPage;
use crate::commands::counted;
use crate::commands::runs::ledger::files_of;
use grove_engine::exported_run::{
    ExportedAction, ExportedChild, ExportedPrompt, ExportedRun, ExportedStep, ExportedText,
};
use grove_spec::money;
use grove_spec::text::grouped;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>";
const STYLE: &str = include_str!("page.css");

/// The most that a page may be; children for whom there is no room are named.
const MOST_PAGE: usize = 24 << 20;

pub(super) fn page(run: &ExportedRun) -> String {
    let mut html = HtmlPage::default();
    html.markup(HEAD).text(&format!("Run {}", run.run.id));
    html.markup("</title>\n<style>")
        .markup(STYLE)
        .markup("</style>\n</head>\n<body>\n");
    heading(run, &mut html);
    html.markup("<h2>Graph</h2>\n");
    graph(run, &mut html);
    html.markup("<h2>Timeline</h2>\n");
    timeline(run, &mut html);
    html.markup("<h2>Tokens and money</h2>\n");
    spent(run, &mut html);
    html.markup("<h2>Children</h2>\n");
    for child in &run.children {
        if html.len() > MOST_PAGE {
            html.element(
                "<p class=\"quiet\">No room for ",
                child.node.as_str(),
                ".</p>\n",
            );
            continue;
        }
        children(run, child, &mut html);
    }
    html.markup("<h2>Ledger</h2>\n<p class=\"quiet\">What was required of the work and what Grove established, separate from what anyone claimed.</p>\n");
    ledger(run, &mut html);
    html.markup("</body>\n</html>\n");
    html.finish()
}

fn class(state: &str, is_rejected: bool) -> &'static str {
    match state {
        _ if is_rejected => "bad",
        "complete" => "good",
        "failed" | "lost" => "bad",
        "asking" | "paused" | "stopped" => "doubt",
        "running" => "work",
        _ => "quiet",
    }
}

fn heading(run: &ExportedRun, html: &mut HtmlPage) {
    let view = &run.run;
    html.element("<h1>Run ", &view.id, "</h1>\n");
    html.element("<p>", &run.title, "</p>\n<ul class=\"facts\">");
    let is_rejected = view.acceptance == REJECTED;
    html.markup("<li>");
    html.tag("b", &[("class", class(view.state, is_rejected))]);
    html.text(view.shown());
    if !matches!(view.acceptance, "none" | REJECTED) {
        html.text(&format!(", {}", view.acceptance));
    }
    html.markup("</b></li>");
    let fact = |name: &'static str, value: &str, html: &mut HtmlPage| {
        html.markup("<li><span class=\"quiet\">")
            .markup(name)
            .markup("</span> ");
        html.element("<b>", value, "</b></li>");
    };
    if let Some(at) = view.submitted_at {
        fact("submitted", &utc(at), html);
        fact("took", &in_words(ended(run).saturating_sub(at)), html);
    }
    fact(
        "children",
        &view
            .nodes
            .iter()
            .filter(|node| node.items.is_none())
            .count()
            .to_string(),
        html,
    );
    fact("tokens", &grouped(whole(view.tokens())), html);
    if let Some(cost) = view.cost.filter(|cost| *cost > 0.0) {
        fact("cost", &money::in_words(cost), html);
    }
    html.markup("</ul>\n");
    if let Some(reason) = &view.reason {
        html.element("<p class=\"bad\">", reason, "</p>\n");
    }
    for left_out in &run.left_out {
        html.element("<p class=\"doubt\">Left out: ", left_out, "</p>\n");
    }
    if !run.task.trim().is_empty() {
        html.element("<h3>Task</h3>\n<pre>", &run.task, "</pre>\n");
    }
    if let Some(result) = &view.answer {
        html.element("<h3>Result</h3>\n<pre>", result, "</pre>\n");
    }
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn ended(run: &ExportedRun) -> u64 {
    run.run.ended_at.unwrap_or(run.last_event_at)
}

fn node<'a>(run: &'a ExportedRun, id: &NodeId) -> Option<&'a NodeView> {
    run.run.nodes.iter().find(|node| node.id == *id)
}

/// Children that a step shows; of more it is said how many.
const MOST_CARDS: usize = 60;

fn graph(run: &ExportedRun, html: &mut HtmlPage) {
    html.markup("<div class=\"graph\">\n");
    for (at, step) in run.steps.iter().enumerate() {
        if at > 0 {
            arrow(step, html);
        }
        html.markup(if step.is_group {
            "<div class=\"step group\">\n"
        } else {
            "<div class=\"step\">\n"
        });
        for id in step.children.iter().take(MOST_CARDS) {
            if let Some(node) = node(run, id) {
                card(run, node, html);
            }
        }
        if step.children.is_empty() {
            html.element(
                "<p class=\"quiet\">",
                step.id.as_str(),
                ": its items were not known yet</p>\n",
            );
        }
        if let Some(more @ 1..) = step.children.len().checked_sub(MOST_CARDS) {
            html.element("<p class=\"quiet\">and ", &grouped(more), " more</p>\n");
        }
        html.markup("</div>\n");
    }
    html.markup("</div>\n");
}

fn arrow(step: &ExportedStep, html: &mut HtmlPage) {
    let after: Vec<&str> = step.after.iter().map(NodeId::as_str).collect();
    let after = match after.as_slice() {
        [] => String::new(),
        few @ ([_] | [_, _] | [_, _, _]) => format!(" after {}", few.join(", ")),
        many => format!(" after {}", counted(many.len(), "other")),
    };
    html.element(
        "<div class=\"arrow\">↓<span class=\"quiet\">",
        &after,
        "</span></div>\n",
    );
}

fn card(run: &ExportedRun, node: &NodeView, html: &mut HtmlPage) {
    let kind = class(node.state, node.rejected.is_some());
    let link = format!("#{}", anchor(run, &node.id));
    html.tag("a", &[("class", &format!("card {kind}")), ("href", &link)]);
    let name = node.label.as_deref().unwrap_or(&node.agent);
    html.element("<span><b>", &format!("{} {name}", node.id), "</b></span>");
    html.element("<span>", &state_words(node), "</span>");
    if let Some(author) = &node.reviews {
        html.element(
            "<span class=\"quiet\">reviewed ",
            author.as_str(),
            "</span>",
        );
    }
    let tokens = node.tokens();
    if tokens > 0 {
        html.element(
            "<span class=\"quiet\">",
            &format!("{} tokens", grouped(whole(tokens))),
            "</span>",
        );
    }
    html.markup("</a>\n");
}

/// The name of a child's place on the page: its number, since ids may have any character.
fn anchor(run: &ExportedRun, id: &NodeId) -> String {
    let at = run.children.iter().position(|child| child.node == *id);
    at.map_or_else(String::new, |at| format!("child-{at}"))
}

fn state_words(node: &NodeView) -> String {
    match (&node.rejected, node.acceptance) {
        (Some(_), _) => node.shown().to_owned(),
        (None, "none") => node.state.to_owned(),
        (None, word) => format!("{}, {word}", node.state),
    }
}

fn timeline(run: &ExportedRun, html: &mut HtmlPage) {
    let Some(began) = run.run.submitted_at else {
        html.markup("<p class=\"quiet\">Nothing happened.</p>\n");
        return;
    };
    let all = ended(run).saturating_sub(began).max(1);
    html.markup("<div class=\"bars\">\n");
    let tries = run.run.nodes.iter().flat_map(|node| {
        let tries = node.attempts.iter();
        tries.map(move |attempt| (node, attempt))
    });
    let tries: Vec<_> = tries
        .filter_map(|(node, it)| Some((node, it, it.started_at?)))
        .collect();
    for (node, attempt, started) in tries.iter().take(MOST_CARDS * 4) {
        let until = attempt.ended_at.unwrap_or_else(|| ended(run)).max(*started);
        let name = node.label.as_deref().unwrap_or(&node.agent);
        let name = match node.attempts.len() {
            1 => format!("{} {name}", node.id),
            _ => format!("{} {name}, try {}", node.id, attempt.n),
        };
        html.element("<div class=\"name\">", &name, "</div>");
        html.element(
            "<div class=\"time quiet\">",
            &in_words(until - started),
            "</div>",
        );
        let of_thousand = |ms: u64| ms.saturating_mul(1_000) / all;
        let from = of_thousand(started.saturating_sub(began)).min(996);
        let wide = of_thousand(until.saturating_sub(*started))
            .max(4)
            .min(1_000 - from);
        html.markup("<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\">");
        let kind = class(attempt.state, false);
        let (from, wide) = (from.to_string(), wide.to_string());
        let place = [
            ("class", kind),
            ("x", &from),
            ("y", "0"),
            ("width", &wide),
            ("height", "10"),
        ];
        html.tag("rect", &place).markup("</rect></svg>\n");
    }
    html.markup("</div>\n");
    if let Some(more @ 1..) = tries.len().checked_sub(MOST_CARDS * 4) {
        html.element("<p class=\"quiet\">and ", &grouped(more), " more</p>\n");
    }
}

/// The counts of a child, in the order of the columns. Where a page is narrow each cell has its column's name beside it.
const FIGURES: [&str; 5] = ["Input", "Cached", "Output", "Calls", "Cost"];

fn spent(run: &ExportedRun, html: &mut HtmlPage) {
    html.markup("<div class=\"wide\"><table>\n<tr><th>Child</th><th>Model</th>");
    for name in FIGURES {
        html.element("<th class=\"n\">", name, "</th>");
    }
    html.markup("</tr>\n");
    for child in &run.children {
        let Some(node) = node(run, &child.node) else {
            continue;
        };
        let mut usage = Usage::default();
        let mut models: Vec<&str> = Vec::new();
        for attempt in &node.attempts {
            usage += attempt.usage;
            if !models.contains(&attempt.model.as_str()) {
                models.push(&attempt.model);
            }
        }
        let calls: usize = node.attempts.iter().map(|it| it.tool_calls).sum();
        let cost = child.cost.map_or_else(String::new, money::in_words);
        html.element("<tr><td>", &format!("{} {}", node.id, node.agent), "</td>");
        html.element("<td data-of=\"Model\">", &models.join(", "), "</td>");
        numbers(&usage, calls, &cost, html);
    }
    let calls = run.run.nodes.iter().flat_map(|node| &node.attempts);
    let calls: usize = calls.map(|it| it.tool_calls).sum();
    let cost = run.run.cost.filter(|cost| *cost > 0.0);
    let cost = cost.map_or_else(String::new, money::in_words);
    html.markup("<tr><td>Total</td><td data-of=\"Model\"></td>");
    numbers(&run.run.usage, calls, &cost, html);
    html.markup("</table></div>\n");
    if run.run.usage.estimated {
        html.markup("<p class=\"quiet\">Some of these figures are what a program reported about itself.</p>\n");
    }
}

fn numbers(usage: &Usage, calls: usize, cost: &str, html: &mut HtmlPage) {
    let input = usage.input.saturating_add(usage.cache_write);
    let figures = [
        grouped(whole(input)),
        grouped(whole(usage.cached)),
        grouped(whole(usage.output)),
        grouped(calls),
        cost.to_owned(),
    ];
    for (name, figure) in FIGURES.into_iter().zip(figures) {
        html.tag("td", &[("class", "n"), ("data-of", name)])
            .text(&figure)
            .markup("</td>");
    }
    html.markup("</tr>\n");
}

fn children(run: &ExportedRun, child: &ExportedChild, html: &mut HtmlPage) {
    let Some(node) = node(run, &child.node) else {
        return;
    };
    html.tag("details", &[("id", &anchor(run, &node.id))]);
    html.element(
        "<summary><b>",
        &format!("{} {}", node.id, node.agent),
        "</b> ",
    );
    html.tag(
        "span",
        &[("class", class(node.state, node.rejected.is_some()))],
    );
    html.text(&state_words(node)).markup("</span>");
    let calls = child
        .done
        .iter()
        .filter(|it| matches!(it, ExportedAction::Called { .. }));
    let about = format!(
        " {}, {} tokens",
        counted(calls.count(), "call"),
        grouped(whole(child.tokens))
    );
    html.element("<span class=\"quiet\">", &about, "</span></summary>\n");
    for why in node.reason.iter().chain(&node.rejected) {
        html.element("<p class=\"bad\">", why, "</p>\n");
    }
    for attempt in &node.attempts {
        let line = format!(
            "try {} with {} by {}: {}, {}",
            attempt.n,
            attempt.model,
            node.engine,
            attempt.state,
            counted(attempt.turns as usize, "answer")
        );
        html.element("<p class=\"quiet\">", &line, "</p>\n");
    }
    if let Some(told) = &child.told {
        prompt(told, html);
    }
    done(&child.done, html);
    if let Some(text) = &node.output.text {
        html.element("<h3>Answer</h3>\n<pre>", text, "</pre>\n");
    }
    if let Some(value) = &node.output.structured {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        html.element("<h3>Data</h3>\n<pre>", &text, "</pre>\n");
    }
    if let Some(patch) = &child.patch {
        diff(patch, html);
    }
    html.markup("</details>\n");
}

fn prompt(told: &ExportedPrompt, html: &mut HtmlPage) {
    html.element(
        "<details><summary><b>What it was told</b> <span class=\"quiet\">",
        &told.digest.first_digits(12),
        "</span></summary>\n",
    );
    for part in &told.parts {
        let source = match (&part.source, part.kind.as_str()) {
            (Some(path), _) => path.clone(),
            (None, "boundary" | "contract") => "by Grove".to_owned(),
            (None, _) => String::new(),
        };
        html.element(
            "<h3>",
            format!("{} {}", part.kind, part.name).trim(),
            "</h3>\n",
        );
        html.element("<p class=\"quiet\">", &source, "");
        if let Some(digest) = &part.digest {
            html.element(" <code>", &digest.first_digits(12), "</code>");
        }
        html.markup("</p>\n");
        text("", &part.text, html);
    }
    html.markup("<h3>message</h3>\n");
    for from in &told.message_from {
        html.element("<p class=\"quiet\">", from, "</p>\n");
    }
    text("", &told.message, html);
    html.markup("</details>\n");
}

fn text(name: &'static str, text: &ExportedText, html: &mut HtmlPage) {
    if !name.is_empty() {
        html.element("<p class=\"quiet\">", name, "</p>\n");
    }
    html.element("<pre>", &text.text, "</pre>\n");
    cut(text, html);
}

fn cut(text: &ExportedText, html: &mut HtmlPage) {
    if text.cut {
        let of = format!(
            "{} of {} bytes",
            grouped(text.text.len()),
            grouped(text.bytes)
        );
        html.element("<p class=\"doubt\">cut: ", &of, "</p>\n");
    }
}

fn done(done: &[ExportedAction], html: &mut HtmlPage) {
    if done.is_empty() {
        return;
    }
    html.markup("<h3>What it did</h3>\n");
    for one in done {
        match one {
            ExportedAction::Said { text, .. } => {
                let first = text.text.lines().next().unwrap_or_default();
                let first: String = first.chars().take(120).collect();
                html.element(
                    "<details><summary>said <span class=\"quiet\">",
                    &first,
                    "</span></summary>\n",
                );
                self::text("", text, html);
            }
            ExportedAction::Called {
                tool,
                about,
                arguments,
                result,
                is_error,
                milliseconds,
                ..
            } => {
                html.markup("<details><summary>");
                html.tag("b", &[("class", if *is_error { "bad" } else { "" })]);
                html.text(tool).markup("</b> ");
                html.element("<code>", about, "</code>");
                let took = milliseconds.map_or_else(|| "no result".to_owned(), in_words);
                html.element(" <span class=\"quiet\">", &took, "</span></summary>\n");
                self::text("given", arguments, html);
                if let Some(result) = result {
                    self::text(if *is_error { "failed" } else { "returned" }, result, html);
                }
            }
        }
        html.markup("</details>\n");
    }
}

fn diff(patch: &ExportedText, html: &mut HtmlPage) {
    html.markup("<h3>What it changed</h3>\n<pre class=\"diff\">");
    // What stands before the first change of a file names it.
    let mut is_name = true;
    for line in patch.text.lines() {
        is_name = match line {
            _ if line.starts_with("diff ") => true,
            _ if line.starts_with("@@") => false,
            _ => is_name,
        };
        let kind = match line.as_bytes().first() {
            Some(b'+') if !is_name => "add",
            Some(b'-') if !is_name => "del",
            Some(b'@') => "at",
            _ => "same",
        };
        html.tag("span", &[("class", kind)])
            .text(line)
            .markup("</span>");
    }
    html.markup("</pre>\n");
    cut(patch, html);
}

fn ledger(run: &ExportedRun, html: &mut HtmlPage) {
    html.markup("<div class=\"wide\"><table>\n<tr><th>Child</th><th>Required</th><th>Observed</th><th>Outcome</th></tr>\n");
    for child in &run.children {
        let Some(node) = node(run, &child.node) else {
            continue;
        };
        html.element(
            "<tr><td>",
            &format!("{} {}", node.id, node.agent),
            "</td><td data-of=\"Required\">",
        );
        html.text(child.asked.unwrap_or("nothing"));
        for command in &child.commands {
            html.element("<br><code>", command, "</code>");
        }
        html.markup("</td><td data-of=\"Observed\">");
        for check in &node.checks {
            let (id, end, ms, held) = (&check.id, &check.end, check.milliseconds, &check.sandbox);
            html.element(
                "<p>",
                &format!(
                    "{id}: {end} after {}, sandbox: {held}{}",
                    in_words(ms),
                    files_of(check)
                ),
                "</p>",
            );
        }
        let changed = node
            .seen
            .as_ref()
            .and_then(|seen| seen.facts.changed.as_ref());
        if let Some(changed) = changed {
            html.element("<p>changed ", &counted(changed.len(), "file"), "</p>");
        }
        for (what, line) in node.remarks() {
            html.element("<p>", &format!("{what}: {line}"), "</p>");
        }
        html.markup("</td><td data-of=\"Outcome\">");
        html.tag(
            "span",
            &[("class", class(node.state, node.rejected.is_some()))],
        );
        html.text(&match (&node.reviews, child.asked) {
            (Some(author), _) => format!("reviewed {author}"),
            (None, None) => node.state.to_owned(),
            (None, Some(_)) => node.acceptance.to_owned(),
        });
        html.markup("</span>");
        if let Some(why) = &node.rejected {
            html.element("<p class=\"bad\">", why, "</p>");
        }
        html.markup("</td></tr>\n");
    }
    let head = run.ledger["head"].as_str().unwrap_or_default();
    html.markup("</table></div>\n");
    html.element(
        "<p class=\"quiet\">The hash of the last event is <code>",
        head,
        "</code>; ",
    );
    let verify = format!("grove runs ledger {} --verify", run.run.id);
    html.element(
        "<code>",
        &verify,
        "</code> checks whether anything was changed.</p>\n",
    );
}

/// A moment, for people anywhere: `2026-01-31 09:05 UTC`.
fn utc(milliseconds: u64) -> String {
    let minutes = milliseconds / 60_000;
    let (days, minute) = (minutes / 1_440, minutes % 1_440);
    // Years begin in March, so that the day that is added comes last; eras are 400 years long.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month < 3);
    let (hour, minute) = (minute / 60, minute % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests;
