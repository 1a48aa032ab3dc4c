//! The library that all connections share.
//!
//! Every request looks before it answers, which costs one walk of stats, so an answer is never older than the
//! request. Looking and changing sessions is done by one at a time; reading files is done by many.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use grove_catalog::Digest;
use grove_catalog::snapshot::Snapshot;
use grove_skills::Library;
use tokio::sync::watch;

use crate::agents::{self, AgentShelf};
use crate::search::Finder;
use crate::skill_paths::SkillPaths;

/// What was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    skills: Digest,
    /// None until somebody asks for agents.
    agents: Option<Digest>,
}

/// Which lists of a client are not what it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

impl Seen {
    /// What is new since an earlier look. Agents that nobody had asked for are no news.
    pub(crate) fn since(&self, earlier: &Self) -> News {
        let skills = self.skills != earlier.skills;
        let agents = earlier.agents.is_some() && self.agents != earlier.agents;
        News {
            resources: skills,
            prompts: skills || agents,
        }
    }
}

/// A library, the snapshot that was seen last, and who wants to know when that changes.
#[derive(Debug)]
pub(crate) struct Shelf {
    library: RwLock<Library>,
    /// What was seen last; connections wait on it to say that their lists changed.
    seen: watch::Sender<Seen>,
    /// Agents, once somebody asks for prompts.
    agents: AgentShelf,
    /// Finds skills by words.
    finder: Finder,
    /// Paths are a function of the snapshot, and most requests see the same one.
    paths: Mutex<Option<(Digest, Arc<SkillPaths>)>>,
}

impl Shelf {
    /// A shelf whose library has looked once.
    pub(crate) fn new(mut library: Library, agents: AgentShelf) -> Self {
        let seen = Seen {
            skills: library.load().digest,
            agents: None,
        };
        Self {
            library: RwLock::new(library),
            seen: watch::Sender::new(seen),
            agents,
            finder: Finder::default(),
            paths: Mutex::new(None),
        }
    }

    /// Looks at whatever somebody has asked for; whoever waits for changes is told.
    pub(crate) fn look_at_all(&self) {
        self.look();
        if self.agents.is_asked_for() {
            self.look_for_agents();
        }
    }

    /// Looks for agents; whoever waits for changes is told.
    pub(crate) fn look_for_agents(&self) -> agents::Seen {
        let environment = self.reading().environment().clone();
        let found = self.agents.look(&environment);
        self.saw(|seen| seen.agents = Some(found.digest));
        found
    }

    /// Looks at skills; whoever waits for changes is told.
    pub(crate) fn look(&self) -> Arc<Snapshot> {
        self.changing(|_, snapshot| Arc::clone(snapshot))
    }

    /// Looks, and does something that needs the library for itself.
    pub(crate) fn changing<T>(&self, act: impl FnOnce(&mut Library, &Arc<Snapshot>) -> T) -> T {
        let mut library = self.library.write().unwrap_or_else(PoisonError::into_inner);
        let snapshot = library.load();
        self.saw(|seen| seen.skills = snapshot.digest);
        act(&mut library, &snapshot)
    }

    fn saw(&self, change: impl FnOnce(&mut Seen)) {
        self.seen.send_if_modified(|seen| {
            let earlier = *seen;
            change(seen);
            seen.since(&earlier).prompts
        });
    }

    /// The library, for reading files of a snapshot of its.
    pub(crate) fn reading(&self) -> RwLockReadGuard<'_, Library> {
        self.library.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where each skill of a snapshot is served.
    pub(crate) fn paths(&self, snapshot: &Snapshot) -> Arc<SkillPaths> {
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref() {
            Some((digest, paths)) if *digest == snapshot.digest => Arc::clone(paths),
            _ => {
                let paths = Arc::new(SkillPaths::of(snapshot));
                *known = Some((snapshot.digest, Arc::clone(&paths)));
                paths
            }
        }
    }

    /// What finds skills by words.
    pub(crate) fn finder(&self) -> &Finder {
        &self.finder
    }

    /// Says when what is seen changes.
    pub(crate) fn changes(&self) -> watch::Receiver<Seen> {
        self.seen.subscribe()
    }

    /// Writes what was learnt for the next start. What cannot be written is learnt again.
    pub(crate) fn save_cache(&self) {
        let mut library = self.library.write().unwrap_or_else(PoisonError::into_inner);
        let _ = library.save_cache();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_what_a_client_could_have_seen() {
        let seen = |skills: &[u8], agents: Option<&[u8]>| Seen {
            skills: Digest::of(skills),
            agents: agents.map(Digest::of),
        };
        for (before, after, resources, prompts) in [
            (seen(b"a", None), seen(b"a", None), false, false),
            (seen(b"a", None), seen(b"b", None), true, true),
            // The first look for agents is nobody's news.
            (seen(b"a", None), seen(b"a", Some(b"x")), false, false),
            (seen(b"a", Some(b"x")), seen(b"a", Some(b"x")), false, false),
            (seen(b"a", Some(b"x")), seen(b"a", Some(b"y")), false, true),
            (seen(b"a", Some(b"x")), seen(b"b", Some(b"x")), true, true),
        ] {
            assert_eq!(after.since(&before), News { resources, prompts });
        }
    }
}
