//! The hostile corpus against the program: every case about finding skills, one by one and all in
//! one root together, and generated counter-cases that keep the rules from being too strict.

pub(crate) mod corpus;
mod counter_cases;
mod listing;
mod long_descriptions;
mod race;
pub(crate) mod session;
mod skills_root;
mod together;
mod trust;

use std::time::{Duration, Instant};

use corpus::{Corpus, Kind};
use grove_testkit::process::own_processor_time;

/// For all cases one by one and together, by the clock, or by the processor where others keep the machine busy;
/// what waits for nothing is met by the limit of each run. Copying the corpus is not counted: it is not Grove's
/// work.
const TIME_FOR_ALL: Duration = Duration::from_mins(1);

/// File system, encoding, YAML, prompt structure and trust; the other groups are not about skills that are
/// found and told of.
const GROUPS: &str = "abcdg";

#[test]
fn every_case_is_met_one_by_one_and_all_together_within_a_minute() {
    let corpus = Corpus::copy();
    let cases = corpus.cases_of(&[Kind::SkillsRoot, Kind::Race, Kind::Trust], GROUPS);
    let (start, used_before) = (Instant::now(), own_processor_time());
    let mut complaints = Vec::new();
    for case in &cases {
        let found = match case.kind {
            Kind::Race => race::complaints(case),
            Kind::Trust => trust::complaints(case),
            _ => skills_root::complaints(case, &corpus.place(case.id())),
        };
        let found = found.into_iter();
        complaints.extend(found.map(|text| format!("{}: {text}", case.id())));
    }
    complaints.extend(together::complaints(&cases, &corpus.place("together")));
    let elapsed = start.elapsed();
    let used = own_processor_time().expect("the time used");
    let used = used.saturating_sub(used_before.expect("the time used before"));
    println!(
        "{} cases in {elapsed:.1?}, {used:.1?} of the processor",
        cases.len()
    );
    assert!(
        complaints.is_empty(),
        "{} complaints:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
    assert!(
        elapsed.min(used) < TIME_FOR_ALL,
        "all cases took {elapsed:.1?}, {used:.1?} of the processor"
    );
}
