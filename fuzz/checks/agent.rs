//! Any bytes are an agent file in every format: reading them ends, quickly and without a panic, what is printed
//! reads as what was printed, and an edit changes one field and no other byte.

use grove_spec::agent::edit::{FieldValue, remove, set};
use grove_spec::agent::{
    AgentFormat, ParsedAgent, formats, parse, parse_bytes, print, prompt_text,
};
use grove_spec::text::is_control;

const FORMATS: [AgentFormat; 7] = [
    AgentFormat::Claude,
    AgentFormat::Copilot,
    AgentFormat::Gemini,
    AgentFormat::Opencode,
    AgentFormat::OpencodeJson,
    AgentFormat::Codex,
    AgentFormat::CodexConfig,
];

/// An agent that was read can be written, and is the same agent then.
fn written_again(parsed: &ParsedAgent) {
    if !parsed.is_valid() {
        return;
    }
    let mut agent = parsed.agent.clone();
    agent.unknown.clear();
    let again = parse(&print::markdown(
        &print::entries(&agent),
        Some("# a mark"),
        "Text.\n",
    ))
    .agent;
    assert_eq!(
        (&again.name, &again.description),
        (&agent.name, &agent.description)
    );
    assert_eq!((&again.tools, &again.skills), (&agent.tools, &agent.skills));
}

pub(crate) fn check(bytes: &[u8]) {
    for format in FORMATS {
        for found in formats::read(bytes, format) {
            let agent = &found.parsed.agent;
            for shown in [&agent.name, &agent.description, &agent.model]
                .into_iter()
                .flatten()
            {
                assert!(!shown.contains(is_control), "{shown:?}");
            }
            written_again(&found.parsed);
        }
    }
    let parsed = parse_bytes(bytes);
    let agent = &parsed.agent;
    for shown in [
        &agent.name,
        &agent.description,
        &agent.package,
        &agent.model,
    ]
    .into_iter()
    .flatten()
    {
        assert!(!shown.contains(is_control), "{shown:?}");
    }
    assert!(!agent.skills.iter().any(|name| name.contains(is_control)));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let body = text
        .get(parsed.body_offset..)
        .expect("the body starts at a character");
    let told = prompt_text(body);
    assert!(!told.contains(is_control) && told == prompt_text(&told));

    if let Ok(added) = set(text, "fuzzed-key", &FieldValue::text("value: 'x' # y"))
        && !text.contains("fuzzed-key")
    {
        assert_eq!(remove(&added, "fuzzed-key").as_deref(), Ok(text));
    }
    if let Ok(changed) = set(text, "skills", &FieldValue::list(["a", "b, c"])) {
        let again = parse_bytes(changed.as_bytes());
        assert_eq!(again.agent.description, agent.description);
        assert_eq!(changed.get(again.body_offset..), Some(body));
        if agent.name.is_some() && !changed.contains("skill:") && !changed.contains("skill\"") {
            assert_eq!(again.agent.name, agent.name);
        }
    }
}
