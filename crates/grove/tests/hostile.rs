//! The hostile corpus against the program: every case about finding skills, one by one and all in
//! one root together, and generated counter-cases that keep the rules from being too strict.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "the test makes and changes the trees it looks at, and fails where it cannot"
)]

#[path = "hostile/corpus.rs"]
mod corpus;
#[path = "hostile/counter_cases.rs"]
mod counter_cases;
#[path = "hostile/listing.rs"]
mod listing;
#[path = "hostile/long_descriptions.rs"]
mod long_descriptions;
#[path = "hostile/race.rs"]
mod race;
#[path = "hostile/session.rs"]
mod session;
#[path = "hostile/skills_root.rs"]
mod skills_root;
#[path = "hostile/together.rs"]
mod together;
#[path = "hostile/trust.rs"]
mod trust;

use std::time::{Duration, Instant};

use corpus::{Corpus, Kind};

/// For all cases one by one and together. Copying the corpus is not counted: it is not Grove's work.
const TIME_FOR_ALL: Duration = Duration::from_mins(1);

#[test]
fn every_case_is_met_one_by_one_and_all_together_within_a_minute() {
    let corpus = Corpus::copy();
    let cases = corpus.cases();
    let start = Instant::now();
    let mut complaints = Vec::new();
    for case in &cases {
        let found = match case.kind() {
            Kind::SkillsRoot => skills_root::complaints(case, &corpus.place(case.id())),
            Kind::Race => race::complaints(case),
            Kind::Trust => trust::complaints(case),
        };
        complaints.extend(
            found
                .into_iter()
                .map(|text| format!("{}: {text}", case.id())),
        );
    }
    complaints.extend(together::complaints(&cases, &corpus.place("together")));
    let elapsed = start.elapsed();
    println!("{} cases in {elapsed:.1?}", cases.len());
    assert!(
        complaints.is_empty(),
        "{} complaints:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
    assert!(elapsed < TIME_FOR_ALL, "all cases took {elapsed:.1?}");
}
