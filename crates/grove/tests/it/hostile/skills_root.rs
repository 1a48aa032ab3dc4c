//! A folder of skills seen twice: as a trusted project and as a root of the user.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use grove_testkit::catalog_reader;

use super::corpus::{Case, Finding, names_in};
use super::listing::{Diagnostic, Listing};
use super::session::Session;

/// Where the skills of a case are, below the case.
const SKILLS: &str = "root/.agents/skills";
/// What the corpus calls a skill that is only there to be found beside a bad one.
const INNOCENT: &str = "good";
/// The innocent neighbour that every case is given here.
pub(crate) const NEIGHBOUR: &str = "zz-neighbour";
pub(crate) const NEIGHBOUR_DESCRIPTION: &str = "Stands beside a hostile skill and is used";
/// The findings that are made today; others of the corpus are about what a text means.
const FINDINGS: [&str; 7] = [
    "hidden-unicode",
    "bidi-control",
    "structure-breakout",
    "role-marker",
    "overbroad-trigger",
    "dynamic-command",
    "exfil-url",
];
/// The largest file that is kept whole.
const MAX_BYTES: u64 = 256_000;

/// Whose eyes see the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// A project that was trusted as it is.
    Project,
    /// A root of the user, in which links lead anywhere.
    User,
}

/// Runs a case in both views, in a clone at this place.
pub(crate) fn complaints(case: &Case, clone: &Path) -> Vec<String> {
    case.clone_to(clone);
    let entries = names_in(&clone.join(SKILLS));
    let in_views = [View::Project, View::User].map(|view| {
        let found = in_view(case, clone, &entries, view).into_iter();
        found.map(move |text| format!("{view:?}: {text}"))
    });
    in_views.into_iter().flatten().collect()
}

fn in_view(case: &Case, clone: &Path, entries: &[OsString], view: View) -> Vec<String> {
    let mut session = Session::new();
    session.forbid(&case.expected.must_not_contain);
    let skills = clone.join(SKILLS);
    let neighbour = skills.join(NEIGHBOUR);
    session
        .home
        .skill(neighbour, NEIGHBOUR, NEIGHBOUR_DESCRIPTION);
    match view {
        View::Project => {
            session.work_in(&clone.join("root"));
            let before = session.list();
            session.require(before.ok_ids().is_empty(), || {
                format!("usable before it is trusted: {:?}", before.ok_ids())
            });
            session.trust(&[]);
        }
        View::User => session.look_in(&skills),
    }
    if let Some(max_ms) = case.expected.max_ms {
        session.require_time(max_ms);
    }

    let listing = session.list();
    let subject = Subject {
        case,
        view,
        entries: entries.iter().map(|name| skills.join(name)).collect(),
        skills,
        listing: &listing,
    };
    subject.judge(&mut session);
    let names = entries
        .iter()
        .map(|name| name.to_string_lossy().into_owned());
    let names: Vec<String> = names.chain(case.expected.count.keys().cloned()).collect();
    session.show_everything(&listing, &names);
    require_catalog(case, &listing, &mut session);
    // What is known from the cache is what was read.
    let again = session.list();
    let is_same = listing.summary() == again.summary();
    subject.require(
        is_same,
        || format!("then {}", again.summary()),
        &mut session,
    );
    session.require_absent(clone, &case.expected.must_not_exist);
    session.complaints()
}

/// What a model is told is one well-formed list in which nobody starves: every usable skill is reached by
/// reading alone, at the default budget and at the smallest.
fn require_catalog(case: &Case, listing: &Listing, session: &mut Session) {
    for budget in ["30000", "2000"] {
        let finished = session.look(&["catalog", "--budget", budget], &[0]);
        let text = finished.stdout_text();
        if let Some(mark) = &case.expected.catalog_must_match_once {
            let count = text.matches(mark).count();
            session.require(count == 1, || {
                format!("{mark} is {count} times in the catalog")
            });
        }
        let home = session.home.path("home").display().to_string();
        let absolute = |location: &str| location.replacen('~', &home, 1);
        let index = session.home.path("cache/grove/index");
        let read_index = |location: &str| {
            let file = absolute(location);
            Path::new(&file)
                .starts_with(&index)
                .then(|| fs::read_to_string(&file).ok())?
        };
        let reached: BTreeSet<String> = match catalog_reader::reach(&text, read_index) {
            Ok(reached) => reached.iter().map(|location| absolute(location)).collect(),
            Err(fault) => {
                session.require(false, || format!("the catalog is not well formed: {fault}"));
                continue;
            }
        };
        let told = listing
            .found()
            .filter(|skill| skill.is_ok() && skill.model_invocable);
        let missing: Vec<&str> = told
            .map(|skill| skill.location.as_str())
            .filter(|location| !reached.contains(&location.replace('\n', "")))
            .collect();
        session.require(missing.is_empty(), || {
            format!("out of reach at {budget}: {missing:?}")
        });
        if budget == "30000" && listing.found().count() < 100 {
            let entries = catalog_reader::read_catalog(&text).unwrap_or_default();
            for (name, expected) in &case.expected.count {
                let count = entries.iter().filter(|entry| entry.name == *name).count();
                session.require(count == *expected, || {
                    format!("{name} is {count} times in the catalog, not {expected}")
                });
            }
        }
    }
}

/// Requires that the neighbour is there as if nothing were beside it.
pub(crate) fn require_neighbour(listing: &Listing, id: &str, session: &mut Session) {
    let fine = listing.found().any(|skill| {
        skill.id == id
            && skill.is_ok()
            && skill.description.as_deref() == Some(NEIGHBOUR_DESCRIPTION)
            && skill.diagnostics.is_empty()
    });
    session.require(fine, || {
        format!("the neighbour {id} is not fine: {}", listing.summary())
    });
}

/// What a case says should become of its skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Load,
    LoadAndWarn,
    Refuse,
}

struct Subject<'a> {
    case: &'a Case,
    view: View,
    skills: PathBuf,
    /// What was in the folder before the neighbour came.
    entries: Vec<PathBuf>,
    listing: &'a Listing,
}

impl Subject<'_> {
    fn judge(&self, session: &mut Session) {
        require_neighbour(self.listing, NEIGHBOUR, session);
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| entry.ends_with(INNOCENT)) {
            self.require_loaded(entry, session);
        }
        match self.verdict() {
            Some(Verdict::Refuse) => self.require_refused(session),
            Some(Verdict::Load) => self.require_all_loaded(session),
            Some(Verdict::LoadAndWarn) => {
                self.require_all_loaded(session);
                self.require_warning(session);
            }
            None => self.require(false, || "unknown verdict".to_owned(), session),
        }
        for (name, count) in &self.case.expected.count {
            let found = self.listing.count_ok(name);
            let what = || format!("{found} usable skills called {name}, not {count}");
            self.require(found == *count, what, session);
        }
        self.require_findings(session);
        self.require_named_codes(session);
    }

    fn verdict(&self) -> Option<Verdict> {
        match self.case.expected.verdict.as_str() {
            "load" => Some(Verdict::Load),
            // A warning that only a finding of another issue would give is not asked for yet.
            "load+warn" if self.has_later_finding() => Some(Verdict::Load),
            "load+warn" => Some(Verdict::LoadAndWarn),
            "skip+diagnose" => Some(Verdict::Refuse),
            _ => None,
        }
    }

    fn has_later_finding(&self) -> bool {
        matches!(&self.case.expected.finding, Finding::Code(code) if !FINDINGS.contains(&code.as_str()))
    }

    /// The folders of the case that are not innocent.
    fn offenders(&self) -> impl Iterator<Item = &Path> {
        let all = self.entries.iter().map(PathBuf::as_path);
        all.filter(|entry| !entry.ends_with(INNOCENT))
    }

    fn require_all_loaded(&self, session: &mut Session) {
        let skills = |entry: &&Path| fs::symlink_metadata(entry.join("SKILL.md")).is_ok();
        for entry in self.offenders().filter(skills) {
            self.require_loaded(entry, session);
        }
    }

    /// The skill of an entry is usable, and nothing about it is an error.
    fn require_loaded(&self, entry: &Path, session: &mut Session) {
        let file = entry.join("SKILL.md");
        let mut found = self.listing.found();
        let ok = found.any(|skill| Path::new(&skill.location) == file && skill.is_ok());
        let errors = self.about(entry).any(Diagnostic::is_error);
        let what = || format!("{} did not load", entry.display());
        self.require(ok && !errors, what, session);
    }

    /// A warning about something of the case, or about a limit that the whole root met. Which one
    /// may differ: a hard link is reported in projects alone, and a13 has a name to report in both.
    fn require_warning(&self, session: &mut Session) {
        let of_limits = self.listing.diagnostics.iter().filter(|found| {
            found.file.as_deref().map(Path::new) == Some(&self.skills)
                && found.code.ends_with("-limit")
        });
        let of_entries = self.offenders().flat_map(|entry| self.about(entry));
        let warned = of_limits.chain(of_entries).any(Diagnostic::needs_attention);
        self.require(warned, || "no warning".to_owned(), session);
    }

    /// Nothing usable comes from an offender, and a diagnostic says which one it is.
    fn require_refused(&self, session: &mut Session) {
        for entry in self.offenders() {
            if self.view == View::User && entry.is_symlink() {
                // In the user's own roots links are followed wherever they lead: a01 loads there.
                self.require_loaded(entry, session);
                continue;
            }
            let mut usable = self.listing.found().filter(|skill| skill.is_ok());
            let used = usable.any(|skill| Path::new(&skill.location).starts_with(entry));
            let named = self.about(entry).any(Diagnostic::needs_attention);
            let what = || format!("{} was used or not named", entry.display());
            self.require(!used && named, what, session);
        }
    }

    fn require_findings(&self, session: &mut Session) {
        match &self.case.expected.finding {
            Finding::Code(code) if FINDINGS.contains(&code.as_str()) => {
                let named = self.listing.has_code(code);
                self.require(named, || format!("no {code}"), session);
            }
            Finding::Nothing => {
                let any = FINDINGS.iter().any(|code| self.listing.has_code(code));
                self.require(!any, || "a false finding".to_owned(), session);
            }
            Finding::Code(_) | Finding::Unsaid => {}
        }
    }

    /// The line for people puts codes in backticks; those that the program knows must be there.
    fn require_named_codes(&self, session: &mut Session) {
        let mut codes = self.case.expected.codes();
        if self.view == View::User {
            codes.retain(|code| *code != "path-escape");
        }
        if self.entries.iter().any(|entry| is_large(entry)) {
            // Why it is large decides: a description is cut, anything else is refused.
            codes.push(match self.verdict() {
                Some(Verdict::LoadAndWarn) => "description-too-long",
                _ => "file-too-large",
            });
        }
        for code in codes {
            let mut said = self.offenders().flat_map(|entry| self.about(entry));
            let named = said.any(|found| found.code == code);
            self.require(named, || format!("no {code}"), session);
        }
    }

    fn require(&self, holds: bool, what: impl Fn() -> String, session: &mut Session) {
        session.require(holds, || format!("{}: {}", what(), self.listing.summary()));
    }

    fn about<'a>(&'a self, entry: &'a Path) -> impl Iterator<Item = &'a Diagnostic> {
        self.listing
            .all_diagnostics()
            .filter(|found| found.is_about(entry))
    }
}

fn is_large(entry: &Path) -> bool {
    let file = fs::metadata(entry.join("SKILL.md"));
    file.is_ok_and(|file| file.is_file() && file.len() > MAX_BYTES)
}
