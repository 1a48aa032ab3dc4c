//! Messages for a model that cannot have what it asked for.

use grove_catalog::address;
use grove_catalog::disclosure::DisclosureRefusal;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::StateReason;
use grove_skills::disclosure::DisclosureError;
use grove_spec::text::one_line;

/// Returns an error in words, with a hint for the next step.
pub(crate) fn explain(error: &DisclosureError, typed: &str) -> String {
    match error {
        DisclosureError::Refused { snapshot, refusal } => refused(snapshot, refusal, typed),
        DisclosureError::Leaf(name) => {
            format!("`{}` has nothing below it; activate it", one_line(name))
        }
        DisclosureError::Filled { .. } => {
            format!("{error}; give shorter arguments, or put them in a file and give its path")
        }
        DisclosureError::Session(error) => format!("{error}; {}", error.help()),
        other => other.to_string(),
    }
}

fn refused(snapshot: &Snapshot, refusal: &DisclosureRefusal, raw: &str) -> String {
    let typed = one_line(raw);
    let skill = |at: usize| snapshot.skills.get(at);
    let name = |at: usize| skill(at).map_or_else(String::new, |skill| one_line(skill.name()));
    match refusal {
        DisclosureRefusal::Unknown(near) => unknown(snapshot, near, raw),
        DisclosureRefusal::Several(all) => {
            // Skills that are reserved for people are not named to a model.
            let open = |skill: &&Skill| skill.content.flags().model_invocable;
            let skills = all.iter().filter_map(|at| skill(*at)).filter(open);
            let addresses: Vec<String> = skills.map(|skill| snapshot.address(skill)).collect();
            format!(
                "several skills are called `{typed}`; ask for one of `{}`",
                quoted(&addresses)
            )
        }
        DisclosureRefusal::SeveralGroups(groups) => {
            let keys: Vec<String> = groups.iter().map(|group| group.key.clone()).collect();
            format!(
                "several groups are called `{typed}`; ask for one of `{}`",
                quoted(&keys)
            )
        }
        DisclosureRefusal::NotUsable(at) => {
            let state = skill(*at).map_or("not usable", |skill| skill.state.as_str());
            let reasons = skill(*at).map_or(&[][..], |skill| &skill.reasons);
            let (name, why) = (name(*at), one_line(&StateReason::joined(reasons)));
            format!("`{name}` cannot be used because it is {state}: {why}")
        }
        DisclosureRefusal::Shadowed(at) => {
            let address = skill(*at).map_or_else(String::new, |skill| snapshot.address(skill));
            format!(
                "another skill is used in place of `{}`; ask for `{address}`",
                name(*at)
            )
        }
        DisclosureRefusal::ForPeople(at) => format!(
            "`{}` is reserved for people: only they can call it, as `/{0}`",
            name(*at)
        ),
        DisclosureRefusal::ForModels(at) => format!("`{}` is reserved for models", name(*at)),
    }
}

fn unknown(snapshot: &Snapshot, near: &[String], typed: &str) -> String {
    unread(snapshot, typed).unwrap_or_else(|| {
        let hint = match near {
            [] => "search for one that fits with a `query`".to_owned(),
            near => format!("did you mean `{}`?", quoted(near)),
        };
        format!("no skill is called `{}`; {hint}", one_line(typed))
    })
}

/// Returns a message if the skill exists but was not read.
pub(crate) fn unread(snapshot: &Snapshot, typed: &str) -> Option<String> {
    let reason = address::unread(snapshot, typed)?;
    Some(format!("{}; {}", reason.message, reason.fix))
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    names.join("`, `")
}
