//! `grove why NAME`: one row for every host, saying how it shows a skill or an agent or why it does not, and what would
//! change that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grove_catalog::address::{AddressMatch, near_names};
use grove_catalog::agents::Agent;
use grove_catalog::entry::{Entries, Entry};
use grove_catalog::hosts::Host;
use grove_catalog::root::{Root, RootSource};
use grove_catalog::snapshot::Skill;
use grove_catalog::state::EntryState;
use grove_fs::files;
use grove_skills::Environment;
use grove_spec::Code;
use grove_spec::text::one_line;
use serde::Serialize;
use serde_json::json;

use super::{DiscoveredLibrary, Outcome, counted, entry_listing, path_text, tilde};
use crate::colour::{self, marked};
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::output::{CommandOutput, columns};
use crate::table::wrapped;
use grove_skills::host_views::{self, HostView, SkillVisibility};

#[derive(Debug, Serialize)]
struct HostAnswer {
    host: String,
    title: String,
    /// A stable word for programs.
    answer: String,
    /// One sentence without a full stop.
    message: String,
    /// The next step; none where nothing is to be done.
    fix: Option<String>,
    location: Option<PathBuf>,
}

/// An answer that does not yet say whose it is: its word, its sentence and what to do.
type AnswerWords = (String, String, Option<String>);

fn answer_words(answer: &str, message: impl Into<String>, fix: Option<String>) -> AnswerWords {
    (answer.to_owned(), message.into(), fix)
}

pub(super) fn run(
    discovered: &DiscoveredLibrary,
    name: &str,
    task: Option<&str>,
    json: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let views = host_views::all(discovered, task, crate::tokens::count);
    let environment = discovered.library.environment();
    let skills = answers(
        &views,
        &|view| Some(view.discovery.snapshot.entries()),
        name,
        environment,
    );
    let agents = answers(
        &views,
        &|view| {
            let is_known = view.discovery.request.parts.agents;
            is_known.then(|| view.discovery.snapshot.agents.entries())
        },
        name,
        environment,
    );
    let is_nowhere = skills.is_empty() && agents.is_empty();
    if json {
        out.json(&json!({
            "schema": "grove.why/1",
            "name": name,
            "skills": skills,
            "agents": agents,
            "near": if is_nowhere { near(&views, name) } else { Vec::new() },
        }));
        return Ok(ErrorKind::Finding.exit_code_if(is_nowhere));
    }
    if is_nowhere {
        return Err(nowhere(&views, name, environment));
    }
    let width = columns(&environment.variables);
    for (noun, answers) in [("skill", &skills), ("agent", &agents)] {
        if !answers.is_empty() {
            out.line(&format!("{noun} `{}`", one_line(name)));
            print(answers, width, environment, out);
        }
    }
    for sentence in host_views::not_followed(&views, environment) {
        out.line(&sentence);
    }
    Ok(0)
}

/// The error if no host has it: what is spelled nearly so, and where it was looked for.
fn nowhere(views: &[HostView], name: &str, environment: &Environment) -> CommandError {
    let titles: Vec<&str> = views.iter().map(|view| view.title.as_str()).collect();
    let message = format!(
        "no skill or agent is called `{}`; searched the folders of {}",
        one_line(name),
        titles.join(", ")
    );
    let roots = views.iter().flat_map(|view| &view.discovery.snapshot.roots);
    let roots: BTreeSet<String> = roots.map(|root| tilde(&root.path, environment)).collect();
    let error = CommandError::finding(message);
    // A file of that name says more than a list of all.
    let error = misnamed_files(views, name, environment)
        .into_iter()
        .chain(no_agents(views, name, environment))
        .fold(error, CommandError::hint);
    let error = error.hint(entry_listing::hint_for(&near(views, name), "skill"));
    let elsewhere = host_views::not_followed(views, environment);
    let error = elsewhere.fold(error, CommandError::hint);
    if roots.is_empty() {
        return error
            .hint("there is no folder of skills: `grove skills roots` shows where one could be");
    }
    let roots: Vec<String> = roots.into_iter().collect();
    error.hint(format!("looked in {}", roots.join(", ")))
}

/// Returns the findings about files in a folder of this name that would be skills in other letters.
fn misnamed_files(views: &[HostView], name: &str, environment: &Environment) -> BTreeSet<String> {
    let findings = views
        .iter()
        .flat_map(|view| &view.discovery.snapshot.diagnostics);
    let about = findings.filter(|finding| finding.code == Code::FileNameCase);
    let about = about.filter_map(|finding| {
        let file = finding.file.as_ref()?;
        let folder = file.parent()?;
        let is_named = folder.file_name().is_some_and(|folder| folder == name);
        is_named.then(|| {
            format!(
                "{}: {}; rename it",
                tilde(file, environment),
                one_line(&finding.message)
            )
        })
    });
    about.collect()
}

/// Returns the findings about files of this name in folders for agents that are no agents.
fn no_agents(views: &[HostView], name: &str, environment: &Environment) -> BTreeSet<String> {
    let findings = views
        .iter()
        .flat_map(|view| &view.discovery.snapshot.agents.diagnostics);
    let about = findings.filter_map(|finding| {
        let file = finding.file.as_ref()?;
        let is_named = file.file_stem().is_some_and(|stem| stem == name);
        is_named.then(|| {
            format!(
                "{}: {}",
                tilde(file, environment),
                one_line(&finding.message)
            )
        })
    });
    about.collect()
}

fn near(views: &[HostView], name: &str) -> Vec<String> {
    let skills = views
        .iter()
        .flat_map(|view| &view.discovery.snapshot.skills);
    let agents = views
        .iter()
        .flat_map(|view| &view.discovery.snapshot.agents.all);
    let names = skills.map(Skill::name).chain(agents.map(Agent::name));
    near_names(names, name)
}

fn print(answers: &[HostAnswer], width: usize, environment: &Environment, out: &mut CommandOutput) {
    let titles = answers.iter().map(|answer| answer.title.chars().count());
    let indent = titles.max().unwrap_or(0) + 4;
    for answer in answers {
        let HostAnswer { title, .. } = answer;
        let mut lines = wrapped(&answer.message, width.saturating_sub(indent));
        if let Some(fix) = &answer.fix {
            lines.extend(wrapped(
                &format!("fix: {fix}"),
                width.saturating_sub(indent),
            ));
        }
        lines.extend(
            answer
                .location
                .as_ref()
                .map(|path| tilde(path, environment)),
        );
        for (at, line) in lines.iter().enumerate() {
            let title = if at == 0 { title } else { "" };
            let meaning = colour::of_word(&answer.answer).filter(|_| at == 0);
            let line = meaning.map_or_else(|| line.clone(), |meaning| marked(meaning, line));
            out.painted(&format!("  {title:<0$}{line}\n", indent - 2));
        }
    }
}

/// The part of a kind of file that is not common to all kinds.
trait ExplainedEntry: Entry {
    /// Returns the answer of a host about one that is there and not refused.
    fn shown(&self, view: &HostView, at: usize) -> AnswerWords;

    /// Says how a host that does not look where one lies would have it: one of a project in that project's folder.
    fn brought_to(host: &Host, name: &str, project: Option<&str>) -> Option<String>;

    fn folder_of(file: &Path) -> &Path;

    /// Returns the answer about a file that a host has not found below a folder in which it looks, with its path there.
    fn passed_over(view: &HostView, root: &str, file: (&Path, &Path)) -> AnswerWords;
}

impl ExplainedEntry for Skill {
    fn shown(&self, view: &HostView, at: usize) -> AnswerWords {
        let title = &view.title;
        let full = || format!("its list of skills is full ({})", view.budget);
        let more_room = || {
            Some(match view.host {
                Some(_) => format!("have {title} see fewer skills, or shorten their descriptions"),
                None => format!("add `{}` to `catalog.pinned`", one_line(self.name())),
            })
        };
        let sight = view.visibility_of(at);
        let beyond = self.reasons.first();
        if let Some(reason) = beyond.filter(|_| self.state == EntryState::Capped && sight.is_some())
        {
            let answer = match sight {
                Some(SkillVisibility::NameOnly) => "name-only",
                _ => "behind-entry",
            };
            let message = format!("named in its group: {}", reason.message);
            return answer_words(answer, message, Some(reason.fix.clone()));
        }
        match sight {
            Some(SkillVisibility::Whole) => {
                answer_words("whole", "shown with its whole description", None)
            }
            Some(SkillVisibility::Shortened) => {
                let message = format!("shown with a shortened description: {}", full());
                answer_words("shortened", message, more_room())
            }
            Some(SkillVisibility::NameOnly) => {
                let message = format!("shown by name alone: {}", full());
                answer_words("name-only", message, more_room())
            }
            Some(SkillVisibility::NotShown) if view.host.is_some() => {
                answer_words("left-out", format!("left out: {}", full()), more_room())
            }
            Some(SkillVisibility::NotShown) => {
                let message = "the entry of its group or branch leads to it";
                answer_words("behind-entry", message, more_room())
            }
            None if self.description().is_none() => {
                let message = "it can be named, and no model is told of it: it has no description";
                let fix = "add `description:` to its frontmatter".to_owned();
                answer_words("no-description", message, Some(fix))
            }
            None => {
                let message = "for people alone: `disable-model-invocation` is true";
                let fix = "take `disable-model-invocation` out if models should use it".to_owned();
                answer_words("people-only", message, Some(fix))
            }
        }
    }

    fn brought_to(host: &Host, _: &str, project: Option<&str>) -> Option<String> {
        if let Some(project) = project {
            let mut roots = host.roots.iter();
            let root = roots.find(|root| root.source == RootSource::Project)?;
            return Some(format!(
                "copy or link its folder into {project}/{}",
                root.path
            ));
        }
        let at_home = |shared: bool| {
            let roots = host.roots.iter();
            let mut roots = roots.filter(|root| root.source != RootSource::Project);
            roots.find(|root| {
                root.path.starts_with("~/") && root.path.starts_with("~/.agents/") == shared
            })
        };
        let root = at_home(false).or_else(|| at_home(true))?;
        Some(format!("copy or link its folder into {}", root.path))
    }

    fn folder_of(file: &Path) -> &Path {
        file.parent().and_then(Path::parent).unwrap_or(file)
    }

    fn passed_over(view: &HostView, root: &str, (file, below): (&Path, &Path)) -> AnswerWords {
        let title = &view.title;
        let levels = below.components().count().saturating_sub(2);
        let limit = view.host.as_ref().map(|host| host.scan.depth);
        if let Some(limit) = limit
            && u64::try_from(levels).is_ok_and(|levels| levels > limit)
        {
            let message = if limit == 0 {
                format!("too deep: {title} reads only what is directly in {root}")
            } else {
                let folders = counted(levels, "folder");
                format!("too deep: it is {folders} below {root}, and {title} reads {limit}")
            };
            let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
            let folder = path_text(&folder.to_string_lossy());
            return answer_words(
                "too-deep",
                message,
                Some(format!("move it to {root}/{folder}")),
            );
        }
        let is_flat = below.file_name().is_some_and(|name| name != "SKILL.md");
        if is_flat && view.host.as_ref().is_some_and(|host| !host.scan.flat_files) {
            let message =
                format!("not read: {title} takes folders with a SKILL.md and no single files");
            let fix = "move it to a folder of its own as SKILL.md".to_owned();
            return answer_words("flat-file", message, Some(fix));
        }
        let message =
            format!("not read: it is in a folder of {title}, but the rules of {title} skip it");
        let fix = "move it to a folder of its own, not below another skill and not ignored by git"
            .to_owned();
        answer_words("passed-over", message, Some(fix))
    }
}

impl ExplainedEntry for Agent {
    fn shown(&self, _: &HostView, _: usize) -> AnswerWords {
        answer_words("usable", "it can be used", None)
    }

    fn brought_to(host: &Host, name: &str, _: Option<&str>) -> Option<String> {
        let name = one_line(name);
        Some(format!("grove agents export {name} --host {}", host.name))
    }

    fn folder_of(file: &Path) -> &Path {
        file.parent().unwrap_or(file)
    }

    fn passed_over(view: &HostView, root: &str, _: (&Path, &Path)) -> AnswerWords {
        let title = &view.title;
        let message = format!("not read: {title} looks in {root} and passes over this file");
        let fix = format!("move it up into {root}, under a name that does not begin with a dot");
        answer_words("passed-over", message, Some(fix))
    }
}

struct NamesakeFile {
    file: PathBuf,
    is_project: bool,
}

/// Returns every host's answer about each file of that name; nothing if no host has it.
fn answers<'v, E: ExplainedEntry + 'v>(
    views: &'v [HostView],
    entries_of: &dyn Fn(&'v HostView) -> Option<Entries<'v, E>>,
    name: &str,
    environment: &Environment,
) -> Vec<HostAnswer> {
    let mut files: Vec<NamesakeFile> = Vec::new();
    for entries in views.iter().filter_map(entries_of) {
        let bearers = named(entries, name).into_iter();
        for entry in bearers.filter_map(|at| entries.all.get(at)) {
            let root = entries.roots.get(entry.root());
            let is_project = root.is_some_and(|root| root.source == RootSource::Project);
            for file in locations(entries, entry) {
                if !files.iter().any(|found| found.file == file) {
                    files.push(NamesakeFile { file, is_project });
                }
            }
        }
    }
    let mut answers = Vec::new();
    for view in views {
        let Some(entries) = entries_of(view) else {
            continue;
        };
        let mut is_there = false;
        for (at, entry) in entries.all.iter().enumerate() {
            let is_it = |file: PathBuf| files.iter().any(|found| found.file == file);
            if locations(entries, entry).any(is_it) {
                is_there = true;
                let answer = of_entry(view, entry, at);
                answers.push(answer_of(view, answer, Some(entries.location(entry))));
            }
        }
        if let Some(file) = files.first().filter(|_| !is_there) {
            let answer = not_there::<E>(view, entries.roots, (name, file), environment);
            answers.push(answer_of(view, answer, None));
        }
    }
    answers
}

fn answer_of(
    view: &HostView,
    (answer, message, fix): AnswerWords,
    location: Option<PathBuf>,
) -> HostAnswer {
    HostAnswer {
        host: view.name.clone(),
        title: view.title.clone(),
        answer,
        message,
        fix,
        location,
    }
}

/// Everything that bears a name, or the one that an id or address leads to.
fn named<E: Entry>(entries: Entries<'_, E>, name: &str) -> Vec<usize> {
    let found = match entries.find(name) {
        AddressMatch::One(at) => vec![at],
        AddressMatch::Several(all) => all,
        AddressMatch::None(_) => Vec::new(),
    };
    let bearers = found
        .iter()
        .filter_map(|at| Some(entries.all.get(*at)?.name()));
    let bearers: BTreeSet<&str> = bearers.filter(|bearer| *bearer == name).collect();
    let all = entries.all.iter().enumerate();
    let all = all.filter(|(at, entry)| found.contains(at) || bearers.contains(entry.name()));
    all.map(|(at, _)| at).collect()
}

fn locations<'a, E: Entry>(
    entries: Entries<'a, E>,
    entry: &'a E,
) -> impl Iterator<Item = PathBuf> + 'a {
    let own = std::iter::once(entries.location(entry));
    let all = own.chain(entries.further_locations(entry));
    all.map(|path| files::canonical(&path).unwrap_or(path))
}

fn of_entry<E: ExplainedEntry>(view: &HostView, entry: &E, at: usize) -> AnswerWords {
    if entry.state().is_offered() {
        return entry.shown(view, at);
    }
    let reasons = entry.reasons();
    let message = reasons.iter().map(|reason| reason.message.clone());
    let message = message.collect::<Vec<_>>().join("; ");
    let fix = reasons.iter().map(|reason| reason.fix.clone());
    let fix = fix.collect::<Vec<_>>().join("; ");
    let state = entry.state().as_str();
    // Some reasons begin with the word for the state.
    let message = if message.starts_with(state) {
        one_line(&message)
    } else {
        one_line(&format!("{state}: {message}"))
    };
    answer_words(state, message, (!fix.is_empty()).then(|| one_line(&fix)))
}

fn not_there<E: ExplainedEntry>(
    view: &HostView,
    roots: &[Root],
    (name, found): (&str, &NamesakeFile),
    environment: &Environment,
) -> AnswerWords {
    let (file, is_project) = (found.file.as_path(), found.is_project);
    let title = &view.title;
    let around = roots.iter().find_map(|root| {
        let folder = files::canonical(&root.path).unwrap_or_else(|_| root.path.clone());
        let below = file.strip_prefix(folder).ok()?;
        Some((tilde(&root.path, environment), below.to_path_buf()))
    });
    let Some((root, below)) = around else {
        let folder = tilde(E::folder_of(file), environment);
        let message = format!("not looked in: {title} does not read {folder}");
        let host = view.host.as_ref();
        let folders = &view.discovery.world.project.folders;
        let project = folders.iter().find(|it| is_project && file.starts_with(it));
        let project = project.map(|folder| tilde(folder, environment));
        let fix = host.and_then(|host| E::brought_to(host, name, project.as_deref()));
        return answer_words("not-looked-in", message, fix);
    };
    E::passed_over(view, &root, (file, &below))
}
