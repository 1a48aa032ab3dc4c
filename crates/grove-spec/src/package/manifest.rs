//! Manifests: `package.json`, `.claude-plugin/plugin.json` and the `plugin.json` of Agent Plugins.

use std::collections::BTreeSet;

use super::agent_plugin;
use super::choice::{Choice, folder_of_pattern};
use super::paths::{PathRefusal, path_below};
use super::source::is_package_name;
use crate::agent::{self, Format};
use crate::chain;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json::{self, kind_of, text_of};
use crate::text::one_line;
use crate::wildcard::Wildcard;
use crate::yaml::{Node, Value};

/// Paths of one list that are looked at.
pub const MAX_PATHS: usize = 64;

/// A file in which a package says what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestFile {
    /// `package.json`.
    Npm,
    /// `.claude-plugin/plugin.json`.
    Claude,
    /// `plugin.json` with the schema of Agent Plugins.
    AgentPlugin,
}

impl ManifestFile {
    /// All, in the order in which they are asked; the first that gives something speaks for the package.
    pub const ALL: [Self; 3] = [Self::Npm, Self::Claude, Self::AgentPlugin];

    /// Its path below the package.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Npm => "package.json",
            Self::Claude => ".claude-plugin/plugin.json",
            Self::AgentPlugin => "plugin.json",
        }
    }
}

/// What a package can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Skills.
    Skills,
    /// Agents.
    Agents,
    /// Chains.
    Chains,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Skills, Self::Agents, Self::Chains];

    /// The word for it, which is also the key and the folder's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Agents => "agents",
            Self::Chains => "chains",
        }
    }

    /// The word for one.
    pub fn noun(self) -> &'static str {
        self.word().trim_end_matches('s')
    }

    /// Whether a file of this name can be named where folders of this kind are.
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

/// A folder or a file that a package gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// What is in it.
    pub kind: Kind,
    /// Its path below the package; empty for the package itself.
    pub path: String,
    /// How agents are written in it.
    pub format: Format,
    /// Whether it is missed when it is not there: a plugin's usual folders are not.
    pub is_named: bool,
    /// Whether only folders that lie directly in it count.
    pub is_flat: bool,
    /// The pattern that leads to what counts in it, where a pattern and not the folder is named.
    pub pattern: Option<Wildcard>,
    /// Where it is named.
    pub position: Option<Position>,
}

/// What a manifest says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The package's name.
    pub name: Option<String>,
    /// The file that was read.
    file: Option<ManifestFile>,
    /// The folders, in order, each once.
    pub given: Vec<Given>,
    /// Whether it says anything about what is given here, also if that is nothing or wrong.
    pub speaks: bool,
    /// Whether there is an object for pi, and so no folder is taken for what it would be without one.
    pub has_pi: bool,
    /// Whether it has a list of skills, be it empty.
    says_skills: bool,
    /// Which of its skills count.
    pub choice: Choice,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether a `package.json` can say anything here. Of the thousands in a folder of packages hardly one does, and
/// looking for a word is cheaper than reading.
pub fn may_speak_of_us(bytes: &[u8]) -> bool {
    [&b"\"pi\""[..], b"\"pi-subagents\"", b"\"grove\""]
        .iter()
        .any(|word| memchr::memmem::find(bytes, word).is_some())
}

/// The packages that a `package.json` depends on, sorted, each once; what is no name is left out. None where it is not
/// JSON.
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
    /// Reads a manifest.
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
                manifest.speaks = true;
                manifest.complain(position, format!("the manifest is not JSON: {message}"));
                return manifest;
            }
        };
        let node = &document.node;
        if node.as_map().is_none() {
            let message = format!("the manifest is {}, not an object", kind_of(node));
            manifest.speaks = true;
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

    fn npm(&mut self, node: &Node) {
        for kind in [Kind::Agents, Kind::Chains, Kind::Skills] {
            self.list(node, &["grove"], kind);
        }
        for kind in [Kind::Agents, Kind::Chains] {
            self.list(node, &["pi-subagents"], kind);
            self.list(node, &["pi", "subagents"], kind);
        }
        self.list(node, &["pi"], Kind::Skills);
        self.has_pi = node.get("pi").is_some_and(|pi| pi.as_map().is_some());
    }

    /// Adds the folder in which skills usually are, unless the manifest names others.
    pub fn add_usual_skills(&mut self) {
        if !self.says_skills {
            self.add(Kind::Skills, Kind::Skills.word().to_owned(), None, None);
        }
    }

    /// A plugin's own folders, and those it names beside them.
    fn claude(&mut self, node: &Node) {
        self.speaks = true;
        for kind in [Kind::Skills, Kind::Agents] {
            self.add(kind, kind.word().to_owned(), None, None);
            self.list(node, &[], kind);
        }
        for given in &mut self.given {
            given.format = Format::Claude;
        }
    }

    /// The skills directly in `skills`, unless the manifest refuses the plugin.
    fn agent_plugin(&mut self, node: &Node) {
        let Some(judged) = agent_plugin::judge(node) else {
            return;
        };
        self.speaks = true;
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
        self.add(Kind::Skills, Kind::Skills.word().to_owned(), None, None);
        for given in &mut self.given {
            given.is_flat = true;
        }
    }

    /// Reads one list of paths: `<objects…>.<kind>`.
    fn list(&mut self, node: &Node, objects: &[&str], kind: Kind) {
        let (mut inner, mut path) = (node, String::new());
        for object in objects {
            let Some(next) = inner.get(object) else {
                return;
            };
            path = format!("{path}{object}.");
            if next.as_map().is_none() {
                self.speaks = true;
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
        self.speaks = true;
        self.says_skills |= kind == Kind::Skills;
        let key = format!("{path}{}", kind.word());
        match &value.value {
            Value::List(items) => self.paths(items, kind, &key, value.position),
            Value::Text(_) if text_of(value).is_some() => {
                self.paths(std::slice::from_ref(value), kind, &key, value.position);
            }
            _ => {
                let message = format!("`{key}` is {}, not a list of paths", kind_of(value));
                self.complain(value.position, message);
            }
        }
    }

    fn paths(&mut self, items: &[Node], kind: Kind, key: &str, position: Position) {
        let mut unreadable = Vec::new();
        for item in items.iter().take(MAX_PATHS) {
            let Some(text) = text_of(item).filter(|text| !text.trim().is_empty()) else {
                unreadable.push(kind_of(item).to_owned());
                continue;
            };
            let text = text.trim();
            if self.file == Some(ManifestFile::Npm)
                && kind == Kind::Skills
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

    /// Adds a path, or what a pattern leads to: skills are chosen by patterns, as pi does it.
    fn named(&mut self, kind: Kind, path: String, key: &str, position: Position) {
        let is_chosen = self.file == Some(ManifestFile::Npm) && kind == Kind::Skills;
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
        kind: Kind,
        path: String,
        position: Option<Position>,
        pattern: Option<Wildcard>,
    ) {
        self.speaks = true;
        let mut known = self.given.iter();
        let is_same =
            |given: &Given| given.kind == kind && given.path == path && given.pattern == pattern;
        if known.any(is_same) {
            return;
        }
        self.given.push(Given {
            kind,
            path,
            format: Format::Native,
            is_named: position.is_some(),
            is_flat: false,
            pattern,
            position,
        });
    }

    fn complain(&mut self, position: Position, message: impl Into<String>) {
        let finding = Diagnostic::new(Code::PackageManifest, message).at(position);
        // What should be an object is asked for several lists and is one fault all the same.
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
        let all = manifest.given.iter();
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
        assert!(!other.speaks && other.given.is_empty());
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
            assert_eq!(manifest.given.len(), paths, "{value}");
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
        let formats: Vec<Format> = manifest.given.iter().map(|given| given.format).collect();
        assert_eq!(formats, [Format::Claude; 4]);
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
        assert!(known.given[0].is_flat);
        assert_eq!(
            codes(&known),
            ["package-manifest"],
            "a field that is not known is said"
        );
        let nameless =
            json!({"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"});
        let nameless = Manifest::read(nameless.to_string().as_bytes(), ManifestFile::AgentPlugin);
        assert_eq!(codes(&nameless), ["package-manifest"]);
        assert!(nameless.speaks && nameless.given.is_empty());
        let later = plugin("https://agent-plugins.org/schemas/9.0.0/plugin.schema.json");
        assert_eq!(codes(&later), ["package-manifest"]);
        assert!(!plugin("https://example.org/other").speaks);
    }

    #[test]
    fn a_manifest_that_says_nothing_here_is_told_by_its_words() {
        for (text, expected) in [
            ("{\"name\":\"left-pad\"}", false),
            ("{\"pi\":{}}", true),
            ("{\"pi-subagents\":{}}", true),
            ("{\"grove\":{}}", true),
        ] {
            assert_eq!(may_speak_of_us(text.as_bytes()), expected, "{text}");
        }
    }
}
