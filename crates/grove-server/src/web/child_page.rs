//! The page of a child: what it was told, what it did, what it changed, and whether its work counts.

use grove_engine::child_record::ToldParts;
use grove_engine::transcript::{EventText, TextRoom};
use grove_engine::view::{Execution, LiveChild, NodeId, NodeView};
use grove_spec::text::{counted, grouped, one_line};
use http::StatusCode;

use super::access::PageRight;
use super::answer;
use super::asked::{Asked, Fields};
use super::diff;
use super::frame::{Frame, Section};
use super::html::{HtmlPage, address_part};
use super::ledger;
use super::markdown;
use super::rows;
use super::run_page;
use super::scene::{Scene, Written};
use super::site::{Looked, Missing, still, way_back};
use super::stream::PageParts;
use super::transcript_page;
pub(super) use super::transcript_page::WINDOW;
use super::viewer::{ActionForm, anchor};
use super::wording;

/// The most bytes of a part of a prompt, and of an answer.
const MOST_TEXT: usize = 64 << 10;
/// The most bytes of a text on a page of its own.
const MOST_WHOLE: usize = 1 << 20;

/// A child that a stream keeps current.
pub(super) struct ChildView {
    node: NodeId,
    /// True if the page shows the end of the transcript.
    is_at_end: bool,
}

impl ChildView {
    /// Reads the values of a stream's address; none if it is not about a child.
    pub(super) fn read(query: &Fields) -> Option<Self> {
        Some(Self {
            node: NodeId::from(query.said("node")?),
            is_at_end: query.get("end").is_some(),
        })
    }
}

/// Answers with a page about a child.
pub(super) fn answer(scene: &Scene<'_>, node: &NodeId, rest: &[&str], asked: &Asked) -> Looked {
    let child = scene.child(node).ok_or(Missing::Page)?;
    match rest {
        [] => page(scene, child, asked),
        ["diff"] => diff::answer(scene, child, asked),
        ["text", seq, which] => text_answer(scene, seq, which, asked),
        _ => Err(Missing::Page),
    }
}

fn page(scene: &Scene<'_>, child: &LiveChild<'_>, asked: &Asked) -> Looked {
    let node = &child.id;
    let history = scene.history(node);
    let all = history.map_or(0, |history| history.marks.len());
    let last = all.saturating_sub(1);
    let last = last - last % WINDOW;
    let from = asked.query.number::<usize>("from").unwrap_or(last);
    let from = (from - from % WINDOW).min(last);
    if let (true, Some(history)) = (asked.is_part, history) {
        let mut html = HtmlPage::default();
        transcript_page::window(scene, node, history, from, &mut html)?;
        return Ok(answer::page(StatusCode::OK, html.finish()));
    }
    let view = scene
        .journal
        .node_view(scene.run, node)
        .ok_or(Missing::Page)?;
    let mut body = HtmlPage::default();
    way_back(scene, &mut body);
    top(scene, child, &mut body);
    actions(scene, child, &mut body);
    ask(scene, child, &mut body);
    work(scene, child, &view, &mut body)?;
    body.markup("<h2>What it was told</h2>\n");
    let mut room = TextRoom::each(MOST_TEXT);
    if let Some(told) = scene.journal.told_parts(scene.run, &view, &mut room) {
        told_parts(&told, &mut body);
    }
    body.markup("<h2 id=\"did\">What it did</h2>\n");
    if let Some(history) = history {
        let words = asked.query.said("q");
        search_form(scene, node, words, &mut body);
        match words {
            Some(words) => transcript_page::found(scene, node, history, words, &mut body)?,
            None => transcript_page::windows(scene, node, history, from, &mut body)?,
        }
    }
    let stream = scene.viewer.address(&["events"]).map(|address| {
        let end = if from == last && asked.query.said("q").is_none() {
            "&end"
        } else {
            ""
        };
        let node = address_part(node.as_str());
        format!("{address}?run={}&node={node}{end}", scene.run.id)
    });
    let frame = Frame {
        title: &format!("{} {} {}", child.shown(), node, child.name),
        here: Section::Runs,
        stream,
        seq: scene.run.state.seq,
    };
    Ok(answer::page(
        StatusCode::OK,
        frame.around(&scene.viewer, &body),
    ))
}

/// The parts of a child's page that change while it works.
pub(super) fn live_parts(
    scene: &Scene<'_>,
    view: &ChildView,
    after: Option<u64>,
) -> Written<PageParts> {
    let mut parts = PageParts::new();
    let Some(child) = scene.child(&view.node) else {
        return Ok(parts);
    };
    let mut part = HtmlPage::default();
    top(scene, child, &mut part);
    parts.push(("top", part));
    let mut part = HtmlPage::default();
    actions(scene, child, &mut part);
    parts.push(("actions", part));
    let mut part = HtmlPage::default();
    ask(scene, child, &mut part);
    parts.push(("asks", part));
    if let Some(known) = scene.journal.node_view(scene.run, &view.node) {
        let mut part = HtmlPage::default();
        work(scene, child, &known, &mut part)?;
        parts.push(("work", part));
    }
    if let (true, Some(after), Some(history)) = (view.is_at_end, after, scene.history(&view.node)) {
        let mut part = HtmlPage::default();
        transcript_page::since(scene, &view.node, history, after, &mut part)?;
        if !part.is_empty() {
            parts.push(("items", part));
        }
    }
    Ok(parts)
}

/// The name and the state of a child.
fn top(scene: &Scene<'_>, child: &LiveChild<'_>, html: &mut HtmlPage) {
    html.markup("<header id=\"top\">\n<h1>");
    html.text(&format!("{} {}", child.id, one_line(child.name)));
    html.markup("</h1>\n<ul class=\"facts\"><li>");
    wording::state(child.shown(), html);
    html.markup("</li><li>")
        .text(&rows::with(child))
        .markup("</li><li>");
    html.text(&rows::spent(child)).markup("</li><li>");
    html.text(&rows::calls(scene, child)).markup("</li>");
    if child.name != child.child.agent {
        html.element("<li>agent ", &one_line(&child.child.agent), "</li>");
    }
    html.markup("</ul>\n");
    rows::bar(scene, &child.id, html);
    rows::legend(scene, html);
    if let Some(doing) = child.doing {
        html.element("<p>", &one_line(doing), " <span class=\"quiet\">");
        if let Some(at) = child.last_sign_at {
            wording::age(at.wall, &scene.viewer, scene.last(), html);
        }
        html.markup("</span></p>\n");
    }
    if let Some(why) = child.attention {
        html.element("<p class=\"doubt\">▲ ", &why.to_string(), "</p>\n");
    }
    if let Some(reason) = child.state.reason().filter(|_| child.question().is_none()) {
        html.tag("p", &[("class", wording::class(child.shown()))]);
        html.text(&reason).markup("</p>\n");
    }
    html.markup("</header>\n");
}

/// What can be done about a child alone.
fn actions(scene: &Scene<'_>, child: &LiveChild<'_>, html: &mut HtmlPage) {
    if !scene.viewer.may(PageRight::All) {
        return;
    }
    let about = format!("{}.{}", scene.run.id, child.id);
    let form = |action: &'static str| ActionForm {
        action,
        about: &about,
        right: PageRight::All,
    };
    let words = |action: &'static str, label: &str, button: &'static str, html: &mut HtmlPage| {
        let id = anchor(action, &child.id);
        html.markup("<details class=\"do\"><summary>")
            .markup(button)
            .markup("…</summary>");
        scene.viewer.form(&form(action), html, |html| {
            html.leaf("label", &[("for", &id)], label);
            let field = [("id", id.as_str()), ("name", "text"), ("rows", "3")];
            html.leaf("textarea", &field, "");
            html.markup("<button class=\"first\">Send</button>");
        });
        html.markup("</details>");
    };
    html.markup("<div class=\"actions\" id=\"actions\">");
    let is_at_work = matches!(child.state, Execution::Running | Execution::Queued);
    if is_at_work {
        words("steer", "It hears this before its next step", "Steer", html);
        scene.viewer.button(&form("pause"), "Pause", html);
    }
    if !child.state.is_terminal() {
        scene.viewer.button(&form("stop"), "Stop", html);
    } else if child.last().is_some() {
        words(
            "resume",
            "It goes on in its session with this",
            "Go on",
            html,
        );
    }
    let run = scene.run.id.as_str();
    let again = scene.viewer.address(&["runs", run, "again"]);
    if let (Some(address), true) = (again, scene.run.state.ended.is_some()) {
        let address = format!("{address}?from={}", address_part(child.id.as_str()));
        html.leaf(
            "a",
            &[("href", &address), ("class", "button")],
            "Again from here",
        );
    }
    html.markup("</div>\n");
}

/// Its question, or the way to go on.
fn ask(scene: &Scene<'_>, child: &LiveChild<'_>, html: &mut HtmlPage) {
    html.markup("<div id=\"asks\" data-keyed>\n");
    if child.state.is_waiting() {
        run_page::question(scene, &child.id, html);
    }
    html.markup("</div>\n");
}

/// Its answer, its changes and the verdict on them.
fn work(
    scene: &Scene<'_>,
    child: &LiveChild<'_>,
    view: &NodeView,
    html: &mut HtmlPage,
) -> Written<()> {
    html.markup("<div id=\"work\">\n");
    answer_of(view, html);
    changes(scene, view, html)?;
    html.markup("<h2>Contract, evidence, verdict</h2>\n");
    ledger::of_child(scene, child, view, html);
    html.markup("</div>\n");
    Ok(())
}

fn answer_of(view: &NodeView, html: &mut HtmlPage) {
    if let Some(text) = view
        .output
        .text
        .as_ref()
        .filter(|text| !text.trim().is_empty())
    {
        html.markup("<h2>Answer</h2>\n<div class=\"words\">");
        let end = text.floor_char_boundary(MOST_TEXT);
        markdown::write(text.get(..end).unwrap_or_default(), html);
        html.markup("</div>\n");
        if end < text.len() {
            let of = format!("{} of {} bytes", grouped(end), grouped(text.len()));
            html.element("<p class=\"doubt\">cut: ", &of, "</p>\n");
        }
    }
    if let Some(value) = &view.output.structured {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        html.element("<h2>Data</h2>\n<pre tabindex=\"0\">", &text, "</pre>\n");
    }
    if let Some(path) = &view.output.path {
        html.element(
            "<p class=\"quiet\">The answer is in <code>",
            path,
            "</code>.</p>\n",
        );
    }
}

/// What it changed, in short, with what can be done with it.
fn changes(scene: &Scene<'_>, view: &NodeView, html: &mut HtmlPage) -> Written<()> {
    let Some(patch) = &view.patch else {
        return Ok(());
    };
    html.markup("<h2>What it changed</h2>\n");
    let text = scene.journal.patch_text(view)?.unwrap_or_default();
    let files = diff::files(&text);
    html.markup("<ul class=\"files\">\n");
    let run = scene.run.id.as_str();
    let node = view.id.as_str();
    let address = scene
        .viewer
        .address(&["runs", run, "children", node, "diff"]);
    for (at, file) in files.iter().enumerate().take(rows::PAGE) {
        let (added, removed) = file.counts();
        html.markup("<li>");
        match &address {
            Some(address) => {
                let address = format!("{address}#f{at}");
                html.leaf("a", &[("href", &address)], &file.name)
            }
            None => html.text(&file.name),
        };
        html.text(&format!(" +{added} −{removed}"))
            .markup("</li>\n");
    }
    html.markup("</ul>\n");
    if patch.is_discarded {
        html.markup("<p class=\"quiet\">It is not applied with the others.</p>\n");
    }
    if !scene.viewer.may(PageRight::All) {
        return Ok(());
    }
    let about = format!("{run}.{node}");
    let form = |action: &'static str| ActionForm {
        action,
        about: &about,
        right: PageRight::All,
    };
    html.markup("<div class=\"actions\">");
    if let Some(address) = &address {
        html.leaf(
            "a",
            &[("href", address), ("class", "button first")],
            "Look at the changes",
        );
    }
    if patch.files > 0 {
        scene.viewer.button(&form("apply"), "Apply", html);
        if !patch.is_discarded {
            scene.viewer.button(&form("discard"), "Discard", html);
        }
    }
    html.markup("</div>\n");
    Ok(())
}

/// The text that it was told, part by part with the source of each.
pub(super) fn told_parts(told: &ToldParts, html: &mut HtmlPage) {
    for part in &told.parts {
        let source = match (&part.source, part.kind.as_str()) {
            (Some(path), _) => path.clone(),
            (None, "boundary" | "contract") => "by Grove".to_owned(),
            (None, _) => String::new(),
        };
        let name = format!("{} {}", part.kind, one_line(&part.name));
        html.markup("<details class=\"part\"><summary><b>")
            .text(name.trim())
            .markup("</b> <span class=\"quiet\">");
        html.text(&source).markup("</span> <small class=\"quiet\">");
        html.text(&counted(part.text.bytes, "byte"))
            .markup("</small></summary>\n");
        html.element("<pre tabindex=\"0\">", &part.text.text, "</pre>");
        if part.text.cut {
            html.markup("<p class=\"doubt\">cut</p>");
        }
        html.markup("</details>\n");
    }
    html.markup("<details class=\"part\" open><summary><b>message</b> <span class=\"quiet\">");
    html.text(&told.message_from.join("; "))
        .markup("</span></summary>\n");
    html.element("<pre tabindex=\"0\">", &told.message.text, "</pre>");
    if told.message.cut {
        html.markup("<p class=\"doubt\">cut</p>");
    }
    html.markup("</details>\n");
}

fn search_form(scene: &Scene<'_>, node: &NodeId, words: Option<&str>, html: &mut HtmlPage) {
    let address = scene.viewer.child(&scene.run.id, node);
    let address = format!("{address}#did");
    html.tag(
        "form",
        &[
            ("class", "search"),
            ("role", "search"),
            ("action", &address),
        ],
    );
    html.markup("<label for=\"q\">Find in what it did</label>");
    let words = words.unwrap_or_default();
    html.tag(
        "input",
        &[
            ("id", "q"),
            ("name", "q"),
            ("type", "search"),
            ("value", words),
        ],
    );
    html.markup("<button>Find</button></form>\n");
}

/// One of the texts of an event as a whole.
fn text_answer(scene: &Scene<'_>, seq: &str, which: &str, asked: &Asked) -> Looked {
    let seq: u64 = seq.parse().map_err(|_| Missing::Page)?;
    let which = match which {
        "given" => EventText::Given,
        "returned" => EventText::Returned,
        "thinking" => EventText::Thinking,
        _ => return Err(Missing::Page),
    };
    let text = scene.journal.event_text(scene.run, seq, which)?;
    let text = text.ok_or(Missing::Page)?;
    let from = asked
        .query
        .number::<usize>("from")
        .unwrap_or(0)
        .min(text.len());
    let from = text.floor_char_boundary(from);
    let end = text.floor_char_boundary(from.saturating_add(MOST_WHOLE));
    let mut body = HtmlPage::default();
    way_back(scene, &mut body);
    let of = format!(
        "bytes {} to {} of {}",
        grouped(from),
        grouped(end),
        grouped(text.len())
    );
    body.element("<p class=\"quiet\">", &of, "</p>\n<p class=\"pages\">");
    if from > 0 {
        let address = format!("?from={}", from.saturating_sub(MOST_WHOLE));
        body.leaf("a", &[("href", &address)], "earlier").markup(" ");
    }
    if end < text.len() {
        body.leaf("a", &[("href", &format!("?from={end}"))], "later");
    }
    body.markup("</p>\n<pre class=\"whole\" tabindex=\"0\">");
    body.text(text.get(from..end).unwrap_or_default())
        .markup("</pre>\n");
    Ok(still(scene, &format!("Text of event {seq}"), &body))
}

/// Writes everything of a child into a file, as far as there is room. Returns the number of transcript items without room.
pub(super) fn frozen(
    scene: &Scene<'_>,
    child: &LiveChild<'_>,
    room: &mut TextRoom,
    html: &mut HtmlPage,
) -> Written<usize> {
    let Some(view) = scene.journal.node_view(scene.run, &child.id) else {
        return Ok(0);
    };
    html.tag(
        "details",
        &[("class", "whole"), ("id", &anchor("child", &child.id))],
    );
    html.element(
        "<summary><b>",
        &format!("{} {}", child.id, one_line(child.name)),
        "</b> ",
    );
    wording::state(child.shown(), html);
    html.markup(" <span class=\"quiet\">")
        .text(&rows::with(child))
        .markup(" ");
    html.text(&rows::spent(child)).markup(" ");
    html.text(&rows::calls(scene, child))
        .markup("</span></summary>\n");
    if let Some(reason) = child.state.reason() {
        html.element("<p>", &reason, "</p>\n");
    }
    if let Some(text) = &view.output.text {
        let text = room.take(text);
        html.markup("<h3>Answer</h3>\n<div class=\"words\">");
        markdown::write(&text.text, html);
        html.markup("</div>\n");
    }
    if let Some(patch) = scene.journal.patch_text(&view)? {
        let patch = room.take(&patch);
        html.markup("<h3>What it changed</h3>\n");
        diff::frozen(&patch.text, html);
    }
    html.markup("<h3>Contract, evidence, verdict</h3>\n");
    ledger::of_child(scene, child, &view, html);
    if let Some(told) = scene.journal.told_parts(scene.run, &view, room) {
        html.markup("<h3>What it was told</h3>\n");
        told_parts(&told, html);
    }
    let mut left = 0;
    if let Some(history) = scene.history(&child.id) {
        html.markup("<h3>What it did</h3>\n");
        left = transcript_page::frozen(scene, &child.id, history, room, html)?;
    }
    html.markup("</details>\n");
    Ok(left)
}
