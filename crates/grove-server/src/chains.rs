//! Chains as prompts: instructions for a host's model to run a chain with the tool `subagent` and to report its result.

use std::collections::BTreeMap;

use grove_catalog::chains::{Chain, Chains};
use grove_catalog::entry::Entry as _;
use grove_spec::chain::ChainStep;
use grove_spec::text::one_line;
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptMessage, Role};
use serde_json::json;

use crate::agents;

/// The prefix of a chain's name; the name of no other prompt begins so.
pub(crate) const PREFIX: &str = "chain:";

pub(crate) fn offered(chains: &Chains) -> BTreeMap<String, &Chain> {
    let usable = |chain: &&Chain| chain.state.is_offered();
    let chains = chains.all.iter().filter(usable);
    chains
        .map(|chain| (format!("{PREFIX}{}", one_line(&chain.name)), chain))
        .collect()
}

pub(crate) fn entry(name: &str, chain: &Chain) -> Prompt {
    let task = agents::task_argument("what should be done; if left out, what was asked for last");
    Prompt::new(name, chain.description().map(one_line), Some(vec![task]))
}

pub(crate) fn get(chain: &Chain, given: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let task = agents::task(given)?;
    let name = one_line(&chain.name);
    let description = chain.description().map(one_line).unwrap_or_default();
    let steps = chain.file().map(|file| file.steps.iter().map(step));
    let steps: Vec<String> = steps.into_iter().flatten().collect();
    let (task, whose) = match task {
        Some(task) => (
            task,
            "Pass this task on as it is, and add whatever the children need to know that it does not say.",
        ),
        None => (
            "…".to_owned(),
            "The task is what was asked for last in this conversation; write it out in full. If nothing was asked for, ask.",
        ),
    };
    let call = json!({ "chainName": name, "task": task, "background": true });
    let text = format!(
        "Run the chain `{name}` with the tool `subagent` of the server `grove`, and report what came of it.\n\
         What it does: {description}\n\
         Its agents, in this order: {}.\n\n\
         1. Call `subagent` with {call}\n   {whose} The children see nothing of this conversation.\n\
         2. Call it with `action` `wait` and the run and token from its answer, as often as necessary. When a child asks \
         something that you cannot answer from this conversation, ask the person, then use `answer`.\n\
         3. Tell the person the result: in full if it is short, otherwise what matters most. Do not repeat the children's \
         work. If the result was rejected or the run failed, say so and why. Use `apply` to bring in what was changed in \
         working trees if the person wants it.\n\
         4. Once the person has the result, call it with `action` `ack`, the run, the token and the delivery.\n",
        steps.join(", then "),
    );
    let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
    Ok(result.with_description(description))
}

fn step(step: &ChainStep) -> String {
    let names = step.tasks().iter().map(|task| match task.count {
        Some(count) => format!("{count} × {}", one_line(&task.agent)),
        None => one_line(&task.agent),
    });
    let names: Vec<String> = names.collect();
    match step {
        ChainStep::FanOut(_) => format!("{} for each item", names.join(", ")),
        ChainStep::One(_) | ChainStep::Parallel(_) => names.join(" and "),
    }
}
