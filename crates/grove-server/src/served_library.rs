//! The library that all connections share.
//!
//! Every request looks at the files before it answers, so an answer is never older than the request. A look costs one walk
//! of stats, which requests at the same moment share. Snapshots are read without a lock: only searches wait for one another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grove_catalog::Digest;
use grove_catalog::catalog::TaskOrder;
use grove_catalog::disclosure::{Node, list_children};
use grove_catalog::hosts::{self, Host};
use grove_catalog::snapshot::Snapshot;
use grove_skills::live::LiveLibrary;
use grove_skills::search::{Audience, Query, Searcher, anything_fits};
use grove_skills::{Library, Look, LookAgain as _, Parts, Request, Unsteady, View, host_lists};
use tokio::sync::watch;

use crate::changes::{self, Changes, Seen};
use crate::skill_paths::SkillPaths;
use crate::tools::ListedByHost;

/// A library that stays up to date, and the channel that announces its changes.
#[derive(Debug)]
pub(crate) struct ServedLibrary {
    live: LiveLibrary,
    seen: Arc<watch::Sender<Seen>>,
    /// The index of the last snapshot, which all connections share.
    searcher: Mutex<Searcher>,
    /// The paths of the last snapshot, kept because most requests see the same one.
    paths: Mutex<Option<(Digest, Arc<SkillPaths>)>>,
    /// The libraries of the hosts that sent requests, as each host finds them, by the host's name.
    hosts: Mutex<BTreeMap<String, Library>>,
}

impl ServedLibrary {
    pub(crate) fn new(live: LiveLibrary) -> Self {
        let subscription = live.subscribe();
        let look = live.latest_look();
        let seen = Seen::of(&look.snapshot, look.request.parts);
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
    pub(crate) fn look(&self) -> Look {
        let look = self.live.look();
        changes::saw(&self.seen, &look.snapshot, look.request.parts);
        look
    }

    /// Looks at agents and chains too, as do all looks after this; they are left out before since most clients need none.
    pub(crate) fn look_with_agents(&self) -> Look {
        if !self.live.latest_look().request.parts.agents {
            self.live.with(|library| library.look_for(Parts::ALL));
        }
        self.look()
    }

    /// Runs `act` with a look, and again with a new look while a file turns out to have changed since.
    pub(crate) fn steady_from<T, E: Unsteady>(
        &self,
        look: &Look,
        act: impl FnMut(&Look) -> Result<T, E>,
    ) -> Result<T, E> {
        (&self.live).steady_from(look, act)
    }

    /// Returns the skills that match words, listed as in a catalog, the best first, at most `limit`; only those that a
    /// model may have.
    pub(crate) fn find(&self, look: &Look, words: &str, limit: usize) -> String {
        let query = Query {
            text: words,
            limit,
            audience: Audience::Model,
        };
        let found = locked(&self.searcher).search_in(&mut &self.live, look, &query);
        let hits = found.hits.iter();
        let nodes: Vec<Node> = hits.map(|hit| Node::Skill(hit.skill)).collect();
        if nodes.is_empty() {
            return "No skill matches these words.\n".to_owned();
        }
        let home = look.world.environment.home.as_deref();
        let listed = list_children(&found.snapshot, &nodes, home).text;
        if anything_fits(&found.hits) {
            listed
        } else {
            format!("Nothing matches well. The nearest are:\n{listed}")
        }
    }

    /// Returns the order of skills in a catalog for a task.
    pub(crate) fn order_for(&self, look: &Look, task: &str) -> TaskOrder {
        locked(&self.searcher).order_for(look, task)
    }

    /// Returns the skills that a known host lists to its model itself; none for any other client.
    pub(crate) fn listed_by(&self, client: Option<&str>, look: &Look) -> ListedByHost {
        let Some(host) = client.and_then(hosts::by_mcp_client) else {
            return ListedByHost::default();
        };
        let theirs = self.look_of(&host, look);
        ListedByHost {
            addresses: host_lists::told_by_host(&look.snapshot, &theirs, &host),
            title: host.title,
        }
    }

    /// Returns the skills that a person can call by name in a known host without this server; none for any other client.
    pub(crate) fn called_in(&self, client: Option<&str>, look: &Look) -> BTreeSet<usize> {
        let host = client.and_then(hosts::by_mcp_client);
        let called = host.map(|host| {
            let theirs = self.look_of(&host, look);
            host_lists::called_in_host(&look.snapshot, &theirs)
        });
        called.unwrap_or_default()
    }

    /// Returns the skills that a host finds in the same folders.
    fn look_of(&self, host: &Host, look: &Look) -> Look {
        let mut libraries = locked(&self.hosts);
        let library = libraries.entry(host.name.clone()).or_insert_with(|| {
            let request = Request {
                view: View::Host(host.name.clone()),
                ..Request::default()
            };
            Library::new((*look.world.environment).clone(), request)
        });
        library.look()
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

    /// Returns a receiver of the library's changes.
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
