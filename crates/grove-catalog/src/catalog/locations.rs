//! Where entries lie, as a model is told: home as `~`, and long beginnings as aliases when that saves.

use std::path::Path;

use grove_spec::text::{escape_xml, has_controls, without_controls};

use crate::identity;
use crate::snapshot::{Location, Snapshot};

use super::budget::Unit;
use super::style::{Style, is_ascii_line};

/// A path as a beginning that many share, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the beginning.
    pub(crate) prefix: usize,
    /// What follows it.
    pub(crate) rest: String,
}

/// The beginnings: one for every root, and the last for index files.
#[derive(Debug)]
pub(crate) struct Prefixes {
    shown: Vec<String>,
    /// The same as they stand in an index.
    escaped: Vec<String>,
    aliased: Vec<bool>,
}

impl Prefixes {
    pub(crate) fn of(snapshot: &Snapshot, home: Option<&Path>, index_dir: &Path) -> Self {
        let roots = snapshot.roots.iter().map(|root| root.path.as_path());
        let shown: Vec<String> = roots
            .chain([index_dir])
            .map(|path| shown(path, home))
            .collect();
        Self {
            aliased: vec![false; shown.len()],
            escaped: shown.iter().map(|path| escape_xml(path).into()).collect(),
            shown,
        }
    }

    /// The beginning of index files.
    pub(crate) fn of_index(&self) -> usize {
        self.shown.len() - 1
    }

    /// The whole location as anybody reads it, without aliases.
    pub(crate) fn plain(&self, place: &Place) -> String {
        let begin = self.shown.get(place.prefix).map_or("", String::as_str);
        [begin, "/", &place.rest].concat()
    }

    /// Where an index file is.
    pub(crate) fn in_index(&self, file: &str) -> Place {
        Place {
            prefix: self.of_index(),
            rest: file.to_owned(),
        }
    }

    /// What a beginning costs in an entry, the separator included.
    pub(crate) fn cost(&self, prefix: usize, style: Style, unit: Unit) -> usize {
        style.cost(&self.begin(prefix), unit) + 1
    }

    /// The whole location as it is shown.
    pub(crate) fn location(&self, place: &Place) -> String {
        format!("{}/{}", self.begin(place.prefix), place.rest)
    }

    /// The beginning of a location in an index file, which is read on its own: without aliases, and
    /// escaped.
    pub(crate) fn escaped(&self, prefix: usize) -> &str {
        self.escaped.get(prefix).map_or("", String::as_str)
    }

    /// How many beginnings there are.
    pub(crate) fn len(&self) -> usize {
        self.shown.len()
    }

    /// Gives every beginning that is used often enough an alias; `uses` counts entries by beginning.
    pub(crate) fn alias_where_it_saves(&mut self, uses: &[usize], style: Style, unit: Unit) {
        self.aliased = (0..self.shown.len())
            .map(|prefix| self.gain(prefix, uses, style, unit) > 0)
            .collect();
        self.drop_lonely(uses, style, unit);
    }

    /// Takes back aliases that turned out to cost more than they save.
    pub(crate) fn drop_aliases_that_cost(&mut self, uses: &[usize], style: Style, unit: Unit) {
        for prefix in 0..self.shown.len() {
            let costs = self.gain(prefix, uses, style, unit) == 0;
            if let Some(aliased) = self.aliased.get_mut(prefix).filter(|_| costs) {
                *aliased = false;
            }
        }
        self.drop_lonely(uses, style, unit);
    }

    /// The words before the first alias must be saved too.
    fn drop_lonely(&mut self, uses: &[usize], style: Style, unit: Unit) {
        let aliased =
            (0..self.shown.len()).filter(|prefix| self.aliased.get(*prefix) == Some(&true));
        let gain: usize = aliased
            .map(|prefix| self.gain(prefix, uses, style, unit))
            .sum();
        if gain <= style.cost(LEAD, unit) {
            self.aliased.fill(false);
        }
    }

    /// What an alias saves, its declaration paid.
    fn gain(&self, prefix: usize, uses: &[usize], style: Style, unit: Unit) -> usize {
        let (Some(shown), Some(uses)) = (self.shown.get(prefix), uses.get(prefix)) else {
            return 0;
        };
        if !can_be_declared(shown) {
            return 0;
        }
        let alias = alias(prefix);
        let saved = style
            .cost(shown, unit)
            .saturating_sub(style.cost(&alias, unit));
        (saved * uses).saturating_sub(style.cost(&declared(&alias, shown), unit))
    }

    /// The sentence that says what the aliases stand for; nothing without aliases.
    pub(crate) fn legend(&self) -> String {
        let declared: Vec<String> = (0..self.shown.len())
            .filter(|prefix| self.aliased.get(*prefix) == Some(&true))
            .map(|prefix| {
                declared(
                    &alias(prefix),
                    self.shown.get(prefix).map_or("", String::as_str),
                )
            })
            .collect();
        if declared.is_empty() {
            String::new()
        } else {
            format!("{LEAD}{}", declared.concat())
        }
    }

    fn begin(&self, prefix: usize) -> std::borrow::Cow<'_, str> {
        if self.aliased.get(prefix) == Some(&true) {
            alias(prefix).into()
        } else {
            self.shown.get(prefix).map_or("", String::as_str).into()
        }
    }
}

const LEAD: &str = "\nLocations:";

fn declared(alias: &str, shown: &str) -> String {
    format!(" {alias} = {shown};")
}

/// Whether a path can be told from what follows it in a list of declarations.
fn can_be_declared(shown: &str) -> bool {
    !shown.contains([';', '=', '&', '<', '>', '"', '\''])
}

fn alias(prefix: usize) -> String {
    format!("r{}", prefix + 1)
}

/// Where a skill's file is.
pub(crate) fn of_skill(place: &Location) -> Place {
    let rest = identity::file_below_root(place.layout, &place.id);
    let rest = if is_ascii_line(&rest) {
        rest
    } else {
        without_controls(&rest).replace(['\n', '\t'], "")
    };
    Place {
        prefix: place.root,
        rest,
    }
}

/// A path as a model reads it.
pub fn shown(path: &Path, home: Option<&Path>) -> String {
    let text = match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.to_string_lossy()),
        None => path.to_string_lossy().into_owned(),
    };
    // An entry is one line; a path with a line end in it cannot be told to anybody.
    without_controls(&text).replace(['\n', '\t'], "")
}

/// Whether a path can be told to a reader so that it is found again.
pub fn can_be_told(path: &Path) -> bool {
    let text = path.to_str();
    text.is_some_and(|text| !has_controls(text) && !text.contains(['\n', '\t']))
}
