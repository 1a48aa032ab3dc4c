//! Whether the steps of a chain can speak of each other as they do.

use std::collections::BTreeMap;

use super::{Format, Place, Step, Task};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::text::one_line;

/// What may stand in braces in every task.
const KNOWN: [&str; 4] = ["task", "previous", "chain_dir", "outputs"];

/// Whether a text can be the name of an output or of an item.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a text is a JSON pointer.
pub(super) fn is_pointer(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut escapes = part.split('~').skip(1);
        escapes.all(|escape| escape.starts_with(['0', '1']))
    };
    text.is_empty() || (text.starts_with('/') && text.split('/').skip(1).all(is_part))
}

/// Reports names that stand twice and outputs that nobody gave yet.
pub(super) fn check(steps: &[Step], format: Format, diagnostics: &mut Vec<Diagnostic>) {
    // The first step that gives each name.
    let mut given: BTreeMap<&str, (usize, Place)> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        for (name, place) in step.output_names() {
            if name.is_empty() {
                continue;
            }
            if let Some((_, first)) = given.get(name) {
                // What was typed or asked for is on one line.
                let other = match first.0.line {
                    line if line == place.0.line => "another output".to_owned(),
                    line => format!("the output of line {line}"),
                };
                let message = format!("{other} is called `{name}` too");
                let finding = Diagnostic::new(Code::ChainOutputName, message);
                diagnostics.push(finding.at(place.0));
            } else {
                given.insert(name, (at, place));
            }
        }
    }
    for (at, step) in steps.iter().enumerate() {
        let mut need = |name: &str, place: Place| {
            let message = match given.get(name) {
                Some((giver, _)) if *giver < at => return,
                Some(_) => format!("`{name}` is an output of this step or of a later one"),
                None => format!("no step gives an output called `{}`", one_line(name)),
            };
            diagnostics.push(Diagnostic::new(Code::ChainReference, message).at(place.0));
        };
        for task in step.tasks() {
            for (name, place) in outputs_in(task, format) {
                need(name, place);
            }
        }
        if let Step::FanOut(fan_out) = step {
            if !fan_out.expand.output.is_empty() {
                need(&fan_out.expand.output, fan_out.settings.place);
            }
            let item = fan_out.expand.item.as_deref().unwrap_or("item");
            for (name, place) in braces_in(&fan_out.template, format) {
                if !KNOWN.contains(&name) && name != item {
                    let message = format!("`{{{name}}}` is neither the item nor known");
                    let finding = Diagnostic::new(Code::ChainReference, message);
                    diagnostics.push(finding.at(place.0));
                }
            }
        }
    }
}

/// The outputs that a task speaks of.
fn outputs_in(task: &Task, format: Format) -> impl Iterator<Item = (&str, Place)> {
    marks(task, format).filter_map(|(mark, place)| Some((mark.strip_prefix("outputs.")?, place)))
}

/// The names in braces that a task speaks of: `{item}`, `{item.path}`. Other braces are text.
fn braces_in(task: &Task, format: Format) -> impl Iterator<Item = (&str, Place)> {
    marks(task, format).filter_map(|(mark, place)| {
        let name = mark.split_once('.').map_or(mark, |(name, _)| name);
        is_identifier(name).then_some((name, place))
    })
}

/// What stands in braces in the task and its label, each with its place.
fn marks(task: &Task, format: Format) -> impl Iterator<Item = (&str, Place)> {
    let texts = [
        (task.task.as_deref(), task.places.text),
        (task.label.as_deref(), task.places.label),
    ];
    texts.into_iter().flat_map(move |(text, first)| {
        let lines = text.unwrap_or_default().lines().enumerate();
        lines.flat_map(move |(number, line)| {
            let below = match format {
                Format::Markdown => u32::try_from(number).unwrap_or(u32::MAX),
                // A text of several lines stands on one line there.
                Format::Json => 0,
            };
            let line_number = first.0.line.saturating_add(below);
            let place = Place(Position::new(line_number, first.0.column));
            in_braces(line).map(move |mark| (mark, place))
        })
    })
}

fn in_braces(line: &str) -> impl Iterator<Item = &str> {
    line.split('{').skip(1).filter_map(|rest| {
        let (mark, _) = rest.split_once('}')?;
        Some(mark)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_and_names() {
        for (text, expected) in [
            ("", true),
            ("/", true),
            ("/a/0/b~1c~0", true),
            ("a", false),
            ("/a~", false),
            ("/a~2", false),
        ] {
            assert_eq!(is_pointer(text), expected, "{text:?}");
        }
        for (text, expected) in [
            ("a", true),
            ("_a1", true),
            ("1a", false),
            ("a-b", false),
            ("", false),
            ("é", false),
        ] {
            assert_eq!(is_identifier(text), expected, "{text:?}");
        }
    }
}
