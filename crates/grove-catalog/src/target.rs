//! Which agent's or chain's file somebody means who wants to change it, and whether it is theirs to change.

use std::path::PathBuf;

use grove_spec::agent::naming;
use grove_spec::config::LayerScope;
use grove_spec::skill::name_key;

use crate::address::near_names;
use crate::entry::{Entries, Entry};
use crate::overrides::is_own;
use crate::root::Source;

/// Whose file is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This one, by index.
    One(usize),
    /// Nobody is called so.
    Nobody {
        /// Names that are spelled nearly so.
        near: Vec<String>,
    },
    /// It came from elsewhere, so its file is not changed. By index.
    ReadOnly(usize),
    /// There is one in each scope, and it was not said which.
    BothScopes(Vec<PathBuf>),
    /// Several files of one scope bear the name; these addresses tell them apart.
    Several(Vec<String>),
    /// It is in the other scope only.
    OtherScope(PathBuf),
}

impl<'a, E: Entry> Entries<'a, E> {
    /// Those of a name, as it is written or as a new one would be called; or the one of an address.
    pub fn named(self, query: &str) -> Vec<usize> {
        let all = |is: &dyn Fn(&E) -> bool| -> Vec<usize> {
            let all = self.all.iter().enumerate();
            all.filter(|(_, one)| is(one)).map(|(at, _)| at).collect()
        };
        let key = name_key(query);
        let found = all(&|one| name_key(one.name()) == key);
        if !found.is_empty() {
            return found;
        }
        let found = all(&|one| query.contains('@') && self.is_address(one, query));
        if !found.is_empty() {
            return found;
        }
        match naming::sanitised(query) {
            Some(name) => all(&|one| one.name() == name),
            None => found,
        }
    }

    /// Whose file is to be changed.
    pub fn target(self, query: &str, scope: Option<LayerScope>) -> Target {
        let named = self.named(query);
        let Some(first) = named.first().copied() else {
            let names = self.all.iter().map(Entry::name);
            return Target::Nobody {
                near: near_names(names, query),
            };
        };
        let own: Vec<usize> = named
            .into_iter()
            .filter(|at| self.source(*at).is_some_and(is_own))
            .collect();
        if own.is_empty() {
            return Target::ReadOnly(first);
        }
        let wanted = |at: &usize| scope.is_none() || self.source(*at) == scope.map(source_of);
        let fitting: Vec<usize> = own.iter().copied().filter(wanted).collect();
        let locations = |all: &[usize]| -> Vec<PathBuf> {
            let found = all.iter().filter_map(|at| self.all.get(*at));
            found.map(|one| self.location(one)).collect()
        };
        let sources: Vec<_> = fitting.iter().map(|at| self.source(*at)).collect();
        match fitting.as_slice() {
            [] => Target::OtherScope(locations(&own).into_iter().next().unwrap_or_default()),
            [one] => Target::One(*one),
            several if sources.windows(2).any(|pair| pair.first() != pair.last()) => {
                Target::BothScopes(locations(several))
            }
            several => {
                let found = several.iter().filter_map(|at| self.all.get(*at));
                Target::Several(found.map(|one| self.address(one)).collect())
            }
        }
    }

    /// The first of a name in a scope, usable or not.
    pub fn in_scope(self, name: &str, scope: LayerScope) -> Option<&'a E> {
        let source = source_of(scope);
        let mut all = self.all.iter().enumerate();
        let found = all.find(|(at, one)| self.source(*at) == Some(source) && one.name() == name);
        found.map(|(_, one)| one)
    }
}

fn source_of(scope: LayerScope) -> Source {
    match scope {
        LayerScope::User => Source::User,
        LayerScope::Project => Source::Project,
    }
}

#[cfg(test)]
mod tests {
    use grove_spec::agent;
    use grove_spec::config::LayerScope::{Project, User};

    use super::*;
    use crate::agents::{Agents, Candidate, Content, resolve};
    use crate::digest::Digest;
    use crate::root::{Root, Standing};
    use crate::trust::Trust;

    fn agents(files: &[(Source, &str)]) -> Agents {
        let roots = Source::ALL.map(|source| Root {
            path: PathBuf::from(format!("/{}", source.as_str())),
            label: format!("{}:agents", source.as_str()),
            source,
            standing: Standing::of(source),
            trust: Trust::Trusted,
        });
        let candidates = files.iter().map(|(source, path)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let text = format!("---\nname: {name}\ndescription: d\n---\n");
            Candidate {
                root: roots
                    .iter()
                    .position(|root| root.source == *source)
                    .unwrap(),
                path: format!("{path}.md"),
                member: None,
                file: None,
                content: Ok(Content {
                    digest: Digest::of(text.as_bytes()),
                    size: text.len() as u64,
                    rest: None,
                    parsed: agent::parse(&text),
                }),
                diagnostics: Vec::new(),
            }
        });
        resolve(roots.to_vec(), candidates.collect(), Vec::new())
    }

    #[test]
    fn a_file_is_changed_only_when_it_is_clear_whose() {
        let at = |path: &str| PathBuf::from(path);
        for (files, query, scope, expected) in [
            (
                vec![(Source::User, "my-x")],
                " My X! ",
                None,
                Target::One(0),
            ),
            (
                vec![(Source::User, "x")],
                "x@user:agents",
                None,
                Target::One(0),
            ),
            (
                vec![(Source::Bundled, "x"), (Source::User, "x")],
                "x",
                None,
                Target::One(0),
            ),
            (vec![(Source::Bundled, "x")], "x", None, Target::ReadOnly(0)),
            (
                vec![(Source::Package, "x")],
                "x",
                Some(User),
                Target::ReadOnly(0),
            ),
            (vec![(Source::Extra, "x")], "x", None, Target::ReadOnly(0)),
            (
                vec![(Source::User, "x"), (Source::Project, "x")],
                "x",
                None,
                Target::BothScopes(vec![at("/project/x.md"), at("/user/x.md")]),
            ),
            (
                vec![(Source::User, "x"), (Source::Project, "x")],
                "x",
                Some(User),
                Target::One(1),
            ),
            (
                vec![(Source::User, "x"), (Source::Project, "x")],
                "x",
                Some(Project),
                Target::One(0),
            ),
            (
                vec![(Source::User, "x")],
                "x",
                Some(Project),
                Target::OtherScope(at("/user/x.md")),
            ),
            (
                vec![(Source::User, "a/x"), (Source::User, "b/x")],
                "x",
                None,
                Target::Several(vec![
                    "a/x@user:agents".to_owned(),
                    "b/x@user:agents".to_owned(),
                ]),
            ),
            (
                vec![(Source::User, "reviewer")],
                "revewer",
                None,
                Target::Nobody {
                    near: vec!["reviewer".to_owned()],
                },
            ),
        ] {
            assert_eq!(
                agents(&files).entries().target(query, scope),
                expected,
                "{files:?} {query}"
            );
        }
    }
}
