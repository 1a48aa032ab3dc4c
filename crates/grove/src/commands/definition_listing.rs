//! What `agents` and `chains` show alike: one file with a name, its state and where it is.

use grove_catalog::definitions::{Defined, Definition};
use grove_catalog::entry::Entries;
use grove_catalog::report;
use grove_catalog::root::{Root, Source};
use grove_skills::Environment;
use grove_spec::text::one_line;
use serde::Serialize;

use super::{counted, path_text, tilde};
use crate::command_error::CommandError;
use crate::json::{EntryJson, StateCounts};
use crate::output::{Output, columns};
use crate::table::Table;

/// Everything that was found of one kind.
pub(super) struct Everything<'a, P> {
    /// The word for one.
    pub(super) noun: &'static str,
    pub(super) roots: &'a [Root],
    pub(super) all: &'a [Defined<P>],
    /// What one is for.
    pub(super) describe: fn(&Defined<P>) -> Option<&str>,
}

impl<'a, P: Definition> Everything<'a, P> {
    /// The one of a name, usable or not.
    pub(super) fn find(&self, name: &str) -> Result<&'a Defined<P>, CommandError> {
        let near = match self.entries().find_first(name) {
            Ok(at) => match self.all.get(at) {
                Some(defined) => return Ok(defined),
                None => Vec::new(),
            },
            Err(near) => near,
        };
        let noun = self.noun;
        let message = format!("no {noun} is called `{name}`");
        let error = CommandError::finding(message);
        Err(if near.is_empty() {
            error.hint(format!("`grove {noun}s list` lists them all"))
        } else {
            error.hint(format!("did you mean `{}`?", near.join("`, `")))
        })
    }

    /// Prints all as a table.
    pub(super) fn table(&self, environment: &Environment, out: &mut Output) {
        if self.all.is_empty() {
            out.note(&format!("no {}s found", self.noun));
            return;
        }
        let mut sorted: Vec<&Defined<P>> = self.all.iter().collect();
        sorted.sort_by(|a, b| (&a.name, a.root, &a.path).cmp(&(&b.name, b.root, &b.path)));
        let mut table = Table::new(&["NAME", "STATE", "ROOT", "DESCRIPTION"]);
        for defined in &sorted {
            let why = defined.reasons.first();
            let why = why.map_or_else(String::new, |reason| format!("({}) ", reason.message));
            let about = format!("{why}{}", (self.describe)(defined).unwrap_or(""));
            table.row(&[
                &defined.name,
                defined.state.as_str(),
                self.label(defined),
                &about,
            ]);
        }
        out.text(&table.render(columns(&environment.variables)));
        let usable = sorted
            .iter()
            .filter(|defined| defined.state.is_offered())
            .count();
        out.note(&format!(
            "{} listed, {usable} usable",
            counted(sorted.len(), self.noun)
        ));
    }

    /// Prints what is known of one besides its fields.
    pub(super) fn rows(&self, environment: &Environment, one: &Defined<P>, out: &mut Output) {
        row("name", &one_line(&one.name), out);
        row("state", one.state.as_str(), out);
        for reason in &one.reasons {
            let why = format!("{}; {}", reason.message, reason.fix);
            row("", &one_line(&why), out);
        }
        if let Some(other) = one.stand_in.and_then(|at| self.all.get(at)) {
            row("instead", &path_text(&self.address(other)), out);
        }
        let description = (self.describe)(one).unwrap_or("(none)");
        row("description", &one_line(description), out);
        let location = self.entries().location(one);
        row("location", &tilde(&location, environment), out);
        for path in self.entries().further_locations(one) {
            row("also at", &tilde(&path, environment), out);
        }
        let rest = one
            .content
            .as_ref()
            .and_then(|content| content.rest.as_ref());
        if let Some(rest) = rest {
            row("text in", &tilde(&rest.path, environment), out);
        }
        row("root", &path_text(self.label(one)), out);
        if let Some(content) = &one.content {
            row("digest", &content.digest.to_string(), out);
        }
    }

    /// One as JSON.
    pub(super) fn json(&self, defined: &'a Defined<P>) -> EntryJson<'a> {
        EntryJson::new(self.entries(), defined)
    }

    /// How many there are, by source, strongest first.
    pub(super) fn counts(&self) -> Vec<CountJson> {
        let counts = report::count_sources(self.entries()).into_iter();
        let all = counts.map(|(source, states)| CountJson {
            source: source.as_str(),
            count: states.values().sum(),
            states,
        });
        all.collect()
    }

    pub(super) fn source(&self, defined: &Defined<P>) -> Source {
        let root = self.roots.get(defined.root);
        root.map_or(Source::Bundled, |root| root.source)
    }

    fn entries(&self) -> Entries<'a, Defined<P>> {
        Entries {
            roots: self.roots,
            all: self.all,
        }
    }

    fn address(&self, defined: &Defined<P>) -> String {
        self.entries().address(defined)
    }

    fn label(&self, defined: &Defined<P>) -> &'a str {
        let root = self.roots.get(defined.root);
        root.map_or("", |root| root.label.as_str())
    }
}

/// A line with a name and a value.
pub(super) fn row(name: &str, value: &str, out: &mut Output) {
    out.line(&format!("{name:<12} {value}"));
}

/// How many there are of one source.
#[derive(Serialize)]
pub(super) struct CountJson {
    pub(super) source: &'static str,
    pub(super) count: usize,
    pub(super) states: StateCounts,
}
