//! The library that all connections share.
//!
//! Every request looks before it answers, which costs one walk of stats that requests at the same moment share, so
//! an answer is never older than the request. Sessions are changed by one at a time; files are read by many.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use grove_catalog::Digest;
use grove_catalog::snapshot::Snapshot;
use grove_skills::live::LiveLibrary;
use grove_skills::{Library, Look, Parts, Request};
use tokio::sync::watch;

use crate::agents::{self, AgentShelf};
use crate::changes;
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

/// What was seen last, for everybody who wants to know when that changes.
#[derive(Debug)]
pub(crate) struct Sights {
    seen: watch::Sender<Seen>,
    /// Agents, once somebody asks for prompts.
    agents: AgentShelf,
}

impl Sights {
    /// Takes what was seen of skills; whoever waits for changes is told.
    pub(crate) fn saw_skills(&self, snapshot: &Snapshot) {
        self.saw(|seen| seen.skills = snapshot.digest);
    }

    /// Whether somebody has asked for agents.
    pub(crate) fn has_agents(&self) -> bool {
        self.agents.is_asked_for()
    }

    /// Looks for agents; whoever waits for changes is told.
    pub(crate) fn look_for_agents(&self) -> agents::Seen {
        let found = self.agents.look();
        self.saw(|seen| seen.agents = Some(found.digest));
        found
    }

    /// Whoever follows has to see each step: the first look for agents is no news, and what comes after it is news
    /// only to those who have seen it.
    fn saw(&self, change: impl FnOnce(&mut Seen)) {
        self.seen.send_if_modified(|seen| {
            let earlier = *seen;
            change(seen);
            *seen != earlier
        });
    }
}

/// A library that stays up to date, and who wants to know when it changes.
#[derive(Debug)]
pub(crate) struct Shelf {
    library: LiveLibrary,
    sights: Arc<Sights>,
    /// Finds skills by words.
    finder: Finder,
    /// Paths are a function of the snapshot, and most requests see the same one.
    paths: Mutex<Option<(Digest, Arc<SkillPaths>)>>,
}

impl Shelf {
    /// A shelf for a library, with agents of exactly these folders or of the usual places.
    pub(crate) fn new(library: LiveLibrary, agents: Vec<PathBuf>) -> Self {
        let told = library.subscribe();
        let seen = Seen {
            skills: told.base().digest,
            agents: None,
        };
        let environment = library.reading().environment().clone();
        let request = library.reading().last_look().map(|look| Request {
            parts: Parts::PROMPTS,
            agent_folders: agents,
            ..(*look.request).clone()
        });
        let sights = Arc::new(Sights {
            seen: watch::Sender::new(seen),
            agents: AgentShelf::new(Library::new(environment, request.unwrap_or_default())),
        });
        changes::follow(told, Arc::clone(&sights));
        Self {
            library,
            sights,
            finder: Finder::default(),
            paths: Mutex::new(None),
        }
    }

    /// Looks for agents; whoever waits for changes is told.
    pub(crate) fn look_for_agents(&self) -> agents::Seen {
        self.sights.look_for_agents()
    }

    /// Where agents are looked for.
    pub(crate) fn agents(&self) -> &AgentShelf {
        &self.sights.agents
    }

    /// Looks at skills; whoever waits for changes is told.
    pub(crate) fn look(&self) -> Look {
        let look = self.library.look();
        self.sights.saw_skills(&look.snapshot);
        look
    }

    /// Looks, and does something that needs the library for itself.
    pub(crate) fn changing<T>(&self, act: impl FnOnce(&mut Library, &Look) -> T) -> T {
        self.library.turn(|library, look| {
            self.sights.saw_skills(&look.snapshot);
            act(library, look)
        })
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
        self.sights.seen.subscribe()
    }

    /// Writes what was learnt for the next start. What cannot be written is learnt again.
    pub(crate) fn save_cache(&self) {
        let _ = self.library.with(Library::save_cache);
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
