//! The steps of a long command and how each went, with the tests that were left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use grove_testkit::need::LeftOut;

/// The steps so far and how each went.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    result: Result<(), String>,
    elapsed: Duration,
}

impl Verdict {
    /// Runs a step; one that fails does not stop the others.
    pub(crate) fn step(&mut self, name: &'static str, run: impl FnOnce() -> Result<(), String>) {
        eprintln!("==> {name}");
        let start = Instant::now();
        let result = run();
        if let Err(reason) = &result {
            eprintln!("==> {name} failed: {reason}");
        }
        self.steps.push(Step {
            name,
            result,
            elapsed: start.elapsed(),
        });
    }

    /// One line for each step, what was left out, and the counts as the last line.
    pub(crate) fn text(&self, left_out: &[LeftOut]) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let seconds = step.elapsed.as_secs_f64();
            let line = match &step.result {
                Ok(()) => format!("ok      {:<24}{seconds:>8.1} s", step.name),
                Err(reason) => {
                    let first_line = reason.lines().next().unwrap_or_default();
                    format!("FAILED  {:<24}{seconds:>8.1} s  {first_line}", step.name)
                }
            };
            let _ = writeln!(text, "{line}");
        }
        text.push_str(&left_out_text(left_out));
        let n_failed = self.n_failed();
        let n_passed = self.steps.len() - n_failed;
        let _ = write!(text, "{n_passed} passed, {n_failed} failed");
        if !left_out.is_empty() {
            let _ = write!(text, ", {} skipped", left_out.len());
        }
        text
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.n_failed() == 0
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.has_passed() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn n_failed(&self) -> usize {
        let failed = self.steps.iter().filter(|step| step.result.is_err());
        failed.count()
    }
}

/// The number of tests that were left out, and of those with each reason.
fn left_out_text(left_out: &[LeftOut]) -> String {
    let mut text = String::new();
    if left_out.is_empty() {
        return text;
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for test in left_out {
        let titles: Vec<&str> = test.missing.iter().map(|need| need.title()).collect();
        *reasons.entry(titles.join(", ")).or_default() += 1;
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let _ = writeln!(
        text,
        "\n{} tests were left out, because this machine does not have:",
        left_out.len()
    );
    for (reason, n) in reasons {
        let _ = writeln!(text, "{n:>5}  {reason}");
    }
    let needs = || left_out.iter().flat_map(|test| &test.missing);
    if needs().any(|need| !need.is_beside()) {
        text.push_str("`cargo xtask test --against-hosts` installs programs and packages, and runs these tests.\n");
    }
    if needs().any(|need| need.is_beside()) {
        text.push_str("Collections come in a folder `shared` beside the repository; they are in no package.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use grove_testkit::need::Need;

    use super::*;

    fn left_out(test: &str, missing: &[Need]) -> LeftOut {
        LeftOut {
            package: "p".to_owned(),
            test: test.to_owned(),
            missing: missing.to_vec(),
        }
    }

    #[test]
    fn tests_that_were_left_out_are_counted_by_reason_and_fail_nothing() {
        let mut verdict = Verdict::default();
        verdict.step("one", || Ok(()));
        let tests = [
            left_out("a", &[Need::RealCollections]),
            left_out("b", &[Need::Tmux]),
            left_out("c", &[Need::Claude, Need::Node]),
            left_out("d", &[Need::Tmux]),
        ];
        let text = verdict.text(&tests);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "4 tests were left out, because this machine does not have:",
                "    2  tmux",
                "    1  Claude Code, Node",
                "    1  the real collections of skills",
                "`cargo xtask test --against-hosts` installs programs and packages, and runs these tests.",
                "Collections come in a folder `shared` beside the repository; they are in no package.",
                "1 passed, 0 failed, 4 skipped",
            ]
        );
        assert!(verdict.has_passed());
    }

    #[test]
    fn nothing_is_said_of_what_was_not_left_out() {
        let mut verdict = Verdict::default();
        verdict.step("one", || Ok(()));
        verdict.step("two", || Err("because\nof this".to_owned()));
        let text = verdict.text(&[]);
        assert!(text.ends_with("because\n1 passed, 1 failed"), "{text}");
        assert!(!verdict.has_passed());
        let text = verdict.text(&[left_out("a", &[Need::RealCollections])]);
        assert!(!text.contains("--against-hosts"), "{text}");
    }
}
