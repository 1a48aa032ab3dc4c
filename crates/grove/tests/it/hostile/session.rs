//! A home in which the program is run, with what holds for every run: it ends well, its output has
//! no control characters and none of the forbidden texts.
//!
//! A run that does not is noted, not panicked about, so that one bad case does not hide the others.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use grove_testkit::process::{Ending, Finished};
use grove_testkit::session::Session as Home;

use serde_json::Value;

use super::listing::Listing;

/// In the environment of every run, for files that lead there.
const SECRET: &str = "ENVIRONMENT-MARKER";

/// Exit codes of commands that have findings or do not know a name.
const FINE_OR_FINDINGS: [i32; 2] = [0, 1];
const FINE: [i32; 1] = [0];

/// Beyond these the rest of a list is more of the same.
const SHOWN_SKILLS: usize = 5;

/// The time limits are for a release build. Without optimisation our own code is slower; the kernel
/// is not, and dependencies are optimised in every profile, so three times as much is plenty.
const TIME_FACTOR: u64 = if cfg!(debug_assertions) { 3 } else { 1 };

/// Where the program runs and what was wrong so far.
pub(crate) struct Session {
    pub(crate) home: Home,
    working: PathBuf,
    look: Vec<OsString>,
    forbidden: Vec<String>,
    complaints: Vec<String>,
}

impl Session {
    /// An empty home; the working folder is its empty `project`.
    pub(crate) fn new() -> Self {
        let home = crate::session().with_env("GROVE_TEST_SECRET", SECRET);
        Self {
            working: home.path("project"),
            home,
            look: Vec::new(),
            forbidden: vec![SECRET.to_owned()],
            complaints: Vec::new(),
        }
    }

    /// Works in this folder from now on.
    pub(crate) fn work_in(&mut self, folder: &Path) {
        folder.clone_into(&mut self.working);
    }

    /// Looks in exactly this folder, as a user root, from now on.
    pub(crate) fn look_in(&mut self, root: &Path) {
        self.look = vec!["--root".into(), root.into()];
    }

    /// Texts that no output may have from now on.
    pub(crate) fn forbid<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        let texts = texts.into_iter().map(|text| text.as_ref().to_owned());
        self.forbidden.extend(texts);
    }

    /// Notes a complaint unless the condition holds.
    pub(crate) fn require(&mut self, holds: bool, complaint: impl FnOnce() -> String) {
        if !holds {
            self.complaints.push(complaint());
        }
    }

    /// Everything that was wrong, each once.
    pub(crate) fn complaints(mut self) -> Vec<String> {
        self.complaints.sort();
        self.complaints.dedup();
        self.complaints
    }

    /// Fails with everything that was wrong.
    pub(crate) fn assert_fine(self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }

    /// Runs the program and checks what holds for every run.
    pub(crate) fn run<A: AsRef<OsStr>>(&mut self, arguments: &[A], accepted: &[i32]) -> Finished {
        let finished = self.home.run(&self.working, arguments);
        let words: Vec<_> = arguments
            .iter()
            .map(|word| word.as_ref().to_string_lossy())
            .collect();
        let command = format!("`grove {}`", words.join(" "));
        let ended_well =
            matches!(finished.ending, Ending::Exited(code) if accepted.contains(&code));
        self.require(ended_well, || {
            let (ending, stderr) = (finished.ending, finished.stderr_text());
            format!("{command} ended with {ending:?}: {}", stderr.trim())
        });
        for (stream, bytes) in [("stdout", &finished.stdout), ("stderr", &finished.stderr)] {
            for fault in faults_of(bytes, &self.forbidden) {
                self.complaints.push(format!("{command}: {stream} {fault}"));
            }
        }
        finished
    }

    /// Runs a command that looks at skills, where this session looks.
    pub(crate) fn look(&mut self, arguments: &[&str], accepted: &[i32]) -> Finished {
        let mut all: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let end_of_options = arguments.iter().position(|word| *word == "--");
        let place = end_of_options.unwrap_or(arguments.len());
        all.splice(place..place, self.look.iter().cloned());
        self.run(&all, accepted)
    }

    /// `grove skills list --json`.
    pub(crate) fn list(&mut self) -> Listing {
        let finished = self.look(&["skills", "list", "--json"], &FINE);
        self.parse(&finished)
    }

    fn parse(&mut self, finished: &Finished) -> Listing {
        match serde_json::from_slice(&finished.stdout) {
            Ok(listing) => listing,
            Err(error) => {
                self.complaints
                    .push(format!("the list is not the JSON it should be: {error}"));
                Listing::default()
            }
        }
    }

    /// `grove trust` with arguments.
    pub(crate) fn trust(&mut self, arguments: &[&str]) {
        self.run(&[&["trust", "--yes"], arguments].concat(), &FINE);
    }

    /// Every command that shows skills, for what is listed and for these names, listed or not.
    pub(crate) fn show_everything(&mut self, listing: &Listing, names: &[String]) {
        self.look(&[], &FINE);
        for command in ["list", "roots"] {
            self.look(&["skills", command], &FINE);
            self.look(&["skills", command, "--json"], &FINE);
        }
        self.look(&["skills", "check"], &FINE_OR_FINDINGS);
        self.look(&["skills", "check", "--json"], &FINE_OR_FINDINGS);
        for skill in listing.found().take(SHOWN_SKILLS) {
            // Nobody can type a name that no shell would give; the address is shown all the same.
            self.look(&["skills", "show", &skill.address], &FINE);
            self.look(&["skills", "show", "--json", &skill.address], &FINE);
            // In the user's own folders a link may lead anywhere, and what it leads to is given.
            let real = fs::canonicalize(&skill.location);
            let behind_link = real.is_ok_and(|real| real != Path::new(&skill.location));
            if skill.source == "user" && behind_link {
                continue;
            }
            self.look(&["skills", "activate", &skill.address], &FINE_OR_FINDINGS);
            let called = format!("/{}", skill.address);
            self.look(
                &["skills", "activate", "--json", &called, "$(id)"],
                &FINE_OR_FINDINGS,
            );
        }
        let listed = |name: &String| listing.found().any(|skill| skill.id == *name);
        for name in names.iter().filter(|name| !listed(name)).take(SHOWN_SKILLS) {
            self.look(&["skills", "show", "--", name], &FINE_OR_FINDINGS);
        }
    }

    /// Requires that a list takes at most this long with nothing known from before.
    pub(crate) fn require_time(&mut self, max_ms: u64) {
        let limit = Duration::from_millis(max_ms * TIME_FACTOR);
        // So that the program itself is in memory.
        self.run(&["--version"], &FINE);
        self.home.remove("cache").dir("cache");
        let run = self.look(&["skills", "list", "--json"], &FINE);
        self.require(run.needed_at_most(limit), || {
            let (elapsed, of_processor) = (run.elapsed, run.processor_time);
            format!("a list took {elapsed:.0?}, {of_processor:.0?} of the processor: more than {limit:?}")
        });
    }

    /// Requires that nothing in this folder or the home has one of these names, or a name that the
    /// payloads of the corpus give to what they make.
    pub(crate) fn require_absent(&mut self, folder: &Path, names: &[String]) {
        let mut made = [paths_below(folder), paths_below(&self.home.path(""))].concat();
        made.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            names.iter().any(|bad| **bad == name) || name.starts_with("pwned")
        });
        self.require(made.is_empty(), || format!("code ran and made {made:?}"));
    }
}

/// What is wrong with an output, as it is and, for JSON, as a reader of it gets it.
fn faults_of(bytes: &[u8], forbidden: &[String]) -> Vec<String> {
    let Ok(text) = str::from_utf8(bytes) else {
        return vec!["is not UTF-8".to_owned()];
    };
    let mut texts = vec![text.to_owned()];
    if let Ok(value) = serde_json::from_str(text) {
        collect_strings(&value, &mut texts);
    }
    let mut faults = Vec::new();
    let mut characters = texts.iter().flat_map(|text| text.chars());
    if let Some(control) = characters.find(|c| is_control(*c)) {
        faults.push(format!("has the control character {control:?}"));
    }
    let has = |marker: &String| texts.iter().any(|text| text.contains(marker));
    faults.extend(
        forbidden
            .iter()
            .filter(|marker| has(marker))
            .map(|marker| format!("has {marker:?}")),
    );
    faults
}

/// C0 but newline and tab, DEL, and C1.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

fn collect_strings(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, strings)),
        Value::Object(map) => {
            strings.extend(map.keys().cloned());
            map.values().for_each(|item| collect_strings(item, strings));
        }
        _ => {}
    }
}

/// Everything below a folder, links not followed.
pub(crate) fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(paths_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}
