//! One `config.toml` read into a layer.

mod agents;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{KEYS, LayerScope, Origin, SkillEntry, Sourced};
use crate::agent::overrides::Overrides;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};

/// What one file sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each field is the configuration key of the same name"
)]
pub struct Layer {
    pub compat_roots: Option<Sourced<bool>>,
    pub extra_dirs: Option<Sourced<Vec<String>>>,
    pub packages: Option<Sourced<Vec<String>>>,
    pub candidates_per_root: Option<Sourced<u64>>,
    pub loaded_per_source: Option<Sourced<u64>>,
    pub file_bytes: Option<Sourced<u64>>,
    pub group_depth: Option<Sourced<u64>>,
    pub prompt_skills: Option<Sourced<u64>>,
    pub prompt_chars: Option<Sourced<u64>>,
    pub preload_chars: Option<Sourced<u64>>,
    pub instruction_chars: Option<Sourced<u64>>,
    pub pinned: Option<Sourced<Vec<String>>>,
    pub allow_bundled: Option<Sourced<Vec<String>>>,
    pub only: Option<Sourced<Vec<String>>>,
    pub entries: BTreeMap<String, SkillEntry>,
    /// `agents.disable_builtins` and `agents.overrides`, if the file has any of it.
    pub agents: Option<Overrides>,
}

/// Reads one file. A syntax error loses the lines the TOML parser cannot recover, never more.
pub fn parse(text: &str, scope: LayerScope, file: &Path) -> (Layer, Vec<Diagnostic>) {
    let mut reader = Reader {
        text,
        scope,
        file,
        layer: Layer::default(),
        diagnostics: Vec::new(),
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let finding = Diagnostic::new(Code::ConfigSyntax, error.message().to_owned()).in_file(file);
        reader.diagnostics.push(match error.span() {
            Some(span) => finding.at(reader.position(&span)),
            None => finding,
        });
    }
    reader.table(table.get_ref(), "");
    // What the parser makes of a broken line says nothing about the key that was meant.
    let line_of = |finding: &Diagnostic| finding.position.map(|at| at.line);
    let broken: Vec<_> = reader
        .diagnostics
        .iter()
        .filter(|finding| finding.code == Code::ConfigSyntax)
        .map(line_of)
        .collect();
    reader.diagnostics.retain(|finding| {
        finding.code == Code::ConfigSyntax || !broken.contains(&line_of(finding))
    });
    // The table is sorted by key; people read a file from its top.
    reader
        .diagnostics
        .sort_by_key(|finding| finding.position.map(|at| at.line));
    (reader.layer, reader.diagnostics)
}

struct Reader<'a> {
    text: &'a str,
    scope: LayerScope,
    file: &'a Path,
    layer: Layer,
    diagnostics: Vec<Diagnostic>,
}

type Item<'a, 'i> = &'a Spanned<DeValue<'i>>;

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, prefix: &str) {
        for (key, value) in table {
            let path = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            match (path.as_str(), value.get_ref()) {
                ("limits" | "catalog" | "skills" | "agents", DeValue::Table(inner)) => {
                    self.table(inner, &path);
                }
                ("skills.entries", DeValue::Table(inner)) => {
                    for (name, entry) in inner {
                        self.entry(name.get_ref(), entry);
                    }
                }
                ("agents.overrides", DeValue::Table(inner)) => {
                    for (name, fields) in inner {
                        self.agent(name, fields);
                    }
                }
                _ => self.key(&path, &key.span(), value),
            }
        }
    }

    fn key(&mut self, path: &str, span: &Range<usize>, value: Item<'_, '_>) {
        if !self.permitted(path, path, span) {
            return;
        }
        match path {
            "compat_roots" => self.layer.compat_roots = self.boolean(path, span, value),
            "extra_dirs" => self.layer.extra_dirs = self.names(path, span, value),
            "packages" => self.layer.packages = self.sources(path, span, value),
            "limits.candidates_per_root" => {
                self.layer.candidates_per_root = self.number(path, span, value);
            }
            "limits.loaded_per_source" => {
                self.layer.loaded_per_source = self.number(path, span, value);
            }
            "limits.file_bytes" => self.layer.file_bytes = self.number(path, span, value),
            "limits.group_depth" => self.layer.group_depth = self.number(path, span, value),
            "limits.prompt_skills" => self.layer.prompt_skills = self.number(path, span, value),
            "limits.prompt_chars" => self.layer.prompt_chars = self.number(path, span, value),
            "limits.preload_chars" => self.layer.preload_chars = self.number(path, span, value),
            "limits.instruction_chars" => {
                self.layer.instruction_chars = self.number(path, span, value);
            }
            "catalog.pinned" => self.layer.pinned = self.names(path, span, value),
            "skills.allow_bundled" => self.layer.allow_bundled = self.names(path, span, value),
            "skills.only" => self.layer.only = self.names(path, span, value),
            "agents.disable_builtins" => {
                if let Some(flag) = self.boolean(path, span, value)
                    && let Some(origin) = flag.origin
                {
                    self.agents().disable_builtins = Some((flag.value, origin));
                }
            }
            "limits" | "catalog" | "skills" | "skills.entries" | "agents" | "agents.overrides" => {
                self.wrong(path, span, "a table");
            }
            _ => self.unknown(path, span),
        }
    }

    fn entry(&mut self, name: &str, value: Item<'_, '_>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(&format!("skills.entries.{name}"), &value.span(), "a table");
        };
        let mut entry = SkillEntry::default();
        for (key, value) in table {
            let path = format!("skills.entries.{name}.{}", key.get_ref());
            let documented = format!("skills.entries.KEY.{}", key.get_ref());
            if !self.permitted(&path, &documented, &key.span()) {
                continue;
            }
            match key.get_ref().as_ref() {
                "enabled" => entry.enabled = self.boolean(&path, &key.span(), value),
                "api_key" => match value.get_ref().as_str() {
                    Some(text) => entry.api_key = Some(text.to_owned()),
                    None => self.wrong(&path, &key.span(), "text"),
                },
                "env" => self.environment(&path, &key.span(), value, &mut entry.env),
                "config" => match value.get_ref() {
                    DeValue::Table(config) => set_paths(config, "", 0, &mut entry.config),
                    _ => self.wrong(&path, &key.span(), "a table"),
                },
                _ => self.unknown(&path, &key.span()),
            }
        }
        self.layer.entries.insert(name.to_owned(), entry);
    }

    fn environment(
        &mut self,
        path: &str,
        span: &Range<usize>,
        value: Item<'_, '_>,
        env: &mut BTreeMap<String, String>,
    ) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(path, span, "a table of texts");
        };
        for (name, value) in table {
            match value.get_ref().as_str() {
                Some(text) => {
                    env.insert(name.get_ref().to_string(), text.to_owned());
                }
                None => self.wrong(&format!("{path}.{}", name.get_ref()), &name.span(), "text"),
            }
        }
    }

    fn boolean(
        &mut self,
        path: &str,
        span: &Range<usize>,
        value: Item<'_, '_>,
    ) -> Option<Sourced<bool>> {
        if let DeValue::Boolean(flag) = value.get_ref() {
            Some(self.sourced(*flag, span))
        } else {
            self.wrong(path, span, "true or false");
            None
        }
    }

    fn number(
        &mut self,
        path: &str,
        span: &Range<usize>,
        value: Item<'_, '_>,
    ) -> Option<Sourced<u64>> {
        let number = match value.get_ref() {
            DeValue::Integer(integer) => {
                u64::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => None,
        };
        if number.is_none() {
            self.wrong(path, span, "a whole number from zero");
        }
        number.map(|number| self.sourced(number, span))
    }

    fn names(
        &mut self,
        path: &str,
        span: &Range<usize>,
        value: Item<'_, '_>,
    ) -> Option<Sourced<Vec<String>>> {
        let names: Option<Vec<String>> = match value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect(),
            _ => None,
        };
        if names.is_none() {
            self.wrong(path, span, "a list of texts");
        }
        names.map(|names| self.sourced(names, span))
    }

    /// Packages: their names, alone or as the `source` of a table.
    fn sources(
        &mut self,
        path: &str,
        span: &Range<usize>,
        value: Item<'_, '_>,
    ) -> Option<Sourced<Vec<String>>> {
        let source = |item: &DeValue<'_>| match item {
            DeValue::Table(fields) => {
                let source = fields.get("source")?;
                source.get_ref().as_str().map(str::to_owned)
            }
            other => other.as_str().map(str::to_owned),
        };
        let sources: Option<Vec<String>> = match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| source(item.get_ref())).collect(),
            _ => None,
        };
        if sources.is_none() {
            self.wrong(path, span, "a list of texts, or of tables with a `source`");
        }
        sources.map(|sources| self.sourced(sources, span))
    }

    fn permitted(&mut self, path: &str, documented: &str, span: &Range<usize>) -> bool {
        let forbidden = self.scope == LayerScope::Project
            && KEYS
                .iter()
                .any(|key| key.path == documented && !key.project);
        if forbidden {
            self.report(
                Code::ConfigForbidden,
                format!("a project may not set `{path}`"),
                span,
            );
        }
        !forbidden
    }

    fn unknown(&mut self, path: &str, span: &Range<usize>) {
        self.report(
            Code::ConfigUnknownKey,
            format!("unknown key `{path}`"),
            span,
        );
    }

    fn wrong(&mut self, path: &str, span: &Range<usize>, wanted: &str) {
        self.report(
            Code::ConfigValue,
            format!("`{path}` must be {wanted}; it was not used"),
            span,
        );
    }

    fn report(&mut self, code: Code, message: String, span: &Range<usize>) {
        let finding = Diagnostic::new(code, message)
            .in_file(self.file)
            .at(self.position(span));
        self.diagnostics.push(finding);
    }

    fn sourced<T>(&self, value: T, span: &Range<usize>) -> Sourced<T> {
        Sourced {
            value,
            origin: Some(Origin {
                file: self.file.to_path_buf(),
                line: self.position(span).line,
            }),
        }
    }

    fn position(&self, span: &Range<usize>) -> Position {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |tail| tail.chars().count())
            + 1;
        Position::new(
            u32::try_from(line).unwrap_or(u32::MAX),
            u32::try_from(column).unwrap_or(u32::MAX),
        )
    }
}

/// The dotted paths in a table that are set and not false, blank or zero.
fn set_paths(table: &DeTable<'_>, prefix: &str, depth: usize, paths: &mut Vec<String>) {
    for (key, value) in table {
        let path = if prefix.is_empty() {
            key.get_ref().to_string()
        } else {
            format!("{prefix}.{}", key.get_ref())
        };
        let truthy = match value.get_ref() {
            DeValue::Boolean(flag) => *flag,
            DeValue::String(text) => !text.trim().is_empty(),
            DeValue::Integer(integer) => !integer.as_str().chars().all(|c| c == '0'),
            DeValue::Float(float) => float
                .as_str()
                .parse::<f64>()
                .is_ok_and(|number| number != 0.0),
            DeValue::Table(inner) => {
                if depth < 16 {
                    set_paths(inner, &path, depth + 1, paths);
                }
                true
            }
            DeValue::Array(_) | DeValue::Datetime(_) => true,
        };
        if truthy {
            paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str, scope: LayerScope) -> Vec<(&'static str, u32)> {
        let (_, diagnostics) = parse(text, scope, Path::new("config.toml"));
        diagnostics
            .iter()
            .map(|d| (d.code.as_str(), d.position.map_or(0, |p| p.line)))
            .collect()
    }

    #[test]
    fn packages_are_named_alone_or_as_the_source_of_a_table() {
        for (text, expected) in [
            (
                "packages = ['a', { source = 'npm:b' }]",
                Some(vec!["a", "npm:b"]),
            ),
            ("packages = [{ from = 'b' }]", None),
            ("packages = ['a', 3]", None),
        ] {
            let (layer, findings) = parse(text, LayerScope::User, Path::new("config.toml"));
            let names = layer.packages.map(|found| found.value);
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(
                (names, findings.is_empty()),
                (expected.clone(), expected.is_some())
            );
        }
    }

    #[test]
    fn a_wrong_value_loses_that_key_alone() {
        let text = "compat_roots = 'no'\n[limits]\nfile_bytes = -1\ngroup_depth = 3\n[skills]\nonly = ['a', 1]\n";
        let (layer, _) = parse(text, LayerScope::User, Path::new("config.toml"));
        assert_eq!(layer.group_depth.map(|g| g.value), Some(3));
        assert_eq!(
            (layer.compat_roots, layer.file_bytes, layer.only),
            (None, None, None)
        );
        assert_eq!(
            findings(text, LayerScope::User),
            [
                ("config-value", 1),
                ("config-value", 3),
                ("config-value", 6)
            ]
        );
    }

    #[test]
    fn unknown_and_forbidden_keys_are_named() {
        assert_eq!(
            findings("colour = 1\n[limits]\nx = 1\n", LayerScope::User),
            [("config-unknown-key", 1), ("config-unknown-key", 3)]
        );
        let text = "extra_dirs = ['/x']\n[skills.entries.a]\nenabled = false\nenv = { A = 'b' }\napi_key = 'k'\nconfig = {}\n";
        assert_eq!(findings(text, LayerScope::User), []);
        let forbidden = [
            ("config-forbidden", 1),
            ("config-forbidden", 4),
            ("config-forbidden", 5),
            ("config-forbidden", 6),
        ];
        assert_eq!(findings(text, LayerScope::Project), forbidden);
        let (layer, _) = parse(text, LayerScope::Project, Path::new("c"));
        assert!(
            layer.extra_dirs.is_none()
                && layer.entries["a"].env.is_empty()
                && layer.entries["a"].api_key.is_none()
        );
    }

    #[test]
    fn a_syntax_error_names_its_line_and_keeps_the_rest() {
        let text = "compat_roots = false\nbroken = = 1\n[limits]\ngroup_depth = 2\n";
        assert_eq!(findings(text, LayerScope::User)[0], ("config-syntax", 2));
        let (layer, _) = parse(text, LayerScope::User, Path::new("c"));
        assert_eq!(layer.compat_roots.map(|c| c.value), Some(false));
    }

    #[test]
    fn a_broken_line_is_one_finding() {
        assert_eq!(
            findings("x = [\n", LayerScope::User),
            [("config-syntax", 1)]
        );
    }

    #[test]
    fn set_configuration_paths_are_those_that_are_not_false() {
        let text = "[skills.entries.a.config]\non = true\noff = false\nzero = 0\nblank = ' '\n[skills.entries.a.config.browser]\nenabled = true\n";
        let (layer, _) = parse(text, LayerScope::User, Path::new("c"));
        let mut paths = layer.entries["a"].config.clone();
        paths.sort();
        assert_eq!(paths, ["browser", "browser.enabled", "on"]);
    }
}
