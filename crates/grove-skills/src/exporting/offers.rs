//! The skills that agents of an export may have: the usual ones, and those of the folders in `skillPath`.
//!
//! Each agent chooses as it does for its prompt, from the usual skills and its own folders alone. What is chosen is
//! then named in one snapshot that has the folders of all of them, since skills are exported once for everybody.

use std::path::Path;
use std::sync::Arc;

use grove_catalog::agents::Agent;
use grove_catalog::prompt::{self, Chosen};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_spec::agent;
use grove_spec::{Code, Diagnostic};

use crate::agents::AgentLibrary;
use crate::library::Library;
use crate::skill_path::SkillPath;

pub(super) struct Offers<'a> {
    usual: &'a Library,
    usual_snapshot: Arc<Snapshot>,
    /// Where some agent has folders of its own, a library that looks in all of them.
    widest: Option<Library>,
    /// The skills of everybody.
    pub(super) snapshot: Arc<Snapshot>,
}

impl<'a> Offers<'a> {
    pub(super) fn new(
        usual: &'a Library,
        usual_snapshot: Arc<Snapshot>,
        agents: &AgentLibrary,
        chosen: &[&Agent],
    ) -> Self {
        let mut all = SkillPath::default();
        for agent in chosen {
            let location = agents.agents.location(agent);
            if let Some(file) = agent.file() {
                let path = path_of(usual, agents, agent, &location, file);
                all.folders.extend(path.folders);
            }
        }
        all.folders.sort_unstable();
        all.folders.dedup();
        let mut widest = all.library(usual);
        let snapshot = match &mut widest {
            Some(widest) => widest.load(),
            None => Arc::clone(&usual_snapshot),
        };
        Self {
            usual,
            usual_snapshot,
            widest,
            snapshot,
        }
    }

    /// The library that read the snapshot.
    pub(super) fn library(&self) -> &Library {
        self.widest.as_ref().unwrap_or(self.usual)
    }

    /// The skills that an agent names, by their places in the snapshot of everybody.
    pub(super) fn choose(
        &self,
        agents: &AgentLibrary,
        agent: &Agent,
        location: &Path,
        file: &agent::Agent,
    ) -> Chosen {
        let path = path_of(self.usual, agents, agent, location, file);
        let own = path.library(self.usual).map(|mut own| own.load());
        let offered = own.as_ref().unwrap_or(&self.usual_snapshot);
        // An agent of a package has the skills of its package first.
        let mut first = path.folders;
        let package = agents.package_of(agent).into_iter();
        first.extend(package.flat_map(|folder| self.usual.roots_of_package(folder)));
        let mut chosen = prompt::choose_near(offered, &file.skills, &first);
        chosen.warnings.extend(path.findings);
        if self.widest.is_some() {
            self.rename(offered, &mut chosen);
        }
        chosen
    }

    /// Names what was chosen in one snapshot as it is in that of everybody.
    fn rename(&self, offered: &Snapshot, chosen: &mut Chosen) {
        for at in std::mem::take(&mut chosen.skills) {
            let Some(skill) = offered.skills.get(at) else {
                continue;
            };
            let file = offered.location(&skill.place);
            let here = |other: &Skill| {
                let places = std::iter::once(&other.place).chain(&other.also_at);
                let mut files = places.map(|place| self.snapshot.location(place));
                files.any(|other| other == file)
            };
            if let Some(at) = self.snapshot.skills.iter().position(here) {
                chosen.skills.push(at);
                continue;
            }
            let name = skill.name();
            let message = format!("skill `{name}` was left out: it was gone when all were read");
            let finding = Diagnostic::new(Code::ExportPartial, message);
            chosen.warnings.push(finding.in_file(&file));
        }
    }
}

fn path_of(
    library: &Library,
    agents: &AgentLibrary,
    agent: &Agent,
    location: &Path,
    file: &agent::Agent,
) -> SkillPath {
    SkillPath::of(
        library.environment(),
        agents.agents.roots.get(agent.root),
        location,
        &file.skill_path,
    )
}
