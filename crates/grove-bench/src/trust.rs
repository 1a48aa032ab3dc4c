//! `cargo xtask bench trust`: what it costs to see that nothing changed in a trusted project, beside a bare `statx` of
//! the same files and folders.
//!
//! A look walks the project's folder with skills, reads no file and compares the stamp of every entry of every skill's
//! folder. The floor knows all paths and only asks the kernel, on one thread and on two.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use grove_catalog::state::EntryState;
use grove_skills::{DiscoveryRequest, Environment, Library, trusting};
use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::samples::Samples;
use crate::table;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

const N_SKILLS: usize = 1_000;
/// Skills in one group.
const GROUP: usize = 50;
/// Five files in three folders.
const FILES: [&str; 5] = [
    "SKILL.md",
    "scripts/setup.sh",
    "scripts/check.py",
    "references/usage.md",
    "references/notes.md",
];
const FOLDERS: [&str; 3] = ["", "scripts", "references"];

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_rounds: usize = arguments.value("--runs")?.unwrap_or(51);
    arguments.finish()?;
    let base = workspace::target().join("bench/trust");
    let root = base.join("project/.agents/skills");
    let paths = make_skills(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    // The stamp of a file that was written just now proves nothing.
    std::thread::sleep(Duration::from_millis(100));

    let environment = Environment::for_home(base.join("home"), base.join("project"));
    trusting::grant(&environment, None, false).map_err(|error| error.to_string())?;
    let request = DiscoveryRequest {
        all: true,
        ..DiscoveryRequest::default()
    };
    let mut library = Library::new(environment.clone(), request);
    look(&mut library)?;

    let folder = File::open(&root).map_err(|error| error.to_string())?;
    let mut samples = <[Samples; 3]>::default();
    for round in 0..n_rounds {
        for turn in 0..samples.len() {
            // Another one begins each round, so that no one always follows the same neighbour.
            let which = (round + turn) % samples.len();
            let start = Instant::now();
            match which {
                0 => look(&mut library)?,
                1 => ask_all(folder.as_fd(), &paths)?,
                _ => ask_on_two_threads(folder.as_fd(), &paths)?,
            }
            if let Some(samples) = samples.get_mut(which) {
                samples.add(start.elapsed());
            }
        }
    }
    let [ours, bare, bare_two] = &samples;
    let row = |name: &str, samples: &Samples| {
        let against = |floor: &Samples| {
            let ratio = samples.minimum_ms().zip(floor.minimum_ms());
            table::number(ratio.map(|(own, floor)| own / floor))
        };
        vec![
            name.to_owned(),
            table::number(samples.minimum_ms()),
            table::number(samples.median_ms()),
            against(bare),
            against(bare_two),
        ]
    };
    println!(
        "{N_SKILLS} pinned skills, {} files and folders",
        paths.len()
    );
    table::print(
        &["", "best ms", "median ms", "to one thread", "to two"],
        &[
            row("a look that finds nothing changed", ours),
            row("bare statx, one thread", bare),
            row("bare statx, two threads", bare_two),
        ],
    );
    Ok(())
}

fn look(library: &mut Library) -> Result<(), String> {
    let snapshot = library.load();
    let usable = snapshot
        .skills
        .iter()
        .filter(|skill| skill.state == EntryState::Ok);
    match usable.count() {
        count if count >= N_SKILLS => Ok(()),
        count => Err(format!("only {count} skills are trusted")),
    }
}

fn ask_all(folder: BorrowedFd<'_>, paths: &[CString]) -> Result<(), String> {
    let wanted = StatxFlags::BASIC_STATS;
    for path in paths {
        statx(folder, path, AtFlags::SYMLINK_NOFOLLOW, wanted)
            .map_err(|errno| format!("{}: {errno}", path.to_string_lossy()))?;
    }
    Ok(())
}

fn ask_on_two_threads(folder: BorrowedFd<'_>, paths: &[CString]) -> Result<(), String> {
    let (first, second) = paths.split_at(paths.len() / 2);
    std::thread::scope(|scope| {
        let helper = scope.spawn(|| ask_all(folder, second));
        ask_all(folder, first)?;
        helper
            .join()
            .map_err(|_| "the second thread ended".to_owned())?
    })
}

/// Makes the skills, and gives the paths of all their files and folders below the root.
fn make_skills(root: &Path) -> std::io::Result<Vec<CString>> {
    let mut paths = Vec::new();
    for n in 0..N_SKILLS {
        let skill = format!("group-{}/skill-{n}", n / GROUP);
        for folder in FOLDERS {
            fs::create_dir_all(root.join(&skill).join(folder))?;
            paths.push(Path::new(&skill).join(folder));
        }
        for file in FILES {
            let text = match file {
                "SKILL.md" => {
                    format!("---\nname: skill-{n}\ndescription: Does part {n}.\n---\nBody\n")
                }
                file => format!("{file} of {n}\n").repeat(40),
            };
            fs::write(root.join(&skill).join(file), text)?;
            paths.push(Path::new(&skill).join(file));
        }
    }
    let terminated = |path: PathBuf| CString::new(path.into_os_string().into_encoded_bytes());
    let paths: Result<Vec<CString>, _> = paths.into_iter().map(terminated).collect();
    Ok(paths?)
}
