//! The library: what is asked for, and the snapshot that answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::eligibility::Facts;
use grove_catalog::hosts::{self, Host};
use grove_catalog::identity;
use grove_catalog::resolve::{Candidate, Input, Rules, resolve};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_catalog::state::State;
use grove_fs::probe_walk::{self, Counts, Layout, LinkedFiles};
use grove_fs::programs;
use grove_fs::stamp::fingerprint;
use grove_fs::trust_store::TrustStore;
use grove_spec::config::{Limits, Settings, Sourced};
use grove_spec::package::Kind;
use grove_spec::skill::kept::most_read;
use grove_spec::{Code, Diagnostic};

use crate::cache::{self, RootCache};
use crate::environment::Environment;
use crate::environment_variables;
use crate::loading::{self, LoadedRoot, Scan};
use crate::planning::{self, Plan, PlannedRoot};
use crate::project::Project;
use crate::scope::Scope;
use crate::settings::LoadedSettings;
use crate::trusting;

/// Whose eyes to look with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum View {
    /// Grove's own: everything, by Grove's rules.
    #[default]
    Own,
    /// Exactly these folders, as trusted user roots.
    Folders(Vec<PathBuf>),
    /// Another host's, by its rules.
    Host(String),
}

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Whose eyes to look with.
    pub view: View,
    /// Lift the caps on candidates and loaded skills.
    pub all: bool,
    /// Let only these names through; none means all.
    pub names: Option<Vec<String>>,
}

/// The skill engine for one request: looks, remembers, and looks again.
#[derive(Debug)]
pub struct Library {
    environment: Environment,
    request: Request,
    known: BTreeMap<PathBuf, KnownRoot>,
    last: Option<Published>,
    counts: Counts,
    keeping: Keeping,
    /// Findings of whoever watches; they are in every snapshot from the next load on.
    notices: Vec<Diagnostic>,
    /// All roots of the last load, those that are not there included.
    planned: Vec<PlannedRoot>,
}

/// What becomes of a skill whose file turns invalid between two loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// It is invalid.
    Nothing,
    /// It stays as it was, with a finding.
    LastGood,
}

/// What is remembered of one root.
#[derive(Debug, Default)]
struct KnownRoot {
    cache: RootCache,
    loaded: Option<Arc<LoadedRoot>>,
}

/// The last snapshot with the inputs that decide whether it still holds.
#[derive(Debug)]
struct Published {
    snapshot: Arc<Snapshot>,
    inputs: Inputs,
}

/// Everything a snapshot is made of.
#[derive(Debug)]
struct Inputs {
    roots: Vec<PlannedRoot>,
    loaded: Vec<Arc<LoadedRoot>>,
    settings: Settings,
    facts: Facts,
    diagnostics: Vec<Diagnostic>,
}

impl PartialEq for Inputs {
    fn eq(&self, other: &Self) -> bool {
        // A root that was met again is the same object, so nothing in it has to be compared.
        let same_roots = self.loaded.len() == other.loaded.len()
            && self
                .loaded
                .iter()
                .zip(&other.loaded)
                .all(|(a, b)| Arc::ptr_eq(a, b));
        same_roots
            && self.roots == other.roots
            && self.settings == other.settings
            && self.facts == other.facts
            && self.diagnostics == other.diagnostics
    }
}

impl Library {
    /// A library that has not looked yet.
    pub fn new(environment: Environment, request: Request) -> Self {
        Self {
            environment,
            request,
            known: BTreeMap::new(),
            last: None,
            counts: Counts::default(),
            keeping: Keeping::Nothing,
            notices: Vec::new(),
            planned: Vec::new(),
        }
    }

    /// A library that looks again and again: a file that becomes invalid keeps its last good version.
    ///
    /// It takes nothing from the cache on disk, which has what files say but for the text that a last good
    /// version is made of.
    pub(crate) fn living(environment: Environment, request: Request) -> Self {
        Self {
            keeping: Keeping::LastGood,
            ..Self::new(environment, request)
        }
    }

    /// Puts findings about watching into every snapshot from now on.
    pub(crate) fn set_notices(&mut self, notices: Vec<Diagnostic>) {
        self.notices = notices;
    }

    /// The snapshot of the last load.
    pub(crate) fn last_snapshot(&self) -> Option<Arc<Snapshot>> {
        let last = self.last.as_ref();
        last.map(|last| Arc::clone(&last.snapshot))
    }

    /// The roots of the last load that a package gave.
    pub(crate) fn roots_of_package(&self, folder: &Path) -> Vec<PathBuf> {
        let planned = self.planned.iter();
        let given = planned.filter(|planned| planned.package_folder() == Some(folder));
        given.map(|planned| planned.root.path.clone()).collect()
    }

    /// The settings of the last load.
    pub(crate) fn last_settings(&self) -> Option<&Settings> {
        let last = self.last.as_ref();
        last.map(|last| &last.inputs.settings)
    }

    /// What was asked for.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// All roots of the last load with what they gave, if they were there.
    pub(crate) fn last_roots(
        &self,
    ) -> impl Iterator<Item = (&PlannedRoot, Option<&Arc<LoadedRoot>>)> {
        self.planned.iter().map(|planned| {
            let known = self.known.get(&planned.root.path);
            let loaded = known.and_then(|known| known.loaded.as_ref());
            (planned, loaded.filter(|_| planned.exists))
        })
    }

    /// Whether it looks everywhere that Grove does, and not in given folders or with another host's eyes.
    pub fn is_own(&self) -> bool {
        self.request.view == View::Own
    }

    /// What the engine takes from its surroundings.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// How often the kernel was asked for what in the last load.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Looks at every root and publishes a snapshot; the same one when nothing changed.
    pub fn load(&mut self) -> Arc<Snapshot> {
        let (plan, loaded, rules) = self.plan();
        let mut settings = loaded.settings;
        if self.request.all {
            settings.lift_caps();
        }
        let host = self.host();
        let mut scan = scan_for(&settings, host.as_ref(), self.request.all);
        scan.keep_good = self.keeping == Keeping::LastGood;
        let mut diagnostics = loaded.diagnostics;
        diagnostics.extend(plan.diagnostics);
        diagnostics.extend(self.notices.iter().cloned());
        self.planned.clone_from(&plan.roots);
        let roots: Vec<PlannedRoot> = plan
            .roots
            .into_iter()
            .filter(|planned| planned.exists)
            .collect();
        let loaded = self.walk(&roots, &scan, &mut diagnostics);
        let facts = self.facts(&loaded);
        self.publish(
            Inputs {
                roots,
                loaded,
                settings,
                facts,
                diagnostics,
            },
            rules,
        )
    }

    /// All roots that would be looked in, those that are not there included.
    pub fn roots(&self) -> Vec<PlannedRoot> {
        let mut roots = self.plan().0.roots;
        roots.sort_by(|a, b| grove_catalog::rank::stronger_first(&a.root, &b.root));
        roots
    }

    /// The settings in force. No root is looked for: who asks for a limit has them already, or needs none.
    pub fn settings(&self) -> LoadedSettings {
        let is_told = matches!(self.request.view, View::Folders(_));
        let project = (!is_told).then(|| Project::find(&self.environment));
        self.settings_in(project.as_ref(), &trusting::store(&self.environment))
    }

    fn settings_in(&self, project: Option<&Project>, store: &TrustStore) -> LoadedSettings {
        match self.host() {
            // Another host knows nothing of Grove's configuration.
            Some(host) => LoadedSettings {
                settings: settings_of(&host),
                ..LoadedSettings::default()
            },
            None => LoadedSettings::load(&self.environment, project, store),
        }
    }

    /// The bytes of a skill's file if they are still those that the snapshot speaks of.
    ///
    /// Read beneath the root as the walk does: a path that leads elsewhere by now must not be quoted.
    pub fn source(&self, snapshot: &Snapshot, skill: &Skill) -> Option<Vec<u8>> {
        let planned = self.planned_root(snapshot, skill)?;
        if let Some(text) = self.kept_text(planned, skill) {
            return Some(text.to_vec());
        }
        let file = identity::file_below_root(skill.place.layout, &skill.place.id);
        let read = probe_walk::read_below(
            &planned.folder(),
            planned.links(),
            &file,
            skill.content.size,
        )
        .ok()?;
        // Where content is pinned, only the digest that was judged proves that this is what was trusted.
        let pinned = skill.content.digest.as_ref();
        let same = fingerprint(&read) == skill.content.fingerprint
            && pinned.is_none_or(|digest| *digest == Digest::of(&read));
        same.then_some(read)
    }

    /// The text of a last good version, if that is what stands for the skill.
    fn kept_text(&self, planned: &PlannedRoot, skill: &Skill) -> Option<&[u8]> {
        let loaded = self.known.get(&planned.root.path)?.loaded.as_ref()?;
        let place = (skill.id(), skill.place.layout);
        let kept = loaded.kept.iter().find(|kept| {
            let candidate = loaded.candidates.get(kept.at);
            candidate.is_some_and(|candidate| (&*candidate.id, candidate.layout) == place)
        })?;
        let candidate = loaded.candidates.get(kept.at)?;
        let text = loaded.texts.get(kept.at)?.as_deref();
        text.filter(|_| Arc::ptr_eq(&candidate.content, &skill.content))
    }

    /// The names that are let through, if not all are.
    pub fn names(&self) -> Option<&[String]> {
        self.request.names.as_deref()
    }

    /// The root that a skill of a snapshot was found in, as it was planned.
    pub(crate) fn planned_root(&self, snapshot: &Snapshot, skill: &Skill) -> Option<&PlannedRoot> {
        let path = &snapshot.root_of(skill)?.path;
        let planned = &self.last.as_ref()?.inputs.roots;
        planned.iter().find(|known| known.root.path == *path)
    }

    /// Writes what was learnt for the next start. Apart from [`Self::load`], because nobody waits for it.
    pub fn save_cache(&mut self) -> Vec<Diagnostic> {
        let Some(folder) = &self.environment.cache else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        for (root, KnownRoot { cache, .. }) in &mut self.known {
            if let Err(error) = cache.save(&cache::file_for(folder, root)) {
                findings.push(
                    Diagnostic::new(Code::CacheUnwritable, format!("{error}: {}", error.source))
                        .in_file(&error.path),
                );
            }
        }
        findings
    }

    fn host(&self) -> Option<Host> {
        match &self.request.view {
            View::Host(name) => hosts::by_name(name),
            _ => None,
        }
    }

    fn plan(&self) -> (Plan, LoadedSettings, Rules) {
        let store = trusting::store(&self.environment);
        match (&self.request.view, self.host()) {
            (View::Folders(folders), _) => (
                planning::exactly(folders),
                self.settings_in(None, &store),
                Rules::GROVE,
            ),
            (View::Host(_), Some(host)) => {
                let project = Project::find(&self.environment);
                let settings = self.settings_in(Some(&project), &store);
                let plan = planning::of_host(&self.environment, &host, &project);
                (plan, settings, Rules::of(&host))
            }
            (View::Own | View::Host(_), _) => {
                let project = Project::find(&self.environment);
                let loaded = self.settings_in(Some(&project), &store);
                let environment = &self.environment;
                let plan = planning::own(
                    Kind::Skills,
                    environment,
                    &loaded.settings,
                    &project,
                    &store,
                    Scope::Both,
                );
                (plan, loaded, Rules::GROVE)
            }
        }
    }

    fn walk(
        &mut self,
        roots: &[PlannedRoot],
        scan: &Scan,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Arc<LoadedRoot>> {
        self.counts = Counts::default();
        self.known
            .retain(|path, _| roots.iter().any(|planned| planned.root.path == *path));
        let mut all = Vec::with_capacity(roots.len());
        for planned in roots {
            let path = &planned.root.path;
            let known = self.known.entry(path.clone()).or_insert_with(|| {
                let file = self
                    .environment
                    .cache
                    .as_deref()
                    .filter(|_| self.keeping == Keeping::Nothing)
                    .map(|folder| cache::file_for(folder, path));
                let (cache, damaged) =
                    file.map_or_else(Default::default, |file| RootCache::load(&file));
                if damaged {
                    diagnostics.push(
                        Diagnostic::new(
                            Code::CacheDamaged,
                            "the cache of this root was damaged and is rebuilt",
                        )
                        .in_file(path),
                    );
                }
                KnownRoot {
                    cache,
                    loaded: None,
                }
            });
            let (loaded, counts) =
                loading::load(planned, scan, &mut known.cache, known.loaded.as_ref());
            self.counts += counts;
            known.loaded = Some(Arc::clone(&loaded));
            all.push(loaded);
        }
        all
    }

    /// Looks for the programs and variables that some skill asks for, and no others.
    fn facts(&self, loaded: &[Arc<LoadedRoot>]) -> Facts {
        let mut facts = Facts {
            os: self.environment.os.clone(),
            ..Facts::default()
        };
        let search_path = self
            .environment
            .variables
            .get(environment_variables::PATH)
            .cloned()
            .unwrap_or_default();
        for needed in loaded.iter().flat_map(|root| &root.requirements) {
            for program in needed.bins.iter().chain(&needed.any_bins) {
                if !facts.programs.contains(program)
                    && programs::find(program, &search_path).is_some()
                {
                    facts.programs.insert(program.clone());
                }
            }
            facts.environment.extend(
                needed
                    .env
                    .iter()
                    .filter(|name| self.environment.variable(name).is_some())
                    .cloned(),
            );
        }
        facts
    }

    fn publish(&mut self, inputs: Inputs, rules: Rules) -> Arc<Snapshot> {
        if let Some(last) = self.last.as_ref().filter(|last| last.inputs == inputs) {
            return Arc::clone(&last.snapshot);
        }
        let total = inputs.loaded.iter().map(|root| root.candidates.len()).sum();
        let mut candidates = Vec::with_capacity(total);
        for (index, root) in inputs.loaded.iter().enumerate() {
            candidates.extend(root.candidates.iter().map(|candidate| Candidate {
                root: index,
                ..candidate.clone()
            }));
        }
        let diagnostics = inputs
            .diagnostics
            .iter()
            .chain(inputs.loaded.iter().flat_map(|root| &root.diagnostics))
            .cloned();
        let mut snapshot = resolve(Input {
            roots: inputs
                .roots
                .iter()
                .map(|planned| planned.root.clone())
                .collect(),
            candidates,
            settings: &inputs.settings,
            facts: &inputs.facts,
            names: self.request.names.as_deref(),
            rules,
            diagnostics: diagnostics.collect(),
        });
        tell_of_kept(&mut snapshot, &inputs);
        let untrusted = snapshot
            .skills
            .iter()
            .filter(|skill| skill.state == State::Untrusted)
            .count();
        if untrusted > 0 {
            let (noun, verb) = if untrusted == 1 {
                ("skill", "is")
            } else {
                ("skills", "are")
            };
            let message = format!(
                "{untrusted} {noun} of this project {verb} not used because the project is not trusted"
            );
            snapshot
                .diagnostics
                .push(Diagnostic::new(Code::ProjectUntrusted, message));
        }
        snapshot.version = match &self.last {
            None => 1,
            Some(last) if last.snapshot.digest == snapshot.digest => last.snapshot.version,
            Some(last) => last.snapshot.version + 1,
        };
        let snapshot = Arc::new(snapshot);
        self.last = Some(Published {
            snapshot: Arc::clone(&snapshot),
            inputs,
        });
        snapshot
    }
}

/// Says of each skill that is not as its file is now what is wrong with the file.
fn tell_of_kept(snapshot: &mut Snapshot, inputs: &Inputs) {
    for (planned, loaded) in inputs.roots.iter().zip(&inputs.loaded) {
        let path = &planned.root.path;
        let root = snapshot.roots.iter().position(|root| root.path == *path);
        for kept in &loaded.kept {
            let Some((candidate, root)) = loaded.candidates.get(kept.at).zip(root) else {
                continue;
            };
            let place = (root, &*candidate.id, candidate.layout);
            let found = snapshot.skills.binary_search_by(|skill| {
                (skill.place.root, skill.id(), skill.place.layout).cmp(&place)
            });
            if let Some(skill) = found.ok().and_then(|at| snapshot.skills.get_mut(at)) {
                skill.diagnostics.push(kept.finding.clone());
            }
        }
    }
}

/// The largest file that is read for a host without a limit of its own.
const ENGINE_FILE_BYTES: u64 = 16 << 20;

/// Grove's settings with a host's limits in place of its own; what the host does not limit is not limited.
fn settings_of(host: &Host) -> Settings {
    let limit = |value: u64| Sourced {
        value,
        origin: None,
    };
    let scan = &host.scan;
    let mut settings = Settings::default();
    settings.limits = Limits {
        candidates_per_root: limit(scan.candidates_per_root.unwrap_or(u64::MAX)),
        loaded_per_source: limit(scan.loaded_per_source.unwrap_or(u64::MAX)),
        file_bytes: limit(scan.file_bytes.unwrap_or(ENGINE_FILE_BYTES)),
        group_depth: limit(scan.depth),
        ..settings.limits
    };
    settings
}

fn scan_for(settings: &Settings, host: Option<&Host>, lifted: bool) -> Scan {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let limits = &settings.limits;
    Scan {
        layout: host.map_or(Layout::ALL, |host| layout_of(&host.scan)),
        max_candidates: number(limits.candidates_per_root.value),
        max_bytes: limits.file_bytes.value,
        // A host reads or refuses a file whole.
        max_read: match host {
            None => most_read(limits.file_bytes.value),
            Some(_) => limits.file_bytes.value,
        },
        max_depth: number(limits.group_depth.value),
        lifted,
        keep_good: false,
    }
}

fn layout_of(scan: &hosts::Scan) -> Layout {
    Layout {
        root_file: scan.root_file,
        flat_files: scan.flat_files,
        stop_at_skill: scan.stop_at_skill,
        // Trees are Grove's own; a host finds below a skill what its own rules find.
        declared: false,
        node_modules: scan.node_modules,
        linked_files: match scan.linked_files {
            hosts::LinkedFiles::Follow => LinkedFiles::Follow,
            hosts::LinkedFiles::Skip => LinkedFiles::Skip,
            hosts::LinkedFiles::Inside => LinkedFiles::Inside,
        },
        ignore_files: if scan.ignore_files {
            &[".gitignore", ".ignore", ".fdignore"]
        } else {
            &[]
        },
    }
}
