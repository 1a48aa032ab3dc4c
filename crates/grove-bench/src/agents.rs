//! `cargo xtask bench agents`: what a person waits for who types `grove agents list` or `grove prompt` with a
//! thousand agents and a thousand skills, from the start of the process to its end.

use std::fs;
use std::path::{Path, PathBuf};

use grove_testkit::library::GeneratedLibrary;

use crate::samples::Samples;
use crate::start::{RUN_LIMIT, build_grove, isolated, print, time};
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

const N_AGENTS: usize = 1_000;
const N_SKILLS: usize = 1_000;
/// The agent whose prompt is asked for.
const ASKED: usize = N_AGENTS / 2;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let n_runs: u32 = arguments.value("--runs")?.unwrap_or(20);
    arguments.finish()?;
    build_grove()?;
    let home = workspace::target().join("bench/agents-home");
    let skills =
        GeneratedLibrary::create(make_folder(&home.join(".agents"))?.join("skills"), N_SKILLS)?;
    make_agents(&make_folder(&home.join(".grove/agents"))?, &skills)?;
    let grove = workspace::target().join("release/grove");
    let command = |words: &[&str]| {
        let mut command = isolated(&grove, &home);
        command.args(words);
        command
    };
    let asked = name(ASKED);
    // Without `--all` a root gives 300 skills; the thousand are to be looked at.
    let prompt = ["prompt", &asked, "--all"];
    require(&mut command(&["agents", "list"]), (0..N_AGENTS).map(name))?;
    let told = [told(ASKED), skills.skill_name(ASKED)];
    require(&mut command(&prompt), told.into_iter())?;

    let (mut list, mut prompts) = (Samples::default(), Samples::default());
    let (mut fresh, mut nothing) = (Samples::default(), Samples::default());
    for _ in 0..n_runs {
        list.add(time(&mut command(&["agents", "list"]))?);
        prompts.add(time(&mut command(&prompt))?);
        forget(&home)?;
        fresh.add(time(&mut command(&prompt))?);
        nothing.add(time(&mut isolated(Path::new("/bin/true"), &home))?);
    }
    let of_what = format!("{N_AGENTS} agents and {N_SKILLS} skills");
    let measured = [
        ("grove agents list", &list),
        ("grove prompt", &prompts),
        ("grove prompt, nothing cached", &fresh),
        ("/bin/true", &nothing),
    ];
    print(&of_what, &measured);
    Ok(())
}

pub(crate) fn make_folder(folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder.to_path_buf())
}

/// Removes what earlier runs have learnt about skills.
fn forget(home: &Path) -> Result<(), String> {
    let cache = home.join(".cache");
    match fs::remove_dir_all(&cache) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", cache.display()))
        }
        _ => Ok(()),
    }
}

fn name(index: usize) -> String {
    format!("agent-{index:04}")
}

/// The last line of an agent's text.
fn told(index: usize) -> String {
    format!("You are agent number {index}.")
}

/// Agents of an ordinary size, each with a skill of its own.
fn make_agents(folder: &Path, skills: &GeneratedLibrary) -> Result<(), String> {
    for index in 0..N_AGENTS {
        let text = format!(
            "---\nname: {}\ndescription: Looks after part {index} of a repository, when somebody asks for that part.\n\
             tools: read, grep, find, ls, bash\nthinking: high\nskills: {}\n---\n\n{}{}\n",
            name(index),
            skills.skill_name(index),
            "Read before you write, say what you saw, and leave alone what nobody asked for.\n"
                .repeat(15),
            told(index),
        );
        let file = folder.join(format!("{}.md", name(index)));
        fs::write(&file, text)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(())
}

/// Fails if something is not found, since a program that finds nothing would be fast.
fn require(
    command: &mut std::process::Command,
    mut words: impl Iterator<Item = String>,
) -> Result<(), String> {
    let output = step::quiet("grove", command, RUN_LIMIT)?;
    let text = output.stdout_text();
    match words.find(|word| !text.contains(word)) {
        None => Ok(()),
        Some(word) => Err(format!("{command:?} does not know {word}")),
    }
}
