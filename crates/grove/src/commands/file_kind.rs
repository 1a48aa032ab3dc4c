//! The kind of a file that an author hands in, told by its name and the folders around it, and what is wrong with it.

use std::path::Path;

use grove_spec::agent::{edit, formats};
use grove_spec::config::{self, LayerScope};
use grove_spec::package::{Manifest, ManifestFile, read_settings};
use grove_spec::skill::{ParsedSkill, parse_within, strict};
use grove_spec::{Code, Diagnostic, Severity, agent, chain};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Skill,
    Agent(agent::AgentFormat),
    Chain(chain::ChainFormat),
    Manifest(ManifestFile),
    Config(LayerScope),
    PiSettings,
}

impl FileKind {
    /// Returns the kind of a file; one with no sign of another kind is a skill.
    pub(super) fn of(file: &Path) -> Self {
        let called = |path: Option<&Path>| {
            let name = path.and_then(Path::file_name).unwrap_or_default();
            name.to_str().unwrap_or_default().to_owned()
        };
        let (name, folder) = (called(Some(file)), called(file.parent()));
        let around = called(file.parent().and_then(Path::parent));
        if let Some(manifest) = ManifestFile::ALL
            .iter()
            .find(|it| file.ends_with(it.path()))
        {
            return Self::Manifest(*manifest);
        }
        if let Some(format) = chain::ChainFormat::of(&name) {
            return Self::Chain(format);
        }
        match (name.as_str(), folder.as_str()) {
            ("config.toml", ".grove") => return Self::Config(LayerScope::Project),
            ("config.toml", "grove") => return Self::Config(LayerScope::User),
            ("config.toml", ".codex") => return Self::Agent(agent::AgentFormat::CodexConfig),
            ("opencode.json" | "opencode.jsonc", _) => {
                return Self::Agent(agent::AgentFormat::OpencodeJson);
            }
            ("settings.json", ".pi") => return Self::PiSettings,
            ("settings.json", "agent") if around == ".pi" => return Self::PiSettings,
            _ => {}
        }
        let format = match around.as_str() {
            ".claude" => agent::AgentFormat::Claude,
            ".github" | ".copilot" => agent::AgentFormat::Copilot,
            ".gemini" => agent::AgentFormat::Gemini,
            ".opencode" | "opencode" => agent::AgentFormat::Opencode,
            ".codex" => agent::AgentFormat::Codex,
            _ => agent::AgentFormat::Native,
        };
        let is_agent = matches!(folder.as_str(), "agents" | "agent") && name != "SKILL.md";
        if is_agent && format.takes(&name) {
            return Self::Agent(format);
        }
        Self::Skill
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Agent(_) => "agent",
            Self::Chain(_) => "chain",
            Self::Manifest(_) => "manifest",
            Self::Config(_) | Self::PiSettings => "settings",
        }
    }

    /// Returns true if lines of the file may be shown: any line of settings may be a secret.
    pub(super) const fn may_be_quoted(self) -> bool {
        match self {
            Self::Skill | Self::Chain(_) | Self::Manifest(_) => true,
            Self::Agent(format) => !format.is_settings(),
            Self::Config(_) | Self::PiSettings => false,
        }
    }

    pub(super) fn findings(self, file: &Path, bytes: &[u8], limit: u64) -> Vec<Diagnostic> {
        match self {
            Self::Skill => {
                let is_skill_md = file.file_name().is_some_and(|name| name == "SKILL.md");
                let named_by = if is_skill_md {
                    file.parent().and_then(Path::file_name)
                } else {
                    file.file_stem()
                };
                let folder = named_by.unwrap_or_default().to_string_lossy();
                strict::validate(&parsed(bytes, limit), &folder)
            }
            Self::Agent(format) => {
                let found = formats::read(bytes, format).into_iter();
                found.flat_map(|agent| agent.parsed.diagnostics).collect()
            }
            Self::Chain(format) => chain::parse_bytes(bytes, format).diagnostics,
            Self::Manifest(manifest) => Manifest::read(bytes, manifest).diagnostics,
            Self::Config(scope) => match std::str::from_utf8(bytes) {
                Ok(text) => config::parse(text, scope, file).1,
                Err(error) => vec![Diagnostic::new(Code::Unreadable, error.to_string())],
            },
            Self::PiSettings => {
                let read = read_settings(bytes);
                let findings = read.fault.into_iter().chain(read.package_findings);
                findings.chain(read.skill_findings).collect()
            }
        }
    }

    /// The file as it should be written, where that is certain: frontmatter that was understood although it is not YAML,
    /// written so that every reader understands the same.
    pub(super) fn repaired(self, file: &Path, bytes: &[u8], limit: u64) -> Option<String> {
        if !matches!(self, Self::Skill | Self::Agent(_)) {
            return None;
        }
        let count = |bytes: &[u8], wanted: fn(&Diagnostic) -> bool| {
            let found = self.findings(file, bytes, limit);
            found.iter().filter(|it| wanted(it)).count()
        };
        let is_repaired: fn(&Diagnostic) -> bool = |it| it.code == Code::YamlRepaired;
        let is_error: fn(&Diagnostic) -> bool = |it| it.severity == Severity::Error;
        if count(bytes, is_repaired) == 0 {
            return None;
        }
        let written = edit::requoted(std::str::from_utf8(bytes).ok()?)?;
        let after = written.as_bytes();
        let is_right =
            count(after, is_repaired) == 0 && count(after, is_error) <= count(bytes, is_error);
        is_right.then_some(written)
    }
}

fn parsed(bytes: &[u8], limit: u64) -> ParsedSkill {
    parse_within(bytes, limit).unwrap_or_else(ParsedSkill::refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_by_name_and_folder() {
        for (file, kind) in [
            ("/a/pdf/SKILL.md", "skill"),
            ("/a/agents/SKILL.md", "skill"),
            ("/a/notes.md", "skill"),
            ("/h/.claude/agents/scout.md", "agent"),
            ("/h/.codex/agents/scout.toml", "agent"),
            ("/h/.codex/config.toml", "agent"),
            ("/p/.opencode/agent/scout.md", "agent"),
            ("/p/opencode.json", "agent"),
            ("/p/agents/scout.md", "agent"),
            ("/p/agents/build.chain.md", "chain"),
            ("/p/chains/build.chain.json", "chain"),
            ("/p/package.json", "manifest"),
            ("/p/.claude-plugin/plugin.json", "manifest"),
            ("/p/.grove/config.toml", "settings"),
            ("/h/.config/grove/config.toml", "settings"),
            ("/h/.pi/agent/settings.json", "settings"),
        ] {
            assert_eq!(FileKind::of(Path::new(file)).as_str(), kind, "{file}");
        }
        let claude = FileKind::of(Path::new("/h/.claude/agents/scout.md"));
        assert_eq!(claude, FileKind::Agent(agent::AgentFormat::Claude));
        assert!(claude.may_be_quoted());
        assert!(!FileKind::of(Path::new("/p/opencode.json")).may_be_quoted());
    }

    #[test]
    fn only_what_was_understood_is_written_anew() {
        let skill = |text: &str| {
            FileKind::Skill.repaired(Path::new("/a/pdf/SKILL.md"), text.as_bytes(), 256_000)
        };
        let loose = "---\nname: pdf\n# mine\ndescription: Use when: joining files\n---\n# Body\n";
        let quoted = loose.replace("Use when: joining files", "\"Use when: joining files\"");
        assert_eq!(skill(loose), Some(quoted.clone()));
        assert_eq!(skill(&quoted), None, "there is nothing more to do");
        assert_eq!(skill("---\nname: pdf\n---\n"), None, "nothing was repaired");
        assert_eq!(skill("no frontmatter"), None);
    }

    #[test]
    fn an_agent_is_written_anew_in_the_lines_that_are_no_yaml() {
        let file = Path::new("/h/.claude/agents/scout.md");
        let kind = FileKind::of(file);
        let loose = "---\nname: scout\ndescription: Looks around. Context: a new place.\\nuser: \"Where?\"\ntools: Read\n---\nYou look.\n";
        let written = kind.repaired(file, loose.as_bytes(), 256_000).unwrap();
        let read = |text: &str| formats::read(text.as_bytes(), agent::AgentFormat::Claude);
        let (before, after) = (read(loose), read(&written));
        assert_eq!(
            before[0].parsed.agent.description,
            after[0].parsed.agent.description
        );
        assert_eq!(after[0].parsed.diagnostics, []);
        assert!(
            written.ends_with("\ntools: Read\n---\nYou look.\n"),
            "{written}"
        );
        let unclear = loose.replace("tools: Read", "tools: Read: [");
        let unclear = kind.repaired(file, unclear.as_bytes(), 256_000);
        assert_eq!(unclear, None, "nobody knows which tools are meant");
    }
}
