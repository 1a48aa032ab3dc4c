//! The `plugin.json` of Agent Plugins: a closed manifest, and one place for skills that it cannot change.
//!
//! An unknown field is reported and ignored, and so is an `extensions` that is no object; any other fault refuses the
//! plugin as a whole. Schemas are never fetched: the versions with known rules are listed here.

use crate::diagnostic::Position;
use crate::json::{kind_of, text_of};
use crate::text::one_line;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

const SCHEMAS: &str = "https://agent-plugins.org/schemas/";
/// The versions with known rules, by the rest of their identifiers.
const VERSIONS: [(&str, ManifestVersion); 2] = [
    ("1.0.0/plugin.schema.json", ManifestVersion::V1_0),
    ("1.1.0/plugin.schema.json", ManifestVersion::V1_1),
];
const MAX_NAME: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ManifestVersion {
    V1_0,
    V1_1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldShape {
    Text,
    Texts,
    Author,
    /// An object; any other value is ignored.
    Extensions,
}

/// The fields beside `$schema` and `name`, each with the version that introduced it.
const FIELDS: [(&str, FieldShape, ManifestVersion); 10] = [
    ("version", FieldShape::Text, ManifestVersion::V1_0),
    ("description", FieldShape::Text, ManifestVersion::V1_0),
    ("author", FieldShape::Author, ManifestVersion::V1_0),
    ("homepage", FieldShape::Text, ManifestVersion::V1_0),
    ("repository", FieldShape::Text, ManifestVersion::V1_0),
    ("license", FieldShape::Text, ManifestVersion::V1_0),
    ("keywords", FieldShape::Texts, ManifestVersion::V1_0),
    ("extensions", FieldShape::Extensions, ManifestVersion::V1_0),
    ("displayName", FieldShape::Text, ManifestVersion::V1_1),
    ("icon", FieldShape::Text, ManifestVersion::V1_1),
];

pub(super) type Fault = (Position, String);

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ManifestVerdict {
    /// The faults that keep the plugin from being used; empty if it is used.
    pub(super) refusals: Vec<Fault>,
    pub(super) ignored: Vec<Fault>,
}

/// Judges the manifest of a plugin. Returns nothing for a file without the schema of plugins, since other programs have
/// a file of the same name.
pub(super) fn judge(node: &YamlNode) -> Option<ManifestVerdict> {
    let schema = node.get("$schema")?;
    let named = text_of(schema)?.strip_prefix(SCHEMAS)?;
    let mut judged = ManifestVerdict::default();
    let mut known = VERSIONS.iter();
    let Some((_, version)) = known.find(|(identifier, _)| *identifier == named) else {
        let message = format!(
            "the version `{}` of Agent Plugins is not known",
            one_line(named)
        );
        judged.refusals.push((schema.position, message));
        return Some(judged);
    };
    judged.name(node);
    for entry in node.as_map().unwrap_or_default() {
        judged.field(entry, *version);
    }
    Some(judged)
}

impl ManifestVerdict {
    fn name(&mut self, node: &YamlNode) {
        let fault = match node.get("name") {
            None => Some((node.position, "there is no `name`".to_owned())),
            Some(name) => match text_of(name) {
                Some(text) if is_name(text) => None,
                Some(text) => {
                    let message = format!(
                        "`name` is `{}`: a name has up to {MAX_NAME} small letters, digits, `-` and `.`, begins and ends with a letter or digit, and has no `--` or `..`",
                        one_line(text)
                    );
                    Some((name.position, message))
                }
                None => Some((name.position, not("name", name, "text"))),
            },
        };
        self.refusals.extend(fault);
    }

    fn field(&mut self, entry: &YamlEntry, version: ManifestVersion) {
        let (key, value) = (&*entry.key, &entry.value);
        if matches!(key, "$schema" | "name") {
            return;
        }
        let mut fields = FIELDS.iter();
        let known = fields.find(|(name, _, since)| *name == key && *since <= version);
        match known.map(|(_, shape, _)| shape) {
            None => {
                let message = format!(
                    "`{}` is not a field of a plugin and is ignored",
                    one_line(key)
                );
                self.ignored.push((entry.position, message));
            }
            Some(FieldShape::Text) => {
                if text_of(value).is_none() {
                    self.refusals
                        .push((value.position, not(key, value, "text")));
                }
            }
            Some(FieldShape::Texts) => {
                let is_texts = matches!(&value.value, YamlValue::List(items)
                    if items.iter().all(|item| text_of(item).is_some()));
                if !is_texts {
                    let message = format!("`{key}` is not a list of texts");
                    self.refusals.push((value.position, message));
                }
            }
            Some(FieldShape::Author) => self.refusals.extend(author_fault(value)),
            Some(FieldShape::Extensions) => {
                if value.as_map().is_none() {
                    let message = format!("{}; it is passed over", not(key, value, "an object"));
                    self.ignored.push((value.position, message));
                }
            }
        }
    }
}

fn author_fault(value: &YamlNode) -> Option<Fault> {
    let Some(entries) = value.as_map() else {
        return Some((value.position, not("author", value, "an object")));
    };
    entries.iter().find_map(|entry| {
        let key = one_line(&entry.key);
        if !matches!(&*entry.key, "name" | "email" | "url") {
            let message = format!("`author.{key}` is not a field of an author");
            return Some((entry.position, message));
        }
        let is_text = text_of(&entry.value).is_some();
        let fault = (
            entry.value.position,
            not(&format!("author.{key}"), &entry.value, "text"),
        );
        (!is_text).then_some(fault)
    })
}

fn not(key: &str, value: &YamlNode, wanted: &str) -> String {
    format!("`{key}` is {}, not {wanted}", kind_of(value))
}

fn is_name(name: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=MAX_NAME).contains(&bytes.len())
        && bytes
            .iter()
            .all(|byte| is_end(byte) || matches!(byte, b'-' | b'.'))
        && bytes.first().is_some_and(is_end)
        && bytes.last().is_some_and(is_end)
        && !name.contains("--")
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::json;

    /// The number of faults that refuse a manifest and of those that are ignored; nothing for a file that is no plugin's.
    fn judged(manifest: &Json) -> Option<(usize, usize)> {
        let parsed = json::parse(&manifest.to_string()).unwrap();
        judge(&parsed.node).map(|judged| (judged.refusals.len(), judged.ignored.len()))
    }

    fn with(version: &str, fields: &Json) -> Json {
        let mut manifest = json!({
            "$schema": format!("https://agent-plugins.org/schemas/{version}/plugin.schema.json"),
            "name": "p",
        });
        let all = manifest.as_object_mut().unwrap();
        all.extend(fields.as_object().unwrap().clone());
        manifest
    }

    #[test]
    fn names_as_the_specification_has_them() {
        let long = "a".repeat(MAX_NAME);
        for name in ["my-plugin", "acme.tools", "lint3r", "a", "a.-b", &long] {
            assert!(is_name(name), "{name}");
        }
        let longer = "a".repeat(MAX_NAME + 1);
        for name in [
            "",
            "My-Plugin",
            "-start",
            "end-",
            ".a",
            "a.",
            "has--double",
            "too.many..dots",
            "a b",
            "a_b",
            "ä",
            &longer,
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_manifest_without_a_valid_name_or_with_a_field_of_the_wrong_kind_is_refused() {
        for fields in [
            json!({"name": ""}),
            json!({"name": 1}),
            json!({"name": null}),
            json!({"name": "No"}),
            json!({"version": 1}),
            json!({"description": null}),
            json!({"author": "me"}),
            json!({"author": {"name": 1}}),
            json!({"author": {"phone": "1"}}),
            json!({"homepage": []}),
            json!({"keywords": "a"}),
            json!({"keywords": ["a", 1]}),
        ] {
            assert_eq!(judged(&with("1.0.0", &fields)), Some((1, 0)), "{fields}");
        }
        let mut nameless = with("1.0.0", &json!({}));
        nameless.as_object_mut().unwrap().remove("name");
        assert_eq!(judged(&nameless), Some((1, 0)));
    }

    #[test]
    fn what_is_not_known_is_passed_over_and_said() {
        for (fields, ignored) in [
            (json!({}), 0),
            (json!({"skills": ["x"], "agents": "y"}), 2),
            (json!({"extensions": []}), 1),
            (json!({"extensions": {"com.example": 1}}), 0),
            (
                json!({"version": "soon", "author": {"email": "nowhere"}, "license": "mine", "homepage": "here",
                       "repository": "", "keywords": [], "description": ""}),
                0,
            ),
            // These fields came with a later version.
            (json!({"displayName": "P", "icon": "./p.png"}), 2),
        ] {
            assert_eq!(
                judged(&with("1.0.0", &fields)),
                Some((0, ignored)),
                "{fields}"
            );
        }
        let later = with("1.1.0", &json!({"displayName": "P", "icon": "not a path"}));
        assert_eq!(judged(&later), Some((0, 0)));
        assert_eq!(judged(&with("1.1.0", &json!({"icon": 1}))), Some((1, 0)));
    }

    #[test]
    fn only_versions_that_are_known_by_their_whole_identifier_are_read() {
        assert_eq!(judged(&with("9.0.0", &json!({"odd": 1}))), Some((1, 0)));
        for (schema, expected) in [
            (
                json!("https://agent-plugins.org/schemas/1.0.0/other.json"),
                Some((1, 0)),
            ),
            (json!("https://example.org/plugin.schema.json"), None),
            (json!(1), None),
        ] {
            assert_eq!(
                judged(&json!({"$schema": schema, "name": "p"})),
                expected,
                "{schema}"
            );
        }
        assert_eq!(judged(&json!({"name": "p"})), None);
    }
}
