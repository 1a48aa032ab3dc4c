//! The files of agents: made, changed, renamed, deleted.

use std::path::{Path, PathBuf};

use grove_catalog::agents::Agent;
use grove_catalog::entry::Entries;
use grove_catalog::export::{self, ExportJob};
use grove_catalog::hosts::{self, AgentRules, Host, HostRoot};
use grove_catalog::overrides::OverriddenField;
use grove_catalog::root::RootSource;
use grove_fs::files;
use grove_spec::agent::compose::{self, ComposeRefusal, FileEdit};
use grove_spec::agent::{self, AgentFormat, formats, naming, thinking};
use grove_spec::config::LayerScope;
use grove_spec::package::EntryKind;
use grove_spec::{Code, Diagnostic};

use super::own_files::{full_name, package, sanitised};
use super::within::WritePlace;
use super::{AGENTS, ChangeReport, ManageError, ManagedEntry, Manager};
use crate::library::Discovery;
use crate::planning::PlannedRoot;
use crate::sources::Sources;

/// An agent that is to be made.
#[derive(Debug, Clone)]
pub struct NewAgent<'a> {
    /// Its name, as typed.
    pub name: &'a str,
    /// Its package, as typed.
    pub package: Option<&'a str>,
    /// The scope that it is made in.
    pub scope: LayerScope,
    /// Its fields and its text.
    pub edits: &'a [FileEdit],
    /// The host for which it is made, where it is not Grove's own.
    pub host: Option<&'a Host>,
}

struct NewAgentFile {
    place: WritePlace,
    text: String,
    warnings: Vec<Diagnostic>,
}

/// The hosts that look at the file of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentReaders {
    /// Hosts that have the agent, by their titles.
    pub have_it: Vec<String>,
    /// Hosts that look there and do not have it, each with the reason.
    pub refuse_it: Vec<(String, String)>,
}

impl ManagedEntry for Agent {
    fn all(discovery: &Discovery) -> Entries<'_, Self> {
        discovery.snapshot.agents.entries()
    }

    fn bytes(&self, sources: &Sources) -> Option<Vec<u8>> {
        sources.agents.read_bytes(self)
    }

    fn planned<'a>(&self, sources: &'a Sources) -> Option<&'a PlannedRoot> {
        sources.agents.planned(self)
    }

    fn is_read(&self) -> bool {
        self.content.is_some()
    }

    fn is_its_hosts(&self) -> bool {
        let extension = Path::new(&self.path).extension();
        self.member.is_some() || extension.is_some_and(|it| it == "toml")
    }

    fn overridden(&self) -> &[OverriddenField] {
        &self.overridden
    }

    fn package(&self) -> Option<&str> {
        self.file()?.package.as_deref()
    }

    fn renamed(
        &self,
        file: &Path,
        before: &str,
        name: &str,
        package: Option<&str>,
    ) -> Result<(PathBuf, String), ManageError> {
        let after = compose::rename(before, name, package).map_err(field)?;
        let mut file_name = naming::file_name(name, package);
        if self.path.ends_with(".agent.md") {
            file_name = format!("{}.agent.md", naming::stem(&file_name));
        }
        let read = agent::parse(&after).agent;
        require_read_as(&read, &file_name, &full_name(name, package))?;
        Ok((file.with_file_name(file_name), after))
    }
}

impl Manager {
    /// Makes an agent's file.
    pub fn create(&mut self, asked: &NewAgent<'_>) -> Result<ChangeReport, ManageError> {
        let name = sanitised(asked.name)?;
        let package = asked.package.map(package).transpose()?.flatten();
        let file_name = naming::file_name(&name, package.as_deref());
        let runtime = full_name(&name, package.as_deref());
        let text = compose::create(&name, package.as_deref(), asked.edits).map_err(field)?;
        let parsed = agent::parse(&text);
        require_read_as(&parsed.agent, &file_name, &runtime)?;
        if parsed.agent.description.is_none() {
            return Err(ManageError::field("description", "a new agent needs one"));
        }
        let new = if let Some(host) = asked.host {
            self.for_host(host, asked.scope, &runtime, &parsed, &text)?
        } else {
            let place = self.new_file(asked.scope, &Path::new(AGENTS).join(&file_name))?;
            let mut warnings = unknown_keys(&text, asked.edits, place.path());
            warnings.extend(unknown_level(&parsed.agent, place.path()));
            NewAgentFile {
                place,
                text,
                warnings,
            }
        };
        let file = new.place.path().to_path_buf();
        let runtime = match asked.host.and_then(|host| AgentRules::by_name(&host.name)) {
            Some(rules) => export::host_name(&rules, &runtime),
            None => runtime,
        };
        self.require_new(EntryKind::Agents, &runtime, asked.scope, None)?;
        if files::is_there(&file) {
            return Err(ManageError::file_exists(&file));
        }
        let mut warnings = self.name_warnings(&parsed.agent, &file);
        warnings.extend(new.warnings);
        new.place.create(new.text.as_bytes(), None)?;
        self.keep_trust(&new.place.real(), None, &new.text);
        let mut report = self.report::<Agent>(&runtime, asked.scope, file, true, warnings);
        let files = Agent::own_files(self);
        report.notes.extend(files.stands_in_for(&report.file));
        Ok(report)
    }

    /// The file of a new agent where a host reads it, as the host writes it.
    fn for_host(
        &self,
        host: &Host,
        scope: LayerScope,
        name: &str,
        parsed: &agent::ParsedAgent,
        text: &str,
    ) -> Result<NewAgentFile, ManageError> {
        let unknown = || ManageError::refused(format!("no agents can be made for {}", host.title));
        let rules = AgentRules::by_name(&host.name).ok_or_else(unknown)?;
        if !parsed.agent.skills.is_empty() {
            let message = "skills have to be written along; make the agent without `--host`, then \
                           `grove agents export` writes both";
            return Err(ManageError::field("skills", message));
        }
        let job = ExportJob {
            title: &host.title,
            rules: &rules,
            inline: false,
            budget: 0,
        };
        let body = text.get(parsed.body_offset..).unwrap_or_default();
        let source = export::ExportSource {
            name,
            address: None,
            agent: &parsed.agent,
            format: AgentFormat::Native,
            is_packaged: false,
            places: &[],
            body,
            skills: &[],
        };
        let (made, mut warnings) = export::agent(&job, &source);
        let read = formats::read(made.text.as_bytes(), rules.export.format);
        let mut findings = read.iter().flat_map(|found| &found.parsed.diagnostics);
        if let Some(error) = findings.find(|finding| finding.is_error()) {
            let message = format!("{} would not read it: {}", host.title, error.message);
            return Err(ManageError::bad_request(message)
                .hint("an agent needs a text: give `--body TEXT` or `--body-file FILE`"));
        }
        let file_name = made.path.rsplit('/').next().unwrap_or_default();
        let root = agent_root(host, &rules, scope).ok_or_else(unknown)?;
        let place = self.place_in(root, scope, Path::new(file_name))?;
        for warning in &mut warnings {
            let file = || place.path().to_path_buf();
            warning.file.get_or_insert_with(file);
        }
        Ok(NewAgentFile {
            place,
            text: made.text,
            warnings,
        })
    }

    /// The hosts that have the agent of a file, and the others that look there, with what keeps them from it.
    pub fn readers_of_agent(&self, file: &Path) -> AgentReaders {
        let mut readers = AgentReaders::default();
        for host in AgentRules::names().filter_map(hosts::by_name) {
            let agents = crate::agents::of_host(&self.discovery.world, &host.name);
            let mut all = agents.all.iter();
            let Some(agent) = all.find(|agent| agents.location(agent) == file) else {
                continue;
            };
            if agent.state.is_usable() {
                readers.have_it.push(host.title);
            } else {
                let why = agent.reasons.iter().map(|reason| reason.message.clone());
                readers
                    .refuse_it
                    .push((host.title, why.collect::<Vec<_>>().join("; ")));
            }
        }
        readers
    }

    /// Changes fields and text of an agent's file.
    pub fn edit(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &[FileEdit],
    ) -> Result<ChangeReport, ManageError> {
        let files = Agent::own_files(self);
        let (agent, scope) = files.own(name, scope)?;
        let (own_name, location) = (agent.name.clone(), files.location(agent));
        let (place, before) = files.readable(agent)?;
        let after = compose::change(&before, asks).map_err(field)?;
        let changed = after != before;
        let fields = agent::parse(&after).agent;
        let asked_for = |key: &str| {
            asks.iter()
                .any(|ask| matches!(ask, FileEdit::Set(asked, _) if asked == key))
        };
        let mut warnings = self.name_warnings(&fields, &location);
        warnings.retain(|doubt| match doubt.code {
            Code::ModelUnknown => asked_for("model") || asked_for("fallbackModels"),
            _ => asked_for("skills") || asked_for("skill"),
        });
        warnings.extend(unknown_keys(&after, asks, &location));
        warnings.extend(unknown_level(&fields, &location).filter(|_| asked_for("thinking")));
        if changed {
            place.replace(before.as_bytes(), after.as_bytes())?;
            self.keep_trust(&place.real(), Some(&before), &after);
        }
        Ok(self.report::<Agent>(&own_name, scope, location, changed, warnings))
    }
}

/// The folder of a host's own for agents in the format that is written for it.
fn agent_root<'a>(host: &'a Host, rules: &AgentRules, scope: LayerScope) -> Option<&'a HostRoot> {
    let written = &rules.export;
    let last = |path: &str| path.rsplit('/').next().map(str::to_owned);
    host.agent_roots.iter().find(|root| {
        root.format == written.format
            && match scope {
                LayerScope::Project => {
                    root.source == RootSource::Project && root.path == written.agents
                }
                LayerScope::User => {
                    root.source == RootSource::User
                        && root.path.starts_with("~/")
                        && last(&root.path) == last(&written.agents)
                }
            }
    })
}

/// Refuses a name whose file would not be read as an agent's, or as another agent's.
fn require_read_as(
    agent: &agent::AgentFile,
    file_name: &str,
    runtime: &str,
) -> Result<(), ManageError> {
    if !naming::is_agent_file(file_name) || naming::runtime_name(agent, file_name) != runtime {
        return Err(ManageError::bad_request(format!(
            "no agent can be called `{runtime}`: its file would be {file_name}, which is not read as this agent's"
        ))
        .hint("choose another name"));
    }
    Ok(())
}

pub(super) fn field(refusal: ComposeRefusal) -> ManageError {
    let error = ManageError::field(&refusal.field, &refusal.message);
    refusal.help.into_iter().fold(error, ManageError::hint)
}

fn unknown_level(agent: &agent::AgentFile, file: &Path) -> Option<Diagnostic> {
    thinking::unknown_level(agent).map(|finding| finding.in_file(file))
}

fn unknown_keys(text: &str, asks: &[FileEdit], file: &Path) -> Vec<Diagnostic> {
    let keys = compose::unknown_keys(text, asks).into_iter();
    keys.map(|(key, meant)| {
        let message = format!("`{key}` is not a field that is known here; it is kept as written");
        let finding = Diagnostic::new(Code::AgentUnknownField, message).in_file(file);
        match meant {
            Some(meant) => finding.with_help(format!("did you mean `{meant}`?")),
            None => finding,
        }
    })
    .collect()
}
