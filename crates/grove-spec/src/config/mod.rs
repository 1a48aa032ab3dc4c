//! `config.toml`: one layer from one file, and the settings that several layers make.
//!
//! A wrong value is a finding with file, line and key, and switches off that key alone. A project's
//! file may only narrow: it cannot set environment, folders, or permissions.

mod keys;
mod layer;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use keys::{KEYS, Key};
pub use layer::{Layer, parse};

/// Whose file a layer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerScope {
    /// The user's own configuration.
    User,
    /// A project's, which counts only once the project is trusted.
    Project,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// The line in it.
    pub line: u32,
}

/// A value with its origin; none means the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value in force.
    pub value: T,
    /// Who set it.
    pub origin: Option<Origin>,
}

impl<T> Sourced<T> {
    fn default_value(value: T) -> Self {
        Self {
            value,
            origin: None,
        }
    }
}

/// The hard limits, all configurable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Skill folders read per root.
    pub candidates_per_root: Sourced<u64>,
    /// Skills loaded per source.
    pub loaded_per_source: Sourced<u64>,
    /// Bytes of a skill file, inclusive.
    pub file_bytes: Sourced<u64>,
    /// Group levels above a skill folder.
    pub group_depth: Sourced<u64>,
    /// Skills in a prompt.
    pub prompt_skills: Sourced<u64>,
    /// Characters of a catalog.
    pub prompt_chars: Sourced<u64>,
    /// Characters of the skills in an agent's prompt.
    pub preload_chars: Sourced<u64>,
    /// Characters of a project's instructions in an agent's prompt.
    pub instruction_chars: Sourced<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            candidates_per_root: Sourced::default_value(300),
            loaded_per_source: Sourced::default_value(200),
            file_bytes: Sourced::default_value(256_000),
            group_depth: Sourced::default_value(6),
            prompt_skills: Sourced::default_value(150),
            prompt_chars: Sourced::default_value(30_000),
            preload_chars: Sourced::default_value(100_000),
            instruction_chars: Sourced::default_value(40_000),
        }
    }
}

/// What is configured for one skill, by its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillEntry {
    /// Switched on or off.
    pub enabled: Option<Sourced<bool>>,
    /// Variables for the child that needs them; values are never shown.
    pub env: BTreeMap<String, String>,
    /// The value for the skill's `primaryEnv`; never shown.
    pub api_key: Option<String>,
    /// Paths that are set and not false; they satisfy `requires.config`.
    pub config: Vec<String>,
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether other hosts' folders are looked in.
    pub compat_roots: Sourced<bool>,
    /// Further folders with skills.
    pub extra_dirs: Sourced<Vec<String>>,
    /// Further packages, as they are named.
    pub packages: Sourced<Vec<String>>,
    /// The limits.
    pub limits: Limits,
    /// Names that come first in a catalog.
    pub pinned: Sourced<Vec<String>>,
    /// Which bundled skills are allowed; none set means all.
    pub allow_bundled: Sourced<Option<Vec<String>>>,
    /// Which names are let through; none set means all.
    pub only: Sourced<Option<Vec<String>>>,
    /// Per-skill entries.
    pub entries: BTreeMap<String, SkillEntry>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compat_roots: Sourced::default_value(true),
            extra_dirs: Sourced::default_value(Vec::new()),
            packages: Sourced::default_value(Vec::new()),
            limits: Limits::default(),
            pinned: Sourced::default_value(Vec::new()),
            allow_bundled: Sourced::default_value(None),
            only: Sourced::default_value(None),
            entries: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Lays one more layer over what is there.
    ///
    /// A user's layer replaces; a project's can only narrow: lower limits, fewer names, switched off.
    pub fn lay(&mut self, layer: Layer, scope: LayerScope) {
        let narrow = scope == LayerScope::Project;
        if let Some(value) = layer.compat_roots
            && !(narrow && value.value)
        {
            self.compat_roots = value;
        }
        if let Some(value) = layer.extra_dirs {
            self.extra_dirs = value;
        }
        if let Some(value) = layer.packages
            && !narrow
        {
            self.packages = value;
        }
        let limits = &mut self.limits;
        for (slot, value) in [
            (&mut limits.candidates_per_root, layer.candidates_per_root),
            (&mut limits.loaded_per_source, layer.loaded_per_source),
            (&mut limits.file_bytes, layer.file_bytes),
            (&mut limits.group_depth, layer.group_depth),
            (&mut limits.prompt_skills, layer.prompt_skills),
            (&mut limits.prompt_chars, layer.prompt_chars),
            (&mut limits.preload_chars, layer.preload_chars),
            (&mut limits.instruction_chars, layer.instruction_chars),
        ] {
            if let Some(value) = value
                && !(narrow && value.value > slot.value)
            {
                *slot = value;
            }
        }
        if let Some(value) = layer.pinned
            && !narrow
        {
            self.pinned = value;
        }
        lay_names(&mut self.allow_bundled, layer.allow_bundled, narrow);
        lay_names(&mut self.only, layer.only, narrow);
        for (key, entry) in layer.entries {
            let slot = self.entries.entry(key).or_default();
            if let Some(enabled) = entry.enabled
                && !(narrow && enabled.value)
            {
                slot.enabled = Some(enabled);
            }
            slot.env.extend(entry.env);
            slot.api_key = entry.api_key.or(slot.api_key.take());
            slot.config.extend(entry.config);
        }
    }

    /// Lifts the two caps that leave skills out.
    pub fn lift_caps(&mut self) {
        self.limits.candidates_per_root = Sourced::default_value(u64::MAX);
        self.limits.loaded_per_source = Sourced::default_value(u64::MAX);
    }
}

fn lay_names(
    slot: &mut Sourced<Option<Vec<String>>>,
    layer: Option<Sourced<Vec<String>>>,
    narrow: bool,
) {
    let Some(mut layer) = layer else { return };
    if let (true, Some(already)) = (narrow, &slot.value) {
        layer.value.retain(|name| already.contains(name));
    }
    *slot = Sourced {
        value: Some(layer.value),
        origin: layer.origin,
    };
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn lay(user: &str, project: &str) -> Settings {
        let mut settings = Settings::default();
        settings.lay(
            parse(user, LayerScope::User, Path::new("u")).0,
            LayerScope::User,
        );
        settings.lay(
            parse(project, LayerScope::Project, Path::new("p")).0,
            LayerScope::Project,
        );
        settings
    }

    #[test]
    fn a_project_only_narrows() {
        let settings = lay(
            "[limits]\nfile_bytes = 1000\ngroup_depth = 4",
            "[limits]\nfile_bytes = 2000\ngroup_depth = 2",
        );
        assert_eq!(settings.limits.file_bytes.value, 1000);
        assert_eq!(settings.limits.group_depth.value, 2);
        assert_eq!(
            settings.limits.group_depth.origin,
            Some(Origin {
                file: "p".into(),
                line: 3
            })
        );
        let settings = lay("[skills]\nonly = ['a', 'b']", "[skills]\nonly = ['b', 'c']");
        assert_eq!(settings.only.value, Some(vec!["b".to_owned()]));
        let settings = lay(
            "[skills.entries.x]\nenabled = false",
            "[skills.entries.x]\nenabled = true",
        );
        assert_eq!(
            settings.entries["x"].enabled.as_ref().map(|e| e.value),
            Some(false)
        );
        let settings = lay("compat_roots = false", "compat_roots = true");
        assert!(!settings.compat_roots.value);
        let settings = lay("catalog.pinned = ['a']", "catalog.pinned = ['b']");
        assert_eq!(
            settings.pinned.value,
            ["a"],
            "what comes first is the user's"
        );
    }

    #[test]
    fn nothing_set_is_the_default() {
        assert_eq!(lay("", ""), Settings::default());
        assert_eq!(Settings::default().limits.file_bytes.value, 256_000);
    }
}
