//! `str()` and `repr()` of loaded values.

use std::fmt::Write as _;

use super::{Data, unicode14};

/// `str(value)`: a string is itself, anything else is its representation.
pub(super) fn to_str(value: Data) -> Data {
    match value {
        text @ (Data::Text(_) | Data::Surrogates(_)) => text,
        Data::Tagged(text) => Data::Text(text),
        other @ (Data::List(_) | Data::Map(_)) => {
            let mut out = String::new();
            repr(&other, &mut out);
            Data::Text(out)
        }
    }
}

/// `repr(value)`. The depth of a value is bounded where it is constructed.
pub(super) fn repr(value: &Data, out: &mut String) {
    match value {
        Data::Text(text) => repr_text(text.chars().map(u32::from), out),
        Data::Surrogates(points) => repr_text(points.iter().copied(), out),
        // Python prints an address here.
        Data::Tagged(_) => out.push_str("<strictyaml.ruamel.comments.TaggedScalar object>"),
        Data::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                repr(item, out);
            }
            out.push(']');
        }
        Data::Map(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                repr_text(key.chars().map(u32::from), out);
                out.push_str(": ");
                repr(value, out);
            }
            out.push('}');
        }
    }
}

fn repr_text(points: impl Iterator<Item = u32> + Clone, out: &mut String) {
    let has = |wanted: char| points.clone().any(|point| point == u32::from(wanted));
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    out.push(quote);
    for point in points {
        match char::from_u32(point) {
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(found) if found == quote => {
                out.push('\\');
                out.push(found);
            }
            Some(found) if unicode14::is_printable(found) => out.push(found),
            // Writing to a string does not fail.
            _ if point < 0x100 => write!(out, "\\x{point:02x}").unwrap_or_default(),
            _ if point < 0x1_0000 => write!(out, "\\u{point:04x}").unwrap_or_default(),
            _ => write!(out, "\\U{point:08x}").unwrap_or_default(),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &Data) -> String {
        let mut out = String::new();
        repr(value, &mut out);
        out
    }

    fn text(text: &str) -> Data {
        Data::Text(text.to_owned())
    }

    #[test]
    fn quotes_change_only_for_a_lone_apostrophe() {
        assert_eq!(shown(&text("it's")), "\"it's\"");
        assert_eq!(shown(&text("it's \"so\"")), "'it\\'s \"so\"'");
        assert_eq!(shown(&text("\"so\"")), "'\"so\"'");
    }

    #[test]
    fn what_is_not_printable_is_escaped() {
        assert_eq!(
            shown(&text("\u{7f}\u{a0}é\u{200b}\u{e0001}\t\\")),
            "'\\x7f\\xa0é\\u200b\\U000e0001\\t\\\\'"
        );
        assert_eq!(shown(&Data::Surrogates(vec![0xd83d])), "'\\ud83d'");
    }

    #[test]
    fn collections_read_as_in_python() {
        let map = Data::Map(vec![(
            "b".to_owned(),
            Data::List(vec![text("c"), text("")]),
        )]);
        assert_eq!(shown(&map), "{'b': ['c', '']}");
    }
}
