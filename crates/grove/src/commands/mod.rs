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
mod web;
mod why;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use grove_catalog::hosts;
use grove_skills::{
    DiscoveryParts, DiscoveryRequest, DiscoveryView, Environment, Library, session_file,
};

pub(crate) use grove_spec::text::counted;

use crate::args::{
    self, AgentsCommand, CheckArgs, Cli, CliCommand, DiscoveryArgs, SkillsCommand, with_names,
};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::CommandOutput;
use crate::process_environment;

pub(crate) type Outcome = Result<u8, CommandError>;

/// Runs what was typed; `looked` keeps the library that looked, if one did.
pub(crate) fn run(
    arguments: Vec<OsString>,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
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
        Some(CliCommand::Completions { .. } | CliCommand::Hosts { .. } | CliCommand::Manual { .. })
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
            let json = cli.discovery.json;
            let discovered = discovered.insert(discover_for_hosts(environment, &cli.discovery)?);
            Ok(overview::run(discovered, json, out))
        }
        Some(CliCommand::Why {
            name,
            task,
            discovery: flags,
        }) => {
            let discovered = discovered.insert(discover_for_hosts(environment, &flags)?);
            why::run(discovered, &name, task.as_deref(), flags.json, out)
        }
        Some(CliCommand::Skills(command)) => skills(environment, &command, discovered, out),
        Some(CliCommand::Agents(AgentsCommand::Export(arguments))) => {
            agents_export::run(environment, &arguments, discovered, out)
        }
        Some(CliCommand::Agents(command)) => agents::run(environment, &command, out),
        Some(CliCommand::Chains(command)) => chains::run(environment, &command, out),
        Some(CliCommand::Prompt(arguments)) => {
            prompt::run(environment, &arguments, discovered, out)
        }
        Some(CliCommand::Init { yes, json }) => init::run(environment, yes, json, discovered, out),
        Some(CliCommand::Try(arguments)) => tryout::run(&environment, &arguments, out),
        Some(CliCommand::Run(arguments)) => runs::run(&environment, &arguments, out),
        Some(CliCommand::Plan(arguments)) => runs::plan(&environment, &arguments, out),
        Some(CliCommand::Runs(command)) => runs::manage(&environment, &command, out),
        Some(CliCommand::Supervise) => {
            grove_engine::supervise(environment)?;
            Ok(0)
        }
        Some(CliCommand::Catalog(arguments)) => {
            catalog::run(environment, &arguments, discovered, out)
        }
        Some(CliCommand::Mcp(arguments)) => mcp::run(environment, &arguments, out),
        Some(CliCommand::Web(arguments)) => web::run(&environment, &arguments, out),
        Some(CliCommand::Validate {
            paths,
            fix,
            github,
            json,
        }) => {
            let form = validate::FindingsForm::asked(json, github);
            validate::run(&environment, &paths, form, fix, out)
        }
        Some(CliCommand::Check(arguments)) => check_all(environment, &arguments, discovered, out),
        Some(CliCommand::Trust(arguments)) => trust::grant(&environment, &arguments, out),
        Some(CliCommand::Untrust {
            approval: Some(digest),
            json,
            ..
        }) => trust::disapprove(&environment, &digest, json, out),
        Some(CliCommand::Untrust { folder, json, .. }) => {
            trust::revoke(&environment, folder.as_deref(), json, out)
        }
        Some(CliCommand::Engines { try_each, json }) => {
            engines::run(&environment, try_each, json, out)
        }
        Some(CliCommand::Hosts { json }) => known_hosts::run(&environment, json, out),
        Some(CliCommand::Doctor { discovery: flags }) => {
            let discovered = discovered.insert(discover_all(environment, &flags)?);
            Ok(doctor::run(discovered, flags.json, out))
        }
        Some(CliCommand::Watch { discovery }) => watch::run(environment, &discovery, out),
        Some(CliCommand::Config { json }) => config::run(environment, json, out),
        Some(CliCommand::Completions { shell }) => completions::run(shell, out),
        Some(CliCommand::Reference { arguments }) => reference(&environment, arguments, out),
        Some(CliCommand::Undo(arguments)) => {
            undo::run(&environment, &arguments, undo::UndoDirection::Undo, out)
        }
        Some(CliCommand::Redo(arguments)) => {
            let arguments = arguments.as_undo();
            undo::run(&environment, &arguments, undo::UndoDirection::Redo, out)
        }
        Some(CliCommand::Manual { page }) => manual::run(page, out),
    }
}

/// Discovers skills, agents and chains, where no other host's view is asked for.
fn discover_all(
    environment: Environment,
    flags: &DiscoveryArgs,
) -> Result<DiscoveredLibrary, CommandError> {
    let mut request = request(&environment, flags, None)?;
    if request.view == DiscoveryView::Own {
        request.parts = DiscoveryParts::ALL;
    }
    Ok(DiscoveredLibrary::new(environment, request))
}

/// `grove reference`: the behaviour of the standard's reference library.
#[cfg(feature = "reference")]
fn reference(
    environment: &Environment,
    arguments: Vec<OsString>,
    out: &mut CommandOutput,
) -> Outcome {
    let output = grove_reference::command::run(&environment.working, arguments);
    out.exact(&output.data);
    out.exact_note(&output.notes);
    Ok(output.exit_code)
}

#[cfg(not(feature = "reference"))]
fn reference(_: &Environment, _: Vec<OsString>, _: &mut CommandOutput) -> Outcome {
    let message = "this program was built without `grove reference`";
    Err(CommandError::finding(message).hints([
        "build it with: `cargo install --path crates/grove --features reference`".to_owned(),
        "`grove validate` checks skills against the standard".to_owned(),
    ]))
}

fn is_about_runs(command: &CliCommand) -> bool {
    match command {
        CliCommand::Run(_) | CliCommand::Runs(_) | CliCommand::Supervise => true,
        CliCommand::Prompt(arguments) => arguments.run.is_some(),
        _ => false,
    }
}

/// Files as `validate` checks them, or everything that is here.
fn check_all(
    environment: Environment,
    arguments: &CheckArgs,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    let CheckArgs {
        paths,
        fix,
        discovery: flags,
        only,
    } = arguments;
    if !paths.is_empty() {
        let form = validate::FindingsForm::asked(flags.json, only.github);
        return validate::run(&environment, paths, form, *fix, out);
    }
    let discovered = discovered.insert(discover_kinds(environment, flags)?);
    check::run(
        discovered,
        check::CheckedKinds::Everything,
        only,
        flags.json,
        out,
    )
}

/// Looks at every kind of file that the asked host, or Grove itself, has.
fn discover_kinds(
    environment: Environment,
    flags: &DiscoveryArgs,
) -> Result<DiscoveredLibrary, CommandError> {
    let mut request = request(&environment, flags, None)?;
    match &request.view {
        DiscoveryView::Own => request.parts = DiscoveryParts::ALL,
        DiscoveryView::Host(name) => {
            if let Some(host) = hosts::by_name(name) {
                request.parts = grove_skills::host_views::parts_of(&host);
            }
        }
        DiscoveryView::Folders(_) => {}
    }
    Ok(DiscoveredLibrary::new(environment, request))
}

fn skills(
    environment: Environment,
    command: &SkillsCommand,
    discovered: &mut Option<DiscoveredLibrary>,
    out: &mut CommandOutput,
) -> Outcome {
    if let SkillsCommand::List { states, .. } = command {
        skills_list::require_known(states)?;
    }
    let flags = match command {
        SkillsCommand::List { discovery, .. }
        | SkillsCommand::Show { discovery, .. }
        | SkillsCommand::Check { discovery, .. }
        | SkillsCommand::Confusable { discovery }
        | SkillsCommand::Roots { discovery } => discovery,
        SkillsCommand::Search(arguments) => {
            return skills_search::run(environment, arguments, discovered, out);
        }
        SkillsCommand::Activate { conversation, .. }
        | SkillsCommand::Expand { conversation, .. }
        | SkillsCommand::Collapse { conversation, .. } => {
            return skills_activate::run(environment, command, conversation, discovered, out);
        }
        SkillsCommand::Manage(command) => return skills_manage::run(&environment, command, out),
    };
    let json = flags.json;
    let discovered = discovered.insert(discover(environment, flags)?);
    Ok(match command {
        SkillsCommand::List { states, tree, .. } => {
            let form = match (json, tree) {
                (true, _) => skills_list::ListForm::Json,
                (_, true) => skills_list::ListForm::Tree,
                _ => skills_list::ListForm::Table,
            };
            skills_list::run(discovered, form, states, out)
        }
        SkillsCommand::Show { name, discovery } => {
            skills_show::run(discovered, discovery, name, out)?
        }
        SkillsCommand::Check { only, .. } => {
            check::run(discovered, check::CheckedKinds::Skills, only, json, out)?
        }
        SkillsCommand::Confusable { .. } => skills_confusable::run(discovered, json, out),
        // The commands of a conversation have returned above.
        _ => skills_roots::run(discovered, json, out),
    })
}

/// Returns true if the person agrees, or has said so already; where no person can be asked that is an error.
pub(crate) fn agreed(
    question: &str,
    yes: bool,
    out: &mut CommandOutput,
) -> Result<bool, CommandError> {
    if yes {
        return Ok(true);
    }
    let answer = out.ask(question).ok_or_else(|| {
        let message = format!("{question} no person can answer here, so nothing was changed");
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

fn usage(error: &clap::Error, arguments: &[OsString], out: &mut CommandOutput) -> u8 {
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

pub(crate) struct DiscoveredLibrary {
    pub(crate) library: Library,
    pub(crate) discovery: grove_skills::Discovery,
}

impl std::ops::Deref for DiscoveredLibrary {
    type Target = grove_skills::Discovery;

    fn deref(&self) -> &Self::Target {
        &self.discovery
    }
}

impl DiscoveredLibrary {
    pub(crate) fn new(environment: Environment, request: DiscoveryRequest) -> Self {
        let mut library = Library::new(environment, request);
        let discovery = library.discover();
        Self { library, discovery }
    }

    /// Writes what was learnt for the next start, and notes what could not be written.
    pub(crate) fn remember(&mut self, out: &mut CommandOutput) {
        let mut findings = self.library.save_cache();
        findings.dedup();
        out.diagnostics(&findings);
    }
}

pub(crate) fn discover(
    environment: Environment,
    discovery: &DiscoveryArgs,
) -> Result<DiscoveredLibrary, CommandError> {
    let request = request(&environment, discovery, None)?;
    Ok(DiscoveredLibrary::new(environment, request))
}

/// Looks at skills and agents, to compare what hosts have of them.
fn discover_for_hosts(
    environment: Environment,
    discovery: &DiscoveryArgs,
) -> Result<DiscoveredLibrary, CommandError> {
    let mut request = request(&environment, discovery, None)?;
    let host = discovery.host.as_deref().and_then(hosts::by_name);
    request.parts = host.map_or(DiscoveryParts::PROMPTS, |host| {
        grove_skills::host_views::parts_of(&host)
    });
    Ok(DiscoveredLibrary::new(environment, request))
}

/// Discovers skills as a conversation does: the names that it lets through decide what is found, so its file is read
/// before looking. Gives the file too.
pub(crate) fn discover_in_session(
    environment: Environment,
    discovery: &DiscoveryArgs,
    session: Option<&Path>,
) -> Result<(DiscoveredLibrary, Option<PathBuf>), CommandError> {
    let session = session.map(|file| absolute(file, &environment));
    let known = session.as_deref().map(session_file::read).transpose()?;
    let names = known.flatten().and_then(|session| session.frozen.names);
    let request = request(&environment, discovery, names)?;
    Ok((DiscoveredLibrary::new(environment, request), session))
}

pub(crate) fn request(
    environment: &Environment,
    discovery: &DiscoveryArgs,
    names: Option<Vec<String>>,
) -> Result<DiscoveryRequest, CommandError> {
    let view = match &discovery.host {
        Some(name) => {
            DiscoveryView::Host(naming::known_host(name, "known hosts", hosts::names())?.to_owned())
        }
        None if discovery.roots.is_empty() => DiscoveryView::Own,
        None => DiscoveryView::Folders(
            discovery
                .roots
                .iter()
                .map(|root| absolute(root, environment))
                .collect(),
        ),
    };
    Ok(DiscoveryRequest {
        view,
        all: discovery.all,
        names,
        ..DiscoveryRequest::default()
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

pub(crate) fn cost(text: &str) -> (usize, usize) {
    (text.chars().count(), crate::tokens::count(text))
}

pub(crate) fn cost_note(text: &str) -> String {
    let (chars, tokens) = cost(text);
    let (chars, tokens) = (counted(chars, "character"), counted(tokens, "token"));
    let about = if crate::tokens::EXACT { "" } else { "about " };
    format!("grove: {chars}, {about}{tokens}")
}

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
