//! The `packages` of a settings file.

use super::source::PackageSource;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json::{self, kind_of, text_of};
use crate::text::one_line;
use crate::yaml::{Node, Value};

/// Packages that one settings file may name.
pub const MAX_NAMED: usize = 200;

/// A package that a settings file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// How.
    pub source: PackageSource,
    /// As written.
    pub written: String,
    /// Where.
    pub position: Option<Position>,
}

impl Named {
    /// Reads one name; a finding when it cannot be followed.
    pub fn read(written: &str, position: Option<Position>) -> Result<Self, Diagnostic> {
        match PackageSource::parse(written) {
            Ok(source) => Ok(Self {
                source,
                written: one_line(written),
                position,
            }),
            Err(refusal) => {
                let message = format!("the package `{}` {}", one_line(written), refusal.reason());
                let finding = Diagnostic::new(Code::PackageSource, message);
                Err(match position {
                    Some(position) => finding.at(position),
                    None => finding,
                })
            }
        }
    }
}

/// Reads `packages` of a settings file: texts, or objects with a text `source`.
pub fn read_settings(bytes: &[u8]) -> (Vec<Named>, Vec<Diagnostic>) {
    let complaint = |position: Position, message: String| {
        let finding = Diagnostic::new(Code::PackageSettings, message);
        (Vec::new(), vec![finding.at(position)])
    };
    let start = Position::new(1, 1);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return complaint(start, "the settings are not UTF-8".to_owned());
    };
    if text.trim().is_empty() {
        return (Vec::new(), Vec::new());
    }
    let document = match json::parse(text) {
        Ok(document) => document,
        Err(fault) => {
            let message = format!("the settings cannot be read: {}", fault.message);
            return complaint(fault.position, message);
        }
    };
    if document.node.as_map().is_none() {
        let message = format!(
            "the settings are {}, not an object",
            kind_of(&document.node)
        );
        return complaint(document.node.position, message);
    }
    let Some(packages) = document.node.get("packages") else {
        return (Vec::new(), Vec::new());
    };
    let Value::List(items) = &packages.value else {
        let message = format!("`packages` is {}, not a list", kind_of(packages));
        return complaint(packages.position, message);
    };
    named_in(items, packages.position)
}

fn named_in(items: &[Node], position: Position) -> (Vec<Named>, Vec<Diagnostic>) {
    let (mut named, mut diagnostics) = (Vec::new(), Vec::new());
    for item in items.iter().take(MAX_NAMED) {
        let source = item.get("source").unwrap_or(item);
        let Some(written) = text_of(source) else {
            let message = format!(
                "a package is {}, neither text nor an object with `source`",
                kind_of(item)
            );
            diagnostics.push(Diagnostic::new(Code::PackageSource, message).at(item.position));
            continue;
        };
        match Named::read(written, Some(source.position)) {
            Ok(read) => named.push(read),
            Err(finding) => diagnostics.push(finding),
        }
    }
    if items.len() > MAX_NAMED {
        let message = format!(
            "{} packages are named; the first {MAX_NAMED} are looked at",
            items.len()
        );
        diagnostics.push(Diagnostic::new(Code::PackageLimit, message).at(position));
    }
    (named, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<(&'static str, u32)>) {
        let (named, diagnostics) = read_settings(text.as_bytes());
        let codes = diagnostics.iter().map(|finding| {
            let line = finding.position.map_or(0, |at| at.line);
            (finding.code.as_str(), line)
        });
        let codes = codes.collect();
        (
            named.into_iter().map(|named| named.written).collect(),
            codes,
        )
    }

    #[test]
    fn texts_and_objects_are_read_and_the_rest_is_said() {
        let text = "{\"packages\": [\n\"npm:a\",\n{\"source\": \"./b\", \"skills\": []},\n5,\n\"npm:../c\",\n{}]}";
        assert_eq!(
            read(text),
            (
                vec!["npm:a".to_owned(), "./b".to_owned()],
                vec![
                    ("package-source", 4),
                    ("package-source", 5),
                    ("package-source", 6)
                ]
            )
        );
        let none = Vec::<String>::new;
        assert_eq!(read("{}"), (none(), vec![]));
        assert_eq!(read(" "), (none(), vec![]));
        assert_eq!(read("[]"), (none(), vec![("package-settings", 1)]));
        assert_eq!(
            read("{\n\"packages\": 1}"),
            (none(), vec![("package-settings", 2)])
        );
        assert_eq!(read("{"), (none(), vec![("package-settings", 1)]));
        let many = vec!["\"npm:a\""; MAX_NAMED + 1].join(",");
        let (named, codes) = read(&format!("{{\"packages\": [{many}]}}"));
        assert_eq!(
            (named.len(), codes),
            (MAX_NAMED, vec![("package-limit", 1)])
        );
    }
}
