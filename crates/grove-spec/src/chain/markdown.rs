//! `.chain.md`: frontmatter, then a heading `## agent` for each step, its settings, an empty line, its task.
//!
//! Headings in code blocks are text. A code block that is never closed does not count as one, so that a forgotten fence
//! does not swallow the steps after it.

use super::json_file::STEPS;
use super::step_fields::{StepReader, TaskRole};
use super::{ChainFile, ChainFormat, ChainStep, MAX_STEPS, ParsedChain, is_head_key, read_head};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::fence;
use crate::frontmatter;
use crate::json;
use crate::skill::body;
use crate::text::without_controls;
use crate::yaml::{self, YamlEntry, YamlNode};

/// The keys that a step may have here, as they are written; any case is accepted.
pub(super) const KEYS: [&str; 13] = [
    "phase",
    "label",
    "as",
    "outputSchema",
    "output",
    "outputMode",
    "reads",
    "model",
    "skills",
    "skill",
    "progress",
    "cwd",
    "acceptance",
];

/// Keys that are expressed in another way here, or only in a `.chain.json`.
const ELSEWHERE: [&str; 6] = ["agent", "task", "count", "parallel", "expand", "collect"];

pub(super) fn read(text: &str) -> ParsedChain {
    let document = match frontmatter::read(text, crate::agent::known_keys::KNOWN) {
        Ok(document) => document,
        Err(refusal) => return ParsedChain::refused(refusal),
    };
    let mut diagnostics = document.diagnostics;
    let mut chain = ChainFile::default();
    if let Some(entries) = document.entries {
        let (heads, others): (Vec<YamlEntry>, Vec<YamlEntry>) = entries
            .into_iter()
            .partition(|entry| is_head_key(&entry.key));
        read_head(heads, &mut chain, &mut diagnostics);
        // In a `.chain.json` these hold the steps; here the steps are under headings.
        let (steps, others): (Vec<YamlEntry>, Vec<YamlEntry>) = others
            .into_iter()
            .partition(|entry| STEPS.contains(&&*entry.key));
        diagnostics.extend(steps.iter().map(|entry| {
            let key = &entry.key;
            let message =
                format!("`{key}` has no meaning in a `.chain.md`: each step has a heading");
            Diagnostic::new(Code::ChainStep, message).at(entry.position)
        }));
        let kept = others.iter();
        chain.extra = kept
            // A value that looks like a number in YAML is kept as the author's text.
            .map(|entry| (entry.key.to_string(), json::words_of(&entry.value)))
            .collect();
    }
    body::check(text, document.body_offset, &mut diagnostics);
    let first_line = body::position_of(text, document.body_offset).line;
    let own = text.get(document.body_offset..).unwrap_or_default();
    let lines = BodyLines::of(own, first_line);
    read_steps(&lines, &mut chain, &mut diagnostics);
    ParsedChain { chain, diagnostics }
}

/// The byte offsets of the steps of a file.
pub(super) fn step_starts(text: &str) -> Option<Vec<usize>> {
    let fenced = fence::split(text).ok()?;
    let lines = BodyLines::of(fenced.body, 1);
    let headings = (0..lines.all.len()).filter(|at| lines.heading(*at).is_some());
    let starts = headings.filter_map(|at| lines.starts.get(at));
    Some(starts.map(|start| fenced.body_offset + start).collect())
}

struct BodyLines<'a> {
    all: Vec<&'a str>,
    /// The byte offset of each line in the body.
    starts: Vec<usize>,
    first: u32,
    /// True for each line in a code block, its fences included.
    in_code: Vec<bool>,
}

impl<'a> BodyLines<'a> {
    fn of(body: &'a str, first: u32) -> Self {
        let (starts, lines): (Vec<usize>, Vec<&str>) = fence::lines(body)
            .map(|(start, line, _)| (start, line))
            .unzip();
        let in_code = code_lines(&lines);
        Self {
            all: lines,
            starts,
            first,
            in_code,
        }
    }

    fn number(&self, at: usize) -> u32 {
        self.first
            .saturating_add(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn heading(&self, at: usize) -> Option<&'a str> {
        let line = self.all.get(at)?;
        let rest = line.strip_prefix("##")?;
        let is_second = rest.is_empty() || rest.starts_with([' ', '\t']);
        let is_text = self.in_code.get(at).copied().unwrap_or(false);
        (is_second && !is_text).then(|| rest.trim())
    }

    fn text(&self, from: usize, to: usize) -> String {
        let lines = self.all.get(from..to).unwrap_or_default();
        lines.join("\n").trim_end().to_owned()
    }
}

/// Returns for each line true if it is in a closed code block.
pub(super) fn code_lines(lines: &[&str]) -> Vec<bool> {
    let mut in_code = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let opened = lines.get(at).and_then(|line| fence_of(line));
        let close = opened.and_then(|(mark, length, _)| {
            let after = lines.iter().enumerate().skip(at + 1);
            let mut closes = after.filter(|(_, line)| {
                fence_of(line).is_some_and(|(other, long, info)| {
                    other == mark && long >= length && info.is_empty()
                })
            });
            closes.next().map(|(close, _)| close)
        });
        if let Some(close) = close {
            if let Some(block) = in_code.get_mut(at..=close) {
                block.fill(true);
            }
            at = close;
        }
        at += 1;
    }
    in_code
}

/// The mark and length of a fence, and the text after it.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let inner = line.trim_start_matches(' ');
    let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = inner.trim_start_matches(mark);
    let length = inner.len() - info.len();
    let indented = line.len() - inner.len() > 3;
    let is_code_span = mark == '`' && info.contains('`');
    (length >= 3 && !indented && !is_code_span).then(|| (mark, length, info.trim()))
}

fn read_steps(lines: &BodyLines<'_>, chain: &mut ChainFile, diagnostics: &mut Vec<Diagnostic>) {
    let headings: Vec<(usize, &str)> = (0..lines.all.len())
        .filter_map(|at| Some((at, lines.heading(at)?)))
        .collect();
    let first = headings.first().map_or(lines.all.len(), |(at, _)| *at);
    let intro = without_controls(&lines.text(0, first)).into_owned();
    intro.trim_matches('\n').clone_into(&mut chain.intro);
    let mut reader = StepReader {
        format: ChainFormat::Markdown,
        diagnostics,
    };
    if headings.is_empty() {
        let finding = Diagnostic::new(Code::ChainIncomplete, "the chain has no step");
        let finding = finding
            .with_severity(Severity::Warning)
            .with_help("begin each step with a heading `## AGENT`");
        reader
            .diagnostics
            .push(finding.at(Position::new(lines.number(0), 1)));
    }
    if let Some((beyond, _)) = headings.get(MAX_STEPS) {
        let message = format!("{} steps, more than {MAX_STEPS}", headings.len());
        let position = Position::new(lines.number(*beyond), 1);
        reader.report(Code::ChainLimit, position, message);
    }
    let ends = headings.iter().skip(1).map(|(at, _)| *at);
    let ends: Vec<usize> = ends.chain([lines.all.len()]).collect();
    for ((at, agent), end) in headings.iter().zip(ends).take(MAX_STEPS) {
        let step = read_step(lines, *at, agent, end, &mut reader);
        chain.steps.push(step);
    }
}

fn read_step(
    lines: &BodyLines<'_>,
    heading: usize,
    agent: &str,
    end: usize,
    reader: &mut StepReader<'_>,
) -> ChainStep {
    let position = Position::new(lines.number(heading), 1);
    let mut entries = vec![YamlEntry {
        key: yaml::key("agent"),
        position,
        value: YamlNode::text(agent, position),
    }];
    let start = heading + 1;
    let block = lines.all.get(start..end).unwrap_or_default();
    let blank = block.iter().position(|line| line.trim().is_empty());
    let settings = blank.unwrap_or(block.len());
    let mut text = start + settings;
    let mut unknown = Vec::new();
    for (at, line) in block.iter().enumerate().take(settings) {
        let indent = line.chars().take_while(|c| c.is_whitespace()).count();
        let column = u32::try_from(indent + 1).unwrap_or(u32::MAX);
        let position = Position::new(lines.number(start + at), column);
        let Some((key, value)) = setting(line, blank.is_some()) else {
            text = start + at;
            let message = "the step's text begins without a blank line before it";
            reader.report(Code::ChainStepText, position, message);
            break;
        };
        let entry = YamlEntry {
            key: yaml::key(key),
            position,
            value: YamlNode::plain(value, position),
        };
        let known = entries.iter().map(|entry| &*entry.key);
        let mut known = known.chain(unknown.iter().map(|(key, _): &(String, _)| key.as_str()));
        if ELSEWHERE.contains(&key) {
            let message = format!("`{key}` has no meaning in the settings of a `.chain.md`");
            reader.report(Code::ChainStep, position, message);
        } else if known.any(|known| known == key) {
            let message = format!("`{key}` appears twice");
            reader.report(Code::DuplicateKey, position, message);
        } else if KEYS.contains(&key) {
            entries.push(entry);
        } else {
            reader.unknown(&mut unknown, &entry);
        }
    }
    let skipped = lines.all.get(text..end).unwrap_or_default();
    let skipped = skipped.iter().take_while(|line| line.trim().is_empty());
    let text = text + skipped.count();
    let task = without_controls(&lines.text(text, end)).into_owned();
    if !task.is_empty() {
        let position = Position::new(lines.number(text), 1);
        entries.push(YamlEntry {
            key: yaml::key("task"),
            position,
            value: YamlNode::text(task, position),
        });
    }
    let mut task = reader.task(&entries, position, TaskRole::Step);
    task.unknown = unknown;
    ChainStep::One(Box::new(task))
}

/// Reads a line of a step's settings. A line with an unknown key is a setting only if an empty line ends the settings;
/// otherwise it may be the beginning of the task.
fn setting(line: &str, is_ended: bool) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim();
    let known = KEYS.iter().find(|known| known.eq_ignore_ascii_case(key));
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let could_be = is_ended
        && !key.is_empty()
        && key.chars().all(is_word)
        && (value.is_empty() || value.starts_with([' ', '\t']));
    match known {
        Some(known) => Some((known, value.trim())),
        None => could_be.then(|| (key, value.trim())),
    }
}
