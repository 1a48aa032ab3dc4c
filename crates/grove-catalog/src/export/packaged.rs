//! What came with a package, for a host's own folders: whatever grants something is taken out and said.
//!
//! A host lets what is in its own folders do more than a plugin, because it takes it for its owner's. A copy there
//! must not have more than its package had.

use grove_spec::agent::edit;
use grove_spec::agent::formats::granting::{self, Shrunk};
use grove_spec::yaml::Entry;
use grove_spec::{Code, Diagnostic, fence, skill};

use super::keys::Writer;
use super::powers::quoted;

impl Writer<'_, '_> {
    /// A key of the host's own as it may be written.
    pub(super) fn shrunk(&mut self, entry: Entry) -> Option<Entry> {
        if !self.source.is_packaged {
            return Some(entry);
        }
        let (left, what) = match granting::without(&entry, self.source.format) {
            Shrunk::Harmless => return Some(entry),
            Shrunk::Partly(left) => (Some(left), "what it allows was left out"),
            Shrunk::Gone => (None, "was left out"),
        };
        let message = format!(
            "`{}` of agent `{}`, which came with a package, {what}: in the folders of {} it would be in force as \
             its owner's",
            entry.key, self.source.name, self.job.title
        );
        let finding = Diagnostic::new(Code::ExportPowers, message);
        self.diagnostics.push(finding.at(entry.position));
        left
    }
}

/// The text of a package's skill without the keys that grant something, and what is to be known of it; no text where
/// they cannot be taken out.
pub fn packaged_skill(name: &str, source: &str) -> (Option<String>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut text = source.to_owned();
    let parsed = skill::parse(source);
    for key in granting::OF_SKILLS {
        let place = |finding: Diagnostic| {
            let mut entries = parsed.skill.unknown.iter();
            match entries.find(|entry| entry.key == key) {
                Some(entry) => finding.at(entry.position),
                None => finding,
            }
        };
        match edit::remove(&text, key) {
            Ok(rest) if rest == text => {}
            Ok(rest) => {
                text = rest;
                let message =
                    format!("`{key}` of skill `{name}`, which came with a package, was left out");
                findings.push(place(Diagnostic::new(Code::ExportPowers, message)));
            }
            // Frontmatter that is not quite YAML may be more to a host than it is here.
            Err(_) if has_word(source, key) => {
                let message = format!(
                    "skill `{name}`, which came with a package, was left out: `{key}` cannot be taken out of its file"
                );
                findings.push(place(Diagnostic::new(Code::ExportPowers, message)));
                return (None, findings);
            }
            Err(_) => {}
        }
    }
    let tools = &parsed.skill.details().allowed_tools;
    if !tools.is_empty() {
        let message = format!(
            "skill `{name}`, which came with a package, lets its reader use {} without being asked",
            quoted(tools)
        );
        findings.push(Diagnostic::new(Code::ExportPowers, message));
    }
    let mut found = parsed.diagnostics.iter();
    if let Some(command) = found.find(|finding| finding.code == Code::DynamicCommand) {
        let message = format!(
            "skill `{name}`, which came with a package, has a command that some hosts run when they load it"
        );
        let finding = Diagnostic::new(Code::ExportPowers, message);
        findings.push(match command.position {
            Some(position) => finding.at(position),
            None => finding,
        });
    }
    (Some(text), findings)
}

fn has_word(source: &str, key: &str) -> bool {
    let frontmatter = fence::split(source).map_or(source, |fenced| fenced.frontmatter);
    frontmatter.contains(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(findings: &[Diagnostic]) -> Vec<(Code, Option<usize>)> {
        let findings = findings.iter();
        findings
            .map(|one| (one.code, one.position.map(|at| at.line as usize)))
            .collect()
    }

    #[test]
    fn hooks_of_a_skill_are_taken_out_and_the_rest_stays_as_it_is() {
        let source = "---\nname: s\nhooks:\n  Stop:\n    - command: touch x\n# mine\ndescription: 'd'\n---\nBody\n";
        let (text, findings) = packaged_skill("s", source);
        assert_eq!(
            text.as_deref(),
            Some("---\nname: s\n# mine\ndescription: 'd'\n---\nBody\n")
        );
        assert_eq!(said(&findings), [(Code::ExportPowers, Some(3))]);
        let plain = "---\nname: s\ndescription: no hooks\n---\nBody\n";
        assert_eq!(packaged_skill("s", plain), (Some(plain.to_owned()), vec![]));
    }

    #[test]
    fn a_skill_whose_hooks_cannot_be_taken_out_is_left_out() {
        let source = "---\n{name: s, description: d, hooks: {Stop: x}}\n---\nBody\n";
        let (text, findings) = packaged_skill("s", source);
        assert_eq!((text, findings.len()), (None, 1));
    }

    #[test]
    fn tools_and_commands_of_a_skill_are_said() {
        let source = "---\nname: s\nallowed-tools: Bash(*), Read\n---\nNow !`date` is\n";
        let (text, findings) = packaged_skill("s", source);
        assert_eq!(text.as_deref(), Some(source));
        assert_eq!(
            said(&findings),
            [(Code::ExportPowers, None), (Code::ExportPowers, Some(5))]
        );
        assert!(findings[0].message.contains("`Bash(*)`, `Read`"));
    }
}
