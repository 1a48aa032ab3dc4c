//! What a model server answers.

use std::fmt;

use serde_json::{Value, json};

use super::http::{Answer, Request};

/// What is answered once a list of replies is used up.
const AFTERWARDS: &str = "Done.";

/// What a server answers to the requests for a model's reply, one after another.
pub struct Script(Box<Choice>);

type Choice = dyn Fn(usize, &Request) -> Reply + Send + Sync;

impl Script {
    /// These replies in turn, and a short text to whatever is asked after them.
    pub fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::chosen_by(move |number, _| {
            let reply = replies.get(number).cloned();
            reply.unwrap_or_else(|| Reply::text(AFTERWARDS))
        })
    }

    /// A short text to everything.
    pub fn plain() -> Self {
        Self::replies([])
    }

    /// What `choose` says for a request, with the number of replies given before it.
    pub fn chosen_by(choose: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        Self(Box::new(choose))
    }

    pub(super) fn reply(&self, number: usize, request: &Request) -> Reply {
        self.0(number, request)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Script")
    }
}

/// One reply of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Text, then calls of tools; either may be missing.
    Message {
        /// What it says.
        text: Option<String>,
        /// What it calls.
        calls: Vec<ToolCall>,
    },
    /// A failure, in the form of the provider.
    Error {
        /// The status of the answer.
        status: u16,
        /// What is said about it.
        message: String,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// The group that the tool is in, for providers that have groups.
    pub namespace: Option<String>,
    /// Its arguments, an object.
    pub arguments: Value,
}

impl Reply {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Message {
            text: Some(text.into()),
            calls: Vec::new(),
        }
    }

    /// One call of a tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::Message {
            text: None,
            calls: vec![ToolCall {
                name: name.into(),
                namespace: None,
                arguments,
            }],
        }
    }

    /// A failure.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self::Error {
            status,
            message: message.into(),
        }
    }
}

/// A failure in the form of every provider.
pub(super) fn error(status: u16, message: &str) -> Answer {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        _ => "api_error",
    };
    let error = json!({ "type": kind, "message": message, "param": null, "code": null });
    Answer::json(status, &json!({ "type": "error", "error": error }))
}
