//! What fuzzing found of indexes holds without it too.

use grove_testkit::fuzz_corpus::inputs;

#[path = "../../../../fuzz/checks/index.rs"]
mod index;

#[test]
fn every_stored_index_passes_its_check() {
    for (file, bytes) in inputs("index").unwrap() {
        println!("{}", file.display());
        index::check(&bytes);
    }
}
