//! The commands. Each is one file; each takes what was typed and prints a function of a snapshot.

mod agents;
mod agents_export;
mod agents_manage;
mod catalog;
mod catalog_explain;
mod catalog_host;
mod chains;
mod chains_manage;
mod change_report;
mod check;
mod completions;
mod config;
mod doctor;
mod engines;
mod entry_listing;
mod file_kind;
mod first_provider;
mod host_views;
mod init;
mod input_text;
mod known_hosts;
mod manual;
mod mcp;
mod mcp_install;
mod naming;
mod overview;
mod persons_own;
mod prompt;
mod runs;
mod skills_activate;
mod skills_confusable;
mod skills_list;
mod skills_manage;
mod skills_roots;
mod skills_search;
mod skills_show;
mod trust;
mod tryout;
mod undo;
mod unread;
mod validate;
mod watch;
mod why;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use grove_catalog::hosts;
use grove_skills::{Environment, Library, Parts, Request, View, session_file};

pub(crate) use grove_spec::text::counted;

use crate::args::{self, AgentsCommand, CheckArgs, Cli, Command, Look, SkillsCommand, with_names};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::Output;
use crate::process_environment;

/// The outcome of a command: an exit code, or an error.
pub(crate) type Outcome = Result<u8, CommandError>;

/// Runs what was typed; `looked` keeps the library that looked, if one did.
pub(crate) fn run(
    arguments: Vec<OsString>,
    looked: &mut Option<Looked>,
    out: &mut Output,
) -> Outcome {
    let arguments = with_names(help_as_flag(arguments));
    let environment = process_environment::read();
    out.set_terminal(&environment.variables);
    let parsed = args::command().try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return Ok(usage(&error, &arguments, out)),
    };
    let anywhere = matches!(
        cli.command,
        Some(Command::Completions { .. } | Command::Hosts { .. } | Command::Manual { .. })
    );
    if environment.working.as_os_str().is_empty() && !anywhere {
        return Err(
            CommandError::internal("the working folder no longer exists")
                .hint("change to another folder"),
        );
    }
    if cli.command.as_ref().is_some_and(is_about_runs)
        && let Some(why) = environment.why_nowhere()
    {
        return Err(CommandError::nowhere(&why, "runs"));
    }
    if let Some(command) = &cli.command {
        persons_own::require_person(&environment, command)?;
    }
    match cli.command {
        None => {
            let json = cli.look.json;
            let looked = looked.insert(look_at_hosts(environment, &cli.look)?);
            Ok(overview::run(looked, json, out))
        }
        Some(Command::Why {
            name,
            task,
            look: flags,
        }) => {
            let looked = looked.insert(look_at_hosts(environment, &flags)?);
            why::run(looked, &name, task.as_deref(), flags.json, out)
        }
        Some(Command::Skills(command)) => skills(environment, &command, looked, out),
        Some(Command::Agents(AgentsCommand::Export(arguments))) => {
            agents_export::run(environment, &arguments, looked, out)
        }
        Some(Command::Agents(command)) => agents::run(environment, &command, out),
        Some(Command::Chains(command)) => chains::run(environment, &command, out),
        Some(Command::Prompt(arguments)) => prompt::run(environment, &arguments, looked, out),
        Some(Command::Init { yes, json }) => init::run(environment, yes, json, looked, out),
        Some(Command::Try(arguments)) => tryout::run(&environment, &arguments, out),
        Some(Command::Run(arguments)) => runs::run(&environment, &arguments, out),
        Some(Command::Plan(arguments)) => runs::plan(&environment, &arguments, out),
        Some(Command::Runs(command)) => runs::manage(&environment, &command, out),
        Some(Command::Supervise) => {
            grove_engine::supervise(environment)?;
            Ok(0)
        }
        Some(Command::Catalog(arguments)) => catalog::run(environment, &arguments, looked, out),
        Some(Command::Mcp(arguments)) => mcp::run(environment, &arguments, out),
        Some(Command::Validate {
            paths,
            fix,
            github,
            json,
        }) => {
            let form = validate::Form::asked(json, github);
            validate::run(&environment, &paths, form, fix, out)
        }
        Some(Command::Check(arguments)) => check_all(environment, &arguments, looked, out),
        Some(Command::Trust(arguments)) => trust::grant(&environment, &arguments, out),
        Some(Command::Untrust {
            approval: Some(digest),
            json,
            ..
        }) => trust::disapprove(&environment, &digest, json, out),
        Some(Command::Untrust { folder, json, .. }) => {
            trust::revoke(&environment, folder.as_deref(), json, out)
        }
        Some(Command::Engines { try_each, json }) => {
            engines::run(&environment, try_each, json, out)
        }
        Some(Command::Hosts { json }) => known_hosts::run(&environment, json, out),
        Some(Command::Doctor { look: flags }) => {
            let json = flags.json;
            let mut request = request(&environment, &flags, None)?;
            if request.view == View::Own {
                request.parts = Parts::ALL;
            }
            let looked = looked.insert(Looked::new(environment, request));
            Ok(doctor::run(looked, json, out))
        }
        Some(Command::Watch { look }) => watch::run(environment, &look, out),
        Some(Command::Config { json }) => config::run(environment, json, out),
        Some(Command::Completions { shell }) => completions::run(shell, out),
        Some(Command::Reference { arguments }) => reference(&environment, arguments, out),
        Some(Command::Undo(arguments)) => {
            undo::run(&environment, &arguments, undo::Direction::Undo, out)
        }
        Some(Command::Redo(arguments)) => {
            let arguments = arguments.as_undo();
            undo::run(&environment, &arguments, undo::Direction::Redo, out)
        }
        Some(Command::Manual { page }) => manual::run(page, out),
    }
}

/// `grove reference`: the behaviour of the standard's reference library.
#[cfg(feature = "reference")]
fn reference(environment: &Environment, arguments: Vec<OsString>, out: &mut Output) -> Outcome {
    let output = grove_reference::command::run(&environment.working, arguments);
    out.exact(&output.data);
    out.exact_note(&output.notes);
    Ok(output.exit_code)
}

/// `grove reference` in a program without it.
#[cfg(not(feature = "reference"))]
fn reference(_: &Environment, _: Vec<OsString>, _: &mut Output) -> Outcome {
    let message = "this program was built without `grove reference`";
    Err(CommandError::finding(message).hints([
        "build it with: `cargo install --path crates/grove --features reference`".to_owned(),
        "`grove validate` checks skills against the standard".to_owned(),
    ]))
}

/// Returns true if a command reads or writes what is kept of runs.
fn is_about_runs(command: &Command) -> bool {
    match command {
        Command::Run(_) | Command::Runs(_) | Command::Supervise => true,
        Command::Prompt(arguments) => arguments.run.is_some(),
        _ => false,
    }
}

/// Files as `validate` checks them, or everything that is here.
fn check_all(
    environment: Environment,
    arguments: &CheckArgs,
    looked: &mut Option<Looked>,
    out: &mut Output,
) -> Outcome {
    let CheckArgs {
        paths,
        fix,
        look: flags,
        only,
    } = arguments;
    if !paths.is_empty() {
        let form = validate::Form::asked(flags.json, only.github);
        return validate::run(&environment, paths, form, *fix, out);
    }
    let looked = looked.insert(look_at_kinds(environment, flags)?);
    check::run(looked, check::Checked::Everything, only, flags.json, out)
}

/// Looks at every kind of file that the asked host, or Grove itself, has.
fn look_at_kinds(environment: Environment, flags: &Look) -> Result<Looked, CommandError> {
    let mut request = request(&environment, flags, None)?;
    match &request.view {
        View::Own => request.parts = Parts::ALL,
        View::Host(name) => {
            if let Some(host) = hosts::by_name(name) {
                request.parts = host_views::parts_of(&host);
            }
        }
        View::Folders(_) => {}
    }
    Ok(Looked::new(environment, request))
}

fn skills(
    environment: Environment,
    command: &SkillsCommand,
    looked: &mut Option<Looked>,
    out: &mut Output,
) -> Outcome {
    if let SkillsCommand::List { states, .. } = command {
        skills_list::require_known(states)?;
    }
    let flags = match command {
        SkillsCommand::List { look, .. }
        | SkillsCommand::Show { look, .. }
        | SkillsCommand::Check { look, .. }
        | SkillsCommand::Confusable { look }
        | SkillsCommand::Roots { look } => look,
        SkillsCommand::Search(arguments) => {
            return skills_search::run(environment, arguments, looked, out);
        }
        SkillsCommand::Activate { conversation, .. }
        | SkillsCommand::Expand { conversation, .. }
        | SkillsCommand::Collapse { conversation, .. } => {
            return skills_activate::run(environment, command, conversation, looked, out);
        }
        SkillsCommand::Manage(command) => return skills_manage::run(&environment, command, out),
    };
    let json = flags.json;
    let looked = looked.insert(look(environment, flags)?);
    Ok(match command {
        SkillsCommand::List { states, tree, .. } => {
            let form = match (json, tree) {
                (true, _) => skills_list::Form::Json,
                (_, true) => skills_list::Form::Tree,
                _ => skills_list::Form::Table,
            };
            skills_list::run(looked, form, states, out)
        }
        SkillsCommand::Show { name, look } => skills_show::run(looked, look, name, out)?,
        SkillsCommand::Check { only, .. } => {
            check::run(looked, check::Checked::Skills, only, json, out)?
        }
        SkillsCommand::Confusable { .. } => skills_confusable::run(looked, json, out),
        // The commands of a conversation have returned above.
        _ => skills_roots::run(looked, json, out),
    })
}

/// Returns true if the person agrees, or has said so already; where no person can be asked that is an error.
pub(crate) fn agreed(question: &str, yes: bool, out: &mut Output) -> Result<bool, CommandError> {
    if yes {
        return Ok(true);
    }
    let answer = out.ask(question).ok_or_else(|| {
        let message = format!("{question} nobody can answer here, so nothing was changed");
        CommandError::finding(message).hint("add --yes to make this change")
    })?;
    if !answer {
        out.note("nothing was changed");
    }
    Ok(answer)
}

/// `grove help` and `grove help COMMAND` as `--help`.
fn help_as_flag(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|word| word == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

fn usage(error: &clap::Error, arguments: &[OsString], out: &mut Output) -> u8 {
    let text = error.render().to_string();
    if error.use_stderr() {
        text.lines().for_each(|line| out.note(line));
        if flags_before_command(error, arguments) {
            out.note("hint: put the flags after the command: `grove skills list --json`");
        }
        return ErrorKind::Usage.exit_code();
    }
    out.help(&text);
    0
}

/// Returns true if a command was refused because of flags in front of it.
fn flags_before_command(error: &clap::Error, arguments: &[OsString]) -> bool {
    let Some(ContextValue::String(refused)) = error
        .get(ContextKind::InvalidSubcommand)
        .or_else(|| error.get(ContextKind::InvalidArg))
    else {
        return false;
    };
    let begins_with_flag = arguments
        .get(1)
        .is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    begins_with_flag && Cli::command().find_subcommand(refused).is_some()
}

/// A library that has looked, with what it saw.
pub(crate) struct Looked {
    pub(crate) library: Library,
    pub(crate) look: grove_skills::Look,
}

impl std::ops::Deref for Looked {
    type Target = grove_skills::Look;

    fn deref(&self) -> &Self::Target {
        &self.look
    }
}

impl Looked {
    pub(crate) fn new(environment: Environment, request: Request) -> Self {
        let mut library = Library::new(environment, request);
        let look = library.look();
        Self { library, look }
    }

    /// Writes what was learnt for the next start, and notes what could not be written.
    pub(crate) fn remember(&mut self, out: &mut Output) {
        let mut findings = self.library.save_cache();
        findings.dedup();
        out.diagnostics(&findings);
    }
}

/// Looks at skills as asked.
pub(crate) fn look(environment: Environment, look: &Look) -> Result<Looked, CommandError> {
    let request = request(&environment, look, None)?;
    Ok(Looked::new(environment, request))
}

/// Looks at skills and agents, to compare what hosts have of them.
fn look_at_hosts(environment: Environment, look: &Look) -> Result<Looked, CommandError> {
    let mut request = request(&environment, look, None)?;
    let host = look.host.as_deref().and_then(hosts::by_name);
    request.parts = host.map_or(Parts::PROMPTS, |host| host_views::parts_of(&host));
    Ok(Looked::new(environment, request))
}

/// Looks at skills as a conversation does: the names that it lets through decide what is found, so its file is read
/// before looking. Gives the file too.
pub(crate) fn look_in_session(
    environment: Environment,
    look: &Look,
    session: Option<&Path>,
) -> Result<(Looked, Option<PathBuf>), CommandError> {
    let session = session.map(|file| absolute(file, &environment));
    let known = session.as_deref().map(session_file::read).transpose()?;
    let names = known.flatten().and_then(|session| session.frozen.names);
    let request = request(&environment, look, names)?;
    Ok((Looked::new(environment, request), session))
}

/// Returns the request for a look, as typed.
pub(crate) fn request(
    environment: &Environment,
    look: &Look,
    names: Option<Vec<String>>,
) -> Result<Request, CommandError> {
    let view = match &look.host {
        Some(name) => {
            View::Host(naming::known_host(name, "known hosts", hosts::names())?.to_owned())
        }
        None if look.roots.is_empty() => View::Own,
        None => View::Folders(
            look.roots
                .iter()
                .map(|root| absolute(root, environment))
                .collect(),
        ),
    };
    Ok(Request {
        view,
        all: look.all,
        names,
        ..Request::default()
    })
}

/// A path made absolute; resolved only where `..` leaves no other way to name it plainly.
pub(crate) fn absolute(path: &Path, environment: &Environment) -> PathBuf {
    let joined = environment.working.join(path);
    let plain = std::path::absolute(&joined).unwrap_or_else(|_| joined.clone());
    if plain.components().any(|part| part == Component::ParentDir) {
        grove_fs::files::canonical(&plain).unwrap_or(plain)
    } else {
        plain
    }
}

/// Characters and tokens of a text.
pub(crate) fn cost(text: &str) -> (usize, usize) {
    (text.chars().count(), crate::tokens::count(text))
}

/// Returns the cost of a text for a model, as a line beside it.
pub(crate) fn cost_note(text: &str) -> String {
    let (chars, tokens) = cost(text);
    let (chars, tokens) = (counted(chars, "character"), counted(tokens, "token"));
    let about = if crate::tokens::EXACT { "" } else { "about " };
    format!("grove: {chars}, {about}{tokens}")
}

/// Returns the number of findings that need attention, as a clause.
pub(crate) fn need_attention(findings: usize) -> String {
    if findings == 1 {
        "1 finding needs attention".to_owned()
    } else {
        format!("{findings} findings need attention")
    }
}

/// A path as people read it: on one line, every blank kept, home as `~`.
pub(crate) fn tilde(path: &Path, environment: &Environment) -> String {
    let shown = match environment
        .home
        .as_deref()
        .and_then(|home| path.strip_prefix(home).ok())
    {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.to_string_lossy()),
        None => path.to_string_lossy().into_owned(),
    };
    path_text(&shown)
}

/// A path on one line, with what could not be seen made visible and every blank kept.
pub(crate) fn path_text(path: &str) -> String {
    grove_spec::text::visible(path)
        .replace('\n', "\\u{a}")
        .replace('\t', "\\u{9}")
}
