//! The stored inputs of the fuzz targets, which the tests read too, without mutations.

use std::io;
use std::path::{Path, PathBuf};

use crate::shared::files_below;

/// Every stored input of a target, with its path. A target without inputs is an error.
pub fn inputs(target: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = files_below(&corpora.join(target))?;
    if files.is_empty() {
        return Err(io::Error::other(format!("{target} has no inputs")));
    }
    let read = |file: PathBuf| std::fs::read(&file).map(|bytes| (file, bytes));
    files.into_iter().map(read).collect()
}
