//! Searching the skills of a library, with the index kept in the cache folder.
//!
//! ```no_run
//! use grove_skills::search::{SearchAudience, SearchQuery, Searcher};
//! use grove_skills::{Environment, Library, DiscoveryRequest};
//!
//! let environment = Environment::for_home("/home/me".into(), "/home/me/project".into());
//! let mut library = Library::new(environment, DiscoveryRequest::default());
//! let mut searcher = Searcher::default();
//! let query = SearchQuery { text: "merge two documents", limit: 10, audience: SearchAudience::Model };
//! let found = searcher.search(&mut library, &query);
//! for hit in &found.hits {
//!     println!("{}", found.snapshot.skills[hit.skill].name());
//! }
//! ```

mod index_file;
mod indexing;
mod meanings_file;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use grove_catalog::catalog::TaskOrder;
use grove_catalog::entry_caps::EntryCaps;
use grove_catalog::search::confusable::{self, ConfusableSkills};
use grove_catalog::search::{self, DamagedIndex, RankedSkills, SearchIndex};
use grove_catalog::snapshot::Snapshot;
use grove_spec::{Code, Diagnostic};

pub use grove_catalog::search::{
    MAX_LIMIT, MatchedWord, SearchAudience, SearchField, SearchFit, SearchHit, SearchQuery,
    anything_fits,
};

pub use meanings_file::{MeaningsFile, OpenMeanings};

use crate::library::{Discovery, Library, Rediscover};
use crate::sources::SkillFiles;
use crate::troubles::file_error;
use crate::world::World;

/// The most skills that a task puts in order; a catalog has fewer entries by default.
const MOST_RANKED: usize = 150;

/// The attempts at looking and reading when some files change in between.
const ATTEMPTS: usize = 3;

/// The result of a search.
#[derive(Debug)]
pub struct SearchResult {
    /// The snapshot that was searched.
    pub snapshot: Arc<Snapshot>,
    /// The skills, best first.
    pub hits: Vec<SearchHit>,
    /// The findings made on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// The skills that are searched, with their files and the surroundings that they were found in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchedSkills<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) files: &'a SkillFiles,
    pub(crate) world: &'a World,
}

impl<'a> From<&'a Discovery> for SearchedSkills<'a> {
    fn from(discovery: &'a Discovery) -> Self {
        Self {
            snapshot: &discovery.snapshot,
            files: &discovery.sources.skills,
            world: &discovery.world,
        }
    }
}

/// Searches, and keeps the index of the last snapshot for the next search.
#[derive(Debug, Default)]
pub struct Searcher {
    index: Option<SearchIndex>,
    read: usize,
}

impl Searcher {
    /// Looks, and searches what was found.
    pub fn search(&mut self, library: &mut Library, query: &SearchQuery<'_>) -> SearchResult {
        let discovery = library.discover();
        self.search_in(library, &discovery, query)
    }

    /// Searches a discovery of the library; discovers again when files changed since.
    pub fn search_in(
        &mut self,
        library: &mut impl Rediscover,
        discovery: &Discovery,
        query: &SearchQuery<'_>,
    ) -> SearchResult {
        let (snapshot, hits, diagnostics) = self.steady(library, discovery, |snapshot, index| {
            search::search(snapshot, index, query)
        });
        SearchResult {
            snapshot,
            hits,
            diagnostics,
        }
    }

    /// Returns the skills of a discovery that a model would mix up; discovers again when files changed.
    pub fn confusable_in(
        &mut self,
        library: &mut Library,
        discovery: &Discovery,
    ) -> (Arc<Snapshot>, ConfusableSkills, Vec<Diagnostic>) {
        self.steady(library, discovery, |snapshot, index| {
            confusable::find(snapshot, index)
        })
    }

    /// Returns the order of a discovery's skills in a catalog for a task, and the findings made on the way.
    pub fn order_for(&mut self, discovery: &Discovery, task: &str) -> (TaskOrder, Vec<Diagnostic>) {
        self.order_of(discovery.into(), &[task.to_owned()])
    }

    /// Returns the order of skills in a catalog that several children share: what is first for one of their tasks goes
    /// before what is second for another. A file that changed meanwhile is searched by name and description alone, as
    /// its text is not what the catalog leads to.
    pub(crate) fn order_of(
        &mut self,
        skills: SearchedSkills<'_>,
        tasks: &[String],
    ) -> (TaskOrder, Vec<Diagnostic>) {
        let all = |index: &SearchIndex| -> Result<Vec<RankedSkills>, DamagedIndex> {
            let ranked = tasks.iter().map(|task| {
                let query = SearchQuery {
                    text: task,
                    limit: MOST_RANKED,
                    audience: SearchAudience::Model,
                };
                search::rank(skills.snapshot, index, &query)
            });
            ranked.collect()
        };
        let (ranked, diagnostics) = self.with_index(skills, true, all);
        let ranked = ranked.unwrap_or_default();
        let order = TaskOrder {
            fits: ranked.iter().any(|of_task| of_task.fits),
            ranked: in_turn(&ranked),
            caps: EntryCaps::of(&skills.world.settings.settings),
        };
        (order, diagnostics)
    }

    /// The number of skill files that the last call read.
    pub fn files_read(&self) -> usize {
        self.read
    }

    /// Runs a query, and discovers again while files change under the index.
    fn steady<T: Default>(
        &mut self,
        library: &mut impl Rediscover,
        discovery: &Discovery,
        ask: impl Fn(&Snapshot, &SearchIndex) -> Result<T, DamagedIndex>,
    ) -> (Arc<Snapshot>, T, Vec<Diagnostic>) {
        let mut discovery = discovery.clone();
        let mut all = Vec::new();
        for attempt in 1..=ATTEMPTS {
            let last = attempt == ATTEMPTS;
            let ask = |index: &SearchIndex| ask(&discovery.snapshot, index);
            let (answer, diagnostics) = self.with_index((&discovery).into(), last, ask);
            all.extend(diagnostics);
            if let Some(answer) = answer {
                return (discovery.snapshot, answer, all);
            }
            if !last {
                library.forget_files();
                discovery = library.rediscover();
            }
        }
        (discovery.snapshot, T::default(), all)
    }

    /// Asks the index of a snapshot; one that turns out to be damaged is made anew, once. Nothing is given when
    /// files changed and this is not the last attempt.
    fn with_index<T>(
        &mut self,
        skills: SearchedSkills<'_>,
        last: bool,
        ask: impl Fn(&SearchIndex) -> Result<T, DamagedIndex>,
    ) -> (Option<T>, Vec<Diagnostic>) {
        let mut diagnostics = Vec::new();
        self.read = 0;
        let snapshot = skills.snapshot;
        let file = index_file::path(skills);
        let source = skills.world.environment.meanings.as_ref();
        let meanings = match source.map(MeaningsFile::source).transpose() {
            Ok(meanings) => meanings,
            Err(finding) => {
                diagnostics.push(finding);
                None
            }
        };
        let made_with = meanings.as_ref().map_or([0; 32], |it| it.digest());
        let holds = |index: &SearchIndex| {
            index.digest() == digest_of(snapshot) && index.meanings() == made_with
        };
        if !self.index.as_ref().is_some_and(holds) {
            let (stored, damaged) = index_file::open(file.as_deref());
            if damaged {
                diagnostics.push(rebuilt(file.as_deref()));
            }
            // An index in memory is as good a start as a stored one, and need not be read.
            if stored.as_ref().is_some_and(holds) || self.index.is_none() {
                self.index = stored.map(|index| index.with_meanings(meanings.clone()));
            }
        }
        if let Some(index) = self.index.as_ref().filter(|index| holds(index)) {
            if let Ok(answer) = ask(index) {
                return (Some(answer), diagnostics);
            }
            diagnostics.push(rebuilt(file.as_deref()));
            self.index = None;
        }
        let made = indexing::make(skills, meanings.clone(), self.index.as_ref());
        self.read = made.read;
        if !made.changed.is_empty() && !last {
            return (None, diagnostics);
        }
        let is_whole = made.changed.is_empty();
        for location in made.changed {
            let message = "the file changed while it was read, so its text was not searched";
            diagnostics.push(Diagnostic::new(Code::Unreadable, message).in_file(&location));
        }
        let bytes = made.bytes;
        if let Some(file) = file.as_deref().filter(|_| is_whole)
            && let Err(error) = index_file::write(file, &bytes)
        {
            diagnostics.push(file_error(Code::CacheUnwritable, &error));
        }
        self.index = SearchIndex::open(bytes).map(|index| index.with_meanings(meanings));
        let answer = self.index.as_ref().and_then(|index| ask(index).ok());
        if !is_whole {
            // The next search has to look at those files again.
            self.index = None;
        }
        (answer, diagnostics)
    }
}

fn digest_of(snapshot: &Snapshot) -> [u8; 32] {
    *snapshot.skills_digest.as_bytes()
}

/// Returns the skills of several searches, the first of each before the second of any, each once.
fn in_turn(searches: &[RankedSkills]) -> Vec<usize> {
    let lists = searches.iter().map(|ranked| &ranked.skills);
    let longest = lists.clone().map(Vec::len).max().unwrap_or(0);
    let mut seen = BTreeSet::new();
    let turns = (0..longest).flat_map(|at| lists.clone().filter_map(move |list| list.get(at)));
    let once = turns.copied().filter(|skill| seen.insert(*skill));
    once.take(MOST_RANKED).collect()
}

fn rebuilt(file: Option<&Path>) -> Diagnostic {
    let finding = Diagnostic::new(
        Code::CacheDamaged,
        "the search index was damaged or from another version and is rebuilt",
    );
    match file {
        Some(file) => finding.in_file(file),
        None => finding,
    }
}
