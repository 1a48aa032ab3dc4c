//! `subagents.modelScope` of pi's settings: the models that the owner of the settings allows subagents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::thinking::LEVELS;
use crate::config::Origin;
use crate::text::one_line;
use crate::yaml::{YamlNode, YamlValue};

/// The entry of a list of models that stands for the parent's model.
const INHERIT: &str = "inherit";
/// A level that pi has beyond those of [`LEVELS`].
const MOST_THINKING: &str = "max";

/// The models that subagents may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelScope {
    /// The place in the settings.
    pub origin: Origin,
    of_all: AllowedModels,
    by_agent: BTreeMap<String, AllowedModels>,
}

/// One list of models. A setting that an agent's list leaves out is taken from the list for all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AllowedModels {
    allow: Option<Vec<String>>,
    enforce: Option<bool>,
    strict: Option<bool>,
}

/// The reason why a scope cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongScope {
    /// The path of the wrong value below the key of the scope.
    pub path: String,
    /// The value that is needed, in words.
    pub expected: &'static str,
}

/// A model that is checked against a scope.
#[derive(Debug, Clone, Copy)]
pub struct ScopedModel<'a> {
    /// The name of the agent.
    pub agent: &'a str,
    /// The model's name, as `provider/id[:thinking]`.
    pub name: &'a str,
    /// The name of the parent's model.
    pub parent: Option<&'a str>,
    /// True if the request names the model; other models are refused by strict scopes only.
    pub is_requested: bool,
}

/// The verdict of a scope on a model, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScopeVerdict {
    /// The model is in the list.
    Allowed,
    /// The model is not in the list, but may be used.
    Outside,
    /// The model is not in the list and may not be used.
    Refused,
}

impl ModelScope {
    /// Reads the value of `subagents.modelScope`.
    pub fn read(node: &YamlNode, origin: Origin) -> Result<Self, WrongScope> {
        let mut scope = Self {
            origin,
            of_all: AllowedModels::read(node, "")?,
            by_agent: BTreeMap::new(),
        };
        if let Some(agents) = node.get("agents") {
            let all = agents.as_map();
            let all = all.ok_or_else(|| wrong(".agents", "an object"))?;
            for entry in all {
                let path = format!(".agents.{}", one_line(&entry.key));
                let list = AllowedModels::read(&entry.value, &path)?;
                scope.by_agent.insert(entry.key.to_string(), list);
            }
        }
        let mut lists = std::iter::once(&scope.of_all).chain(scope.by_agent.values());
        let has_list = lists.any(|list| list.allow.is_some());
        if scope.of_all.enforce == Some(true) && !has_list {
            return Err(wrong(".allow", "a list of models"));
        }
        Ok(scope)
    }

    /// Judges a model: it has to be in the list for all agents and in that of its agent.
    pub fn judge(&self, model: ScopedModel<'_>) -> ScopeVerdict {
        let of_agent = self.by_agent.get(model.agent);
        let lists = [Some(&self.of_all), of_agent].into_iter().flatten();
        let verdicts = lists.map(|list| {
            let enforced = list.enforce.or(self.of_all.enforce) == Some(true);
            let allow = list.allow.as_ref().filter(|_| enforced);
            if allow.is_none_or(|allow| allow.iter().any(|it| fits(it, model))) {
                return ScopeVerdict::Allowed;
            }
            let strict = list.strict.or(self.of_all.strict) == Some(true);
            if strict || model.is_requested {
                ScopeVerdict::Refused
            } else {
                ScopeVerdict::Outside
            }
        });
        verdicts.max().unwrap_or(ScopeVerdict::Allowed)
    }
}

impl AllowedModels {
    fn read(node: &YamlNode, path: &str) -> Result<Self, WrongScope> {
        let entries = node.as_map();
        let entries = entries.ok_or_else(|| wrong(path, "an object"))?;
        let mut list = Self::default();
        for entry in entries {
            let path = format!("{path}.{}", one_line(&entry.key));
            let flag = || super::overrides::switch(&entry.value);
            match entry.key.as_ref() {
                "allow" => {
                    let allow =
                        texts(&entry.value).ok_or_else(|| wrong(&path, "a list of models"))?;
                    list.allow = Some(allow);
                }
                "enforce" => {
                    list.enforce = Some(flag().ok_or_else(|| wrong(&path, "true or false"))?);
                }
                "strict" => {
                    list.strict = Some(flag().ok_or_else(|| wrong(&path, "true or false"))?);
                }
                "agents" => {}
                // An unknown key may be meant to restrict models.
                _ => return Err(wrong(&path, "a key that is known")),
            }
        }
        Ok(list)
    }
}

fn wrong(path: &str, wanted: &'static str) -> WrongScope {
    WrongScope {
        path: path.to_owned(),
        expected: wanted,
    }
}

fn texts(node: &YamlNode) -> Option<Vec<String>> {
    let YamlValue::List(items) = &node.value else {
        return None;
    };
    let texts = items.iter().map(|item| match &item.value {
        YamlValue::Text(scalar) if !scalar.plain => Some(scalar.text.trim().to_owned()),
        _ => None,
    });
    texts.collect()
}

fn fits(pattern: &str, model: ScopedModel<'_>) -> bool {
    let name = without_thinking(model.name);
    if pattern == INHERIT {
        return model.parent.map(without_thinking) == Some(name);
    }
    fits_glob(&pattern.to_lowercase(), &name.to_lowercase())
}

fn without_thinking(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((id, level)) if LEVELS.contains(&level) || level == MOST_THINKING => id,
        _ => name,
    }
}

/// Returns true if a name matches a pattern in which `*` stands for any text.
fn fits_glob(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    let mut ends = ends.filter_map(|at| name.get(at..));
    ends.any(|end| fits_glob(rest, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScopeVerdict::{Allowed, Outside, Refused};

    fn read(text: &str) -> Result<ModelScope, WrongScope> {
        let document = crate::json::parse(text).unwrap();
        let origin = Origin {
            file: "settings.json".into(),
            line: 1,
        };
        ModelScope::read(&document.node, origin)
    }

    #[test]
    fn a_model_has_to_be_in_the_list_for_all_and_in_that_of_its_agent() {
        let lists = r#""allow": ["inherit", "openai/GPT-5-*"], "agents": {
            "worker": { "allow": ["openai/gpt-5-mini"] }, "free": { "enforce": false, "allow": [] } }"#;
        for (rules, agent, name, is_asked, expected) in [
            (
                r#""enforce": true"#,
                "scout",
                "openai/gpt-5-nano",
                true,
                Allowed,
            ),
            (
                r#""enforce": true"#,
                "scout",
                "openai/gpt-5-nano:high",
                true,
                Allowed,
            ),
            (r#""enforce": true"#, "scout", "local/parent", true, Allowed),
            (r#""enforce": true"#, "scout", "local/other", true, Refused),
            (r#""enforce": true"#, "scout", "local/other", false, Outside),
            (r#""enforce": true"#, "scout", "openai/gpt-5", true, Refused),
            (
                r#""enforce": true"#,
                "worker",
                "openai/gpt-5-nano",
                true,
                Refused,
            ),
            (
                r#""enforce": true"#,
                "worker",
                "openai/gpt-5-mini",
                true,
                Allowed,
            ),
            // An agent's list does not weaken the one for all agents.
            (r#""enforce": true"#, "free", "local/other", true, Refused),
            (
                r#""enforce": true, "strict": true"#,
                "scout",
                "local/other",
                false,
                Refused,
            ),
            (
                r#""enforce": true, "strict": true"#,
                "scout",
                "local/parent",
                false,
                Allowed,
            ),
            (r#""enforce": false"#, "scout", "local/other", true, Allowed),
            (r#""strict": true"#, "scout", "local/other", true, Allowed),
        ] {
            let scope = read(&format!("{{ {rules}, {lists} }}")).unwrap();
            let model = ScopedModel {
                agent,
                name,
                parent: Some("local/parent:high"),
                is_requested: is_asked,
            };
            assert_eq!(scope.judge(model), expected, "{rules} {agent} {name}");
        }
        let scope = read(r#"{ "enforce": true, "allow": ["inherit"] }"#).unwrap();
        let without_parent = ScopedModel {
            agent: "scout",
            name: "a/b",
            parent: None,
            is_requested: true,
        };
        assert_eq!(scope.judge(without_parent), Refused);
    }

    #[test]
    fn a_scope_is_read_whole_or_not_at_all() {
        for (text, path) in [
            ("[]", ""),
            (r#"{ "enforce": "yes", "allow": [] }"#, ".enforce"),
            (r#"{ "enforce": true }"#, ".allow"),
            (r#"{ "enforce": true, "allow": "a/*" }"#, ".allow"),
            (r#"{ "enforce": true, "allow": [1] }"#, ".allow"),
            (r#"{ "enforce": true, "alow": ["a/*"] }"#, ".alow"),
            (r#"{ "agents": [] }"#, ".agents"),
            (
                r#"{ "agents": { "x": { "allow": 1 } } }"#,
                ".agents.x.allow",
            ),
        ] {
            let wrong = read(text).map_err(|wrong| wrong.path);
            assert_eq!(wrong, Err(path.to_owned()), "{text}");
        }
        assert!(read(r#"{ "enforce": true, "agents": { "x": { "allow": [] } } }"#).is_ok());
    }
}
