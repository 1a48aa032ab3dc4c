//! The context of an agent's run: how much it knows of the conversation that calls it.
//!
//! If there is no conversation, an agent's own preference gives way with a note. What a caller asks for is done or
//! refused: a caller who asked for a copy never gets a run without one.

use grove_spec::agent::ContextMode;
use grove_spec::{Code, Diagnostic};

/// The chosen context of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunContext {
    /// Fresh, or a copy of the conversation.
    pub mode: ContextMode,
    /// A finding that the caller must be shown.
    pub note: Option<Diagnostic>,
}

/// Decides the context of a run: the mode that the caller asked for, else the one the agent prefers, else fresh.
///
/// `has_session` is true if there is a conversation that can be copied.
pub fn decide(
    asked: Option<ContextMode>,
    preferred: Option<ContextMode>,
    has_session: bool,
) -> Result<RunContext, Diagnostic> {
    let fresh = |note| RunContext {
        mode: ContextMode::Fresh,
        note,
    };
    match (asked, preferred) {
        (Some(ContextMode::Fork), _) if !has_session => {
            let message =
                "a copy of the conversation was asked for, and there is no session to copy";
            Err(Diagnostic::new(Code::ContextNoParent, message))
        }
        (None, Some(ContextMode::Fork)) if !has_session => {
            let message = "the agent prefers a copy of the conversation; there is no session to copy, so it runs fresh";
            Ok(fresh(Some(Diagnostic::new(Code::ContextFresh, message))))
        }
        (Some(ContextMode::Fork), _) | (None, Some(ContextMode::Fork)) => Ok(RunContext {
            mode: ContextMode::Fork,
            note: None,
        }),
        (Some(ContextMode::Fresh), _) | (None, Some(ContextMode::Fresh) | None) => Ok(fresh(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ContextMode::{Fork, Fresh};

    #[test]
    fn a_wish_gives_way_and_says_so_and_a_demand_fails() {
        for (asked, preferred, has_session, expected) in [
            (None, None, false, Ok((Fresh, None))),
            (None, None, true, Ok((Fresh, None))),
            (None, Some(Fresh), true, Ok((Fresh, None))),
            (None, Some(Fork), true, Ok((Fork, None))),
            (None, Some(Fork), false, Ok((Fresh, Some("context-fresh")))),
            (Some(Fork), None, true, Ok((Fork, None))),
            (Some(Fork), Some(Fresh), true, Ok((Fork, None))),
            (Some(Fork), None, false, Err("context-no-parent")),
            (Some(Fork), Some(Fork), false, Err("context-no-parent")),
            (Some(Fresh), Some(Fork), true, Ok((Fresh, None))),
            (Some(Fresh), Some(Fork), false, Ok((Fresh, None))),
        ] {
            let decided = decide(asked, preferred, has_session);
            let decided = decided
                .map(|context| (context.mode, context.note.map(|note| note.code.as_str())))
                .map_err(|refusal| refusal.code.as_str());
            assert_eq!(decided, expected, "{asked:?} {preferred:?} {has_session}");
        }
    }
}
