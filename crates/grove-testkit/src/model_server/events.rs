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

/// The pieces in which a text is sent: as many as wanted, where it has as many characters.
pub(super) fn pieces(text: &str, wanted: usize) -> Vec<&str> {
    let size = text.len().div_ceil(wanted.max(1)).max(1);
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_the_text() {
        for (text, wanted, expected) in [
            ("abcd", 2, &["ab", "cd"][..]),
            ("abc", 2, &["ab", "c"]),
            ("üü", 4, &["ü", "ü"]),
            ("", 2, &[""]),
            ("abc", 0, &["abc"]),
            ("abc", 99, &["a", "b", "c"]),
        ] {
            assert_eq!(pieces(text, wanted), expected);
        }
    }
}
