//! The server as a member of a JSON file: `mcpServers.grove`, or the host's own name for that member.
//!
//! A parser checks the file, which is then edited by byte positions, so that all its other bytes stay.

use serde_json::{Value, json};

use super::{FormError, NAME};

pub(super) struct ServerEntry {
    /// The member of the file that has all servers.
    pub(super) servers: &'static str,
    /// The command that starts the server, in the host's form.
    pub(super) value: Value,
}

/// Returns the file with the server in it.
pub(super) fn with_server(text: &str, entry: &ServerEntry) -> Result<String, FormError> {
    let ServerEntry { servers, value } = entry;
    if text.trim().is_empty() {
        let whole = json!({ *servers: { NAME: value } });
        return Ok(format!("{whole:#}\n"));
    }
    check(text, servers)?;
    let top = members(text, (0, text.len()))?;
    let Some(known) = top.get(servers) else {
        return Ok(top.with(text, servers, &json!({ NAME: value })));
    };
    let servers = members(text, known.value)?;
    match servers.get(NAME) {
        None => Ok(servers.with(text, NAME, value)),
        Some(known) => {
            let current: Value = slice(text, known.value)
                .and_then(|value| serde_json::from_str(value).ok())
                .unwrap_or_default();
            if current == *value {
                return Ok(text.to_owned());
            }
            let new = indented(value, &servers.indent(text));
            Ok(spliced(text, known.value, &new))
        }
    }
}

/// Returns the file without the server.
pub(super) fn without_server(text: &str, servers: &str) -> Result<String, FormError> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    check(text, servers)?;
    let top = members(text, (0, text.len()))?;
    let Some(servers) = top.get(servers) else {
        return Ok(text.to_owned());
    };
    let servers = members(text, servers.value)?;
    Ok(match servers.without(NAME) {
        Some(cut) => spliced(text, cut, ""),
        None => text.to_owned(),
    })
}

fn check(text: &str, servers: &str) -> Result<(), FormError> {
    let whole: Value =
        serde_json::from_str(text).map_err(|error| FormError::NotJson(error.to_string()))?;
    let top = whole.as_object().ok_or(FormError::NotAnObject)?;
    match top.get(servers) {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err(FormError::ServersNotAnObject(servers.to_owned())),
    }
}

/// A range of the text, in bytes.
type Span = (usize, usize);

fn slice(text: &str, span: Span) -> Option<&str> {
    text.get(span.0..span.1)
}

fn spliced(text: &str, span: Span, new: &str) -> String {
    let before = text.get(..span.0).unwrap_or_default();
    let after = text.get(span.1..).unwrap_or_default();
    format!("{before}{new}{after}")
}

struct MemberSpan {
    key: String,
    whole: Span,
    value: Span,
}

struct ObjectMembers {
    members: Vec<MemberSpan>,
    /// The range between the opening and the closing brace.
    inside: Span,
}

impl ObjectMembers {
    /// Returns the last member of a name, which is the one that readers take.
    fn get(&self, key: &str) -> Option<&MemberSpan> {
        self.members.iter().rev().find(|member| member.key == key)
    }

    /// Returns the indent of the first member; the object's own and two blanks when it has none.
    fn indent(&self, text: &str) -> String {
        if let Some(first) = self.members.first() {
            let gap = text.get(self.inside.0..first.whole.0).unwrap_or_default();
            return gap
                .rsplit_once('\n')
                .map_or("", |(_, indent)| indent)
                .to_owned();
        }
        let before = text.get(..self.inside.0).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let own: String = line
            .chars()
            .take_while(|letter| letter.is_whitespace())
            .collect();
        format!("{own}  ")
    }

    fn is_on_lines(&self, text: &str) -> bool {
        slice(text, self.inside).is_some_and(|inside| inside.contains('\n'))
            || self.members.is_empty()
    }

    fn with(&self, text: &str, key: &str, value: &Value) -> String {
        let key = Value::from(key);
        if !self.is_on_lines(text) {
            let at = self
                .members
                .last()
                .map_or(self.inside.0, |last| last.whole.1);
            return spliced(text, (at, at), &format!(",{key}:{value}"));
        }
        let indent = self.indent(text);
        let member = format!("\n{indent}{key}: {}", indented(value, &indent));
        if let Some(last) = self.members.last() {
            spliced(text, (last.whole.1, last.whole.1), &format!(",{member}"))
        } else {
            let outer = indent.strip_suffix("  ").unwrap_or_default();
            spliced(text, self.inside, &format!("{member}\n{outer}"))
        }
    }

    /// Returns the range that holds a member with its comma and its blanks.
    fn without(&self, key: &str) -> Option<Span> {
        let at = self.members.iter().rposition(|member| member.key == key)?;
        let member = self.members.get(at)?;
        let before = at
            .checked_sub(1)
            .and_then(|before| self.members.get(before));
        Some(match (before, self.members.get(at + 1)) {
            (Some(before), _) => (before.whole.1, member.whole.1),
            (None, Some(next)) => (member.whole.0, next.whole.0),
            (None, None) => self.inside,
        })
    }
}

fn indented(value: &Value, indent: &str) -> String {
    format!("{value:#}").replace('\n', &format!("\n{indent}"))
}

/// Reads the members of the object in a range of a text.
fn members(text: &str, object: Span) -> Result<ObjectMembers, FormError> {
    let inside = slice(text, object).unwrap_or_default();
    let read = grove_spec::json::parse_values(inside, usize::MAX);
    let read = read.map_err(|fault| FormError::NotJson(fault.message))?;
    let members = read.members.into_iter().map(|member| MemberSpan {
        key: member.key,
        whole: (object.0 + member.start, object.0 + member.end),
        value: (object.0 + member.value, object.0 + member.end),
    });
    let start = inside.find('{').ok_or(FormError::NotAnObject)? + 1;
    let end = inside.rfind('}').ok_or(FormError::NotAnObject)?;
    Ok(ObjectMembers {
        members: members.collect(),
        inside: (object.0 + start, object.0 + end),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FormError, NAME, ServerEntry};
    use serde_json::{Value, json};

    const SERVERS: &str = "mcpServers";

    fn value() -> Value {
        json!({ "type": "stdio", "command": "/opt/grove", "args": ["mcp"] })
    }

    fn with_server(text: &str) -> Result<String, FormError> {
        let entry = ServerEntry {
            servers: SERVERS,
            value: value(),
        };
        super::with_server(text, &entry)
    }

    fn without_server(text: &str) -> Result<String, FormError> {
        super::without_server(text, SERVERS)
    }

    /// Enters the server and takes it out again; the rest stays, and the second edit reverses the first.
    fn check_both(text: &str) {
        let with = with_server(text).unwrap();
        let read: Value = serde_json::from_str(&with).unwrap();
        assert_eq!(read[SERVERS][NAME], value(), "{with}");
        assert_eq!(
            with_server(&with).unwrap(),
            with,
            "entering again changes nothing"
        );
        let mut expected: Value = serde_json::from_str(text).unwrap();
        expected[SERVERS][NAME] = value();
        assert_eq!(read, expected);
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            serde_json::to_string(&expected).unwrap(),
            "the order stays"
        );
        let mut expected: Value = serde_json::from_str(text).unwrap();
        // An object that was made for the entry stays as an empty one.
        let servers = expected.as_object_mut().unwrap().entry(SERVERS);
        servers.or_insert_with(|| json!({}));
        let out = without_server(&with).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&out).unwrap(),
            expected,
            "{out}"
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "{}",
            "{\n  \"a\": 1\n}\n",
            "{\"a\":\"}{\\\"\",\"mcpServers\":{}}",
            "{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"y\"}\n\t},\n\t\"z\": [1, {\"b\": null}]\n}",
            "{ \"mcpServers\": {\"x\": {}} , \"mcp\\u0053ervers2\": 1.0e5 }",
            "{\"projects\": {\"mcpServers\": {\"grove\": 1}}, \"n\": 12345678901234567890}",
        ] {
            check_both(text);
        }
    }

    #[test]
    fn the_bytes_around_the_entry_are_kept() {
        let text =
            "{\n  \"a\" : 1.50,\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" }\n  }\n}\n";
        let with = with_server(text).unwrap();
        assert_eq!(without_server(&with).unwrap(), text);
        assert!(with.contains("\"a\" : 1.50,"));
        let first = "{\"mcpServers\":{\"grove\":{\"command\":\"old\"},\"x\":{}}}";
        assert_eq!(
            without_server(first).unwrap(),
            "{\"mcpServers\":{\"x\":{}}}"
        );
        let replaced = with_server(first).unwrap();
        assert!(replaced.ends_with(",\"x\":{}}}"), "{replaced}");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for text in [
            "[]",
            "{",
            "{\"mcpServers\": []}",
            "// comment\n{}",
            "nonsense",
        ] {
            assert!(with_server(text).is_err(), "{text}");
            assert!(without_server(text).is_err(), "{text}");
        }
        assert!(with_server("").is_ok_and(|text| text.len() > 10));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~äß{}\\[\\]\",:\\\\]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-c\"\\\\{]{0,3}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_file_keeps_what_it_says(
            top in prop::collection::vec(("[a-c\"{]{1,3}", any_json()), 0..4),
            servers in prop::option::of(prop::collection::vec(("[x-z]{1,3}", any_json()), 0..3)),
            pretty in any::<bool>(),
        ) {
            let mut whole: serde_json::Map<String, Value> = top.into_iter().collect();
            if let Some(servers) = servers {
                whole.insert(SERVERS.to_owned(), Value::Object(servers.into_iter().collect()));
            }
            let whole = Value::Object(whole);
            let text = if pretty { format!("{whole:#}") } else { whole.to_string() };
            check_both(&text);
        }
    }
}
