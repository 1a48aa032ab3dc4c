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
mod provider;
mod recording;
mod relay;
mod relay_rules;
mod reported_usage;
mod request;
mod retry;
mod secret;
mod sse;
mod wire;

pub use answer::{ModelAnswer, ModelEvent, StopKind};
pub use assembly::AnswerLimits;
pub use client::{AskSettings, Asking, HttpModel, ModelClient, OnEvent, RequestDeadlines};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{AnswerBound, MESSAGE_LIMIT, ModelError, ProviderError};
pub use known_models::KNOWN_MODELS_DATE;
pub use network::{BadCertificates, Network};
pub use provider::{FoundModel, KeyError, KeySource, KnownModel, NoSuchModel, Provider, Providers};
pub use recording::{
    Recorder, RecordingPlaceholders, RecordingPlayer, RecordingSink, ReplayError, SharedRecording,
};
pub use relay::{AnswerCounter, CountedAnswer, ProgramRequest, Relay, RelayedAnswer};
pub use relay_rules::RelayRule;
pub use request::{
    Message, MessageBlock, ModelRequest, Role, Thinking, ToolChoice, ToolDefinition,
};
pub use retry::{RandomSource, RetryPolicy};
pub use secret::{SHORTEST_MASKED, Secret};
pub use wire::{AnswerDecoder, ModelApi};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeExample;
