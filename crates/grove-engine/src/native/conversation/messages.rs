//! A conversation in the form in which it is sent: in full, in short where it is too long, and for a fork.

use grove_model::{Message, MessageBlock, Role};
use grove_plan::Cause;

use super::{Conversation, TurnSoFar};
use crate::native::compaction::bytes_of;

impl Conversation {
    /// Returns the number of turns that have to be told in short if the next request is too long; `tools` are the bytes of the
    /// tools. The last turn is always told in full.
    pub(in crate::native) fn too_long(&self, tools: usize) -> Option<u64> {
        if !self.window.is_known() {
            return None;
        }
        let size = |turns: &[TurnSoFar]| -> usize {
            turns.iter().map(|turn| self.bytes_of_turn(turn)).sum()
        };
        let last = self.turns.last()?;
        let since = self.messages_of(last).nth(1);
        let since = since.map_or(0, |message| bytes_of(&message));
        let fixed = self.begun_with + tools;
        let told = |cut: usize| bytes_of(&self.first(cut));
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
                .map_or(0, |turn| self.bytes_of_turn(turn));
            cut += 1;
            if fixed + told(cut) + left <= self.window.after_cut() {
                break;
            }
        }
        (cut > self.compacted).then_some(cut as u64)
    }

    /// The bytes of a turn as it is sent, which are counted once for what is in it.
    fn bytes_of_turn(&self, turn: &TurnSoFar) -> usize {
        let count = || self.messages_of(turn).map(|it| bytes_of(&it)).sum();
        *turn.bytes.get_or_init(count)
    }

    /// Returns the same number for a provider that refuses the length: half of the turns in full; none if that is one turn.
    pub(in crate::native) fn half(&self) -> Option<u64> {
        let whole = self.turns.len().checked_sub(self.compacted)?;
        (whole >= 2).then(|| (self.compacted + whole / 2) as u64)
    }

    /// Returns the messages with the note that the limit is reached.
    pub(in crate::native) fn messages_to_sum_up(&self, limit: &Cause) -> Vec<Message> {
        let mut messages = self.messages();
        let text = format!(
            "[{limit}] Call no more tools. Answer now with the result as far as you have it."
        );
        match messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.push(MessageBlock::text(text)),
            _ => messages.push(Message::user(text)),
        }
        messages
    }

    pub(in crate::native) fn messages(&self) -> Vec<Message> {
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

    fn history(&self) -> Vec<Message> {
        let history = self.told.history.iter().cloned();
        history
            .filter_map(|message| serde_json::from_value(message).ok())
            .collect()
    }

    /// Returns the whole conversation for a child that is forked from it: every call has a result, and what only this child
    /// could do is left out.
    pub(in crate::native) fn for_fork(mut self, parents_only: &[&str]) -> Option<Vec<Message>> {
        self.settle_open_calls(&mut None);
        self.turns.last()?;
        let mut messages = self.messages();
        // Several calls may have one name, so each open call is noted with whether it is kept.
        let mut open: Vec<(String, bool)> = Vec::new();
        for message in &mut messages {
            message.content.retain(|block| match block {
                MessageBlock::ToolUse { id, name, .. } => {
                    let is_kept = !parents_only.contains(&name.as_str());
                    open.push((id.clone(), is_kept));
                    is_kept
                }
                MessageBlock::ToolResult { id, .. } => {
                    let call = open.iter().position(|(called, _)| called == id);
                    call.is_none_or(|at| open.remove(at).1)
                }
                _ => true,
            });
        }
        messages.retain(|message| !message.content.is_empty());
        Some(messages)
    }

    /// Returns the first message: the task, the words beside it, and in short the turns before a cut.
    fn first(&self, cut: usize) -> Message {
        let mut first = Message::user(self.told.message.clone());
        let also = self.at_first.iter().cloned();
        first.content.extend(also.map(MessageBlock::text));
        let before = self.turns.get(..cut).filter(|turns| !turns.is_empty());
        let before = before.map(|turns| MessageBlock::text(self.window.told_of(turns)));
        first.content.extend(before);
        first
    }

    /// Returns a turn as messages: the answer of the model, and the results with the words that came after it.
    fn messages_of(&self, turn: &TurnSoFar) -> impl Iterator<Item = Message> {
        let results = turn.calls().filter_map(|(given, call)| {
            let result = call.result.as_ref()?;
            // Instructions of skills are told in full.
            let content = match given.tool {
                "skill" => result.text.clone(),
                _ => self.window.result(&result.text),
            };
            Some(MessageBlock::ToolResult {
                id: given.id.to_owned(),
                content,
                is_error: result.is_error,
            })
        });
        let heard = turn.heard().iter().cloned().map(MessageBlock::text);
        let content: Vec<MessageBlock> = results.chain(heard).collect();
        let answer = (!content.is_empty()).then_some(Message {
            role: Role::User,
            content,
        });
        let said = Message::assistant(turn.blocks.clone());
        std::iter::once(said).chain(answer)
    }
}
