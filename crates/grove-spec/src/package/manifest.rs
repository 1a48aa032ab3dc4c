//! Manifests: `package.json`, `.claude-plugin/plugin.json` and the `plugin.json` of Agent Plugins.

use std::collections::BTreeSet;

use super::agent_plugin;
use super::choice::{SkillChoice, folder_of_pattern};
use super::paths::{PathRefusal, path_below};
use super::source::is_package_name;
use crate::agent::{self, AgentFormat};
use crate::chain;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json::{self, kind_of, text_of};
use crate::text::one_line;
use crate::wildcard::Wildcard;
use crate::yaml::{YamlNode, YamlValue};

/// The most paths of one list that are read.
pub const MAX_PATHS: usize = 64;

/// A file in which a package lists what it provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestFile {
    /// `package.json`, the manifest of npm.
    Npm,
    /// `.claude-plugin/plugin.json`, the manifest of Claude Code.
    Claude,
    /// `plugin.json` with the schema of Agent Plugins.
    AgentPlugin,
}

impl ManifestFile {
    /// All of them, in the order in which they are read; the first that lists anything counts for the package.
    pub const ALL: [Self; 3] = [Self::Npm, Self::Claude, Self::AgentPlugin];

    /// Returns its path below the package.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Npm => "package.json",
            Self::Claude => ".claude-plugin/plugin.json",
            Self::AgentPlugin => "plugin.json",
        }
    }
}

/// The kinds of things that a package can provide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// Folders of skills, or single skill files.
    Skills,
    /// Folders of agents, or single agent files.
    Agents,
    /// Folders of chains, or single chain files.
    Chains,
}

impl EntryKind {
    /// All kinds, in a fixed order.
    pub const ALL: [Self; 3] = [Self::Skills, Self::Agents, Self::Chains];

    /// Returns the word for the kind, which is also the key and the folder's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Agents => "agents",
            Self::Chains => "chains",
        }
    }

    /// Returns the word for one of the kind.
    pub fn noun(self) -> &'static str {
        self.word().trim_end_matches('s')
    }

    /// Returns true if a file of this name can be listed among folders of this kind.
    pub fn takes_file(self, file_name: &str) -> bool {
        match self {
            Self::Skills => file_name
                .strip_suffix(".md")
                .is_some_and(|stem| !stem.is_empty()),
            Self::Agents => agent::naming::is_agent_file(file_name),
            Self::Chains => chain::naming::is_chain_file(file_name),
        }
    }
}

/// A folder or a file that a package provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvidedPath {
    /// The kind of its contents.
    pub kind: EntryKind,
    /// Its path below the package; empty for the package itself.
    pub path: String,
    /// The format of the agents in it.
    pub format: AgentFormat,
    /// Set if its absence is a finding, which is not so for a plugin's usual folders.
    pub is_named: bool,
    /// Set if only folders directly in it count.
    pub is_flat: bool,
    /// The pattern for its contents, if the manifest has a pattern in place of the folder.
    pub pattern: Option<Wildcard>,
    /// The position in the manifest.
    pub position: Option<Position>,
}

/// The contents of a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The name of the package.
    pub name: Option<String>,
    file: Option<ManifestFile>,
    /// The folders and files, in order, each once.
    pub provided: Vec<ProvidedPath>,
    /// Set if it has anything about contents for Grove, even an empty list or a fault.
    pub has_contents: bool,
    /// Set if it has an object for pi; then no folder counts only by its usual name.
    pub has_pi: bool,
    /// Set if it has a list of skills, even an empty one.
    lists_skills: bool,
    /// The rules that choose among its skills.
    pub choice: SkillChoice,
    /// Findings about the manifest.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns true if a `package.json` may have anything for Grove. In a folder with thousands of packages hardly one
/// does, and a search for a word is cheaper than reading.
pub fn may_concern_grove(bytes: &[u8]) -> bool {
    [&b"\"pi\""[..], b"\"pi-subagents\"", b"\"grove\""]
        .iter()
        .any(|word| memchr::memmem::find(bytes, word).is_some())
}

/// The packages that a `package.json` depends on, sorted, each once; invalid names are left out. Nothing if it is not JSON.
pub fn dependencies(bytes: &[u8]) -> Option<Vec<String>> {
    const MAPS: [&str; 4] = [
        "dependencies",
        "devDependencies",
        "optionalDependencies",
        "peerDependencies",
    ];
    let document = json::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    let maps = MAPS
        .iter()
        .filter_map(|key| document.node.get(key)?.as_map());
    let names: BTreeSet<String> = maps
        .flatten()
        .map(|entry| entry.key.to_string())
        .filter(|name| is_package_name(name))
        .collect();
    Some(names.into_iter().collect())
}

impl Manifest {
    /// Reads a manifest from its bytes.
    pub fn read(bytes: &[u8], file: ManifestFile) -> Self {
        let mut manifest = Self {
            file: Some(file),
            ..Self::default()
        };
        let document = std::str::from_utf8(bytes)
            .map_err(|_| ("it is not UTF-8".to_owned(), Position::new(1, 1)))
            .and_then(|text| json::parse(text).map_err(|fault| (fault.message, fault.position)));
        let document = match document {
            Ok(document) => document,
            Err((message, position)) => {
                manifest.has_contents = true;
                manifest.complain(position, format!("the manifest is not JSON: {message}"));
                return manifest;
            }
        };
        let node = &document.node;
        if node.as_map().is_none() {
            let message = format!("the manifest is {}, not an object", kind_of(node));
            manifest.has_contents = true;
            manifest.complain(node.position, message);
            return manifest;
        }
        manifest.name = node.get("name").and_then(text_of).map(one_line);
        match file {
            ManifestFile::Npm => manifest.npm(node),
            ManifestFile::Claude => manifest.claude(node),
            ManifestFile::AgentPlugin => manifest.agent_plugin(node),
        }
        manifest
    }

    fn npm(&mut self, node: &YamlNode) {
        for kind in [EntryKind::Agents, EntryKind::Chains, EntryKind::Skills] {
            self.list(node, &["grove"], kind);
        }
        for kind in [EntryKind::Agents, EntryKind::Chains] {
            self.list(node, &["pi-subagents"], kind);
            self.list(node, &["pi", "subagents"], kind);
        }
        self.list(node, &["pi"], EntryKind::Skills);
        self.has_pi = node.get("pi").is_some_and(|pi| pi.as_map().is_some());
    }

    /// Adds the usual folder of skills, unless the manifest lists skills.
    pub fn add_usual_skills(&mut self) {
        if !self.lists_skills {
            self.add(
                EntryKind::Skills,
                EntryKind::Skills.word().to_owned(),
                None,
                None,
            );
        }
    }

    /// Adds a plugin's usual folders, and those that it names beside them.
    fn claude(&mut self, node: &YamlNode) {
        self.has_contents = true;
        for kind in [EntryKind::Skills, EntryKind::Agents] {
            self.add(kind, kind.word().to_owned(), None, None);
            self.list(node, &[], kind);
        }
        for given in &mut self.provided {
            given.format = AgentFormat::Claude;
        }
    }

    /// Adds the skills directly in `skills`, unless the manifest refuses the plugin.
    fn agent_plugin(&mut self, node: &YamlNode) {
        let Some(judged) = agent_plugin::judge(node) else {
            return;
        };
        self.has_contents = true;
        let is_refused = !judged.refusals.is_empty();
        for (position, message) in judged.refusals {
            self.complain(position, format!("the plugin is not used: {message}"));
        }
        for (position, message) in judged.ignored {
            self.complain(position, message);
        }
        if is_refused {
            return;
        }
        self.add(
            EntryKind::Skills,
            EntryKind::Skills.word().to_owned(),
            None,
            None,
        );
        for given in &mut self.provided {
            given.is_flat = true;
        }
    }

    /// Reads one list of paths: `<objects…>.<kind>`.
    fn list(&mut self, node: &YamlNode, objects: &[&str], kind: EntryKind) {
        let (mut inner, mut path) = (node, String::new());
        for object in objects {
            let Some(next) = inner.get(object) else {
                return;
            };
            path = format!("{path}{object}.");
            if next.as_map().is_none() {
                self.has_contents = true;
                let key = path.trim_end_matches('.');
                let message = format!("`{key}` is {}, not an object", kind_of(next));
                self.complain(next.position, message);
                return;
            }
            inner = next;
        }
        let Some(value) = inner.get(kind.word()) else {
            return;
        };
        self.has_contents = true;
        self.lists_skills |= kind == EntryKind::Skills;
        let key = format!("{path}{}", kind.word());
        match &value.value {
            YamlValue::List(items) => self.paths(items, kind, &key, value.position),
            YamlValue::Text(_) if text_of(value).is_some() => {
                self.paths(std::slice::from_ref(value), kind, &key, value.position);
            }
            _ => {
                let message = format!("`{key}` is {}, not a list of paths", kind_of(value));
                self.complain(value.position, message);
            }
        }
    }

    fn paths(&mut self, items: &[YamlNode], kind: EntryKind, key: &str, position: Position) {
        let mut unreadable = Vec::new();
        for item in items.iter().take(MAX_PATHS) {
            let Some(text) = text_of(item).filter(|text| !text.trim().is_empty()) else {
                unreadable.push(kind_of(item).to_owned());
                continue;
            };
            let text = text.trim();
            if self.file == Some(ManifestFile::Npm)
                && kind == EntryKind::Skills
                && text.starts_with(['!', '+', '-'])
            {
                if let Err(why) = self.choice.add(text) {
                    let message = format!("`{key}` has `{}`, which {why}", one_line(text));
                    self.complain(item.position, message);
                }
                continue;
            }
            match path_below(text) {
                Ok(path) => self.named(kind, path, key, item.position),
                Err(PathRefusal::Leaves) => {
                    let message = format!("`{key}` names `{}`, out of the package", one_line(text));
                    let help = "name a folder in the package";
                    let finding = Diagnostic::new(Code::PathEscape, message).with_help(help);
                    self.diagnostics.push(finding.at(item.position));
                }
                Err(PathRefusal::Unprintable) => unreadable.push(one_line(text)),
                Err(PathRefusal::Foreign) => {
                    let name = one_line(text);
                    let message = format!("`{key}` names `{name}`, a folder of git or npm");
                    self.complain(item.position, message);
                }
            }
        }
        if !unreadable.is_empty() {
            let message = format!(
                "not every value in `{key}` is a path: {}",
                crate::text::first_names(&unreadable)
            );
            self.complain(position, message);
        }
        if items.len() > MAX_PATHS {
            let message = format!(
                "`{key}` has {} paths; the first {MAX_PATHS} are looked at",
                items.len()
            );
            let finding = Diagnostic::new(Code::PackageLimit, message);
            self.diagnostics.push(finding.at(position));
        }
    }

    /// Adds a path, or the folder of a pattern: skills are chosen by patterns, as pi does it.
    fn named(&mut self, kind: EntryKind, path: String, key: &str, position: Position) {
        let is_chosen = self.file == Some(ManifestFile::Npm) && kind == EntryKind::Skills;
        let Some(folder) = folder_of_pattern(&path).filter(|_| is_chosen) else {
            return self.add(kind, path, Some(position), None);
        };
        match Wildcard::parse(&path) {
            Ok(pattern) => self.add(kind, folder, Some(position), Some(pattern)),
            Err(why) => {
                let message = format!("`{key}` has `{}`, which {why}", one_line(&path));
                self.complain(position, message);
            }
        }
    }

    fn add(
        &mut self,
        kind: EntryKind,
        path: String,
        position: Option<Position>,
        pattern: Option<Wildcard>,
    ) {
        self.has_contents = true;
        let mut known = self.provided.iter();
        let is_same = |given: &ProvidedPath| {
            given.kind == kind && given.path == path && given.pattern == pattern
        };
        if known.any(is_same) {
            return;
        }
        self.provided.push(ProvidedPath {
            kind,
            path,
            format: AgentFormat::Native,
            is_named: position.is_some(),
            is_flat: false,
            pattern,
            position,
        });
    }

    fn complain(&mut self, position: Position, message: impl Into<String>) {
        let finding = Diagnostic::new(Code::PackageManifest, message).at(position);
        // Several lists look for the same object, and its fault is reported once.
        if !self.diagnostics.contains(&finding) {
            self.diagnostics.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(manifest: &Manifest) -> Vec<(&'static str, &str)> {
        let all = manifest.provided.iter();
        all.map(|given| (given.kind.word(), given.path.as_str()))
            .collect()
    }

    fn codes(manifest: &Manifest) -> Vec<&'static str> {
        let all = manifest.diagnostics.iter();
        all.map(|finding| finding.code.as_str()).collect()
    }

    fn npm(value: &serde_json::Value) -> Manifest {
        Manifest::read(value.to_string().as_bytes(), ManifestFile::Npm)
    }

    #[test]
    fn every_key_of_a_package_json() {
        let manifest = npm(&json!({
            "name": "p",
            "pi-subagents": {"agents": ["./agents"], "chains": ["chains"]},
            "pi": {"subagents": {"agents": ["agents", "more"], "chains": []}, "skills": ["skills"]},
            "grove": {"agents": ["own"], "chains": "own-chains", "skills": ["./own-skills/"]},
        }));
        assert_eq!(
            given(&manifest),
            [
                ("agents", "own"),
                ("chains", "own-chains"),
                ("skills", "own-skills"),
                ("agents", "agents"),
                ("agents", "more"),
                ("chains", "chains"),
                ("skills", "skills"),
            ]
        );
        assert_eq!(codes(&manifest), [""; 0]);
        assert_eq!(manifest.name.as_deref(), Some("p"));
        let other = npm(&json!({"name": "p", "dependencies": {"pi": "1"}}));
        assert!(!other.has_contents && other.provided.is_empty());
    }

    #[test]
    fn each_bad_field_is_said_once_and_the_rest_is_used() {
        for (value, expected, paths) in [
            (json!({"pi": [1]}), vec!["package-manifest"], 0),
            (json!({"pi": {"skills": 42}}), vec!["package-manifest"], 0),
            (
                json!({"pi": {"subagents": {"agents": [["x"], {"a": 1}, null, "a\0b", "", "good"]}}}),
                vec!["package-manifest"],
                1,
            ),
            (
                json!({"pi": {"subagents": {"chains": {"x": "y"}}}, "grove": {"skills": ["s"]}}),
                vec!["package-manifest"],
                1,
            ),
            (
                json!({"grove": {"agents": ["../out", "/etc", "in", "a/../../b"]}}),
                vec!["path-escape"; 3],
                1,
            ),
            (
                json!({"grove": {"agents": vec!["same"; MAX_PATHS + 1]}}),
                vec!["package-limit"],
                1,
            ),
        ] {
            let manifest = npm(&value);
            assert_eq!(codes(&manifest), expected, "{value}");
            assert_eq!(manifest.provided.len(), paths, "{value}");
        }
        for broken in [&b"{\"name\":\"x\", \"pi\": {"[..], b"[]", b"\xff", b""] {
            let manifest = Manifest::read(broken, ManifestFile::Npm);
            assert_eq!(codes(&manifest), ["package-manifest"]);
            let message = &manifest.diagnostics[0].message;
            assert_eq!(message.contains("not JSON"), broken != b"[]", "{message}");
        }
        let deep = format!("{{\"pi\":{}", "[".repeat(100_000));
        assert_eq!(
            codes(&Manifest::read(deep.as_bytes(), ManifestFile::Npm)),
            ["package-manifest"]
        );
    }

    #[test]
    fn what_a_package_depends_on_is_names_and_nothing_else() {
        for (text, expected) in [
            ("{}", Some(&[][..])),
            ("no", None),
            ("{\"dependencies\": {\"a\": 1},", None),
            ("{\"dependencies\": [\"a\"]}", Some(&[])),
            (
                "{\"devDependencies\": {\"@s/b\": 1, \"a\": \"*\"}, \"dependencies\": {\"a\": \"1\", \"../x\": \"1\", \"-x\": \"\"}}",
                Some(&["@s/b", "a"]),
            ),
        ] {
            let found = dependencies(text.as_bytes());
            assert_eq!(found.is_some(), expected.is_some(), "{text}");
            assert_eq!(
                found.unwrap_or_default(),
                expected.unwrap_or_default(),
                "{text}"
            );
        }
    }

    #[test]
    fn plugins_have_usual_folders() {
        let text = json!({"name": "p", "agents": "./team", "skills": ["skills", "more"]});
        let manifest = Manifest::read(text.to_string().as_bytes(), ManifestFile::Claude);
        let formats: Vec<AgentFormat> =
            manifest.provided.iter().map(|given| given.format).collect();
        assert_eq!(formats, [AgentFormat::Claude; 4]);
        assert_eq!(
            given(&manifest),
            [
                ("skills", "skills"),
                ("skills", "more"),
                ("agents", "agents"),
                ("agents", "team")
            ]
        );
        let plugin = |schema: &str| {
            let text = json!({"$schema": schema, "name": "p", "skills": ["ignored"]});
            Manifest::read(text.to_string().as_bytes(), ManifestFile::AgentPlugin)
        };
        let known = plugin("https://agent-plugins.org/schemas/1.0.0/plugin.schema.json");
        assert_eq!(given(&known), [("skills", "skills")]);
        assert!(known.provided[0].is_flat);
        assert_eq!(
            codes(&known),
            ["package-manifest"],
            "a field that is not known is said"
        );
        let nameless =
            json!({"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"});
        let nameless = Manifest::read(nameless.to_string().as_bytes(), ManifestFile::AgentPlugin);
        assert_eq!(codes(&nameless), ["package-manifest"]);
        assert!(nameless.has_contents && nameless.provided.is_empty());
        let later = plugin("https://agent-plugins.org/schemas/9.0.0/plugin.schema.json");
        assert_eq!(codes(&later), ["package-manifest"]);
        assert!(!plugin("https://example.org/other").has_contents);
    }

    #[test]
    fn a_manifest_that_says_nothing_here_is_told_by_its_words() {
        for (text, expected) in [
            ("{\"name\":\"left-pad\"}", false),
            ("{\"pi\":{}}", true),
            ("{\"pi-subagents\":{}}", true),
            ("{\"grove\":{}}", true),
        ] {
            assert_eq!(may_concern_grove(text.as_bytes()), expected, "{text}");
        }
    }
}
