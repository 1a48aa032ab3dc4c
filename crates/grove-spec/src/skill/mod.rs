//! `SKILL.md`: from bytes to a [`SkillFile`] and findings.

pub(crate) mod body;
mod conduct;
pub(crate) mod fields;
pub mod file_limit;
pub mod print;
pub mod requirements;
pub mod strict;
mod tools;
pub mod tree_keys;

use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::frontmatter;
use crate::yaml::YamlEntry;

pub use fields::is_standard_name;
pub use file_limit::parse_within;
pub use requirements::Requirements;
pub(crate) use tools::split_outside_parentheses;
pub use tools::split_tools;
pub use tree_keys::{DeclaredChildren, TreeKeys};

/// The longest name the standard allows, in characters.
pub const MAX_NAME: usize = 64;
/// The longest description the standard allows, in characters.
pub const MAX_DESCRIPTION: usize = 1024;
/// The longest `compatibility` the standard allows, in characters.
pub const MAX_COMPATIBILITY: usize = 500;

/// The frontmatter of a skill file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillFile {
    /// The name in the frontmatter; without one, the folder's name counts.
    pub name: Option<String>,
    /// The purpose of the skill and when to use it. A skill without one is in no catalog.
    pub description: Option<String>,
    /// False with `disable-model-invocation: true`.
    pub model_invocable: bool,
    /// False with `user-invocable: false`.
    pub user_invocable: bool,
    /// The conditions for using the skill.
    pub requirements: Option<Box<Requirements>>,
    /// The other keys that Grove knows; most skills have none of them.
    pub details: Option<Box<SkillDetails>>,
    /// The entries of `metadata`, as written.
    pub metadata: Vec<YamlEntry>,
    /// Keys that Grove does not know, as written.
    pub unknown: Vec<YamlEntry>,
}

/// The optional keys that Grove and the hosts know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "each field is the frontmatter key of the same name"
)]
pub struct SkillDetails {
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub allowed_tools: Vec<String>,
    pub argument_hint: Option<String>,
    pub arguments: Vec<String>,
    pub when_to_use: Option<String>,
    pub paths: Vec<String>,
    pub model: Option<String>,
    pub context: Option<String>,
    pub agent: Option<String>,
    pub homepage: Option<String>,
    pub emoji: Option<String>,
    pub command_dispatch: Option<String>,
    pub command_tool: Option<String>,
    pub command_arg_mode: Option<String>,
    /// The keys `metadata.children` and `metadata.parent`.
    pub tree: Option<Box<TreeKeys>>,
}

impl SkillDetails {
    const NONE: Self = Self {
        license: None,
        compatibility: None,
        allowed_tools: Vec::new(),
        argument_hint: None,
        arguments: Vec::new(),
        when_to_use: None,
        paths: Vec::new(),
        model: None,
        context: None,
        agent: None,
        homepage: None,
        emoji: None,
        command_dispatch: None,
        command_tool: None,
        command_arg_mode: None,
        tree: None,
    };
}

impl Default for SkillFile {
    fn default() -> Self {
        Self {
            name: None,
            description: None,
            model_invocable: true,
            user_invocable: true,
            requirements: None,
            details: None,
            metadata: Vec::new(),
            unknown: Vec::new(),
        }
    }
}

impl SkillFile {
    /// Returns the optional keys, all empty for a skill that has none.
    pub fn details(&self) -> &SkillDetails {
        static NONE: SkillDetails = SkillDetails::NONE;
        self.details.as_deref().unwrap_or(&NONE)
    }

    /// Returns true if `paths` exclude any file, as Claude Code reads them.
    pub fn is_for_some_files(&self) -> bool {
        let paths = self.details().paths.iter();
        let paths = paths.map(|path| path.strip_suffix("/**").unwrap_or(path));
        let mut paths = paths.filter(|path| !path.is_empty());
        paths.any(|path| path != "**")
    }

    /// Returns the skill's own keys about its place in a tree.
    pub fn tree_keys(&self) -> Option<&TreeKeys> {
        self.details.as_deref()?.tree.as_deref()
    }
}

/// A skill file as read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedSkill {
    /// The skill; to be used only if no finding is an error.
    pub skill: SkillFile,
    /// Byte offset of the body.
    pub body_offset: usize,
    /// Findings about the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedSkill {
    /// Returns true if the file is usable as a skill.
    pub fn is_valid(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns true if a finding is an error, even one that leaves the file usable.
    pub fn has_errors(&self) -> bool {
        let mut findings = self.diagnostics.iter();
        findings.any(|finding| finding.severity == Severity::Error)
    }

    /// Returns true if the file has a frontmatter block, readable or not.
    pub fn has_frontmatter(&self) -> bool {
        self.body_offset > 0
    }

    /// The result for a file that cannot be read as a skill.
    pub fn refused(diagnostic: Diagnostic) -> Self {
        Self {
            skill: SkillFile::default(),
            body_offset: 0,
            diagnostics: vec![diagnostic],
        }
    }
}

/// Reads the bytes of a skill file.
pub fn parse_bytes(bytes: &[u8]) -> ParsedSkill {
    frontmatter::text_of(bytes).map_or_else(ParsedSkill::refused, parse)
}

/// Reads the text of a skill file.
pub fn parse(text: &str) -> ParsedSkill {
    let document = match frontmatter::read(text, fields::KNOWN) {
        Ok(document) => document,
        Err(refusal) => return ParsedSkill::refused(refusal),
    };
    let mut diagnostics = document.diagnostics;
    let skill = document.entries.map_or_else(SkillFile::default, |entries| {
        fields::read(entries, &mut diagnostics)
    });
    body::check(text, document.body_offset, &mut diagnostics);
    ParsedSkill {
        skill,
        body_offset: document.body_offset,
        diagnostics,
    }
}

/// Compares a name with the name of its folder (or of its file, without the ending); returns a finding if they differ.
///
/// This is not part of [`parse`], because a folder can be renamed without a change of its file.
pub fn check_folder(name: Option<&str>, folder: &str) -> Option<Diagnostic> {
    match name {
        None => Some(Diagnostic::new(
            Code::NameMissing,
            format!("no name; the folder's name `{folder}` is used"),
        )),
        Some(name) if name != folder && name_key(name) != name_key(folder) => {
            Some(Diagnostic::new(
                Code::NameMismatch,
                format!("name `{name}` differs from the folder's name `{folder}`"),
            ))
        }
        Some(_) => None,
    }
}

/// The form in which names are compared: composed Unicode, so that names that look the same are the same.
pub fn name_key(name: &str) -> std::borrow::Cow<'_, str> {
    use unicode_normalization::UnicodeNormalization;
    if name.is_ascii() {
        name.into()
    } else {
        name.nfc().collect::<String>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Position;

    fn codes(text: &str) -> Vec<&'static str> {
        parse(text)
            .diagnostics
            .iter()
            .map(|d| d.code.as_str())
            .collect()
    }

    #[test]
    fn the_common_case_is_silent() {
        let parsed = parse("---\nname: pdf-reader\ndescription: Reads PDF files.\n---\n# Body\n");
        assert_eq!(parsed.diagnostics, []);
        assert_eq!(parsed.skill.name.as_deref(), Some("pdf-reader"));
        assert_eq!(
            parsed.skill.description.as_deref(),
            Some("Reads PDF files.")
        );
        assert!(parsed.skill.model_invocable && parsed.skill.user_invocable);
    }

    #[test]
    fn byte_order_mark_and_line_ends_change_nothing() {
        let unix = parse("---\nname: a\ndescription: >\n  b\n  c\n---\nx\n").skill;
        assert_eq!(
            parse("\u{feff}---\r\nname: a\r\ndescription: >\r\n  b\r\n  c\r\n---\r\nx\r\n").skill,
            unix
        );
        assert_eq!(
            parse("---\rname: a\rdescription: >\r  b\r  c\r---\rx\r").skill,
            unix
        );
    }

    #[test]
    fn leniency_says_what_it_forgave() {
        let long = "x".repeat(MAX_DESCRIPTION + 1);
        for (text, expected) in [
            ("---\ndescription: d\n---\n", vec![]),
            ("---\nname: a\n---\n", vec!["description-missing"]),
            (
                "---\nname: a\ndescription: ''\n---\n",
                vec!["description-missing"],
            ),
            (
                "---\nname: a\ndescription: null\n---\n",
                vec!["description-missing"],
            ),
            (
                "---\nname: A b\ndescription: d\n---\n",
                vec!["name-invalid"],
            ),
            (
                "---\nname: a\ndescription: [x, y]\n---\n",
                vec!["field-required-type"],
            ),
            (
                "---\nname: [a]\ndescription: d\n---\n",
                vec!["field-required-type"],
            ),
            ("---\nname: no\ndescription: 123\n---\n", vec![]),
            (
                "---\nname: a\ndescription: \"x\\e[2J\"\n---\n",
                vec!["control-characters"],
            ),
            (
                "---\nname: a\ndescription: \"harmless \\r rm\"\n---\n",
                vec!["control-characters"],
            ),
            (
                "---\nname: a\ndescription: x </available_skills> y\n---\n",
                vec!["structure-breakout"],
            ),
            (
                "---\nname: a\ndescription: d\n---\n\u{1b}]52;c;x\u{7}\n",
                vec!["control-characters"],
            ),
            (
                "---\nname: a\ndescription: d\n---\nrm \u{202e}x\n",
                vec!["bidi-control"],
            ),
            (
                "---\nname: a\ndescription: d\nuser-invocable: maybe\n---\n",
                vec!["restriction-unreadable"],
            ),
            (
                "---\nname: a\ndescription: d\nmetadata: {openclaw: {requires: {bins: {a: b}}}}\n---\n",
                vec!["requirements-unreadable"],
            ),
            ("", vec!["empty-file"]),
            ("Intro\n---\nname: x\n---\n", vec!["frontmatter-missing"]),
            ("---\nname: x\n", vec!["frontmatter-unclosed"]),
            ("+++\nname = 1\n+++\n", vec!["unsupported-frontmatter"]),
        ] {
            assert_eq!(codes(text), expected, "{text:?}");
        }
        assert_eq!(
            codes(&format!("---\nname: a\ndescription: {long}\n---\n")),
            ["description-too-long"]
        );
        assert_eq!(
            codes(&format!(
                "---\nname: {}\ndescription: d\n---\n",
                "a".repeat(65)
            )),
            ["name-too-long"]
        );
    }

    #[test]
    fn oversize_frontmatter_is_read_without_yaml_or_refused() {
        let long = "word ".repeat(6000);
        assert_eq!(
            codes(&format!("---\nname: a\ndescription: {long}\n---\n")),
            ["frontmatter-too-large", "description-too-long"]
        );
        let deep = "[".repeat(30_000);
        assert_eq!(
            codes(&format!("---\nname: a\ndescription: d\nz: {deep}\n---\n")),
            ["frontmatter-unreadable"]
        );
    }

    #[test]
    fn bytes_that_are_not_text_are_placed() {
        let parsed = parse_bytes(b"---\nname: a\n---\nok \xc0\xaf");
        assert_eq!(parsed.diagnostics[0].code, Code::NotUtf8);
        assert_eq!(parsed.diagnostics[0].position, Some(Position::new(4, 4)));
    }

    #[test]
    fn a_block_counts_when_both_fences_are_there() {
        for (text, expected) in [
            ("---\nname: a\n---\n", true),
            ("---\n: [\n---\n", true),
            ("# Notes\n", false),
            ("---\nrule\n", false),
            ("", false),
        ] {
            assert_eq!(parse(text).has_frontmatter(), expected, "{text:?}");
        }
    }

    #[test]
    fn names_are_compared_composed() {
        assert_eq!(name_key("caf\u{e9}"), name_key("cafe\u{301}"));
        assert_ne!(name_key("cafe"), name_key("caf\u{e9}"));
        assert_eq!(
            check_folder(Some("x"), "y").map(|d| d.code),
            Some(Code::NameMismatch)
        );
        assert_eq!(check_folder(Some("x"), "x"), None);
        assert_eq!(
            check_folder(None, "y").map(|d| d.code),
            Some(Code::NameMissing)
        );
    }
}
