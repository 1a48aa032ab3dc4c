//! Findings for a caller that asks for a name and gets another entry than the first that has it.
//!
//! An unusable entry shadows nothing, so something weaker answers in its place. The caller gets a finding: the two are
//! different texts by different people. There is none for entries that are not missed ([`State::is_missed`]).
//!
//! [`State::is_missed`]: crate::State::is_missed

use grove_spec::{Code, Diagnostic};

use crate::entry::{Entries, Entry};

impl<E: Entry> Entries<'_, E> {
    /// Returns the findings for an entry, by index, that is used because the caller asked for its name.
    pub fn stand_in_findings(self, used: usize, asked: &str) -> Vec<Diagnostic> {
        let Some(entry) = self.all.get(used) else {
            return Vec::new();
        };
        if self.is_address(entry, asked) {
            return Vec::new();
        }
        // The strongest are first, so only entries before the used one were passed over.
        let before = self.all.iter().take(used);
        let passed =
            before.filter(|other| other.state().is_missed() && other.stand_in() == Some(used));
        passed.map(|other| self.stands_in(entry, other)).collect()
    }

    fn stands_in(self, used: &E, passed: &E) -> Diagnostic {
        let why = passed.reasons().first();
        let because = why.map_or_else(String::new, |why| format!(" ({})", why.message));
        let message = format!(
            "`{}` is {}{because}; `{}` stands in",
            self.address(passed),
            passed.state().as_str(),
            self.address(used)
        );
        let finding = Diagnostic::new(Code::StandIn, message).in_file(&self.location(passed));
        match why {
            Some(why) => finding.with_help(why.fix.clone()),
            None => finding,
        }
    }
}
