//! The cases as they are stored: what each expects, and copies of their folders.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use grove_testkit::home::place;
use grove_testkit::process;
use grove_testkit::shared::hostile_copy;
use serde::{Deserialize, Deserializer};
use tempfile::TempDir;

/// File system, encoding, YAML, prompt structure and trust; the other groups are not about skills that are
/// found and told of.
const GROUPS: [char; 5] = ['a', 'b', 'c', 'd', 'g'];

/// Copying 5,000 folders takes a second, and minutes where others keep the disk busy.
const COPY_LIMIT: Duration = Duration::from_mins(10);

const COPY: &str = "copy";

/// The hostile corpus, copied and completed.
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
    /// Makes the copy; fails with what is missing when there is no corpus.
    pub(crate) fn copy() -> Self {
        let folder = tempfile::tempdir_in(place()).expect("a temporary folder");
        let root = folder
            .path()
            .canonicalize()
            .expect("its path without links");
        if let Err(missing) = hostile_copy(&root.join(COPY)) {
            panic!("{missing}");
        }
        Self {
            _folder: folder,
            root,
        }
    }

    /// A place for something that is kept as long as the corpus.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.root.join("places").join(name)
    }

    /// The cases in scope, by name.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let copy = self.root.join(COPY);
        let mut cases: Vec<Case> = names_in(&copy)
            .into_iter()
            .map(|name| copy.join(name))
            .filter(|folder| folder.join("expect.json").is_file())
            .filter_map(|folder| Case::read(&folder))
            .collect();
        cases.sort_by(|a, b| a.id().cmp(b.id()));
        for kind in [Kind::SkillsRoot, Kind::Race, Kind::Trust] {
            let any = cases.iter().any(|case| case.kind() == kind);
            assert!(any, "the hostile corpus has no case of kind {kind:?}");
        }
        cases
    }
}

/// What a case is about, as far as finding skills goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder of skills to look at.
    SkillsRoot,
    /// The same with a writer beside it.
    Race,
    /// Folders whose trust is in question.
    Trust,
}

impl Kind {
    fn of(word: &str) -> Option<Self> {
        match word {
            "skills-root" => Some(Self::SkillsRoot),
            "race" => Some(Self::Race),
            "trust" => Some(Self::Trust),
            _ => None,
        }
    }
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
    kind: String,
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

/// One case of the corpus.
pub(crate) struct Case {
    folder: PathBuf,
    kind: Kind,
    pub(crate) expected: Expectation,
}

impl Case {
    fn read(folder: &Path) -> Option<Self> {
        let file = folder.join("expect.json");
        let text = fs::read(&file).expect("expect.json can be read");
        let expected: Expectation = serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let kind = Kind::of(&expected.kind).filter(|_| expected.case.starts_with(GROUPS))?;
        Some(Self {
            folder: folder.to_owned(),
            kind,
            expected,
        })
    }

    /// The name of its folder.
    pub(crate) fn id(&self) -> &str {
        &self.expected.case
    }

    /// The part of its name that stays when the words are changed: `a29`.
    pub(crate) fn number(&self) -> &str {
        self.id().split('-').next().unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
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
