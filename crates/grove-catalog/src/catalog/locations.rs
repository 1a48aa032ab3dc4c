//! Where entries lie, as a model is told: home as `~`, and long beginnings as aliases when that saves.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use grove_spec::text::{escape_xml, has_controls, without_controls};

use crate::identity;
use crate::snapshot::{Location, Snapshot};

use super::budget::Unit;
use super::style::{Style, is_ascii_line};

/// A short beginning of locations, as a catalog's text has it, and the folder that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationAlias {
    /// The beginning up to the first `/`.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

/// The beginnings that locations share: one for every root, and the last for index files.
#[derive(Debug)]
pub(crate) struct Prefixes {
    shown: Vec<String>,
    paths: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// The same as they stand in an index.
    escaped: Vec<String>,
    /// What each costs in an entry, the separator included.
    costs: Vec<PrefixCost>,
    /// What the words before the first alias cost.
    lead: usize,
}

#[derive(Debug, Default)]
struct PrefixCost {
    whole: usize,
    alias: usize,
    /// What it costs to say what the alias stands for; none where that cannot be said.
    declared: Option<usize>,
}

impl PrefixCost {
    /// What an alias saves when so many entries use it.
    fn gain(&self, uses: usize) -> usize {
        let saved = self.whole.saturating_sub(self.alias) * uses;
        self.declared.map_or(0, |cost| saved.saturating_sub(cost))
    }
}

/// How locations begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aliases(Vec<bool>);

impl Aliases {
    fn has(&self, prefix: usize) -> bool {
        self.0.get(prefix) == Some(&true)
    }
}

impl Prefixes {
    pub(crate) fn of(
        snapshot: &Snapshot,
        home: Option<&Path>,
        index_dir: &Path,
        style: Style,
        unit: Unit,
    ) -> Self {
        let roots = snapshot.roots.iter().map(|root| root.path.as_path());
        let paths = roots.chain([index_dir]).map(Path::to_path_buf);
        let paths: Vec<PathBuf> = paths.collect();
        let shown: Vec<String> = paths.iter().map(|path| shown(path, home)).collect();
        let cost = |(prefix, shown): (usize, &String)| {
            if !style.has_locations() {
                return PrefixCost::default();
            }
            let declared = declared(&alias(prefix), shown);
            PrefixCost {
                whole: style.cost(shown, unit) + 1,
                alias: style.cost(&alias(prefix), unit) + 1,
                declared: can_be_declared(shown).then(|| style.cost(&declared, unit)),
            }
        };
        Self {
            costs: shown.iter().enumerate().map(cost).collect(),
            escaped: shown.iter().map(|path| escape_xml(path).into()).collect(),
            shown,
            paths,
            home: home.map(Path::to_path_buf),
            lead: style.cost(LEAD, unit),
        }
    }

    /// The beginning of index files.
    pub(crate) fn of_index(&self) -> usize {
        self.shown.len() - 1
    }

    /// Aliases where they save more than it takes to say what they stand for; `uses` counts entries by beginning.
    pub(crate) fn aliases(&self, uses: &[usize]) -> Aliases {
        let gains = self.costs.iter().zip(uses);
        let gains: Vec<usize> = gains.map(|(cost, uses)| cost.gain(*uses)).collect();
        let pays = gains.iter().sum::<usize>() > self.lead;
        Aliases(gains.iter().map(|gain| pays && *gain > 0).collect())
    }

    /// No aliases.
    pub(crate) fn in_full(&self) -> Aliases {
        Aliases(vec![false; self.shown.len()])
    }

    /// What the short beginnings in a text stand for: home, and the aliases that it declares.
    pub(crate) fn stand_for(&self, aliases: &Aliases) -> Vec<LocationAlias> {
        let home = self.home.iter().map(|home| LocationAlias {
            name: HOME.to_owned(),
            folder: home.clone(),
        });
        let declared = self.paths.iter().enumerate();
        let declared = declared.filter(|(prefix, _)| aliases.has(*prefix));
        let declared = declared.map(|(prefix, path)| LocationAlias {
            name: alias(prefix),
            folder: path.clone(),
        });
        home.chain(declared).collect()
    }

    /// What all beginnings and the declarations of aliases cost.
    pub(crate) fn cost(&self, uses: &[usize], aliases: &Aliases) -> usize {
        let whole = self
            .costs
            .iter()
            .zip(uses)
            .map(|(cost, uses)| cost.whole * uses);
        let gains = self.costs.iter().zip(uses).enumerate();
        let gains = gains.filter(|(prefix, _)| aliases.has(*prefix));
        let gains: usize = gains.map(|(_, (cost, uses))| cost.gain(*uses)).sum();
        let lead = if gains > 0 { self.lead } else { 0 };
        whole.sum::<usize>() + lead - gains
    }

    /// What a beginning costs in one entry.
    pub(crate) fn cost_in_entry(&self, prefix: usize, aliases: &Aliases) -> usize {
        let cost = &self.costs[prefix];
        if aliases.has(prefix) {
            cost.alias
        } else {
            cost.whole
        }
    }

    /// A whole location as it is shown.
    pub(crate) fn location(&self, prefix: usize, rest: &str, aliases: &Aliases) -> String {
        if aliases.has(prefix) {
            format!("{}/{rest}", alias(prefix))
        } else {
            [&self.shown[prefix], "/", rest].concat()
        }
    }

    /// The beginning of a location in an index file, which is read on its own: without aliases, and
    /// escaped.
    pub(crate) fn escaped(&self, prefix: usize) -> &str {
        &self.escaped[prefix]
    }

    /// The sentence that says what the aliases stand for; nothing without aliases.
    pub(crate) fn legend(&self, aliases: &Aliases) -> String {
        let shown = self.shown.iter().enumerate();
        let used = shown.filter(|(prefix, _)| aliases.has(*prefix));
        let declared: String = used
            .map(|(prefix, shown)| declared(&alias(prefix), shown))
            .collect();
        if declared.is_empty() {
            declared
        } else {
            format!("{LEAD}{declared}")
        }
    }
}

const LEAD: &str = "\nLocations:";

/// The beginning of locations in the home folder.
const HOME: &str = "~";

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

/// How a location goes on after its beginning, in two parts: most of it is in the snapshot already.
#[derive(Debug, Default)]
pub(crate) struct Rest<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) file: &'static str,
}

impl<'a> Rest<'a> {
    /// Where a skill's file is below its root.
    pub(crate) fn of(place: &'a Location) -> Self {
        let (id, file) = identity::parts_below_root(place.layout, &place.id);
        let id = if is_ascii_line(id) {
            id.into()
        } else {
            without_controls(id).replace(['\n', '\t'], "").into()
        };
        Self { id, file }
    }

    pub(crate) fn whole(&self) -> String {
        [&*self.id, self.file].concat()
    }
}

/// A path as a model reads it.
pub fn shown(path: &Path, home: Option<&Path>) -> String {
    let text = match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => HOME.to_owned(),
        Some(below) => format!("{HOME}/{}", below.to_string_lossy()),
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
