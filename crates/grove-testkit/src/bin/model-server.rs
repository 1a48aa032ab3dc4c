//! The model server as a program: `grove-model-server [--port N] [SCRIPT.json | -]`.
//!
//! Its first line on stdout is its address. It runs until it is ended. What it was asked is at `GET /requests`, what it
//! did at `GET /stats`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for tests and benchmarks, which says its address"
)]

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use grove_testkit::model_server::{Script, ScriptFile, serve};
use grove_testkit::process::allow_many_connections;
use tokio::net::TcpListener;

const USAGE: &str = "usage: grove-model-server [--port N] [SCRIPT.json | -]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut port = 0;
    let mut script = ScriptFile::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => {
                let value = arguments.next().ok_or(USAGE)?;
                port = value
                    .parse()
                    .map_err(|_| format!("`{value}` is not a port"))?;
            }
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            option if option.starts_with("--") => {
                return Err(format!("unknown option {option}; {USAGE}"));
            }
            file => script = read(file)?,
        }
    }
    allow_many_connections();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let listener =
            listener.map_err(|error| format!("cannot listen on port {port}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        println!("http://{address}");
        let _ = std::io::stdout().flush();
        serve(listener, Script::from(script)).await;
        Ok(())
    })
}

fn read(file: &str) -> Result<ScriptFile, String> {
    let mut text = String::new();
    let read = if file == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(|error| format!("cannot read {file}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{file} is no script: {error}"))
}
