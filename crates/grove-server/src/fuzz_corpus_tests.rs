//! What fuzzing found that clients say holds without it too.

use std::path::PathBuf;

use grove_testkit::fuzz_corpus::inputs;
use grove_testkit::task::workspace;

#[path = "../../../fuzz/checks/mcp.rs"]
mod mcp;

/// The folder in which the server finds its skills.
fn home() -> PathBuf {
    workspace::target().join("fuzz-corpus-home")
}

#[test]
fn every_stored_talk_passes_its_check() {
    for (file, bytes) in inputs("mcp").unwrap() {
        println!("{}", file.display());
        mcp::check(&bytes);
    }
}
