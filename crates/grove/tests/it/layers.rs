//! The layers: arrows point down only, and the binary and the server reach runs through the engine alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates with their layers. Crates of one layer do not know one another, but for those that [`MAY`] names.
const LAYERS: [(&str, u8); 13] = [
    ("grove-spec", 0),
    ("grove-catalog", 0),
    ("grove-plan", 0),
    ("grove-tokens", 0),
    ("grove-fs", 1),
    ("grove-model", 1),
    ("grove-exec", 1),
    ("grove-store", 1),
    ("grove-meaning", 2),
    ("grove-skills", 2),
    ("grove-engine", 2),
    ("grove-server", 3),
    ("grove", 3),
];

/// Arrows within a layer.
const MAY: [(&str, &str); 4] = [
    ("grove-catalog", "grove-spec"),
    ("grove-plan", "grove-spec"),
    ("grove-engine", "grove-skills"),
    ("grove", "grove-server"),
];

/// Runs are the engine's: the edges depend on none of these.
const BELOW_THE_ENGINE: [&str; 4] = ["grove-plan", "grove-store", "grove-exec", "grove-model"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The crates of the project that a crate depends on, tests left out.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = crates().join(name).join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let (_, text) = text.split_once("\n[dependencies]\n").unwrap();
    let text = text.split("\n[").next().unwrap();
    let names = text
        .lines()
        .map(|line| line.split(['.', ' ', '=']).next().unwrap());
    let ours = names.filter(|name| name.starts_with("grove-"));
    ours.map(str::to_owned).collect()
}

#[test]
fn arrows_point_down_only() {
    let layers: BTreeMap<&str, u8> = LAYERS.into_iter().collect();
    let mut wrong = Vec::new();
    for (name, layer) in LAYERS {
        for other in dependencies(name) {
            let Some(below) = layers.get(other.as_str()) else {
                continue;
            };
            if *below >= layer && !MAY.contains(&(name, &other)) {
                wrong.push(format!("{name} -> {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_edges_reach_runs_through_the_engine_alone() {
    for name in ["grove", "grove-server"] {
        for other in dependencies(name) {
            assert!(
                !BELOW_THE_ENGINE.contains(&other.as_str()),
                "{name} depends on {other}"
            );
        }
        let mut folders = vec![crates().join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(!text.contains("grove_engine::below"), "{}", path.display());
                }
            }
        }
    }
}

/// The most lines of a function.
const LONGEST_FUNCTION: usize = 110;

/// The functions of a file with their lines, as rustfmt writes them: the end of one stands below its beginning.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let start = line.trim_start();
        let indent = &line[..line.len() - start.len()];
        let Some((before, after)) = start.split_once("fn ") else {
            continue;
        };
        let words = [
            "pub",
            "pub(crate)",
            "pub(super)",
            "const",
            "async",
            "unsafe",
        ];
        let is_function = before.split_whitespace().all(|word| words.contains(&word));
        if !is_function || line.ends_with(';') || line.ends_with('}') {
            continue;
        }
        let end = format!("{indent}}}");
        let length = lines[at..].iter().position(|line| *line == end);
        let name = after.split(['(', '<']).next().unwrap_or_default();
        found.push((name.to_owned(), length.map_or(1, |length| length + 1)));
    }
    found
}

#[test]
fn no_function_is_longer_than_a_screen_or_two() {
    let mut folders = vec![crates(), crates().join("../xtask")];
    let (mut n_functions, mut long) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_test = ["tests", "tests.rs", "target"].contains(&name.as_str());
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
                let found = functions(&fs::read_to_string(&path).unwrap());
                n_functions += found.len();
                let found = found.into_iter().filter(|it| it.1 > LONGEST_FUNCTION);
                long.extend(found.map(|it| format!("{}: {} {}", path.display(), it.0, it.1)));
            }
        }
    }
    assert!(n_functions > 5_000, "{n_functions}");
    assert_eq!(long, Vec::<String>::new());
}
