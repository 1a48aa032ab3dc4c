//! The list of skills that a host writes, and its treatment of a list that is too long.

use grove_spec::words;
use serde::Deserialize;

/// The form and the own skills of a host's list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRules {
    /// The form of an entry.
    pub style: ListStyle,
    /// A folder of the host's own skills that it names in the list, below the home folder.
    pub built_in_root: Option<String>,
    /// Skills that come with the program and share the budget with all others.
    #[serde(default)]
    pub built_in: Vec<BuiltInSkill>,
}

/// The form of a host's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListStyle {
    /// `- name: description`, roots one after another, names in the order of a dictionary.
    Bullets,
    /// `- name: description (file: r0/name/SKILL.md)` below a table of roots, by name.
    AliasedFiles,
    /// Elements with name, description and the word for the source of the skill.
    SourceElements,
    /// Elements with name, description and the absolute path, escaped.
    PathElements,
    /// The elements of `PathElements`, with the home folder as `~` and names in the order of a dictionary.
    HomeElements,
    /// Elements with name, description and the absolute path, as they are; the weakest and last first.
    ReversedElements,
    /// The elements of `ReversedElements`, with names in the order of a dictionary.
    SortedElements,
}

/// A skill that comes with the program. Its text belongs to the program; its size reduces the budget of all others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltInSkill {
    /// The name of the skill.
    pub name: String,
    /// The length of its description in the list, in the units that the host counts.
    pub description: usize,
    /// The indexes of the characters of its description that have three bytes.
    #[serde(default)]
    pub wide: Vec<usize>,
    /// Set if its description always stays.
    #[serde(default)]
    pub stays: bool,
}

/// The limits of a host on the list of skills.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListBudget {
    /// The unit that is counted.
    #[serde(default)]
    pub measure: ListMeasure,
    /// The size of the whole list, if its limit does not depend on the context window.
    pub chars: Option<usize>,
    /// The share of the context window, if the limit depends on it.
    pub window_share: Option<f64>,
    /// The context window in tokens that it assumes if none is given.
    pub window_tokens: Option<u64>,
    /// The most characters of one description.
    pub entry_chars: Option<usize>,
    /// The most skills in all.
    pub skills: Option<usize>,
    /// The most characters of bare names after the entries that fit.
    pub name_chars: Option<usize>,
    /// The treatment of a list beyond the limit.
    pub overflow: ListOverflow,
    /// The treatment in words, for people.
    pub about: String,
}

words! {
    /// The unit that a host counts.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ListMeasure {
        /// UTF-16 units, as JavaScript counts.
        #[default]
        Units = "characters",
        /// Columns on a terminal.
        Columns = "columns",
        /// Tokens: four bytes each, every line rounded up.
        Tokens = "tokens",
    }
}

words! {
    /// The treatment of a list that is too long.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ListOverflow {
        /// There is no limit.
        None = "none",
        /// Names stay; whole descriptions are kept one after another while they fit.
        NamesStay = "names-stay",
        /// Descriptions grow by a character each in turn; then names alone; then what still fits.
        EvenCut = "even-cut",
        /// Entries are written until one does not fit; then bare names until those do not fit.
        EntriesThenNames = "entries-then-names",
        /// Without descriptions; then as many as fit; then descriptions cut to one length in the room left.
        Compact = "compact",
    }
}

/// The characters of one token, for every host that counts by the window.
const TOKEN_CHARS: f64 = 4.0;

impl ListBudget {
    /// Returns the limit in the units that the host counts, for a context window of this many tokens.
    ///
    /// There is none if the host has no limit.
    pub fn limit(&self, window_tokens: Option<u64>) -> Option<usize> {
        let window = window_tokens.or(self.window_tokens);
        match (self.window_share, window) {
            (Some(share), Some(window)) => {
                let per_token = match self.measure {
                    ListMeasure::Tokens => 1.0,
                    ListMeasure::Units | ListMeasure::Columns => TOKEN_CHARS,
                };
                Some(floor(as_f64(window) * per_token * share).max(1))
            }
            _ => self.chars,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no context window has more tokens than a float counts"
)]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a window is small and not negative"
)]
fn floor(number: f64) -> usize {
    // A share such as 0.02 is not exact in binary, and its product may fall just below the intended number.
    (number + 1e-6).floor() as usize
}
