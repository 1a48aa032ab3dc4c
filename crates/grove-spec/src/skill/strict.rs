//! Strict validation: every repair is reported, and so is every key outside the standard.

use super::fields::{SkillKey, is_standard_name};
use super::{ParsedSkill, check_folder};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::text::nearest;

/// Returns all findings about a file in a folder, for its author.
///
/// Keys of hosts that Grove understands are only noted; unknown keys and every repair count.
pub fn validate(parsed: &ParsedSkill, folder: &str) -> Vec<Diagnostic> {
    let mut findings = parsed.diagnostics.clone();
    if !parsed.is_valid() {
        return findings;
    }
    let top = Position::new(1, 1);
    match check_folder(parsed.skill.name.as_deref(), folder) {
        Some(finding) if finding.code == Code::NameMissing => {
            findings.push(finding.with_severity(Severity::Warning).at(top));
        }
        Some(finding) => findings.push(finding.at(top)),
        None => {}
    }
    if parsed.skill.name.is_none() && !is_standard_name(folder) {
        findings.push(
            Diagnostic::new(
                Code::NameInvalid,
                format!("the folder's name `{folder}` cannot be a skill's name"),
            )
            .at(top),
        );
    }
    for entry in &parsed.skill.unknown {
        if SkillKey::of(&entry.key).is_none() {
            let message = format!("`{}` is not a key of the standard", entry.key);
            let finding = Diagnostic::new(Code::UnknownField, message);
            findings.push(
                match nearest(&entry.key, SkillKey::names()) {
                    Some(meant) => finding.with_help(format!("did you mean `{meant}`?")),
                    None => finding,
                }
                .at(entry.position),
            );
        }
    }
    findings.sort_by_key(|finding| (finding.position, finding.code));
    findings
}

/// Returns true if a list of findings fails a validation.
pub fn fails(findings: &[Diagnostic]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity != Severity::Info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::parse;

    #[test]
    fn strictness_is_leniency_made_visible() {
        for (text, folder, expected) in [
            ("---\nname: a\ndescription: d\n---\n", "a", vec![]),
            (
                "---\nname: a\ndescription: d\nuser-invocable: false\n---\n",
                "a",
                vec![],
            ),
            (
                "---\nname: a\ndescription: d\n---\n",
                "b",
                vec!["name-mismatch"],
            ),
            (
                "---\nname: a\ndescription: d\nversion: 1\n---\n",
                "a",
                vec!["unknown-field"],
            ),
            ("---\ndescription: d\n---\n", "a", vec!["name-missing"]),
            (
                "---\nname: a\ndescription: Use when: x\n---\n",
                "a",
                vec!["yaml-repaired"],
            ),
            ("---\nname: a\n---\n", "a", vec!["description-missing"]),
            ("no\n", "a", vec!["frontmatter-missing"]),
        ] {
            let findings = validate(&parse(text), folder);
            let codes: Vec<_> = findings.iter().map(|f| f.code.as_str()).collect();
            assert_eq!(codes, expected, "{text:?}");
            assert_eq!(fails(&findings), !expected.is_empty(), "{text:?}");
        }
    }
}
