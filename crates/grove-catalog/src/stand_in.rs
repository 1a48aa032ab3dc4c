//! What is said when whoever asks for a name gets another one than the first that bears it.
//!
//! What cannot be used shadows nothing, so something weaker answers in its place. Whoever asked is told: the two are
//! different texts by different people. What nobody misses is not spoken of ([`State::is_missed`]).
//!
//! [`State::is_missed`]: crate::State::is_missed

use grove_spec::{Code, Diagnostic};

use crate::entry::{Entries, Entry};

impl<E: Entry> Entries<'_, E> {
    /// What is said when one, by index, is used because somebody asked for its name.
    pub fn stand_in_findings(self, used: usize, asked: &str) -> Vec<Diagnostic> {
        let Some(entry) = self.all.get(used) else {
            return Vec::new();
        };
        if self.is_address(entry, asked) {
            return Vec::new();
        }
        // The strongest are first, so only what is before the one that is used was passed over.
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
