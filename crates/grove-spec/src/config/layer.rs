//! One `config.toml` read into a layer.

mod agents;
mod mcp_servers;
mod providers;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, ConfigLayer};
use super::kinds::{ConfigKind, UseSwitch};
use super::{KeyLines, LayerScope, Origin, SkillEntry, Sourced};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::skill::body::position_of;
use crate::variables::is_refused;

/// Reads one file. A syntax error loses the lines the TOML parser cannot recover, never more.
pub fn parse(text: &str, scope: LayerScope, file: &Path) -> (ConfigLayer, Vec<Diagnostic>) {
    let mut reader = LayerReader {
        text,
        scope,
        file,
        layer: ConfigLayer::default(),
        diagnostics: Vec::new(),
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let finding = Diagnostic::new(Code::ConfigSyntax, error.message().to_owned()).in_file(file);
        let place = error.span().map(|span| reader.position(&span));
        reader.diagnostics.push(finding.at(place));
    }
    reader.table(table.get_ref(), "");
    // Findings about a broken line are dropped, since its key and value are not what the author meant.
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
    // The table is sorted by key, but people read a file from its top.
    reader
        .diagnostics
        .sort_by_key(|finding| finding.position.map(|at| at.line));
    (reader.layer, reader.diagnostics)
}

pub(super) struct KeyAndValue<'a, 'i> {
    pub(super) path: &'a str,
    span: &'a Range<usize>,
    value: Item<'a, 'i>,
}

pub(super) struct LayerReader<'a> {
    text: &'a str,
    scope: LayerScope,
    file: &'a Path,
    layer: ConfigLayer,
    diagnostics: Vec<Diagnostic>,
}

/// Tables whose keys are rows of the table of keys.
const TABLES: [&str; 8] = [
    "limits",
    "catalog",
    "skills",
    "agents",
    "runs",
    "runs.attention",
    "runs.chain",
    "runs.chain.dynamicFanout",
];

type Item<'a, 'i> = &'a Spanned<DeValue<'i>>;

impl LayerReader<'_> {
    fn table(&mut self, table: &DeTable<'_>, prefix: &str) {
        for (key, value) in table {
            let path = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            match (path.as_str(), value.get_ref()) {
                // Other programs have the same setting as `parallel.concurrency`.
                ("runs.parallel", DeValue::Table(inner)) => self.table(inner, "runs"),
                (name, DeValue::Table(inner)) if TABLES.contains(&name) => {
                    self.table(inner, &path);
                }
                ("skills.entries", DeValue::Table(inner)) => {
                    for (name, entry) in inner {
                        self.entry(name.get_ref(), entry);
                    }
                }
                ("providers", DeValue::Table(inner)) => {
                    for (name, provider) in inner {
                        self.provider(name, provider);
                    }
                }
                ("mcp", DeValue::Table(inner)) => {
                    for (name, server) in inner {
                        self.mcp_server(name, server);
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
        let key = KeyAndValue { path, span, value };
        match path {
            "agents.disable_builtins" => {
                if let Some(flag) = self.read::<UseSwitch>(&key)
                    && let Some(origin) = flag.origin
                {
                    // Unlike for other switches, the strictest reading of this one is true.
                    let is_on = flag.value || value.get_ref().as_bool().is_none();
                    self.agents().disable_builtins = Some((is_on, origin));
                }
            }
            "skills.entries" | "agents.overrides" | "runs.parallel" | "providers" | "mcp" => {
                self.wrong(path, span, "a table");
            }
            _ if TABLES.contains(&path) => self.wrong(path, span, "a table"),
            _ => {
                let mut layer = std::mem::take(&mut self.layer);
                if !layer.take(&key, self) {
                    self.unknown(path, span);
                }
                self.layer = layer;
            }
        }
    }

    /// Reads the value of a key; one of the wrong kind, or one that a project may not set, is a finding.
    pub(super) fn read<K: ConfigKind>(
        &mut self,
        key: &KeyAndValue<'_, '_>,
    ) -> Option<Sourced<K::Value>> {
        if self.scope == LayerScope::Project && !K::MAY_NARROW {
            self.forbidden(key.path, key.span);
            return None;
        }
        let value = K::read(key.value.get_ref()).or_else(|| {
            let strictest = K::strictest();
            let (code, outcome) = match &strictest {
                Some(_) => (Code::ConfigValue, "the strictest reading is used"),
                None if K::LIMITS_RUNS => {
                    let outcome = "no run is started until it is";
                    (Code::SettingsRestriction, outcome)
                }
                None => (Code::ConfigValue, "it was not used"),
            };
            let message = format!("`{}` must be {}; {outcome}", key.path, K::MUST_BE);
            self.report(code, message, key.span);
            strictest
        })?;
        Some(self.sourced(value, key.span))
    }

    fn entry(&mut self, name: &str, value: Item<'_, '_>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(&format!("skills.entries.{name}"), &value.span(), "a table");
        };
        let mut entry = SkillEntry::default();
        for (key, value) in table {
            let path = format!("skills.entries.{name}.{}", key.get_ref());
            let documented = format!("skills.entries.KEY.{}", key.get_ref());
            if self.scope == LayerScope::Project && keys::is_of_user(&documented) {
                self.forbidden(&path, &key.span());
                continue;
            }
            match key.get_ref().as_ref() {
                "enabled" => {
                    let (path, span) = (path.as_str(), &key.span());
                    entry.enabled = self.read::<UseSwitch>(&KeyAndValue { path, span, value });
                }
                "api_key" => match value.get_ref().as_str() {
                    Some(text) => entry.api_key = Some(text.to_owned()),
                    None => self.wrong(&path, &key.span(), "text"),
                },
                "project" => match value.get_ref().as_bool() {
                    Some(may_have) => entry.project = may_have,
                    None => self.wrong(&path, &key.span(), "true or false"),
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
            let path = format!("{path}.{}", name.get_ref());
            match value.get_ref().as_str() {
                _ if is_refused(name.get_ref()) => {
                    let wanted = "a variable that does not make programs load or run other code";
                    self.wrong(&path, &name.span(), wanted);
                }
                Some(text) => {
                    env.insert(name.get_ref().to_string(), text.to_owned());
                }
                None => self.wrong(&path, &name.span(), "text"),
            }
        }
    }

    fn forbidden(&mut self, path: &str, span: &Range<usize>) {
        let message = format!("a project may not set `{path}`");
        self.report(Code::ConfigForbidden, message, span);
    }

    fn unknown(&mut self, path: &str, span: &Range<usize>) {
        let meant = keys::nearest_key(path).or_else(|| keys::nearest_run_key(path));
        let message = format!("unknown key `{path}`");
        if is_of_runs(path) || meant.as_deref().is_some_and(is_of_runs) {
            let message = format!("{message}, which may be meant as a limit of runs");
            self.report(Code::SettingsRestriction, message, span);
        } else {
            self.report(Code::ConfigUnknownKey, message, span);
        }
        if let (Some(meant), Some(finding)) = (meant, self.diagnostics.last_mut()) {
            finding.help = Some(format!("did you mean `{meant}`?"));
        }
    }

    fn wrong(&mut self, path: &str, span: &Range<usize>, wanted: &str) {
        if is_of_runs(path) || path == "agents.overrides" || path == "agents" {
            let message = format!("`{path}` must be {wanted}; no run is started until it is");
            return self.report(Code::SettingsRestriction, message, span);
        }
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

    fn lines(&self, table: &DeTable<'_>) -> KeyLines {
        let keys = table.iter().map(|(key, _)| key);
        keys.map(|key| (key.get_ref().to_string(), self.position(&key.span()).line))
            .collect()
    }

    fn position(&self, span: &Range<usize>) -> Position {
        position_of(self.text, span.start)
    }
}

/// Returns true if a key is in the table `runs`, where it may be a limit.
fn is_of_runs(path: &str) -> bool {
    path == "runs" || path.starts_with("runs.")
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
        // The strictest reading counts for keys that restrict.
        assert_eq!(layer.only.map(|found| found.value), Some(Some(Vec::new())));
        assert_eq!((layer.compat_roots, layer.file_bytes), (None, None));
        assert_eq!(
            findings(text, LayerScope::User),
            [
                ("config-value", 1),
                ("config-value", 3),
                ("config-value", 6)
            ]
        );
        let text = "[agents]\ndisable_builtins = 'no'\n[skills.entries.a]\nenabled = 'fals'\n";
        let (layer, _) = parse(text, LayerScope::User, Path::new("config.toml"));
        let enabled = layer.entries["a"].enabled.as_ref();
        assert_eq!(enabled.map(|found| found.value), Some(false));
        let disabled = layer.agents.and_then(|agents| agents.disable_builtins);
        assert_eq!(disabled.map(|(flag, _)| flag), Some(true));
        assert_eq!(
            findings(text, LayerScope::User),
            [("config-value", 2), ("config-value", 4)]
        );
    }

    #[test]
    fn a_limit_of_runs_that_cannot_be_read_is_an_error() {
        for (text, code) in [
            ("[runs]\nmaxTokns = 10\n", "settings-restriction"),
            ("[runs]\nmaxTokens = '10'\n", "settings-restriction"),
            ("[runs]\nmaxTokens = 0\n", "settings-restriction"),
            ("[runs]\nmaxCost = -1\n", "settings-restriction"),
            ("[runs]\nmaxDepth = '0'\n", "settings-restriction"),
            ("[runs]\nconcurrency = 0\n", "settings-restriction"),
            ("[runs]\nbudget = 1\n", "settings-restriction"),
            ("[runs]\nattention.x = 1\n", "settings-restriction"),
            ("[run]\nmaxTokens = 10\n", "settings-restriction"),
            ("maxTokens = 10\n", "settings-restriction"),
            ("runs = 10\n", "settings-restriction"),
            ("runs.chain = 10\n", "settings-restriction"),
            (
                "agents.overrides.x.max_tokns = 10\n",
                "settings-restriction",
            ),
            ("agents.overrides.x = 10\n", "settings-restriction"),
            ("agents.overrides = 10\n", "settings-restriction"),
            ("agents.overrides.x.colour = 10\n", "config-unknown-key"),
            ("[runs]\nmodel = 10\n", "config-value"),
            ("colour = 10\n", "config-unknown-key"),
        ] {
            for scope in [LayerScope::User, LayerScope::Project] {
                let found = findings(text, scope);
                let [(found, _)] = found.as_slice() else {
                    panic!("{text}: {found:?}");
                };
                let forbidden = *found == "config-forbidden" && scope == LayerScope::Project;
                assert!(forbidden || *found == code, "{text}: {found}");
            }
        }
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
