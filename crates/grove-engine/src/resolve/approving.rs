//! Commands and programs that another author wrote run only after a person has read their exact text. An approval is by
//! digest: typed with the run, and from then on remembered.

use std::cell::RefCell;
use std::path::Path;

use grove_fs::approvals::{Approval, Approvals};
use grove_skills::{Environment, trusting};
use grove_spec::text::visible;

use crate::error::EngineError;

/// The most lines of a program that are shown before a person approves it.
const MOST_LINES: usize = 200;

/// A command or a program that a person has to read.
pub(crate) struct Strange {
    /// The words for it in lists of approvals.
    about: String,
    /// Everything that the digest is of.
    lines: Vec<String>,
}

impl Strange {
    /// A command whose lines are all of it.
    pub(crate) fn new(lines: impl IntoIterator<Item = String>) -> Self {
        let lines: Vec<String> = lines.into_iter().collect();
        Self {
            about: lines.join("\n"),
            lines,
        }
    }

    /// A program with its text. Its file alone is no answer: it may be another one by the time that it is read.
    pub(crate) fn program(file: &Path, text: &[u8]) -> Self {
        let about = format!("read it: {}", file.display());
        let mut lines = vec![about.clone()];
        if let Ok(text) = std::str::from_utf8(text) {
            let shown = text.lines().take(MOST_LINES);
            lines.extend(shown.map(|line| format!("| {}", visible(line))));
            if text.lines().nth(MOST_LINES).is_some() {
                lines.push("it is longer: read the rest there, and compare `b3sum`".to_owned());
            }
        } else {
            lines.push("it is no text: compare `b3sum`".to_owned());
        }
        Self { about, lines }
    }
}

/// The approvals that were typed with the run, and those from before.
pub(crate) struct Approving<'a> {
    typed: &'a [String],
    kept: Approvals,
    granted: RefCell<Vec<Approval>>,
}

impl<'a> Approving<'a> {
    pub(crate) fn new(environment: &Environment, typed: &'a [String]) -> Self {
        Self {
            typed,
            kept: trusting::approvals(environment),
            granted: RefCell::default(),
        }
    }

    /// Refuses what no person has approved. The whole digest is shown and has to be typed, since another text can be
    /// found whose digest begins alike.
    pub(crate) fn require(
        &self,
        digest: &str,
        message: &str,
        strange: Strange,
    ) -> Result<(), EngineError> {
        if self.typed.iter().any(|typed| typed == digest) {
            let approval = Approval {
                digest: digest.to_owned(),
                about: strange.about,
            };
            self.granted.borrow_mut().push(approval);
            return Ok(());
        }
        if self.kept.has(digest) {
            return Ok(());
        }
        let is_beginning = |typed: &String| !typed.is_empty() && digest.starts_with(typed.as_str());
        let approve = if self.typed.iter().any(is_beginning) {
            format!("only the whole digest approves it: --approve {digest}")
        } else {
            format!("approve it with --approve {digest}")
        };
        Err(EngineError::finding(message).hints(strange.lines.into_iter().chain([approve])))
    }

    pub(crate) fn granted(&self) -> Vec<Approval> {
        self.granted.borrow().clone()
    }
}

pub(crate) fn keep(environment: &Environment, approved: &[Approval]) -> Result<(), EngineError> {
    let kept = trusting::approvals(environment);
    for approval in approved {
        kept.store(approval)?;
    }
    Ok(())
}
