//! Expands a step that runs once for each item of a list, and puts the outputs together when all items are done.

use grove_plan::{Expanded, FanOut, ItemsError, NodeId, Outcome, Output, node_views, said_by};
use grove_spec::Digest;
use grove_store::{LoadedRun, Store, StoreError};
use serde_json::Value;

use crate::supervisor::DoneEffect;
use crate::told::Told;

/// The text for a list without items.
const NO_ITEMS: &str = "The list had no items.";

pub(crate) struct ItemList<'a> {
    store: &'a Store,
    run: &'a LoadedRun,
    id: &'a NodeId,
    fan_out: &'a FanOut,
}

/// The outputs of all items together.
pub(crate) struct CollectedItems {
    pub(crate) done: DoneEffect,
    /// The data that has to be checked, if it has to meet a schema.
    pub(crate) to_check: Option<DataToCheck>,
}

/// Data, and the schema that it has to meet.
pub(crate) struct DataToCheck {
    pub(crate) schema: Value,
    pub(crate) value: Value,
}

/// The reason why a list has no items, or no outputs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemListError {
    #[error("the plan has no such list")]
    NoList,
    #[error("nothing says where the list is")]
    NoSource,
    #[error("step {0} gave no data")]
    NoData(NodeId),
    #[error("nobody found the items")]
    NotExpanded,
    #[error(transparent)]
    Items(#[from] ItemsError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<'a> ItemList<'a> {
    pub(crate) fn of(
        store: &'a Store,
        run: &'a LoadedRun,
        id: &'a NodeId,
    ) -> Result<Self, ItemListError> {
        let fan_out = run.plan.fan_out(id).ok_or(ItemListError::NoList)?;
        Ok(Self {
            store,
            run,
            id,
            fan_out,
        })
    }

    /// Finds the items of the list, and returns them with the artifact that holds the list.
    pub(crate) fn expand(&self) -> Result<DoneEffect, ItemListError> {
        let output = self.source()?;
        let list = self.fan_out.list(&output)?;
        let told: Told = self.store.json(&self.fan_out.child.told)?;
        let label = self.fan_out.child.label.as_deref();
        let items = self.fan_out.items(list, &told.message, label)?;
        let bytes = serde_json::to_vec(list).unwrap_or_default();
        let list = Digest::of(&bytes);
        let outcome = Outcome::Expanded(Expanded { list, items });
        Ok(DoneEffect::with(outcome, vec![bytes]))
    }

    fn source(&self) -> Result<Value, ItemListError> {
        if let Some(items) = &self.fan_out.items {
            return Ok(self.store.json(items)?);
        }
        let from = self.fan_out.from.as_ref();
        let from = from.ok_or(ItemListError::NoSource)?;
        let giver = self.run.state.nodes.get(from);
        let output = giver.and_then(|giver| giver.output()?.structured);
        let output = output.ok_or_else(|| ItemListError::NoData(from.clone()))?;
        Ok(self.store.json(&output)?)
    }

    /// Collects the outputs of all items: as data, and as text.
    pub(crate) fn collect(&self) -> Result<CollectedItems, ItemListError> {
        let found = self.run.state.nodes.get(self.id);
        let found = found.and_then(|node| node.items.as_ref());
        let found = found.ok_or(ItemListError::NotExpanded)?;
        let list: Vec<Value> = self.store.json(&found.list)?;
        let ids: Vec<NodeId> = found.items.iter().map(|it| self.id.item(&it.key)).collect();
        let text = |digest: &Digest| self.store.text(digest).ok();
        let is_item = |id: &NodeId| ids.contains(id);
        let said = node_views(&self.run.plan, &self.run.state, &text, is_item);
        let all = Value::Array(self.fan_out.collected(&list, &said));
        let schema = self.fan_out.schema.as_ref();
        let schema: Option<Value> = schema.map(|schema| self.store.json(schema)).transpose()?;
        let data = serde_json::to_vec(&all).unwrap_or_default();
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
            done: DoneEffect::with(Outcome::Collected(output), vec![text.into_bytes(), data]),
            to_check: schema.map(|schema| DataToCheck { schema, value: all }),
        })
    }
}
