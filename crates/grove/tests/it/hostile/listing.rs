//! `grove skills list --json` as a value.

use std::path::Path;

use serde::Deserialize;

/// All skills and what is said about the roots.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Listing {
    pub(crate) skills: Vec<Skill>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// One skill in the list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Skill {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) location: String,
    #[serde(default)]
    pub(crate) also_at: Vec<String>,
    pub(crate) source: String,
    pub(crate) address: String,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) stand_in: Option<String>,
    pub(crate) model_invocable: bool,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Why a skill is in its state.
#[derive(Debug, Deserialize)]
pub(crate) struct Reason {
    pub(crate) code: String,
}

/// One diagnostic.
#[derive(Debug, Deserialize)]
pub(crate) struct Diagnostic {
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) names: Vec<String>,
}

impl Skill {
    pub(crate) fn is_ok(&self) -> bool {
        self.state == "ok"
    }

    pub(crate) fn codes(&self) -> Vec<&str> {
        self.diagnostics.iter().map(|d| d.code.as_str()).collect()
    }
}

impl Diagnostic {
    pub(crate) fn is_error(&self) -> bool {
        self.severity == "error"
    }

    /// Whether it is more than a remark.
    pub(crate) fn needs_attention(&self) -> bool {
        self.severity != "info"
    }

    /// Whether it is about this path or something below it.
    pub(crate) fn is_about(&self, path: &Path) -> bool {
        let file = self.file.as_deref().map(Path::new);
        file.is_some_and(|file| file.starts_with(path))
    }
}

impl Listing {
    /// The skills that are not part of the program itself.
    pub(crate) fn found(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.source != "bundled")
    }

    /// The ids of all usable skills that are not part of the program itself.
    pub(crate) fn ok_ids(&self) -> Vec<&str> {
        let ok = self.found().filter(|skill| skill.is_ok());
        ok.map(|skill| skill.id.as_str()).collect()
    }

    /// How many usable skills have this name.
    pub(crate) fn count_ok(&self, name: &str) -> usize {
        let named = |skill: &&Skill| skill.is_ok() && skill.name == name;
        self.skills.iter().filter(named).count()
    }

    /// The skill with this id from this source.
    pub(crate) fn get(&self, source: &str, id: &str) -> Option<&Skill> {
        self.skills
            .iter()
            .find(|skill| skill.source == source && skill.id == id)
    }

    /// The state of the skill with this id, `absent` when there is none.
    pub(crate) fn state(&self, source: &str, id: &str) -> &str {
        self.get(source, id)
            .map_or("absent", |skill| skill.state.as_str())
    }

    /// All diagnostics, those of skills included.
    pub(crate) fn all_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let of_skills = self.skills.iter().flat_map(|skill| &skill.diagnostics);
        self.diagnostics.iter().chain(of_skills)
    }

    /// Whether some diagnostic has this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.all_diagnostics().any(|found| found.code == code)
    }

    /// Everything that matters when an expectation is not met, in few lines.
    pub(crate) fn summary(&self) -> String {
        let skills = self.found().map(|skill| {
            let (id, state) = (&skill.id, &skill.state);
            format!("{id:?} {state} {:?}", skill.codes())
        });
        let roots = self
            .diagnostics
            .iter()
            .map(|found| format!("{} {:?}", found.code, found.file));
        skills.chain(roots).collect::<Vec<_>>().join("; ")
    }
}
