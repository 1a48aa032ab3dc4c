//! Changes of the name, package or description of a chain file and of no other byte.
//!
//! A `.chain.md` is changed as an agent file is. In a `.chain.json` the bytes of one member are replaced; in both, the
//! result is read again, and an edit that would change anything else is refused.

use crate::agent::edit::{self as lines, EditRefusal, FieldValue};
use crate::json::{self, JsonMember};

use super::{ChainFile, ChainFormat, is_head_key, parse};

/// The file with one of the three keys set; the same text if it is set so already.
pub fn set(text: &str, format: ChainFormat, key: &str, value: &str) -> Result<String, EditRefusal> {
    require_key(key)?;
    let changed = match format {
        ChainFormat::Markdown => lines::set(text, key, &FieldValue::text(value))?,
        ChainFormat::Json => set_member(text, key, value)?,
    };
    checked(text, changed, format, key)
}

/// The file without one of the three keys; the same text if the key is not there.
pub fn remove(text: &str, format: ChainFormat, key: &str) -> Result<String, EditRefusal> {
    require_key(key)?;
    let changed = match format {
        ChainFormat::Markdown => lines::remove(text, key)?,
        ChainFormat::Json => remove_member(text, key)?,
    };
    checked(text, changed, format, key)
}

fn require_key(key: &str) -> Result<(), EditRefusal> {
    is_head_key(key).then_some(()).ok_or(EditRefusal::Key)
}

/// Returns the changed text, if only the key has another meaning.
fn checked(
    text: &str,
    changed: String,
    format: ChainFormat,
    key: &str,
) -> Result<String, EditRefusal> {
    let without_key = |text: &str| {
        let mut chain: ChainFile = parse(text, format).chain;
        match key {
            "name" => chain.name = None,
            "package" => chain.package = None,
            _ => chain.description = None,
        }
        chain
    };
    if without_key(text) == without_key(&changed) {
        Ok(changed)
    } else {
        Err(EditRefusal::Entangled)
    }
}

fn members(text: &str, key: &str) -> Result<(Vec<JsonMember>, Option<usize>), EditRefusal> {
    let document = json::parse(text).map_err(|_| EditRefusal::Unreadable)?;
    if document.node.as_map().is_none() {
        return Err(EditRefusal::Unreadable);
    }
    let mut of_key = document.members.iter().filter(|member| member.key == key);
    of_key.next();
    if of_key.next().is_some() {
        return Err(EditRefusal::Entangled);
    }
    let at = document.members.iter().position(|member| member.key == key);
    Ok((document.members, at))
}

fn set_member(text: &str, key: &str, value: &str) -> Result<String, EditRefusal> {
    let (members, at) = members(text, key)?;
    let written = serde_json::Value::from(value).to_string();
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    if let Some(member) = at.and_then(|at| members.get(at)) {
        let before = piece(0, member.value);
        let is_same = serde_json::from_str(piece(member.value, member.end))
            .is_ok_and(|old: serde_json::Value| old == *value);
        let old = piece(member.value, member.end);
        let new = if is_same { old } else { &written };
        return Ok(format!("{before}{new}{}", piece(member.end, text.len())));
    }
    // A new member is put after the first, or alone, with the same space before it.
    let open = text.find('{').ok_or(EditRefusal::Unreadable)? + 1;
    let Some(first) = members.first() else {
        let rest = piece(open, text.len());
        return Ok(format!("{}\"{key}\": {written}{rest}", piece(0, open)));
    };
    let space = piece(open, first.start);
    let before = piece(0, first.end);
    let after = piece(first.end, text.len());
    Ok(format!("{before},{space}\"{key}\": {written}{after}"))
}

fn remove_member(text: &str, key: &str) -> Result<String, EditRefusal> {
    let (members, at) = members(text, key)?;
    let Some((at, member)) = at.and_then(|at| Some((at, members.get(at)?))) else {
        return Ok(text.to_owned());
    };
    // A comma goes with the member: the one before it, or for the first member the one after it.
    let before = at.checked_sub(1).and_then(|at| members.get(at));
    let (from, to) = match (before, members.get(at + 1)) {
        (Some(before), _) => (before.end, member.end),
        (None, Some(next)) => (member.start, next.start),
        (None, None) => (member.start, member.end),
    };
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    Ok(format!("{}{}", piece(0, from), piece(to, text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str =
        "{\n  \"name\": \"x\",\n  \"description\": \"d\",\n  \"chain\": [ {\"agent\":\"a\"} ]\n}\n";

    #[test]
    fn one_member_changes_and_no_other_byte() {
        let changed = set(JSON, ChainFormat::Json, "description", "e \"f\"").unwrap();
        assert_eq!(changed, JSON.replace("\"d\"", "\"e \\\"f\\\"\""));
        assert_eq!(
            set(JSON, ChainFormat::Json, "name", "x").as_deref(),
            Ok(JSON)
        );
        let added = set(JSON, ChainFormat::Json, "package", "p").unwrap();
        let expected = JSON.replace("\"x\",", "\"x\",\n  \"package\": \"p\",");
        assert_eq!(added, expected);
        assert_eq!(
            remove(&added, ChainFormat::Json, "package").as_deref(),
            Ok(JSON)
        );
        let first = remove(JSON, ChainFormat::Json, "name").unwrap();
        assert_eq!(first, JSON.replace("\"name\": \"x\",\n  ", ""));
    }

    #[test]
    fn a_markdown_chain_is_changed_as_an_agent_file_is() {
        let text = "---\r\nname: x # why\r\ndescription: d\r\n---\r\n\r\n## a\r\n\r\nDo it\r\n";
        let changed = set(text, ChainFormat::Markdown, "name", "y").unwrap();
        assert_eq!(changed, text.replace("name: x", "name: y"));
        let added = set(text, ChainFormat::Markdown, "package", "p").unwrap();
        assert_eq!(
            remove(&added, ChainFormat::Markdown, "package").as_deref(),
            Ok(text)
        );
    }

    #[test]
    fn what_cannot_be_changed_alone_is_refused() {
        for (text, format, key, refusal) in [
            (JSON, ChainFormat::Json, "chain", EditRefusal::Key),
            ("{", ChainFormat::Json, "name", EditRefusal::Unreadable),
            ("[]", ChainFormat::Json, "name", EditRefusal::Unreadable),
            (
                "{\"name\": 1, \"name\": 2}",
                ChainFormat::Json,
                "name",
                EditRefusal::Entangled,
            ),
            (
                "text",
                ChainFormat::Markdown,
                "name",
                EditRefusal::NoFrontmatter,
            ),
        ] {
            assert_eq!(set(text, format, key, "v"), Err(refusal), "{text}");
        }
    }
}
