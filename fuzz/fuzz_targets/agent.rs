//! Any bytes are an agent file: reading them ends, quickly and without a panic, and an edit changes one field
//! and no other byte.
#![no_main]

use grove_spec::agent::edit::{FieldValue, remove, set};
use grove_spec::agent::{parse_bytes, prompt_text};
use grove_spec::text::is_control;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let parsed = parse_bytes(bytes);
    let agent = &parsed.agent;
    for shown in [&agent.name, &agent.description, &agent.package, &agent.model].into_iter().flatten() {
        assert!(!shown.contains(is_control), "{shown:?}");
    }
    assert!(!agent.skills.iter().any(|name| name.contains(is_control)));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let body = text.get(parsed.body_offset..).expect("the body starts at a character");
    let told = prompt_text(body);
    assert!(!told.contains(is_control) && told == prompt_text(&told));

    if let Ok(added) = set(text, "fuzzed-key", &FieldValue::text("value: 'x' # y")) {
        if !text.contains("fuzzed-key") {
            assert_eq!(remove(&added, "fuzzed-key").as_deref(), Ok(text));
        }
    }
    if let Ok(changed) = set(text, "skills", &FieldValue::list(["a", "b, c"])) {
        let again = parse_bytes(changed.as_bytes());
        assert_eq!(again.agent.description, agent.description);
        assert_eq!(changed.get(again.body_offset..), Some(body));
        if agent.name.is_some() && !changed.contains("skill:") && !changed.contains("skill\"") {
            assert_eq!(again.agent.name, agent.name);
        }
    }
});
