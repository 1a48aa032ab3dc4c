//! The locations of entries as a model reads them: home as `~`, and long beginnings as aliases if that is shorter.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use grove_spec::text::{escape_xml, has_controls, without_controls};

use crate::identity;
use crate::snapshot::{SkillLocation, Snapshot};

use super::budget::BudgetUnit;
use super::style::{CatalogStyle, is_ascii_line};

/// A short beginning of locations, as a catalog's text has it, and the folder that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationAlias {
    /// The beginning up to the first `/`.
    pub name: String,
    /// The folder that the alias stands for.
    pub folder: PathBuf,
}

/// The beginnings that locations share: one for every root, and the last for index files.
#[derive(Debug)]
pub(crate) struct LocationPrefixes {
    shown: Vec<String>,
    paths: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// `shown`, escaped for an index.
    escaped: Vec<String>,
    /// The cost of each in an entry, the separator included.
    costs: Vec<PrefixCost>,
    /// The cost of the words before the first alias.
    lead: usize,
}

#[derive(Debug, Default)]
struct PrefixCost {
    whole: usize,
    alias: usize,
    /// The cost of the alias's declaration; none if its folder cannot be declared.
    declared: Option<usize>,
}

impl PrefixCost {
    /// Returns the saving of an alias that this many entries use.
    fn gain(&self, uses: usize) -> usize {
        let saved = self.whole.saturating_sub(self.alias) * uses;
        self.declared.map_or(0, |cost| saved.saturating_sub(cost))
    }
}

/// The choice between alias and whole path for each beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AliasChoice(Vec<bool>);

impl AliasChoice {
    fn has(&self, prefix: usize) -> bool {
        self.0.get(prefix) == Some(&true)
    }
}

impl LocationPrefixes {
    pub(crate) fn of(
        snapshot: &Snapshot,
        home: Option<&Path>,
        index_dir: &Path,
        style: CatalogStyle,
        unit: BudgetUnit,
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

    pub(crate) fn of_index(&self) -> usize {
        self.shown.len() - 1
    }

    /// Chooses the aliases that save more than their declaration costs; `uses` counts entries by beginning.
    pub(crate) fn aliases(&self, uses: &[usize]) -> AliasChoice {
        let gains = self.costs.iter().zip(uses);
        let gains: Vec<usize> = gains.map(|(cost, uses)| cost.gain(*uses)).collect();
        let pays = gains.iter().sum::<usize>() > self.lead;
        AliasChoice(gains.iter().map(|gain| pays && *gain > 0).collect())
    }

    pub(crate) fn in_full(&self) -> AliasChoice {
        AliasChoice(vec![false; self.shown.len()])
    }

    /// Returns the folders behind the short beginnings in a text: home, and the aliases that it declares.
    pub(crate) fn stand_for(&self, aliases: &AliasChoice) -> Vec<LocationAlias> {
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

    pub(crate) fn cost(&self, uses: &[usize], aliases: &AliasChoice) -> usize {
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

    pub(crate) fn cost_in_entry(&self, prefix: usize, aliases: &AliasChoice) -> usize {
        let cost = &self.costs[prefix];
        if aliases.has(prefix) {
            cost.alias
        } else {
            cost.whole
        }
    }

    pub(crate) fn location(&self, prefix: usize, rest: &str, aliases: &AliasChoice) -> String {
        if aliases.has(prefix) {
            format!("{}/{rest}", alias(prefix))
        } else {
            [&self.shown[prefix], "/", rest].concat()
        }
    }

    /// Returns the beginning of a location for an index file, which is read on its own: without aliases, and escaped.
    pub(crate) fn escaped(&self, prefix: usize) -> &str {
        &self.escaped[prefix]
    }

    /// Returns the sentence that declares the aliases; empty without aliases.
    pub(crate) fn legend(&self, aliases: &AliasChoice) -> String {
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

const HOME: &str = "~";

fn declared(alias: &str, shown: &str) -> String {
    format!(" {alias} = {shown};")
}

/// Returns true if a path can be told from what follows it in a list of declarations.
fn can_be_declared(shown: &str) -> bool {
    !shown.contains([';', '=', '&', '<', '>', '"', '\''])
}

fn alias(prefix: usize) -> String {
    format!("r{}", prefix + 1)
}

/// The rest of a location after its beginning, in two parts: most of it is in the snapshot already.
#[derive(Debug, Default)]
pub(crate) struct LocationRest<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) file: &'static str,
}

impl<'a> LocationRest<'a> {
    /// Returns the path of a skill's file below its root.
    pub(crate) fn of(place: &'a SkillLocation) -> Self {
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

/// Returns a path as a model reads it.
pub fn shown(path: &Path, home: Option<&Path>) -> String {
    let text = match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => HOME.to_owned(),
        Some(below) => format!("{HOME}/{}", below.to_string_lossy()),
        None => path.to_string_lossy().into_owned(),
    };
    // An entry is one line, so line ends are removed although the path then leads nowhere (see `can_be_told`).
    without_controls(&text).replace(['\n', '\t'], "")
}

/// Returns true if a reader can find a path again from the text that is shown for it.
pub fn is_readable_back(path: &Path) -> bool {
    let text = path.to_str();
    text.is_some_and(|text| !has_controls(text) && !text.contains(['\n', '\t']))
}
