//! New steps for a chain file: the steps that stay, and everything around them, stay byte for byte.

use std::ops::Range;

use serde_json::Value;

use super::json_file::STEPS;
use super::{ChainStep, markdown, print};
use crate::{fence, json};

/// The number of steps at the start and at the end that are the same before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnchangedSteps {
    first: usize,
    last: usize,
}

impl UnchangedSteps {
    pub(super) fn of(old: &[ChainStep], new: &[ChainStep]) -> Self {
        let same = |(a, b): &(&ChainStep, &ChainStep)| a == b;
        let first = old.iter().zip(new).take_while(same).count();
        let rest = |steps: &[ChainStep]| steps.len() - first;
        let backwards = old.iter().rev().zip(new.iter().rev());
        let last = backwards.take_while(same).count();
        let last = last.min(rest(old)).min(rest(new));
        Self { first, last }
    }

    /// The index of the old step that a new one equals, if it is kept.
    fn old_of(self, at: usize, old: usize, new: usize) -> Option<usize> {
        if at < self.first {
            Some(at)
        } else if at + self.last >= new {
            (at + old).checked_sub(new)
        } else {
            None
        }
    }
}

/// A `.chain.md` with other steps, if each can be written in it.
pub(super) fn markdown(text: &str, steps: &[ChainStep], kept: UnchangedSteps) -> Option<String> {
    let line_end = fence::line_end(text);
    let starts = markdown::step_starts(text)?;
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    // Each old step is split into its text and the blank lines after it.
    let old: Vec<(&str, &str)> = starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| {
            let whole = text.get(*start..end)?;
            Some(whole.split_at(whole.trim_end().len()))
        })
        .collect();
    let between = line_end.repeat(2);
    let after_last = old.last().map_or(line_end, |(_, after)| *after);
    let head = text.get(..starts.first().copied().unwrap_or(text.len()))?;
    let mut changed = head.to_owned();
    // In a file without steps, the first one begins after an empty line.
    if starts.is_empty() {
        changed.truncate(head.trim_end().len());
        changed.push_str(&between);
    }
    for (at, step) in steps.iter().enumerate() {
        let old_at = kept.old_of(at, old.len(), steps.len());
        let mut after = between.as_str();
        if let Some((step, gap)) = old_at.and_then(|at| old.get(at)) {
            changed.push_str(step);
            // The gap after the last old step is the end of the file.
            if old_at.is_some_and(|at| at + 1 < old.len()) {
                after = gap;
            }
        } else {
            let written = print::step_markdown(step).ok()?;
            changed.push_str(&written.trim_end().replace('\n', line_end));
        }
        let is_last = at + 1 == steps.len();
        changed.push_str(if is_last { after_last } else { after });
    }
    Some(changed)
}

pub(super) fn json(text: &str, steps: &Value, kept: UnchangedSteps) -> Option<String> {
    let document = json::parse(text).ok()?;
    let mut members = document.members.iter();
    let list = members.find(|member| STEPS.contains(&member.key.as_str()))?;
    let line = text.get(..list.start)?.rsplit(['\n', '\r']).next()?;
    let whole = WrittenForm {
        indent: line.chars().take_while(|c| c.is_whitespace()).collect(),
        line_end: fence::line_end(text),
        on_lines: text.contains(['\n', '\r']),
    };
    let old = text.get(list.value..list.end)?;
    let new = if kept == UnchangedSteps::default() {
        whole.value(steps)
    } else {
        items(old, steps.as_array()?, kept, &whole)?
    };
    let (before, after) = (text.get(..list.value)?, text.get(list.end..)?);
    Some(format!("{before}{new}{after}"))
}

fn items(
    list: &str,
    steps: &[Value],
    kept: UnchangedSteps,
    whole: &WrittenForm<'_>,
) -> Option<String> {
    let old: Vec<Range<usize>> = json::parse(list).ok()?.items;
    let (first, last) = (old.first()?, old.last()?);
    let lead = list.get(1..first.start)?;
    let between = match old.get(1) {
        Some(second) => list.get(first.end..second.start)?.to_owned(),
        None => format!(",{lead}"),
    };
    let written = WrittenForm {
        indent: lead.rsplit(['\n', '\r']).next()?.to_owned(),
        on_lines: lead.contains(['\n', '\r']),
        ..*whole
    };
    let new = steps.get(kept.first..steps.len().checked_sub(kept.last)?)?;
    let new: Vec<String> = new.iter().map(|step| written.value(step)).collect();
    let from = match kept.first.checked_sub(1) {
        Some(at) => old.get(at)?.end,
        None => first.start,
    };
    let to = match kept.last {
        0 => last.end,
        count => old.get(old.len().checked_sub(count)?)?.start,
    };
    let mut parts: Vec<&str> = new.iter().map(String::as_str).collect();
    // An empty part for the kept steps adds the comma beside them.
    if kept.first > 0 {
        parts.insert(0, "");
    }
    if kept.last > 0 {
        parts.push("");
    }
    let (before, after) = (list.get(..from)?, list.get(to..)?);
    Some(format!("{before}{}{after}", parts.join(&between)))
}

/// The form in which a value is written at its place.
struct WrittenForm<'a> {
    indent: String,
    line_end: &'a str,
    on_lines: bool,
}

impl WrittenForm<'_> {
    fn value(&self, value: &Value) -> String {
        if self.on_lines {
            let (line_end, indent) = (self.line_end, &self.indent);
            format!("{value:#}").replace('\n', &format!("{line_end}{indent}"))
        } else {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use crate::chain::compose::with_steps;
    use crate::chain::{ChainFormat, parse};

    /// A file with these agents as its steps, each written in its own odd form.
    fn odd_markdown(agents: &[&str], line_end: &str) -> (String, Vec<String>) {
        let head = "---\n# mine\nname: 'x'\ndescription: d # so\n---\n";
        let steps = agents.iter().enumerate().map(|(at, agent)| {
            let blanks = "\n".repeat(at % 3);
            format!("##  {agent}\nModel:   m{agent}\nprogress:  TRUE\n\n\nDo {agent}.  \n{blanks}")
        });
        let steps: Vec<String> = steps.map(|step| step.replace('\n', line_end)).collect();
        let head = head.replace('\n', line_end);
        (format!("{head}{}", steps.concat()), steps)
    }

    fn odd_json(agents: &[&str], line_end: &str) -> (String, Vec<String>) {
        let steps: Vec<String> = agents
            .iter()
            .map(|agent| {
                format!("{{ \"task\":\"Do {agent}.\",\n      \"agent\" : \"{agent}\", \"model\": \"m{agent}\", \"progress\": true}}")
                    .replace('\n', line_end)
            })
            .collect();
        let list = steps.join(&format!(" ,{line_end}   "));
        let text = "{\n\t\"name\": \"x\",   \"description\": \"d\",\n\t\"chain\": [\n   LIST\n ], \"mine\": 1.0\n}\n";
        let text = text.replace('\n', line_end).replace("LIST", &list);
        (text, steps)
    }

    fn steps_of(agents: &[&str]) -> serde_json::Value {
        let steps = agents.iter().map(|agent| {
            json!({"agent": agent, "task": format!("Do {agent}."), "model": format!("m{agent}"), "progress": true})
        });
        steps.collect()
    }

    #[test]
    fn only_the_steps_that_change_are_written() {
        for line_end in ["\n", "\r\n"] {
            let (text, steps) = odd_markdown(&["a", "b", "c"], line_end);
            let changed =
                with_steps(&text, ChainFormat::Markdown, &steps_of(&["a", "n", "c"])).unwrap();
            let new = "## n\nprogress: true\nmodel: mn\n\nDo n.\n\n".replace('\n', line_end);
            assert_eq!(changed, text.replace(&steps[1], &new));

            let (text, steps) = odd_json(&["a", "b", "c"], line_end);
            let changed =
                with_steps(&text, ChainFormat::Json, &steps_of(&["a", "n", "c"])).unwrap();
            let start = text.find(&steps[1]).unwrap();
            let end = start + steps[1].len();
            assert!(changed.starts_with(&text[..start]), "{changed}");
            assert!(changed.ends_with(&text[end..]), "{changed}");
        }
    }

    #[test]
    fn no_line_is_put_between_the_frontmatter_and_the_first_step() {
        let text = "---\nname: x\ndescription: d\n---\n## a\n\nOld.\n";
        let steps = json!([{"agent": "b", "task": "New."}]);
        assert_eq!(
            with_steps(text, ChainFormat::Markdown, &steps).unwrap(),
            "---\nname: x\ndescription: d\n---\n## b\n\nNew.\n"
        );
        let empty = "---\nname: x\ndescription: d\n---\n";
        assert_eq!(
            with_steps(empty, ChainFormat::Markdown, &steps).unwrap(),
            "---\nname: x\ndescription: d\n---\n\n## b\n\nNew.\n"
        );
    }

    proptest! {
        /// After any replacement the file has the new steps, and the kept ones are written as before.
        #[test]
        fn what_stays_stays_byte_for_byte(
            old in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..5),
            new in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "n"]), 1..5),
            line_end in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            for (format, (text, written)) in [
                (ChainFormat::Markdown, odd_markdown(&old, line_end)),
                (ChainFormat::Json, odd_json(&old, line_end)),
            ] {
                let changed = with_steps(&text, format, &steps_of(&new)).unwrap();
                let fresh = with_steps(&odd_json(&["x"], line_end).0, ChainFormat::Json, &steps_of(&new)).unwrap();
                prop_assert_eq!(&parse(&changed, format).chain.steps, &parse(&fresh, ChainFormat::Json).chain.steps);
                prop_assert_eq!(changed.matches('\n').count(), changed.matches(line_end).count());
                let same = |(a, b): &(&&str, &&str)| a == b;
                let first = old.iter().zip(&new).take_while(same).count();
                let last = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
                let last = last.min(old.len().min(new.len()) - first);
                let kept = written[..first].iter().chain(&written[old.len() - last..]);
                let head = match format {
                    ChainFormat::Markdown => &written[0],
                    ChainFormat::Json => "\"chain\"",
                };
                let mut at = text.find(head).unwrap();
                prop_assert!(changed.starts_with(&text[..at]), "{}", changed);
                for step in kept {
                    let found = changed[at..].find(step.trim_end());
                    prop_assert!(found.is_some(), "{}", changed);
                    at += found.unwrap_or_default() + step.trim_end().len();
                }
                let tail = match format {
                    ChainFormat::Markdown => "",
                    ChainFormat::Json => "], \"mine\": 1.0",
                };
                prop_assert!(changed.contains(tail));
            }
        }
    }
}
