//! Whether the machine and the configuration have what a skill needs. One evaluator answers list,
//! check and prompt.

use std::collections::BTreeSet;

use grove_spec::config::SkillEntry;
use grove_spec::skill::{Requirements, requirements};

use crate::state::Reason;

/// What the machine has, as far as any skill asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
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

/// Everything that is missing; empty means eligible.
pub fn missing(needed: &Requirements, facts: &Facts, entry: Option<&SkillEntry>) -> Vec<Reason> {
    if let Some(why) = &needed.unreadable {
        return vec![Reason::new(
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
        reasons.push(Reason::new(
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
        reasons.push(Reason::new(
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
        reasons.push(Reason::new(
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
            reasons.push(Reason::new(
                "env",
                format!("variable `{variable}` is not set"),
                format!("set `{variable}`, or give it in the skill's entry in config.toml"),
            ));
        }
    }
    for path in &needed.config {
        if !entry.is_some_and(|entry| entry.config.contains(path)) {
            reasons.push(Reason::new(
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

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_missing_is_named() {
        let facts = Facts {
            os: "linux".into(),
            programs: set(&["git"]),
            environment: set(&["HOME"]),
        };
        let entry = SkillEntry {
            env: [
                ("TOKEN".to_owned(), "x".to_owned()),
                ("BLANK".to_owned(), " ".to_owned()),
            ]
            .into(),
            api_key: Some("k".into()),
            config: list(&["browser.enabled"]),
            ..SkillEntry::default()
        };
        let none = Requirements::default();
        let cases: Vec<(Requirements, Option<&SkillEntry>, Vec<&str>)> = vec![
            (none.clone(), None, vec![]),
            (
                Requirements {
                    os: list(&["linux"]),
                    ..none.clone()
                },
                None,
                vec![],
            ),
            (
                Requirements {
                    os: list(&["darwin"]),
                    ..none.clone()
                },
                None,
                vec!["os"],
            ),
            (
                Requirements {
                    bins: list(&["git", "gh"]),
                    ..none.clone()
                },
                None,
                vec!["bin"],
            ),
            (
                Requirements {
                    any_bins: list(&["rg", "git"]),
                    ..none.clone()
                },
                None,
                vec![],
            ),
            (
                Requirements {
                    any_bins: list(&["rg", "ag"]),
                    ..none.clone()
                },
                None,
                vec!["any-bin"],
            ),
            (
                Requirements {
                    env: list(&["HOME"]),
                    ..none.clone()
                },
                None,
                vec![],
            ),
            (
                Requirements {
                    env: list(&["TOKEN"]),
                    ..none.clone()
                },
                None,
                vec!["env"],
            ),
            (
                Requirements {
                    env: list(&["TOKEN"]),
                    ..none.clone()
                },
                Some(&entry),
                vec![],
            ),
            (
                Requirements {
                    env: list(&["BLANK"]),
                    ..none.clone()
                },
                Some(&entry),
                vec!["env"],
            ),
            (
                Requirements {
                    env: list(&["KEY"]),
                    primary_env: Some("KEY".into()),
                    ..none.clone()
                },
                Some(&entry),
                vec![],
            ),
            (
                Requirements {
                    env: list(&["KEY"]),
                    ..none.clone()
                },
                Some(&entry),
                vec!["env"],
            ),
            (
                Requirements {
                    config: list(&["browser.enabled"]),
                    ..none.clone()
                },
                Some(&entry),
                vec![],
            ),
            (
                Requirements {
                    config: list(&["x"]),
                    ..none.clone()
                },
                Some(&entry),
                vec!["config"],
            ),
            (
                Requirements {
                    bins: list(&["gh"]),
                    env: list(&["T"]),
                    config: list(&["x"]),
                    always: true,
                    ..none.clone()
                },
                None,
                vec![],
            ),
            (
                Requirements {
                    os: list(&["darwin"]),
                    always: true,
                    ..none.clone()
                },
                None,
                vec!["os"],
            ),
            (
                Requirements {
                    unreadable: Some("why".into()),
                    always: true,
                    ..none.clone()
                },
                None,
                vec!["requirements-unreadable"],
            ),
        ];
        for (needed, entry, expected) in cases {
            let codes: Vec<String> = missing(&needed, &facts, entry)
                .into_iter()
                .map(|reason| reason.code)
                .collect();
            assert_eq!(codes, expected, "{needed:?}");
        }
    }

    #[test]
    fn entries_are_keyed_by_skill_key_or_name() {
        let keyed = Requirements {
            skill_key: Some("k".into()),
            ..Requirements::default()
        };
        assert_eq!(entry_key(Some(&keyed), "n"), "k");
        assert_eq!(entry_key(Some(&Requirements::default()), "n"), "n");
        assert_eq!(entry_key(None, "n"), "n");
    }
}
