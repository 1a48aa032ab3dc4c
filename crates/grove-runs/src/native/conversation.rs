//! A conversation as its journal has it.

use std::collections::BTreeMap;

use grove_model::{Block, Message, Role, StopKind};
use grove_plan::{
    Attempt, Body, CallId, CallOutcome, Cause, Fact, Finish, Outcome, Question, Said, Usage,
};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store};
use serde_json::Value;

use super::compaction::Window;
use super::{ChildEnd, UNKNOWN_OUTCOME, calls_of, goes_on};
use crate::told::Told;
use crate::tools::{CONTACT_SUPERVISOR, STRUCTURED_OUTPUT, ToolResult, question_of};

/// What a model is told of a call that it wanted and that was not begun before it was interrupted.
const NOT_RUN: &str =
    "not run: the work was interrupted before it; call it again if it is still wanted";
/// What a model is told when it asked and goes on without an answer.
const NO_ANSWER: &str = "no answer was given; go on as well as you can without one";

/// What was said so far, in all tries of one session.
pub(super) struct Conversation {
    told: Told,
    window: Window,
    /// How many turns are told in short.
    compacted: usize,
    /// The tokens of everything up to the last answer, as the provider counted them.
    counted: Option<u64>,
    /// What was said before the first answer, beside the task.
    at_first: Vec<String>,
    turns: Vec<TurnSoFar>,
    /// The turns of earlier tries, which count for no limit of this one.
    earlier: usize,
}

/// An answer of the model, and what its calls came to.
pub(super) struct TurnSoFar {
    pub(super) blocks: Vec<Block>,
    goes_on: bool,
    pub(super) results: BTreeMap<String, (String, bool)>,
    /// Calls that were begun.
    begun: Vec<String>,
    /// What the child was told then, beside the results.
    pub(super) heard: Vec<String>,
}

/// A call whose result the model has not been told.
pub(super) struct PendingCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
    /// Whether it was begun, and nobody knows how it ended.
    pub(super) may_have_run: bool,
}

impl PendingCall {
    /// What the child asks with it and waits for.
    pub(super) fn question(&self) -> Option<Question> {
        let text = question_of(&self.name, &self.input)?;
        let call = CallId(self.id.clone());
        Some(Question { call, text })
    }
}

impl Conversation {
    /// What the journal says about an attempt.
    pub(super) fn of(
        store: &Store,
        run: &LoadedRun,
        of: &Attempt,
        (told, window): (Told, Window),
    ) -> Result<Self, String> {
        let mut conversation = Self {
            told,
            window,
            compacted: 0,
            counted: None,
            at_first: Vec::new(),
            turns: Vec::new(),
            earlier: 0,
        };
        for (of, said) in session_of(run, of) {
            if let Some(said) = said {
                conversation.go_on(store, said)?;
            }
            conversation.take_in(store, run, &of)?;
        }
        Ok(conversation)
    }

    /// Takes in what the journal says about one try.
    fn take_in(&mut self, store: &Store, run: &LoadedRun, of: &Attempt) -> Result<(), String> {
        for event in &run.events {
            match &event.fact {
                Fact::Turned {
                    of: whose, turn, ..
                } if whose == of => {
                    let blocks = artifact(store, &turn.content)?;
                    let blocks =
                        serde_json::from_value(blocks).map_err(|error| error.to_string())?;
                    let stop = serde_json::from_value(Value::String(turn.stop.clone()));
                    let is_pause = stop.is_ok_and(|stop: StopKind| goes_on(&stop));
                    self.push(blocks, is_pause, &turn.usage);
                }
                Fact::Compacted {
                    of: whose, turns, ..
                } if whose == of => self.compact(*turns),
                Fact::Called {
                    of: whose, call, ..
                } if whose == of => {
                    if let Some(last) = self.turns.last_mut() {
                        last.begun.push(call.id.0.clone());
                    }
                }
                Fact::Returned {
                    of: whose,
                    call,
                    outcome: CallOutcome { content, is_error },
                    ..
                } if whose == of => {
                    let text = artifact(store, content)?;
                    let text = text.as_str().unwrap_or_default().to_owned();
                    if let Some(last) = self.turns.last_mut() {
                        last.results.insert(call.0.clone(), (text, *is_error));
                    }
                }
                Fact::Answered {
                    effect,
                    outcome: Outcome::Sent { message },
                    ..
                } if effect.of == *of => self.hear(words(store, message)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// What was open when the try before ended is settled, and the next one begins with what is said now.
    fn go_on(&mut self, store: &Store, said: &Said) -> Result<(), String> {
        let mut words = match said {
            Said::Nothing => None,
            Said::Message(digest) | Said::Answer(digest) => Some(words(store, digest)?),
            Said::Findings(findings) => Some(asked_for(findings)),
        };
        self.settle_open_calls(&mut words);
        if let Some(words) = words {
            self.hear(words);
        }
        self.earlier = self.turns.len();
        Ok(())
    }

    /// Gives every call of the last turn a result: an answer to a question, or what is known of it.
    fn settle_open_calls(&mut self, words: &mut Option<String>) {
        if let Some(last) = self.turns.last_mut() {
            let open = calls_of(&last.blocks).filter(|(id, _, _)| !last.results.contains_key(*id));
            let open: Vec<(String, bool)> = open
                .map(|(id, name, _)| (id.clone(), name == CONTACT_SUPERVISOR))
                .collect();
            for (id, is_question) in open {
                let is_begun = last.begun.contains(&id);
                let result = match (is_begun, is_question) {
                    (true, true) => match words.take() {
                        Some(answer) => (answer, false),
                        None => (NO_ANSWER.to_owned(), true),
                    },
                    (true, false) => (UNKNOWN_OUTCOME.to_owned(), true),
                    (false, _) => (NOT_RUN.to_owned(), true),
                };
                last.results.insert(id, result);
            }
        }
    }

    /// Something that the child is told after whatever was said before.
    pub(super) fn hear(&mut self, words: String) {
        match self.turns.last_mut() {
            Some(last) => last.heard.push(words),
            None => self.at_first.push(words),
        }
    }

    fn push(&mut self, blocks: Vec<Block>, goes_on: bool, usage: &Usage) {
        let counted = [usage.input, usage.cached, usage.cache_write, usage.output];
        let counted = counted.into_iter().fold(0, u64::saturating_add);
        self.counted = (counted > 0 && !usage.estimated).then_some(counted);
        self.turns.push(TurnSoFar {
            blocks,
            goes_on,
            results: BTreeMap::new(),
            begun: Vec::new(),
            heard: Vec::new(),
        });
    }

    pub(super) fn add_turn(&mut self, blocks: Vec<Block>, stop: &StopKind, usage: &Usage) {
        let is_pause = goes_on(stop);
        self.push(blocks, is_pause, usage);
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// Tells so many turns in short from now on.
    pub(super) fn compact(&mut self, turns: u64) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        self.compacted = turns.min(self.turns.len());
        self.counted = None;
    }

    /// How many turns have to be told in short, when the next request is too long; `tools` are the bytes of the tools. The
    /// last turn is always told whole.
    pub(super) fn too_long(&self, tools: usize) -> Option<u64> {
        let size = |turns: &[TurnSoFar]| -> usize {
            let messages = turns.iter().flat_map(|turn| self.messages_of(turn));
            messages.map(|message| written(&message)).sum()
        };
        let last = self.turns.last()?;
        let since = self.messages_of(last).nth(1);
        let since = since.map_or(0, |message| written(&message));
        let history: usize = self.history().iter().map(written).sum();
        let fixed = self.told.system.len() + history + tools;
        let told = |cut: usize| written(&self.first(cut));
        let kept = self.turns.get(self.compacted..).unwrap_or_default();
        let request = fixed + told(self.compacted) + size(kept);
        if !self.window.is_full(request, self.counted, since) {
            return None;
        }
        let mut left = size(kept);
        let mut cut = self.compacted;
        while cut + 1 < self.turns.len() {
            left -= self
                .turns
                .get(cut)
                .map_or(0, |turn| size(std::slice::from_ref(turn)));
            cut += 1;
            if fixed + told(cut) + left <= self.window.after_cut() {
                break;
            }
        }
        (cut > self.compacted).then_some(cut as u64)
    }

    /// Half of what is told whole, for a provider that says it is too long; none when that is one turn.
    pub(super) fn half(&self) -> Option<u64> {
        let whole = self.turns.len().checked_sub(self.compacted)?;
        (whole >= 2).then(|| (self.compacted + whole / 2) as u64)
    }

    pub(super) fn add_result(&mut self, call: &PendingCall, result: &ToolResult) {
        if let Some(last) = self.turns.last_mut() {
            if !last.begun.contains(&call.id) {
                last.begun.push(call.id.clone());
            }
            let result = (result.text.clone(), result.is_error);
            last.results.insert(call.id.clone(), result);
        }
    }

    pub(super) fn system(&self) -> &str {
        &self.told.system
    }

    /// Calls of the last answer whose results are not there, in order.
    pub(super) fn pending_calls(&self) -> Vec<PendingCall> {
        let Some(last) = self.turns.last() else {
            return Vec::new();
        };
        let calls = calls_of(&last.blocks).filter(|(id, _, _)| !last.results.contains_key(*id));
        let calls = calls.map(|(id, name, input)| PendingCall {
            id: id.clone(),
            name: name.clone(),
            input: input.clone(),
            may_have_run: last.begun.contains(id),
        });
        let mut calls: Vec<PendingCall> = calls.collect();
        // Whoever asks waits, so the others come first.
        calls.sort_by_key(|call| call.question().is_some());
        calls
    }

    /// Whether the model has said all it wanted to.
    pub(super) fn is_answered(&self) -> bool {
        let last = self.turns.last();
        last.is_some_and(|last| {
            let has_calls = calls_of(&last.blocks).next().is_some();
            !last.goes_on && !has_calls && last.heard.is_empty()
        })
    }

    /// The turns of this try.
    fn own(&self) -> &[TurnSoFar] {
        self.turns.get(self.earlier..).unwrap_or_default()
    }

    /// How often the model has answered.
    pub(super) fn turns(&self) -> u64 {
        self.own().len() as u64
    }

    /// How many calls it has asked for.
    pub(super) fn calls_wanted(&self) -> u64 {
        let calls = self.own().iter().map(|turn| calls_of(&turn.blocks).count());
        calls.sum::<usize>() as u64
    }

    /// The same before its last answer.
    pub(super) fn calls_wanted_before_last(&self) -> u64 {
        let last = self.own().last();
        let of_last = last.map_or(0, |last| calls_of(&last.blocks).count());
        self.calls_wanted().saturating_sub(of_last as u64)
    }

    /// How many calls were begun or refused.
    pub(super) fn calls_begun(&self) -> u64 {
        let begun = self.own().iter().map(|turn| turn.begun.len());
        begun.sum::<usize>() as u64
    }

    /// The skills that it asked for and was given.
    pub(super) fn skills_given(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().flat_map(|turn| {
            let calls = calls_of(&turn.blocks).filter(|(id, name, _)| {
                *name == "skill" && turn.results.get(*id).is_some_and(|(_, failed)| !failed)
            });
            calls.filter_map(|(_, _, input)| input.get("name")?.as_str())
        })
    }

    /// The value that was taken as the result.
    pub(super) fn structured(&self) -> Option<&Value> {
        let last = self.turns.last().filter(|last| last.heard.is_empty())?;
        let mut calls = calls_of(&last.blocks).filter(|(_, name, _)| *name == STRUCTURED_OUTPUT);
        calls.find_map(|(id, _, input)| match last.results.get(id) {
            Some((_, false)) => Some(input),
            _ => None,
        })
    }

    /// What was wrong with the last value, once so many were.
    pub(super) fn wrong_values(&self, most: usize) -> Option<String> {
        let results = self.own().iter().flat_map(|turn| {
            let calls = calls_of(&turn.blocks).filter(|(_, name, _)| *name == STRUCTURED_OUTPUT);
            calls.filter_map(|(id, _, _)| turn.results.get(id))
        });
        let wrong: Vec<&String> = results
            .filter(|(_, is_error)| *is_error)
            .map(|(text, _)| text)
            .collect();
        wrong.get(most.checked_sub(1)?)?;
        wrong.last().map(|text| (*text).clone())
    }

    /// How it ended, with what it came to.
    pub(super) fn end(&self, finish: Finish) -> ChildEnd {
        ChildEnd {
            finish,
            text: self.last_text(),
            structured: self.structured().cloned(),
            review: None,
            lost: Usage::default(),
            path: None,
        }
    }

    /// The same with the word that the limit is reached.
    pub(super) fn messages_to_sum_up(&self, limit: &Cause) -> Vec<Message> {
        let mut messages = self.messages();
        let text = format!(
            "[{limit}] Call no more tools. Answer now with the result as far as you have it."
        );
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.push(Block::text(text)),
            _ => messages.push(Message::user(text)),
        }
        messages
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        let mut messages = self.history();
        let first = self.first(self.compacted);
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.extend(first.content),
            _ => messages.push(first),
        }
        let kept = self.turns.get(self.compacted..).unwrap_or_default();
        messages.extend(kept.iter().flat_map(|turn| self.messages_of(turn)));
        messages
    }

    /// What another has said before.
    fn history(&self) -> Vec<Message> {
        let history = self.told.history.iter().cloned();
        history
            .filter_map(|message| serde_json::from_value(message).ok())
            .collect()
    }

    /// The whole conversation for a child that is forked from it: every call has a result, and what only this child could
    /// do is left out.
    pub(super) fn for_fork(mut self, parents_only: &[&str]) -> Option<Vec<Message>> {
        self.settle_open_calls(&mut None);
        self.turns.last()?;
        let mut messages = self.messages();
        let mut left_out = Vec::new();
        for message in &mut messages {
            message.content.retain(|block| match block {
                Block::ToolUse { id, name, .. } if parents_only.contains(&name.as_str()) => {
                    left_out.push(id.clone());
                    false
                }
                Block::ToolResult { id, .. } => !left_out.contains(id),
                _ => true,
            });
        }
        messages.retain(|message| !message.content.is_empty());
        Some(messages)
    }

    /// The first message: the task, what was said beside it, and in short the turns before a cut.
    fn first(&self, cut: usize) -> Message {
        let mut first = Message::user(self.told.message.clone());
        let also = self.at_first.iter().cloned();
        first.content.extend(also.map(Block::text));
        let before = self.turns.get(..cut).filter(|turns| !turns.is_empty());
        let before = before.map(|turns| Block::text(self.window.told_of(turns)));
        first.content.extend(before);
        first
    }

    /// A turn as messages: what the model said, and what came of it.
    fn messages_of(&self, turn: &TurnSoFar) -> impl Iterator<Item = Message> {
        let results = calls_of(&turn.blocks).filter_map(|(id, name, _)| {
            let (content, is_error) = turn.results.get(id)?;
            // Instructions are told whole.
            let content = match name.as_str() {
                "skill" => content.clone(),
                _ => self.window.result(content),
            };
            Some(Block::ToolResult {
                id: id.clone(),
                content,
                is_error: *is_error,
            })
        });
        let heard = turn.heard.iter().cloned().map(Block::text);
        let content: Vec<Block> = results.chain(heard).collect();
        let answer = (!content.is_empty()).then_some(Message {
            role: Role::User,
            content,
        });
        let said = Message::assistant(turn.blocks.clone());
        std::iter::once(said).chain(answer)
    }

    /// The last words of the model.
    pub(super) fn last_text(&self) -> String {
        let mut texts = self.turns.iter().rev().map(|turn| {
            let words = turn.blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            });
            words.collect::<Vec<_>>().join("")
        });
        let found = texts.find(|text| !text.trim().is_empty());
        found.unwrap_or_default()
    }
}

/// The bytes of a message as it is written.
fn written(message: &Message) -> usize {
    serde_json::to_vec(message).map_or(0, |bytes| bytes.len())
}

/// What a child is told whose work does not have everything.
pub(crate) fn asked_for(findings: &[String]) -> String {
    let findings: Vec<String> = findings.iter().map(|it| format!("- {it}")).collect();
    format!(
        "Your work does not count yet:\n{}\n\nMend what is wrong, then report again in the form that you were shown, if one \
was asked for. Your answer is kept: do not repeat it.",
        findings.join("\n")
    )
}

/// The tries of a session up to one, the oldest first, each with what it began with.
fn session_of<'a>(run: &'a LoadedRun, of: &Attempt) -> Vec<(Attempt, Option<&'a Said>)> {
    let attempts = run.state.nodes.get(&of.node).map(|node| &node.attempts);
    let mut session = Vec::new();
    let mut next = Some(of.n);
    while let Some(n) = next {
        let at = usize::try_from(n).unwrap_or(usize::MAX);
        let attempt = attempts.and_then(|attempts| attempts.get(at.checked_sub(1)?));
        let continues = attempt.and_then(|attempt| attempt.continues.as_ref());
        let node = of.node.clone();
        session.push((Attempt { node, n }, continues.map(|it| &it.said)));
        next = continues.map(|it| it.n).filter(|earlier| *earlier < n);
    }
    session.reverse();
    session
}

/// The words of an artifact.
fn words(store: &Store, digest: &Digest) -> Result<String, String> {
    let bytes = store.artifact(digest).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("artifact {digest} is missing"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn artifact(store: &Store, body: &Body) -> Result<Value, String> {
    match body {
        Body::Inline(value) => Ok(value.clone()),
        Body::Artifact(digest) => {
            let bytes = store.artifact(digest).map_err(|error| error.to_string())?;
            let bytes = bytes.ok_or_else(|| format!("artifact {digest} is missing"))?;
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())
        }
    }
}
