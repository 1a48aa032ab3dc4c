//! What a skill comes to, in ours and in the library, and where they differ.

use grove_reference::{
    PromptEntry, Properties, parse_frontmatter, read_properties, to_prompt, universal_newlines,
    validate_metadata,
};
use serde_json::Value;

use super::generator::Case;

/// How one command ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// With a result: the complaints, the JSON or the prompt.
    Result(Vec<String>),
    /// With an error message.
    Error(String),
    /// With a traceback there, and an error here.
    Crash,
}

/// How the three commands end for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) validate: End,
    pub(crate) properties: End,
    pub(crate) prompt: End,
    pub(crate) yaml_line: Option<u64>,
}

const INVALID_YAML: &str = "Invalid YAML in frontmatter: ";

/// The wording of a YAML error is ours; only that it is one, and its line, must agree.
fn without_wording(message: &str) -> String {
    match message.strip_prefix(INVALID_YAML) {
        Some(_) => INVALID_YAML.to_owned(),
        None => message.to_owned(),
    }
}

/// Python prints where an object lies in memory; ours does not.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split(" object at 0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(" object");
        out.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    out
}

/// Ours.
pub(crate) fn ours(case: &Case, location: &str) -> Outcome {
    let Ok(text) = std::str::from_utf8(&case.content) else {
        return crashed();
    };
    let (metadata, _) = match parse_frontmatter(&universal_newlines(text)) {
        Ok(parsed) => parsed,
        Err(error) if error.crash => return crashed(),
        Err(error) => {
            let message = without_wording(&error.message);
            return Outcome {
                validate: End::Result(vec![message.clone()]),
                properties: End::Error(message.clone()),
                prompt: End::Error(message),
                yaml_line: error.yaml_line.map(|line| line as u64),
            };
        }
    };
    let (properties, prompt) = match read_properties(&metadata) {
        Ok(properties) => (json_end(&properties), prompt_end(&properties, location)),
        Err(message) => (End::Error(message.clone()), End::Error(message)),
    };
    Outcome {
        validate: End::Result(validate_metadata(&metadata, &case.dir)),
        properties,
        prompt,
        yaml_line: None,
    }
}

fn json_end(properties: &Properties) -> End {
    match properties.json_crash() {
        None => End::Result(vec![properties.to_json()]),
        Some(_) => End::Crash,
    }
}

fn prompt_end(properties: &Properties, location: &str) -> End {
    match properties.prompt_crash() {
        None => End::Result(vec![to_prompt(&[PromptEntry {
            properties,
            location,
        }])]),
        Some(_) => End::Crash,
    }
}

fn crashed() -> Outcome {
    Outcome {
        validate: End::Crash,
        properties: End::Crash,
        prompt: End::Crash,
        yaml_line: None,
    }
}

/// The library's, from the driver's answer.
pub(crate) fn theirs(answer: &Value) -> Outcome {
    let end = |command: &str, result: &str| {
        let answer = &answer[command];
        if let Some(message) = answer["error"].as_str() {
            return End::Error(without_wording(message));
        }
        match &answer[result] {
            Value::String(text) => End::Result(vec![without_addresses(text)]),
            Value::Array(texts) => End::Result(
                texts
                    .iter()
                    .map(|text| without_wording(text.as_str().unwrap_or_default()))
                    .collect(),
            ),
            _ => End::Crash,
        }
    };
    Outcome {
        validate: end("validate", "errors"),
        properties: end("properties", "json"),
        prompt: end("prompt", "text"),
        yaml_line: answer["yaml_line"].as_u64(),
    }
}
