//! Any bytes are a `SKILL.md`: reading them ends, quickly and without a panic, and what is read keeps
//! its laws.

use grove_spec::skill::{parse, parse_bytes, print::print, strict};
use grove_spec::text::is_control;
use grove_spec::{render, yaml};

pub(crate) fn check(bytes: &[u8]) {
    let parsed = parse_bytes(bytes);
    let text = String::from_utf8_lossy(bytes);
    for finding in strict::validate(&parsed, "folder") {
        assert!(!render::render(&finding, Some(&text)).contains(is_control));
    }
    for shown in [&parsed.skill.name, &parsed.skill.description]
        .into_iter()
        .flatten()
    {
        assert!(!shown.contains(is_control), "{shown:?}");
    }
    if parsed.is_valid() {
        let printed = print(&parsed.skill, "body\n");
        // Escapes can make a block longer than what is given to YAML.
        if printed.len() > yaml::MAX_BYTES {
            return;
        }
        let again = parse(&printed);
        assert_eq!(print(&again.skill, "body\n"), printed);
    }
    if let Ok(block) = std::str::from_utf8(bytes)
        && let Some(scanned) = yaml::scan::scan(block, 1)
        && block.len() <= yaml::MAX_BYTES
    {
        assert_eq!(Ok(scanned), yaml::events::parse(block, 1));
    }
}
