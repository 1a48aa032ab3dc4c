//! `cargo xtask bench reload`: from one edit among many skills to the published snapshot, without the time for
//! which the library waits for quiet.

use std::path::Path;
use std::time::{Duration, Instant};

use grove_skills::live::{LiveLibrary, Options, Subscription};
use grove_skills::{Environment, Request, View};
use grove_testkit::library::GeneratedLibrary;

use super::samples::Samples;
use super::table::{self, number};
use crate::arguments::Arguments;
use crate::workspace;

/// What the design owes for 10,000 skills.
const OWED_MS: f64 = 15.0;
/// Far more than any reload takes.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(31);
    arguments.finish()?;
    let quiet = Options::default().quiet;
    let mut rows = Vec::new();
    for n_skills in [100, 1_000, 10_000] {
        let folder = workspace::target().join(format!("bench/reload-{n_skills}"));
        let library = GeneratedLibrary::create(folder, n_skills)?;
        let (reload, turn) = measure(&library, n_runs)?;
        rows.push(vec![
            n_skills.to_string(),
            reload.len().to_string(),
            number(reload.minimum_ms()),
            number(reload.median_ms()),
            number(turn.minimum_ms()),
            number(turn.median_ms()),
        ]);
    }
    println!(
        "one edit to a published snapshot, minus {} ms of quiet; {OWED_MS} ms are owed for 10,000 skills",
        quiet.as_millis()
    );
    let head = [
        "skills",
        "runs",
        "min ms",
        "median ms",
        "turn min ms",
        "turn median ms",
    ];
    table::print(&head, &rows);
    Ok(())
}

/// The times of reloads, and of turns in which nothing had changed.
fn measure(library: &GeneratedLibrary, n_runs: u32) -> Result<(Samples, Samples), String> {
    let nowhere = Path::new(Environment::NOWHERE);
    let environment = Environment::for_home(nowhere.into(), nowhere.into());
    let request = Request {
        view: View::Folders(vec![library.root().to_path_buf()]),
        all: true,
        names: None,
    };
    let live = LiveLibrary::start(environment, request);
    let found = live.refresh().skills.len();
    if found != library.n_skills() {
        return Err(format!("{found} skills instead of {}", library.n_skills()));
    }
    let mut told = live.subscribe();
    let (mut reloads, mut turns) = (Samples::default(), Samples::default());
    for run in 0..n_runs {
        let index = (run as usize * 37) % library.n_skills();
        let file = library.skill_file(index);
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let edited = format!("{text}edited\n");
        let time = edit(&file, &edited, &mut told)?;
        reloads.add(time.saturating_sub(Options::default().quiet));
        edit(&file, &text, &mut told)?;
        let start = Instant::now();
        live.snapshot();
        turns.add(start.elapsed());
    }
    Ok((reloads, turns))
}

/// From the end of the edit until it is told.
fn edit(file: &Path, text: &str, told: &mut Subscription) -> Result<Duration, String> {
    std::fs::write(file, text).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let update = told.next(LIMIT).ok_or("the edit was never told")?;
    let time = start.elapsed();
    if update.changed.len() == 1 {
        Ok(time)
    } else {
        Err(format!("one edit changed {:?}", update.changed))
    }
}
