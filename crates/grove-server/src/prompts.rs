//! Skills that people may call, as prompts: `/name arguments` through another door.

use std::collections::BTreeMap;
use std::sync::Arc;

use grove_catalog::address;
use grove_catalog::identity::name_key;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::State;
use grove_skills::Library;
use grove_skills::disclosure::{Call, Disclosure, SessionCell};
use grove_spec::text::{one_line, without_controls};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::pages;
use crate::wording::explain;

/// Prompts on one page.
const PAGE: usize = 100;
/// The argument of a skill that declares none.
const WHOLE: &str = "arguments";

/// All prompts by name, with the skill of each.
fn all(snapshot: &Snapshot) -> BTreeMap<String, usize> {
    let mut bearers: BTreeMap<String, usize> = BTreeMap::new();
    let offered = |skill: &&Skill| matches!(skill.state, State::Ok | State::Capped);
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
            (name, at)
        })
        .collect()
}

/// A page of prompts after one, and the cursor of the next page.
pub(crate) fn list(snapshot: &Snapshot, after: Option<&str>) -> (Vec<Prompt>, Option<String>) {
    use std::ops::Bound::{Excluded, Unbounded};
    let all = all(snapshot);
    let mut rest = all.range::<str, _>((after.map_or(Unbounded, Excluded), Unbounded));
    let page: Vec<(&String, &usize)> = rest.by_ref().take(PAGE).collect();
    let more = rest.next().is_some();
    let last = page.last().map(|(name, _)| pages::cursor(name));
    let prompts = page.iter().filter_map(|(name, at)| {
        let skill = snapshot.skills.get(**at)?;
        let description = skill.description().map(one_line);
        Some(Prompt::new(
            name.as_str(),
            description,
            Some(arguments(skill)),
        ))
    });
    (prompts.collect(), last.filter(|_| more))
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

/// The text of a prompt, through the same activation as `/name arguments`.
pub(crate) fn get(
    library: &mut Library,
    snapshot: &Arc<Snapshot>,
    session: &SessionCell,
    name: &str,
    given: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let invalid = |message: String| ErrorData::invalid_params(message, None);
    let all = all(snapshot);
    let skill = all.get(name).and_then(|at| snapshot.skills.get(*at));
    let Some(skill) = skill else {
        let near = address::near_names(all.keys().map(String::as_str), name);
        let hint = if near.is_empty() {
            String::new()
        } else {
            format!("; did you mean `{}`?", near.join("`, `"))
        };
        return Err(invalid(format!(
            "no prompt is called `{}`{hint}",
            one_line(name)
        )));
    };
    let words = words(skill, given).map_err(invalid)?;
    let typed = format!("/{name}");
    let call = Call {
        typed: &typed,
        words: &words,
        // A person who calls a skill wants its text, whatever the model was given before.
        again: true,
    };
    let activated = Disclosure::in_memory(library, session).activate(&call);
    let activated = activated.map_err(|error| invalid(explain(&error, name)))?;
    let text = without_controls(&activated.text).into_owned();
    let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    Ok(match skill.description() {
        Some(description) => result.with_description(one_line(description)),
        None => result,
    })
}

/// The words of a call from named arguments, each in the place that the skill declares.
fn words(skill: &Skill, given: Option<&JsonObject>) -> Result<Vec<String>, String> {
    let declared = &skill.file().details().arguments;
    let empty = JsonObject::new();
    let given = given.unwrap_or(&empty);
    let text = |name: &str| match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("the argument `{}` is not text", one_line(name))),
    };
    let is_known =
        |name: &&String| declared.contains(*name) || (declared.is_empty() && *name == WHOLE);
    if let Some(unknown) = given.keys().find(|name| !is_known(name)) {
        return Err(format!("there is no argument `{}`", one_line(unknown)));
    }
    if declared.is_empty() {
        return Ok(text(WHOLE)?.map(|whole| split(&whole)).unwrap_or_default());
    }
    let values = declared.iter().map(|name| text(name));
    let mut values = values.collect::<Result<Vec<_>, _>>()?;
    // What was left out at the end was not given; what was left out before keeps its place.
    while values.last().is_some_and(Option::is_none) {
        values.pop();
    }
    Ok(values.into_iter().map(Option::unwrap_or_default).collect())
}

/// Words as a shell takes them apart, as far as quotes go; a quote that does not end is a letter.
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
    use super::split;

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
