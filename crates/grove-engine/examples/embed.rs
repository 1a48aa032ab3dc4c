//! Embeds the engine: runs an agent against a recording, in this process, and prints its answer.
//!
//! `cargo run -p grove-engine --example embed` needs no key: the model's answers come from `embed.jsonl`. With the path of a
//! file it makes the recording anew, with the provider in the environment.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs};

use grove_engine::view::Recording;
use grove_engine::{Engine, RunOrder};
use grove_skills::Environment;

const AGENT: &str = "---\nname: greeter\ndescription: Greets people.\ntools: read\n---\n\
    Greet the person who is named, in one line.\n";

fn environment(folder: &Path) -> Environment {
    Environment {
        variables: env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect(),
        ..Environment::for_home(folder.join("home"), folder.join("work"))
    }
}

fn run(folder: &Path) -> Result<String, Box<dyn Error>> {
    let home = folder.join("home/.grove/agents");
    fs::create_dir_all(&home)?;
    fs::create_dir_all(folder.join("work"))?;
    fs::write(home.join("greeter.md"), AGENT)?;

    let engine = Engine::new(environment(folder));
    let mut order = RunOrder::of_task("greeter", "Ada");
    order.request.model = Some("anthropic/small".to_owned());
    order.recording = Some(match env::args_os().nth(1) {
        Some(file) => Recording::Record(file.into()),
        None => Recording::Replay {
            file: Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/embed.jsonl"),
            strict: true,
        },
    });
    let _served = engine.serve_here()?;
    let (submitted, _) = engine.submit(&engine.resolve(&order)?)?;
    let run = engine.wait(&submitted.id, Duration::from_secs(30))?;
    Ok(run.answer.clone().unwrap_or_else(|| run.shown().to_owned()))
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    if let Some(code) = Engine::serve_if_asked(|| environment(folder.path())) {
        return Ok(code);
    }
    println!("{}", run(folder.path())?);
    Ok(ExitCode::SUCCESS)
}
