//! The message to a program for one attempt: the task, or in an earlier conversation the words that continue it.

use std::path::Path;

use grove_plan::{Finish, Said};

use crate::driving::DrivenChild;
use crate::native::{asked_for, asked_for_data};

/// The file in a program's home with its own name of the conversation.
const SESSION: &str = "grove-session";
/// The most bytes of such a name.
const MOST_SESSION: u64 = 1 << 10;
/// The message to a program that goes on without new words.
const GO_ON: &str = "Go on with the task.";

/// A message, and the conversation that it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Talk {
    pub(super) message: String,
    /// The program's own name of the conversation that goes on.
    pub(super) resumes: Option<String>,
}

impl Talk {
    /// Returns the message of an attempt. If a program's own conversation was not kept, the program is told the task again
    /// with what it had said by then.
    pub(super) fn of(driven: &DrivenChild, home: &Path) -> Self {
        let (store, of, told) = (&driven.store, &driven.of, &driven.told);
        let attempts = driven.run.state.nodes.get(&of.node);
        let attempts = attempts.map(|node| &node.attempts);
        let attempt = |n: u32| attempts?.get(usize::try_from(n).ok()?.checked_sub(1)?);
        let earlier = attempt(of.n).and_then(|attempt| attempt.continues.as_ref());
        let Some(earlier) = earlier else {
            return Self {
                message: told.message.clone(),
                resumes: None,
            };
        };
        let text = |digest| store.text(digest).unwrap_or_default();
        let words = match &earlier.said {
            Said::Nothing => GO_ON.to_owned(),
            Said::Message(digest) | Said::Answer(digest) => text(digest),
            Said::Findings(findings) => asked_for(findings),
            Said::Data(why) => asked_for_data(why),
        };
        let session = grove_fs::files::read_bounded(&home.join(SESSION), MOST_SESSION);
        let session = session.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if session.is_some() {
            return Self {
                message: words,
                resumes: session,
            };
        }
        let mut message = told.message.clone();
        let ending = attempt(earlier.n).and_then(|attempt| attempt.ending.as_ref());
        let said = ending.and_then(|ending| ending.output.text.as_ref());
        if let Some(said) = said.map(text) {
            message.push_str("\n\nYou worked on this before and said:\n");
            message.push_str(&said);
        }
        if let Some(Finish::Asked(question)) = ending.map(|ending| &ending.finish) {
            message.push_str("\n\nYou asked:\n");
            message.push_str(&question.text);
        }
        message.push_str("\n\n");
        message.push_str(&words);
        Self {
            message,
            resumes: None,
        }
    }

    /// Keeps the program's own name of the conversation beside what it remembers of it.
    pub(super) fn keep(home: &Path, session: &str) {
        // A conversation whose name cannot be kept is told anew.
        let _ = grove_fs::atomic::write_mode(&home.join(SESSION), session.as_bytes(), 0o600);
    }
}
