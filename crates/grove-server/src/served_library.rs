//! The library that all connections share.
//!
//! Every request looks before it answers, which costs one walk of stats that requests at the same moment share, so
//! an answer is never older than the request. What was seen is read without a lock: only searches wait for one another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grove_catalog::Digest;
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

/// A library that stays up to date, and who wants to know when it changes.
#[derive(Debug)]
pub(crate) struct ServedLibrary {
    live: LiveLibrary,
    seen: Arc<watch::Sender<Seen>>,
    /// The index of the last snapshot, which all connections share.
    searcher: Mutex<Searcher>,
    /// Paths are a function of the snapshot, and most requests see the same one.
    paths: Mutex<Option<(Digest, Arc<SkillPaths>)>>,
    /// What hosts find that asked here, by their names.
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

    /// Looks; whoever waits for changes is told.
    pub(crate) fn look(&self) -> Look {
        let look = self.live.look();
        changes::saw(&self.seen, &look.snapshot, look.request.parts);
        look
    }

    /// Looks at agents and chains too, from the first time on that somebody asks for them: most clients never do.
    pub(crate) fn look_with_agents(&self) -> Look {
        if !self.live.latest_look().request.parts.agents {
            self.live.with(|library| library.look_for(Parts::ALL));
        }
        self.look()
    }

    /// Does something with what was seen, again while a file turns out to be another than was looked at.
    pub(crate) fn steady_from<T, E: Unsteady>(
        &self,
        look: &Look,
        act: impl FnMut(&Look) -> Result<T, E>,
    ) -> Result<T, E> {
        (&self.live).steady_from(look, act)
    }

    /// Skills for words as a catalog lists them, the best first, at most `limit`; only such as a model may have.
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

    /// What a client that is a known host lists to its model by itself; nothing for any other.
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

    /// The skills that a person calls by name in a client that is a known host, without this server; none in any other.
    pub(crate) fn called_in(&self, client: Option<&str>, look: &Look) -> BTreeSet<usize> {
        let host = client.and_then(hosts::by_mcp_client);
        let called = host.map(|host| {
            let theirs = self.look_of(&host, look);
            host_lists::called_in_host(&look.snapshot, &theirs)
        });
        called.unwrap_or_default()
    }

    /// What a host finds where we look.
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

    /// Where each skill of a snapshot is served.
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

    /// Says when what is seen changes.
    pub(crate) fn changes(&self) -> Changes {
        Changes::new(self.seen.subscribe())
    }

    /// Writes what was learnt for the next start. What cannot be written is learnt again.
    pub(crate) fn save_cache(&self) {
        let _ = self.live.with(Library::save_cache);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
