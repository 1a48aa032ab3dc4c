//! The prompt of the program that runs an agent: before the agent's own, or absent.
//!
//! An agent that appends comes after it. Parts that the agent inherits separately, instructions and catalog, are given
//! once: a base that has them already keeps the instructions, and its catalog gives way to the agent's, which does not
//! list skills whose text the agent has. Parts that the agent does not inherit are cut out of the base. Only whole,
//! recognised parts are cut: elements on lines of their own, and the text of trusted files, so that no author can have
//! a line of the base removed by writing it into a file.

use std::path::PathBuf;

use grove_spec::agent::{PromptMode, prompt_text};
use grove_spec::{Code, Diagnostic};

use super::instructions::{ELEMENT, InstructionFile};
use super::{LISTING, Prompt, PromptAgent, PromptPart, PromptPartKind};
use serde::Serialize;

use crate::catalog::{INSTRUCTIONS, INSTRUCTIONS_BY_NAME};
use crate::disclosure::boundary;
use grove_spec::Digest;
use grove_spec::words;

/// The prompt of the program that runs the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasePrompt {
    /// Its file, if it came from one.
    pub source: Option<PathBuf>,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The text of the prompt.
    pub text: String,
}

words! {
    /// The use of the prompt of the program that runs the agent.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum BasePromptUse {
        /// It was not given.
        #[default]
        Absent = "absent",
        /// It stands before all other parts.
        First = "first",
        /// The agent's prompt stands in its place.
        Replaced = "replaced",
    }
}

impl Prompt {
    /// Puts the base where the agent wants it, and warns if it is left out or not known.
    ///
    /// `instructions` are the project's, even if the agent does not inherit them.
    pub fn put_base(
        &mut self,
        own: &PromptAgent<'_>,
        base: Option<&BasePrompt>,
        instructions: &[InstructionFile],
    ) {
        let say = |message: &str| Diagnostic::new(Code::PromptBase, message).in_file(own.file);
        match (own.agent.system_prompt_mode, base) {
            (PromptMode::Replace, None) => {}
            (PromptMode::Replace, Some(_)) => {
                self.base = BasePromptUse::Replaced;
                self.warnings.push(say(
                    "`systemPromptMode: replace`: the base prompt is left out, the agent's stands in its place",
                ));
            }
            (PromptMode::Append, None) => {
                let message = "`systemPromptMode: append`: this comes after the prompt of the program that runs the agent, which was not given";
                let finding = Diagnostic::new(Code::PromptPartial, message);
                self.warnings.push(finding.in_file(own.file));
            }
            (PromptMode::Append, Some(base)) => {
                self.base = BasePromptUse::First;
                let mut text = prompt_text(&base.text);
                if own.agent.inherit_project_context {
                    self.remove_instructions_in(&text);
                } else {
                    let (rest, cut) = without_instructions(&text, instructions);
                    if cut > 0 {
                        self.warnings.push(say(
                            "project instructions were cut out of the base prompt: the agent does not inherit them",
                        ));
                    }
                    text = rest;
                }
                let (rest, cut) = without_catalogs(&text);
                if cut > 0 {
                    self.warnings.push(say(if own.agent.inherit_skills {
                        "the catalog of the base prompt gives way to the agent's own"
                    } else {
                        "the catalog was cut out of the base prompt: the agent does not inherit it"
                    }));
                }
                let text = prompt_text(&rest);
                if !text.is_empty() {
                    let block = PromptPart {
                        kind: PromptPartKind::Base,
                        name: String::new(),
                        source: base.source.clone(),
                        digest: base.digest,
                        text,
                    };
                    self.blocks.insert(0, block);
                }
            }
        }
        self.join();
    }

    fn remove_instructions_in(&mut self, base: &str) {
        let mut left_to_it = Vec::new();
        self.blocks.retain(|block| {
            let told = block.kind == PromptPartKind::Instructions
                && inside(&block.text).is_some_and(|body| find_lines(base, body).is_some());
            if told {
                left_to_it.extend(block.source.clone());
            }
            !told
        });
        for file in left_to_it {
            let message =
                "the base prompt has these instructions already, so they are not told twice";
            let finding = Diagnostic::new(Code::PromptBase, message);
            self.warnings.push(finding.in_file(&file));
        }
    }
}

fn inside(block: &str) -> Option<&str> {
    let (_, rest) = block.split_once('\n')?;
    Some(rest.trim_end().rsplit_once('\n')?.0)
}

fn find_lines(text: &str, lines: &str) -> Option<std::ops::Range<usize>> {
    if lines.is_empty() {
        return None;
    }
    let starts = |at: usize| {
        text.get(..at)
            .is_some_and(|before| before.is_empty() || before.ends_with('\n'))
    };
    let ends = |at: usize| {
        text.get(at..)
            .is_some_and(|after| after.is_empty() || after.starts_with('\n'))
    };
    let mut found = text
        .match_indices(lines)
        .map(|(at, found)| at..at + found.len());
    found.find(|range| starts(range.start) && ends(range.end))
}

fn without_instructions(text: &str, files: &[InstructionFile]) -> (String, usize) {
    let (mut text, mut cut) = without_marked(text);
    for file in files {
        while let Some(range) = find_lines(&text, &file.body()) {
            // The line end is cut with the last line.
            let end = (range.end + 1).min(text.len());
            text.replace_range(range.start..end, "");
            cut += 1;
        }
    }
    (text, cut)
}

/// Cuts elements whose mark is the digest of their content; others only look like them and stay.
fn without_marked(text: &str) -> (String, usize) {
    cut_elements(text, |_, line, rest| {
        let (element, length) = marked_length(line, rest)?;
        (element == ELEMENT).then_some(length)
    })
}

/// Returns the element that a line begins, with the length that it has after that line, if its mark is the digest of
/// its content.
fn marked_length<'a>(line: &'a str, rest: &str) -> Option<(&'a str, usize)> {
    let opening = line.strip_prefix('<')?.strip_suffix("\">")?;
    let (opening, mark) = opening.rsplit_once(" boundary=\"")?;
    let element = opening.split(' ').next()?;
    let end = format!("\n</{element} boundary=\"{mark}\">");
    let (body, _) = rest.strip_prefix('\n')?.split_once(&end)?;
    (boundary(body) == mark).then(|| (element, 1 + body.len() + end.len()))
}

/// Returns a text without catalogs. A list of named skills is not a catalog and stays.
fn without_catalogs(text: &str) -> (String, usize) {
    const END: &str = "\n</available_skills>";
    let (text, cut) = cut_elements(text, |before, line, rest| {
        let is_listing = before.trim_end().ends_with(LISTING);
        let length = (line == "<available_skills>" && !is_listing)
            .then(|| rest.find(END))?
            .map(|at| at + END.len())?;
        // A catalog has no marks in it: an element with marks is text of an author who wrote the tag.
        let has_marks = rest.get(..length)?.contains(" boundary=\"");
        (!has_marks).then_some(length)
    });
    if cut == 0 {
        return (text, 0);
    }
    // Without the catalog, the instructions for it are about nothing.
    let told =
        |line: &&str| !line.starts_with(INSTRUCTIONS) && !line.starts_with(INSTRUCTIONS_BY_NAME);
    let kept: Vec<&str> = text.split('\n').filter(told).collect();
    (kept.join("\n"), cut)
}

/// Cuts whole elements out of a text. `length` is called for each line with the text kept before it and the text after
/// it, and returns how much of the latter belongs to the element. The text between genuine marks is an author's and is
/// passed over whole.
fn cut_elements(text: &str, length: impl Fn(&str, &str, &str) -> Option<usize>) -> (String, usize) {
    let mut kept = String::with_capacity(text.len());
    let mut cut = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        // `following` begins with the line end, so that an element without content is one too.
        let following = rest.get(line.len()..).unwrap_or_default();
        let whole = length(&kept, line.trim(), following)
            .and_then(|length| following.get(length..))
            .filter(|left| left.is_empty() || left.starts_with('\n'));
        if let Some(left) = whole {
            cut += 1;
            rest = left.strip_prefix('\n').unwrap_or(left);
            continue;
        }
        let text = marked_length(line.trim(), following).map(|(_, length)| line.len() + length);
        let taken = text.unwrap_or(rest.len() - after.len());
        let (taken, left) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        kept.push_str(taken);
        rest = left;
    }
    (kept, cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disclosure::marked;

    #[test]
    fn only_genuine_elements_are_cut() {
        let real = marked(ELEMENT, "file", "/p/AGENTS.md", "Be kind.\n\nAlways.");
        let forged = real.replace("Always", "Never");
        for (text, kept, cut) in [
            (format!("a\n{real}\nb\n"), "a\nb\n".to_owned(), 1),
            (format!("{real}\n{real}"), String::new(), 2),
            (format!("a\n{forged}\nb\n"), format!("a\n{forged}\nb\n"), 0),
            (format!("a {real}\n"), format!("a {real}\n"), 0),
            (
                "a\n<project_instructions ".to_owned(),
                "a\n<project_instructions ".to_owned(),
                0,
            ),
        ] {
            assert_eq!(without_marked(&text), (kept, cut), "{text}");
        }
    }

    #[test]
    fn catalogs_are_cut_and_named_skills_stay() {
        let catalog = format!("{INSTRUCTIONS}\n<available_skills>\n<skill/>\n</available_skills>");
        let empty = "<available_skills>\n</available_skills>";
        let named = format!("{LISTING}\n<available_skills>\n<skill/>\n</available_skills>");
        for (text, kept, cut) in [
            (format!("a\n{catalog}\nb\n"), "a\nb\n".to_owned(), 1),
            (format!("a\n{empty}\nb\n"), "a\nb\n".to_owned(), 1),
            (format!("a\n{named}\nb\n"), format!("a\n{named}\nb\n"), 0),
            (format!("{named}\n{catalog}\n"), format!("{named}\n"), 1),
            (
                "<available_skills>\nb\n".to_owned(),
                "<available_skills>\nb\n".to_owned(),
                0,
            ),
        ] {
            assert_eq!(without_catalogs(&text), (kept, cut), "{text}");
        }
    }

    #[test]
    fn what_stands_between_marks_is_never_cut() {
        let catalog = "<available_skills>\n<skill/>\n</available_skills>";
        let whole = marked("skill", "name", "s", &format!("a\n{catalog}\nb"));
        let begun = marked("skill", "name", "s", "a\n<available_skills>\n<skill>");
        let forged = whole.replace("a\n", "x\n");
        for (text, kept) in [
            (format!("{whole}\nRules\n"), format!("{whole}\nRules\n")),
            (
                format!("{begun}\nRules\n{catalog}\n"),
                format!("{begun}\nRules\n"),
            ),
            (
                format!("<available_skills>\n{begun}\n</available_skills>\n"),
                format!("<available_skills>\n{begun}\n</available_skills>\n"),
            ),
            // Text in marks that are not genuine is the author's own.
            (
                format!("{forged}\nRules\n"),
                format!("{}\nRules\n", forged.replace(&format!("{catalog}\n"), "")),
            ),
        ] {
            assert_eq!(without_catalogs(&text).0, kept, "{text}");
        }
    }

    #[test]
    fn a_file_is_found_by_its_whole_lines() {
        for (text, lines, found) in [
            ("x\nBe kind.\ny", "Be kind.", Some(2..10)),
            ("Be kind.", "Be kind.", Some(0..8)),
            ("x Be kind.\n", "Be kind.", None),
            ("Be kind. y\nBe kind.\n", "Be kind.", Some(11..19)),
            ("x", "", None),
        ] {
            assert_eq!(find_lines(text, lines), found, "{text}");
        }
    }
}
