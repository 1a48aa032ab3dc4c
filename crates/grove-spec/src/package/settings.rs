//! The packages and the folders with skills that a settings file of pi names.

use super::choice::SkillFilter;
use super::skill_folders::{self, NamedFolder};
use super::source::{self, PackageSource};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json::{self, kind_of, text_of};
use crate::yaml::{YamlNode, YamlValue};

/// The most packages, and the most folders with skills, that one settings file may name.
pub const MAX_NAMED: usize = 200;

/// A package that a settings file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPackage {
    /// The source that its name stands for.
    pub source: PackageSource,
    /// The name as it is written.
    pub written: String,
    /// The position in the settings file.
    pub position: Option<Position>,
    /// The choice among its skills.
    pub skills: SkillFilter,
}

impl NamedPackage {
    /// Reads one name, or returns a finding if it cannot be resolved.
    pub fn read(written: &str, position: Option<Position>) -> Result<Self, Diagnostic> {
        match PackageSource::parse(written) {
            Ok(source) => Ok(Self {
                source,
                written: source::shown(written),
                position,
                skills: SkillFilter::Unsaid,
            }),
            Err(refusal) => {
                let message = format!("the package `{}` {refusal}", source::shown(written));
                Err(Diagnostic::new(Code::PackageSource, message).at(position))
            }
        }
    }
}

/// The packages and folders that a settings file of pi names.
#[derive(Debug, Default)]
pub struct PiSettings {
    /// The packages it names.
    pub packages: Vec<NamedPackage>,
    /// The folders with skills that it names.
    pub skills: Vec<NamedFolder>,
    /// The fault of the file as a whole; then nothing in it is used.
    pub fault: Option<Diagnostic>,
    /// Findings about the key `packages`.
    pub package_findings: Vec<Diagnostic>,
    /// Findings about the key `skills`.
    pub skill_findings: Vec<Diagnostic>,
}

/// Reads a settings file: `packages` are texts or objects with a text `source`, `skills` are paths of folders.
///
/// A fault in one key does not affect the other.
pub fn read_settings(bytes: &[u8]) -> PiSettings {
    let document = match document_of(bytes) {
        Ok(Some(document)) => document,
        Ok(None) => return PiSettings::default(),
        Err(fault) => {
            return PiSettings {
                fault: Some(fault),
                ..PiSettings::default()
            };
        }
    };
    let mut settings = PiSettings::default();
    if let Some(packages) = document.get("packages") {
        (settings.packages, settings.package_findings) = named_in(packages);
    }
    if let Some(skills) = document.get("skills") {
        (settings.skills, settings.skill_findings) = skill_folders::read(skills);
    }
    settings
}

/// The object in a settings file; nothing if the file is blank.
fn document_of(bytes: &[u8]) -> Result<Option<YamlNode>, Diagnostic> {
    let complaint = |position: Position, message: String| {
        Diagnostic::new(Code::PackageSettings, message).at(position)
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        let start = Position::new(1, 1);
        return Err(complaint(start, "the settings are not UTF-8".to_owned()));
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    let document = json::parse(text).map_err(|fault| {
        let message = format!("the settings cannot be read: {}", fault.message);
        complaint(fault.position, message)
    })?;
    if document.node.as_map().is_none() {
        let message = format!(
            "the settings are {}, not an object",
            kind_of(&document.node)
        );
        return Err(complaint(document.node.position, message));
    }
    Ok(Some(document.node))
}

fn named_in(packages: &YamlNode) -> (Vec<NamedPackage>, Vec<Diagnostic>) {
    let YamlValue::List(items) = &packages.value else {
        let message = format!("`packages` is {}, not a list", kind_of(packages));
        let finding = Diagnostic::new(Code::PackageSettings, message);
        return (Vec::new(), vec![finding.at(packages.position)]);
    };
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
        match NamedPackage::read(written, Some(source.position)) {
            Ok(mut read) => {
                let (skills, findings) = SkillFilter::read(item);
                read.skills = skills;
                diagnostics.extend(findings);
                named.push(read);
            }
            Err(finding) => diagnostics.push(finding),
        }
    }
    if items.len() > MAX_NAMED {
        let message = format!(
            "{} packages are named; the first {MAX_NAMED} are looked at",
            items.len()
        );
        diagnostics.push(Diagnostic::new(Code::PackageLimit, message).at(packages.position));
    }
    (named, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<(&'static str, u32)>) {
        let settings = read_settings(text.as_bytes());
        let codes = coded(settings.fault.iter().chain(&settings.package_findings));
        let named = settings.packages.into_iter();
        (named.map(|named| named.written).collect(), codes)
    }

    fn coded<'a>(findings: impl Iterator<Item = &'a Diagnostic>) -> Vec<(&'static str, u32)> {
        findings
            .map(|finding| {
                let line = finding.position.map_or(0, |at| at.line);
                (finding.code.as_str(), line)
            })
            .collect()
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

    #[test]
    fn folders_with_skills_are_read_beside_packages_and_neither_costs_the_other() {
        let read = |text: &str| {
            let settings = read_settings(text.as_bytes());
            let folders = settings.skills.iter();
            (
                folders
                    .map(|folder| (folder.path.clone(), folder.position.line))
                    .collect::<Vec<_>>(),
                coded(settings.skill_findings.iter()),
                settings.packages.len(),
            )
        };
        let text =
            "{\"skills\": [\n\"a\",\n7,\n\"!b\",\n{},\n\" ~/c \"],\n\"packages\": [\"npm:p\"]}";
        assert_eq!(
            read(text),
            (
                vec![("a".to_owned(), 2), ("~/c".to_owned(), 6)],
                vec![
                    ("skill-folder-value", 3),
                    ("skill-folder-value", 4),
                    ("skill-folder-value", 5)
                ],
                1
            )
        );
        for wrong in ["7", "\"a\"", "{\"a\": 1}", "null", "true"] {
            let text = format!("{{\n\"skills\": {wrong},\n\"packages\": [\"npm:p\"]}}");
            let (folders, codes, packages) = read(&text);
            assert_eq!(
                (folders.len(), codes, packages),
                (0, vec![("skill-folder-value", 2)], 1),
                "{wrong}"
            );
        }
        let (folders, codes, packages) = read("{\"skills\": [\"a\"], \"packages\": 1}");
        assert_eq!((folders.len(), codes, packages), (1, vec![], 0));
        assert_eq!(read("{\"skills\": []}"), (vec![], vec![], 0));
        let many = vec!["\"a\""; 10_000].join(",");
        let (folders, codes, _) = read(&format!("{{\"skills\": [{many}]}}"));
        assert_eq!(
            (folders.len(), codes),
            (MAX_NAMED, vec![("skill-folder-limit", 1)])
        );
    }

    #[test]
    fn a_wrong_value_is_named_by_its_key() {
        for (text, key) in [
            ("{\"skills\": 1}", "`skills`"),
            ("{\"skills\": [\"a\", 1]}", "`skills[1]`"),
            ("{\"skills\": [\"\"]}", "`skills[0]`"),
        ] {
            let settings = read_settings(text.as_bytes());
            let message = &settings.skill_findings[0].message;
            assert!(message.contains(key), "{message}");
        }
    }
}
