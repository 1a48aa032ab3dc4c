//! `grove reference` against the program it reproduces: the Python package `skills-ref`.

mod generator;
mod mutation;
mod outcome;
#[rustfmt::skip]
mod pieces;
mod programs;
mod samples;
mod upstream;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use generator::Case;
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process::capture;
use upstream::Scene;

use crate::agreement::random::Random;

const LIMIT: Duration = Duration::from_mins(5);

/// Any number will do; it is fixed so that a failure can be seen again.
const SEED: u64 = 20_261_115;

const CASES: usize = 2000;

/// The Python interpreter that has `skills-ref`.
fn python() -> PathBuf {
    Need::OraclePython.path()
}

#[test]
fn the_parser_tests_agree() {
    needs![OraclePython];
    let scenes = upstream::parser();
    assert_eq!(scenes.len(), 15);
    compare_programs(&scenes);
}

#[test]
fn the_prompt_tests_agree() {
    needs![OraclePython];
    let scenes = upstream::prompt();
    assert_eq!(scenes.len(), 4);
    compare_programs(&scenes);
}

#[test]
fn the_validator_tests_agree() {
    needs![OraclePython];
    let scenes = upstream::validator();
    assert_eq!(scenes.len(), 21);
    compare_programs(&scenes);
}

#[test]
fn the_command_line_agrees() {
    needs![OraclePython];
    compare_programs(&upstream::command_line());
}

fn compare_programs(scenes: &[Scene]) {
    let theirs = python().with_file_name("agentskills");
    let mut report = String::new();
    for scene in scenes {
        let folder = tempfile::tempdir().expect("a temporary folder");
        programs::set_up(scene, folder.path());
        for arguments in &scene.commands {
            let at = folder.path().join(scene.at);
            let theirs = programs::run(Command::new(&theirs).args(arguments), &at, LIMIT);
            let ours = programs::run(
                Command::new(env!("CARGO_BIN_EXE_grove"))
                    .arg("reference")
                    .args(arguments),
                &at,
                LIMIT,
            );
            if !programs::agree(&ours, &theirs) {
                let name = &scene.name;
                write!(
                    report,
                    "\n{name}: {arguments:?}\n  theirs {theirs:?}\n  ours   {ours:?}"
                )
                .expect("a string takes any text");
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn generated_skills_agree() {
    needs![OraclePython];
    let samples: Vec<String> = samples::SAMPLES.iter().map(ToString::to_string).collect();
    let mut random = Random::new(SEED);
    let mut cases: Vec<Case> = (0..CASES)
        .map(|_| generator::case(&mut random, &samples))
        .collect();
    cases.extend(generator::deep());

    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("its path");
    let mut dirs = Vec::new();
    let mut requests = String::new();
    for (number, case) in cases.iter().enumerate() {
        let dir = root.join(number.to_string()).join(&case.dir);
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join(case.file), &case.content).expect("a file");
        let request = serde_json::json!({ "dir": dir.to_str() });
        writeln!(requests, "{request}").expect("a string takes any text");
        dirs.push(dir);
    }
    let input = root.join("requests");
    fs::write(&input, requests).expect("a file");

    let driver =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../grove-testkit/oracle/skills_ref_driver.py");
    let finished = capture(Command::new(python()).arg(driver).arg(input), LIMIT)
        .expect("the interpreter starts")
        .require_success("the driver")
        .expect("the driver succeeds");
    let answers: Vec<serde_json::Value> = finished
        .stdout_text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(answers.len(), cases.len());
    // Python's Unicode tables and the depth of its stack change from version to version.
    let versions = &answers[0]["versions"];
    assert_eq!(
        *versions,
        serde_json::json!(["3.11", "0.1.1"]),
        "of Python and skills-ref"
    );

    let mut report = Vec::new();
    for ((case, dir), answer) in cases.iter().zip(&dirs).zip(&answers) {
        let location = dir.join(case.file);
        let ours = outcome::ours(case, &location.to_string_lossy());
        let theirs = outcome::theirs(answer);
        if ours != theirs {
            let content = String::from_utf8_lossy(&case.content);
            report.push(format!(
                "{:?} {content:?}\n  theirs {theirs:?}\n  ours   {ours:?}",
                case.dir
            ));
        }
    }
    let shown = report.len().min(5);
    assert!(
        report.is_empty(),
        "seed {SEED}: {} of {} differ\n{}",
        report.len(),
        cases.len(),
        report[..shown].join("\n")
    );
}
