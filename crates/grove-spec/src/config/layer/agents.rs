//! The parts of a configuration that concern agents.

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::{Item, LayerReader};
use crate::agent::overrides::{self, AgentOverride, FieldSpelling, OverrideFault, Overrides};
use crate::codes::Code;
use crate::config::{Origin, keys};
use crate::diagnostic::Diagnostic;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

impl LayerReader<'_> {
    pub(super) fn agents(&mut self) -> &mut Overrides {
        let none = || Overrides::none(self.scope, self.file);
        self.layer.agents.get_or_insert_with(none)
    }

    pub(super) fn agent(&mut self, name: &Spanned<DeString<'_>>, value: Item<'_, '_>) {
        let path = format!("agents.overrides.{}", name.get_ref());
        let node = self.node(value, 0);
        let Some(entries) = node.as_map() else {
            let message = format!("`{path}` must be a table; no run of it is started until it is");
            self.report(Code::SettingsRestriction, message, &name.span());
            if let Some(finding) = self.diagnostics.last_mut() {
                finding.names = vec![name.get_ref().to_string()];
            }
            return;
        };
        let mut faults = Vec::new();
        let told = |entry: &YamlEntry, fault| faults.push((entry.clone(), fault));
        let fields = overrides::read_fields(entries, FieldSpelling::Config, self.file, told);
        for (entry, fault) in faults {
            let path = format!("{path}.{}", entry.key);
            let (code, message) = match fault {
                OverrideFault::Unknown if OverrideFault::loses_restriction(&entry.key) => (
                    Code::SettingsRestriction,
                    format!("unknown key `{path}`, which may be meant to restrict the agent"),
                ),
                OverrideFault::Unknown => (Code::ConfigUnknownKey, format!("unknown key `{path}`")),
                OverrideFault::Kind(field) => (
                    Code::ConfigValue,
                    format!(
                        "`{path}` must be {}; {}",
                        field.override_takes(),
                        OverrideFault::outcome(field)
                    ),
                ),
            };
            let mut finding = Diagnostic::new(code, message)
                .in_file(self.file)
                .with_names(vec![name.get_ref().to_string()]);
            if let Some(meant) =
                keys::nearest_key(&path).filter(|_| matches!(fault, OverrideFault::Unknown))
            {
                finding = finding.with_help(format!("did you mean `{meant}`?"));
            }
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

    fn node(&self, value: Item<'_, '_>, depth: usize) -> YamlNode {
        let position = self.position(&value.span());
        // No field takes a mapping, so an empty one stands for every value that no field takes.
        let nothing = YamlValue::Map(Vec::new());
        let inner = match value.get_ref() {
            DeValue::String(text) => return YamlNode::text(text.to_string(), position),
            DeValue::Boolean(flag) => return YamlNode::plain(flag.to_string(), position),
            DeValue::Integer(number) => {
                match u64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => return YamlNode::plain(number.to_string(), position),
                    Err(_) => nothing,
                }
            }
            // No field that can be overridden takes one of these, or a value nested deeper.
            DeValue::Float(_) | DeValue::Datetime(_) => nothing,
            _ if depth > 2 => nothing,
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.node(item, depth + 1));
                YamlValue::List(items.collect())
            }
            DeValue::Table(table) => {
                let entries = table.iter().map(|(key, value)| YamlEntry {
                    key: key.get_ref().to_string().into(),
                    position: self.position(&key.span()),
                    value: self.node(value, depth + 1),
                });
                YamlValue::Map(entries.collect())
            }
        };
        YamlNode::new(inner, position)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;
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
                ("settings-restriction", 8),
                ("settings-restriction", 10)
            ]
        );
        let (layer, _) = parse(text, LayerScope::User, Path::new("c"));
        let agents = layer.agents.unwrap();
        assert_eq!(
            agents.disable_builtins.map(|(flag, at)| (flag, at.line)),
            Some((true, 2))
        );
        let fields = agents.agents.iter().flat_map(|agent| &agent.fields);
        let mut changes: Vec<(u32, &str, String)> = fields
            .map(|set| {
                (
                    set.origin.line,
                    set.change.field().as_str(),
                    set.change.value().to_string(),
                )
            })
            .collect();
        changes.sort_unstable();
        let expected = [
            (4, "model", "\"m\""),
            (5, "tools", "[]"),
            (6, "maxTokens", "1000"),
            (7, "skills", "[]"),
            (11, "disabled", "true"),
        ];
        assert_eq!(
            changes,
            expected.map(|(line, key, value)| (line, key, value.to_owned()))
        );
        assert_eq!(
            findings("agents = 1\n", LayerScope::User),
            [("settings-restriction", 1)]
        );
    }
}
