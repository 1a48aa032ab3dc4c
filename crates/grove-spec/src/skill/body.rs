//! Checks of the whole text of a skill file: control characters and hidden text.

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::fence::lines;
use crate::hidden_text::{self, HiddenKind};
use crate::text::{counted, is_control, is_plain};

use super::conduct;

/// Reports control characters, hidden text and suspicious conduct in the body.
pub(crate) fn check(text: &str, body_offset: usize, diagnostics: &mut Vec<Diagnostic>) {
    let body = text.get(body_offset..).unwrap_or_default();
    if !is_plain(body) {
        check_characters(text, body_offset, body, diagnostics);
    }
    conduct::check_body(text, body_offset, diagnostics);
}

fn check_characters(text: &str, body_offset: usize, body: &str, diagnostics: &mut Vec<Diagnostic>) {
    // For the structure of a file, a lone CR is an old line end and not an overwrite.
    let mut controls = body
        .char_indices()
        .filter(|(_, c)| is_control(*c) && *c != '\r');
    if let Some((offset, first)) = controls.next() {
        let message = format!(
            "{} in the body, the first is U+{:04X}",
            counted(controls.count() + 1, "control character"),
            u32::from(first)
        );
        diagnostics.push(
            Diagnostic::new(Code::ControlCharacters, message)
                .at(position_of(text, body_offset + offset)),
        );
    }
    for finding in hidden_text::find(body) {
        diagnostics
            .push(hidden(&finding, "body").at(position_of(text, body_offset + finding.offset)));
    }
}

pub(super) fn hidden(finding: &hidden_text::HiddenText, place: &str) -> Diagnostic {
    let count = finding.count;
    match finding.kind {
        HiddenKind::Direction => Diagnostic::new(
            Code::BidiControl,
            format!("{} in the {place}", counted(count, "direction control")),
        ),
        HiddenKind::Invisible if finding.decoded.is_empty() => Diagnostic::new(
            Code::HiddenUnicode,
            format!("{} in the {place}", counted(count, "invisible character")),
        ),
        HiddenKind::Invisible => Diagnostic::new(
            Code::HiddenUnicode,
            format!(
                "{} in the {place}; they say: {}",
                counted(count, "invisible character"),
                finding.decoded
            ),
        ),
    }
}

/// Line and column of a byte offset; the end of a text is in its last line.
pub(crate) fn position_of(text: &str, offset: usize) -> Position {
    let ended = lines(text).take_while(|(.., next)| *next <= offset && *next < text.len());
    let (before, start) = ended.fold((0, 0), |(before, _), (.., next)| (before + 1, next));
    let column = text.get(start..offset).unwrap_or_default().chars().count();
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position::new(small(before + 1), small(column + 1))
}
