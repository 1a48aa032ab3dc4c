//! The file of a Codex role: plain keys first, then its text, then the tables.

use std::fmt::Write as _;

use grove_spec::yaml::{Scalar, YamlEntry, YamlNode, YamlValue};

const BODY: &str = "developer_instructions";

/// Returns a file of these keys and this text; `mark` is a comment above them.
pub(super) fn role(entries: &[YamlEntry], mark: Option<&str>, body: &str) -> String {
    let mut out = mark.map_or_else(String::new, |mark| format!("{mark}\n"));
    plain_keys(&mut out, entries);
    let _ = writeln!(out, "{BODY} = {}", text(body));
    tables(&mut out, entries, "");
    out
}

/// Writes the keys whose values stand in their lines. They come before every table, which would otherwise own them.
fn plain_keys(out: &mut String, entries: &[YamlEntry]) {
    for entry in entries.iter().filter(|entry| !is_table(&entry.value)) {
        let _ = writeln!(out, "{} = {}", key(&entry.key), value(&entry.value));
    }
}

fn tables(out: &mut String, entries: &[YamlEntry], above: &str) {
    for entry in entries {
        let path = format!("{above}{}", key(&entry.key));
        match &entry.value.value {
            YamlValue::Map(inner) => {
                let has_keys = inner.iter().any(|entry| !is_table(&entry.value));
                if has_keys || inner.is_empty() {
                    let _ = writeln!(out, "\n[{path}]");
                }
                plain_keys(out, inner);
                tables(out, inner, &format!("{path}."));
            }
            YamlValue::List(items) if is_table(&entry.value) => {
                for inner in items.iter().filter_map(YamlNode::as_map) {
                    let _ = writeln!(out, "\n[[{path}]]");
                    plain_keys(out, inner);
                    tables(out, inner, &format!("{path}."));
                }
            }
            _ => {}
        }
    }
}

/// Returns true if a value is a table, or a list of tables and nothing else.
fn is_table(node: &YamlNode) -> bool {
    match &node.value {
        YamlValue::Map(_) => true,
        YamlValue::List(items) => !items.is_empty() && items.iter().all(|it| it.as_map().is_some()),
        YamlValue::Text(_) => false,
    }
}

fn value(node: &YamlNode) -> String {
    match &node.value {
        YamlValue::Text(scalar) => word(scalar),
        YamlValue::List(items) => {
            let items: Vec<String> = items.iter().map(value).collect();
            format!("[{}]", items.join(", "))
        }
        YamlValue::Map(entries) => {
            let pair = |entry: &YamlEntry| format!("{} = {}", key(&entry.key), value(&entry.value));
            let pairs: Vec<String> = entries.iter().map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// Returns a scalar as it is if TOML has such a word, and otherwise in quotes.
fn word(scalar: &Scalar) -> String {
    let is_word = || {
        let line = format!("x = {}", scalar.text);
        let table = line.parse::<toml::Table>();
        let one = table.ok().filter(|table| table.len() == 1);
        one.is_some_and(|table| {
            table
                .values()
                .all(|value| !value.is_str() && !value.is_array() && !value.is_table())
        })
    };
    if scalar.plain && !scalar.text.contains('\n') && is_word() {
        scalar.text.clone()
    } else {
        text(&scalar.text)
    }
}

fn key(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(fits) {
        name.to_owned()
    } else {
        quoted(name, false)
    }
}

/// Returns a text in quotes; one of several lines keeps them.
fn text(text: &str) -> String {
    quoted(text, text.contains('\n'))
}

fn quoted(text: &str, is_long: bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 8);
    quoted.push_str(if is_long { "\"\"\"\n" } else { "\"" });
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' if is_long => quoted.push('\n'),
            '\t' => quoted.push('\t'),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push_str(if is_long { "\"\"\"" } else { "\"" });
    quoted
}

#[cfg(test)]
mod tests;
