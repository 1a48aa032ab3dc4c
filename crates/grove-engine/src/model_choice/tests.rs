use std::collections::BTreeMap;

use grove_model::{KnownModel, ModelApi, Provider};

use super::*;

/// Returns two providers, each with an interface and a list of models.
fn providers() -> Providers {
    let provider = |name: &str, api: ModelApi, models: &[&str]| Provider {
        name: name.to_owned(),
        api,
        base_url: "http://127.0.0.1:1".to_owned(),
        key: None,
        models: models.iter().map(|id| KnownModel::from(*id)).collect(),
        families: Vec::new(),
    };
    let configured = vec![
        provider("here", ModelApi::Anthropic, &["small", "both"]),
        provider("there", ModelApi::OpenaiResponses, &["large", "both"]),
    ];
    Providers::new(configured, &BTreeMap::new())
}

fn names(fallbacks: &[&str]) -> Vec<String> {
    fallbacks.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn candidates_are_tried_once_each_and_one_that_cannot_be_asked_is_left_out() {
    for (named, parent, configured, fallbacks, expected) in [
        (Some("small"), None, None, vec![], Ok(vec!["here/small"])),
        (
            Some("small"),
            Some("large"),
            Some("large"),
            vec![],
            Ok(vec!["here/small"]),
        ),
        // The parent's model is meant by the word for it, or because no model is named.
        (
            Some("inherit"),
            Some("there/large"),
            Some("small"),
            vec![],
            Ok(vec!["there/large"]),
        ),
        (
            None,
            Some("there/large"),
            Some("small"),
            vec![],
            Ok(vec!["there/large"]),
        ),
        (
            Some("inherit"),
            None,
            Some("small"),
            vec![],
            Ok(vec!["here/small"]),
        ),
        (Some("inherit"), None, None, vec![], Err(NoModel::NotNamed)),
        // An id that several providers have is that of the parent's provider.
        (
            Some("both"),
            Some("there/large"),
            None,
            vec![],
            Ok(vec!["there/both"]),
        ),
        (
            Some("both"),
            Some("here/small"),
            None,
            vec![],
            Ok(vec!["here/both"]),
        ),
        // Each model is tried once, in order.
        (
            Some("small"),
            None,
            None,
            vec!["here/small", "large", "small", "there/large"],
            Ok(vec!["here/small", "there/large"]),
        ),
        (
            Some("small"),
            Some("there/large"),
            None,
            vec!["inherit"],
            Ok(vec!["here/small", "there/large"]),
        ),
        // A name that no provider has gives way to the next.
        (
            Some("nothing"),
            None,
            None,
            vec!["large"],
            Ok(vec!["there/large"]),
        ),
        (
            None,
            Some("nothing"),
            Some("small"),
            vec![],
            Ok(vec!["here/small"]),
        ),
    ] {
        let fallbacks = names(&fallbacks);
        let wanted = WantedModels {
            named,
            parent,
            configured,
            fallbacks: &fallbacks,
            ..WantedModels::default()
        };
        let chosen = choose(&providers(), &wanted);
        let found = chosen.map(|chosen| {
            assert_eq!(chosen.names.len(), chosen.facts.len());
            chosen.names
        });
        let expected = expected.map(|all: Vec<&str>| names(&all));
        assert_eq!(
            found, expected,
            "{named:?} {parent:?} {configured:?} {fallbacks:?}"
        );
    }
}

#[test]
fn what_is_left_out_is_said() {
    let fallbacks = names(&["small"]);
    for (wanted, note) in [
        (
            WantedModels {
                named: Some("nothing"),
                fallbacks: &fallbacks,
                ..WantedModels::default()
            },
            "model `nothing` is left out: no provider has `nothing`",
        ),
        (
            WantedModels {
                parent: Some("nothing"),
                configured: Some("small"),
                ..WantedModels::default()
            },
            "`nothing`, the parent's model, is left out: no provider has `nothing`",
        ),
    ] {
        let chosen = choose(&providers(), &wanted).unwrap();
        assert_eq!(chosen.names, ["here/small"]);
        assert!(chosen.notes[0].starts_with(note), "{:?}", chosen.notes);
    }
    let wanted = WantedModels {
        named: Some("nothing"),
        ..WantedModels::default()
    };
    assert!(matches!(
        choose(&providers(), &wanted),
        Err(NoModel::Unknown(_))
    ));
}

#[test]
fn a_program_asks_a_provider_of_its_interface_and_is_refused_with_any_other() {
    let not_spoken = |name: &str| format!("does not speak `{name}`");
    for (engine, named, expected) in [
        ("codex", "there/large", Ok("there/large")),
        ("codex", "large", Ok("there/large")),
        // Both providers have it, and the program can ask one of them.
        ("codex", "both", Ok("there/both")),
        ("codex", "here/small", Err(not_spoken("anthropic"))),
        ("codex", "small", Err(not_spoken("anthropic"))),
        ("codex", "anthropic/m", Err(not_spoken("anthropic"))),
        ("claude", "there/large", Err(not_spoken("openai-responses"))),
        ("claude", "small", Ok("here/small")),
        ("claude", "sonnet", Ok("sonnet")),
        ("pi", "here/small", Ok("here/small")),
        ("pi", "there/large", Ok("there/large")),
        ("copilot", "here/small", Ok("here/small")),
        // A vendor without a key here may be one that pi is logged in with.
        ("pi", "anthropic/m", Ok("anthropic/m")),
        ("gemini", "here/small", Err(not_spoken("anthropic"))),
        ("gemini", "gemini-2.5-flash", Ok("gemini-2.5-flash")),
    ] {
        let program = Program::named(engine).unwrap();
        let wanted = WantedModels {
            named: Some(named),
            ..WantedModels::default()
        };
        let chosen = choose_for_program(&providers(), &wanted, program, engine);
        match (chosen, expected) {
            (Ok(chosen), Ok(name)) => assert_eq!(chosen.names, [name], "{engine} {named}"),
            (Err(error), Err(part)) => {
                let error = error.to_string();
                assert!(error.contains(&part), "{engine} {named}: {error}");
            }
            (chosen, expected) => panic!("{engine} {named}: {chosen:?}, not {expected:?}"),
        }
    }
}

#[test]
fn a_program_takes_the_parents_model_only_where_it_can_ask_for_it() {
    for (engine, parent, configured, expected) in [
        ("codex", "there/large", None, "there/large"),
        ("codex", "here/small", None, OWN_MODEL),
        ("codex", "here/small", Some("there/large"), "there/large"),
        ("codex", "claude-something", None, OWN_MODEL),
    ] {
        let program = Program::named(engine).unwrap();
        let wanted = WantedModels {
            parent: Some(parent),
            configured,
            ..WantedModels::default()
        };
        let chosen = choose_for_program(&providers(), &wanted, program, engine).unwrap();
        assert_eq!(chosen.names, [expected], "{parent}");
        assert_eq!(
            chosen.notes.is_empty(),
            expected == parent,
            "{:?}",
            chosen.notes
        );
    }
    let program = Program::named("codex").unwrap();
    let wanted = WantedModels {
        configured: Some("here/small"),
        ..WantedModels::default()
    };
    let refused = choose_for_program(&providers(), &wanted, program, "codex");
    assert!(matches!(refused, Err(NoModel::NotSpoken(_))));
}
