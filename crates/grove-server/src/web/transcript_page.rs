//! What a child did, on a page: its turns and calls in their order, folded, with an address for each.

use grove_engine::EngineError;
use grove_engine::transcript::{CutText, Deed, TextRoom, Transcript, TranscriptItem};
use grove_engine::view::NodeId;
use grove_engine::view::history::{ChildHistory, TranscriptMark};
use grove_spec::text::{grouped, one_line};

use super::html::HtmlPage;
use super::markdown;
use super::rows::first_words;
use super::scene::{Scene, Written};
use super::wording;

/// The items of a part of a transcript.
pub(super) const WINDOW: usize = 100;
/// The most bytes of a text on a page; the whole has an address.
const MOST_TEXT: usize = 8 << 10;
/// The most items that a search shows.
const MOST_FOUND: usize = 200;
/// The items that a search reads at a time, and the most bytes of each text in which it looks.
const SEARCHED: usize = 500;
const MOST_SEARCHED: usize = 256 << 10;

/// Writes the parts of a transcript: the one that begins at a place, and the ways to the others.
pub(super) fn windows(
    scene: &Scene<'_>,
    node: &NodeId,
    history: &ChildHistory,
    from: usize,
    html: &mut HtmlPage,
) -> Written<()> {
    html.markup("<ol id=\"items\" class=\"items\">\n");
    for first in (0..history.marks.len().max(1)).step_by(WINDOW) {
        if first == from {
            window(scene, node, history, first, html)?;
        } else {
            let address = scene.viewer.child(&scene.run.id, node);
            let address = format!("{address}?from={first}");
            let last = (first + WINDOW).min(history.marks.len());
            html.tag("li", &[("class", "window"), ("data-window", &address)]);
            let words = format!("{} to {}", grouped(first + 1), grouped(last));
            let address = format!("{address}#items");
            html.leaf("a", &[("href", &address)], &words)
                .markup("</li>\n");
        }
    }
    html.markup("</ol>\n");
    Ok(())
}

/// Writes the items of one part.
pub(super) fn window(
    scene: &Scene<'_>,
    node: &NodeId,
    history: &ChildHistory,
    from: usize,
    html: &mut HtmlPage,
) -> Written<()> {
    let mut room = TextRoom::each(MOST_TEXT);
    let places = from..from.saturating_add(WINDOW);
    let part = scene
        .journal
        .transcript(scene.run, history, places, &mut room)?;
    items(scene, node, &part, html);
    Ok(())
}

/// Writes the items that changed after an event: new ones, and calls that returned.
pub(super) fn since(
    scene: &Scene<'_>,
    node: &NodeId,
    history: &ChildHistory,
    after: u64,
    html: &mut HtmlPage,
) -> Written<()> {
    let is_new =
        |mark: &TranscriptMark| mark.seq > after || mark.end.is_some_and(|end| end > after);
    let all = history.marks.len();
    // Calls that have not returned are among the last ones.
    let first = all.saturating_sub(WINDOW);
    let recent = history.marks.get(first..).unwrap_or(&[]);
    let Some(at) = recent.iter().position(is_new) else {
        return Ok(());
    };
    let mut room = TextRoom::each(MOST_TEXT);
    let part = scene
        .journal
        .transcript(scene.run, history, first + at..all, &mut room)?;
    let changed = part.items.into_iter().zip(recent.get(at..).unwrap_or(&[]));
    let changed = changed
        .filter(|(_, mark)| is_new(mark))
        .map(|(item, _)| item);
    let part = Transcript {
        items: changed.collect(),
        from: first + at,
        all,
    };
    html.markup("<ol data-append=\"items\">\n");
    items(scene, node, &part, html);
    html.markup("</ol>\n");
    Ok(())
}

/// Writes the items in which words occur.
pub(super) fn found(
    scene: &Scene<'_>,
    node: &NodeId,
    history: &ChildHistory,
    words: &str,
    html: &mut HtmlPage,
) -> Written<()> {
    let wanted = words.to_lowercase();
    let mut places = Vec::new();
    for from in (0..history.marks.len()).step_by(SEARCHED) {
        let mut room = TextRoom::each(MOST_SEARCHED);
        let part = from..from + SEARCHED;
        let part = scene
            .journal
            .transcript(scene.run, history, part, &mut room)?;
        let hits = part.items.iter().filter(|item| has(item, &wanted));
        places.extend(hits.filter_map(|item| history.place_of(item.seq)));
    }
    let words = match places.len() {
        0 => "Nothing has these words.".to_owned(),
        all @ ..=MOST_FOUND => format!("{} found", grouped(all)),
        all => format!("the first {MOST_FOUND} of {} found", grouped(all)),
    };
    html.element(
        "<p class=\"quiet\">",
        &words,
        "</p>\n<ol class=\"items\">\n",
    );
    for place in places.into_iter().take(MOST_FOUND) {
        let mut room = TextRoom::each(MOST_TEXT);
        let part = scene
            .journal
            .transcript(scene.run, history, place..place + 1, &mut room)?;
        items(scene, node, &part, html);
    }
    html.markup("</ol>\n");
    Ok(())
}

fn has(item: &TranscriptItem, wanted: &str) -> bool {
    let text = |text: &CutText| text.text.to_lowercase().contains(wanted);
    match &item.deed {
        Deed::Said {
            thinking,
            text: words,
            ..
        } => thinking.iter().chain(words).any(text),
        Deed::Called {
            tool,
            arguments,
            result,
            ..
        } => tool.to_lowercase().contains(wanted) || text(arguments) || result.iter().any(text),
        Deed::Heard { text: words } => text(words),
        Deed::Began { words, .. } | Deed::Wished { words, .. } => words.iter().any(text),
        Deed::Asked { text } => text.to_lowercase().contains(wanted),
        _ => false,
    }
}

/// Writes items of a transcript.
pub(super) fn items(scene: &Scene<'_>, node: &NodeId, part: &Transcript, html: &mut HtmlPage) {
    for item in &part.items {
        let seq = item.seq.to_string();
        let class = format!("item {}", kind(&item.deed));
        // A file has the items of many children, and no event in two of them.
        html.tag("li", &[("id", &format!("e{seq}")), ("class", &class)]);
        let address = scene.viewer.address(&["runs", &scene.run.id, "e", &seq]);
        html.markup("<div class=\"at quiet\">");
        match address {
            Some(address) => html.leaf("a", &[("href", &address)], &seq),
            None => html.text(&seq),
        };
        let after = item.at.saturating_sub(scene.began());
        html.text(&format!(" +{}", wording::duration(after)));
        html.markup("</div><div class=\"deed\">");
        Item {
            scene,
            node,
            known: item,
        }
        .write(html);
        html.markup("</div></li>\n");
    }
}

/// The class of an item.
const fn kind(deed: &Deed) -> &'static str {
    match deed {
        Deed::Said { .. } => "said",
        Deed::Called { .. } => "called",
        Deed::Heard { .. } | Deed::Wished { .. } => "heard",
        Deed::Asked { .. } | Deed::Noticed { .. } => "asked",
        _ => "note",
    }
}

fn note(words: &str, html: &mut HtmlPage) {
    html.element("<p class=\"quiet\">", &one_line(words), "</p>");
}

/// An item while it is written.
struct Item<'a> {
    scene: &'a Scene<'a>,
    node: &'a NodeId,
    known: &'a TranscriptItem,
}

impl Item<'_> {
    fn write(&self, html: &mut HtmlPage) {
        match &self.known.deed {
            Deed::Said {
                thinking,
                text,
                tokens,
                ..
            } => {
                if let Some(thinking) = thinking {
                    self.folded("thoughts", thinking, "thinking", html);
                }
                if let Some(text) = text {
                    html.markup("<div class=\"words\">");
                    markdown::write(&text.text, html);
                    html.markup("</div>");
                    self.cut(text, "given", html);
                }
                if thinking.is_none() && text.is_none() {
                    html.element(
                        "<p class=\"quiet\">answered with ",
                        &wording::tokens(*tokens),
                        " tokens</p>",
                    );
                }
            }
            Deed::Called { .. } => self.call(html),
            Deed::Heard { text } => self.quoted("heard", text, html),
            Deed::Wished { by, wish, words } => match words {
                Some(words) => self.quoted(&format!("{by}: {wish}"), words, html),
                None => note(&format!("{by} asked it to {wish}"), html),
            },
            Deed::Asked { text } => {
                html.markup("<p><b class=\"doubt\">? asked</b></p><div class=\"words\">");
                markdown::write(text, html);
                html.markup("</div>");
            }
            Deed::Noticed { why } => {
                html.element("<p class=\"doubt\">▲ ", &why.to_string(), "</p>");
            }
            Deed::Delegated { run } => {
                html.markup("<p class=\"quiet\">asked for run ");
                let address = self.scene.viewer.run(run).unwrap_or_default();
                html.leaf("a", &[("href", &address)], run).markup("</p>");
            }
            Deed::Checked { checks } => {
                for check in checks {
                    html.markup("<details class=\"call\"><summary>");
                    wording::outcome(Some(check.end.is_success()), html);
                    html.markup(" <b>check</b> <code>");
                    let line = if check.line.is_empty() {
                        &check.id
                    } else {
                        &check.line
                    };
                    html.text(&one_line(line))
                        .markup("</code> <span class=\"quiet\">");
                    html.text(&format!(
                        "{} after {}",
                        check.end,
                        wording::duration(check.milliseconds)
                    ));
                    html.element(
                        "</span></summary><pre tabindex=\"0\">",
                        &check.output.text,
                        "</pre></details>",
                    );
                }
                if checks.is_empty() {
                    note("its work was looked at", html);
                }
            }
            Deed::Began {
                model,
                continues,
                words,
            } => {
                let how = match continues {
                    Some(n) => format!(
                        "try {} goes on in the session of try {n}, with {model}",
                        self.known.attempt
                    ),
                    None => format!("try {} begins, with {model}", self.known.attempt),
                };
                match words {
                    Some(words) => self.quoted(&how, words, html),
                    None => note(&how, html),
                }
            }
            deed => note(&in_short(deed), html),
        }
    }

    fn quoted(&self, name: &str, words: &CutText, html: &mut HtmlPage) {
        html.element("<p class=\"quiet\">", &one_line(name), "</p><blockquote>");
        markdown::write(&words.text, html);
        html.markup("</blockquote>");
        self.cut(words, "given", html);
    }

    /// A text that is folded, with its beginning.
    fn folded(&self, name: &'static str, text: &CutText, which: &'static str, html: &mut HtmlPage) {
        html.markup("<details class=\"call\"><summary><b>")
            .markup(name)
            .markup("</b> <span class=\"quiet\">");
        let first = text.text.lines().find(|line| !line.trim().is_empty());
        html.text(&first_words(&one_line(first.unwrap_or_default()), 120));
        html.element(
            "</span></summary><pre tabindex=\"0\">",
            &text.text,
            "</pre>",
        );
        self.cut(text, which, html);
        html.markup("</details>");
    }

    /// A call of a tool, folded: what went in, and what came back.
    fn call(&self, html: &mut HtmlPage) {
        let Deed::Called {
            tool,
            about,
            arguments,
            result,
            is_error,
            goes_on,
            milliseconds,
        } = &self.known.deed
        else {
            return;
        };
        html.markup("<details class=\"call\"><summary>");
        wording::outcome(result.as_ref().map(|_| !is_error), html);
        html.markup(" <b>")
            .text(&one_line(tool))
            .markup("</b> <code>");
        html.text(&first_words(&one_line(about), 160));
        html.markup("</code> <span class=\"quiet\">");
        html.text(&milliseconds.map_or_else(|| "has not returned".to_owned(), wording::duration));
        if *goes_on {
            html.markup(", goes on");
        }
        html.markup("</span></summary>\n<p class=\"quiet\">input</p>");
        html.element("<pre tabindex=\"0\">", &arguments.text, "</pre>");
        self.cut(arguments, "given", html);
        if let Some(result) = result {
            html.markup(if *is_error {
                "<p class=\"bad\">failed</p>"
            } else {
                "<p class=\"quiet\">result</p>"
            });
            html.element("<pre tabindex=\"0\">", &result.text, "</pre>");
            self.cut(result, "returned", html);
        }
        html.markup("</details>");
    }

    /// Says how much of a text is there, and where the whole is.
    fn cut(&self, text: &CutText, which: &'static str, html: &mut HtmlPage) {
        if !text.cut {
            return;
        }
        let of = format!(
            "{} of {} bytes",
            grouped(text.text.len()),
            grouped(text.bytes)
        );
        html.element("<p class=\"doubt\">cut: ", &of, "");
        let seq = self.known.seq.to_string();
        let run = &self.scene.run.id;
        let parts = [
            "runs",
            run,
            "children",
            self.node.as_str(),
            "text",
            &seq,
            which,
        ];
        if let Some(address) = self.scene.viewer.address(&parts) {
            html.markup("; ")
                .leaf("a", &[("href", &address)], "all of it");
        }
        html.markup("</p>");
    }
}

/// A deed that is told in a line.
fn in_short(deed: &Deed) -> String {
    match deed {
        Deed::TakenOver => "another process goes on with it".to_owned(),
        Deed::LeftAlone { why } => format!("the process that drove it is gone: {why}"),
        Deed::Compacted { turns } => {
            format!("its first {turns} turns are told in short from here on")
        }
        Deed::Wasted { tokens } => {
            format!(
                "a request of {} tokens brought no answer",
                wording::tokens(*tokens)
            )
        }
        Deed::Ended {
            how,
            is_failure: true,
        } => format!("could not go on: {how}"),
        Deed::Ended { how, .. } => how.clone(),
        Deed::Stored { files } => format!("its work was stored: {files} changed files"),
        Deed::Impossible { why } => why.clone(),
        Deed::TimedOut => "its time was over".to_owned(),
        _ => String::new(),
    }
}

/// Writes a transcript as far as there is room for it. Returns the number of items for which there is none.
pub(super) fn frozen(
    scene: &Scene<'_>,
    node: &NodeId,
    history: &ChildHistory,
    room: &mut TextRoom,
    html: &mut HtmlPage,
) -> Result<usize, EngineError> {
    let all = history.marks.len();
    let mut shown = 0;
    html.markup("<ol class=\"items\">\n");
    while shown < all && room.left > 0 {
        let places = shown..(shown + 8).min(all);
        let left = room.left;
        let part = scene
            .journal
            .transcript(scene.run, history, places.clone(), room)?;
        let before = html.len();
        items(scene, node, &part, html);
        // Of short texts the markup around them is the most.
        room.left = room.left.min(left.saturating_sub(html.len() - before));
        shown = places.end;
    }
    html.markup("</ol>\n");
    Ok(all - shown)
}
