//! Commands and programs that somebody else wrote run only after a person has read their exact text. An approval is by
//! digest: typed with the run, and from then on remembered.

use std::cell::RefCell;

use grove_fs::approvals::{Approval, Approvals};
use grove_skills::{Environment, trusting};

use crate::error::EngineError;

/// Digits of a digest that have to be typed.
const LEAST_TYPED: usize = 12;
/// Digits that are shown.
const SHOWN: usize = 16;

/// What was approved, now or before.
pub(crate) struct Approving<'a> {
    typed: &'a [String],
    kept: Approvals,
    granted: RefCell<Vec<Approval>>,
}

impl<'a> Approving<'a> {
    pub(crate) fn new(environment: &Environment, typed: &'a [String]) -> Self {
        Self {
            typed,
            kept: trusting::approvals(environment),
            granted: RefCell::default(),
        }
    }

    /// Refuses what nobody approved. `lines` say what it is.
    pub(crate) fn require(
        &self,
        digest: &str,
        message: &str,
        lines: Vec<String>,
    ) -> Result<(), EngineError> {
        let mut typed = self.typed.iter();
        if typed.any(|it| digest.starts_with(it.as_str()) && it.len() >= LEAST_TYPED) {
            let approval = Approval {
                digest: digest.to_owned(),
                about: lines.join("\n"),
            };
            self.granted.borrow_mut().push(approval);
            return Ok(());
        }
        if self.kept.has(digest) {
            return Ok(());
        }
        let shown = digest.get(..SHOWN).unwrap_or(digest);
        let approve = format!("approve it with --approve {shown}");
        Err(EngineError::finding(message).hints(lines.into_iter().chain([approve])))
    }

    /// What was approved now.
    pub(crate) fn granted(&self) -> Vec<Approval> {
        self.granted.borrow().clone()
    }
}

/// Remembers what was approved.
pub(crate) fn keep(environment: &Environment, approved: &[Approval]) -> Result<(), EngineError> {
    let kept = trusting::approvals(environment);
    for approval in approved {
        kept.store(approval)?;
    }
    Ok(())
}
