//! The text that a child was told, as it was stored before it started, and the sources of its parts.

use grove_catalog::prompt::Prompt;
use grove_plan::{NodeId, NodeView};
use crate::told::{Told, ToldPart};
use grove_spec::Digest;

use crate::error::EngineError;
use crate::journal::{RunJournal, node_or_last, parts_of};

/// The stored text of a child.
#[derive(Debug, Clone)]
pub struct ToldChild {
    /// The id of the run.
    pub run: String,
    /// The child's place in its plan.
    pub node: NodeId,
    /// The name of its agent.
    pub agent: String,
    /// The digest of the text.
    pub digest: Digest,
    /// The text: system prompt, message and the sources of their parts.
    pub told: Told,
}

impl RunJournal {
    /// Returns the text that a child was told; `given` is `RUN` or `RUN.NODE`.
    pub fn told(&self, given: &str) -> Result<ToldChild, EngineError> {
        let (run, node) = parts_of(given);
        let loaded = self.load(run)?;
        let node = node_or_last(&loaded, node);
        let Some(child) = loaded.plan.child(&node) else {
            let names: Vec<&str> = loaded.plan.nodes.iter().map(|it| it.id.as_str()).collect();
            let message = format!("run {} has no child `{node}`", loaded.id);
            return Err(EngineError::finding(message).hint(format!("it has {}", names.join(", "))));
        };
        let of_node = |view: &NodeView| (view.id == node).then_some(view.told);
        let told = self.view(&loaded).nodes.iter().find_map(of_node);
        let digest = told.unwrap_or(child.told);
        let bytes = self.store.artifact(&digest)?;
        let told: Option<Told> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(ToldChild {
            run: loaded.id.clone(),
            agent: child.agent.clone(),
            node,
            digest,
            told: told.ok_or_else(|| EngineError::internal("what it was told is not on record"))?,
        })
    }
}

/// Returns the parts of a prompt with their sources.
pub(crate) fn prompt_parts(prompt: &Prompt) -> Vec<ToldPart> {
    let mut end = 0;
    let mut parts = Vec::new();
    for block in &prompt.blocks {
        let bytes = block.text.len();
        // Between two blocks there are ends of lines.
        let rest = prompt.text.get(end..).unwrap_or_default();
        let between = rest.find(&block.text).unwrap_or_default();
        let at = end + between;
        end = at + bytes;
        let source = block.source.as_ref();
        parts.push(ToldPart {
            kind: block.kind.as_str().to_owned(),
            name: block.name.clone(),
            source: source.map(|path| path.to_string_lossy().into_owned()),
            digest: block.digest,
            at,
            bytes,
        });
    }
    parts
}
