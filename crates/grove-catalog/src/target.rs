//! The agent or chain whose file the user wants to change, and the check that it is the user's to change.

use std::path::PathBuf;

use grove_spec::agent::naming;
use grove_spec::config::LayerScope;
use grove_spec::skill::name_key;

use crate::address::near_names;
use crate::entry::{Entries, Entry};
use crate::overrides::is_own;
use crate::root::RootSource;

/// The result of looking for a file to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeTarget {
    /// This one, by index.
    One(usize),
    /// No match, with names that are spelled nearly so.
    Unknown(Vec<String>),
    /// It came from elsewhere, so its file is not changed. By index.
    ReadOnly(usize),
    /// There is one in each scope, and no scope was given.
    BothScopes(Vec<PathBuf>),
    /// Several files of one scope have the name; these addresses tell them apart.
    Several(Vec<String>),
    /// It is in the other scope only.
    OtherScope(PathBuf),
}

impl<'a, E: Entry> Entries<'a, E> {
    /// Returns those of a name, as it is written or as a new one would be named; or the one of an address.
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

    /// Finds the one whose file is to be changed.
    pub fn target(self, query: &str, scope: Option<LayerScope>) -> ChangeTarget {
        let named = self.named(query);
        let Some(first) = named.first().copied() else {
            let names = self.all.iter().map(Entry::name);
            return ChangeTarget::Unknown(near_names(names, query));
        };
        let own: Vec<usize> = named
            .into_iter()
            .filter(|at| self.source(*at).is_some_and(is_own))
            .collect();
        if own.is_empty() {
            return ChangeTarget::ReadOnly(first);
        }
        let wanted = |at: &usize| scope.is_none() || self.source(*at) == scope.map(source_of);
        let fitting: Vec<usize> = own.iter().copied().filter(wanted).collect();
        let locations = |all: &[usize]| -> Vec<PathBuf> {
            let found = all.iter().filter_map(|at| self.all.get(*at));
            found.map(|one| self.location(one)).collect()
        };
        let sources: Vec<_> = fitting.iter().map(|at| self.source(*at)).collect();
        match fitting.as_slice() {
            [] => ChangeTarget::OtherScope(locations(&own).into_iter().next().unwrap_or_default()),
            [one] => ChangeTarget::One(*one),
            several if sources.windows(2).any(|pair| pair.first() != pair.last()) => {
                ChangeTarget::BothScopes(locations(several))
            }
            several => {
                let found = several.iter().filter_map(|at| self.all.get(*at));
                ChangeTarget::Several(found.map(|one| self.address(one)).collect())
            }
        }
    }

    /// Returns the first of a name in a scope, usable or not.
    pub fn in_scope(self, name: &str, scope: LayerScope) -> Option<&'a E> {
        let source = source_of(scope);
        let mut all = self.all.iter().enumerate();
        let found = all.find(|(at, one)| self.source(*at) == Some(source) && one.name() == name);
        found.map(|(_, one)| one)
    }
}

fn source_of(scope: LayerScope) -> RootSource {
    match scope {
        LayerScope::User => RootSource::User,
        LayerScope::Project => RootSource::Project,
    }
}

#[cfg(test)]
mod tests {
    use grove_spec::agent;
    use grove_spec::config::LayerScope::{Project, User};

    use super::*;
    use crate::agents::{Agents, resolve};
    use crate::tests::{all_roots, candidate, root_index};

    fn agents(files: &[(RootSource, &str)]) -> Agents {
        let candidates = files.iter().map(|(source, path)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let text = format!("---\nname: {name}\ndescription: d\n---\n");
            let path = format!("{path}.md");
            candidate(root_index(*source), &path, &text, agent::parse(&text))
        });
        resolve(all_roots(), candidates.collect(), Vec::new())
    }

    #[test]
    fn a_file_is_changed_only_when_it_is_clear_whose() {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        let user = [(RootSource::User, "x")];
        let both = [(RootSource::User, "x"), (RootSource::Project, "x")];
        let copied = [(RootSource::Bundled, "x"), (RootSource::User, "x")];
        let twice = [(RootSource::User, "a/x"), (RootSource::User, "b/x")];
        let addresses = ["a/x@user:agents", "b/x@user:agents"].map(str::to_owned);
        let near = vec!["reviewer".to_owned()];
        for (files, query, scope, expected) in [
            (
                &[(RootSource::User, "my-x")][..],
                " My X! ",
                None,
                ChangeTarget::One(0),
            ),
            (&user, "x@user:agents", None, ChangeTarget::One(0)),
            (&copied, "x", None, ChangeTarget::One(0)),
            (
                &[(RootSource::Bundled, "x")],
                "x",
                None,
                ChangeTarget::ReadOnly(0),
            ),
            (
                &[(RootSource::Package, "x")],
                "x",
                Some(User),
                ChangeTarget::ReadOnly(0),
            ),
            (
                &[(RootSource::Extra, "x")],
                "x",
                None,
                ChangeTarget::ReadOnly(0),
            ),
            (
                &both,
                "x",
                None,
                ChangeTarget::BothScopes(paths(&["/project/x.md", "/user/x.md"])),
            ),
            (&both, "x", Some(User), ChangeTarget::One(1)),
            (&both, "x", Some(Project), ChangeTarget::One(0)),
            (
                &user,
                "x",
                Some(Project),
                ChangeTarget::OtherScope("/user/x.md".into()),
            ),
            (&twice, "x", None, ChangeTarget::Several(addresses.into())),
            (
                &[(RootSource::User, "reviewer")],
                "revewer",
                None,
                ChangeTarget::Unknown(near),
            ),
        ] {
            assert_eq!(
                agents(files).entries().target(query, scope),
                expected,
                "{files:?} {query}"
            );
        }
    }
}
