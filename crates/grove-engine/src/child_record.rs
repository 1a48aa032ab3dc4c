//! What is known of one child beside its transcript: the text that it was told, part by part, and the patch that it left.

use crate::told::Told;
use grove_plan::{NodeId, NodeView, Plan, Work};
use grove_spec::Digest;
use serde::Serialize;

use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::transcript::{CutText, TextRoom};
use crate::watched_run::WatchedRun;

/// The text that a child was told, part by part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldParts {
    /// The digest of the text.
    pub digest: Digest,
    /// The parts of its system prompt.
    pub parts: Vec<ToldText>,
    /// The message of the child.
    pub message: CutText,
    /// The sources of the words of the message beside its task.
    pub message_from: Vec<String>,
}

/// A part of a system prompt with its text.
#[derive(Debug, Serialize)]
pub struct ToldText {
    /// The kind of the part.
    pub kind: String,
    /// The name of the part.
    pub name: String,
    /// The file of the part.
    pub source: Option<String>,
    /// The digest of the text.
    pub digest: Option<Digest>,
    /// The text, or its beginning.
    pub text: CutText,
}

impl RunJournal {
    /// Returns one child of a run as views show it; none where the run has no such child.
    pub fn node_view(&self, run: &WatchedRun, node: &NodeId) -> Option<NodeView> {
        let text = |digest: &Digest| self.text(digest);
        let views = grove_plan::node_views(&run.plan, &run.state, &text, |id| id == node);
        views.into_iter().next()
    }

    /// Returns the text that a child was told.
    pub fn told_parts(
        &self,
        run: &WatchedRun,
        view: &NodeView,
        room: &mut TextRoom,
    ) -> Option<ToldParts> {
        let told: Told = serde_json::from_str(&self.text(&view.told)?).ok()?;
        let mut parts: Vec<ToldText> = Vec::new();
        for part in &told.parts {
            let text = told.system.get(part.at..part.at + part.bytes);
            parts.push(ToldText {
                kind: part.kind.clone(),
                name: part.name.clone(),
                source: part.source.clone(),
                digest: Some(part.digest),
                text: room.take(text.unwrap_or_default()),
            });
        }
        if parts.is_empty() {
            parts.push(ToldText {
                kind: "system".to_owned(),
                name: String::new(),
                source: None,
                digest: None,
                text: room.take(&told.system),
            });
        }
        Some(ToldParts {
            digest: view.told,
            parts,
            message: room.take(&told.message),
            message_from: message_from(&run.plan, &view.id),
        })
    }

    /// Returns the patch of a child as text, with those of its submodules.
    pub fn patch_text(&self, view: &NodeView) -> Result<Option<String>, EngineError> {
        let Some(patch) = &view.patch else {
            return Ok(None);
        };
        let below = patch.submodules.iter().map(|work| &work.patch);
        let mut all = String::new();
        for digest in std::iter::once(&patch.digest).chain(below) {
            let bytes = self.store.artifact(digest)?.unwrap_or_default();
            all.push_str(&String::from_utf8_lossy(&bytes));
        }
        Ok(Some(all))
    }
}

/// Returns the sources of words in a message.
fn message_from(plan: &Plan, node: &NodeId) -> Vec<String> {
    let names = |ids: &[NodeId]| {
        let ids: Vec<&str> = ids.iter().map(NodeId::as_str).collect();
        ids.join(", ")
    };
    let Some(inputs) = plan.child(node).and_then(|child| child.inputs.as_ref()) else {
        return Vec::new();
    };
    let mut from = Vec::new();
    if let Some(author) = plan.reviews(node) {
        from.push(format!("the work of {author}"));
    }
    if !inputs.previous.is_empty() {
        from.push(format!(
            "{{previous}}: what {} said",
            names(&inputs.previous)
        ));
    }
    for (name, ids) in &inputs.outputs {
        from.push(format!("{{outputs.{name}}}: what {} said", names(ids)));
    }
    let list = plan.nodes.iter().find_map(|known| match &known.work {
        Work::FanOut(list) if node.as_str().starts_with(&format!("{}[", known.id)) => Some(list),
        _ => None,
    });
    if let Some(list) = list {
        let source = match &list.from {
            Some(giver) => format!("the output of {giver}"),
            None => "the list that was given".to_owned(),
        };
        from.push(format!("{{{}}}: an item of {source}", list.item));
    }
    from
}
