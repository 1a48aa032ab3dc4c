//! The line of a child: how far it is, who it is, what it does now, and what that took.

use grove_engine::view::{Accepted, Execution, LiveChild, REJECTED};
use unicode_width::UnicodeWidthStr as _;

use super::line::{FrameLine, fitted, money, time, whole};
use crate::colour::ColourMeaning;
use grove_spec::text::grouped;

/// The least width of a child's doing before its numbers give way.
const LEAST_DOING: usize = 20;

/// The widths of the columns of children, so that they stand below one another.
pub(super) struct ColumnWidths {
    columns: usize,
    id: usize,
    name: usize,
    quiet: usize,
    tokens: usize,
    cost: usize,
    time: usize,
}

/// The numbers at the right of a child's line.
struct ChildFigures {
    quiet: String,
    tokens: String,
    cost: String,
    time: String,
}

impl ChildFigures {
    fn of(child: &LiveChild<'_>) -> Self {
        let begun = child.ms.is_some();
        let some = |is_there: bool, text: String| if is_there { text } else { String::new() };
        Self {
            quiet: child.quiet_ms.map_or_else(String::new, |ms| match ms {
                0..2_000 => "now".to_owned(),
                ms => format!("{} ago", time(ms)),
            }),
            tokens: some(begun, format!("{} tok", grouped(whole(child.tokens)))),
            cost: match child.cost {
                Some(cost) if cost > 0 => format!("cost {}", money(cost)),
                _ => String::new(),
            },
            time: child.ms.map_or_else(String::new, time),
        }
    }
}

impl ColumnWidths {
    pub(super) fn of<'a>(
        children: impl Iterator<Item = &'a LiveChild<'a>>,
        columns: usize,
    ) -> Self {
        let mut layout = Self {
            columns,
            id: 0,
            name: 0,
            quiet: 0,
            tokens: 0,
            cost: 0,
            time: 0,
        };
        for child in children {
            let figures = ChildFigures::of(child);
            let widen = |column: &mut usize, width: usize| *column = (*column).max(width);
            widen(&mut layout.id, child.id.as_str().width());
            widen(&mut layout.name, child.name.width());
            widen(&mut layout.quiet, figures.quiet.width());
            widen(&mut layout.tokens, figures.tokens.width());
            widen(&mut layout.cost, figures.cost.width());
            widen(&mut layout.time, figures.time.width());
        }
        layout.id = layout.id.min(columns / 4);
        layout.name = layout.name.min(columns / 4);
        let least = LEAST_DOING + layout.left();
        for give_way in [
            |layout: &mut Self| layout.cost = 0,
            |layout: &mut Self| layout.tokens = 0,
            |layout: &mut Self| layout.quiet = 0,
        ] {
            if least + layout.right() > columns {
                give_way(&mut layout);
            }
        }
        layout
    }

    /// The edge of a card, the mark, the id and the name, each with a blank.
    fn left(&self) -> usize {
        2 + 2 + self.id + 1 + self.name + 1
    }

    fn right(&self) -> usize {
        let columns = [self.quiet, self.tokens, self.cost, self.time];
        columns.iter().filter(|it| **it > 0).map(|it| it + 2).sum()
    }

    pub(super) fn line(&self, edge: &str, child: &LiveChild<'_>) -> FrameLine {
        let mut line = FrameLine::default();
        let mark = if child.accepted.is_rejected() {
            "✗"
        } else {
            mark(child.state)
        };
        line.push(edge);
        line.push_marked(meaning_of(child), mark);
        line.push(" ");
        line.push(&fitted(child.id.as_str(), self.id));
        line.go_to_column(edge.width() + 2 + self.id + 1);
        line.push(&fitted(child.name, self.name));
        line.go_to_column(edge.width() + 2 + self.id + 1 + self.name + 1);
        let end = self.columns.saturating_sub(self.right());
        let room = end.saturating_sub(line.width);
        let (meaning, doing) = doing(child);
        line.push_marked(meaning, &fitted(&doing, room));
        let figures = ChildFigures::of(child);
        let mut at = end;
        for (width, text, meaning) in [
            (self.quiet, figures.quiet, Some(ColourMeaning::Quiet)),
            (self.tokens, figures.tokens, None),
            (self.cost, figures.cost, None),
            (self.time, figures.time, None),
        ] {
            if width > 0 {
                at += width + 2;
                if !text.is_empty() {
                    line.push_ending_at(at, meaning, &text);
                }
            }
        }
        line
    }
}

/// Returns the words between a child's name and its numbers.
fn doing(child: &LiveChild<'_>) -> (Option<ColourMeaning>, String) {
    if let Some(attention) = child.attention.filter(|_| child.is_at_work()) {
        let doing = child.doing.unwrap_or_default();
        return (
            Some(ColourMeaning::Doubtful),
            format!("{doing} ({attention})"),
        );
    }
    if let Some(doing) = child.doing {
        return (None, doing.to_owned());
    }
    let word = child.shown();
    match (child.state, child.accepted) {
        (_, Accepted::Rejected { why }) => (Some(ColourMeaning::Bad), format!("{REJECTED}: {why}")),
        (Execution::Complete, Accepted::None) => (Some(ColourMeaning::Quiet), word.to_owned()),
        (Execution::Complete, accepted) => (
            Some(ColourMeaning::Good),
            format!("{word}, {}", accepted.word()),
        ),
        (state, _) => {
            let reason = state.reason();
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            (meaning(state), format!("{word}{reason}"))
        }
    }
}

pub(super) fn mark(state: &Execution) -> &'static str {
    match state {
        Execution::Pending | Execution::Queued => "·",
        Execution::Running => "▸",
        Execution::Paused(_) => "‖",
        Execution::Asking(_) => "?",
        Execution::Complete => "✓",
        Execution::Failed(_) => "✗",
        Execution::Skipped => "-",
        Execution::Stopped(_) => "■",
        Execution::Lost(_) => "!",
    }
}

/// Returns the meaning of a child's state: work that does not count is bad.
pub(super) fn meaning_of(child: &LiveChild<'_>) -> Option<ColourMeaning> {
    if child.accepted.is_rejected() {
        return Some(ColourMeaning::Bad);
    }
    meaning(child.state)
}

pub(super) fn meaning(state: &Execution) -> Option<ColourMeaning> {
    Some(match state {
        Execution::Pending | Execution::Queued | Execution::Skipped => ColourMeaning::Quiet,
        Execution::Running => return None,
        Execution::Paused(_) | Execution::Asking(_) | Execution::Stopped(_) => {
            ColourMeaning::Doubtful
        }
        Execution::Complete => ColourMeaning::Good,
        Execution::Failed(_) | Execution::Lost(_) => ColourMeaning::Bad,
    })
}
