//! The keys that agent files have, Grove's and those of other hosts, and the findings on unknown keys.
//!
//! Where frontmatter is not valid YAML, these words decide which lines begin a key and which are text.

use super::fields::FieldRow;
use super::formats::{AgentFormat, restricting, restriction};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::skill::fields::bare;
use crate::text::{allowed_edits, edits};
use crate::yaml::{Key, KnownKeys, YamlEntry};

/// A key of settings that people also write in files.
const OF_SETTINGS: &str = "disabled";

fn own() -> impl Iterator<Item = &'static str> {
    let keys = FieldRow::in_files().flat_map(|row| [Some(row.key), row.other_key]);
    keys.flatten().chain([OF_SETTINGS])
}

/// Keys of other hosts, and keys that many agents have although no program reads them.
const OTHERS: &str = "color effort mcpServers hooks maxTurns initialPrompt memory background isolation mcp-servers \
    mcp_servers infer disable-model-invocation user-invocable model-policy reasoning-effort \
    github deferred-tool-loading strict-tools-list include-custom-instructions target metadata \
    argument-hint agents handoffs kind display_name temperature max_turns timeout_mins auth \
    agent_card mode top_p steps maxSteps hidden disable prompt options reasoningEffort \
    textVerbosity nickname_candidates developer_instructions model_reasoning_effort \
    model_reasoning_summary model_verbosity personality service_tier features version author \
    license tags category role title priority systemPrompt";

/// The keys that guide the reading of an agent's frontmatter where it is not valid YAML.
pub(crate) const KNOWN: KnownKeys = KnownKeys {
    is_known,
    restricts,
};

fn restricts(key: &str) -> bool {
    FieldRow::of_file(key).is_some_and(|row| row.restricts) || restriction::is_known(key)
}

/// Returns true if a word is a key, which is asked where an agent's frontmatter is not valid YAML.
pub(crate) fn is_known(key: &str) -> bool {
    let mut all = own().chain(OTHERS.split_whitespace());
    all.any(|word| word == key) || restriction::is_known(key)
}

/// Reports the keys of a file that Grove does not use; `said` has the keys that it uses.
pub(super) fn report(
    unknown: &[YamlEntry],
    said: &[(Key, Position)],
    format: AgentFormat,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let is_not_said = |meant: &&str| !said.iter().any(|(key, _)| key == *meant);
    for entry in unknown {
        if let Some(found) = restriction::of(entry, format) {
            diagnostics.push(restricting(entry, &found, format));
        } else if let Some(meant) = misspelt(&entry.key).filter(is_not_said) {
            let message = format!("`{}` is unknown; it is kept but not used", entry.key);
            let restricts = restricts(meant);
            // A restricting key that only differs in its letters' case or in its signs was meant to restrict the agent.
            let code = if restricts && bare(&entry.key) == bare(meant) {
                Code::AgentContract
            } else {
                Code::AgentUnknownField
            };
            let finding =
                Diagnostic::new(code, message).with_help(format!("did you mean `{meant}`?"));
            let finding = match code {
                Code::AgentUnknownField if restricts => finding.with_severity(Severity::Warning),
                _ => finding,
            };
            diagnostics.push(finding.at(entry.position));
        } else if format != AgentFormat::Native {
            let message = format!(
                "`{}` of {} has no counterpart in Grove; it is kept but not used",
                entry.key,
                format.title()
            );
            diagnostics.push(Diagnostic::new(Code::AgentUnmapped, message).at(entry.position));
        }
    }
}

/// The key of Grove's own that an unknown word is nearly written as.
pub(super) fn misspelt(key: &str) -> Option<&'static str> {
    if is_known(key) || key.len() > 40 {
        return None;
    }
    let written = bare(key);
    let near = own().chain(restriction::USUAL).filter_map(|own| {
        let own_bare = bare(own);
        edits(&written, &own_bare, allowed_edits(&own_bare)).map(|count| (count, own))
    });
    near.min().map(|(_, own)| own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::parse;

    #[test]
    fn every_key_of_our_own_is_read() {
        for key in own().filter(|key| *key != OF_SETTINGS) {
            let parsed = parse(&format!("---\n{key}: a\n---\n"));
            assert_eq!(parsed.agent.unknown, [], "{key}");
        }
    }

    #[test]
    fn each_key_stands_in_one_list() {
        let mut all: Vec<&str> = own().chain(OTHERS.split_whitespace()).collect();
        assert!(!all.iter().any(|key| restriction::is_known(key)));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_misspelt_key_is_told_from_another_one() {
        for (written, meant) in [
            ("desciption", Some("description")),
            ("Description", Some("description")),
            ("descripton", Some("description")),
            ("tool", Some("tools")),
            ("toosl", Some("tools")),
            ("skillls", Some("skills")),
            ("inherit_skills", Some("inheritSkills")),
            ("system-prompt-mode", Some("systemPromptMode")),
            ("max_tokens", Some("maxTokens")),
            ("nmae", Some("name")),
            ("mode", None),
            ("color", None),
            ("agents", None),
            ("owner", None),
            ("toolkit", None),
            ("game", Some("name")),
            ("x", None),
        ] {
            assert_eq!(misspelt(written), meant, "{written}");
        }
    }

    #[test]
    fn keys_that_restrict_are_named_at_their_line_in_every_format() {
        let text = "---\nname: a\ndescription: d\ndeny-tools: bash\nspawning: false\n---\n";
        for format in [
            AgentFormat::Native,
            AgentFormat::Claude,
            AgentFormat::Copilot,
            AgentFormat::Gemini,
            AgentFormat::Opencode,
        ] {
            let found = crate::agent::formats::read(text.as_bytes(), format);
            let warned: Vec<_> = found[0]
                .parsed
                .diagnostics
                .iter()
                .filter(|finding| finding.severity == Severity::Warning)
                .map(|finding| (finding.code.as_str(), finding.position.map(|at| at.line)))
                .collect();
            let expected = [("agent-unmapped", Some(4)), ("agent-unmapped", Some(5))];
            assert_eq!(warned, expected, "{format:?}");
        }
        let harmless = "---\nname: a\ndescription: d\nspawning: true\nowner: me\ncolor: red\n---\n";
        assert_eq!(parse(harmless).diagnostics, []);
    }
}
