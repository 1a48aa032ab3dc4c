//! Comments that move from token to token.

use super::super::fault::Fault;
use super::super::token::{Before, Comment, CommentId, Kind, Token};
use super::Parser;

impl Parser {
    /// Moves a token's comments to the next token.
    pub(super) fn pass_comment_on(
        &mut self,
        token: &mut Token,
        absent_value: bool,
    ) -> Result<(), Fault> {
        let target = self.scanner.peek()?;
        let Some(moved_id) = token.comment else {
            return Ok(());
        };
        if matches!(target.kind, Kind::StreamEnd) {
            return Ok(());
        }
        token.comment = None;
        let Some(kept_id) = target.comment else {
            let comments = self.scanner.comments();
            let id = if absent_value {
                let copy = comments.get(moved_id);
                comments.add(copy)
            } else {
                moved_id
            };
            self.scanner.peek()?.comment = Some(id);
            return Ok(());
        };
        let comments = self.scanner.comments();
        let (moved, mut kept) = (comments.get(moved_id), comments.get(kept_id));
        if (moved.after && kept.after)
            || (moved.before == Before::Some && kept.before == Before::Some)
        {
            return Err(Fault::crash("two comments meet on one value"));
        }
        kept.after |= moved.after;
        if moved.before == Before::Some {
            kept.before = Before::Some;
        }
        comments.set(kept_id, kept);
        Ok(())
    }

    /// Takes the comment after the `-` that opens an indentless list, for the list itself.
    pub(super) fn split_comment_after(&mut self) -> Result<Option<CommentId>, Fault> {
        let Some(id) = self.scanner.peek()?.comment else {
            return Ok(None);
        };
        let comments = self.scanner.comments();
        let mut comment = comments.get(id);
        if !comment.after {
            return Ok(None);
        }
        comment.after = false;
        comments.set(id, comment);
        Ok(Some(comments.add(Comment {
            after: true,
            before: Before::Empty,
        })))
    }

    /// Takes the comment after the next token, leaving it those before.
    pub(super) fn split_comment_after_value(&mut self) -> Result<Option<CommentId>, Fault> {
        let Some(id) = self.scanner.peek()?.comment else {
            return Ok(None);
        };
        let comments = self.scanner.comments();
        let comment = comments.get(id);
        let left = comments.add(Comment {
            after: false,
            before: comment.before,
        });
        let taken = comments.add(Comment {
            after: comment.after,
            before: Before::None,
        });
        self.scanner.peek()?.comment = Some(left);
        Ok(Some(taken))
    }
}
