//! The changes of a child, file by file and line by line, with a place for a comment on each line.

use grove_engine::LineComment;
use grove_engine::view::LiveChild;
use grove_spec::text::grouped;

use super::access::PageRight;
use super::asked::Asked;
use super::html::HtmlPage;
use super::markdown;
use super::scene::{Scene, Written};
use super::site::{Looked, Missing, still};
use super::viewer::{ActionForm, hidden};

/// The most lines of a page.
const MOST_LINES: usize = 6_000;
/// The most bytes of a line.
const MOST_OF_LINE: usize = 2_000;

/// The changes of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileChange<'a> {
    pub(super) name: String,
    lines: Vec<ChangedLine<'a>>,
}

/// A line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChangedLine<'a> {
    kind: LineKind,
    /// The number of the line before the change.
    before: Option<u64>,
    /// The number of the line after the change.
    after: Option<u64>,
    text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Same,
    Added,
    Removed,
    /// The place of a change, or something about the file.
    About,
}

impl LineKind {
    const fn class(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "add",
            Self::Removed => "del",
            Self::About => "at",
        }
    }

    /// The sign at the beginning of the line.
    const fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "−",
            Self::Same | Self::About => " ",
        }
    }
}

impl FileChange<'_> {
    /// The numbers of added and of removed lines.
    pub(super) fn counts(&self) -> (usize, usize) {
        let of = |kind: LineKind| self.lines.iter().filter(|line| line.kind == kind).count();
        (of(LineKind::Added), of(LineKind::Removed))
    }
}

/// Reads a patch file by file.
pub(super) fn files(patch: &str) -> Vec<FileChange<'_>> {
    let mut files: Vec<FileChange<'_>> = Vec::new();
    let (mut before, mut after) = (0, 0);
    // What stands before the first change of a file is about the file.
    let mut is_about = true;
    for line in patch.split('\n') {
        if let Some(names) = line.strip_prefix("diff --git ") {
            is_about = true;
            files.push(FileChange {
                name: name_in(names),
                lines: Vec::new(),
            });
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        if let Some(place) = line.strip_prefix("@@ ") {
            is_about = false;
            (before, after) = places(place);
            file.lines.push(ChangedLine {
                kind: LineKind::About,
                before: None,
                after: None,
                text: line,
            });
            continue;
        }
        if is_about {
            if let Some(name) = line.strip_prefix("+++ b/") {
                name.clone_into(&mut file.name);
            }
            let is_told = [
                "new file",
                "deleted file",
                "rename",
                "Binary",
                "old mode",
                "new mode",
            ];
            if is_told.iter().any(|told| line.starts_with(told)) {
                file.lines.push(ChangedLine {
                    kind: LineKind::About,
                    before: None,
                    after: None,
                    text: line,
                });
            }
            continue;
        }
        let (kind, text) = match line.as_bytes().first() {
            Some(b'+') => (LineKind::Added, line.get(1..).unwrap_or_default()),
            Some(b'-') => (LineKind::Removed, line.get(1..).unwrap_or_default()),
            Some(b' ') => (LineKind::Same, line.get(1..).unwrap_or_default()),
            Some(_) => (LineKind::About, line),
            None => continue,
        };
        let is_before = matches!(kind, LineKind::Same | LineKind::Removed);
        let is_after = matches!(kind, LineKind::Same | LineKind::Added);
        file.lines.push(ChangedLine {
            kind,
            before: is_before.then_some(before),
            after: is_after.then_some(after),
            text,
        });
        before += u64::from(is_before);
        after += u64::from(is_after);
    }
    files
}

/// The name of a file in the first line about it: `a/NAME b/NAME`.
fn name_in(names: &str) -> String {
    let name = names.split_once(" b/").map_or(names, |(_, name)| name);
    name.to_owned()
}

/// The numbers of the first lines of a change: `-3,4 +5,6 @@`.
fn places(place: &str) -> (u64, u64) {
    let number = |word: Option<&str>| {
        let word = word.unwrap_or_default().trim_start_matches(['-', '+']);
        let number = word.split(',').next().unwrap_or_default();
        number.parse().unwrap_or(1)
    };
    let mut words = place.split(' ');
    (number(words.next()), number(words.next()))
}

/// Answers with the changes of a child.
pub(super) fn answer(scene: &Scene<'_>, child: &LiveChild<'_>, asked: &Asked) -> Looked {
    let view = scene
        .journal
        .node_view(scene.run, &child.id)
        .ok_or(Missing::Page)?;
    let patch = scene.journal.patch_text(&view)?.ok_or(Missing::Page)?;
    let page = DiffPage {
        scene,
        child,
        files: files(&patch),
        comments: scene.journal.comments(scene.run, &child.id)?,
        open: asked.query.get("at").and_then(place_in),
    };
    let mut body = HtmlPage::default();
    if asked.is_part {
        page.form_alone(&mut body);
        return Ok(super::answer::page(http::StatusCode::OK, body.finish()));
    }
    page.write(&mut body)?;
    Ok(still(scene, &format!("Changes of {}", child.id), &body))
}

/// A line by its file and its place there, as an address has it: `2.17`.
fn place_in(text: &str) -> Option<(usize, usize)> {
    let (file, line) = text.split_once('.')?;
    Some((file.parse().ok()?, line.parse().ok()?))
}

/// The page of a child's changes.
struct DiffPage<'a> {
    scene: &'a Scene<'a>,
    child: &'a LiveChild<'a>,
    files: Vec<FileChange<'a>>,
    comments: Vec<LineComment>,
    /// The line at which a comment is written.
    open: Option<(usize, usize)>,
}

impl DiffPage<'_> {
    fn write(&self, html: &mut HtmlPage) -> Written<()> {
        let address = self.scene.viewer.child(&self.scene.run.id, &self.child.id);
        let words = format!("← {} {}", self.child.id, self.child.name);
        html.markup("<p>")
            .leaf("a", &[("href", &address)], &words)
            .markup("</p>\n<h1>Changes</h1>\n");
        if self.scene.viewer.may(PageRight::All) {
            html.markup("<p class=\"quiet\">The number of a line opens a place for a comment, which goes to the child.</p>\n");
        }
        html.markup("<ul class=\"files\">\n");
        for (at, file) in self.files.iter().enumerate() {
            let (added, removed) = file.counts();
            html.markup("<li>")
                .leaf("a", &[("href", &format!("#f{at}"))], &file.name);
            html.text(&format!(" +{added} −{removed}"))
                .markup("</li>\n");
        }
        html.markup("</ul>\n");
        let mut left = MOST_LINES;
        for (at, file) in self.files.iter().enumerate() {
            html.tag("section", &[("id", &format!("f{at}"))]);
            html.element("<h2 class=\"file\">", &file.name, "</h2>\n");
            html.markup(
                "<div class=\"diff\" role=\"group\" tabindex=\"0\" aria-label=\"Lines\">\n",
            );
            for (line_at, line) in file.lines.iter().enumerate().take(left) {
                self.line((at, line_at), &file.name, line, html);
            }
            html.markup("</div></section>\n");
            if let Some(more @ 1..) = file.lines.len().checked_sub(left) {
                let words = format!(
                    "{} more lines of it; `grove runs diff {}.{}` prints all",
                    grouped(more),
                    self.scene.run.id,
                    self.child.id
                );
                html.element("<p class=\"doubt\">", &words, "</p>\n");
            }
            left = left.saturating_sub(file.lines.len());
        }
        Ok(())
    }

    fn line(&self, place: (usize, usize), file: &str, line: &ChangedLine<'_>, html: &mut HtmlPage) {
        let id = format!("l{}.{}", place.0, place.1);
        html.tag("div", &[("class", line.kind.class()), ("id", &id)]);
        let number = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
        let may = self.scene.viewer.may(PageRight::All) && line.kind != LineKind::About;
        html.element(
            "<span class=\"n\">",
            &number(line.before),
            "</span><span class=\"n\">",
        );
        let shown = line.after.or(line.before);
        if may {
            let address = format!("?at={}.{}#{id}", place.0, place.1);
            let words = format!("comment on line {}", number(shown));
            let link = [
                ("href", address.as_str()),
                ("aria-label", &words),
                ("data-comment", &id),
            ];
            let words = if line.after.is_some() {
                number(line.after)
            } else {
                "·".to_owned()
            };
            html.leaf("a", &link, &words);
        } else {
            html.text(&number(line.after));
        }
        html.markup("</span><span class=\"sign\">")
            .markup(line.kind.sign());
        html.markup("</span><code>");
        let end = line.text.floor_char_boundary(MOST_OF_LINE);
        html.text(line.text.get(..end).unwrap_or_default());
        if end < line.text.len() {
            html.markup("…");
        }
        html.markup("</code></div>\n");
        let is_about_it = |comment: &&LineComment| {
            comment.file == file && comment.line == line.after && comment.quoted == quoted(line)
        };
        for comment in self.comments.iter().filter(is_about_it) {
            html.markup("<div class=\"comment\"><p class=\"quiet\">You said</p>");
            markdown::write(&comment.words, html);
            html.markup("</div>\n");
        }
        if self.open == Some(place) {
            self.form(file, line, html);
        }
    }

    /// The place for a comment on a line.
    fn form(&self, file: &str, line: &ChangedLine<'_>, html: &mut HtmlPage) {
        let about = format!("{}.{}", self.scene.run.id, self.child.id);
        let form = ActionForm {
            action: "comment",
            about: &about,
            right: PageRight::All,
        };
        html.markup("<div class=\"comment\">");
        self.scene.viewer.form(&form, html, |html| {
            hidden("file", file, html);
            if let Some(number) = line.after {
                hidden("line", &number.to_string(), html);
            }
            hidden("quoted", &quoted(line), html);
            let label = format!(
                "Comment on {file}, line {}",
                line.after.or(line.before).unwrap_or(0)
            );
            html.leaf("label", &[("for", "comment")], &label);
            html.markup(
                "<textarea id=\"comment\" name=\"text\" rows=\"3\" required autofocus></textarea>",
            );
            html.markup("<button class=\"first\">Send to the child</button>");
        });
        html.markup("</div>\n");
    }

    /// The place for a comment alone, for the page's script.
    fn form_alone(&self, html: &mut HtmlPage) {
        let Some((file, line)) = self.open else {
            return;
        };
        let file = self.files.get(file);
        if let Some((file, line)) = file.and_then(|file| Some((file, file.lines.get(line)?))) {
            self.form(&file.name, line, html);
        }
    }
}

/// The text of a line as a comment quotes it.
fn quoted(line: &ChangedLine<'_>) -> String {
    let end = line.text.floor_char_boundary(MOST_OF_LINE);
    line.text
        .get(..end)
        .unwrap_or_default()
        .trim_end_matches('\r')
        .to_owned()
}

/// Writes the changes into a file.
pub(super) fn frozen(patch: &str, html: &mut HtmlPage) {
    for file in files(patch) {
        html.element(
            "<h4 class=\"file\">",
            &file.name,
            "</h4>\n<div class=\"diff\">\n",
        );
        for line in &file.lines {
            html.tag("div", &[("class", line.kind.class())]);
            html.markup("<span class=\"sign\">")
                .markup(line.kind.sign());
            html.element("</span><code>", line.text, "</code></div>\n");
        }
        html.markup("</div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,3 +3,4 @@ fn x() {\n same\n-old\n+new\n+-- more\n end\n\\ No newline at end of file\ndiff --git a/b c/d b/b c/d\nnew file mode 100644\n--- /dev/null\n+++ b/b c/d\n@@ -0,0 +1 @@\n+++ x\n";

    #[test]
    fn lines_have_the_numbers_of_both_sides() {
        let files = files(PATCH);
        assert_eq!(files.len(), 2);
        assert_eq!(files[0].name, "src/a.rs");
        assert_eq!(files[0].counts(), (2, 1));
        let numbers: Vec<(Option<u64>, Option<u64>, &str)> = files[0].lines[1..]
            .iter()
            .map(|line| (line.before, line.after, line.text))
            .collect();
        assert_eq!(
            numbers,
            [
                (Some(3), Some(3), "same"),
                (Some(4), None, "old"),
                (None, Some(4), "new"),
                (None, Some(5), "-- more"),
                (Some(5), Some(6), "end"),
                (None, None, "\\ No newline at end of file"),
            ]
        );
        // A line of the file that looks like a heading is a line.
        assert_eq!(
            (files[1].name.as_str(), files[1].counts()),
            ("b c/d", (1, 0))
        );
        assert_eq!(files[1].lines.last().map(|line| line.text), Some("++ x"));
    }

    #[test]
    fn what_is_no_patch_is_no_file() {
        for text in ["", "hello\n", "@@ -1 +1 @@\n+x\n"] {
            assert_eq!(files(text), []);
        }
    }
}
