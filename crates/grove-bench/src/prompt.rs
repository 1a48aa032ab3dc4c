//! `cargo xtask bench prompt`: a thousand prompts with two preloads each from one snapshot of a thousand agents and a
//! thousand skills, in one process, beside a bare read of the same files. That no folder is opened is counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use grove_skills::prompt::{PromptOptions, prompt};
use grove_skills::{Discovery, DiscoveryParts, DiscoveryRequest, Environment, Library};
use grove_testkit::library::GeneratedLibrary;

use crate::agents::make_folder;
use crate::samples::Samples;
use crate::{system_calls, table};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

/// The work whose system calls are counted.
pub(crate) const CHILD: &str = "prompts";

const N: usize = 1_000;
/// An agent's own file, and those of two skills.
const FILES_OF_PROMPT: usize = 3;
const OWED_MS: f64 = 0.2;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(5);
    arguments.finish()?;
    let home = workspace::target().join("bench/prompt-home");
    let skills = make_folder(&home.join(".agents"))?.join("skills");
    let skills = GeneratedLibrary::create(skills, N)?;
    let files = make_agents(&make_folder(&home.join(".grove/agents"))?, &skills)?;
    let look = look(&home)?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for _ in 0..n_runs {
        for (at, files) in files.iter().enumerate() {
            let begin = Instant::now();
            for file in files {
                fs::read(file)
                    .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            }
            bare.add(begin.elapsed());
            let begin = Instant::now();
            make(&look, at)?;
            ours.add(begin.elapsed());
        }
    }
    let row = |name: &str, samples: &Samples, owed: &str| {
        let shown = |ms: Option<f64>| ms.map_or_else(String::new, |ms| format!("{ms:.4}"));
        vec![
            name.to_owned(),
            samples.len().to_string(),
            shown(samples.minimum_ms()),
            shown(samples.median_ms()),
            owed.to_owned(),
        ]
    };
    let owed = OWED_MS.to_string();
    println!("prompts of {N} agents with two of {N} skills each");
    let rows = [
        row("a prompt", &ours, &owed),
        row("a bare read of its files", &bare, ""),
    ];
    table::print(&["", "prompts", "min ms", "median ms", "owed ms"], &rows);
    count_opens(&home)?;
    match ours.median_ms() {
        Some(median) if median <= OWED_MS => Ok(()),
        _ => Err(format!("a prompt takes more than {OWED_MS} ms")),
    }
}

/// Looks once, and makes all prompts unless only the look is asked for.
pub(crate) fn child(home: &Path, only_prepare: bool) -> Result<(), String> {
    let look = look(home)?;
    for at in 0..if only_prepare { 0 } else { N } {
        make(&look, at)?;
    }
    Ok(())
}

/// Fails unless the prompts open only the files that they are made of, and list nothing.
fn count_opens(home: &Path) -> Result<(), String> {
    let counts = system_calls::of_child(CHILD, home)?;
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    let opens = count("open") + count("openat") + count("openat2");
    let listed = count("getdents64");
    println!(
        "{opens} opens for {N} prompts of {FILES_OF_PROMPT} files each, {listed} folders listed"
    );
    if usize::try_from(opens) == Ok(N * FILES_OF_PROMPT) && listed == 0 {
        Ok(())
    } else {
        Err("prompts open something besides the files they are made of".to_owned())
    }
}

fn look(home: &Path) -> Result<Discovery, String> {
    let request = DiscoveryRequest {
        parts: DiscoveryParts::PROMPTS,
        all: true,
        ..DiscoveryRequest::default()
    };
    let environment = Environment::for_home(home.to_path_buf(), home.to_path_buf());
    let look = Library::new(environment, request).discover();
    let n_skills = look.snapshot.skills.len();
    if n_skills < N {
        return Err(format!("only {n_skills} skills were found"));
    }
    Ok(look)
}

fn make(look: &Discovery, at: usize) -> Result<(), String> {
    let agents = &look.snapshot.agents.all;
    let agent = agents.iter().find(|agent| agent.name == name(at));
    let agent = agent.ok_or("an agent was not found")?;
    let made = prompt(
        &look.snapshot,
        &look.sources,
        agent,
        &PromptOptions::default(),
    );
    let made = made.map_err(|error| error.to_string())?;
    match made.prompt.active.len() {
        2 => Ok(()),
        other => Err(format!("{} has {other} skills", agent.name)),
    }
}

fn name(index: usize) -> String {
    format!("agent-{index:04}")
}

/// Agents with two skills each; gives the files of each prompt.
fn make_agents(
    folder: &Path,
    skills: &GeneratedLibrary,
) -> Result<Vec<[PathBuf; FILES_OF_PROMPT]>, String> {
    let one = |index: usize| {
        let other = (index + 1) % N;
        let text = format!(
            "---\nname: {}\ndescription: Looks after part {index} of a repository.\nskills: {}, {}\n---\n\n{}",
            name(index),
            skills.skill_name(index),
            skills.skill_name(other),
            "Read before you write, say what you saw, and leave alone what nobody asked for.\n"
                .repeat(15),
        );
        let file = folder.join(format!("{}.md", name(index)));
        fs::write(&file, text)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok([file, skills.skill_file(index), skills.skill_file(other)])
    };
    (0..N).map(one).collect()
}
