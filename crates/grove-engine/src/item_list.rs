//! Expands a step that runs once for each item of a list, and puts the outputs together when all items are done.

use grove_plan::{Expanded, FanOut, NodeId, Outcome, Output, node_views, said_by};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store};
use serde_json::Value;

use crate::told::Told;

/// The text for a list without items.
const NO_ITEMS: &str = "The list had no items.";

/// A step that runs for each item of a list.
pub(crate) struct ItemList<'a> {
    store: &'a Store,
    run: &'a LoadedRun,
    id: &'a NodeId,
    fan_out: &'a FanOut,
}

/// The outputs of all items together.
pub(crate) struct CollectedItems {
    pub(crate) outcome: Outcome,
    pub(crate) artifacts: Vec<Vec<u8>>,
    /// The schema that the data has to meet, with the data.
    pub(crate) to_check: Option<(Value, Value)>,
}

impl<'a> ItemList<'a> {
    pub(crate) fn of(store: &'a Store, run: &'a LoadedRun, id: &'a NodeId) -> Result<Self, String> {
        let fan_out = run.plan.fan_out(id).ok_or("the plan has no such list")?;
        Ok(Self {
            store,
            run,
            id,
            fan_out,
        })
    }

    /// Finds the items of the list, and returns them with the artifact that holds the list.
    pub(crate) fn expand(&self) -> Result<(Outcome, Vec<Vec<u8>>), String> {
        let output = self.source()?;
        let list = self.fan_out.list(&output)?;
        let told: Told = self.artifact(&self.fan_out.child.told)?;
        let label = self.fan_out.child.label.as_deref();
        let items = self.fan_out.items(list, &told.message, label)?;
        let bytes = serde_json::to_vec(list).map_err(|error| error.to_string())?;
        let list = Digest::of(&bytes);
        Ok((Outcome::Expanded(Expanded { list, items }), vec![bytes]))
    }

    /// Returns the data that has the list in it.
    fn source(&self) -> Result<Value, String> {
        if let Some(items) = &self.fan_out.items {
            return self.artifact(items);
        }
        let from = self.fan_out.from.as_ref();
        let from = from.ok_or("nothing says where the list is")?;
        let giver = self.run.state.nodes.get(from);
        let output = giver.and_then(|giver| giver.output()?.structured);
        let output = output.ok_or_else(|| format!("step {from} gave no data"))?;
        self.artifact(&output)
    }

    /// Collects the outputs of all items: as data, and as text.
    pub(crate) fn collect(&self) -> Result<CollectedItems, String> {
        let found = self.run.state.nodes.get(self.id);
        let found = found.and_then(|node| node.items.as_ref());
        let found = found.ok_or("nobody found the items")?;
        let list: Vec<Value> = self.artifact(&found.list)?;
        let ids: Vec<NodeId> = found.items.iter().map(|it| self.id.item(&it.key)).collect();
        let text = |digest: &Digest| {
            let bytes = self.store.artifact(digest).ok().flatten()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let is_item = |id: &NodeId| ids.contains(id);
        let said = node_views(&self.run.plan, &self.run.state, &text, is_item);
        let all = Value::Array(self.fan_out.collected(&list, &said));
        let schema = self.fan_out.schema.as_ref();
        let schema: Option<Value> = schema.map(|schema| self.artifact(schema)).transpose()?;
        let data = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
        let text = if ids.is_empty() {
            NO_ITEMS.to_owned()
        } else {
            said_by(&said, &ids)
        };
        let output = Output {
            text: Some(Digest::of(text.as_bytes())),
            structured: Some(Digest::of(&data)),
            ..Output::default()
        };
        Ok(CollectedItems {
            outcome: Outcome::Collected(output),
            artifacts: vec![text.into_bytes(), data],
            to_check: schema.map(|schema| (schema, all)),
        })
    }

    fn artifact<T: serde::de::DeserializeOwned>(&self, digest: &Digest) -> Result<T, String> {
        let bytes = self
            .store
            .artifact(digest)
            .map_err(|error| error.to_string())?;
        let value = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        value.ok_or_else(|| format!("the artifact {} is not there", digest.first_digits(12)))
    }
}
