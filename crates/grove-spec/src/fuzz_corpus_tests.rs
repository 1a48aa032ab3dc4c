//! What fuzzing found of files holds without it too.

use grove_testkit::fuzz_corpus::inputs;

#[path = "../../../fuzz/checks/agent.rs"]
mod agent;
#[path = "../../../fuzz/checks/chain.rs"]
mod chain;
#[path = "../../../fuzz/checks/frontmatter.rs"]
mod frontmatter;
#[path = "../../../fuzz/checks/manifest.rs"]
mod manifest;

#[test]
fn every_stored_file_passes_the_check_of_its_kind() {
    let checks = [
        ("agent", agent::check as fn(&[u8])),
        ("chain", chain::check),
        ("frontmatter", frontmatter::check),
        ("manifest", manifest::check),
    ];
    for (target, check) in checks {
        for (file, bytes) in inputs(target).unwrap() {
            println!("{}", file.display());
            check(&bytes);
        }
    }
}
