//! What fuzzing found of streams holds without it too.

use grove_testkit::fuzz_corpus::inputs;

#[path = "../../../../fuzz/checks/model_stream.rs"]
mod model_stream;

#[test]
fn every_stored_stream_passes_its_check() {
    for (file, bytes) in inputs("model_stream").unwrap() {
        println!("{}", file.display());
        model_stream::check(&bytes);
    }
}
