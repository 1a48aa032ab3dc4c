//! How a host writes the list of skills, and what it does when the list is too long.

use grove_spec::words;
use serde::Deserialize;

/// How a host writes its list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// The form of an entry.
    pub style: Style,
    /// A folder of the host's own skills that it names in the list, below the home folder.
    pub built_in_root: Option<String>,
    /// Skills that come with the program and share the budget with everyone else's.
    #[serde(default)]
    pub built_in: Vec<BuiltIn>,
}

/// The form of a host's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// `- name: description`, roots one after another, names in the order of a dictionary.
    Bullets,
    /// `- name: description (file: r0/name/SKILL.md)` below a table of roots, by name.
    AliasedFiles,
    /// Elements with name, description and the word for where the skill comes from.
    SourceElements,
    /// Elements with name, description and the absolute path, escaped.
    PathElements,
    /// The same, with the home folder as `~` and names in the order of a dictionary.
    HomeElements,
    /// Elements with name, description and the absolute path, as they are; the weakest and last first.
    ReversedElements,
    /// The same, with names in the order of a dictionary.
    SortedElements,
}

/// A skill that comes with the program. Its text is the program's; its size is what others pay.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltIn {
    /// Its name.
    pub name: String,
    /// The length of its description in the list, in what the host counts.
    pub description: usize,
    /// Characters of its description, by number, that have three bytes.
    #[serde(default)]
    pub wide: Vec<usize>,
    /// Whether its description stays whatever happens to others.
    #[serde(default)]
    pub stays: bool,
}

/// What a host spends on the list of skills.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// What is counted.
    #[serde(default)]
    pub measure: Measure,
    /// The whole list, if it has a limit that does not depend on the context window.
    pub chars: Option<usize>,
    /// Share of the context window, if that is how it counts.
    pub window_share: Option<f64>,
    /// The context window it assumes when it is told none, in tokens.
    pub window_tokens: Option<u64>,
    /// Characters of one description.
    pub entry_chars: Option<usize>,
    /// Skills in all.
    pub skills: Option<usize>,
    /// Characters of bare names after the entries that fit.
    pub name_chars: Option<usize>,
    /// What happens beyond it.
    pub overflow: Overflow,
    /// The same in words.
    pub about: String,
}

words! {
    /// What a host counts.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Measure {
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
    /// What a host does with a list that is too long.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Overflow {
        /// There is no limit.
        None = "none",
        /// Names stay; whole descriptions are kept one after another while they fit.
        NamesStay = "names-stay",
        /// Descriptions grow by a character each in turn; then names alone; then what still fits.
        EvenCut = "even-cut",
        /// Entries until one does not fit; then bare names until those do not fit.
        EntriesThenNames = "entries-then-names",
        /// Without descriptions; then as many as fit; then descriptions cut to one length in what is left.
        Compact = "compact",
    }
}

/// The characters that one token is worth to every host that counts by the window.
const TOKEN_CHARS: f64 = 4.0;

impl Budget {
    /// The limit in what the host counts, for a context window of so many tokens.
    ///
    /// Nothing where there is no limit.
    pub fn limit(&self, window_tokens: Option<u64>) -> Option<usize> {
        let window = window_tokens.or(self.window_tokens);
        match (self.window_share, window) {
            (Some(share), Some(window)) => {
                let per_token = match self.measure {
                    Measure::Tokens => 1.0,
                    Measure::Units | Measure::Columns => TOKEN_CHARS,
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
    // A share such as 0.02 is not exact in binary, and its product may fall just below the number meant.
    (number + 1e-6).floor() as usize
}
