//! The files of agents: made, changed, renamed, deleted.

use std::path::{Path, PathBuf};

use grove_catalog::agents::Agent;
use grove_catalog::entry::Entries;
use grove_catalog::overrides::Overridden;
use grove_fs::files;
use grove_spec::agent::compose::{self, Ask, Refusal};
use grove_spec::agent::{self, naming};
use grove_spec::config::LayerScope;
use grove_spec::package::Kind;
use grove_spec::{Code, Diagnostic};

use super::own_files::{full_name, package, sanitised};
use super::{AGENTS, Changed, ManageError, Managed, Manager};
use crate::library::Look;
use crate::planning::PlannedRoot;
use crate::sources::Sources;

/// An agent that is to be made.
#[derive(Debug, Clone)]
pub struct Created<'a> {
    /// Its name, as typed.
    pub name: &'a str,
    /// Its package, as typed.
    pub package: Option<&'a str>,
    /// Whose it is.
    pub scope: LayerScope,
    /// Its fields and its text.
    pub asks: &'a [Ask],
}

impl Managed for Agent {
    fn all(look: &Look) -> Entries<'_, Self> {
        look.snapshot.agents.entries()
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

    fn overridden(&self) -> &[Overridden] {
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
    pub fn create(&mut self, asked: &Created<'_>) -> Result<Changed, ManageError> {
        let name = sanitised(asked.name)?;
        let package = asked.package.map(package).transpose()?.flatten();
        let file_name = naming::file_name(&name, package.as_deref());
        let place = self.new_file(asked.scope, &Path::new(AGENTS).join(&file_name))?;
        let file = place.path().to_path_buf();
        let runtime = full_name(&name, package.as_deref());
        self.require_new(Kind::Agents, &runtime, asked.scope, None)?;
        if files::is_there(&file) {
            return Err(ManageError::file_exists(&file));
        }
        let text = compose::create(&name, package.as_deref(), asked.asks).map_err(field)?;
        let parsed = agent::parse(&text);
        require_read_as(&parsed.agent, &file_name, &runtime)?;
        if parsed.agent.description.is_none() {
            return Err(ManageError::field("description", "a new agent needs one"));
        }
        let mut warnings = self.doubts(&parsed.agent, &file);
        warnings.extend(unknown_keys(&text, asked.asks, &file));
        place.create(text.as_bytes(), None)?;
        let mut report = self.report::<Agent>(&runtime, asked.scope, file, true, warnings);
        let files = Agent::own_files(self);
        report.notes.extend(files.stands_in_for(&report.file));
        Ok(report)
    }

    /// Changes fields and text of an agent's file.
    pub fn edit(
        &mut self,
        name: &str,
        scope: Option<LayerScope>,
        asks: &[Ask],
    ) -> Result<Changed, ManageError> {
        let files = Agent::own_files(self);
        let (agent, scope) = files.own(name, scope)?;
        let (own_name, location) = (agent.name.clone(), files.location(agent));
        let (place, before) = files.readable(agent)?;
        let after = compose::change(&before, asks).map_err(field)?;
        let changed = after != before;
        let fields = agent::parse(&after).agent;
        let asked_for = |key: &str| {
            asks.iter()
                .any(|ask| matches!(ask, Ask::Set(asked, _) if asked == key))
        };
        let mut warnings = self.doubts(&fields, &location);
        warnings.retain(|doubt| match doubt.code {
            Code::ModelUnknown => asked_for("model") || asked_for("fallbackModels"),
            _ => asked_for("skills") || asked_for("skill"),
        });
        warnings.extend(unknown_keys(&after, asks, &location));
        if changed {
            place.replace(before.as_bytes(), after.as_bytes())?;
        }
        Ok(self.report::<Agent>(&own_name, scope, location, changed, warnings))
    }
}

/// Refuses a name whose file would not be read as an agent's, or as another agent's.
fn require_read_as(
    agent: &agent::Agent,
    file_name: &str,
    runtime: &str,
) -> Result<(), ManageError> {
    if !naming::is_agent_file(file_name) || naming::runtime_name(agent, file_name) != runtime {
        return Err(ManageError::asked(format!(
            "no agent can be called `{runtime}`: its file would be {file_name}, which is not read as this agent's"
        ))
        .hint("choose another name"));
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
pub(super) fn field(refusal: Refusal) -> ManageError {
    ManageError::field(&refusal.field, &refusal.message)
}

fn unknown_keys(text: &str, asks: &[Ask], file: &Path) -> Vec<Diagnostic> {
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
