//! The levels of thinking that an agent may have in a run.

use super::AgentFile;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::text::one_line;

/// All levels, the least first.
pub const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// The finding about a level that Grove does not know; a run goes on without thinking. The word is kept, since another
/// host may know it.
pub fn unknown_level(agent: &AgentFile) -> Option<Diagnostic> {
    let word = agent.thinking.as_deref()?;
    if LEVELS.contains(&word) {
        return None;
    }
    let message = format!(
        "`thinking` is `{}`, which is not a level that Grove knows",
        one_line(word)
    );
    Some(Diagnostic::new(Code::AgentThinking, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::parse;

    #[test]
    fn a_level_that_nobody_knows_is_a_finding_where_it_is_written() {
        for level in LEVELS {
            let text = format!("---\nname: a\ndescription: d\nthinking: {level}\n---\nx\n");
            assert_eq!(parse(&text).diagnostics, [], "{level}");
        }
        let parsed = parse("---\nname: a\ndescription: d\nthinking: huge\n---\nx\n");
        assert_eq!(parsed.agent.thinking.as_deref(), Some("huge"));
        let [finding] = &parsed.diagnostics[..] else {
            panic!("{:?}", parsed.diagnostics);
        };
        assert_eq!(finding.code, Code::AgentThinking);
        assert_eq!(finding.position.map(|place| place.line), Some(4));
    }
}
