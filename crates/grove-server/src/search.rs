//! Finding skills by words: the one place where the server's search is.

use std::sync::{Mutex, PoisonError};

use grove_catalog::disclosure::{Node, list_children};
use grove_skills::search::{Audience, Query, Searcher};
use grove_skills::{Library, Look};

/// The index of the last snapshot, which all connections share.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    searcher: Mutex<Searcher>,
}

impl Finder {
    /// Skills for words as a catalog lists them, the best first, at most `limit`; only such as a model may have.
    pub(crate) fn find(
        &self,
        library: &mut Library,
        look: &Look,
        words: &str,
        limit: usize,
    ) -> String {
        let query = Query {
            text: words,
            limit,
            audience: Audience::Model,
        };
        let mut searcher = self.searcher.lock().unwrap_or_else(PoisonError::into_inner);
        let found = searcher.search_in(library, look, &query);
        let nodes: Vec<Node> = found
            .hits
            .iter()
            .map(|hit| Node::Skill(hit.skill))
            .collect();
        if nodes.is_empty() {
            return "No skill fits these words.\n".to_owned();
        }
        let home = library.environment().home.as_deref();
        list_children(&found.snapshot, &nodes, home).text
    }
}
