//! A change of one value of a `config.toml` and of nothing else.
//!
//! The document is edited with its comments, order and quoting. A file that would not be printed as it is written is
//! left alone, and so is one in which anything but the one value would mean something else.

use toml_edit::{Decor, DocumentMut, InlineTable, Item, Key, RawString, Table, Value};

use crate::skill::body::position_of;

/// The reason why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigRefusal {
    /// The file is not TOML, so the effect of a change is unknown.
    NotToml {
        /// The fault, on one line.
        why: String,
        /// The number of the line, if it is known.
        line: Option<u32>,
    },
    /// The file is written in a form in which this value cannot be changed alone.
    Form,
}

/// The text with a value (a switch, a number, text or a list of texts); the same text if it is set so already.
pub fn set(text: &str, path: &[&str], value: &serde_json::Value) -> Result<String, ConfigRefusal> {
    let value = toml_value(value).ok_or(ConfigRefusal::Form)?;
    edited(text, path, |document| set_value(document, path, value))
}

/// The text without a value, or without a table and everything in it; tables that become empty go too.
pub fn remove(text: &str, path: &[&str]) -> Result<String, ConfigRefusal> {
    edited(text, path, |document| {
        let Some(item) = find(document.as_item_mut(), path) else {
            return Some(());
        };
        mark_all(item)?;
        for length in (1..path.len()).rev() {
            let (key, above) = path.get(..=length)?.split_last()?;
            match find(document.as_item_mut(), above)? {
                Item::Value(Value::InlineTable(table)) => take_out_inline(table, key),
                Item::Table(table) if table.iter().all(|(_, item)| is_marked(item)) => {
                    mark(table.decor_mut());
                }
                _ => {}
            }
        }
        Some(())
    })
}

/// The text after a change to its document, with the line ends of the file.
fn edited(
    text: &str,
    path: &[&str],
    change: impl FnOnce(&mut DocumentMut) -> Option<()>,
) -> Result<String, ConfigRefusal> {
    let has_returns = text.contains("\r\n");
    let lines = text.replace("\r\n", "\n");
    let with_ends = |lines: String| {
        if has_returns {
            lines.replace('\n', "\r\n")
        } else {
            lines
        }
    };
    let mut document = parse(&lines)?;
    let printed = with_ends(document.to_string());
    if printed.trim_end() != text.trim_end() {
        return Err(ConfigRefusal::Form);
    }
    change(&mut document).ok_or(ConfigRefusal::Form)?;
    let changed = with_ends(without_marked(&document.to_string()));
    if changed == printed {
        return Ok(text.to_owned());
    }
    check(text, &changed, path)?;
    Ok(changed)
}

fn parse(text: &str) -> Result<DocumentMut, ConfigRefusal> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let why = error.message().lines().next().unwrap_or_default();
        let line = error.span().map(|span| position_of(text, span.start).line);
        ConfigRefusal::NotToml {
            why: why.to_owned(),
            line,
        }
    })
}

fn find<'a>(root: &'a mut Item, path: &[&str]) -> Option<&'a mut Item> {
    let mut item = root;
    for key in path {
        item = item.as_table_like_mut()?.get_mut(key)?;
    }
    Some(item)
}

fn set_value(document: &mut DocumentMut, path: &[&str], mut value: Value) -> Option<()> {
    let (key, parents) = path.split_last()?;
    match find(document.as_item_mut(), path) {
        Some(Item::Value(old)) => {
            if old.to_string().trim() != value.to_string().trim() {
                value.decor_mut().clone_from(old.decor());
                *old = value;
            }
            return Some(());
        }
        Some(_) => return None,
        None => {}
    }
    match find(document.as_item_mut(), parents) {
        Some(Item::Value(Value::InlineTable(table))) => add_inline(table, key, value),
        Some(Item::Table(table)) if table.is_dotted() || !table.is_implicit() => {
            table.insert(key, Item::Value(value));
            Some(())
        }
        _ => add_table(document, parents, key, value),
    }
}

fn add_inline(table: &mut InlineTable, key: &str, mut value: Value) -> Option<()> {
    if table.to_string().contains('\n') {
        return None;
    }
    let mut gap = RawString::from(" ");
    if let Some((_, last)) = table.iter_mut().last() {
        let decor = last.decor_mut();
        gap = decor.suffix().cloned().unwrap_or_default();
        decor.set_suffix("");
    }
    value.decor_mut().set_prefix(" ");
    value.decor_mut().set_suffix(gap);
    let mut key = Key::new(key);
    *key.leaf_decor_mut() = Decor::new(" ", " ");
    table.insert_formatted(&key, value);
    Some(())
}

/// Adds a table with one key at the end of the file.
fn add_table(document: &mut DocumentMut, path: &[&str], key: &str, value: Value) -> Option<()> {
    let mut before = document.trailing().as_str()?.to_owned();
    if !before.is_empty() && !before.ends_with('\n') {
        before.push('\n');
    }
    if !document.to_string().trim().is_empty() {
        before.push('\n');
    }
    let mut table = document.as_table_mut();
    for name in path {
        let none = || {
            let mut none = Table::new();
            none.set_implicit(true);
            Item::Table(none)
        };
        table = table.entry(name).or_insert_with(none).as_table_mut()?;
    }
    table.set_implicit(false);
    table.set_position(Some(isize::MAX));
    table.decor_mut().set_prefix(before);
    table.insert(key, Item::Value(value));
    document.set_trailing("");
    Some(())
}

/// A mark at the end of each line to remove, so that the comments around the line stay in place.
const CUT: &str = "#\u{0}cut";

fn mark(decor: &mut Decor) {
    decor.set_suffix(CUT);
}

/// Marks every line of an item; nothing if that is not possible.
fn mark_all(item: &mut Item) -> Option<()> {
    match item {
        Item::Value(value) => {
            *value = Value::from(true);
            mark(value.decor_mut());
        }
        Item::Table(table) => {
            for (_, below) in table.iter_mut() {
                mark_all(below)?;
            }
            mark(table.decor_mut());
        }
        Item::None | Item::ArrayOfTables(_) => return None,
    }
    Some(())
}

fn is_marked(item: &Item) -> bool {
    let decor = match item {
        Item::Value(Value::InlineTable(table)) if table.is_empty() => return true,
        Item::Value(value) => value.decor(),
        Item::Table(table) => table.decor(),
        Item::None | Item::ArrayOfTables(_) => return false,
    };
    decor.suffix().and_then(RawString::as_str) == Some(CUT)
}

/// Removes a marked key from a table that is written on one line; a table that becomes empty is marked itself.
fn take_out_inline(table: &mut InlineTable, key: &str) {
    if !table
        .get(key)
        .is_some_and(|value| is_marked(&Item::Value(value.clone())))
    {
        return;
    }
    table.remove(key);
    match table.iter_mut().last() {
        Some((_, last)) => last.decor_mut().set_suffix(" "),
        None => mark(table.decor_mut()),
    }
}

/// The text without the marked lines. The blank line before a removed table goes with it.
fn without_marked(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut began_with_table = false;
    for line in text.split_inclusive('\n') {
        if line.contains(CUT) {
            if line.trim_start().starts_with('[') {
                began_with_table |= left.is_empty();
                if left.ends_with("\n\n") {
                    left.pop();
                }
            }
        } else if !(std::mem::take(&mut began_with_table) && line == "\n") {
            left.push_str(line);
        }
    }
    left
}

/// Refuses a change after which anything but one value and empty tables has another meaning.
fn check(before: &str, after: &str, path: &[&str]) -> Result<(), ConfigRefusal> {
    let others = |text: &str| -> Option<toml::Table> {
        let mut table: toml::Table = text.parse().ok()?;
        take_out(&mut table, path);
        without_empty(&mut table, 0);
        Some(table)
    };
    let (old, new) = (others(before), others(after));
    (old.is_some() && old == new)
        .then_some(())
        .ok_or(ConfigRefusal::Form)
}

fn take_out(table: &mut toml::Table, path: &[&str]) {
    match path {
        [] => {}
        [key] => {
            table.remove(*key);
        }
        [key, rest @ ..] => {
            if let Some(toml::Value::Table(below)) = table.get_mut(*key) {
                take_out(below, rest);
            }
        }
    }
}

// The parser limits the nesting of tables, so the recursion is bounded.
fn without_empty(table: &mut toml::Table, depth: usize) {
    table.retain(|_, value| match value {
        toml::Value::Table(below) if depth < 64 => {
            without_empty(below, depth + 1);
            !below.is_empty()
        }
        _ => true,
    });
}

fn toml_value(value: &serde_json::Value) -> Option<Value> {
    Some(match value {
        serde_json::Value::Bool(flag) => Value::from(*flag),
        serde_json::Value::Number(number) => Value::from(number.as_i64()?),
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(serde_json::Value::as_str).collect();
            Value::from_iter(texts?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
