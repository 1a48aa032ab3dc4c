//! Any bytes are a chain file in both formats: reading them ends, quickly and without a panic; what is printed is
//! read as the same chain; an edit changes one key and nothing else.

use grove_spec::chain::edit::{remove, set};
use grove_spec::chain::{ChainFormat, ChainStep, MAX_STEPS, parse, parse_bytes, print};
use grove_spec::text::is_control;

pub(crate) fn check(bytes: &[u8]) {
    for format in ChainFormat::ALL {
        let parsed = parse_bytes(bytes, format);
        let chain = &parsed.chain;
        for shown in [&chain.name, &chain.description, &chain.package]
            .into_iter()
            .flatten()
        {
            assert!(!shown.contains(is_control), "{shown:?}");
        }
        assert!(chain.steps.len() <= MAX_STEPS);
        for task in chain.steps.iter().flat_map(ChainStep::tasks) {
            assert!(!task.agent.contains(is_control), "{:?}", task.agent);
            assert!(!task.task.iter().any(|text| text.contains(is_control)));
        }
        if parsed.is_valid() {
            let printed = print::json(chain);
            let mut again = parse(&printed, ChainFormat::Json).chain;
            // Text before the first step is for people, and JSON has no place for it.
            again.intro.clone_from(&chain.intro);
            assert_eq!(&again, chain, "{printed}");
            // Reading back is what it promises, so that it does so is all there is to ask.
            let _ = print::markdown(chain);
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            continue;
        };
        if let Ok(changed) = set(text, format, "description", "value: 'x' \"y\"") {
            let after = parse(&changed, format).chain;
            assert_eq!(after.steps, chain.steps);
            assert_eq!(after.name, chain.name);
        }
        if chain.package.is_none()
            && !text.contains("package")
            && let Ok(added) = set(text, format, "package", "p")
        {
            assert_eq!(remove(&added, format, "package").as_deref(), Ok(text));
        }
    }
}
