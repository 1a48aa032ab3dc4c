//! The check if a model's name is known.
//!
//! There is no register of models here: providers add and remove them daily. A name counts as known if it belongs to a
//! known family, or if another agent has it too. An unknown one is worth a warning and no more.

use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic};

use crate::address::near_names;

const FAMILIES: [&str; 17] = [
    "claude-",
    "codestral",
    "command-",
    "deepseek",
    "devstral",
    "gemini-",
    "gemma",
    "glm-",
    "gpt-",
    "grok-",
    "kimi",
    "llama",
    "magistral",
    "minimax",
    "mistral",
    "nova-",
    "qwen",
];
/// The names by which hosts mean their current model of a kind.
const WORDS: [&str; 6] = ["default", "haiku", "inherit", "opus", "opusplan", "sonnet"];

/// Returns the finding about a model that is not known; `others` are the models that agents have.
pub fn unknown<'a>(
    model: &str,
    others: impl Iterator<Item = &'a str> + Clone,
) -> Option<Diagnostic> {
    let near = near_models(model, others)?;
    let names = match near.as_slice() {
        [] => String::new(),
        near => format!("; near: `{}`", near.join("`, `")),
    };
    let message = format!("no model `{}` is known here{names}", one_line(model));
    Some(Diagnostic::new(Code::ModelUnknown, message).with_names(near))
}

/// Returns none if a name is known, and otherwise the known ones that are spelled nearly so.
fn near_models<'a>(
    model: &str,
    others: impl Iterator<Item = &'a str> + Clone,
) -> Option<Vec<String>> {
    if others.clone().any(|other| other == model) || is_of_family(model) {
        return None;
    }
    Some(near_names(WORDS.into_iter().chain(others), model))
}

/// Returns true if the model in `provider/model:thinking` is of a known family.
fn is_of_family(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split(':').next().unwrap_or(name).to_ascii_lowercase();
    // Some of OpenAI's are a letter and a number: `o3`, `o4-mini`.
    let is_numbered = name
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_numbered
        || WORDS.contains(&name.as_str())
        || FAMILIES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_known_families_are_known() {
        for model in [
            "sonnet",
            "inherit",
            "claude-sonnet-4-5",
            "anthropic/claude-opus-4:high",
            "openai/gpt-5",
            "o4-mini",
            "openrouter/qwen/qwen3-coder",
            "GPT-4.1",
        ] {
            assert_eq!(near_models(model, [].into_iter()), None, "{model}");
        }
    }

    #[test]
    fn other_names_are_known_when_another_agent_has_them_and_near_ones_are_named() {
        assert_eq!(
            near_models("sonet", [].into_iter()),
            Some(vec!["sonnet".to_owned()])
        );
        assert_eq!(near_models("nope/what", [].into_iter()), Some(Vec::new()));
        assert_eq!(
            near_models("house/own-1", ["house/own-1"].into_iter()),
            None
        );
        assert_eq!(
            near_models("house/own-2", ["house/own-1"].into_iter()),
            Some(vec!["house/own-1".to_owned()])
        );
    }
}
