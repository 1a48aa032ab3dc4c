//! The parts of pi's settings that concern agents.

use std::path::Path;

use super::model_scope::ModelScope;
use super::overrides::{
    AgentOverride, FieldSpelling, OverrideFault, Overrides, origin, read_fields, switch,
};
use crate::codes::Code;
use crate::config::LayerScope;
use crate::diagnostic::Diagnostic;
use crate::json;
use crate::text::one_line;
use crate::yaml::{YamlEntry, YamlNode};

/// Reads the settings of agents under `subagents`: overrides, `disableBuiltins`, the model scope and the usual model.
///
/// A file that cannot be read is a finding, and so is each value of the wrong kind; the rest is still read.
pub fn parse(text: &str, scope: LayerScope, file: &Path) -> (Overrides, Vec<Diagnostic>) {
    let mut overrides = Overrides::none(scope, file);
    let mut diagnostics = Vec::new();
    if text.trim().is_empty() {
        return (overrides, diagnostics);
    }
    match json::parse(text) {
        Ok(document) => read_settings(&document.node, &mut overrides, &mut diagnostics),
        Err(fault) => {
            let message = format!("the settings are not JSON: {}", fault.message);
            diagnostics.push(Diagnostic::new(Code::SettingsUnreadable, message).at(fault.position));
        }
    }
    for finding in &mut diagnostics {
        finding.file = Some(file.to_path_buf());
    }
    (overrides, diagnostics)
}

fn read_settings(root: &YamlNode, overrides: &mut Overrides, diagnostics: &mut Vec<Diagnostic>) {
    let file = overrides.file.clone();
    let wrong = |path: &str, node: &YamlNode, wanted: &str| {
        let message = format!("`{path}` must be {wanted}; it was not used");
        Diagnostic::new(Code::OverrideValue, message).at(node.position)
    };
    if root.as_map().is_none() {
        let message = format!("the settings are {}, not an object", json::kind_of(root));
        let finding = Diagnostic::new(Code::SettingsUnreadable, message);
        return diagnostics.push(finding.at(root.position));
    }
    let Some(subagents) = root.get("subagents").filter(|node| !node.is_null()) else {
        return;
    };
    if subagents.as_map().is_none() {
        let message = "`subagents` must be an object; no run is started until it is";
        let finding = Diagnostic::new(Code::SettingsRestriction, message);
        return diagnostics.push(finding.at(subagents.position));
    }
    if let Some(node) = subagents.get("disableBuiltins") {
        match switch(node) {
            Some(flag) => overrides.disable_builtins = Some((flag, origin(&file, node.position))),
            None => diagnostics.push(wrong("subagents.disableBuiltins", node, "true or false")),
        }
    }
    let lost = |path: &str, node: &YamlNode, wanted: &str| {
        let message = format!("`{path}` must be {wanted}; no run is started until it is");
        Diagnostic::new(Code::SettingsRestriction, message).at(node.position)
    };
    if let Some(node) = subagents.get("modelScope").filter(|node| !node.is_null()) {
        match ModelScope::read(node, origin(&file, node.position)) {
            Ok(scope) => overrides.model_scope = Some(scope),
            Err(wrong) => {
                let path = format!("subagents.modelScope{}", wrong.path);
                diagnostics.push(lost(&path, node, wrong.expected));
            }
        }
    }
    let usual = &mut overrides.default_model;
    for (key, value) in [
        ("defaultModel", &mut usual.model),
        ("defaultThinking", &mut usual.thinking),
    ] {
        let node = subagents.get(key).filter(|node| !node.is_null());
        let text = node.map(json::value_of);
        let text = text.as_ref().and_then(|text| text.as_str()).map(str::trim);
        *value = text.filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(node) = node.filter(|_| value.is_none()) {
            diagnostics.push(wrong(&format!("subagents.{key}"), node, "text"));
        }
    }
    let Some(all) = subagents.get("agentOverrides") else {
        return;
    };
    let Some(agents) = all.as_map() else {
        return diagnostics.push(lost("subagents.agentOverrides", all, "an object"));
    };
    for entry in agents {
        let name = one_line(&entry.key);
        let path = format!("subagents.agentOverrides.{name}");
        let Some(members) = entry.value.as_map() else {
            let finding = lost(&path, &entry.value, "an object");
            diagnostics.push(finding.with_names(vec![entry.key.to_string()]));
            continue;
        };
        let told = |member: &YamlEntry, fault: OverrideFault| {
            let key = one_line(&member.key);
            let finding = match fault {
                OverrideFault::Unknown if OverrideFault::loses_restriction(&key) => {
                    Diagnostic::new(
                        Code::SettingsRestriction,
                        format!(
                            "agent `{name}`: `{path}.{key}` is unknown and may be meant to restrict it"
                        ),
                    )
                }
                OverrideFault::Unknown => Diagnostic::new(
                    Code::OverrideUnknownField,
                    format!("agent `{name}`: `{path}.{key}` is not a field that can be overridden"),
                ),
                OverrideFault::Kind(field) => Diagnostic::new(
                    Code::OverrideValue,
                    format!(
                        "agent `{name}`: `{path}.{key}` must be {}; {}",
                        field.override_takes(),
                        OverrideFault::outcome(field)
                    ),
                ),
            };
            let finding = finding.with_names(vec![entry.key.to_string()]);
            diagnostics.push(finding.at(member.position));
        };
        let fields = read_fields(members, FieldSpelling::Settings, &file, told);
        overrides.agents.push(AgentOverride {
            agent: entry.key.to_string(),
            origin: origin(&file, entry.position),
            fields,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentFile;
    use crate::agent::overrides::AgentField;
    use crate::config::Origin;

    fn read(text: &str) -> (Overrides, Vec<(&'static str, u32, String)>) {
        let (overrides, diagnostics) = parse(text, LayerScope::User, Path::new("settings.json"));
        let said = diagnostics.into_iter().map(|finding| {
            assert_eq!(finding.file.as_deref(), Some(Path::new("settings.json")));
            (
                finding.code.as_str(),
                finding.position.map_or(0, |at| at.line),
                finding.message,
            )
        });
        (overrides, said.collect())
    }

    fn changes(overrides: &Overrides) -> Vec<(&'static str, String)> {
        let agents = overrides.agents.iter();
        let changes = agents.flat_map(|agent| agent.fields.iter().map(|set| &set.change));
        changes
            .map(|change| (change.field().as_str(), change.value().to_string()))
            .collect()
    }

    #[test]
    fn each_field_takes_its_kind_and_false_clears() {
        for (key, value, expected) in [
            ("model", r#"" a/b ""#, r#""a/b""#),
            ("model", "false", "false"),
            ("fallbackModels", r#"["a", " ", "b "]"#, r#"["a","b"]"#),
            ("fallbackModels", "false", "[]"),
            ("thinking", r#""high""#, r#""high""#),
            ("thinking", "false", "false"),
            ("systemPrompt", r#""A\n\nB""#, r#""A\n\nB""#),
            ("systemPrompt", "false", r#""""#),
            ("systemPromptMode", r#""append""#, r#""append""#),
            ("systemPromptMode", "false", r#""replace""#),
            ("inheritProjectContext", "true", "true"),
            ("inheritSkills", "false", "false"),
            ("defaultContext", r#""fork""#, r#""fork""#),
            ("defaultContext", "false", "false"),
            ("disabled", "true", "true"),
            ("skills", r#"["b", "a", "b"]"#, r#"["b","a"]"#),
            ("skills", "false", "[]"),
            ("skillInjection", r#""light""#, r#""light""#),
            ("skillInjection", "false", r#""full""#),
            ("tools", r#"["read", "mcp:x/y"]"#, r#"["read","mcp:x/y"]"#),
            ("tools", "[]", "[]"),
            ("tools", "false", "false"),
            ("completionGuard", "false", "false"),
            ("maxExecutionTimeMs", "60000", "60000"),
            ("maxExecutionTimeMs", "false", "false"),
            ("maxTokens", "7", "7"),
            ("maxTokens", "false", "false"),
        ] {
            let settings = format!(
                "{{\"subagents\": {{\"agentOverrides\": {{\"x\": {{\"{key}\": {value}}}}}}}}}"
            );
            let (overrides, said) = read(&settings);
            assert_eq!(said, [], "{key}: {value}");
            assert_eq!(changes(&overrides), [(key, expected.to_owned())], "{value}");
        }
    }

    #[test]
    fn a_change_is_seen_in_the_agent() {
        let (overrides, _) = read(
            r#"{"subagents": {"agentOverrides": {"x": {"tools": [], "model": false, "completionGuard": true, "disabled": true}}}}"#,
        );
        let mut agent = AgentFile {
            model: Some("m".to_owned()),
            ..AgentFile::default()
        };
        for set in &overrides.agents[0].fields {
            set.change.apply(&mut agent);
        }
        let expected = AgentFile {
            tools: Some(Vec::new()),
            completion_guard: Some(true),
            ..AgentFile::default()
        };
        assert_eq!(agent, expected);
    }

    #[test]
    fn a_wrong_kind_names_agent_and_field_and_costs_that_field_alone() {
        for field in AgentField::all() {
            for value in ["3.5", "null", "{}", "[1]", "0", "\"\\u0000x\"", "true"] {
                let (key, text) = (
                    field.as_str(),
                    format!(
                        "{{\"subagents\": {{\"agentOverrides\": {{\n\"x\": {{\n\"{}\": {value},\n\"{}\": true}},\n\"y\": {{\"disabled\": true}}}}}}}}",
                        field.as_str(),
                        if field.as_str() == AgentField::DISABLED {
                            "inheritSkills"
                        } else {
                            "disabled"
                        },
                    ),
                );
                let (overrides, said) = read(&text);
                let others = changes(&overrides);
                let is_switch = field.override_takes() == "true or false";
                let is_text = field.override_takes().starts_with("text");
                if (is_switch && value == "true") || (is_text && value.starts_with('"')) {
                    assert_eq!((said.len(), others.len()), (0, 3), "{key}: {value}");
                    continue;
                }
                // A restriction is kept all the same, in its strictest form.
                let strictest = field.strictest_setting();
                let kept = others.iter().filter(|(changed, _)| *changed == key);
                let kept: Vec<&String> = kept.map(|(_, value)| value).take(1).collect();
                let expected = strictest.as_ref().map(ToString::to_string);
                let expected: Vec<&String> = expected.iter().collect();
                if key != AgentField::DISABLED {
                    assert_eq!(kept, expected, "{key}: {value}");
                }
                let n_others = 2 + usize::from(strictest.is_some());
                assert_eq!(others.len(), n_others, "{key}: {value}");
                let [(code, line, message)] = said.as_slice() else {
                    panic!("{key}: {value}: {said:?}");
                };
                assert_eq!((*code, *line), ("override-value", 3));
                assert!(
                    message.contains("`x`") && message.contains(key),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn a_settings_file_that_cannot_be_read_is_a_finding() {
        for (text, line) in [("{\n  \"subagents\": {", 2), ("[1]", 1), ("7", 1)] {
            let (overrides, said) = read(text);
            assert!(overrides.is_empty(), "{text:?}");
            assert_eq!((said.len(), said[0].1), (1, line), "{text:?}");
        }
        for (text, code) in [
            ("{\"subagents\": []}", "settings-restriction"),
            (
                "{\"subagents\": {\"agentOverrides\": 1}}",
                "settings-restriction",
            ),
            (
                "{\"subagents\": {\"agentOverrides\": {\"x\": false}}}",
                "settings-restriction",
            ),
            (
                "{\"subagents\": {\"agentOverrides\": {\"x\": {\"maxTokns\": 1}}}}",
                "settings-restriction",
            ),
            (
                "{\"subagents\": {\"modelScope\": {\"enforce\": 1}}}",
                "settings-restriction",
            ),
            ("{\"subagents\": {\"defaultModel\": 1}}", "override-value"),
            (
                "{\"subagents\": {\"disableBuiltins\": \"yes\"}}",
                "override-value",
            ),
            (
                "{\"subagents\": {\"agentOverrides\": {\"x\": {\"colour\": 1}}}}",
                "override-unknown-field",
            ),
        ] {
            assert_eq!(read(text).1[0].0, code, "{text}");
        }
    }

    #[test]
    fn the_usual_model_and_the_models_that_are_allowed_are_read() {
        let (overrides, said) = read(
            "{\"subagents\": {\"defaultModel\": \" a/b \", \"defaultThinking\": \"low\", \"modelScope\": {\"enforce\": true, \"allow\": [\"a/*\"]}}}",
        );
        assert_eq!(said, []);
        assert_eq!(overrides.default_model.model.as_deref(), Some("a/b"));
        assert_eq!(overrides.default_model.thinking.as_deref(), Some("low"));
        assert!(overrides.model_scope.is_some() && !overrides.is_empty());
    }

    #[test]
    fn settings_about_other_things_say_nothing() {
        let (overrides, said) =
            read("{\"theme\": \"dark\", \"packages\": [1], \"subagents\": {\"x\": 1}}");
        assert!(overrides.is_empty() && said.is_empty());
        let (overrides, _) = read("{\"subagents\": {\n\"disableBuiltins\": true}}");
        let origin = Origin {
            file: "settings.json".into(),
            line: 2,
        };
        assert_eq!(overrides.disable_builtins, Some((true, origin)));
    }
}
