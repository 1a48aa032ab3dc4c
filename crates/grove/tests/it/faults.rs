//! The table of faults names tests that are there.

use std::path::Path;

#[test]
fn every_fault_names_tests_that_are_there() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(repository.join("crates/grove/tests/faults.md")).unwrap();
    for row in page.lines().filter(|line| line.starts_with("| ")).skip(2) {
        let cells = row.trim_matches('|').split('|').map(str::trim);
        let cells: Vec<&str> = cells.collect();
        let [_, _, tests] = cells[..] else {
            panic!("a row has three cells: {row}");
        };
        for test in tests.split(", ") {
            let (file, name) = test
                .trim_matches('`')
                .split_once("::")
                .unwrap_or_else(|| panic!("{test} names no file and test: {row}"));
            let text = std::fs::read_to_string(repository.join(file))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(
                text.contains(&format!("fn {name}(")),
                "{test} is not there: {row}"
            );
        }
    }
}
