//! Changing one value of a `config.toml` and nothing else.
//!
//! The file is read by a parser and cut by positions, so that comments, order, quoting and line ends of
//! everything else stay as they are. The result is read again before it is given: if anything but the one value
//! would mean something else, the change is refused.

use toml_edit::{Document, Item, Table, TableLike, Value};

/// Why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigRefusal {
    /// It is not TOML: nobody knows what a change would do.
    NotToml {
        /// What is wrong, on one line.
        why: String,
        /// The line, if it is known.
        line: Option<u32>,
    },
    /// It is written in a form in which this value cannot be changed alone.
    Form,
}

/// The text with a value (a switch, a number, text or a list of texts); the same text when it is set so already.
pub fn set(text: &str, path: &[&str], value: &serde_json::Value) -> Result<String, ConfigRefusal> {
    let document = parse(text)?;
    let value = toml_text(value).ok_or(ConfigRefusal::Form)?;
    let changed = match place_of(&document, path) {
        Some(Place::Value(start, end)) if text.get(start..end) == Some(&*value) => {
            return Ok(text.to_owned());
        }
        Some(Place::Value(start, end)) => spliced(text, start, end, &value),
        Some(Place::Other) => return Err(ConfigRefusal::Form),
        None => added(text, &document, path, &value).ok_or(ConfigRefusal::Form)?,
    };
    check(text, &changed, path)?;
    Ok(changed)
}

/// The text without a value, or without a table and everything in it; tables that are left empty go too.
pub fn remove(text: &str, path: &[&str]) -> Result<String, ConfigRefusal> {
    let mut left = text.to_owned();
    loop {
        let document = parse(&left)?;
        let Some(item) = find(document.as_item(), path) else {
            break;
        };
        let Some(leaf) = first_value(item, path) else {
            break;
        };
        let leaf: Vec<&str> = leaf.iter().map(String::as_str).collect();
        let shorter = without_value(&left, &document, &leaf).ok_or(ConfigRefusal::Form)?;
        if shorter.len() >= left.len() {
            return Err(ConfigRefusal::Form);
        }
        left = shorter;
    }
    if left != text || find(parse(text)?.as_item(), path).is_some() {
        left = pruned(left, path)?;
    }
    check(text, &left, path)?;
    Ok(left)
}

fn parse(text: &str) -> Result<Document<&str>, ConfigRefusal> {
    Document::parse(text).map_err(|error| {
        let why = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before
            .map(|before| u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX));
        ConfigRefusal::NotToml { why, line }
    })
}

fn spliced(text: &str, start: usize, end: usize, new: &str) -> String {
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    format!("{before}{new}{after}")
}

enum Place {
    /// From byte to byte.
    Value(usize, usize),
    /// A table or a list of them.
    Other,
}

fn find<'a>(root: &'a Item, path: &[&str]) -> Option<&'a Item> {
    let mut item = root;
    for key in path {
        item = item.as_table_like()?.get(key)?;
    }
    Some(item)
}

fn place_of(document: &Document<&str>, path: &[&str]) -> Option<Place> {
    match find(document.as_item(), path)? {
        Item::Value(value) => {
            let span = value.span()?;
            Some(Place::Value(span.start, span.end))
        }
        _ => Some(Place::Other),
    }
}

/// The text with a new key.
fn added(text: &str, document: &Document<&str>, path: &[&str], value: &str) -> Option<String> {
    let (key, table) = path.split_last()?;
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let shown = key_text(key);
    match find(document.as_item(), table) {
        Some(Item::Table(found)) if found.is_dotted() => {
            let (sibling, end) = last_value(found)?;
            let start = text.get(..sibling)?.rfind('\n').map_or(0, |at| at + 1);
            let before = text.get(start..sibling)?;
            let at = line_after(text, end);
            let line = format!("{before}{shown} = {value}");
            Some(with_line(text, at, &line, line_end))
        }
        Some(Item::Table(found)) if !found.is_implicit() => {
            let header = found.span()?.end;
            let end = last_value(found).map_or(header, |(_, end)| end.max(header));
            let at = line_after(text, end);
            Some(with_line(text, at, &format!("{shown} = {value}"), line_end))
        }
        Some(Item::Value(Value::InlineTable(found))) => {
            let span = found.span()?;
            let inside = text.get(span.start + 1..span.end - 1)?;
            let filled = inside.trim_end();
            let comma = if filled.trim().is_empty() { " " } else { ", " };
            let new = format!("{{{filled}{comma}{shown} = {value} }}");
            (!inside.contains('\n')).then(|| spliced(text, span.start, span.end, &new))
        }
        Some(Item::Table(_)) | None => {
            let mut whole = text.to_owned();
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push_str(line_end);
            }
            if !whole.trim().is_empty() {
                whole.push_str(line_end);
            }
            let header: Vec<String> = table.iter().map(|key| key_text(key)).collect();
            let header = header.join(".");
            Some(format!(
                "{whole}[{header}]{line_end}{shown} = {value}{line_end}"
            ))
        }
        Some(_) => None,
    }
}

fn with_line(text: &str, at: usize, line: &str, line_end: &str) -> String {
    let before = text.get(..at).unwrap_or_default();
    // The last line of a file may have no end.
    let gap = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        line_end
    };
    spliced(text, at, at, &format!("{gap}{line}{line_end}"))
}

/// Where the line of a position ends, its end included.
fn line_after(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |end| at + end + 1)
}

/// The key and the end of the last value that is written in a table itself.
fn last_value(table: &Table) -> Option<(usize, usize)> {
    let keys = table.iter().filter_map(|(key, item)| match item {
        Item::Value(value) => Some((table.key(key)?.span()?.start, value.span()?.end)),
        Item::Table(below) if below.is_dotted() => {
            let (_, end) = last_value(below)?;
            Some((table.key(key)?.span()?.start, end))
        }
        _ => None,
    });
    keys.max_by_key(|(_, end)| *end)
}

/// The path of the first value in an item.
fn first_value(item: &Item, path: &[&str]) -> Option<Vec<String>> {
    let here = path.iter().map(|key| (*key).to_owned()).collect();
    match item {
        Item::Value(Value::InlineTable(table)) if !table.is_empty() => within(table, path),
        Item::Value(_) => Some(here),
        Item::Table(table) => within(table, path),
        _ => None,
    }
}

fn within(table: &dyn TableLike, path: &[&str]) -> Option<Vec<String>> {
    table.iter().find_map(|(key, item)| {
        let mut below = path.to_vec();
        below.push(key);
        first_value(item, &below)
    })
}

/// The text without one value: its line, or its part of a table that is written on one line.
fn without_value(text: &str, document: &Document<&str>, path: &[&str]) -> Option<String> {
    // An inline table that would be left empty goes as a whole.
    let mut path = path;
    while let Some((_, parent)) = path.split_last()
        && let Some(Item::Value(Value::InlineTable(table))) = find(document.as_item(), parent)
        && table.len() == 1
    {
        path = parent;
    }
    let (key, parent) = path.split_last()?;
    let table = find(document.as_item(), parent)?;
    let start = table.as_table_like()?.key(key)?.span()?.start;
    let end = table.get(*key)?.span()?.end;
    if let Item::Value(Value::InlineTable(_)) = table {
        let after = text.get(end..)?;
        let rest = after.trim_start();
        if let Some(next) = rest.strip_prefix(',') {
            let kept = next.trim_start();
            return Some(spliced(text, start, text.len() - kept.len(), ""));
        }
        let before = text.get(..start)?.trim_end().strip_suffix(',')?;
        return Some(spliced(text, before.len(), end, ""));
    }
    let line = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    Some(spliced(text, line, line_after(text, end), ""))
}

/// The text without the headers of a table and of those above it that hold nothing any more.
fn pruned(text: String, path: &[&str]) -> Result<String, ConfigRefusal> {
    let mut left = text;
    for length in (1..=path.len()).rev() {
        let document = parse(&left)?;
        let table = path
            .get(..length)
            .and_then(|path| find(document.as_item(), path));
        let header = match table {
            Some(Item::Table(table)) if !table.is_dotted() && table.is_empty() => table.span(),
            _ => None,
        };
        let Some(header) = header.filter(|header| !header.is_empty()) else {
            continue;
        };
        let before = left.get(..header.start).unwrap_or_default();
        let after = left
            .get(line_after(&left, header.end)..)
            .unwrap_or_default();
        // The blank line that set the table off goes with it.
        let before = ["\r\n\r\n", "\n\n"]
            .iter()
            .find_map(|blank| {
                let above = before.strip_suffix(blank)?;
                Some(format!("{above}{}", &blank[..blank.len() / 2]))
            })
            .unwrap_or_else(|| before.to_owned());
        let after = match (before.is_empty(), after) {
            (true, after) => ["\r\n", "\n"]
                .iter()
                .find_map(|blank| after.strip_prefix(blank))
                .unwrap_or(after),
            (false, after) => after,
        };
        left = before + after;
    }
    Ok(left)
}

/// Whether two texts mean the same but for one value and tables that hold nothing.
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

// The parser bounds how deep tables nest.
fn without_empty(table: &mut toml::Table, depth: usize) {
    table.retain(|_, value| match value {
        toml::Value::Table(below) if depth < 64 => {
            without_empty(below, depth + 1);
            !below.is_empty()
        }
        _ => true,
    });
}

fn toml_text(value: &serde_json::Value) -> Option<String> {
    let value = match value {
        serde_json::Value::Bool(flag) => Value::from(*flag),
        serde_json::Value::Number(number) => Value::from(number.as_i64()?),
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(serde_json::Value::as_str).collect();
            Value::from_iter(texts?)
        }
        _ => return None,
    };
    Some(value.to_string())
}

fn key_text(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}

#[cfg(test)]
mod tests;
