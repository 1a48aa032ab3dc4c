//! A child's session as a file: a tree of entries, one a line, each with the entry that it comes after.
//!
//! It is a view of the journal and nothing reads it back: after a crash the file is cut to what the journal has, and completed
//! from it. The journal's lease of an attempt is the session's: only its holder adds to it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_fs::FsError;
use grove_plan::{Attempt, CallId, CallOutcome, EffectKind, Fact, NodeId, Outcome, Said, Times};
use grove_store::{LoadedRun, Store, StoreError};
use serde_json::{Value, json};

use crate::envelope::{EnvelopeError, RunEnvelope};
use crate::error::EngineError;
use crate::journal::{RunJournal, node_or_last, parts_of};
use crate::native::{asked_for, asked_for_data};
use crate::places::RunPlaces;
use crate::told::Told;

/// The version of the form.
const SCHEMA: &str = "grove.session/1";

/// Brings the file of a child's session up to date with the journal, and returns its path.
pub(crate) fn write_session(
    store: &Store,
    places: &RunPlaces,
    run: &LoadedRun,
    node: &NodeId,
) -> Result<PathBuf, SessionError> {
    let folder = RunEnvelope::read(&run.envelope)?.session_dir;
    let path = places.session(&run.id, node, folder.as_deref());
    let text = Session::new(store, run, node).text()?;
    grove_fs::append::complete(&path, text.as_bytes())?;
    Ok(path)
}

/// The reason why a session's file is not up to date.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("there is no child `{0}`")]
    NoChild(NodeId),
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Files(#[from] FsError),
}

/// The moment of an event: its number and its time.
#[derive(Clone, Copy)]
struct Moment {
    seq: u64,
    at: Times,
}

impl RunJournal {
    /// Writes the conversation of a child, `RUN` or `RUN.NODE`, and returns its file.
    pub fn session(&self, given: &str) -> Result<PathBuf, EngineError> {
        let (run, node) = parts_of(given);
        let loaded = self.load(run)?;
        let node = node_or_last(&loaded, node);
        let path = write_session(&self.store, &self.places, &loaded, &node);
        path.map_err(EngineError::finding)
    }
}

struct Session<'a> {
    store: &'a Store,
    run: &'a LoadedRun,
    node: &'a NodeId,
    text: String,
    /// The id of the last entry of each attempt.
    last: BTreeMap<u32, String>,
    /// The names that models and programs gave to calls, by attempt and the name in the journal.
    given: BTreeMap<(u32, &'a CallId), &'a String>,
}

impl<'a> Session<'a> {
    fn new(store: &'a Store, run: &'a LoadedRun, node: &'a NodeId) -> Self {
        Self {
            store,
            run,
            node,
            text: String::new(),
            last: BTreeMap::new(),
            given: BTreeMap::new(),
        }
    }

    fn text(mut self) -> Result<String, SessionError> {
        let child = self.run.plan.child(self.node);
        let child = child.ok_or_else(|| SessionError::NoChild(self.node.clone()))?;
        let id = format!("{}.{}", self.run.id, self.node);
        let header = json!({
            "type": "session", "schema": SCHEMA, "id": id, "agent": child.agent, "cwd": child.place.folder,
        });
        self.line(&header);
        for event in &self.run.events {
            self.take(event.seq, event.at, &event.fact)?;
        }
        Ok(self.text)
    }

    fn line(&mut self, value: &Value) {
        self.text.push_str(&value.to_string());
        self.text.push('\n');
    }

    /// Adds an entry after the last one of its attempt, or of the attempt that it goes on from.
    fn entry(&mut self, when: Moment, of: &Attempt, part: &str, what: Value) {
        let earlier = || {
            let at = usize::try_from(of.n).ok()?.checked_sub(1)?;
            let attempts = &self.run.state.nodes.get(self.node)?.attempts;
            let from = attempts.get(at)?.continues.as_ref()?;
            self.last.get(&from.n)
        };
        let parent = self.last.get(&of.n).or_else(earlier).cloned();
        let id = format!("{}{part}", when.seq);
        let mut entry =
            json!({ "id": id, "parentId": parent, "at": when.at.wall, "attempt": of.n });
        if let (Value::Object(entry), Value::Object(what)) = (&mut entry, what) {
            entry.extend(what);
        }
        self.line(&entry);
        self.last.insert(of.n, id);
    }

    fn take(&mut self, seq: u64, at: Times, fact: &'a Fact) -> Result<(), SessionError> {
        let when = Moment { seq, at };
        let is_ours = |of: &Attempt| of.node == *self.node;
        match fact {
            Fact::Leased { effect, epoch, .. }
                if *epoch == 1 && effect.kind == EffectKind::Start && is_ours(&effect.of) =>
            {
                self.begin(when, &effect.of)?;
            }
            Fact::Told { of, told, .. } if is_ours(of) => {
                let told: Told = self.store.json(told)?;
                self.entry(when, of, "", message("user", &json!([text(&told.message)])));
            }
            Fact::Turned { of, turn, .. } if is_ours(of) => {
                let mut what = message("assistant", &self.store.value(&turn.content)?);
                what["usage"] = json!(turn.usage);
                what["stop"] = json!(turn.stop);
                self.entry(when, of, "", what);
            }
            Fact::Called { of, call, .. } if is_ours(of) => {
                if let Some(given) = &call.given {
                    self.given.insert((of.n, &call.id), given);
                }
            }
            Fact::Returned {
                of, call, outcome, ..
            } if is_ours(of) => {
                let CallOutcome {
                    content, is_error, ..
                } = outcome;
                let content = self.store.value(content)?;
                // The result has the name that the turn before gives the call, and the journal's name, which no other call has.
                let given = self.given.get(&(of.n, call));
                let given = given.map_or(call.0.as_str(), |given| given.as_str());
                let result = json!({ "kind": "toolResult", "id": given, "call": call, "content": content, "isError": is_error });
                self.entry(when, of, "", message("user", &json!([result])));
            }
            Fact::Answered {
                effect,
                outcome: Outcome::Sent { message: words },
                ..
            } if is_ours(&effect.of) => {
                let words = self.store.text(words)?;
                self.entry(
                    when,
                    &effect.of,
                    "",
                    message("user", &json!([text(&words)])),
                );
            }
            Fact::Answered {
                effect,
                outcome: Outcome::Ended(ending),
                ..
            } if is_ours(&effect.of) => {
                let what = json!({ "type": "end", "finish": ending.finish });
                self.entry(when, &effect.of, "", what);
            }
            Fact::Compacted { of, turns, .. } if is_ours(of) => {
                self.entry(
                    when,
                    of,
                    "",
                    json!({ "type": "compaction", "turns": turns }),
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the first entries of an attempt: its model, and its task or the words to go on.
    fn begin(&mut self, when: Moment, of: &Attempt) -> Result<(), SessionError> {
        let child = self.run.plan.child(self.node);
        let child = child.ok_or_else(|| SessionError::NoChild(self.node.clone()))?;
        let at = usize::try_from(of.n).ok().and_then(|n| n.checked_sub(1));
        let attempts = self.run.state.nodes.get(self.node);
        let attempt = at.and_then(|at| attempts?.attempts.get(at));
        let model = attempt.and_then(|attempt| child.models.get(attempt.model));
        self.entry(when, of, "a", json!({ "type": "attempt", "model": model }));
        let said = attempt.and_then(|attempt| attempt.continues.as_ref());
        let words = match said.map(|it| &it.said) {
            Some(Said::Message(digest) | Said::Answer(digest)) => Some(self.store.text(digest)?),
            Some(Said::Findings(findings)) => Some(asked_for(findings)),
            Some(Said::Data(why)) => Some(asked_for_data(why)),
            Some(Said::Nothing) => None,
            // A task that is put together later is an entry of its own.
            None if child.inputs.is_some() => None,
            None => Some(self.store.json::<Told>(&child.told)?.message),
        };
        if let Some(words) = words {
            self.entry(when, of, "b", message("user", &json!([text(&words)])));
        }
        Ok(())
    }
}

fn message(role: &str, content: &Value) -> Value {
    json!({ "type": "message", "message": { "role": role, "content": content } })
}

fn text(words: &str) -> Value {
    json!({ "kind": "text", "text": words })
}
