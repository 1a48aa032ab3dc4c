//! What a call of the tool says, field by field. A field of another kind than it should be is refused by its name.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::command_error::CommandError;

/// How long a call waits at most: it answers within 50 seconds, and hosts give up after a minute.
const LONGEST_WAIT: Duration = Duration::from_secs(48);

/// What a call says.
pub(super) struct Said<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Said<'a> {
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, CommandError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(CommandError::usage(format!("`{name}` has to be text"))),
        }
    }

    pub(super) fn needed(&self, name: &str) -> Result<&'a str, CommandError> {
        let action = self.text("action")?.unwrap_or("run");
        let missing = || CommandError::usage(format!("`{action}` needs `{name}`"));
        self.text(name)?
            .filter(|it| !it.is_empty())
            .ok_or_else(missing)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, CommandError> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(CommandError::usage(format!(
                "`{name}` has to be true or false"
            ))),
        }
    }

    /// How long is waited.
    pub(super) fn limit(&self) -> Result<Duration, CommandError> {
        let asked = match self.0.get("seconds") {
            None => LONGEST_WAIT,
            Some(seconds) => match seconds.as_u64() {
                Some(seconds @ 1..=50) => Duration::from_secs(seconds),
                _ => {
                    return Err(CommandError::usage(
                        "`seconds` has to be a whole number from 1 to 50",
                    ));
                }
            },
        };
        Ok(asked.min(LONGEST_WAIT))
    }
}
