//! The files behind a snapshot: read again as they were judged, by any caller, at any time and without a lock.
//!
//! Each file is read beneath its root as the walk did, and is given only if it is still what the snapshot speaks of:
//! a path that leads elsewhere by now must not be quoted. Roots are held open, so that reading opens no folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use grove_catalog::catalog::TaskOrder;
use grove_catalog::definitions::Defined;
use grove_catalog::root::Root;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::{Digest, identity};
use grove_fs::held_folder::HeldFolder;
use grove_fs::stamp::fingerprint;
use grove_spec::Diagnostic;
use grove_spec::agent::AgentFormat;

use crate::definition_files::is_unchanged;
use crate::loading::LoadedRoot;
use crate::planning::PlannedRoot;
use crate::search::{SearchedSkills, Searcher};
use crate::skill_inputs::SkillInputs;
use crate::skill_path::SkillPath;
use crate::world::World;

/// The files of one snapshot. Indexes of roots are those of the snapshot.
#[derive(Debug)]
pub struct Sources {
    /// The files of skills.
    pub skills: SkillFiles,
    /// The files of agents.
    pub agents: DefinitionFiles,
    /// The files of chains.
    pub chains: DefinitionFiles,
    pub(crate) world: Arc<World>,
    /// The folders that agents bring skills in, by the file of the agent.
    skill_paths: BTreeMap<PathBuf, SkillPath>,
    /// The skills with those of each list of such folders, and with those of all of them.
    widened: BTreeMap<Vec<PathBuf>, WidenedSkills>,
    /// The index of the skills, once a prompt for a task needs it.
    searcher: Mutex<Searcher>,
}

/// The files of the agents, or of the chains, of a snapshot.
#[derive(Debug)]
pub struct DefinitionFiles {
    roots: Vec<SourceRoot>,
}

#[derive(Debug)]
struct SourceRoot {
    planned: PlannedRoot,
    held: OnceLock<Option<HeldFolder>>,
}

/// The files of the skills of a snapshot.
#[derive(Debug)]
pub struct SkillFiles {
    roots: Vec<(SourceRoot, Arc<LoadedRoot>)>,
}

/// The skills for agents that bring folders of their own; they are put together when the first prompt needs them.
#[derive(Debug)]
pub(crate) struct WidenedSkills {
    inputs: SkillInputs,
    made: OnceLock<(Snapshot, SkillFiles)>,
}

impl WidenedSkills {
    pub(crate) fn new(inputs: SkillInputs) -> Self {
        Self {
            inputs,
            made: OnceLock::new(),
        }
    }

    fn skills(&self) -> (&Snapshot, &SkillFiles) {
        let (snapshot, files) = self.made.get_or_init(|| {
            let snapshot = self.inputs.resolve();
            let files = SkillFiles::new(&snapshot, &self.inputs);
            (snapshot, files)
        });
        (snapshot, files)
    }
}

impl SourceRoot {
    fn new(planned: PlannedRoot) -> Self {
        Self {
            planned,
            held: OnceLock::new(),
        }
    }

    /// The root, open; nothing when it is not there any more.
    fn held(&self) -> Option<&HeldFolder> {
        let open = || HeldFolder::of_root(&self.planned.folder()).ok();
        self.held.get_or_init(open).as_ref()
    }

    fn read(&self, below: &str, size: u64) -> Option<Vec<u8>> {
        let read = self.held()?.read(below, self.planned.links(), size);
        read.ok()
    }
}

impl SkillFiles {
    pub(crate) fn new(snapshot: &Snapshot, inputs: &SkillInputs) -> Self {
        let of_root = |root: &Root| {
            let at = inputs
                .planned
                .iter()
                .position(|it| it.root.path == root.path)?;
            let planned = inputs.planned.get(at)?.clone();
            let loaded = Arc::clone(inputs.loaded.get(at)?);
            Some((SourceRoot::new(planned), loaded))
        };
        Self {
            roots: snapshot.roots.iter().filter_map(of_root).collect(),
        }
    }

    fn root(&self, skill: &Skill) -> Option<&(SourceRoot, Arc<LoadedRoot>)> {
        let root = self.roots.get(skill.place.root);
        debug_assert!(root.is_some(), "a skill of another snapshot");
        root
    }

    pub(crate) fn planned(&self, skill: &Skill) -> Option<&PlannedRoot> {
        self.root(skill).map(|(root, _)| &root.planned)
    }

    pub(crate) fn roots_of_package(&self, folder: &Path) -> Vec<PathBuf> {
        let roots = self.roots.iter().map(|(root, _)| &root.planned);
        let given = roots.filter(|planned| planned.package_folder() == Some(folder));
        given.map(|planned| planned.root.path.clone()).collect()
    }

    /// The text of a skill's file if it is still the one that the snapshot speaks of.
    pub fn read_text(&self, skill: &Skill) -> Option<String> {
        String::from_utf8(self.read(skill)?).ok()
    }

    /// The bytes of a skill's file if they are still those that the snapshot speaks of.
    pub fn read(&self, skill: &Skill) -> Option<Vec<u8>> {
        let (root, loaded) = self.root(skill)?;
        if let Some(text) = last_good_text(loaded, skill) {
            return Some(text.to_vec());
        }
        let file = identity::file_below_root(skill.place.layout, &skill.place.id);
        let read = root.read(&file, skill.content.size)?;
        // Where content is pinned, only the digest that was judged proves that this is what was trusted.
        let pinned = skill.content.digest.as_ref();
        let same = fingerprint(&read) == skill.content.fingerprint
            && pinned.is_none_or(|digest| *digest == Digest::of(&read));
        same.then_some(read)
    }
}

/// The text of a last good version, if that is what stands for the skill.
fn last_good_text<'a>(loaded: &'a LoadedRoot, skill: &Skill) -> Option<&'a [u8]> {
    let place = (skill.id(), skill.place.layout);
    let kept = loaded.kept.iter().find(|kept| {
        let candidate = loaded.candidates.get(kept.at);
        candidate.is_some_and(|candidate| (&*candidate.id, candidate.layout) == place)
    })?;
    let candidate = loaded.candidates.get(kept.at)?;
    let text = loaded.texts.get(kept.at)?.as_deref();
    text.filter(|_| Arc::ptr_eq(&candidate.content, &skill.content))
}

impl Sources {
    pub(crate) fn new(
        world: Arc<World>,
        skills: SkillFiles,
        agents: Vec<PlannedRoot>,
        chains: Vec<PlannedRoot>,
    ) -> Self {
        Self {
            world,
            skills,
            agents: DefinitionFiles::new(agents),
            chains: DefinitionFiles::new(chains),
            skill_paths: BTreeMap::new(),
            widened: BTreeMap::new(),
            searcher: Mutex::default(),
        }
    }

    /// Adds what agents bring with them, and opens all roots that prompts are read from.
    pub(crate) fn for_prompts(
        mut self,
        skill_paths: BTreeMap<PathBuf, SkillPath>,
        widened: BTreeMap<Vec<PathBuf>, WidenedSkills>,
    ) -> Self {
        self.skill_paths = skill_paths;
        self.widened = widened;
        let skills = self.skills.roots.iter().map(|(root, _)| root);
        for root in skills.chain(&self.agents.roots) {
            root.held();
        }
        self
    }

    /// Returns the order of skills in a catalog for tasks.
    pub(crate) fn order_of(
        &self,
        skills: SearchedSkills<'_>,
        tasks: &[String],
    ) -> (TaskOrder, Vec<Diagnostic>) {
        let searcher = self.searcher.lock();
        let mut searcher = searcher.unwrap_or_else(PoisonError::into_inner);
        searcher.order_of(skills, tasks)
    }

    /// Returns the world that the discovery was made in.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The folders of skills that an agent brings with it; none where it brings none.
    pub(crate) fn skill_path(&self, file: &Path) -> Option<&SkillPath> {
        self.skill_paths.get(file)
    }

    pub(crate) fn has_skills_of(&self, path: &SkillPath) -> bool {
        self.widened.contains_key(&path.folders)
    }

    /// The skills that an agent may have: those of a snapshot, or with the folders that it brings.
    pub(crate) fn skills_with<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        path: Option<&SkillPath>,
    ) -> (&'a Snapshot, &'a SkillFiles) {
        let widened = path.and_then(|path| self.widened.get(&path.folders));
        widened.map_or((snapshot, &self.skills), WidenedSkills::skills)
    }

    /// The skills with those that any agent brings.
    pub(crate) fn all_skills<'a>(
        &'a self,
        snapshot: &'a Snapshot,
    ) -> (&'a Snapshot, &'a SkillFiles) {
        self.skills_with(
            snapshot,
            Some(&SkillPath::of_all(self.skill_paths.values())),
        )
    }
}

impl DefinitionFiles {
    fn new(planned: Vec<PlannedRoot>) -> Self {
        Self {
            roots: planned.into_iter().map(SourceRoot::new).collect(),
        }
    }

    fn root<P>(&self, defined: &Defined<P>) -> Option<&SourceRoot> {
        let root = self.roots.get(defined.root);
        debug_assert!(root.is_some(), "a definition of another snapshot");
        root
    }

    pub(crate) fn planned<P>(&self, defined: &Defined<P>) -> Option<&PlannedRoot> {
        self.root(defined).map(|root| &root.planned)
    }

    pub(crate) fn package_of<P>(&self, defined: &Defined<P>) -> Option<&Path> {
        self.planned(defined)?.package_folder()
    }

    /// The format of an agent's file.
    pub fn format_of<P>(&self, defined: &Defined<P>) -> AgentFormat {
        let planned = self.planned(defined);
        planned.map_or(AgentFormat::Native, |planned| planned.format)
    }

    /// The text of a file if it is still the one that was judged.
    pub fn read<P>(&self, defined: &Defined<P>) -> Option<String> {
        String::from_utf8(self.read_bytes(defined)?).ok()
    }

    /// The same as bytes, which need not be UTF-8.
    pub(crate) fn read_bytes<P>(&self, defined: &Defined<P>) -> Option<Vec<u8>> {
        let content = defined.content.as_ref()?;
        let root = self.root(defined)?;
        let bytes = root.read(&defined.path, content.size)?;
        is_unchanged(&root.planned, content, &bytes).then_some(bytes)
    }
}
