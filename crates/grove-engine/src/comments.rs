//! Comments on lines of a child's changes. A comment is a message to the child: it hears it while it works, or goes on with it.

use grove_plan::{Execution, Fact, NodeId, Wish};

use crate::controlling::{ChildWish, WishedChild};
use crate::error::EngineError;
use crate::journal::{RunJournal, parts_of};
use crate::watched_run::WatchedRun;

const ABOUT: &str = "About your change to `";
const LINE: &str = "`, line ";
const REMOVED: &str = "`, a line that you removed";
const QUOTE: &str = "> ";

/// A comment on a line of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineComment {
    /// The file of the line.
    pub file: String,
    /// The number of the line as the file is after the change; none for a line that was removed.
    pub line: Option<u64>,
    /// The text of the line.
    pub quoted: String,
    /// The words of the comment.
    pub words: String,
}

impl LineComment {
    /// The message that the child gets.
    pub fn message(&self) -> String {
        let line = match self.line {
            Some(line) => format!("{LINE}{line}"),
            None => REMOVED.to_owned(),
        };
        let (file, quoted, words) = (&self.file, &self.quoted, self.words.trim());
        format!("{ABOUT}{file}{line}:\n\n{QUOTE}{quoted}\n\n{words}")
    }

    /// Reads a comment from a message; none if the message is no comment.
    pub fn read(message: &str) -> Option<Self> {
        let (about, rest) = message.split_once(":\n\n")?;
        let (quoted, words) = rest.strip_prefix(QUOTE)?.split_once("\n\n")?;
        let about = about.strip_prefix(ABOUT)?;
        let (file, line) = if let Some(file) = about.strip_suffix(REMOVED) {
            (file, None)
        } else {
            let (file, line) = about.rsplit_once(LINE)?;
            (file, Some(line.parse().ok()?))
        };
        Some(Self {
            file: file.to_owned(),
            line,
            quoted: quoted.to_owned(),
            words: words.to_owned(),
        })
    }
}

impl RunJournal {
    /// Sends a comment to the child whose change it is about, `RUN.NODE`: while it works it hears it before its next step, else
    /// its session goes on with it.
    pub fn comment(&self, given: &str, comment: &LineComment) -> Result<WishedChild, EngineError> {
        let (run, node) = parts_of(given);
        let node = node.ok_or_else(|| {
            EngineError::usage("a comment is about the change of one child")
                .hint("name it as RUN.NODE")
        })?;
        let loaded = self.load(run)?;
        let known = loaded.state.nodes.get(&node).map(|node| &node.execution);
        let is_at_work = matches!(known, Some(Execution::Queued | Execution::Running));
        let message = comment.message();
        let wish = if is_at_work {
            ChildWish::Steer(message)
        } else {
            ChildWish::Resume(Some(message))
        };
        self.want(&format!("{}.{node}", loaded.id), wish)
    }

    /// Returns the comments that a child was sent, the first one first.
    pub fn comments(
        &self,
        run: &WatchedRun,
        node: &NodeId,
    ) -> Result<Vec<LineComment>, EngineError> {
        let Some(history) = run.history.child(node) else {
            return Ok(Vec::new());
        };
        // Wishes belong to no attempt.
        let marks = history.marks.iter().filter(|mark| mark.attempt == 0);
        let events = self.store.events_at(&run.id, marks.map(|mark| mark.seq))?;
        let comments = events.into_iter().filter_map(|event| {
            let Fact::Wanted { wish, .. } = event.fact else {
                return None;
            };
            let message = match wish {
                Wish::Resume { message, .. } => message?,
                Wish::Steer { message, .. } => message,
                _ => return None,
            };
            LineComment::read(&self.text(&message)?)
        });
        Ok(comments.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_read_as_it_is_written() {
        for (file, line, quoted, words) in [
            ("src/lib.rs", Some(12), "let a = 1;", "Why one?"),
            ("a`, line 3/b", None, "", "First.\n\nSecond."),
            ("a: b", Some(1), "> quoted: \"x\"", "Yes"),
        ] {
            let comment = LineComment {
                file: file.to_owned(),
                line,
                quoted: quoted.to_owned(),
                words: words.to_owned(),
            };
            assert_eq!(LineComment::read(&comment.message()), Some(comment));
        }
        for other in ["", "Go on", "About your change to `x`, line y:\n\n> z\n\nw"] {
            assert_eq!(LineComment::read(other), None, "{other}");
        }
    }
}
