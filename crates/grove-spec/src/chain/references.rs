//! The check of references between the steps of a chain.

use std::collections::BTreeMap;

use super::{ChainFormat, ChainPosition, ChainStep, ChainTask};
use crate::agent::OutputFile;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::text::one_line;

/// The names that may be in braces in every task.
const KNOWN: [&str; 4] = ["task", "previous", "chain_dir", "outputs"];

/// Returns true if a text can be the name of an output or of an item.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn is_pointer(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut escapes = part.split('~').skip(1);
        escapes.all(|escape| escape.starts_with(['0', '1']))
    };
    text.is_empty() || (text.starts_with('/') && text.split('/').skip(1).all(is_part))
}

/// Reports repeated names, and references to outputs that no earlier step gives.
pub(super) fn check(steps: &[ChainStep], format: ChainFormat, diagnostics: &mut Vec<Diagnostic>) {
    // The first step that gives each name.
    let mut given: BTreeMap<&str, (usize, ChainPosition)> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        for (name, place) in step.output_names() {
            if name.is_empty() {
                continue;
            }
            if let Some((_, first)) = given.get(name) {
                // Steps that were typed on a command line or sent in a request are all on one line.
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
    let mut broken = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let mut need = |name: &str, place: ChainPosition| {
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
            broken.extend(broken_in(task, "outputs", format));
        }
        if let ChainStep::FanOut(fan_out) = step {
            let item = fan_out.expand.item.as_deref().unwrap_or("item");
            broken.extend(broken_in(&fan_out.template, item, format));
            if !fan_out.expand.output.is_empty() {
                need(&fan_out.expand.output, fan_out.settings.place);
            }
            for (name, place) in braces_in(&fan_out.template, format) {
                if !KNOWN.contains(&name) && name != item {
                    let message =
                        format!("`{{{name}}}` means nothing here; the item is `{{{item}}}`");
                    let help = format!(
                        "write `{{{item}}}`, or `{{outputs.NAME}}` for what a step before it said"
                    );
                    let finding = Diagnostic::new(Code::ChainReference, message);
                    diagnostics.push(finding.with_help(help).at(place.0));
                }
            }
        }
    }
    diagnostics.extend(broken);
}

/// Findings about marks in a task that are written nearly like a part of `name`, but would be passed on as text.
fn broken_in(task: &ChainTask, name: &str, format: ChainFormat) -> Vec<Diagnostic> {
    let broken = lines_of(task, format).flat_map(|(line, place)| {
        let broken = broken_marks(line, name);
        broken.map(move |broken| (broken, place))
    });
    let finding = |(broken, place): (BrokenMark<'_>, ChainPosition)| {
        let mark = one_line(broken.mark);
        let (message, help) = if broken.is_closed {
            let message = format!("`{mark}` is not a way to write a part of `{name}`");
            (message, format!("write `{{{name}.PART}}`"))
        } else {
            (
                format!("`{mark}` is not closed"),
                "write `}` after it".to_owned(),
            )
        };
        let finding = Diagnostic::new(Code::ChainReference, message);
        finding.with_help(help).at(place.0)
    };
    broken.map(finding).collect()
}

/// A mark in braces that begins like a part of a value but is not one.
struct BrokenMark<'a> {
    mark: &'a str,
    is_closed: bool,
}

/// The broken marks of a line that begin with `name`. Braces of program text, such as `{name: 1}`, do not count.
fn broken_marks<'a>(line: &'a str, name: &str) -> impl Iterator<Item = BrokenMark<'a>> {
    let opened = line.match_indices('{');
    opened.filter_map(move |(at, _)| {
        let braces = line.get(at..)?;
        let inner = braces.get(1..)?;
        let after = inner.trim_start().strip_prefix(name)?;
        let is_like_a_part = after.trim_start().is_empty()
            || after.starts_with(['.', '[', '/', '#'])
            || after.trim_start().starts_with('}');
        if !is_like_a_part {
            return None;
        }
        let end = inner.find(['{', '}']);
        let Some(end) = end.filter(|end| inner[*end..].starts_with('}')) else {
            let mark = braces.split_whitespace().next().unwrap_or(braces);
            return Some(BrokenMark {
                mark,
                is_closed: false,
            });
        };
        let path = inner.get(..end)?.strip_prefix(name);
        let mark = braces.get(..end + 2)?;
        (!path.is_some_and(is_path)).then_some(BrokenMark {
            mark,
            is_closed: true,
        })
    })
}

/// Returns true if a text can follow the name of a value: empty text, the key, or parts with dots before them.
fn is_path(path: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.trim().len() == part.len() && !part.contains(['[', ']'])
    };
    let parts = path.strip_prefix('.');
    path.is_empty() || path == "#key" || parts.is_some_and(|it| it.split('.').all(is_part))
}

fn outputs_in(
    task: &ChainTask,
    format: ChainFormat,
) -> impl Iterator<Item = (&str, ChainPosition)> {
    marks(task, format).filter_map(|(mark, place)| Some((mark.strip_prefix("outputs.")?, place)))
}

/// The names in braces that a task refers to: `{item}`, `{item.path}`. Other braces are text.
fn braces_in(task: &ChainTask, format: ChainFormat) -> impl Iterator<Item = (&str, ChainPosition)> {
    marks(task, format).filter_map(|(mark, place)| {
        let name = mark.split_once('.').map_or(mark, |(name, _)| name);
        is_identifier(name).then_some((name, place))
    })
}

/// The text in each pair of braces in the task and its label, with its place.
fn marks(task: &ChainTask, format: ChainFormat) -> impl Iterator<Item = (&str, ChainPosition)> {
    let lines = lines_of(task, format);
    lines.flat_map(|(line, place)| in_braces(line).map(move |mark| (mark, place)))
}

/// The lines of the task, its label and the file for its answer, each with its place.
fn lines_of(task: &ChainTask, format: ChainFormat) -> impl Iterator<Item = (&str, ChainPosition)> {
    let output = match &task.output {
        Some(OutputFile::File(path)) => Some(path.as_str()),
        Some(OutputFile::None) | None => None,
    };
    let texts = [
        (task.task.as_deref(), task.places.text),
        (task.label.as_deref(), task.places.label),
        (output, task.places.whole),
    ];
    texts.into_iter().flat_map(move |(text, first)| {
        let lines = text.unwrap_or_default().lines().enumerate();
        lines.map(move |(number, line)| {
            let below = match format {
                ChainFormat::Markdown => u32::try_from(number).unwrap_or(u32::MAX),
                // In JSON a text of several lines is on one line.
                ChainFormat::Json => 0,
            };
            let line_number = first.0.line.saturating_add(below);
            (
                line,
                ChainPosition(Position::new(line_number, first.0.column)),
            )
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
    fn what_is_nearly_a_part_of_an_item_is_named() {
        for (line, expected) in [
            ("look at {item} and {item.a.0.b c} in {item#key}", vec![]),
            (
                "other braces: {items} {item: 1, item} {x} { \"item\": 1 }",
                vec![],
            ),
            ("{item[path]} {item.a}", vec!["{item[path]}"]),
            ("{item.a[0]}", vec!["{item.a[0]}"]),
            (
                "{item.}{item..a}{item/a}",
                vec!["{item.}", "{item..a}", "{item/a}"],
            ),
            ("{ item.path }{item }", vec!["{ item.path }", "{item }"]),
            ("{item#index}", vec!["{item#index}"]),
            ("look at {item.path and more", vec!["{item.path!"]),
            ("{item.path {item.path}", vec!["{item.path!"]),
            ("look at {item", vec!["{item!"]),
        ] {
            let shown = |broken: BrokenMark<'_>| {
                let end = if broken.is_closed { "" } else { "!" };
                format!("{}{end}", broken.mark)
            };
            let found: Vec<String> = broken_marks(line, "item").map(shown).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

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
