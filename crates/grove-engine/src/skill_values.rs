//! The values that the configuration gives to skills.

use grove_catalog::eligibility::entry_with_values;
use grove_model::Secret;
use grove_skills::Discovery;
use grove_spec::variables::is_refused;

/// Returns what the configuration gives a skill: its variables, and its key under the name that the skill says.
pub(crate) fn variables_of(look: &Discovery, at: usize) -> Vec<(String, Secret)> {
    let Some(skill) = look.snapshot.skills.get(at) else {
        return Vec::new();
    };
    let needed = skill.content.parsed().skill.requirements.as_deref();
    let entries = &look.world.settings.settings.entries;
    let root = look.snapshot.roots.get(skill.place.root);
    let entry = root.and_then(|root| entry_with_values(entries, root.source, needed, skill.name()));
    let Some(entry) = entry else {
        return Vec::new();
    };
    let primary = needed.and_then(|needed| needed.primary_env.clone());
    let primary = primary.filter(|name| !is_refused(name) && !entry.env.contains_key(name));
    let of_key = primary.zip(entry.api_key.clone());
    let all = entry.env.clone().into_iter().chain(of_key);
    let set = all.filter(|(_, value)| !value.is_empty());
    set.map(|(name, value)| (name, Secret::new(value)))
        .collect()
}
