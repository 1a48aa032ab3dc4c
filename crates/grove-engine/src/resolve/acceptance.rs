//! The contract of a child's work, and the child that reviews it.

use grove_catalog::root::RootSource;
use grove_plan::{AuthorFacts, Check, Contract};
use grove_spec::acceptance::Acceptance;
use grove_spec::agent::AgentFile;
use grove_spec::chain::ChainTask;
use serde_json::json;

use super::approving::Strange;
use super::children::{ChildResolver, is_own};
use super::schema_files::SavedChain;
use crate::error::EngineError;

impl ChildResolver<'_> {
    /// Returns the contract of a child's work: what was typed, else what its task asks, else the request, else its agent.
    pub(crate) fn contract(
        &self,
        task: &ChainTask,
        file: &AgentFile,
        of_agent: Option<RootSource>,
        author: &AuthorFacts,
    ) -> Result<Option<Contract>, EngineError> {
        let typed = self.typed_acceptance()?;
        let of_request = match &self.order.request.acceptance {
            Some(value) => Some(parse(value)?),
            None => None,
        };
        let asked = typed
            .as_ref()
            .or(task.acceptance.as_ref())
            .or(of_request.as_ref());
        let Some(acceptance) = asked.or(file.acceptance.as_ref()) else {
            return Ok(None);
        };
        let contract = Contract::of(acceptance, author).map_err(EngineError::usage)?;
        // Commands that the person did not write need approval first: those of a project, of a package, of a folder that
        // was named, and what settings put in their place.
        let is_of_chain =
            typed.is_none() && task.acceptance.is_some() && self.order.request.chain_name.is_some();
        let is_strange = match asked {
            None => !of_agent.is_some_and(is_own),
            Some(_) => is_of_chain && !self.saved_chain.as_ref().is_some_and(SavedChain::is_own),
        };
        let commands = contract.as_ref().and_then(Contract::commands_digest);
        if let (Some(contract), Some(digest)) = (&contract, commands) {
            if asked.is_some() && !is_of_chain {
                self.require_power_to_run()?;
            }
            if is_strange {
                self.require_approval(&task.agent, contract, &digest.to_string())?;
            }
        }
        Ok(contract)
    }

    /// Refuses commands of a child that may not run any, since powers only shrink. The commands of a saved chain or of an
    /// agent are not the child's own words.
    fn require_power_to_run(&self) -> Result<(), EngineError> {
        if self.above.is_none_or(|above| above.powers().can_run()) {
            return Ok(());
        }
        let message = "a child that cannot run commands cannot have them run by `verify`";
        Err(EngineError::usage(message)
            .hint("leave `verify` out, or ask the one who gave you the task"))
    }

    fn typed_acceptance(&self) -> Result<Option<Acceptance>, EngineError> {
        if self.order.accept.is_none() && self.order.verify.is_empty() {
            return Ok(None);
        }
        let mut value = json!({});
        if let Some(level) = &self.order.accept {
            value["level"] = json!(level);
            if level == "none" {
                value["reason"] = json!("asked for on the command line");
            }
        }
        if !self.order.verify.is_empty() {
            value["verify"] = json!(self.order.verify);
        }
        parse(&value).map(Some)
    }

    fn require_approval(
        &self,
        agent: &str,
        contract: &Contract,
        digest: &str,
    ) -> Result<(), EngineError> {
        let lines = contract.verify.iter().flat_map(Check::in_full);
        let message = format!("`{agent}` asks for commands that have not been approved");
        self.approving
            .require(digest, &message, Strange::new(lines))
    }
}

fn parse(value: &serde_json::Value) -> Result<Acceptance, EngineError> {
    Acceptance::parse(value).map_err(|faults| EngineError::usage(faults.join("; ")))
}
