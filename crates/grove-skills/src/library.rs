//! The library: discovers what a request asks for, remembers it, and discovers again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::agents::Agents;
use grove_catalog::chains::Chains;
use grove_catalog::eligibility::MachineFacts;
use grove_catalog::hosts::{self, Host};
use grove_catalog::resolve::SkillRules;
use grove_catalog::root::{Root, RootSource};
use grove_catalog::snapshot::Snapshot;
use grove_fs::probe_walk::{AcceptedLayouts, CallCounts, LinkedFiles};
use grove_fs::programs;
use grove_fs::trust_store::TrustStore;
use grove_spec::config::Settings;
use grove_spec::package::EntryKind;
use grove_spec::skill::file_limit::most_read;
use grove_spec::{Code, Diagnostic, agent, chain};

use crate::agent_overrides::{self, LoadedOverrides};
use crate::cache::{self, RootCache};
use crate::definition_files::{DefinitionMemory, FoundDefinitions};
use crate::environment::Environment;
use crate::environment_variables;
use crate::loading::{self, LoadedRoot, RootScan};
use crate::planning::{self, PlannedRoot, RootPlan};
use crate::request::{DiscoveryParts, DiscoveryRequest, DiscoveryView};
use crate::skill_inputs::SkillInputs;
use crate::skill_path::SkillPath;
use crate::sources::{SkillFiles, Sources, WidenedSkills};
use crate::troubles::file_error;
use crate::usage::EarlierUsage;
use crate::world::World;
use crate::{agents, chains, trusting};

/// The result of one discovery: immutable, and cheap to clone.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// The request that it answers.
    pub request: Arc<DiscoveryRequest>,
    /// The world that was found.
    pub world: Arc<World>,
    /// The skills, agents and chains.
    pub snapshot: Arc<Snapshot>,
    /// The files behind them.
    pub sources: Arc<Sources>,
}

/// An error of reading the files behind a discovery.
pub trait StaleRead {
    /// Returns true if a file was not the one that was discovered, so that another discovery may help.
    fn is_stale(&self) -> bool;
}

/// The attempts at looking and reading when a file changes in between.
const ATTEMPTS: usize = 3;

/// A library, or another owner of files, that can discover again.
pub trait Rediscover {
    /// Looks at the files again.
    fn rediscover(&mut self) -> Discovery;

    /// Forgets the files that are remembered, so that the next discovery reads them: one of them changed although its stamp
    /// did not.
    fn forget_files(&mut self);

    /// Looks and acts on what was seen, again while a file turns out to be another than the one looked at.
    fn discover_until_fresh<T, E: StaleRead>(
        &mut self,
        act: impl FnMut(&Discovery) -> Result<T, E>,
    ) -> Result<T, E> {
        let first = self.rediscover();
        self.fresh_from(&first, act)
    }

    /// The same, beginning with a discovery that was just made.
    fn fresh_from<T, E: StaleRead>(
        &mut self,
        first: &Discovery,
        mut act: impl FnMut(&Discovery) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut done = act(first);
        for _ in 1..ATTEMPTS {
            match &done {
                Err(error) if error.is_stale() => {
                    self.forget_files();
                    done = act(&self.rediscover());
                }
                _ => break,
            }
        }
        done
    }
}

impl Rediscover for Library {
    fn rediscover(&mut self) -> Discovery {
        self.discover()
    }

    fn forget_files(&mut self) {
        for known in self.skill_roots.values_mut() {
            known.cache = RootCache::forgotten();
        }
        self.agent_files = DefinitionMemory::default();
        self.chain_files = DefinitionMemory::default();
    }
}

/// Discovers for one request, remembers what was read, and discovers again.
#[derive(Debug)]
pub struct Library {
    environment: Arc<Environment>,
    request: Arc<DiscoveryRequest>,
    /// Keeps what was read of grants, as long as their files are the same.
    grants: TrustStore,
    skill_roots: BTreeMap<PathBuf, RootMemory>,
    agent_files: DefinitionMemory<agent::ParsedAgent>,
    chain_files: DefinitionMemory<chain::ParsedChain>,
    last: Option<PublishedDiscovery>,
    usage: Arc<EarlierUsage>,
    counts: CallCounts,
    keeping: LibraryMemory,
    /// Findings of the watcher; they are in every snapshot from the next discovery on.
    notices: Vec<Diagnostic>,
    /// All roots of skills of the last discovery, those that are not there included.
    planned: Vec<PlannedRoot>,
    /// Further roots of skills, in the folders that agents bring.
    brought: Vec<PlannedRoot>,
}

/// The memory of a library from one discovery to the next, besides the content of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LibraryMemory {
    Nothing,
    /// The last good version of a skill whose file turns invalid, and which agents and chains were found.
    LastGood,
}

#[derive(Debug, Default)]
struct RootMemory {
    cache: RootCache,
    loaded: Option<Arc<LoadedRoot>>,
}

/// The last discovery with the inputs that decide whether it still holds.
#[derive(Debug)]
struct PublishedDiscovery {
    discovery: Discovery,
    skills: SkillInputs,
    agents: Option<(FoundDefinitions<agent::ParsedAgent>, LoadedOverrides)>,
    chains: Option<FoundDefinitions<chain::ParsedChain>>,
}

impl Library {
    /// A library that has discovered nothing yet.
    pub fn new(environment: Environment, request: DiscoveryRequest) -> Self {
        Self {
            grants: trusting::store(&environment),
            usage: Arc::new(EarlierUsage::new(&environment)),
            environment: Arc::new(environment),
            request: Arc::new(request),
            skill_roots: BTreeMap::new(),
            agent_files: DefinitionMemory::default(),
            chain_files: DefinitionMemory::default(),
            last: None,
            counts: CallCounts::default(),
            keeping: LibraryMemory::Nothing,
            notices: Vec::new(),
            planned: Vec::new(),
            brought: Vec::new(),
        }
    }

    /// A library that discovers again and again: a file that becomes invalid keeps its last good version.
    ///
    /// It takes nothing from the cache on disk, which lacks the text that a last good version is made of.
    pub(crate) fn living(environment: Environment, request: DiscoveryRequest) -> Self {
        Self {
            keeping: LibraryMemory::LastGood,
            ..Self::new(environment, request)
        }
    }

    /// Looks for these from now on.
    pub fn set_parts(&mut self, parts: DiscoveryParts) {
        Arc::make_mut(&mut self.request).parts = parts;
    }

    /// Puts findings about watching into every snapshot from now on.
    pub(crate) fn set_notices(&mut self, notices: Vec<Diagnostic>) {
        self.notices = notices;
    }

    /// The last discovery, if there was one.
    pub fn last_discovery(&self) -> Option<&Discovery> {
        self.last.as_ref().map(|last| &last.discovery)
    }

    pub(crate) fn definitions(
        &self,
    ) -> (
        &DefinitionMemory<agent::ParsedAgent>,
        &DefinitionMemory<chain::ParsedChain>,
    ) {
        (&self.agent_files, &self.chain_files)
    }

    /// All roots of skills of the last discovery with what they gave, if they were there.
    pub(crate) fn last_roots(
        &self,
    ) -> impl Iterator<Item = (&PlannedRoot, Option<&Arc<LoadedRoot>>)> {
        self.planned.iter().chain(&self.brought).map(|planned| {
            let known = self.skill_roots.get(&planned.root.path);
            let loaded = known.and_then(|known| known.loaded.as_ref());
            (planned, loaded.filter(|_| planned.exists))
        })
    }

    /// Returns true if it looks everywhere that Grove does, and not in given folders or by another host's rules.
    pub fn is_own(&self) -> bool {
        self.request.view == DiscoveryView::Own
    }

    /// Returns the environment that the library discovers in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The numbers of kernel calls, by kind, in the last discovery of skills.
    pub fn counts(&self) -> CallCounts {
        self.counts
    }

    /// Looks, and gives the snapshot alone.
    pub fn load(&mut self) -> Arc<Snapshot> {
        self.discover().snapshot
    }

    /// Looks at everything that is asked for, and publishes what there is; the same snapshot when nothing changed.
    pub fn discover(&mut self) -> Discovery {
        self.discover_in(None)
    }

    /// Discovers again by the settings of the last discovery, for a change that leaves them alone.
    pub(crate) fn discover_with_settings(&mut self) -> Discovery {
        let last = self.last_discovery();
        let last = last.map(|last| Arc::clone(&last.world));
        self.discover_in(last.as_deref())
    }

    fn discover_in(&mut self, earlier: Option<&World>) -> Discovery {
        self.grants = self.grants.next_generation();
        let grants = self.grants.clone();
        let world = World::find_with(&self.environment, &self.request, grants, earlier);
        let world = Arc::new(world);
        let parts = self.request.parts;
        let remembers = self.keeping == LibraryMemory::LastGood;
        let view = self.request.view_of(EntryKind::Agents);
        let found_agents = parts.agents.then(|| {
            let memory = remembers.then_some(&mut self.agent_files);
            let found = agents::discover(&world, &view, memory);
            (found, agent_overrides::find(&world, &view))
        });
        let agent_roots = roots_of(found_agents.as_ref().map(|(found, _)| found));
        let (agents, found_agents) = self.agents(&world, &view, found_agents);
        let view = self.request.view_of(EntryKind::Chains);
        let found_chains = parts.chains.then(|| {
            let memory = remembers.then_some(&mut self.chain_files);
            chains::discover(&world, &view, memory)
        });
        let chain_roots = roots_of(found_chains.as_ref());
        let brought = if parts.skills {
            skill_paths(&world, &agents)
        } else {
            BTreeMap::new()
        };
        let (skills, widened) = self.skill_inputs(&world, &brought);
        let last = self.last.take();
        let same_skills = last.as_ref().filter(|last| last.skills.is_same(&skills));
        let same_agents =
            |last: &&PublishedDiscovery| Arc::ptr_eq(&last.discovery.snapshot.agents, &agents);
        let same_chains = |last: &&PublishedDiscovery| match (&last.chains, &found_chains) {
            (Some(before), Some(now)) => before.is_same(now),
            (before, now) => before.is_none() && now.is_none(),
        };
        let kept_chains = found_chains.clone().filter(|_| remembers);
        let same = same_skills.filter(same_agents).filter(same_chains);
        let snapshot = if let Some(last) = same {
            Arc::clone(&last.discovery.snapshot)
        } else {
            let snapshot = match same_skills {
                Some(last) => (*last.discovery.snapshot).clone(),
                None => skills.resolve(),
            };
            let mut chains = Chains::default();
            if let Some(found) = found_chains {
                chains = chains::resolve(&world, &view, found);
                if parts.skills && parts.agents {
                    chains::check_calls(&mut chains, &agents, &snapshot);
                }
            }
            let mut snapshot = snapshot.with_agents_and_chains(agents, Arc::new(chains));
            snapshot.version = match &last {
                None => 1,
                Some(last) if last.discovery.snapshot.digest == snapshot.digest => {
                    last.discovery.snapshot.version
                }
                Some(last) => last.discovery.snapshot.version + 1,
            };
            Arc::new(snapshot)
        };
        let files = SkillFiles::new(&snapshot, &skills);
        let agent_roots = aligned(agent_roots, &snapshot.agents.roots);
        let chain_roots = aligned(chain_roots, &snapshot.chains.roots);
        let mut sources = Sources::new(Arc::clone(&world), files, agent_roots, chain_roots);
        if parts.skills && parts.agents {
            sources = sources.for_prompts(brought, widened);
        }
        let discovery = Discovery {
            request: Arc::clone(&self.request),
            world,
            snapshot,
            sources: Arc::new(sources),
        };
        self.last = Some(PublishedDiscovery {
            discovery: discovery.clone(),
            skills,
            agents: found_agents,
            chains: kept_chains,
        });
        discovery
    }

    /// All roots of skills that would be looked in, those that are not there included.
    pub fn roots(&self) -> Vec<PlannedRoot> {
        let mut roots = self.planned.clone();
        roots.sort_by(|a, b| grove_catalog::rank::stronger_first(&a.root, &b.root));
        roots
    }

    /// Writes what was learnt for the next start. It is apart from [`Self::load`] so that no caller has to wait for it.
    pub fn save_cache(&mut self) -> Vec<Diagnostic> {
        let Some(folder) = &self.environment.cache else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        for (root, RootMemory { cache, .. }) in &mut self.skill_roots {
            if let Err(error) = cache.save(&cache::file_for(folder, root)) {
                findings.push(file_error(Code::CacheUnwritable, &error));
            }
        }
        findings
    }

    /// The agents, the same as before if nothing about them changed; and the inputs that decide that the next time.
    fn agents(
        &self,
        world: &World,
        view: &DiscoveryView,
        found: Option<(FoundDefinitions<agent::ParsedAgent>, LoadedOverrides)>,
    ) -> (
        Arc<Agents>,
        Option<(FoundDefinitions<agent::ParsedAgent>, LoadedOverrides)>,
    ) {
        let last = self.last.as_ref();
        let Some((found, overrides)) = found else {
            let none = last.map(|last| Arc::clone(&last.discovery.snapshot.agents));
            return (none.unwrap_or_default(), None);
        };
        if let Some(last) = last
            && let Some((before, laid)) = &last.agents
            && before.is_same(&found)
            && *laid == overrides
        {
            return (
                Arc::clone(&last.discovery.snapshot.agents),
                Some((found, overrides)),
            );
        }
        let kept =
            (self.keeping == LibraryMemory::LastGood).then(|| (found.clone(), overrides.clone()));
        let agents = agents::resolve(world, view, found, overrides);
        (Arc::new(agents), kept)
    }

    /// Walks the roots of skills, and those of the folders that agents bring.
    fn skill_inputs(
        &mut self,
        world: &World,
        brought: &BTreeMap<PathBuf, SkillPath>,
    ) -> (SkillInputs, BTreeMap<Vec<PathBuf>, WidenedSkills>) {
        let mut settings = world.settings.settings.clone();
        if self.request.all {
            settings.lift_caps();
        }
        let view = self.request.view.clone();
        let host = view.host();
        let mut scan = scan_for(&settings, host.as_ref(), self.request.all);
        scan.keep_good = self.keeping == LibraryMemory::LastGood;
        let (mut diagnostics, mut plan) = (Vec::new(), RootPlan::default());
        if self.request.parts.skills {
            diagnostics.extend(world.environment.refused_folders());
            diagnostics.extend(world.settings.diagnostics.iter().cloned());
            plan = planning::plan(EntryKind::Skills, world, &view);
        }
        diagnostics.append(&mut plan.diagnostics);
        diagnostics.extend(self.notices.iter().cloned());
        let source = match view {
            DiscoveryView::Folders(_) => RootSource::User,
            DiscoveryView::Own | DiscoveryView::Host(_) => RootSource::Extra,
        };
        let everything = SkillPath::of_all(brought.values());
        let lists = brought.values().chain([&everything]);
        let lists: BTreeSet<&Vec<PathBuf>> = lists.map(|path| &path.folders).collect();
        let lists = lists.into_iter().filter(|folders| !folders.is_empty());
        let wider: Vec<(&Vec<PathBuf>, RootPlan)> = lists
            .map(|folders| (folders, plan.clone().with_added(folders, source)))
            .collect();
        let mut roots: BTreeMap<&PathBuf, &PlannedRoot> = BTreeMap::new();
        let others = wider.iter().flat_map(|(_, plan)| &plan.roots);
        let all: Vec<&PlannedRoot> = plan.roots.iter().chain(others).collect();
        let all: Vec<&PlannedRoot> = all
            .into_iter()
            .filter(|planned| planned.exists)
            .filter(|planned| roots.insert(&planned.root.path, planned).is_none())
            .collect();
        self.walk(&all, &scan, &mut diagnostics);
        let shared = (Arc::new(settings), Arc::new(self.facts()));
        let rules = host.as_ref().map_or(SkillRules::GROVE, SkillRules::of);
        let inputs = |plan: &RootPlan| {
            let planned = plan.roots.iter().filter(|planned| planned.exists);
            let loaded = planned.clone().filter_map(|planned| {
                let known = self.skill_roots.get(&planned.root.path)?;
                known.loaded.clone()
            });
            SkillInputs {
                planned: planned.clone().cloned().collect(),
                loaded: loaded.collect(),
                settings: Arc::clone(&shared.0),
                facts: Arc::clone(&shared.1),
                names: self.request.names.clone(),
                rules: rules.clone(),
                usage: Arc::clone(&self.usage),
                diagnostics: diagnostics.clone(),
            }
        };
        let usual = inputs(&plan);
        let widened = wider
            .iter()
            .map(|(folders, plan)| ((*folders).clone(), WidenedSkills::new(inputs(plan))));
        let widened = widened.collect();
        let others = wider.into_iter().flat_map(|(_, wider)| wider.roots);
        self.brought = others.filter(|root| !plan.roots.contains(root)).collect();
        self.planned = plan.roots;
        (usual, widened)
    }

    fn walk(&mut self, roots: &[&PlannedRoot], scan: &RootScan, diagnostics: &mut Vec<Diagnostic>) {
        self.counts = CallCounts::default();
        self.skill_roots
            .retain(|path, _| roots.iter().any(|planned| planned.root.path == *path));
        for planned in roots {
            let path = &planned.root.path;
            let known = self.skill_roots.entry(path.clone()).or_insert_with(|| {
                let folder = self.environment.cache.as_deref();
                let folder = folder.filter(|_| self.keeping == LibraryMemory::Nothing);
                let (cache, damaged) = folder.map_or_else(Default::default, |folder| {
                    RootCache::load(&cache::file_for(folder, path))
                });
                if damaged {
                    let message = "the cache of this root was damaged and is rebuilt";
                    diagnostics.push(Diagnostic::new(Code::CacheDamaged, message).in_file(path));
                }
                RootMemory {
                    cache,
                    loaded: None,
                }
            });
            let (loaded, counts) =
                loading::load(planned, scan, &mut known.cache, known.loaded.as_ref());
            self.counts += counts;
            known.loaded = Some(loaded);
        }
    }

    /// Looks for the programs and variables that some skill asks for, and no others.
    fn facts(&self) -> MachineFacts {
        let mut facts = MachineFacts {
            os: self.environment.os.clone(),
            ..MachineFacts::default()
        };
        let variables = &self.environment.variables;
        let search_path = variables.get(environment_variables::PATH);
        let search_path = search_path.cloned().unwrap_or_default();
        let loaded = self.skill_roots.values();
        let loaded = loaded.filter_map(|known| known.loaded.as_ref());
        for needed in loaded.flat_map(|root| &root.requirements) {
            for program in needed.bins.iter().chain(&needed.any_bins) {
                if !facts.programs.contains(program)
                    && programs::find(program, &search_path).is_some()
                {
                    facts.programs.insert(program.clone());
                }
            }
            let is_set = |name: &&String| self.environment.variable(name).is_some();
            let set = needed.env.iter().filter(is_set);
            facts.environment.extend(set.cloned());
        }
        facts
    }
}

fn roots_of<P>(found: Option<&FoundDefinitions<P>>) -> Vec<PlannedRoot> {
    found.map_or_else(Vec::new, |found| found.planned.clone())
}

/// Roots in the order of those of a snapshot.
fn aligned(mut planned: Vec<PlannedRoot>, roots: &[Root]) -> Vec<PlannedRoot> {
    let place = |known: &PlannedRoot| roots.iter().position(|root| root.label == known.root.label);
    planned.sort_by_cached_key(place);
    planned
}

/// The folders that agents bring skills in, by the files of the agents; most bring none.
fn skill_paths(world: &World, agents: &Agents) -> BTreeMap<PathBuf, SkillPath> {
    let mut paths = BTreeMap::new();
    for agent in &agents.all {
        let Some(file) = agent.file().filter(|file| !file.skill_path.is_empty()) else {
            continue;
        };
        let location = agents.location(agent);
        let root = agents.roots.get(agent.root);
        let path = SkillPath::of(&world.environment, root, &location, &file.skill_path);
        paths.insert(location, path);
    }
    paths
}

fn scan_for(settings: &Settings, host: Option<&Host>, lifted: bool) -> RootScan {
    let limits = &settings.limits;
    RootScan {
        layout: host.map_or(AcceptedLayouts::ALL, |host| layout_of(&host.scan)),
        max_candidates: limits.candidates_per_root.count(),
        max_bytes: limits.file_bytes.value,
        // A host reads a file whole or refuses it.
        max_read: match host {
            None => most_read(limits.file_bytes.value),
            Some(_) => limits.file_bytes.value,
        },
        max_depth: limits.group_depth.count(),
        lifted,
        keep_good: false,
        all_folders: false,
    }
}

fn layout_of(scan: &hosts::ScanRules) -> AcceptedLayouts {
    AcceptedLayouts {
        root_file: scan.root_file,
        flat_files: scan.flat_files,
        stop_at_skill: scan.stop_at_skill,
        // Trees are Grove's own; a host finds below a skill what its own rules find.
        declared: false,
        node_modules: scan.node_modules,
        linked_files: match scan.linked_files {
            hosts::LinkedFileRule::Follow => LinkedFiles::Follow,
            hosts::LinkedFileRule::Skip => LinkedFiles::Skip,
            hosts::LinkedFileRule::Inside => LinkedFiles::Inside,
        },
        ignore_files: if scan.ignore_files {
            &[".gitignore", ".ignore", ".fdignore"]
        } else {
            &[]
        },
    }
}
