//! What a child did, as people read it: its turns, calls, messages and notices, from the journal, in windows.
//!
//! It is the same for every engine: what a program reported about its child is the same kind of fact as what the built-in loop did.
//! Nothing is shortened that has room; where a text is cut, its number of bytes says how much of it there is.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::native::about;
use grove_plan::history::{ChildHistory, TranscriptMark};
use grove_plan::{
    Attempt, Attention, Body, Call, CallOutcome, Cause, Check, CheckEnd, Ending, Event, Fact,
    Finish, Outcome, Said, Seen, Wish,
};
use serde::Serialize;
use serde_json::Value;

use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::watched_run::WatchedRun;

/// A part of what a child did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    /// The items of this part, in their order.
    pub items: Vec<TranscriptItem>,
    /// The place of the first of them among all.
    pub from: usize,
    /// The number of all items.
    pub all: usize,
}

/// One thing that a child did, or that happened to it.
#[derive(Debug, Serialize)]
pub struct TranscriptItem {
    /// The number of the event that records it.
    pub seq: u64,
    /// The time of the event, in milliseconds since 1970.
    pub at: u64,
    /// The attempt in which it happened; zero for none.
    pub attempt: u32,
    /// What happened at that moment.
    #[serde(flatten)]
    pub deed: Deed,
}

/// A thing that a child did, or that happened to it.
#[derive(Debug, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Deed {
    /// The beginning of an attempt.
    Began {
        /// The model that answers it.
        model: String,
        /// The earlier attempt in whose session it goes on.
        continues: Option<u32>,
        /// The words with which it goes on.
        words: Option<CutText>,
    },
    /// Another process took the child over.
    TakenOver,
    /// The process that drove it is gone.
    LeftAlone {
        /// The evidence for that.
        why: String,
    },
    /// An answer of the model.
    Said {
        /// Its thoughts, as far as they are told.
        thinking: Option<CutText>,
        /// The words of the answer.
        text: Option<CutText>,
        /// The tokens that limits count.
        tokens: u64,
        /// The reason why it stopped, in the provider's word.
        stop: String,
    },
    /// A tool was called.
    Called {
        /// The name of the tool.
        tool: String,
        /// The input in a few words.
        about: String,
        /// The input of the call.
        arguments: CutText,
        /// The result, once it returned.
        result: Option<CutText>,
        /// True if it failed.
        is_error: bool,
        /// True if what it began goes on, so that its end is not known.
        goes_on: bool,
        /// The time that it took.
        milliseconds: Option<u64>,
    },
    /// It heard a message while it worked.
    Heard {
        /// The words of the message.
        text: CutText,
    },
    /// It may need a person.
    Noticed {
        /// The reason for the notice.
        why: Attention,
    },
    /// The beginning of its conversation was put in short.
    Compacted {
        /// The number of turns that are told in short.
        turns: u64,
    },
    /// It asked for a run of its own, or one below it did.
    Delegated {
        /// The id of that run.
        run: String,
    },
    /// A request brought no answer.
    Wasted {
        /// The tokens that it took.
        tokens: u64,
    },
    /// It asked a question.
    Asked {
        /// The words of the question.
        text: String,
    },
    /// The end of an attempt.
    Ended {
        /// The way in which it ended, in words.
        how: String,
        /// True if it could not go on.
        is_failure: bool,
    },
    /// Its work was stored.
    Stored {
        /// The number of files that it changed.
        files: u64,
    },
    /// Its work was checked.
    Checked {
        /// The commands that ran, each with the way in which it ended.
        checks: Vec<CheckedCommand>,
    },
    /// Something that it needs could not be done.
    Impossible {
        /// The reason for the failure.
        why: String,
    },
    /// A person or program wished something of it.
    Wished {
        /// The name of that person or program.
        by: String,
        /// The wish in a word.
        wish: &'static str,
        /// The words that belong to it.
        words: Option<CutText>,
    },
    /// Its time was over.
    TimedOut,
}

/// A command that was run to check work.
#[derive(Debug, Serialize)]
pub struct CheckedCommand {
    /// The id of the command.
    pub id: String,
    /// The command as one line.
    pub line: String,
    /// The way in which it ended.
    pub end: CheckEnd,
    /// The time that it took.
    pub milliseconds: u64,
    /// The head and the tail of what it printed.
    pub output: CutText,
}

/// A text, or its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CutText {
    /// The text, or its beginning.
    pub text: String,
    /// The number of bytes of the whole.
    pub bytes: usize,
    /// True if there is more of it.
    pub cut: bool,
}

/// The room for texts: how much of each is taken, and how much of all together.
#[derive(Debug, Clone, Copy)]
pub struct TextRoom {
    /// The most bytes of one text.
    pub each: usize,
    /// The bytes that are left for all texts.
    pub left: usize,
    /// The number of texts that were cut.
    pub cut: usize,
}

impl TextRoom {
    /// Room for texts of a length, without a limit on all together.
    pub const fn each(bytes: usize) -> Self {
        Self {
            each: bytes,
            left: usize::MAX,
            cut: 0,
        }
    }

    /// Takes a text as far as there is room.
    pub fn take(&mut self, text: &str) -> CutText {
        self.take_most(text, self.each)
    }

    /// Takes a text as far as there is room, and at most so many bytes of it.
    pub fn take_most(&mut self, text: &str, most: usize) -> CutText {
        let end = text.floor_char_boundary(most.min(self.left));
        let kept = text.get(..end).unwrap_or_default();
        self.left = self.left.saturating_sub(kept.len());
        let cut = kept.len() < text.len();
        self.cut += usize::from(cut);
        CutText {
            text: kept.to_owned(),
            bytes: text.len(),
            cut,
        }
    }
}

/// One of the texts of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventText {
    /// The words of an answer, a message or a wish, or the input of a call.
    Given,
    /// The result of a call.
    Returned,
    /// The thoughts of an answer.
    Thinking,
}

impl RunJournal {
    /// Returns a part of what a child did: the items at some places, as far as there are any.
    pub fn transcript(
        &self,
        run: &WatchedRun,
        history: &ChildHistory,
        places: Range<usize>,
        room: &mut TextRoom,
    ) -> Result<Transcript, EngineError> {
        let all = history.marks.len();
        let from = places.start.min(all);
        let marks = history.marks.get(from..places.end.min(all)).unwrap_or(&[]);
        let items = self.items(run, marks, room)?;
        Ok(Transcript { items, from, all })
    }

    fn items(
        &self,
        run: &WatchedRun,
        marks: &[TranscriptMark],
        room: &mut TextRoom,
    ) -> Result<Vec<TranscriptItem>, EngineError> {
        let numbers = marks.iter().map(|mark| mark.seq);
        let events = self.store.events_at(&run.id, numbers)?;
        let ends = marks.iter().filter_map(|mark| mark.end);
        let ends = self.store.events_at(&run.id, ends)?.into_iter();
        let ends: BTreeMap<u64, Event> = ends.map(|event| (event.seq, event)).collect();
        let items = marks.iter().zip(&events).filter_map(|(mark, event)| {
            let end = mark.end.and_then(|seq| ends.get(&seq));
            Some(TranscriptItem {
                seq: event.seq,
                at: event.at.wall,
                attempt: mark.attempt,
                deed: self.deed(run, event, end, room)?,
            })
        });
        Ok(items.collect())
    }

    fn deed(
        &self,
        run: &WatchedRun,
        event: &Event,
        end: Option<&Event>,
        room: &mut TextRoom,
    ) -> Option<Deed> {
        Some(match &event.fact {
            Fact::Leased {
                effect, epoch: 1, ..
            } => self.began(run, &effect.of, room)?,
            Fact::Leased { .. } => Deed::TakenOver,
            Fact::Gone { why, .. } => Deed::LeftAlone { why: why.clone() },
            Fact::Turned { turn, .. } => {
                let blocks = self.value(&turn.content);
                let words = |kind: &str| joined_blocks(&blocks, kind);
                let mut kept = |text: String| (!text.trim().is_empty()).then(|| room.take(&text));
                Deed::Said {
                    thinking: kept(words("thinking")),
                    text: kept(words("text")),
                    tokens: turn.usage.counted(),
                    stop: turn.stop.clone(),
                }
            }
            Fact::Called { call, .. } => self.called(call, event, end, room),
            Fact::Noticed { why, .. } => Deed::Noticed { why: *why },
            Fact::Compacted { turns, .. } => Deed::Compacted { turns: *turns },
            Fact::Delegated { run, .. } => Deed::Delegated { run: run.clone() },
            Fact::Wasted { usage, .. } => Deed::Wasted {
                tokens: usage.counted(),
            },
            Fact::Fired { .. } => Deed::TimedOut,
            Fact::Answered {
                effect, outcome, ..
            } => self.outcome(run, &effect.of, outcome, room)?,
            Fact::Wanted { by, wish, .. } => {
                let (word, words) = match wish {
                    Wish::Stop { .. } | Wish::StopChild { .. } => ("stop", None),
                    Wish::Discard { .. } => ("discard", None),
                    Wish::Acknowledge => ("acknowledge", None),
                    Wish::Pause { .. } => ("pause", None),
                    Wish::Resume { message, .. } => ("resume", message.as_ref()),
                    Wish::Steer { message, .. } => ("steer", Some(message)),
                    Wish::Answer { answer, .. } => ("answer", Some(answer)),
                };
                let words = words.and_then(|digest| self.text(digest));
                Deed::Wished {
                    by: by.clone(),
                    wish: word,
                    words: words.map(|text| room.take(&text)),
                }
            }
            Fact::Submitted { .. }
            | Fact::Told { .. }
            | Fact::Found { .. }
            | Fact::Returned { .. }
            | Fact::Used { .. } => return None,
        })
    }

    fn began(&self, run: &WatchedRun, of: &Attempt, room: &mut TextRoom) -> Option<Deed> {
        let attempt = run.state.attempt(of)?;
        let child = run.plan.child(&of.node)?;
        let continues = attempt.continues.as_ref();
        let words = continues.and_then(|continues| match &continues.said {
            Said::Nothing => None,
            Said::Message(digest) | Said::Answer(digest) => self.text(digest),
            Said::Findings(findings) => Some(findings.join("\n")),
            Said::Data(why) => Some(why.clone()),
        });
        Some(Deed::Began {
            model: child.models.get(attempt.model).cloned().unwrap_or_default(),
            continues: continues.map(|continues| continues.n),
            words: words.map(|text| room.take(&text)),
        })
    }

    fn called(&self, call: &Call, event: &Event, end: Option<&Event>, room: &mut TextRoom) -> Deed {
        let arguments = self.value(&call.arguments);
        let outcome = end.and_then(|end| match &end.fact {
            Fact::Returned { outcome, .. } => Some((outcome, end.at.since(event.at))),
            _ => None,
        });
        let is = |is: fn(&CallOutcome) -> bool| outcome.is_some_and(|(outcome, _)| is(outcome));
        Deed::Called {
            tool: call.tool.clone(),
            about: about(&arguments),
            arguments: room.take(&in_words(&arguments)),
            is_error: is(|outcome| outcome.is_error),
            goes_on: is(|outcome| outcome.goes_on),
            milliseconds: outcome.map(|(_, milliseconds)| milliseconds),
            result: outcome.map(|(outcome, _)| room.take(&in_words(&self.value(&outcome.content)))),
        }
    }

    fn outcome(
        &self,
        run: &WatchedRun,
        of: &Attempt,
        outcome: &Outcome,
        room: &mut TextRoom,
    ) -> Option<Deed> {
        Some(match outcome {
            Outcome::Ended(ending) => ended(run, of, ending),
            Outcome::Sent { message } => Deed::Heard {
                text: room.take(&self.text(message)?),
            },
            Outcome::Captured(captured) => Deed::Stored {
                files: captured.files,
            },
            Outcome::Checked(seen) => Deed::Checked {
                checks: self.checked(run, of, seen, room),
            },
            Outcome::Conflicting { conflict, .. } => Deed::Impossible {
                why: conflict.to_string(),
            },
            Outcome::Impossible { why } => Deed::Impossible { why: why.clone() },
            _ => return None,
        })
    }

    fn checked(
        &self,
        run: &WatchedRun,
        of: &Attempt,
        seen: &Seen,
        room: &mut TextRoom,
    ) -> Vec<CheckedCommand> {
        let contract = run.plan.child(&of.node);
        let contract = contract.and_then(|child| child.contract.as_ref());
        let wanted = contract.map_or(&[][..], |contract| &contract.verify);
        let results = seen.results.iter().map(|result| {
            let check = wanted.iter().find(|check| check.id == result.id);
            CheckedCommand {
                id: result.id.clone(),
                line: check.map(Check::line).unwrap_or_default(),
                end: result.end.clone(),
                milliseconds: result.milliseconds,
                output: room.take(&self.text(&result.output).unwrap_or_default()),
            }
        });
        results.collect()
    }

    /// Returns one of the texts of an event as a whole; none where the event has no such text.
    pub fn event_text(
        &self,
        run: &WatchedRun,
        seq: u64,
        which: EventText,
    ) -> Result<Option<String>, EngineError> {
        let event = self.store.events_at(&run.id, [seq])?.pop();
        let text = event.and_then(|event| match (&event.fact, which) {
            (Fact::Turned { turn, .. }, EventText::Given) => {
                Some(joined_blocks(&self.value(&turn.content), "text"))
            }
            (Fact::Turned { turn, .. }, EventText::Thinking) => {
                Some(joined_blocks(&self.value(&turn.content), "thinking"))
            }
            (Fact::Called { call, .. }, EventText::Given) => {
                Some(in_words(&self.value(&call.arguments)))
            }
            (Fact::Called { of, .. }, EventText::Returned) => {
                let history = run.history.child(&of.node)?;
                let mark = history.marks.get(history.place_of(seq)?)?;
                let end = self.store.events_at(&run.id, mark.end).ok()?.pop()?;
                match &end.fact {
                    Fact::Returned { outcome, .. } => Some(in_words(&self.value(&outcome.content))),
                    _ => None,
                }
            }
            (
                Fact::Answered {
                    outcome: Outcome::Sent { message },
                    ..
                },
                EventText::Given,
            ) => self.text(message),
            _ => None,
        });
        Ok(text)
    }

    pub(crate) fn value(&self, body: &Body) -> Value {
        match body {
            Body::Inline(value) => value.clone(),
            Body::Artifact(digest) => {
                let text = self.text(digest).unwrap_or_default();
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
        }
    }
}

/// The end of an attempt as its executor saw it.
fn ended(run: &WatchedRun, of: &Attempt, ending: &Ending) -> Deed {
    let stopped = run.state.attempt(of).and_then(|it| it.stopping.as_ref());
    let (how, is_failure) = match &ending.finish {
        Finish::Answered => ("answered".to_owned(), false),
        Finish::Asked(question) => {
            let text = question.text.clone();
            return Deed::Asked { text };
        }
        Finish::Interrupted => {
            let why = stopped.map_or_else(String::new, |why| format!(": {why}"));
            (format!("stopped{why}"), false)
        }
        Finish::Failed(cause) => (Cause::to_string(cause), true),
    };
    Deed::Ended { how, is_failure }
}

/// The texts of the blocks of a kind.
fn joined_blocks(blocks: &Value, kind: &str) -> String {
    let blocks = blocks.as_array().into_iter().flatten();
    let texts = blocks
        .filter(|block| block["kind"] == kind)
        .filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// A value as people read it: words as they are, the words of blocks, everything else as JSON.
pub(crate) fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks)
            if !blocks.is_empty() && blocks.iter().all(|block| block["text"].is_string()) =>
        {
            let texts: Vec<&str> = blocks.iter().filter_map(|it| it["text"].as_str()).collect();
            texts.join("\n")
        }
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}
