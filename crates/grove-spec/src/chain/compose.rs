//! New chain files, and other steps for one that is there.
//!
//! A new chain is a `.chain.md` if that can say it. Other steps leave the frontmatter, or the other members of a
//! `.chain.json`, byte for byte as they are.

use serde_json::{Value, json};

use super::{Chain, Format, Parsed, parse, print};
use crate::fence;
use crate::json;

/// A chain from its name and its steps as JSON, or what is wrong with them.
pub fn create(
    name: &str,
    package: Option<&str>,
    description: &str,
    steps: &Value,
) -> Result<(Format, String), String> {
    let mut file = json!({ "name": name, "description": description, "chain": steps });
    if let (Some(package), Some(file)) = (package, file.as_object_mut()) {
        file.insert("package".to_owned(), package.into());
    }
    let chain = sound(parse(&file.to_string(), Format::Json))?;
    Ok(match print::markdown(&chain) {
        Ok(text) => (Format::Markdown, text),
        Err(print::NotInMarkdown) => (Format::Json, print::json(&chain)),
    })
}

/// The file with other steps, or what is wrong with them; the same text when it has these already.
pub fn with_steps(text: &str, format: Format, steps: &Value) -> Result<String, String> {
    let old =
        sound(parse(text, format)).map_err(|why| format!("the chain cannot be read: {why}"))?;
    let file = json!({ "name": "x", "description": "x", "chain": steps });
    let new = sound(parse(&file.to_string(), Format::Json))?;
    if new.steps == old.steps {
        return Ok(text.to_owned());
    }
    let wanted = Chain {
        steps: new.steps,
        ..old
    };
    let changed = match format {
        Format::Markdown => markdown(text, &wanted)?,
        Format::Json => member(text, steps).ok_or("it has no list of steps")?,
    };
    if parse(&changed, format).chain == wanted {
        Ok(changed)
    } else {
        Err("the file is written in a way in which its steps cannot be changed alone".to_owned())
    }
}

/// A chain that can be run as it is written.
fn sound(parsed: Parsed) -> Result<Chain, String> {
    match parsed.diagnostics.iter().find(|finding| finding.is_error()) {
        Some(finding) => Err(finding.message.clone()),
        None => Ok(parsed.chain),
    }
}

/// The frontmatter as it is, and below it what printing gives.
fn markdown(text: &str, wanted: &Chain) -> Result<String, String> {
    let printed = print::markdown(wanted)
        .map_err(|_| "these steps can only be written in a `.chain.json`".to_owned())?;
    let body = |text: &str| fence::split(text).map(|fenced| fenced.body_offset).ok();
    let (old, new) = body(text)
        .zip(body(&printed))
        .ok_or("it has no frontmatter")?;
    let head = text.get(..old).unwrap_or_default();
    let steps = printed.get(new..).unwrap_or_default();
    let line_end = if head.contains("\r\n") { "\r\n" } else { "\n" };
    Ok(format!("{head}{}", steps.replace('\n', line_end)))
}

/// The file with another value for its list of steps.
fn member(text: &str, steps: &Value) -> Option<String> {
    let document = json::parse(text).ok()?;
    let mut members = document.members.iter();
    let list = members.find(|member| matches!(member.key.as_str(), "chain" | "steps"))?;
    let before = text.get(..list.value)?;
    let after = text.get(list.end..)?;
    let line = text
        .get(..list.start)?
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
    let written = if text.contains('\n') {
        format!("{steps:#}").replace('\n', &format!("\n{indent}"))
    } else {
        steps.to_string()
    };
    Some(format!("{before}{written}{after}"))
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
        assert_eq!(format, Format::Markdown);
        let read = parse(&text, format);
        assert!(read.is_valid(), "{text}\n{:?}", read.diagnostics);
        assert_eq!(read.chain.steps.len(), 2);
        assert_eq!(read.chain.package.as_deref(), Some("p"));
        let group =
            json!([{"parallel": [{"agent": "a", "task": "t"}, {"agent": "b", "task": "t"}]}]);
        let (format, text) = create("flow", None, "d", &group).unwrap();
        assert_eq!(format, Format::Json);
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
        let changed = with_steps(markdown, Format::Markdown, &steps).unwrap();
        assert!(changed.starts_with(
            "---\r\n# mine\r\nname: 'x'\r\ndescription: d # so\r\n---\r\n\r\nFor people.\r\n"
        ));
        let read = parse(&changed, Format::Markdown);
        assert_eq!(read.chain.steps[0].tasks()[0].agent, "b");
        assert!(!changed.contains("Old."));
        let same = with_steps(&changed, Format::Markdown, &steps);
        assert_eq!(same.as_deref(), Ok(changed.as_str()));

        let text = "{\n  \"name\": \"x\",   \"description\": \"d\",\n  \"chain\": [ {\"agent\":\"a\"} ],\n  \"mine\": 1.0\n}\n";
        let changed = with_steps(text, Format::Json, &steps).unwrap();
        assert!(
            changed
                .starts_with("{\n  \"name\": \"x\",   \"description\": \"d\",\n  \"chain\": [\n")
        );
        assert!(changed.ends_with("],\n  \"mine\": 1.0\n}\n"), "{changed}");
        let group = json!([{"parallel": [{"agent": "a", "task": "t"}]}]);
        assert!(with_steps(markdown, Format::Markdown, &group).is_err());
    }
}
