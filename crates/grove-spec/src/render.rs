//! Diagnostics for people: one renderer with a source snippet.

use std::fmt::Write as _;
use std::path::Path;

use unicode_width::UnicodeWidthStr as _;

use crate::diagnostic::{Diagnostic, Severity};
use crate::fence::lines;
use crate::text::{one_line, visible};

/// The widest part of a source line that is shown.
const SNIPPET_CHARS: usize = 100;

/// Renders a diagnostic, with the line that it is about if the source is given.
///
/// The result ends with a line end and has no other control characters but line ends.
pub fn render(diagnostic: &Diagnostic, source: Option<&str>) -> String {
    let mut out = String::new();
    let message = one_line(&diagnostic.message);
    let _ = writeln!(
        out,
        "{}[{}]: {message}",
        diagnostic.severity.as_str(),
        diagnostic.code.as_str()
    );
    if let Some(file) = &diagnostic.file {
        let path = file.to_string_lossy();
        let _ = match diagnostic.position {
            Some(at) => writeln!(out, "  --> {}:{}:{}", path_line(&path), at.line, at.column),
            None => writeln!(out, "  --> {}", path_line(&path)),
        };
    }
    if let (Some(at), Some(source)) = (diagnostic.position, source) {
        snippet(&mut out, source, at.line, at.column);
    }
    let _ = writeln!(out, "  = help: {}", one_line(diagnostic.help_text()));
    out
}

/// A diagnostic as one line that GitHub Actions shows at its place in the file; paths below `folder` are relative to it.
pub fn annotation(diagnostic: &Diagnostic, folder: &Path) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut line = format!("::{level} title={}", diagnostic.code.as_str());
    if let Some(file) = &diagnostic.file {
        let file = file.strip_prefix(folder).unwrap_or(file);
        let _ = write!(line, ",file={}", in_command(&file.to_string_lossy(), true));
    }
    if let Some(at) = diagnostic.position {
        let _ = write!(line, ",line={},col={}", at.line, at.column);
    }
    let message = in_command(&one_line(&diagnostic.message), false);
    let help = in_command(&one_line(diagnostic.help_text()), false);
    let _ = writeln!(line, "::{message} ({help})");
    line
}

/// Text of a workflow command, in which each character that would end something is percent-encoded.
fn in_command(text: &str, is_property: bool) -> String {
    let text = text.replace('%', "%25");
    let text = text.replace('\r', "%0D").replace('\n', "%0A");
    if is_property {
        text.replace(':', "%3A").replace(',', "%2C")
    } else {
        text
    }
}

/// A path on one line: blanks stay, line ends and control characters become escapes.
fn path_line(path: &str) -> String {
    visible(path).replace('\n', "\\n").replace('\t', "\\t")
}

fn snippet(out: &mut String, source: &str, line: u32, column: u32) {
    let Some(text) = nth_line(source, line) else {
        return;
    };
    if text.trim().is_empty() {
        return;
    }
    let column = column.saturating_sub(1) as usize;
    // A long line is shown from a little before the column of the finding.
    let skip = if column + 20 > SNIPPET_CHARS {
        column.saturating_sub(20)
    } else {
        0
    };
    let mut rest = text.chars().skip(skip);
    let window = rest.by_ref().take(SNIPPET_CHARS);
    let window: String = window.map(|c| if c == '\t' { ' ' } else { c }).collect();
    if window.trim().is_empty() {
        return;
    }
    let left_out = if skip > 0 { "…" } else { "" };
    let goes_on = if rest.next().is_some() { "…" } else { "" };
    let before: String = window.chars().take(column - skip).collect();
    let before = format!("{left_out}{}", visible(&before));
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let _ = writeln!(out, "{margin} |");
    let _ = writeln!(out, "{number} | {left_out}{}{goes_on}", visible(&window));
    // Some characters are two columns wide, and some none.
    let _ = writeln!(out, "{margin} | {}^", " ".repeat(before.width()));
}

fn nth_line(source: &str, line: u32) -> Option<&str> {
    let at = usize::try_from(line).ok()?.saturating_sub(1);
    lines(source).nth(at).map(|(_, line, _)| line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::Code;
    use crate::diagnostic::Position;
    use crate::text::is_control;

    #[test]
    fn an_annotation_is_one_line_that_its_text_cannot_end() {
        let finding = Diagnostic::new(Code::NameMismatch, "100 %::error\nnext")
            .in_file(Path::new("/w/a,b:c/SKILL.md"))
            .at(Position::new(2, 7));
        assert_eq!(
            annotation(&finding, Path::new("/w")),
            "::warning title=name-mismatch,file=a%2Cb%3Ac/SKILL.md,line=2,col=7::100 %25::error next \
             (rename the folder or the skill so that both agree)\n"
        );
    }

    #[test]
    fn the_place_is_shown_with_help() {
        let diagnostic =
            Diagnostic::new(Code::YamlRepaired, "`description` was read as plain text")
                .at(Position::new(3, 14))
                .in_file(Path::new("a/SKILL.md"));
        let source = "---\nname: a\ndescription: Use when: x\n---\n";
        assert_eq!(
            render(&diagnostic, Some(source)),
            "warning[yaml-repaired]: `description` was read as plain text\n  --> a/SKILL.md:3:14\n  |\n3 | description: Use when: x\n  |              ^\n  = help: put the value in double quotes\n"
        );
    }

    #[test]
    fn a_line_that_is_cut_shows_it_and_the_caret_stands_below_the_place() {
        let shown = |source: &str, column: u32| {
            let finding = Diagnostic::new(Code::YamlRepaired, "x").at(Position::new(1, column));
            let text = render(&finding, Some(source));
            let mut lines = text.lines().skip(2).map(|line| line[4..].to_owned());
            (lines.next().unwrap(), lines.next().unwrap())
        };
        let long = format!("{}!{}", "a".repeat(60), "b".repeat(100));
        let (line, caret) = shown(&long, 61);
        assert_eq!(line, format!("{}!{}…", "a".repeat(60), "b".repeat(39)));
        assert_eq!(caret, format!("{}^", " ".repeat(60)));
        let long = format!("{}!{}", "a".repeat(200), "b".repeat(10));
        let (line, caret) = shown(&long, 201);
        assert_eq!(line, format!("…{}!{}", "a".repeat(20), "b".repeat(10)));
        assert_eq!(caret, format!("{}^", " ".repeat(21)));
        let (line, caret) = shown("名前: x", 5);
        assert_eq!((line.as_str(), caret.as_str()), ("名前: x", "      ^"));
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        let diagnostic = Diagnostic::new(Code::Unreadable, "bad \u{1b}[2J\nname")
            .at(Position::new(1, 500))
            .in_file(Path::new("x\n\u{1b}]0;t\u{7}"))
            .with_help("a\rb");
        let rendered = render(&diagnostic, Some("\u{1b}[31m\u{9b}"));
        assert!(!rendered.contains(is_control), "{rendered:?}");
        assert_eq!(rendered.lines().count(), 3, "{rendered}");
    }
}
