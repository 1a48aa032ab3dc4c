//! The library: what is asked for, and the snapshot that answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::eligibility::Facts;
use grove_catalog::hosts::{self, Host};
use grove_catalog::resolve::{Candidate, Input, Rules, resolve};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::state::State;
use grove_fs::probe_walk::{Counts, Layout};
use grove_fs::programs;
use grove_fs::trust_store::TrustStore;
use grove_spec::config::Settings;
use grove_spec::{Code, Diagnostic};

use crate::cache::{self, RootCache};
use crate::environment::Environment;
use crate::loading::{self, Scan};
use crate::planning::{self, Plan, PlannedRoot};
use crate::project::Project;
use crate::settings::LoadedSettings;

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
    caches: BTreeMap<PathBuf, RootCache>,
    last: Option<Published>,
    counts: Counts,
}

/// The last snapshot with the inputs that decide whether it still holds.
#[derive(Debug)]
struct Published {
    snapshot: Arc<Snapshot>,
    roots: Vec<PlannedRoot>,
    candidates: Vec<Candidate>,
    settings: Settings,
    facts: Facts,
    diagnostics: Vec<Diagnostic>,
}

impl Library {
    /// A library that has not looked yet.
    pub fn new(environment: Environment, request: Request) -> Self {
        Self {
            environment,
            request,
            caches: BTreeMap::new(),
            last: None,
            counts: Counts::default(),
        }
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
        let scan = scan_for(&settings, host.as_ref(), self.request.all);
        let mut diagnostics = loaded.diagnostics;
        diagnostics.extend(plan.diagnostics);
        let roots: Vec<PlannedRoot> = plan
            .roots
            .into_iter()
            .filter(|planned| planned.exists)
            .collect();
        let candidates = self.walk(&roots, &scan, &mut diagnostics);
        let facts = self.facts(&candidates);
        self.publish(roots, candidates, settings, facts, rules, diagnostics)
    }

    /// All roots that would be looked in, those that are not there included.
    pub fn roots(&self) -> Vec<PlannedRoot> {
        let mut roots = self.plan().0.roots;
        roots.sort_by(|a, b| grove_catalog::rank::stronger_first(&a.root, &b.root));
        roots
    }

    /// The settings in force.
    pub fn settings(&self) -> LoadedSettings {
        self.plan().1
    }

    /// Writes what was learnt for the next start. Apart from [`Self::load`], because nobody waits for it.
    pub fn save_cache(&mut self) -> Vec<Diagnostic> {
        let Some(folder) = &self.environment.cache else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        for (root, cache) in &mut self.caches {
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
        let store = TrustStore::new(self.environment.state.join("trust"));
        match (&self.request.view, self.host()) {
            (View::Folders(folders), _) => (
                planning::exactly(folders),
                LoadedSettings::load(&self.environment, None, &store),
                Rules::GROVE,
            ),
            (View::Host(_), Some(host)) => {
                let project = Project::find(&self.environment);
                // Another host knows nothing of Grove's configuration.
                (
                    planning::of_host(&self.environment, &host, &project),
                    LoadedSettings::default(),
                    Rules::of(&host),
                )
            }
            (View::Own | View::Host(_), _) => {
                let project = Project::find(&self.environment);
                let loaded = LoadedSettings::load(&self.environment, Some(&project), &store);
                let plan = planning::own(&self.environment, &loaded.settings, &project, &store);
                (plan, loaded, Rules::GROVE)
            }
        }
    }

    fn walk(
        &mut self,
        roots: &[PlannedRoot],
        scan: &Scan,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Candidate> {
        self.counts = Counts::default();
        self.caches
            .retain(|path, _| roots.iter().any(|planned| planned.root.path == *path));
        let mut candidates = Vec::new();
        for (index, planned) in roots.iter().enumerate() {
            let path = &planned.root.path;
            if !self.caches.contains_key(path) {
                let (cache, damaged) = self
                    .environment
                    .cache
                    .as_deref()
                    .map_or_else(Default::default, |folder| {
                        RootCache::load(&cache::file_for(folder, path))
                    });
                if damaged {
                    diagnostics.push(
                        Diagnostic::new(
                            Code::CacheDamaged,
                            "the cache of this root was damaged and is rebuilt",
                        )
                        .in_file(path),
                    );
                }
                self.caches.insert(path.clone(), cache);
            }
            let Some(cache) = self.caches.get_mut(path) else {
                continue;
            };
            let mut loaded = loading::load(planned, index, scan, cache);
            self.counts += loaded.counts;
            diagnostics.append(&mut loaded.diagnostics);
            candidates.append(&mut loaded.candidates);
        }
        candidates
    }

    /// Looks for the programs and variables that some skill asks for, and no others.
    fn facts(&self, candidates: &[Candidate]) -> Facts {
        let mut facts = Facts {
            os: self.environment.os.clone(),
            ..Facts::default()
        };
        let search_path = self
            .environment
            .variables
            .get("PATH")
            .cloned()
            .unwrap_or_default();
        for needed in candidates
            .iter()
            .filter(|candidate| candidate.content.head().flags.has_requirements)
            .filter_map(|candidate| candidate.content.parsed().skill.requirements.as_deref())
        {
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

    fn publish(
        &mut self,
        roots: Vec<PlannedRoot>,
        candidates: Vec<Candidate>,
        settings: Settings,
        facts: Facts,
        rules: Rules,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Arc<Snapshot> {
        if let Some(last) = &self.last
            && last.holds_for(&roots, &candidates, &settings, &facts, &diagnostics)
        {
            return Arc::clone(&last.snapshot);
        }
        let given = diagnostics.clone();
        let input = Input {
            roots: roots.iter().map(|planned| planned.root.clone()).collect(),
            candidates: candidates.clone(),
            settings: &settings,
            facts: &facts,
            names: self.request.names.as_deref(),
            rules,
            diagnostics: std::mem::take(&mut diagnostics),
        };
        let mut snapshot = resolve(input);
        let untrusted = snapshot
            .skills
            .iter()
            .filter(|skill| skill.state == State::Untrusted)
            .count();
        if untrusted > 0 {
            let message = format!(
                "{untrusted} skills of this project are not used because the project is not trusted"
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
            roots,
            candidates,
            settings,
            facts,
            diagnostics: given,
        });
        snapshot
    }
}

impl Published {
    fn holds_for(
        &self,
        roots: &[PlannedRoot],
        candidates: &[Candidate],
        settings: &Settings,
        facts: &Facts,
        diagnostics: &[Diagnostic],
    ) -> bool {
        let same = |(a, b): (&Candidate, &Candidate)| {
            a.root == b.root
                && a.id == b.id
                && a.layout == b.layout
                && a.file == b.file
                && a.hard_links == b.hard_links
                && Arc::ptr_eq(&a.content, &b.content)
        };
        self.candidates.len() == candidates.len()
            && self.roots == roots
            && self.settings == *settings
            && self.facts == *facts
            && self.diagnostics == diagnostics
            && self.candidates.iter().zip(candidates).all(same)
    }
}

fn scan_for(settings: &Settings, host: Option<&Host>, lifted: bool) -> Scan {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let limits = &settings.limits;
    let mut scan = Scan {
        layout: Layout::ALL,
        max_candidates: number(limits.candidates_per_root.value),
        max_bytes: limits.file_bytes.value,
        max_depth: number(limits.group_depth.value),
        lifted,
    };
    if let Some(host) = host {
        scan.layout = Layout {
            root_file: host.scan.root_file,
            flat_files: host.scan.flat_files,
            stop_at_skill: host.scan.stop_at_skill,
            ignore_files: if host.scan.ignore_files {
                &[".gitignore", ".ignore", ".fdignore"]
            } else {
                &[]
            },
        };
        scan.max_depth = number(host.scan.depth);
        scan.max_bytes = host.scan.file_bytes.unwrap_or(scan.max_bytes);
    }
    scan
}
