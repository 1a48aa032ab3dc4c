//! The schema that a child's data must meet, where a file says it.

use std::path::{Path, PathBuf};

use grove_catalog::root::RootSource;
use grove_plan::Request as RunRequest;
use grove_skills::Discovery;
use grove_spec::chain::{ChainTask, OutputSchema};
use serde_json::Value;

use super::children::{ChildResolver, is_own};
use crate::entries;
use crate::error::EngineError;

/// A schema is told to a model whole, so a large one is a mistake.
const MAX_SCHEMA: u64 = 256_000;

/// The file of a chain that was asked for by its name.
pub(crate) struct SavedChain {
    pub(crate) source: RootSource,
    folder: PathBuf,
}

impl SavedChain {
    pub(crate) fn of(look: &Discovery, asked: &RunRequest) -> Option<Self> {
        let chains = &look.snapshot.chains;
        let chain = entries::find(chains.entries(), asked.chain_name.as_deref()?).ok()?;
        let root = chains.roots.get(chain.root)?;
        let file = root.path.join(&chain.path);
        Some(Self {
            source: root.source,
            folder: file.parent()?.to_path_buf(),
        })
    }

    pub(crate) const fn is_own(&self) -> bool {
        is_own(self.source)
    }
}

impl ChildResolver<'_> {
    /// Returns the schema of a child's data: its task's, else the request's.
    pub(crate) fn schema(&self, task: &ChainTask) -> Result<Option<Value>, EngineError> {
        match &task.output_schema {
            Some(schema) => self.read_schema(schema).map(Some),
            None => Ok(self.order.request.output_schema.clone()),
        }
    }

    /// Reads a schema. Its path is relative to the file of a saved chain, else to where the run was asked for. Only a
    /// person's own words lead out of that folder; a stranger's chain or a model could show a child any file.
    pub(crate) fn read_schema(&self, schema: &OutputSchema) -> Result<Value, EngineError> {
        let file = match schema {
            OutputSchema::Inline(schema) => return Ok(schema.clone()),
            OutputSchema::File(file) => file,
        };
        let (folder, is_trusted) = match &self.saved_chain {
            Some(chain) => (chain.folder.as_path(), chain.is_own()),
            None => (self.folder, !self.order.is_by_model),
        };
        let path = folder.join(file);
        if !is_trusted && !grove_fs::files::is_below(&path, folder) {
            let message = format!("the schema `{file}` is not in {}", folder.display());
            return Err(
                EngineError::usage(message).hint("write the schema itself as `outputSchema`")
            );
        }
        read(&path)
    }
}

fn read(path: &Path) -> Result<Value, EngineError> {
    let bytes = grove_fs::files::read_bounded(path, MAX_SCHEMA)?;
    let wrong = |what: &str| EngineError::usage(format!("the schema {} {what}", path.display()));
    let schema: Value =
        serde_json::from_slice(&bytes).map_err(|error| wrong(&format!("is not JSON: {error}")))?;
    if schema.is_object() {
        Ok(schema)
    } else {
        Err(wrong("is not a JSON object"))
    }
}
