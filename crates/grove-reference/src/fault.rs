//! Why a frontmatter text was not taken.

use super::reader::Mark;

/// A refusal, on the way to becoming a [`super::ParseError`].
#[derive(Debug)]
pub(super) enum Fault {
    /// The library reports a YAML error whose last mark is here.
    Yaml { problem: String, mark: Mark },
    /// The library ends in an uncaught exception.
    Crash { reason: String },
}

impl Fault {
    pub(super) fn yaml(problem: impl Into<String>, mark: Mark) -> Self {
        Self::Yaml {
            problem: problem.into(),
            mark,
        }
    }

    pub(super) fn crash(reason: impl Into<String>) -> Self {
        Self::Crash {
            reason: reason.into(),
        }
    }
}
