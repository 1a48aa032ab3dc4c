//! The reason why a host leaves out a skill that is otherwise fine. Grove itself leaves out none.

use grove_spec::Code;

use crate::hosts::{IdentityRules, MissingDescription, MissingName};
use crate::snapshot::Skill;
use crate::state::StateReason;

pub(crate) fn reason(rules: &IdentityRules, skill: &Skill) -> Option<StateReason> {
    let beyond = |length: usize, longest: Option<u64>| {
        longest.is_some_and(|longest| u64::try_from(length).is_ok_and(|length| length > longest))
    };
    if rules.missing_name == MissingName::Skip && skill.content.name().is_none() {
        return Some(StateReason::new(
            "no-name",
            "this host leaves out skills without a name",
            "add `name:` to its frontmatter",
        ));
    }
    if rules.missing_description == MissingDescription::Skip && skill.description().is_none() {
        return Some(StateReason::new(
            "no-description",
            "this host leaves out skills without a description",
            "add `description:` to its frontmatter",
        ));
    }
    if rules.honours_paths && skill.content.flags().has_paths {
        return Some(StateReason::new(
            "paths",
            "this host tells of a skill with `paths` once a file that they name is worked with",
            "take `paths:` out of its frontmatter if it is for all work",
        ));
    }
    let is_repaired = || {
        let findings = &skill.content.parsed().diagnostics;
        findings.iter().any(|one| one.code == Code::YamlRepaired)
    };
    if !rules.repairs && skill.content.flags().has_findings && is_repaired() {
        return Some(StateReason::new(
            "not-repaired",
            "this host leaves out skills whose frontmatter is not valid YAML",
            "put the value in double quotes",
        ));
    }
    let description = skill.description().unwrap_or_default();
    // The number of bytes is never less than that of characters, so only long texts are counted.
    if beyond(description.len(), rules.longest_description)
        && beyond(
            description.encode_utf16().count(),
            rules.longest_description,
        )
    {
        return Some(StateReason::new(
            "long-description",
            "this host leaves out skills with a description as long as this one's",
            "shorten its description",
        ));
    }
    let name = skill.name();
    if beyond(name.len(), rules.longest_name) && beyond(name.chars().count(), rules.longest_name) {
        return Some(StateReason::new(
            "long-name",
            "this host leaves out skills with a name as long as this one's",
            "shorten its name",
        ));
    }
    (!rules.name_form.takes(name)).then(|| {
        StateReason::new(
            "name-form",
            "this host leaves out skills with a name like this one's",
            "name it with ASCII letters, digits and hyphens",
        )
    })
}
