//! What a model server answers.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Deserialize;
use serde_json::Value;

use super::conversation::Conversation;
use super::http::Request;

/// What is answered once a list of replies is used up.
const AFTERWARDS: &str = "Done.";
/// How many requests are remembered to tell a first try from a second.
const MOST_TRIED: usize = 100_000;

/// What a server answers to the requests for a model's reply.
pub struct Script(Source);

type Choice = dyn Fn(usize, &Request) -> ScriptedReply + Send + Sync;

enum Source {
    Listed(ScriptFile),
    Chosen(Box<Choice>),
}

/// A script as a file says it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptFile {
    /// For conversations with a marker in a message of the user's.
    pub marked: Vec<MarkedReplies>,
    /// For all others, in the order in which they ask.
    pub replies: Vec<ScriptedReply>,
    /// For whatever is asked after that.
    pub otherwise: Option<Box<ScriptedReply>>,
}

/// The replies of a conversation with a marker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MarkedReplies {
    /// The text that has to stand in a message of the user's. Where several do, the one of the last message counts.
    pub marker: String,
    /// A reply for each turn of the model since that message.
    pub turns: Vec<ScriptedReply>,
}

/// How often each request was made.
#[derive(Debug, Default)]
pub(super) struct Tried(HashMap<u64, usize>);

impl Tried {
    /// Counts a request and tells how often it came before.
    pub(super) fn again(&mut self, request: &Request) -> usize {
        let mut hasher = DefaultHasher::new();
        request.body.hash(&mut hasher);
        let key = hasher.finish();
        if self.0.len() >= MOST_TRIED && !self.0.contains_key(&key) {
            return 0;
        }
        let times = self.0.entry(key).or_default();
        *times += 1;
        *times - 1
    }
}

impl Script {
    /// These replies in turn, and a short text to whatever is asked after them.
    pub fn replies(replies: impl IntoIterator<Item = impl Into<ScriptedReply>>) -> Self {
        Self::from(ScriptFile {
            replies: replies.into_iter().map(Into::into).collect(),
            ..ScriptFile::default()
        })
    }

    /// A short text to everything.
    pub fn plain() -> Self {
        Self::from(ScriptFile::default())
    }

    /// What `choose` says for a request, with the number of replies given before it. It may not wait for anything.
    pub fn chosen_by<R: Into<ScriptedReply>>(
        choose: impl Fn(usize, &Request) -> R + Send + Sync + 'static,
    ) -> Self {
        Self(Source::Chosen(Box::new(move |number, request| {
            choose(number, request).into()
        })))
    }

    /// The reply for the marker of a request, if it has one.
    pub(super) fn marked_reply(&self, request: &Request) -> Option<ScriptedReply> {
        let Source::Listed(listed) = &self.0 else {
            return None;
        };
        let (marked, turn) = listed.marked(request)?;
        Some(self.or_otherwise(marked.turns.get(turn)))
    }

    /// The reply to a request without a marker that comes after `number` others.
    pub(super) fn reply(&self, number: usize, request: &Request) -> ScriptedReply {
        match &self.0 {
            Source::Listed(listed) => self.or_otherwise(listed.replies.get(number)),
            Source::Chosen(choose) => choose(number, request),
        }
    }

    /// A reply of a list, or what is said after its end.
    fn or_otherwise(&self, reply: Option<&ScriptedReply>) -> ScriptedReply {
        let otherwise = match &self.0 {
            Source::Listed(listed) => listed.otherwise.as_deref(),
            Source::Chosen(_) => None,
        };
        let reply = reply.or(otherwise).cloned();
        reply.unwrap_or_else(|| Reply::text(AFTERWARDS).into())
    }
}

impl ScriptFile {
    /// The reply to a request with a marker.
    pub fn marked_reply(&self, request: &Request) -> Option<ScriptedReply> {
        let (marked, turn) = self.marked(request)?;
        marked.turns.get(turn).cloned()
    }

    /// The replies for the marker of a conversation, if it has one, and which turn it is at.
    fn marked(&self, request: &Request) -> Option<(&MarkedReplies, usize)> {
        if self.marked.is_empty() {
            return None;
        }
        let conversation = Conversation::of(&request.json());
        let places = self.marked.iter().filter_map(|marked| {
            let place = conversation.last_message_with(&marked.marker)?;
            Some((place, marked))
        });
        // Of two in one message the first of the script counts.
        let (place, marked) = places.rev().max_by_key(|(place, _)| *place)?;
        Some((marked, conversation.turns_after(place)))
    }
}

impl From<ScriptFile> for Script {
    fn from(file: ScriptFile) -> Self {
        Self(Source::Listed(file))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Listed(listed) => formatter.debug_tuple("Script").field(listed).finish(),
            Source::Chosen(_) => formatter.write_str("Script(chosen)"),
        }
    }
}

/// One reply of a model, with all that may be said of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedReply {
    /// What it says.
    pub text: Option<String>,
    /// How often it says it, for large answers.
    pub repeat: usize,
    /// What it thinks.
    pub thinking: Option<String>,
    /// What it calls.
    pub calls: Vec<ToolCall>,
    /// The arguments of a call of `structured_output`, after all others.
    pub structured: Option<Value>,
    /// In how many pieces a text or the arguments of a call are sent.
    pub pieces: usize,
    /// Why it ends, in the provider's word.
    pub stop: Option<String>,
    /// What it took.
    pub usage: TokenCounts,
    /// Whether nothing is said of what it took.
    pub without_usage: bool,
    /// The usage that is said instead, of any form.
    pub said_usage: Option<Value>,
    /// The names of its calls, the last one for all that follow; names that differ when there are none.
    pub call_names: Vec<String>,
    /// A failure instead of all that.
    pub error: Option<ScriptedError>,
    /// A failure after all that, in place of the end of the stream.
    pub stream_error: Option<ScriptedError>,
    /// How it gets to the client.
    pub delivery: Delivery,
    /// Instead of this reply: what is answered when the same request comes for the first time, the second, and so on;
    /// the last one goes on for ever.
    pub tries: Vec<ScriptedReply>,
}

impl Default for ScriptedReply {
    fn default() -> Self {
        Self {
            text: None,
            repeat: 1,
            thinking: None,
            calls: Vec::new(),
            structured: None,
            // A reader has to put them together.
            pieces: 2,
            stop: None,
            usage: TokenCounts::default(),
            without_usage: false,
            said_usage: None,
            call_names: Vec::new(),
            error: None,
            stream_error: None,
            delivery: Delivery::default(),
            tries: Vec::new(),
        }
    }
}

impl ScriptedReply {
    /// What is answered when the same request came so often before.
    pub(super) fn of_try(self, again: usize) -> Self {
        let Some(last) = self.tries.len().checked_sub(1) else {
            return self;
        };
        self.tries[again.min(last)].clone()
    }

    /// All that it says.
    pub(super) fn whole_text(&self) -> Option<String> {
        self.text.as_ref().map(|text| text.repeat(self.repeat))
    }

    /// The name of a call, where it is said.
    pub(super) fn call_name(&self, at: usize) -> Option<&str> {
        let name = self.call_names.get(at).or(self.call_names.last());
        name.map(String::as_str)
    }

    /// All that it calls.
    pub(super) fn all_calls(&self) -> Vec<ToolCall> {
        let structured = self.structured.iter().map(|arguments| ToolCall {
            name: "structured_output".to_owned(),
            namespace: None,
            arguments: arguments.clone(),
        });
        self.calls.iter().cloned().chain(structured).collect()
    }
}

impl From<Reply> for ScriptedReply {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Message { text, calls } => Self {
                text,
                calls,
                ..Self::default()
            },
            Reply::Error { status, message } => Self {
                error: Some(ScriptedError {
                    status,
                    message,
                    ..ScriptedError::default()
                }),
                ..Self::default()
            },
        }
    }
}

/// Tokens of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TokenCounts {
    /// Input that was not cached.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input from a cache.
    pub cached: u64,
    /// Input written to a cache.
    pub cache_write: u64,
}

impl Default for TokenCounts {
    fn default() -> Self {
        Self {
            input: 16,
            output: 8,
            cached: 0,
            cache_write: 0,
        }
    }
}

/// A failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedError {
    /// The status of the answer.
    pub status: u16,
    /// The type; the provider's own for the status when there is none.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What is said about it.
    pub message: String,
    /// Headers of the answer, such as `retry-after`.
    pub headers: Vec<(String, String)>,
    /// The body as it is, instead of the provider's form.
    pub body: Option<String>,
}

/// How an answer gets to the client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Delivery {
    /// Milliseconds before the first byte.
    pub first_delay_ms: u64,
    /// How many bytes of the body are sent at a time.
    pub chunk_bytes: Option<usize>,
    /// Milliseconds between two such portions.
    pub chunk_delay_ms: u64,
    /// The connection is closed after so many bytes of the body; with none, before the head.
    pub cut_after_bytes: Option<usize>,
    /// Nothing more is sent after so many bytes of the body; with none, not even the head.
    pub hang_after_bytes: Option<usize>,
}

/// One reply of a model, as most tests need it.
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// The group that the tool is in, for providers that have groups.
    #[serde(default)]
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
