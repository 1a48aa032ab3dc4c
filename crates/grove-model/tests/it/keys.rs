//! Providers, models' names and keys.

use std::collections::BTreeMap;
use std::path::Path;

use grove_model::{KeySource, KnownModel, ModelApi, NoSuchModel, Provider, Providers, Thinking};
use grove_plan::{ModelFacts, Usage};

use crate::world::{KEY, runtime};

fn variables(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    names
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn provider(name: &str, models: &[&str]) -> Provider {
    Provider {
        name: name.to_owned(),
        api: ModelApi::Anthropic,
        base_url: "http://127.0.0.1:1".to_owned(),
        key: None,
        models: models
            .iter()
            .map(|id| KnownModel {
                id: (*id).to_owned(),
                facts: ModelFacts {
                    context: Some(1000),
                    prices: None,
                },
            })
            .collect(),
        families: Vec::new(),
    }
}

#[test]
fn a_name_means_one_model_or_says_why_not() {
    let keys = variables(&[("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)]);
    let anthropic = variables(&[("ANTHROPIC_API_KEY", KEY)]);
    let elsewhere = variables(&[
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
    ]);
    let none = variables(&[]);
    let two = || {
        vec![
            provider("house", &["own-1", "shared", "claude-copy"]),
            provider("other", &["shared"]),
        ]
    };
    let open = || vec![provider("open", &[])];
    for (configured, variables, name, parent, expected) in [
        (
            vec![],
            &keys,
            "anthropic/claude-x",
            None,
            Ok(("anthropic/claude-x", None)),
        ),
        (
            vec![],
            &keys,
            " openai/gpt-9:high ",
            None,
            Ok(("openai/gpt-9", Some(Thinking::High))),
        ),
        (
            vec![],
            &keys,
            "claude-x",
            None,
            Ok(("anthropic/claude-x", None)),
        ),
        (
            vec![],
            &keys,
            "claude-x",
            Some("openai"),
            Ok(("anthropic/claude-x", None)),
        ),
        (
            vec![],
            &keys,
            "llama3:8b",
            None,
            Err("no provider has `llama3:8b`"),
        ),
        (
            vec![],
            &elsewhere,
            "llama3:8b",
            None,
            Ok(("anthropic/llama3:8b", None)),
        ),
        (
            vec![],
            &none,
            "claude-x",
            None,
            Err("no provider has a key: looked for in the variable `ANTHROPIC_API_KEY`"),
        ),
        // A whole name needs no key to be understood; the key is missed when it is read.
        (
            vec![],
            &none,
            "anthropic/claude-x",
            None,
            Ok(("anthropic/claude-x", None)),
        ),
        (
            vec![],
            &anthropic,
            "gpt-9",
            None,
            Err("no provider has `gpt-9`; known providers: anthropic"),
        ),
        (
            two(),
            &none,
            "own-1:low",
            None,
            Ok(("house/own-1", Some(Thinking::Low))),
        ),
        (
            two(),
            &none,
            "shared",
            None,
            Err("several providers have `shared`: write house/shared, other/shared"),
        ),
        (
            two(),
            &none,
            "shared",
            Some("other"),
            Ok(("other/shared", None)),
        ),
        (
            two(),
            &none,
            "own-1",
            Some("other"),
            Ok(("house/own-1", None)),
        ),
        (
            two(),
            &keys,
            "claude-copy",
            None,
            Ok(("house/claude-copy", None)),
        ),
        (open(), &keys, "anything", None, Ok(("open/anything", None))),
        (
            open(),
            &keys,
            "vendor/anything",
            None,
            Ok(("open/vendor/anything", None)),
        ),
        (
            open(),
            &elsewhere,
            "nosuch/x",
            None,
            Err("there is no provider `nosuch`; known providers: open, anthropic"),
        ),
        (
            vec![],
            &anthropic,
            "nosuch/x",
            None,
            Err("there is no provider `nosuch`; known providers: anthropic"),
        ),
        (
            open(),
            &keys,
            "claude-x",
            None,
            Ok(("anthropic/claude-x", None)),
        ),
        (
            open(),
            &keys,
            "claude-x",
            Some("open"),
            Ok(("open/claude-x", None)),
        ),
        (vec![], &keys, "", None, Err("a model's name is")),
        (vec![], &keys, "anthropic/", None, Err("a model's name is")),
    ] {
        let providers = Providers::new(configured, variables);
        let found = providers.find(name, parent);
        match (found, expected) {
            (Ok(found), Ok((name, thinking))) => {
                assert_eq!((found.name().as_str(), found.thinking), (name, thinking));
            }
            (Err(error), Err(part)) => {
                assert!(error.to_string().starts_with(part), "{name}: {error}");
            }
            (found, expected) if name == "claude-copy" => {
                // Two have it: the family of one, the list of the other.
                assert!(
                    matches!(found, Err(NoSuchModel::Several { .. })),
                    "{expected:?}"
                );
            }
            (found, expected) => panic!("{name}: {found:?} is not {expected:?}"),
        }
    }
}

#[test]
fn built_in_providers_follow_their_variables_and_configuration_replaces_them() {
    let variables = variables(&[
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:7/x"),
        ("OPENAI_API_KEY", " "),
    ]);
    let providers = Providers::new(Vec::new(), &variables);
    let [anthropic, openai] = providers.all() else {
        panic!("{providers:?}");
    };
    assert_eq!(anthropic.base_url, "http://127.0.0.1:7/x");
    assert_eq!(
        (openai.base_url.as_str(), openai.api),
        ("https://api.openai.com/v1", ModelApi::OpenaiResponses)
    );
    assert_eq!(providers.ready().count(), 0);
    let providers = Providers::new(vec![provider("anthropic", &["m"])], &variables);
    assert_eq!(providers.all().len(), 2);
    assert_eq!(
        providers.find("anthropic/m", None).unwrap().facts.context,
        Some(1000)
    );
    assert_eq!(
        providers
            .ready()
            .map(|it| it.name.as_str())
            .collect::<Vec<_>>(),
        ["anthropic"]
    );
}

#[test]
fn what_is_publicly_known_counts_at_the_makers_address_and_after_what_is_said() {
    let key = ("ANTHROPIC_API_KEY", KEY);
    let elsewhere = ("ANTHROPIC_BASE_URL", "http://127.0.0.1:7");
    let facts = |configured: Vec<Provider>, names: &[(&str, &str)]| {
        let providers = Providers::new(configured, &variables(names));
        let found = providers.find("anthropic/claude-sonnet-4-5", None);
        found.unwrap().facts
    };
    let own = facts(Vec::new(), &[key]);
    assert_eq!(own.context, Some(200_000));
    assert_eq!(own.prices.unwrap().output, 15_000_000);
    assert_eq!(facts(Vec::new(), &[key, elsewhere]), ModelFacts::default());
    let said = Provider {
        base_url: ModelApi::Anthropic.usual_address().to_owned(),
        ..provider("anthropic", &["claude-sonnet-4-5"])
    };
    let said = facts(vec![said], &[key]);
    assert_eq!(said.context, Some(1000));
    assert_eq!(said.prices, own.prices);
}

#[test]
fn configuration_has_the_form_that_is_promised() {
    let read: Provider = serde_json::from_value(serde_json::json!({
        "name": "house", "api": "anthropic", "base_url": "https://models.example",
        "key": { "command": ["pass", "show", "house"] },
        "models": [{ "id": "a", "context": 200_000, "prices": { "input": 3_000_000, "output": 15_000_000, "cached": 300_000 } }],
    }))
    .unwrap();
    assert_eq!(
        read.key,
        Some(KeySource::Command(vec![
            "pass".to_owned(),
            "show".to_owned(),
            "house".to_owned()
        ]))
    );
    let usage = Usage {
        input: 1_000_000,
        output: 2_000_000,
        cached: 10_000_000,
        cache_write: 1_000_000,
        ..Usage::default()
    };
    let prices = read.models[0].facts.prices.unwrap();
    assert_eq!(prices.cost(&usage), 39_000_000);
    for word in ["openai-responses", "openai-chat"] {
        let api: ModelApi = serde_json::from_value(word.into()).unwrap();
        assert_eq!(api.word(), word);
    }
}

#[test]
fn a_key_is_read_from_its_place_and_is_in_no_message() {
    let env = KeySource::Env("K".to_owned());
    let file = KeySource::File("/keys/k".into());
    let command = KeySource::Command(vec!["pass".to_owned(), "secret-argument".to_owned()]);
    let fine = || Ok(format!("{KEY}\n").into_bytes());
    let long = || Ok(vec![b'x'; 20_000]);
    for (source, value, expected) in [
        (&env, fine(), Ok(())),
        (&file, fine(), Ok(())),
        (&command, fine(), Ok(())),
        (
            &file,
            Ok(format!("{KEY}\n{KEY}").into_bytes()),
            Err("not a key: it has characters"),
        ),
        (&file, Ok(vec![0xff]), Err("it is not text")),
        (
            &file,
            Ok(b" \n".to_vec()),
            Err("the file `/keys/k` is not a key: it is empty"),
        ),
        (&command, long(), Err("it is too long")),
        (
            &command,
            Err("it ended with 1".to_owned()),
            Err("cannot read the key from the command `pass`: it ended with 1"),
        ),
        (&env, Err(String::new()), Err("the variable `K` is not set")),
    ] {
        let variables = match &value {
            Ok(bytes) => variables(&[("K", std::str::from_utf8(bytes).unwrap_or_default())]),
            Err(_) => BTreeMap::new(),
        };
        let read_file = |path: &Path| {
            assert_eq!(path, Path::new("/keys/k"));
            value.clone()
        };
        let run = async |words: Vec<String>| {
            assert_eq!(words.len(), 2);
            value.clone()
        };
        let read = runtime().block_on(source.read(&variables, read_file, run));
        match (read, expected) {
            (Ok(key), Ok(())) => assert_eq!(key.reveal(), KEY),
            (Err(error), Err(part)) => {
                let shown = format!("{error} {error:?}");
                assert!(shown.contains(part), "{shown}");
                assert!(
                    !shown.contains(KEY) && !shown.contains("secret-argument"),
                    "{shown}"
                );
            }
            (read, expected) => panic!("{read:?} is not {expected:?}"),
        }
    }
}
