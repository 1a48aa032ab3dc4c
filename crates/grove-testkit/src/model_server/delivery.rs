//! How an answer gets to the client: at once, in portions, slowly, cut, or never.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::sleep;

use super::http::Answer;
use super::script::Delivery;

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivered {
    /// All of it was sent.
    Whole,
    /// The connection is to be closed.
    Cut,
    /// The client is to wait until it does not want to any more.
    Hanging,
}

pub(super) async fn deliver(
    answer: Answer,
    delivery: &Delivery,
    writer: &mut (impl AsyncWrite + Unpin),
) -> io::Result<Delivered> {
    if delivery.first_delay_ms > 0 {
        sleep(Duration::from_millis(delivery.first_delay_ms)).await;
    }
    let ends = [
        (delivery.cut_after_bytes, Delivered::Cut),
        (delivery.hang_after_bytes, Delivered::Hanging),
    ];
    let end = ends
        .into_iter()
        .find_map(|(after, end)| Some((after?, end)));
    if let Some((0, end)) = end {
        return Ok(end);
    }
    let mut out = (answer.head() + "\r\n").into_bytes();
    let (portions, is_chunked) = match answer {
        Answer::Whole { body, .. } => (vec![body], false),
        Answer::Stream(events) => (events, true),
    };
    let mut left = end.map_or(usize::MAX, |(after, _)| after);
    for portion in resized(portions, delivery.chunk_bytes) {
        let portion = &portion[..portion.len().min(left)];
        left -= portion.len();
        if is_chunked && !portion.is_empty() {
            out.extend_from_slice(format!("{:x}\r\n", portion.len()).as_bytes());
        }
        out.extend_from_slice(portion);
        if is_chunked && !portion.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
        if left == 0 {
            break;
        }
        // All that does not have to wait is sent at once.
        if delivery.chunk_delay_ms > 0 {
            writer.write_all(&std::mem::take(&mut out)).await?;
            sleep(Duration::from_millis(delivery.chunk_delay_ms)).await;
        }
    }
    if is_chunked && end.is_none() {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    writer.write_all(&out).await?;
    writer.flush().await?;
    Ok(end.map_or(Delivered::Whole, |(_, end)| end))
}

/// The same bytes in portions of a size.
fn resized(portions: Vec<Vec<u8>>, size: Option<usize>) -> Vec<Vec<u8>> {
    match size {
        None => portions,
        Some(size) => portions
            .concat()
            .chunks(size.max(1))
            .map(<[u8]>::to_vec)
            .collect(),
    }
}
