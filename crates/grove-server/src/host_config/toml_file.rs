//! The server as a table of a TOML file: `[mcp_servers.grove]`, at the end of the file.

use std::fmt::Write as _;
use std::ops::Range;

use toml_edit::{Array, Document, Formatted, Item, Table, TomlError, Value};

use super::{FormError, NAME, ServerCommand};

const SERVERS: &str = "mcp_servers";

/// Returns the file with the server in it.
pub(super) fn with_server(text: &str, launch: &ServerCommand) -> Result<String, FormError> {
    let mut cleared = without_server(text)?;
    if !cleared.is_empty() && !cleared.ends_with('\n') {
        cleared.push('\n');
    }
    if !cleared.is_empty() {
        cleared.push('\n');
    }
    let arguments: Array = launch.arguments.iter().map(String::as_str).collect();
    let command = Value::String(Formatted::new(launch.command.clone()));
    let _ = write!(
        cleared,
        "[{SERVERS}.{NAME}]\ncommand = {command}\nargs = {arguments}\n"
    );
    // The new text is parsed like a reader would, so that a file in an unforeseen form is refused and not broken.
    let document = Document::parse(cleared.as_str()).map_err(|error| not_toml(&error))?;
    let entered = document
        .get(SERVERS)
        .and_then(|servers| servers.get(NAME)?.get("command")?.as_str());
    if entered == Some(launch.command.as_str()) {
        Ok(cleared.clone())
    } else {
        Err(FormError::UnknownForm(SERVERS))
    }
}

/// Returns the file without the server: the lines of its tables go, and the blank line in front of them.
pub(super) fn without_server(text: &str) -> Result<String, FormError> {
    let document = Document::parse(text).map_err(|error| not_toml(&error))?;
    let Some(servers) = document.get(SERVERS) else {
        return Ok(text.to_owned());
    };
    let Some(entry) = servers.as_table_like().map(|servers| servers.get(NAME)) else {
        return Err(FormError::ServersNotATable(SERVERS));
    };
    let table = match entry {
        None => return Ok(text.to_owned()),
        Some(Item::Table(table)) if !table.is_dotted() => table,
        Some(_) => {
            let table = format!("{SERVERS}.{NAME}");
            return Err(FormError::NotATableOfItsOwn(table));
        }
    };
    let mut spans = Vec::new();
    collect(table, &mut spans);
    spans.sort_unstable_by_key(|span| std::cmp::Reverse(span.start));
    let mut left = text.to_owned();
    for span in spans {
        let (before, rest) = left.split_at_checked(span.start).unwrap_or((&left, ""));
        let inside = span.len();
        let end = rest.get(inside..).and_then(|after| after.find('\n'));
        let after = end
            .and_then(|end| rest.get(inside + end + 1..))
            .unwrap_or("");
        let before = match before.strip_suffix("\n\n") {
            Some(above) => format!("{above}\n"),
            None => before.to_owned(),
        };
        left = before + after;
    }
    Ok(left)
}

/// Collects the ranges of a table and of the tables below it, each with its values.
fn collect(table: &Table, spans: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|span| !span.is_empty()) {
        spans.push(header.start..end_of(table).max(header.end));
    }
    for (_, item) in table {
        match item {
            Item::Table(below) if !below.is_dotted() => collect(below, spans),
            _ => {}
        }
    }
}

fn end_of(table: &Table) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Table(below) if below.is_dotted() => end_of(below),
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        _ => 0,
    });
    ends.max().unwrap_or(0)
}

fn not_toml(error: &TomlError) -> FormError {
    let message = error.message().lines().next();
    FormError::NotToml(message.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    fn launch() -> ServerCommand {
        ServerCommand {
            command: "/opt/my \"grove\"".to_owned(),
            arguments: vec!["mcp".to_owned()],
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "",
            "# only a comment\n",
            "model = \"x\"   # why\n\n[ mcp_servers . other ]\ncommand = 'a'\n",
            "[mcp_servers]\n# none\n[profiles.a]\nx = 1\n",
            "[mcp_servers.other]\ncommand = \"a\"\n[mcp_servers.other.env]\nA = \"1\"\n[z]\n",
            "a = \"\"\"\n[mcp_servers.grove]\n\"\"\"\n",
        ] {
            let with = with_server(text, &launch()).unwrap();
            assert!(with.starts_with(text), "{with}");
            let read: DocumentMut = with.parse().unwrap();
            let entry = &read["mcp_servers"]["grove"];
            assert_eq!(entry["command"].as_str(), Some("/opt/my \"grove\""));
            assert_eq!(entry["args"][0].as_str(), Some("mcp"));
            assert_eq!(
                with_server(&with, &launch()).unwrap(),
                with,
                "again: {text}"
            );
            assert_eq!(without_server(&with).unwrap(), text);
        }
    }

    #[test]
    fn what_stands_around_the_entry_stays() {
        let text = "a = 1\n\n[mcp_servers.grove]\ncommand = \"old\"\n\n# next\n[z]\nb = 2 # c\n";
        assert_eq!(
            without_server(text).unwrap(),
            "a = 1\n\n# next\n[z]\nb = 2 # c\n"
        );
        let with = with_server(text, &launch()).unwrap();
        assert!(with.starts_with("a = 1\n\n# next\n[z]\nb = 2 # c\n\n[mcp_servers.grove]\n"));
    }

    #[test]
    fn tables_below_the_entry_go_with_it() {
        let text = "[mcp_servers.grove]\ncommand = \"x\"\n[z]\na = 1\n\n[mcp_servers.grove.env]\nA = \"1\" # c\n[y]\n";
        assert_eq!(without_server(text).unwrap(), "[z]\na = 1\n[y]\n");
    }

    #[test]
    fn what_cannot_be_added_to_is_refused() {
        for text in [
            "mcp_servers = { a = { command = \"x\" } }\n",
            "mcp_servers = 7\n",
            "a = \n",
        ] {
            assert!(with_server(text, &launch()).is_err(), "{text}");
        }
    }
}
