//! The providers of models in a configuration.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::super::kinds::{ConfigKind, Limit, Money, OptionalText, Texts};
use super::{Item, LayerReader};
use crate::config::{KeyPlace, LayerScope, ModelEntry, ProviderEntry};

const INTERFACES: [&str; 3] = ["anthropic", "openai-responses", "openai-chat"];

impl LayerReader<'_> {
    /// Reads one provider. A provider with any fault is not used at all: without its key, or at another address, it
    /// would be a different one.
    pub(super) fn provider(&mut self, name: &Spanned<DeString<'_>>, value: Item<'_, '_>) {
        let path = format!("providers.{}", name.get_ref());
        if self.scope == LayerScope::Project {
            return self.forbidden(&path, &name.span());
        }
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(&path, &name.span(), "a table");
        };
        let known = self.diagnostics.len();
        let mut entry = ProviderEntry {
            api: String::new(),
            base_url: None,
            key: None,
            models: Vec::new(),
            lines: self.lines(table),
        };
        for (key, value) in table {
            let (path, span) = (format!("{path}.{}", key.get_ref()), key.span());
            let text = || OptionalText::read(value.get_ref()).flatten();
            match key.get_ref().as_ref() {
                "api" => match text().filter(|word| INTERFACES.contains(&word.as_str())) {
                    Some(word) => entry.api = word,
                    None => self.wrong(&path, &span, &format!("one of {}", INTERFACES.join(", "))),
                },
                "base_url" => match text().filter(|text| is_address(text)) {
                    Some(address) => entry.base_url = Some(address),
                    None => self.wrong(&path, &span, ADDRESS),
                },
                "key" => match key_place(value) {
                    Some(place) => entry.key = Some(place),
                    None => self.wrong(
                        &path,
                        &span,
                        "a table with one of `env`, `file` and `command`",
                    ),
                },
                "models" => match models(value.get_ref()) {
                    Some(models) => entry.models = models,
                    None => self.wrong(&path, &span, MODELS),
                },
                _ => self.unknown(&path, &span),
            }
        }
        let is_whole = self.diagnostics.len() == known;
        if is_whole && entry.api.is_empty() {
            return self.wrong(&path, &name.span(), "a table with `api`");
        }
        if is_whole {
            let sourced = self.sourced(entry, &name.span());
            let providers = &mut self.layer.providers;
            providers.insert(name.get_ref().to_string(), sourced);
        }
    }
}

const ADDRESS: &str = "an address of the form `https://host[:port][/path]`";

/// Returns true if a text can be the address of a provider. The code that calls providers splits addresses; an address
/// that is refused here could never be called, or would show a password.
fn is_address(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let is_plain = |c: char| !(c.is_whitespace() || c.is_control() || "@?#".contains(c));
        !rest.is_empty() && !rest.starts_with(['/', ':']) && rest.chars().all(is_plain)
    })
}

const MODELS: &str = "a list of ids, or of tables with `id` and, where known, `context`, `input` and `output` (prices per million tokens), `cached` and `cache_write`";

fn models(value: &DeValue<'_>) -> Option<Vec<ModelEntry>> {
    let items = value.as_array()?.iter();
    items.map(|item| model(item.get_ref())).collect()
}

/// A model by its id, or with its configuration. A price that cannot be read is refused: it could limit no cost.
fn model(value: &DeValue<'_>) -> Option<ModelEntry> {
    let DeValue::Table(table) = value else {
        return Some(ModelEntry {
            id: value.as_str()?.to_owned(),
            ..ModelEntry::default()
        });
    };
    let mut model = ModelEntry::default();
    for (key, value) in table {
        let value = value.get_ref();
        match key.get_ref().as_ref() {
            "id" => model.id = OptionalText::read(value)??,
            "context" => model.context = Some(Limit::read(value)?),
            "input" => model.input = Some(Money::read(value)??),
            "output" => model.output = Some(Money::read(value)??),
            "cached" => model.cached = Some(Money::read(value)??),
            "cache_write" => model.cache_write = Some(Money::read(value)??),
            _ => return None,
        }
    }
    let has_both = model.input.is_some() == model.output.is_some();
    (!model.id.is_empty() && has_both).then_some(model)
}

/// The place of a key: exactly one of the three.
fn key_place(value: Item<'_, '_>) -> Option<KeyPlace> {
    let DeValue::Table(table) = value.get_ref() else {
        return None;
    };
    let (key, value) = only(table)?;
    let text = || OptionalText::read(value).flatten();
    match key {
        "env" => text().map(KeyPlace::Env),
        "file" => text().map(KeyPlace::File),
        "command" => {
            let words = Texts::read(value).or_else(|| text().map(|word| vec![word]))?;
            (!words.is_empty()).then_some(KeyPlace::Command(words))
        }
        _ => None,
    }
}

fn only<'a, 'i>(table: &'a DeTable<'i>) -> Option<(&'a str, &'a DeValue<'i>)> {
    let mut entries = table.iter();
    let (key, value) = entries.next()?;
    let is_alone = entries.next().is_none();
    is_alone.then(|| (key.get_ref().as_ref(), value.get_ref()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;
    use super::*;

    #[test]
    fn a_provider_is_used_whole_or_not_at_all() {
        for (text, expected) in [
            ("api = 'anthropic'", Ok(None)),
            (
                "api = 'openai-chat'\nbase_url = 'http://localhost:1'\nkey = { env = 'K' }\nmodels = ['m']",
                Ok(Some("variable K")),
            ),
            (
                "api = 'anthropic'\nkey = { file = '~/k' }",
                Ok(Some("file ~/k")),
            ),
            (
                "api = 'anthropic'\nkey = { command = ['pass', 'secret'] }",
                Ok(Some("output of pass")),
            ),
            (
                "base_url = 'http://x'",
                Err("`providers.p` must be a table with `api`"),
            ),
            (
                "api = 'anthropic'\nbase_url = 'nonsense'",
                Err("`providers.p.base_url` must be an address"),
            ),
            (
                "api = 'anthropic'\nbase_url = 'https:///v1'",
                Err("`providers.p.base_url` must be an address"),
            ),
            (
                "api = 'anthropic'\nbase_url = 'https://me:sk-1@host'",
                Err("`providers.p.base_url` must be an address"),
            ),
            (
                "api = 'telegraph'",
                Err("`providers.p.api` must be one of anthropic"),
            ),
            (
                "api = 'anthropic'\nkey = 'sk-1'",
                Err("`providers.p.key` must be a table"),
            ),
            (
                "api = 'anthropic'\nkey = { env = 'A', file = 'b' }",
                Err("`providers.p.key` must be a table"),
            ),
            (
                "api = 'anthropic'\nmodel = 'x'",
                Err("unknown key `providers.p.model`"),
            ),
        ] {
            let text = format!("[providers.p]\n{text}\n");
            let (layer, findings) = parse(&text, LayerScope::User, Path::new("c"));
            let provider = layer.providers.get("p").map(|it| &it.value);
            match expected {
                Ok(place) => {
                    let key = provider.unwrap().key.as_ref().map(KeyPlace::shown);
                    assert_eq!(key.as_deref(), place, "{text}");
                    assert!(findings.is_empty(), "{findings:?}");
                }
                Err(message) => {
                    assert!(provider.is_none(), "{text}");
                    assert!(findings[0].message.starts_with(message), "{findings:?}");
                    assert!(!findings[0].message.contains("sk-1"));
                }
            }
        }
        let (layer, findings) = parse(
            "[providers.p]\napi = 'anthropic'\n",
            LayerScope::Project,
            Path::new("c"),
        );
        assert!(layer.providers.is_empty());
        assert_eq!(findings[0].code.as_str(), "config-forbidden");
    }
}
