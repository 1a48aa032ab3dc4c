//! The library that all connections share.
//!
//! Every request discovers before it answers, so an answer is never older than the request. A discovery costs one walk
//! of stats, which requests at the same moment share. Snapshots are read without a lock: only searches wait for one another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grove_catalog::Digest;
use grove_catalog::catalog::TaskOrder;
use grove_catalog::disclosure::{DisclosureNode, list_children};
use grove_catalog::hosts::{self, Host};
use grove_catalog::snapshot::Snapshot;
use grove_skills::live::LiveLibrary;
use grove_skills::search::{SearchAudience, SearchQuery, Searcher, anything_fits};
use grove_skills::{
    Discovery, DiscoveryParts, DiscoveryRequest, DiscoveryView, Library, Rediscover as _,
    StaleRead, host_lists,
};
use tokio::sync::watch;

use crate::changes::{self, Changes, SeenDigests};
use crate::skill_paths::SkillPaths;
use crate::tools::ListedByHost;

/// A library that stays up to date, and the channel that announces its changes.
#[derive(Debug)]
pub(crate) struct ServedLibrary {
    live: Arc<LiveLibrary>,
    seen: Arc<watch::Sender<SeenDigests>>,
    /// The index of the last snapshot, which all connections share.
    searcher: Mutex<Searcher>,
    /// The paths of the last snapshot, kept because most requests see the same one.
    paths: Mutex<Option<(Digest, Arc<SkillPaths>)>>,
    /// The libraries of the hosts that sent requests, as each host finds them, by the host's name.
    hosts: Mutex<BTreeMap<String, Library>>,
}

impl ServedLibrary {
    pub(crate) fn new(live: Arc<LiveLibrary>) -> Self {
        let subscription = live.subscribe();
        let discovery = live.latest_discovery();
        let seen = SeenDigests::of(&discovery.snapshot, discovery.request.parts);
        let seen = Arc::new(watch::Sender::new(seen));
        changes::follow(subscription, Arc::clone(&seen));
        Self {
            live,
            seen,
            searcher: Mutex::default(),
            paths: Mutex::default(),
            hosts: Mutex::default(),
        }
    }

    /// Looks at the library, and announces a change to those that wait for one.
    pub(crate) fn discover(&self) -> Discovery {
        let discovery = self.live.discover();
        changes::record_snapshot(&self.seen, &discovery.snapshot, discovery.request.parts);
        discovery
    }

    /// Looks at agents and chains too, as do all looks after this; they are left out before since most clients need none.
    pub(crate) fn discover_with_agents(&self) -> Discovery {
        if !self.live.latest_discovery().request.parts.agents {
            self.live
                .with(|library| library.set_parts(DiscoveryParts::ALL));
        }
        self.discover()
    }

    /// Runs `act` with a discovery, and again with a new discovery while a file turns out to have changed since.
    pub(crate) fn fresh_from<T, E: StaleRead>(
        &self,
        discovery: &Discovery,
        act: impl FnMut(&Discovery) -> Result<T, E>,
    ) -> Result<T, E> {
        (&*self.live).fresh_from(discovery, act)
    }

    /// Returns the skills that match words, listed as in a catalog, the best first, at most `limit`; only those that a
    /// model may have.
    pub(crate) fn find(&self, discovery: &Discovery, words: &str, limit: usize) -> String {
        let query = SearchQuery {
            text: words,
            limit,
            audience: SearchAudience::Model,
        };
        let found = locked(&self.searcher).search_in(&mut &*self.live, discovery, &query);
        let hits = found.hits.iter();
        let nodes: Vec<DisclosureNode> = hits.map(|hit| DisclosureNode::Skill(hit.skill)).collect();
        if nodes.is_empty() {
            return "No skill matches these words.\n".to_owned();
        }
        let home = discovery.world.environment.home.as_deref();
        let listed = list_children(&found.snapshot, &nodes, home).text;
        if anything_fits(&found.hits) {
            listed
        } else {
            format!("Nothing matches well. The nearest are:\n{listed}")
        }
    }

    /// Returns the order of skills in a catalog for a task.
    pub(crate) fn order_for(&self, discovery: &Discovery, task: &str) -> TaskOrder {
        locked(&self.searcher).order_for(discovery, task).0
    }

    /// Returns the skills that a known host lists to its model itself; none for any other client.
    pub(crate) fn listed_by(&self, client: Option<&str>, discovery: &Discovery) -> ListedByHost {
        let Some(host) = client.and_then(hosts::by_mcp_client) else {
            return ListedByHost::default();
        };
        let theirs = self.discover_for_host(&host, discovery);
        ListedByHost {
            addresses: host_lists::listed_by_host(&discovery.snapshot, &theirs, &host),
            title: host.title,
        }
    }

    /// Returns the skills that a person can call by name in a known host without this server; none for any other client.
    pub(crate) fn called_in(&self, client: Option<&str>, discovery: &Discovery) -> BTreeSet<usize> {
        let host = client.and_then(hosts::by_mcp_client);
        let called = host.map(|host| {
            let theirs = self.discover_for_host(&host, discovery);
            host_lists::called_in_host(&discovery.snapshot, &theirs)
        });
        called.unwrap_or_default()
    }

    fn discover_for_host(&self, host: &Host, discovery: &Discovery) -> Discovery {
        let mut libraries = locked(&self.hosts);
        let library = libraries.entry(host.name.clone()).or_insert_with(|| {
            let request = DiscoveryRequest {
                view: DiscoveryView::Host(host.name.clone()),
                ..DiscoveryRequest::default()
            };
            Library::new((*discovery.world.environment).clone(), request)
        });
        library.discover()
    }

    /// Returns the path at which each skill of a snapshot is served.
    pub(crate) fn paths(&self, snapshot: &Snapshot) -> Arc<SkillPaths> {
        let known = locked(&self.paths).clone();
        match known {
            Some((digest, paths)) if digest == snapshot.skills_digest => paths,
            _ => {
                let paths = Arc::new(SkillPaths::of(snapshot));
                *locked(&self.paths) = Some((snapshot.skills_digest, Arc::clone(&paths)));
                paths
            }
        }
    }

    pub(crate) fn changes(&self) -> Changes {
        Changes::new(self.seen.subscribe())
    }

    /// Writes the cache for the next start. If that fails, the next start reads the files again.
    pub(crate) fn save_cache(&self) {
        let _ = self.live.with(Library::save_cache);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
