//! The MCP servers of a configuration.

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::super::kinds::{ConfigKind, Texts};
use super::{Item, LayerReader};
use crate::config::{LayerScope, McpEntry};

impl LayerReader<'_> {
    /// Reads one server. A server with any fault is not used at all.
    pub(super) fn mcp_server(&mut self, name: &Spanned<DeString<'_>>, value: Item<'_, '_>) {
        let path = format!("mcp.{}", name.get_ref());
        if self.scope == LayerScope::Project {
            return self.forbidden(&path, &name.span());
        }
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(&path, &name.span(), "a table");
        };
        let known = self.diagnostics.len();
        let mut entry = McpEntry {
            lines: self.lines(table),
            ..McpEntry::default()
        };
        for (key, value) in table {
            let (path, span) = (format!("{path}.{}", key.get_ref()), key.span());
            match key.get_ref().as_ref() {
                "command" => match Texts::read(value.get_ref()) {
                    Some(words) => entry.command = words,
                    None => self.wrong(&path, &span, "a list of a program and its arguments"),
                },
                "env" => self.environment(&path, &span, value, &mut entry.env),
                _ => self.unknown(&path, &span),
            }
        }
        let is_whole = self.diagnostics.len() == known;
        if is_whole && entry.command.is_empty() {
            return self.wrong(&path, &name.span(), "a table with `command`");
        }
        if is_whole {
            let sourced = self.sourced(entry, &name.span());
            let servers = &mut self.layer.mcp;
            servers.insert(name.get_ref().to_string(), sourced);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;
    use super::*;

    #[test]
    fn a_server_is_read_whole_or_not_at_all() {
        for (text, wrong) in [
            ("command = ['a', 'b']", None),
            ("command = ['a']\nenv = { TOKEN = 'x' }", None),
            ("command = 'a b'", Some("`mcp.s.command` must be a list")),
            (
                "command = []",
                Some("`mcp.s` must be a table with `command`"),
            ),
            ("", Some("`mcp.s` must be a table with `command`")),
            (
                "command = ['a']\nargs = ['b']",
                Some("unknown key `mcp.s.args`"),
            ),
            (
                "command = ['a']\nenv = { LD_PRELOAD = 'sk-1' }",
                Some("`mcp.s.env.LD_PRELOAD` must be"),
            ),
        ] {
            let text = format!("[mcp.s]\n{text}\n");
            let (layer, findings) = parse(&text, LayerScope::User, Path::new("c"));
            assert_eq!(layer.mcp.contains_key("s"), wrong.is_none(), "{text}");
            let first = findings.first().map(|it| it.message.as_str());
            let fits = first
                .unwrap_or_default()
                .starts_with(wrong.unwrap_or_default());
            assert!(fits && first.is_some() == wrong.is_some(), "{findings:?}");
            assert!(!first.unwrap_or_default().contains("sk-1"));
        }
        let text = "[mcp.s]\ncommand = ['a']\n";
        let (layer, findings) = parse(text, LayerScope::Project, Path::new("c"));
        assert!(layer.mcp.is_empty());
        assert_eq!(findings[0].code.as_str(), "config-forbidden");
    }
}
