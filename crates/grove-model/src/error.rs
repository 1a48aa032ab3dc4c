//! Errors for which there is no answer.

use std::time::Duration;

use grove_plan::{ModelFailure, Usage};
use grove_spec::text::without_controls;
use serde::{Deserialize, Serialize};

use crate::recording::ReplayError;

pub const MESSAGE_LIMIT: usize = 2048;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(
    tag = "error",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ModelError {
    #[error("{0}")]
    Provider(Box<ProviderError>),
    #[error("{what} has more than {limit} {unit}", unit = .what.unit())]
    TooLarge { what: AnswerBound, limit: u64 },
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Replay(ReplayError),
}

impl ModelError {
    /// Returns the kind of the model's failure; none where the model is not to blame.
    pub fn failure(&self) -> Option<ModelFailure> {
        match self {
            Self::Provider(error) => Some(error.failure),
            // Reading stopped in the middle of the answer, which is like a cut.
            Self::TooLarge { .. } => Some(ModelFailure::CutStream),
            Self::Cancelled | Self::Replay(_) => None,
        }
    }

    pub(crate) fn provider(failure: ModelFailure, message: impl AsRef<str>) -> Self {
        Self::Provider(Box::new(ProviderError::new(failure, message.as_ref())))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderError {
    pub failure: ModelFailure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's word for the type of the error, or `tls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The provider's message: one line of at most [`MESSAGE_LIMIT`] bytes without control characters.
    pub message: String,
    /// The wait that the provider wants before the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    pub tries: u32,
    /// The tokens that the tries took, as far as the provider said.
    #[serde(default)]
    pub usage: Usage,
}

impl ProviderError {
    pub(crate) fn new(failure: ModelFailure, message: &str) -> Self {
        Self {
            failure,
            status: None,
            kind: None,
            message: bounded_line(message),
            retry_after: None,
            tries: 1,
            usage: Usage::default(),
        }
    }

    pub(crate) fn with_kind(mut self, kind: &str) -> Self {
        self.kind = Some(bounded_line(kind));
        self
    }

    /// Returns true if the same request may succeed when it is sent again; `begun` is true if a part of an answer came.
    pub(crate) fn is_worth_another_try(&self, begun: bool) -> bool {
        let is_passing = matches!(
            self.failure,
            ModelFailure::Rate
                | ModelFailure::Overload
                | ModelFailure::Network
                | ModelFailure::CutStream
        );
        is_passing && !begun && self.kind.as_deref() != Some(TLS)
    }
}

/// The kind of a TLS error, which is not tried again: a certificate is not better at the next try.
pub(crate) const TLS: &str = "tls";

impl std::fmt::Display for ProviderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.status, self.kind.as_deref()) {
            (Some(status), Some(kind)) => write!(f, "the provider answered {status} ({kind}): ")?,
            (Some(status), None) => write!(f, "the provider answered {status}: ")?,
            (None, Some(kind)) if kind != TLS => write!(f, "the provider sent {kind}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.message)?;
        if self.tries > 1 {
            write!(f, " (tried {} times)", self.tries)?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnswerBound {
    /// The words, thoughts and arguments of an answer together.
    Answer,
    /// All that came over the connection for one answer.
    Stream,
    Event,
    ToolInput,
    Blocks,
    /// The HTTP head of an answer.
    Head,
}

impl AnswerBound {
    const fn unit(self) -> &'static str {
        match self {
            Self::Blocks => "parts",
            _ => "bytes",
        }
    }
}

impl std::fmt::Display for AnswerBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Answer | Self::Blocks => "the answer",
            Self::Stream => "the answer's stream",
            Self::Event => "an event of the answer",
            Self::ToolInput => "the input of a call",
            Self::Head => "the head of the answer",
        })
    }
}

/// Returns a provider's text as one line without control characters, cut at [`MESSAGE_LIMIT`].
pub(crate) fn bounded_line(text: &str) -> String {
    // The rest is cut first, since a body may be large.
    let text = prefix(text, MESSAGE_LIMIT * 4);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&without_controls(word));
    }
    line.truncate(prefix(&line, MESSAGE_LIMIT).len());
    line
}

pub(crate) fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_bounded_line_without_controls() {
        for (text, expected) in [
            ("a\n b\tc ", "a b c"),
            ("\u{1b}[31mred\u{7}", "[31mred"),
            ("", ""),
        ] {
            assert_eq!(bounded_line(text), expected);
        }
        let long = bounded_line(&"ü".repeat(100_000));
        assert_eq!(long.len(), MESSAGE_LIMIT);
    }

    #[test]
    fn an_error_says_status_kind_and_tries() {
        let mut error =
            ProviderError::new(ModelFailure::Rate, "slow down").with_kind("rate_limit_error");
        error.status = Some(429);
        error.tries = 3;
        assert_eq!(
            error.to_string(),
            "the provider answered 429 (rate_limit_error): slow down (tried 3 times)"
        );
        let large = ModelError::TooLarge {
            what: AnswerBound::ToolInput,
            limit: 7,
        };
        assert_eq!(
            large.to_string(),
            "the input of a call has more than 7 bytes"
        );
    }
}
