//! What fuzzing found that clients say holds without it too.

use std::path::{Path, PathBuf};

use grove_testkit::fuzz_corpus::inputs;
use grove_testkit::task::workspace;

#[path = "../../../fuzz/checks/mcp.rs"]
mod mcp;

/// The folder in which the server finds its skills.
fn home() -> PathBuf {
    workspace::target().join("fuzz-corpus-home")
}

fn write(file: &Path, text: &str) {
    grove_fs::files::make_folder(file.parent().unwrap()).unwrap();
    let written = grove_fs::atomic::write_mode(file, text.as_bytes(), 0o644);
    written.unwrap();
}

#[test]
fn every_stored_talk_passes_its_check() {
    for (file, bytes) in inputs("mcp").unwrap() {
        println!("{}", file.display());
        mcp::check(&bytes);
    }
}
