//! `cargo xtask bench reload`: from one edit among many skills to the published snapshot, without the time for
//! which the library waits for quiet.

use std::path::Path;
use std::time::{Duration, Instant};

use grove_skills::live::{LiveLibrary, LiveOptions, Subscription};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment};
use grove_testkit::library::GeneratedLibrary;

use crate::floor::{Floor, Probe};
use crate::samples::Samples;
use crate::table::{self, number};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

/// The most milliseconds that the design allows for 10,000 skills.
const OWED_MS: f64 = 15.0;
/// Far more than any reload takes.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(31);
    arguments.finish()?;
    let quiet = LiveOptions::default().quiet;
    let mut rows = Vec::new();
    for n_skills in [100, 1_000, 10_000] {
        let folder = workspace::target().join(format!("bench/reload-{n_skills}"));
        let library = GeneratedLibrary::create(folder, n_skills)?;
        let Times {
            floor,
            reload,
            turn,
            asked,
        } = measure(&library, n_runs)?;
        let mut row = vec![n_skills.to_string(), reload.len().to_string()];
        for samples in [&floor, &turn, &asked, &reload] {
            row.push(number(samples.minimum_ms()));
            row.push(number(samples.median_ms()));
        }
        rows.push(row);
    }
    println!(
        "one edit to a published snapshot, minus {} ms of quiet; {OWED_MS} ms are owed for 10,000 skills",
        quiet.as_millis()
    );
    let head = [
        "skills",
        "runs",
        "floor min ms",
        "median",
        "turn min ms",
        "median",
        "edited turn min ms",
        "median",
        "reload min ms",
        "median",
    ];
    table::print(&head, &rows);
    Ok(())
}

/// Taken in turn, so that whatever slows the machine slows all of them.
#[derive(Default)]
struct Times {
    /// Looking at every file, and nothing else.
    floor: Samples,
    /// A turn in which nothing had changed.
    turn: Samples,
    /// A turn just after an edit.
    asked: Samples,
    /// From an edit to what is published by itself.
    reload: Samples,
}

fn measure(library: &GeneratedLibrary, n_runs: u32) -> Result<Times, String> {
    let nowhere = Path::new(Environment::NOWHERE);
    let environment = Environment::for_home(nowhere.into(), nowhere.into());
    let request = DiscoveryRequest {
        view: DiscoveryView::Folders(vec![library.root().to_path_buf()]),
        all: true,
        ..DiscoveryRequest::default()
    };
    let live = LiveLibrary::start(environment, request);
    let found = live.snapshot().skills.len();
    if found != library.n_skills() {
        return Err(format!("{found} skills instead of {}", library.n_skills()));
    }
    let mut told = live.subscribe();
    // The first edit may be seen by the look that follows new watches at once, without any quiet: it is no measure.
    let file = library.skill_file(0);
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    for text in [format!("{text}edited\n"), text] {
        edit(&file, &text, &mut told)?;
    }
    let mut times = Times::default();
    let mut floor = Floor::new();
    for run in 0..n_runs {
        let index = (run as usize * 37) % library.n_skills();
        let file = library.skill_file(index);
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let edited = format!("{text}edited\n");
        let time = edit(&file, &edited, &mut told)?;
        times
            .reload
            .add(time.saturating_sub(LiveOptions::default().quiet));
        std::fs::write(&file, &text).map_err(|error| error.to_string())?;
        let start = Instant::now();
        let asked = live.snapshot();
        times.asked.add(start.elapsed());
        told.next(LIMIT).ok_or("the edit was never told")?;
        if !std::sync::Arc::ptr_eq(&asked, told.base()) {
            return Err("the turn did not see the edit".to_owned());
        }
        let start = Instant::now();
        live.snapshot();
        times.turn.add(start.elapsed());
        let start = Instant::now();
        let walked = floor.walk(library.root(), Probe::Check);
        times.floor.add(start.elapsed());
        walked.map_err(|error| error.to_string())?;
    }
    Ok(times)
}

/// From the end of the edit until it is published.
fn edit(file: &Path, text: &str, told: &mut Subscription) -> Result<Duration, String> {
    std::fs::write(file, text).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let update = told.next(LIMIT).ok_or("the edit was never told")?;
    if update.changed.len() == 1 {
        Ok(update.published.saturating_duration_since(start))
    } else {
        Err(format!("one edit changed {:?}", update.changed))
    }
}
