//! New chain files, and new steps for an existing one.
//!
//! A new chain is a `.chain.md` if that format can express it. New steps leave everything else byte for byte as it is.

use serde_json::{Value, json};

use super::step_edit::{self, UnchangedSteps};
use super::{ChainFile, ChainFormat, ParsedChain, parse, print};

/// A chain from its name and its steps as JSON. The error is the first fault in them.
pub fn create(
    name: &str,
    package: Option<&str>,
    description: &str,
    steps: &Value,
) -> Result<(ChainFormat, String), String> {
    let mut file = json!({ "name": name, "description": description, "chain": steps });
    if let (Some(package), Some(file)) = (package, file.as_object_mut()) {
        file.insert("package".to_owned(), package.into());
    }
    let chain = runnable(parse(&file.to_string(), ChainFormat::Json))?;
    Ok(match print::markdown(&chain) {
        Ok(text) => (ChainFormat::Markdown, text),
        Err(print::NotInMarkdown) => (ChainFormat::Json, print::json(&chain)),
    })
}

/// The file with other steps; the same text if it has these already. The error is the first fault in them.
pub fn with_steps(text: &str, format: ChainFormat, steps: &Value) -> Result<String, String> {
    let old =
        runnable(parse(text, format)).map_err(|why| format!("the chain cannot be read: {why}"))?;
    let file = json!({ "name": "x", "description": "x", "chain": steps });
    let new = runnable(parse(&file.to_string(), ChainFormat::Json))?.steps;
    if new == old.steps {
        return Ok(text.to_owned());
    }
    let kept = UnchangedSteps::of(&old.steps, &new);
    let wanted = ChainFile { steps: new, ..old };
    if format == ChainFormat::Markdown && print::markdown(&wanted).is_err() {
        return Err("these steps can only be written in a `.chain.json`".to_owned());
    }
    // The kept parts can have another meaning beside new text; then all steps are written anew.
    for kept in [kept, UnchangedSteps::default()] {
        let changed = match format {
            ChainFormat::Markdown => step_edit::markdown(text, &wanted.steps, kept),
            ChainFormat::Json => step_edit::json(text, steps, kept),
        };
        if let Some(changed) = changed.filter(|it| parse(it, format).chain == wanted) {
            return Ok(changed);
        }
    }
    Err("the file is written in a way that does not allow changing its steps alone".to_owned())
}

/// Returns a chain that can be run as it is written, or the first error.
fn runnable(parsed: ParsedChain) -> Result<ChainFile, String> {
    match parsed.diagnostics.iter().find(|finding| finding.is_error()) {
        Some(finding) => Err(finding.message.clone()),
        None => Ok(parsed.chain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_chain_is_markdown_if_that_can_say_it() {
        let steps = json!([
            {"agent": "scout", "task": "Look at {task}", "as": "seen", "reads": false, "output": "a.md"},
            {"agent": "worker", "skills": ["x", "y"], "progress": true},
        ]);
        let (format, text) = create("flow", Some("p"), "Does: it", &steps).unwrap();
        assert_eq!(format, ChainFormat::Markdown);
        let read = parse(&text, format);
        assert!(read.is_valid(), "{text}\n{:?}", read.diagnostics);
        assert_eq!(read.chain.steps.len(), 2);
        assert_eq!(read.chain.package.as_deref(), Some("p"));
        let group =
            json!([{"parallel": [{"agent": "a", "task": "t"}, {"agent": "b", "task": "t"}]}]);
        let (format, text) = create("flow", None, "d", &group).unwrap();
        assert_eq!(format, ChainFormat::Json);
        assert!(parse(&text, format).is_valid());
    }

    #[test]
    fn steps_that_cannot_run_are_refused() {
        for steps in [
            json!(7),
            json!([7]),
            json!([{"task": "t"}]),
            json!([{"agent": "a", "reads": 3}]),
        ] {
            assert!(create("x", None, "d", &steps).is_err(), "{steps}");
        }
    }

    #[test]
    fn other_steps_leave_the_rest_as_it_is() {
        let steps = json!([{"agent": "b", "task": "New."}]);
        let markdown = "---\r\n# mine\r\nname: 'x'\r\ndescription: d # so\r\n---\r\n\r\nFor people.\r\n\r\n## a\r\n\r\nOld.\r\n";
        let changed = with_steps(markdown, ChainFormat::Markdown, &steps).unwrap();
        assert!(changed.starts_with(
            "---\r\n# mine\r\nname: 'x'\r\ndescription: d # so\r\n---\r\n\r\nFor people.\r\n"
        ));
        let read = parse(&changed, ChainFormat::Markdown);
        assert_eq!(read.chain.steps[0].tasks()[0].agent, "b");
        assert!(!changed.contains("Old."));
        let same = with_steps(&changed, ChainFormat::Markdown, &steps);
        assert_eq!(same.as_deref(), Ok(changed.as_str()));

        let text = "{\n  \"name\": \"x\",   \"description\": \"d\",\n  \"chain\": [ {\"agent\":\"a\"} ],\n  \"mine\": 1.0\n}\n";
        let changed = with_steps(text, ChainFormat::Json, &steps).unwrap();
        assert!(
            changed
                .starts_with("{\n  \"name\": \"x\",   \"description\": \"d\",\n  \"chain\": [\n")
        );
        assert!(changed.ends_with("],\n  \"mine\": 1.0\n}\n"), "{changed}");
        let group = json!([{"parallel": [{"agent": "a", "task": "t"}]}]);
        assert!(with_steps(markdown, ChainFormat::Markdown, &group).is_err());
    }
}
