//! What a child is told: the text of its system prompt and its first message, stored before it starts.

use serde::{Deserialize, Serialize};

/// What a child is told. The built-in engine sends exactly these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The system text.
    pub system: String,
    /// The first message.
    pub message: String,
}

/// What every child is told about being one: the same for equal work, so without ids and paths of a run.
pub const BOUNDARY: &str = "You are a child agent: another agent or a person gave you one task and reads only your last \
message. Do the task yourself with the tools you have, do not start other agents, and end with the whole result in your \
last message.";
/// The same about asking.
const CANNOT_ASK: &str = " You cannot ask back.";
const CAN_ASK: &str =
    " When something is missing that you cannot find out, ask with `contact_supervisor`.";

impl Told {
    /// Puts an agent's prompt, the boundary and the task together.
    pub fn new(prompt: &str, task: &str, has_schema: bool, can_ask: bool) -> Self {
        let mut system = prompt.trim_end().to_owned();
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(BOUNDARY);
        system.push_str(if can_ask { CAN_ASK } else { CANNOT_ASK });
        if has_schema {
            system.push_str(
                " Your result is data: give it by calling `structured_output` once, with a value that meets its schema.",
            );
        }
        Self {
            system,
            message: task.to_owned(),
        }
    }

    /// The artifact.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}
