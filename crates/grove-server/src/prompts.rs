//! Skills that people may call, as prompts: the same as `/name arguments`. Agents and chains are listed among them.

use std::collections::{BTreeMap, BTreeSet};

use grove_catalog::address;
use grove_catalog::identity::name_key;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_skills::Discovery;
use grove_skills::disclosure::{Disclosure, SessionCell, SkillCall};
use grove_spec::Code;
use grove_spec::text::{one_line, without_controls};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::served_library::ServedLibrary;
use crate::wording::{explain, unread};
use crate::{agents, chains, pages};

const PAGE: usize = 100;
/// The name of the argument of a skill that declares none.
const WHOLE: &str = "arguments";

/// The prefix of a skill's name that would be taken for another kind of prompt.
const SKILL_PREFIX: &str = "skill:";

struct OfferedSkill {
    skill: usize,
    /// The text that a person types to call it.
    typed: String,
}

/// Returns all skills that are prompts, by the name of the prompt.
fn all(snapshot: &Snapshot) -> BTreeMap<String, OfferedSkill> {
    let mut bearers: BTreeMap<String, usize> = BTreeMap::new();
    let offered = |skill: &&Skill| skill.state.is_offered();
    for skill in snapshot.skills.iter().filter(offered) {
        *bearers
            .entry(name_key(skill.name()).into_owned())
            .or_default() += 1;
    }
    let skills = snapshot.skills.iter().enumerate();
    skills
        .filter(|(_, skill)| skill.user_invocable())
        .map(|(at, skill)| {
            let is_alone = bearers.get(&*name_key(skill.name())) == Some(&1);
            let name = if is_alone {
                one_line(skill.name())
            } else {
                snapshot.address(skill)
            };
            let typed = format!("/{name}");
            (prompt_name(name), OfferedSkill { skill: at, typed })
        })
        .collect()
}

/// Returns the name of a skill's prompt: its own, unless that looks like an agent's or a chain's. A name with any of the
/// prefixes gets another in front, so that no two names become one.
fn prompt_name(name: String) -> String {
    if [agents::PREFIX, chains::PREFIX, SKILL_PREFIX]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    {
        format!("{SKILL_PREFIX}{name}")
    } else {
        name
    }
}

/// Returns a page of prompts after one, and the cursor of the next page, without the skills that the host itself offers.
pub(crate) fn list(
    snapshot: &Snapshot,
    called: &BTreeSet<usize>,
    after: Option<&str>,
) -> (Vec<Prompt>, Option<String>) {
    use std::ops::Bound::{Excluded, Unbounded};
    let (skills, agents) = (all(snapshot), agents::offered(&snapshot.agents));
    let chains = chains::offered(&snapshot.chains);
    let bounds = (after.map_or(Unbounded, Excluded), Unbounded);
    // One more than a page of each is taken, so that it is known whether there is a next page.
    let skills = skills.range::<str, _>(bounds);
    let skills = skills.filter(|(_, offered)| !called.contains(&offered.skill));
    let skills = skills.take(PAGE + 1).filter_map(|(name, offered)| {
        let skill = snapshot.skills.get(offered.skill)?;
        let description = skill.description().map(one_line);
        Some(Prompt::new(name, description, Some(arguments(skill))))
    });
    let agents = agents.range::<str, _>(bounds).take(PAGE + 1);
    let agents = agents.map(|(name, agent)| agents::entry(name, agent));
    let chains = chains.range::<str, _>(bounds).take(PAGE + 1);
    let chains = chains.map(|(name, chain)| chains::entry(name, chain));
    let mut page: Vec<Prompt> = skills.chain(agents).chain(chains).collect();
    page.sort_by(|a, b| a.name.cmp(&b.name));
    let more = page.len() > PAGE;
    page.truncate(PAGE);
    let last = page.last().map(|prompt| pages::cursor(&prompt.name));
    (page, last.filter(|_| more))
}

fn arguments(skill: &Skill) -> Vec<PromptArgument> {
    let details = skill.file().details();
    let hint = details.argument_hint.as_deref().map(one_line);
    let described = |argument: PromptArgument| match &hint {
        Some(hint) => argument.with_description(hint.clone()),
        None => argument,
    };
    let optional = |name: &str| described(PromptArgument::new(one_line(name))).with_required(false);
    if details.arguments.is_empty() {
        vec![optional(WHOLE)]
    } else {
        details
            .arguments
            .iter()
            .map(|name| optional(name))
            .collect()
    }
}

pub(crate) fn get(
    library: &ServedLibrary,
    session: &SessionCell,
    name: &str,
    given: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    if name.starts_with(chains::PREFIX) {
        let discovery = library.discover_with_agents();
        let offered = chains::offered(&discovery.snapshot.chains);
        return match offered.get(name) {
            Some(chain) => chains::get(chain, given),
            None => Err(unknown(name, offered.keys())),
        };
    }
    if !name.starts_with(agents::PREFIX) {
        return of_skill(library, &library.discover(), session, name, given);
    }
    let discovery = library.discover_with_agents();
    let offered = agents::offered(&discovery.snapshot.agents);
    match offered.get(name) {
        Some(agent) => agents::get(library, &discovery, &agent.name, given),
        None => Err(unknown(name, offered.keys())),
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> ErrorData {
    let near = address::near_names(known.map(String::as_str), name);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean `{}`?", near.join("`, `"))
    };
    let message = format!("no prompt is called `{}`{hint}", one_line(name));
    ErrorData::invalid_params(message, None)
}

/// Returns the text of a skill, through the same activation as `/name arguments`.
fn of_skill(
    library: &ServedLibrary,
    discovery: &Discovery,
    session: &SessionCell,
    name: &str,
    given: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let snapshot = &discovery.snapshot;
    let all = all(snapshot);
    let offered = all.get(name);
    let skill = offered.and_then(|offered| Some((offered, snapshot.skills.get(offered.skill)?)));
    let Some((offered, skill)) = skill else {
        let unread = unread(snapshot, name).map(invalid);
        return Err(unread.unwrap_or_else(|| unknown(name, all.keys())));
    };
    let words = words(skill, given)?;
    let call = SkillCall {
        typed: &offered.typed,
        words: &words,
        // A person who calls a skill wants its text, even if the model was given it before.
        again: true,
    };
    let activate =
        |discovery: &Discovery| Disclosure::in_memory(discovery, session).activate(&call);
    let activated = library.fresh_from(discovery, activate);
    let activated = activated.map_err(|error| invalid(explain(&error, name)))?;
    let text = without_controls(&activated.text).into_owned();
    let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    let mut warnings = activated.diagnostics;
    warnings.retain(|finding| finding.code == Code::StandIn);
    result.meta = agents::warnings_meta(&warnings);
    Ok(match skill.description() {
        Some(description) => result.with_description(one_line(description)),
        None => result,
    })
}

fn invalid(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// Returns the words of a call from named arguments, each in the place that the skill declares.
fn words(skill: &Skill, given: Option<&JsonObject>) -> Result<Vec<String>, ErrorData> {
    let declared = &skill.file().details().arguments;
    let empty = JsonObject::new();
    let given = given.unwrap_or(&empty);
    let text = |name: &str| match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(format!(
            "the argument `{}` is not text",
            one_line(name)
        ))),
    };
    let is_known =
        |name: &&String| declared.contains(*name) || (declared.is_empty() && *name == WHOLE);
    if let Some(unknown) = given.keys().find(|name| !is_known(name)) {
        let message = format!("there is no argument `{}`", one_line(unknown));
        return Err(invalid(message));
    }
    if declared.is_empty() {
        return Ok(text(WHOLE)?.map(|whole| split(&whole)).unwrap_or_default());
    }
    let values = declared.iter().map(|name| text(name));
    let mut values = values.collect::<Result<Vec<_>, _>>()?;
    // Arguments that are left out at the end are dropped; one that is left out before another keeps its place.
    while values.last().is_some_and(Option::is_none) {
        values.pop();
    }
    Ok(values.into_iter().map(Option::unwrap_or_default).collect())
}

/// Splits a text into words, with quotes as in a shell; a quote that does not end is a letter.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        let quoted = matches!(letter, '"' | '\'').then(|| rest.as_str().split_once(letter));
        match quoted.flatten() {
            Some((inside, after)) => {
                word.push_str(inside);
                rest = after.chars();
            }
            None => word.push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::{prompt_name, split};

    #[test]
    fn no_two_skills_become_one_prompt_and_none_looks_like_an_agent() {
        for (name, expected) in [
            ("agent", "agent"),
            ("agents:x", "agents:x"),
            ("agent:x", "skill:agent:x"),
            ("chain:x", "skill:chain:x"),
            ("skill:agent:x", "skill:skill:agent:x"),
            ("skill:x", "skill:skill:x"),
            ("x", "x"),
        ] {
            assert_eq!(prompt_name(name.to_owned()), expected);
        }
    }

    #[test]
    fn words_are_taken_apart_at_blanks_outside_quotes() {
        for (text, expected) in [
            ("", vec![]),
            ("  a  b ", vec!["a", "b"]),
            ("a 'b c' d", vec!["a", "b c", "d"]),
            ("--to=\"x y\"z", vec!["--to=x yz"]),
            ("it's", vec!["it's"]),
            ("''", vec![""]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
