//! The cases as they are stored: what each expects, and copies of their folders.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_spec::Code;
use grove_testkit::hostile;
use grove_testkit::process;
use grove_testkit::session::place;
use serde::{Deserialize, Deserializer};
use tempfile::TempDir;

/// Copying 5,000 folders takes a second, and minutes where others keep the disk busy.
const COPY_LIMIT: Duration = Duration::from_mins(10);

const COPY: &str = "copy";

/// The hostile cases as folders.
///
/// Cases are run in clones. The large ones lie here too and are removed when nobody measures any
/// more, since removing 5,000 folders takes longer than any case.
pub(crate) struct Corpus {
    /// Removed with everything in it when the corpus is dropped.
    _folder: TempDir,
    /// The folder without links in its path, so that paths in outputs can be compared.
    root: PathBuf,
}

impl Corpus {
    /// Makes the copy.
    pub(crate) fn copy() -> Self {
        let folder = tempfile::tempdir_in(place()).expect("a temporary folder");
        let root = folder
            .path()
            .canonicalize()
            .expect("its path without links");
        hostile::build(&root.join(COPY)).expect("the cases");
        Self {
            _folder: folder,
            root,
        }
    }

    /// A place for something that is kept as long as the corpus.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.root.join("places").join(name)
    }

    /// The cases of some kinds in some groups, by name; a group is the first letter of a case.
    pub(crate) fn cases_of(&self, kinds: &[Kind], groups: &str) -> Vec<Case> {
        let copy = self.root.join(COPY);
        let folders = names_in(&copy).into_iter().map(|name| copy.join(name));
        let cases = folders.filter(|folder| folder.join("expect.json").is_file());
        let mut cases: Vec<Case> = cases.map(|folder| Case::read(&folder)).collect();
        cases.retain(|case| kinds.contains(&case.kind) && groups.contains(&case.id()[..1]));
        cases.sort_by(|a, b| a.id().cmp(b.id()));
        for kind in kinds {
            let any = cases.iter().any(|case| case.kind == *kind);
            assert!(any, "the hostile corpus has no case of kind {kind:?}");
        }
        cases
    }
}

/// What a case is about. A kind that is not here cannot be read, so that no case is passed over unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A folder of skills to look at.
    SkillsRoot,
    /// The same with a writer beside it.
    Race,
    /// Folders whose trust is in question.
    Trust,
    AgentFile,
    Chain,
    Package,
    /// About what Grove does not do yet: installing, locks, running what verifies, and the state of runs.
    #[serde(
        alias = "install-source",
        alias = "source-spec",
        alias = "archive",
        alias = "lock",
        alias = "verify",
        alias = "run-state"
    )]
    NotYet,
}

/// What `expect.json` says about a finding.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing.
    #[default]
    Unsaid,
    /// There must be none.
    Nothing,
    /// There must be one with this code.
    Code(String),
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let code = Option::<String>::deserialize(input)?;
        Ok(code.map_or(Self::Nothing, Self::Code))
    }
}

/// The machine-readable part of `expect.json`, and the line for people, which names codes.
#[derive(Debug, Deserialize)]
pub(crate) struct Expectation {
    case: String,
    kind: Kind,
    pub(crate) expect: String,
    pub(crate) verdict: String,
    #[serde(default)]
    pub(crate) count: BTreeMap<String, usize>,
    #[serde(default)]
    pub(crate) must_not_contain: Vec<String>,
    #[serde(default)]
    pub(crate) must_not_exist: Vec<String>,
    pub(crate) max_ms: Option<u64>,
    pub(crate) catalog_must_match_once: Option<String>,
    #[serde(default)]
    pub(crate) finding: Finding,
}

impl Expectation {
    /// The line for people puts codes in backticks: those that the program knows.
    pub(crate) fn codes(&self) -> Vec<&str> {
        let is_code = |word: &&str| Code::ALL.iter().any(|code| code.as_str() == *word);
        self.expect.split('`').filter(is_code).collect()
    }
}

/// One case of the corpus.
pub(crate) struct Case {
    folder: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) expected: Expectation,
}

impl Case {
    fn read(folder: &Path) -> Self {
        let file = folder.join("expect.json");
        let text = fs::read(&file).expect("expect.json can be read");
        let expected: Expectation = serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Self {
            folder: folder.to_owned(),
            kind: expected.kind,
            expected,
        }
    }

    /// The name of its folder.
    pub(crate) fn id(&self) -> &str {
        &self.expected.case
    }

    /// The part of its name that stays when the words are changed: `a29`.
    pub(crate) fn number(&self) -> &str {
        self.id().split('-').next().unwrap_or_default()
    }

    /// Where the case is stored; whoever is the last to need it may take it apart.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Clones the case to `dest`, with its links, sockets, hard links and modes.
    pub(crate) fn clone_to(&self, dest: &Path) {
        clone_tree(&self.folder, dest);
    }

    /// The folders of skills in the case, with the word that tells them apart: `root`, `home`.
    pub(crate) fn skill_folders(&self) -> Vec<(String, PathBuf)> {
        let folders = names_in(&self.folder).into_iter();
        folders
            .filter(|name| !self.folder.join(name).is_symlink())
            .map(|name| {
                let skills = self.folder.join(&name).join(".agents/skills");
                (name.to_string_lossy().into_owned(), skills)
            })
            .filter(|(_, skills)| skills.is_dir())
            .collect()
    }
}

/// The names in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    let mut names: Vec<OsString> = entries
        .map(|entry| entry.expect("a folder entry").file_name())
        .collect();
    names.sort_unstable();
    names
}

/// Copies what is in `source` into `dest` as it is; `cp` knows sockets, hard links and odd names.
pub(crate) fn clone_tree(source: &Path, dest: &Path) {
    fs::create_dir_all(dest).expect("the folder of the clone");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(source.join(".")).arg(dest);
    let copied = process::capture(&mut copy, COPY_LIMIT).expect("cp can be started");
    if let Err(message) = copied.require_success("cp") {
        panic!("{message}");
    }
}
