//! Server-sent events as the providers write them.

use serde_json::Value;

/// An event with its name on a line of its own.
pub(super) fn named(value: &Value) -> Vec<u8> {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n").into_bytes()
}

/// An event without a name.
pub(super) fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

/// The parts in which a text is sent: two, so that a reader has to put them together.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let (start, end) = text.split_at(text.ceil_char_boundary(text.len().div_ceil(2)));
    let parts = [start, end].into_iter();
    parts.filter(|part| !part.is_empty()).collect()
}
