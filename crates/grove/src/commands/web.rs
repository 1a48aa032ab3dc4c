//! `grove web`: runs and the library as a live page, for browsers on this machine.
//!
//! Here is decided where it is served and who is given a link; the page is `grove-server`'s.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use grove_engine::Engine;
use grove_server::web::{self, AccessError, PageRight, WebAccess, WebError, WebOptions};
use grove_skills::Environment;
use grove_skills::environment_variables::BROWSER;

use super::Outcome;
use crate::args::{WebArgs, WebCommand};
use crate::command_error::CommandError;
use crate::output::CommandOutput;

/// The name of the person in facts that the page records.
const PLACE: &str = "the page";
/// The time without a browser after which a page ends that was served for a run.
const IDLE: Duration = Duration::from_mins(30);
/// The programs that open an address in the browser of the person, in the order in which they are tried.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Carries out the command `grove web`.
pub(super) fn run(
    environment: &Environment,
    arguments: &WebArgs,
    out: &mut CommandOutput,
) -> Outcome {
    match &arguments.command {
        Some(WebCommand::Link { read, answer }) => {
            let right = match (read, answer) {
                (true, _) => PageRight::Read,
                (false, true) => PageRight::Answer,
                (false, false) => PageRight::All,
            };
            out.line(&link(environment, right, "")?);
            Ok(0)
        }
        None => serve(environment, arguments),
    }
}

fn serve(environment: &Environment, arguments: &WebArgs) -> Outcome {
    let access = WebAccess::open(&environment.state).map_err(no_access)?;
    if access.is_served() {
        let link = link(environment, PageRight::All, "")?;
        return shown(environment, &link, arguments.no_open);
    }
    let engine = Arc::new(Engine::new(environment.clone()).at(PLACE));
    let options = WebOptions {
        port: arguments.port,
        tunnels: arguments.tunnels.clone(),
        idle: arguments.until_idle.then_some(IDLE),
    };
    let served = web::serve(engine, access, &options, |access, address| {
        let link = access.new_link(PageRight::All);
        let link = link.map(|path| format!("http://{address}{path}/"));
        if let Ok(link) = link {
            // A person who does not read this gets a link by `grove web link`.
            let _ = shown(environment, &link, arguments.no_open);
        }
    });
    served.map_err(|error| match error {
        WebError::Access(error) => no_access(error),
        error @ WebError::Listen { .. } => CommandError::finding(with_source(&error))
            .hint("another program has the port; `--port 0` takes any that is free"),
        error @ WebError::Start(_) => CommandError::internal(with_source(&error)),
    })?;
    Ok(0)
}

fn with_source(error: &WebError) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

fn no_access(error: AccessError) -> CommandError {
    match error {
        AccessError::File(error) => error.into(),
        error @ AccessError::Damaged { .. } => {
            CommandError::finding(error).hint("delete the file; browsers then need a new link")
        }
        error @ AccessError::NoRandomness => CommandError::internal(error),
    }
}

/// Prints a link, and opens it in the browser of the person.
fn shown(environment: &Environment, link: &str, no_open: bool) -> Outcome {
    let mut out = CommandOutput::default();
    out.line(link);
    out.flush();
    if !no_open && !open(environment, link) {
        out.note("no browser was found; open the link yourself");
    }
    // It is not read any more.
    let _ = out.finish();
    Ok(0)
}

/// A new link to a page of the one that is being served.
fn link(environment: &Environment, right: PageRight, page: &str) -> Result<String, CommandError> {
    let access = WebAccess::open(&environment.state).map_err(no_access)?;
    let port = access.port().filter(|_| access.is_served());
    let port = port.ok_or_else(|| {
        CommandError::finding("the page is not being served").hint("`grove web` serves it")
    })?;
    let path = access.new_link(right).map_err(no_access)?;
    Ok(format!("http://127.0.0.1:{port}{path}/{page}"))
}

/// Opens the page of a run in the browser of the person, or prints a link to it. The page is served by a process of its own if
/// none serves it yet.
pub(super) fn open_run(environment: &Environment, run: &str, out: &mut CommandOutput) -> Outcome {
    ensure_served(environment)?;
    let link = link(environment, PageRight::All, &format!("runs/{run}"))?;
    if !open(environment, &link) {
        out.note(&format!("open {link}"));
    }
    Ok(0)
}

/// Starts a process that serves the page until it is not looked at any more, unless one serves it.
fn ensure_served(environment: &Environment) -> Result<(), CommandError> {
    let access = WebAccess::open(&environment.state).map_err(no_access)?;
    if access.is_served() {
        return Ok(());
    }
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["web", "--no-open", "--until-idle"])
        .current_dir(&environment.working);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let failed = |error: std::io::Error| CommandError::not_started("the page", &error);
    let mut started = command.spawn().map_err(failed)?;
    // It prints its link once it listens.
    let mut said = String::new();
    if let Some(output) = started.stdout.take() {
        BufReader::new(output)
            .read_line(&mut said)
            .map_err(failed)?;
    }
    drop(std::thread::Builder::new().spawn(move || started.wait()));
    if said.is_empty() {
        let hint = "`grove web` says why";
        return Err(CommandError::internal("the page was not served").hint(hint));
    }
    Ok(())
}

/// Opens an address in the browser of the person. Returns true if a program took it.
fn open(environment: &Environment, address: &str) -> bool {
    let named = environment.variables.get(BROWSER);
    let named = named
        .and_then(|program| program.to_str())
        .map(str::to_owned);
    let others = OPENERS.iter().map(|program| (*program).to_owned());
    let mut programs = named.into_iter().chain(others);
    programs.any(|program| {
        let mut command = Command::new(program);
        let command = command.arg(address).stdin(Stdio::null());
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        started.is_ok_and(|mut started| {
            // A browser that was opened stays; what opened it is waited for.
            drop(std::thread::Builder::new().spawn(move || started.wait()));
            true
        })
    })
}
