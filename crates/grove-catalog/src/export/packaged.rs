//! Agents and skills of a package, for a host's own folders: keys that grant something are removed with a finding.
//!
//! A host lets the files in its own folders do more than a plugin, because it takes them for the owner's. A copy there
//! must not have more powers than its package had.

use grove_spec::agent::formats::granting::{self, ReducedKey};
use grove_spec::skill::{self, print};
use grove_spec::text::one_line;
use grove_spec::yaml::YamlEntry;
use grove_spec::{Code, Diagnostic};

use super::keys::KeyWriter;
use super::powers::quoted;

impl KeyWriter<'_, '_> {
    pub(super) fn shrunk(&mut self, entry: YamlEntry) -> Option<YamlEntry> {
        if !self.source.is_packaged {
            return Some(entry);
        }
        let (left, what) = match granting::without(&entry, self.source.format) {
            ReducedKey::Harmless => return Some(entry),
            ReducedKey::Partly(left) => (Some(left), "what it allows was left out"),
            ReducedKey::Gone => (None, "was left out"),
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

/// Returns the text of a package's skill without the keys that grant something, with findings about it.
///
/// It is printed from the parsed form, as another reader might find more in a plain copy than Grove does.
pub fn packaged_skill(name: &str, source: &str) -> (String, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut parsed = skill::parse(source);
    parsed.skill.unknown.retain(|entry| {
        let grants = granting::grants(&entry.key);
        if grants {
            let message = format!(
                "`{}` of skill `{name}`, which came with a package, was left out",
                one_line(&entry.key)
            );
            findings.push(Diagnostic::new(Code::ExportPowers, message).at(entry.position));
        }
        !grants
    });
    let text = printed_skill(&parsed, source);
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
    (text, findings)
}

/// Returns the text of a skill as it was parsed: the strictest reading stands for what could not be read.
pub fn printed_skill(parsed: &skill::ParsedSkill, source: &str) -> String {
    let body = source.get(parsed.body_offset..).unwrap_or_default();
    print::print(&parsed.skill, body)
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
    fn hooks_of_a_skill_are_left_out_however_they_are_written() {
        for hooks in [
            "hooks:\n  Stop:\n    - command: touch x",
            "\"h\\u006foks\":\n  Stop: x",
            "'hooks': {Stop: x}",
            "? hooks\n: {Stop: x}",
            "Hooks: {Stop: x}",
            "mcp-servers: {x: {command: y}}",
            "permissions: {allow: [Bash]}",
        ] {
            let source = format!("---\nname: s\n{hooks}\n# mine\ndescription: 'd'\n---\nBody\n");
            let (text, findings) = packaged_skill("s", &source);
            assert_eq!(text, "---\nname: s\ndescription: d\n---\nBody\n", "{hooks}");
            assert_eq!(said(&findings), [(Code::ExportPowers, Some(3))], "{hooks}");
        }
        let plain = "---\nname: s\ndescription: no hooks\n---\nBody\n";
        assert_eq!(packaged_skill("s", plain), (plain.to_owned(), vec![]));
    }

    #[test]
    fn tools_and_commands_of_a_skill_are_said() {
        let source = "---\nname: s\nallowed-tools: Bash(*), Read\n---\nNow !`date` is\n";
        let (text, findings) = packaged_skill("s", source);
        let printed = "---\nname: s\nallowed-tools:\n  - Bash(*)\n  - Read\n---\nNow !`date` is\n";
        assert_eq!(text, printed);
        assert_eq!(
            said(&findings),
            [(Code::ExportPowers, None), (Code::ExportPowers, Some(5))]
        );
        assert!(findings[0].message.contains("`Bash(*)`, `Read`"));
    }
}
