//! Model APIs over HTTP and server-sent events.
//!
//! One interface, [`ModelClient::ask`], is implemented by a provider ([`HttpModel`]), a recorder and a player. The
//! crate asks once: its callers decide which model follows when one fails, which tool runs and what a limit means. It
//! reads no environment, files or configuration, and starts no programs: the caller passes in what was read.

mod answer;
mod anthropic;
mod assembly;
mod client;
mod endpoint;
mod error;
mod known_models;
mod network;
mod openai;
mod openai_chat;
mod openai_responses;
mod passing;
mod provider;
mod recording;
mod relay;
mod request;
mod retry;
mod said_usage;
mod secret;
mod sse;
mod wire;

pub use answer::{ModelAnswer, ModelEvent, StopKind};
pub use assembly::AnswerLimits;
pub use client::{AskSettings, Asking, Deadlines, HttpModel, ModelClient, OnEvent};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Bound, MESSAGE_LIMIT, ModelError, ProviderError};
pub use known_models::KNOWN_MODELS_DATE;
pub use network::{BadCertificates, Network};
pub use passing::Passing;
pub use provider::{FoundModel, KeyError, KeySource, KnownModel, NoSuchModel, Provider, Providers};
pub use recording::{Places, Player, Recorder, RecordingSink, ReplayError, Tape};
pub use relay::{AnswerCounter, AskedRequest, CountedAnswer, Relay, RelayedAnswer};
pub use request::{Block, Message, ModelRequest, Role, Thinking, ToolChoice, ToolDefinition};
pub use retry::{Chance, RetryPolicy};
pub use secret::{SHORTEST_MASKED, Secret};
pub use wire::{AnswerDecoder, Api};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
