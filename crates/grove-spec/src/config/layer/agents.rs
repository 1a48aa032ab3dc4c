//! What a configuration says about agents.

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::{Item, Reader};
use crate::agent::overrides::{self, AgentOverride, Fault, Overrides, Spelling};
use crate::codes::Code;
use crate::config::Origin;
use crate::diagnostic::Diagnostic;
use crate::yaml::{Entry, Node, Value};

impl Reader<'_> {
    pub(super) fn agents(&mut self) -> &mut Overrides {
        let none = || Overrides::none(self.scope, self.file);
        self.layer.agents.get_or_insert_with(none)
    }

    /// What is overridden of one agent.
    pub(super) fn agent(&mut self, name: &Spanned<DeString<'_>>, value: Item<'_, '_>) {
        let path = format!("agents.overrides.{}", name.get_ref());
        let node = self.node(value, 0);
        let Some(entries) = node.as_map() else {
            self.wrong(&path, &name.span(), "a table");
            if let Some(finding) = self.diagnostics.last_mut() {
                finding.names = vec![name.get_ref().to_string()];
            }
            return;
        };
        let mut faults = Vec::new();
        let told = |entry: &Entry, fault| faults.push((entry.clone(), fault));
        let fields = overrides::read_fields(entries, Spelling::Config, self.file, told);
        for (entry, fault) in faults {
            let path = format!("{path}.{}", entry.key);
            let (code, message) = match fault {
                Fault::Unknown => (Code::ConfigUnknownKey, format!("unknown key `{path}`")),
                Fault::Kind(field) => (
                    Code::ConfigValue,
                    format!("`{path}` must be {}; it was not used", field.wanted()),
                ),
            };
            let finding = Diagnostic::new(code, message)
                .in_file(self.file)
                .with_names(vec![name.get_ref().to_string()]);
            self.diagnostics.push(finding.at(entry.position));
        }
        let line = self.position(&name.span()).line;
        let of_agent = AgentOverride {
            agent: name.get_ref().to_string(),
            origin: Origin {
                file: self.file.to_path_buf(),
                line,
            },
            fields,
        };
        self.agents().agents.push(of_agent);
    }

    /// A value as the tree that JSON and YAML give.
    fn node(&self, value: Item<'_, '_>, depth: usize) -> Node {
        let position = self.position(&value.span());
        let inner = match value.get_ref() {
            DeValue::String(text) => return Node::text(text.to_string(), position),
            DeValue::Boolean(flag) => return Node::plain(flag.to_string(), position),
            DeValue::Integer(number) => {
                let number = u64::from_str_radix(number.as_str(), number.radix());
                let text = number.map_or_else(|_| "a number".to_owned(), |n| n.to_string());
                return Node::plain(text, position);
            }
            // Nothing that can be overridden is one of these, or nested.
            DeValue::Float(_) | DeValue::Datetime(_) => return Node::plain("a value", position),
            _ if depth > 2 => return Node::plain("a value", position),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.node(item, depth + 1));
                Value::List(items.collect())
            }
            DeValue::Table(table) => {
                let entries = table.iter().map(|(key, value)| Entry {
                    key: key.get_ref().to_string().into(),
                    position: self.position(&key.span()),
                    value: self.node(value, depth + 1),
                });
                Value::Map(entries.collect())
            }
        };
        Node::new(inner, position)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;
    use crate::agent::overrides::Change;
    use crate::config::LayerScope;

    fn findings(text: &str, scope: LayerScope) -> Vec<(&'static str, u32)> {
        let (_, diagnostics) = parse(text, scope, Path::new("config.toml"));
        diagnostics
            .iter()
            .map(|d| (d.code.as_str(), d.position.map_or(0, |p| p.line)))
            .collect()
    }

    #[test]
    fn overrides_of_agents_are_read_field_by_field() {
        let text = "[agents]\ndisable_builtins = true\n[agents.overrides.a]\nmodel = 'm'\ntools = 3\nmax_tokens = 1_000\nskills = false\nmaxTokens = 1\n[agents.overrides]\nb = 1\n\"c d\".disabled = true\n";
        assert_eq!(
            findings(text, LayerScope::Project),
            [
                ("config-value", 5),
                ("config-unknown-key", 8),
                ("config-value", 10)
            ]
        );
        let (layer, _) = parse(text, LayerScope::User, Path::new("c"));
        let agents = layer.agents.unwrap();
        assert_eq!(
            agents.disable_builtins.map(|(flag, at)| (flag, at.line)),
            Some((true, 2))
        );
        let mut changes: Vec<(&str, Change, u32)> = Vec::new();
        for agent in &agents.agents {
            changes.extend(
                agent
                    .fields
                    .iter()
                    .map(|set| (agent.agent.as_str(), set.change.clone(), set.origin.line)),
            );
        }
        changes.sort_by_key(|(_, _, line)| *line);
        assert_eq!(
            changes,
            [
                ("a", Change::Model(Some("m".to_owned())), 4),
                ("a", Change::MaxTokens(Some(1_000)), 6),
                ("a", Change::Skills(Vec::new()), 7),
                ("c d", Change::Disabled(true), 11),
            ]
        );
        assert_eq!(
            findings("agents = 1\n", LayerScope::User),
            [("config-value", 1)]
        );
    }
}
