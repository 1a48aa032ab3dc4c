//! The envelope of a run: everything about it that its plan does not have, stored beside the plan.

use std::path::PathBuf;

use grove_spec::Digest;
use grove_spec::agent::model_scope::ModelScope;
use serde::{Deserialize, Serialize};

use crate::models::Recording;

/// Everything about a run that its plan does not have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnvelope {
    /// The name of the run in lists.
    pub title: String,
    /// The task of the whole run: `{task}` in its children's messages.
    pub task: String,
    /// The folder in which it was asked for.
    pub folder: PathBuf,
    /// The name of the surroundings that its supervisor has to have.
    pub surroundings: String,
    /// The digest of what was asked for, by which a request with a key is told from another one with the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<Digest>,
    /// The recording of model answers to write or to replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recording: Option<Recording>,
    /// The folder for files of sessions, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session_dir: Option<PathBuf>,
    /// The folder in which the one that its steps share is made, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) chain_dir: Option<PathBuf>,
    /// The scopes in which the models of its children are, and of those that they ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) model_scopes: Vec<ModelScope>,
}

/// The version of an envelope. A request of an older version has none: it has all of an envelope, and its children besides.
#[derive(Deserialize)]
struct EnvelopeSchema {
    schema: Option<String>,
}

#[derive(Serialize)]
struct StoredEnvelope<'a> {
    schema: &'static str,
    #[serde(flatten)]
    envelope: &'a RunEnvelope,
}

/// The reason why an envelope is refused. Its run is not begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The stored text is not an envelope.
    #[error("what is stored beside the plan of the run cannot be read: {0} ({code})", code = Self::CODE)]
    Unreadable(String),
    /// Another version of the program wrote it.
    #[error("what is stored beside the plan of the run has the form `{0}`, which this version does not know ({code})", code = Self::CODE)]
    Unknown(String),
}

impl EnvelopeError {
    /// The code of the refusal.
    pub const CODE: &str = "run-envelope";
}

impl RunEnvelope {
    /// The version of this form.
    const SCHEMA: &str = "grove.run-envelope/1";

    /// Reads an envelope, or the request that older versions stored in its place.
    pub(crate) fn read(text: &str) -> Result<Self, EnvelopeError> {
        let unreadable = |error: serde_json::Error| EnvelopeError::Unreadable(error.to_string());
        let found: EnvelopeSchema = serde_json::from_str(text).map_err(unreadable)?;
        match found.schema.as_deref() {
            None | Some(Self::SCHEMA) => serde_json::from_str(text).map_err(unreadable),
            Some(other) => Err(EnvelopeError::Unknown(other.to_owned())),
        }
    }

    pub(crate) fn written(&self) -> String {
        let stored = StoredEnvelope {
            schema: Self::SCHEMA,
            envelope: self,
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_read_as_it_is_written_and_so_is_a_request_of_an_older_version() {
        let envelope = RunEnvelope {
            title: "scout: look".to_owned(),
            task: "look".to_owned(),
            folder: "/work".into(),
            surroundings: "a1".to_owned(),
            recording: Some(Recording::Record("/tape".into())),
            ..RunEnvelope::default()
        };
        let read = RunEnvelope::read(&envelope.written());
        assert_eq!(read, Ok(envelope.clone()));
        let older = r#"{"title":"scout: look","task":"look","children":[{"id":"1"}],"groups":{},"folder":"/work",
            "tree":{},"submitKey":null,"background":false,"recording":{"record":"/tape"},"surroundings":"a1"}"#;
        assert_eq!(RunEnvelope::read(older), Ok(envelope));
    }

    #[test]
    fn a_text_that_is_no_envelope_is_refused_with_a_code() {
        for (text, expected) in [
            (
                "",
                "cannot be read: EOF while parsing a value at line 1 column 0",
            ),
            (
                "{}",
                "cannot be read: missing field `title` at line 1 column 2",
            ),
            (
                r#"{"schema":"grove.run-envelope/2","title":"","task":"","folder":"/","surroundings":""}"#,
                "has the form `grove.run-envelope/2`, which this version does not know",
            ),
        ] {
            let refused = RunEnvelope::read(text).unwrap_err().to_string();
            let whole =
                format!("what is stored beside the plan of the run {expected} (run-envelope)");
            assert_eq!(refused, whole);
        }
    }
}
