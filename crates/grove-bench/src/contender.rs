//! The contenders of a benchmark, each with a fair share of the rounds.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::pi::PiLoader;
use crate::samples::Samples;
use crate::system_calls::{self, Counts};
use crate::work::{Prepared, Work};

/// The name of the peer, with the version that is installed.
pub(crate) const PI: &str = "pi 0.87.1";

/// The time that a slow contender may take for one size; it still has its `FEWEST_TURNS`.
const BUDGET: Duration = Duration::from_secs(20);
const FEWEST_TURNS: u32 = 3;

/// As many runs as fit in here make one turn. The first run after another contender meets cold
/// processor caches and a second thread that still waits for a processor; with single runs the
/// floor of 1,000 skills came out a quarter too high.
const TURN: Duration = Duration::from_millis(25);

/// One run: the time it took and the skills it found.
type Runner = Box<dyn FnMut() -> Result<(Spent, usize), String>>;

/// The time that a run took.
#[derive(Clone, Copy)]
struct Spent {
    elapsed: Duration,
    /// The time of processors in this process; none for a run in another one.
    processors: Option<Duration>,
}

/// The counter of the system calls of one run.
type Counter = Box<dyn Fn(&Path) -> Result<Counts, String>>;

/// A contender that is measured.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// The name of the contender that is this one's floor.
    pub(crate) floor: &'static str,
    samples: Samples,
    processors: Samples,
    /// The runner, or the reason why there are no numbers.
    runner: Result<Runner, String>,
    counter: Counter,
    n_turns: u32,
    /// The fastest run so far, the warm-up included.
    fastest: Duration,
}

/// All contenders, prepared for the library in `root`.
pub(crate) fn all(root: &Path) -> Vec<Contender> {
    let elsewhere = |(elapsed, found)| {
        let processors = None;
        (
            Spent {
                elapsed,
                processors,
            },
            found,
        )
    };
    let pi = PiLoader::start(root)
        .map(|mut loader| -> Runner { Box::new(move || loader.load().map(elsewhere)) });
    let here = Work::ALL.map(|work| {
        let runner = work.prepare(root).map(timed);
        let counter = move |library: &Path| system_calls::of_work(work, library);
        Contender::new(work.name(), work.floor(), runner, Box::new(counter))
    });
    let peer = Contender::new(PI, Work::FloorRead, pi, Box::new(system_calls::of_pi));
    here.into_iter().chain([peer]).collect()
}

fn timed(mut work: Prepared) -> Runner {
    Box::new(move || {
        let (start, before) = (Instant::now(), processor_time());
        let done = work()?;
        let elapsed = start.elapsed();
        let processors = Some(processor_time().saturating_sub(before));
        drop(done.kept);
        Ok((
            Spent {
                elapsed,
                processors,
            },
            done.n_skills,
        ))
    })
}

/// The time that processors spent on this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Contender {
    fn new(
        name: &'static str,
        floor: Work,
        runner: Result<Runner, String>,
        counter: Counter,
    ) -> Self {
        Self {
            name,
            floor: floor.name(),
            samples: Samples::default(),
            processors: Samples::default(),
            runner,
            counter,
            n_turns: 0,
            fastest: Duration::MAX,
        }
    }

    /// One run that does not count but fills the caches.
    pub(crate) fn warm_up(&mut self, n_skills: usize) {
        self.run_once(n_skills);
    }

    /// Runs for one turn when it has had less than its share of the rounds so far.
    pub(crate) fn take_turn(&mut self, round: u32, n_rounds: u32, n_skills: usize) {
        let n_due = (round + 1) * self.n_affordable_turns(n_rounds) / n_rounds;
        if self.n_turns >= n_due {
            return;
        }
        self.n_turns += 1;
        let mut used = Duration::ZERO;
        while let Some(spent) = self.run_once(n_skills) {
            self.samples.add(spent.elapsed);
            if let Some(processors) = spent.processors {
                self.processors.add(processors);
            }
            used += spent.elapsed;
            if used + self.fastest > TURN {
                break;
            }
        }
    }

    /// Returns the number of turns that fit in the budget, by the fastest run so far: the first may have been disturbed.
    fn n_affordable_turns(&self, n_rounds: u32) -> u32 {
        let turn = self.fastest.max(TURN);
        let fitting = BUDGET.as_nanos() / turn.as_nanos();
        let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
        fitting.clamp(FEWEST_TURNS.min(n_rounds), n_rounds)
    }

    /// The times so far, or why there are none.
    pub(crate) fn samples(&self) -> Result<&Samples, &str> {
        match &self.runner {
            Ok(_) => Ok(&self.samples),
            Err(reason) => Err(reason),
        }
    }

    /// The times of processors, which another program on the machine changes little.
    pub(crate) fn processors(&self) -> &Samples {
        &self.processors
    }

    /// The system calls of one run, made in a process of its own.
    pub(crate) fn count_calls(&self, library: &Path) -> Result<Counts, String> {
        self.samples()?;
        (self.counter)(library)
    }

    /// A run that fails, or finds another number of skills, is the last one.
    fn run_once(&mut self, n_skills: usize) -> Option<Spent> {
        let run = self.runner.as_mut().ok()?;
        match run() {
            Ok((spent, found)) if found == n_skills => {
                self.fastest = self.fastest.min(spent.elapsed);
                return Some(spent);
            }
            Ok((_, found)) => self.runner = Err(format!("found {found} of {n_skills} skills")),
            Err(reason) => self.runner = Err(reason),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(elapsed: Duration, found: usize) -> Contender {
        let processors = None;
        let spent = Spent {
            elapsed,
            processors,
        };
        let runner: Runner = Box::new(move || Ok((spent, found)));
        Contender::new(
            "test",
            Work::FloorRead,
            Ok(runner),
            Box::new(|_| Ok(Counts::new())),
        )
    }

    fn n_runs(elapsed: Duration) -> usize {
        let mut contender = contender(elapsed, 7);
        contender.warm_up(7);
        for round in 0..31 {
            contender.take_turn(round, 31, 7);
        }
        contender.samples().unwrap().len()
    }

    #[test]
    fn a_fast_contender_runs_several_times_a_turn() {
        assert_eq!(n_runs(Duration::from_millis(10)), 31 * 2);
        assert_eq!(n_runs(Duration::from_millis(25)), 31);
    }

    #[test]
    fn a_slow_contender_has_fewer_turns_but_never_less_than_the_fewest() {
        assert_eq!(n_runs(Duration::from_secs(2)), 10);
        assert_eq!(n_runs(Duration::from_mins(1)), 3);
    }

    #[test]
    fn whoever_misses_a_skill_gets_no_numbers() {
        let mut contender = contender(Duration::ZERO, 6);
        contender.warm_up(7);
        assert_eq!(contender.samples().unwrap_err(), "found 6 of 7 skills");
    }
}
