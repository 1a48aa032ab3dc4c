//! Models, translated to the names of another host.

use grove_spec::agent::AgentFormat;

use crate::hosts::ExportRules;

pub(super) fn translate(model: &str, from: AgentFormat, to: &ExportRules) -> Option<String> {
    let Some(models) = &to.models else {
        return Some(model.to_owned());
    };
    if from.of_files() == to.format {
        return Some(model.to_owned());
    }
    match model.split_once('/') {
        Some(_) if models.provider.is_empty() => Some(model.to_owned()),
        Some((provider, name)) if provider == models.provider => Some(name.to_owned()),
        Some(_) => None,
        None => {
            let mut begins = models.begin.iter();
            let is_theirs = begins.any(|begin| model.starts_with(begin.as_str()));
            is_theirs.then(|| model.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::AgentRules;

    #[test]
    fn a_model_is_written_where_the_host_has_it() {
        for (model, from, host, expected) in [
            (
                "anthropic/claude-x",
                AgentFormat::Native,
                "claude",
                Some("claude-x"),
            ),
            ("sonnet", AgentFormat::Native, "claude", Some("sonnet")),
            ("openai/gpt-5", AgentFormat::Native, "claude", None),
            ("openai/gpt-5", AgentFormat::Native, "codex", Some("gpt-5")),
            (
                "openai/gpt-5",
                AgentFormat::Native,
                "opencode",
                Some("openai/gpt-5"),
            ),
            ("gpt-5", AgentFormat::Native, "opencode", None),
            ("gpt-5", AgentFormat::Native, "copilot", None),
            ("gpt-5", AgentFormat::Copilot, "copilot", Some("gpt-5")),
            (
                "google/gemini-3",
                AgentFormat::Native,
                "gemini",
                Some("gemini-3"),
            ),
            ("whatever", AgentFormat::Native, "pi", Some("whatever")),
        ] {
            let rules = AgentRules::by_name(host).unwrap().export;
            assert_eq!(
                translate(model, from, &rules).as_deref(),
                expected,
                "{model} for {host}"
            );
        }
    }
}
