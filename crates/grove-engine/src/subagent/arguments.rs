//! The arguments of a call of the tool, field by field. A field of another kind than it should be is refused by its name.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::EngineError;

/// The longest wait of a call: it answers within 50 seconds, and hosts give up after a minute.
const LONGEST_WAIT: Duration = Duration::from_secs(48);

pub(crate) struct CallArguments<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> CallArguments<'a> {
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, EngineError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(EngineError::usage(format!("`{name}` has to be text"))),
        }
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&'a str, EngineError> {
        let action = self.text("action")?.unwrap_or("run");
        let missing = || EngineError::usage(format!("`{action}` needs `{name}`"));
        self.text(name)?
            .filter(|it| !it.is_empty())
            .ok_or_else(missing)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, EngineError> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(EngineError::usage(format!(
                "`{name}` has to be true or false"
            ))),
        }
    }

    /// Returns how long the call may wait.
    pub(crate) fn limit(&self) -> Result<Duration, EngineError> {
        let asked = match self.0.get("seconds") {
            None => LONGEST_WAIT,
            Some(seconds) => match seconds.as_u64() {
                Some(seconds @ 1..=50) => Duration::from_secs(seconds),
                _ => {
                    return Err(EngineError::usage(
                        "`seconds` has to be a whole number from 1 to 50",
                    ));
                }
            },
        };
        Ok(asked.min(LONGEST_WAIT))
    }
}
