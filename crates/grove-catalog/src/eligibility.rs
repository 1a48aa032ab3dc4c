//! The test if the machine and the configuration have what a skill needs. One evaluator answers list, check and prompt.

use std::collections::{BTreeMap, BTreeSet};

use grove_spec::config::SkillEntry;
use grove_spec::skill::{Requirements, requirements};

use crate::root::RootSource;
use crate::state::StateReason;

/// The facts about the machine that any skill asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The operating system's name; compared as [`requirements::os_name`] spells it.
    pub os: String,
    /// The programs that were found, of those asked for.
    pub programs: BTreeSet<String>,
    /// The environment variables that are set and not blank, of those asked for.
    pub environment: BTreeSet<String>,
}

/// The key of a skill's entry in the configuration: its `skillKey`, or its name.
pub fn entry_key<'a>(requirements: Option<&'a Requirements>, name: &'a str) -> &'a str {
    requirements
        .and_then(|needed| needed.skill_key.as_deref())
        .unwrap_or(name)
}

/// Returns the configuration entry whose values a skill gets.
///
/// An entry belongs to the skill that it was written for. A person's own skills and those that come with Grove are named
/// by their `skillKey` or their name. A package may name any `skillKey`, so its skills are known by their names alone; a
/// project may name both, so its skills get nothing that the entry does not give to projects.
pub fn entry_with_values<'a>(
    entries: &'a BTreeMap<String, SkillEntry>,
    source: RootSource,
    requirements: Option<&Requirements>,
    name: &str,
) -> Option<&'a SkillEntry> {
    let key = entry_key(requirements, name);
    let entry = entries.get(key)?;
    let may_have = match source {
        RootSource::Project => entry.project,
        RootSource::Package => entry.project || key == name,
        RootSource::Bundled | RootSource::Extra | RootSource::Managed | RootSource::User => true,
    };
    may_have.then_some(entry)
}

/// Returns everything that is missing; empty means eligible.
pub fn missing(
    needed: &Requirements,
    facts: &MachineFacts,
    entry: Option<&SkillEntry>,
) -> Vec<StateReason> {
    if let Some(why) = &needed.unreadable {
        return vec![StateReason::new(
            "requirements-unreadable",
            why.clone(),
            "correct the requirements in the frontmatter",
        )];
    }
    let mut reasons = Vec::new();
    if !needed.os.is_empty()
        && !needed
            .os
            .iter()
            .any(|os| *os == requirements::os_name(&facts.os))
    {
        reasons.push(StateReason::new(
            "os",
            format!(
                "works on {} only, and this is {}",
                needed.os.join(", "),
                facts.os
            ),
            "use it on one of these systems",
        ));
    }
    if needed.always {
        return reasons;
    }
    for program in needed
        .bins
        .iter()
        .filter(|program| !facts.programs.contains(*program))
    {
        reasons.push(StateReason::new(
            "bin",
            format!("program `{program}` is not on the path"),
            format!("install `{program}`"),
        ));
    }
    if !needed.any_bins.is_empty()
        && !needed
            .any_bins
            .iter()
            .any(|program| facts.programs.contains(program))
    {
        let names = needed.any_bins.join("`, `");
        reasons.push(StateReason::new(
            "any-bin",
            format!("none of `{names}` is on the path"),
            format!("install one of `{names}`"),
        ));
    }
    for variable in &needed.env {
        let configured = entry.is_some_and(|entry| {
            entry
                .env
                .get(variable)
                .is_some_and(|value| !value.trim().is_empty())
                || (needed.primary_env.as_ref() == Some(variable)
                    && entry
                        .api_key
                        .as_ref()
                        .is_some_and(|key| !key.trim().is_empty()))
        });
        if !configured && !facts.environment.contains(variable) {
            reasons.push(StateReason::new(
                "env",
                format!("variable `{variable}` is not set"),
                format!("set `{variable}`, or give it in the skill's entry in config.toml"),
            ));
        }
    }
    for path in &needed.config {
        if !entry.is_some_and(|entry| entry.config.contains(path)) {
            reasons.push(StateReason::new(
                "config",
                format!("configuration `{path}` is not set"),
                format!("set `{path}` under the skill's `config` in config.toml"),
            ));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str) -> BTreeSet<String> {
        BTreeSet::from([name.to_owned()])
    }

    /// Returns the requirements in a frontmatter with these keys for Grove.
    fn requirements(keys: &str) -> Requirements {
        let text = format!("---\nname: a\nmetadata: {{grove: {{{keys}}}}}\n---\n");
        let skill = grove_spec::skill::parse(&text).skill;
        skill.requirements.map(|needed| *needed).unwrap_or_default()
    }

    #[test]
    fn what_is_missing_is_named() {
        let facts = MachineFacts {
            os: "linux".into(),
            programs: set("git"),
            environment: set("HOME"),
        };
        let env = [("TOKEN", "x"), ("BLANK", " ")];
        let configured = SkillEntry {
            env: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            api_key: Some("k".into()),
            config: vec!["browser.enabled".to_owned()],
            ..SkillEntry::default()
        };
        let (none, some) = (None, Some(&configured));
        for (keys, entry, expected) in [
            ("", none, ""),
            ("os: [linux]", none, ""),
            ("os: [darwin]", none, "os"),
            ("requires: {bins: [git, gh]}", none, "bin"),
            ("requires: {anyBins: [rg, git]}", none, ""),
            ("requires: {anyBins: [rg, ag]}", none, "any-bin"),
            ("requires: {env: [HOME]}", none, ""),
            ("requires: {env: [TOKEN]}", none, "env"),
            ("requires: {env: [TOKEN]}", some, ""),
            ("requires: {env: [BLANK]}", some, "env"),
            ("requires: {env: [KEY]}, primaryEnv: KEY", some, ""),
            ("requires: {env: [KEY]}", some, "env"),
            ("requires: {config: [browser.enabled]}", some, ""),
            ("requires: {config: [x]}", some, "config"),
            (
                "requires: {bins: [gh], env: [T], config: [x]}",
                none,
                "bin env config",
            ),
            (
                "requires: {bins: [gh], env: [T], config: [x]}, always: true",
                none,
                "",
            ),
            ("os: [darwin], always: true", none, "os"),
            (
                "requires: text, always: true",
                none,
                "requirements-unreadable",
            ),
        ] {
            let missing = missing(&requirements(keys), &facts, entry);
            let codes: Vec<&str> = missing.iter().map(|reason| reason.code.as_str()).collect();
            assert_eq!(codes.join(" "), expected, "{keys}");
        }
    }

    #[test]
    fn entries_are_keyed_by_skill_key_or_name() {
        for (keys, expected) in [("skillKey: k", "k"), ("always: true", "n")] {
            assert_eq!(entry_key(Some(&requirements(keys)), "n"), expected);
        }
        assert_eq!(entry_key(None, "n"), "n");
    }
}
