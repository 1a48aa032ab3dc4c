//! The files that a check relies on: what a child changes in them does not count for the check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::contract::{Check, Contract};

/// The files that configure some programs. Where a folder had one of them before, a check sees all of them in it as they were: a
/// new one could take the place of the one that was there.
struct ToolFiles {
    tools: &'static [&'static str],
    files: &'static [&'static str],
    /// Other files of these programs, which are part of the work. Where one was in the folder or below, the program was in use.
    signs: &'static [&'static str],
}

const fn tool(
    tools: &'static [&'static str],
    files: &'static [&'static str],
    signs: &'static [&'static str],
) -> ToolFiles {
    ToolFiles {
        tools,
        files,
        signs,
    }
}

const NODE: &[&str] = &[
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "jest",
    "vitest",
    "mocha",
    "node",
    "eslint",
    "prettier",
    "playwright",
    "cypress",
    "karma",
];
const PYTHON: &[&str] = &[
    "pytest", "py.test", "tox", "nox", "python", "python3", "uv", "poetry", "ruff", "mypy",
];
const GRADLE: &[&str] = &["gradle", "gradlew"];
const TOOLS: [ToolFiles; 15] = [
    tool(
        &["make", "gmake"],
        &["GNUmakefile", "makefile", "Makefile"],
        &[],
    ),
    tool(&["just"], &["justfile", "Justfile", ".justfile"], &[]),
    tool(
        NODE,
        &[
            "package.json",
            "jest.config.*",
            "vitest.config.*",
            "vite.config.*",
            ".mocharc.*",
        ],
        &[],
    ),
    tool(
        NODE,
        &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            "bunfig.toml",
            "eslint.config.*",
            ".eslintrc*",
            ".eslintignore",
            ".prettierrc*",
            "playwright.config.*",
            "cypress.config.*",
            "karma.conf.*",
        ],
        &["package.json"],
    ),
    tool(
        PYTHON,
        &[
            "pytest.ini",
            ".pytest.ini",
            "pytest.toml",
            ".pytest.toml",
            "pyproject.toml",
            "tox.ini",
            "setup.cfg",
            "noxfile.py",
            "conftest.py",
        ],
        &[],
    ),
    tool(
        PYTHON,
        &["ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini"],
        &["pyproject.toml", "setup.py", "setup.cfg"],
    ),
    tool(
        &["rake", "bundle", "rspec"],
        &["Rakefile", ".rspec", "spec_helper.rb"],
        &["Gemfile"],
    ),
    tool(&["task"], &["Taskfile.yml", "Taskfile.yaml"], &[]),
    tool(
        &["phpunit", "composer"],
        &["phpunit.xml", "phpunit.xml.dist"],
        &["composer.json"],
    ),
    tool(
        &["cargo"],
        &[
            ".cargo/config.toml",
            ".cargo/config",
            "nextest.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
            "rustfmt.toml",
            ".rustfmt.toml",
            "clippy.toml",
            ".clippy.toml",
        ],
        &["Cargo.toml"],
    ),
    tool(&["deno"], &["deno.json", "deno.jsonc"], &[]),
    tool(&["prove"], &[".proverc"], &["*.t"]),
    tool(&["go"], &["go.work"], &["go.mod"]),
    tool(
        &["mvn", "mvnw"],
        &[
            ".mvn/maven.config",
            ".mvn/jvm.config",
            ".mvn/extensions.xml",
        ],
        &["pom.xml"],
    ),
    tool(
        GRADLE,
        &["gradle.properties"],
        &["build.gradle*", "settings.gradle*"],
    ),
];
/// Programs that run a file whose name is given without its end, or a folder.
const INTERPRETERS: [&str; 7] = ["node", "bun", "deno", "python", "python3", "ts-node", "tsx"];
const ENDS: [&str; 3] = [".*", "/index.*", "/__main__.py"];
/// Folders of tests, and names of them outside such folders.
const TEST_FOLDERS: [&str; 5] = ["tests", "test", "__tests__", "spec", "specs"];
const TEST_NAMES: [&str; 5] = ["test_*", "*_test.*", "*.test.*", "*.spec.*", "*_spec.*"];

/// The file that says in which form git writes other files.
const FORMS: &str = ".gitattributes";
/// The most names by which links make one file known.
const MOST_NAMES: usize = 64;

/// The files of a repository at one time. All paths are from its top.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownFiles {
    /// Every file and link.
    pub names: BTreeSet<String>,
    /// The targets of the links among them, as they are written.
    pub links: BTreeMap<String, String>,
}

/// The rules by which a contract's commands keep files as they were before the work.
#[derive(Debug)]
pub struct Protection<'a> {
    contract: &'a Contract,
    /// The folder of the work.
    work_folder: &'a Path,
    before: &'a KnownFiles,
    words: Vec<Word>,
    /// The links by the paths to which they lead.
    links: BTreeMap<PathBuf, Vec<&'a str>>,
}

impl<'a> Protection<'a> {
    /// The rules of a contract for work in a folder of a repository that had these files.
    pub fn new(contract: &'a Contract, work_folder: &'a Path, before: &'a KnownFiles) -> Self {
        let mut links: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
        for (link, target) in &before.links {
            if let Some(target) = target_from_top(link, target) {
                links.entry(target).or_default().push(link);
            }
        }
        Self {
            words: contract.verify.iter().flat_map(words_of).collect(),
            contract,
            work_folder,
            before,
            links,
        }
    }

    /// The changed files that a check must see as they were.
    pub fn protected(&self, changed: &[String]) -> Vec<String> {
        let is_protected = |file: &&String| {
            let names = self.names_of(file);
            let was_test = self.before.names.contains(*file) && names.iter().any(|it| is_test(it));
            let is_test = was_test && self.contract.pinned.is_none();
            self.says_forms(file) || is_test || self.decides(file, &names)
        };
        changed.iter().filter(is_protected).cloned().collect()
    }

    /// The files by which the commands decide, so that none of them may change one: those that the contract names; else
    /// what the words of the commands lead to, and what the tools among the words read.
    pub fn decisive(&self) -> Vec<String> {
        let names = self.before.names.iter();
        let decisive = names.filter(|file| self.decides(file, &self.names_of(file)));
        decisive.cloned().collect()
    }

    /// Returns true for a file that says in which form git writes others, where anything is protected.
    fn says_forms(&self, file: &str) -> bool {
        let protects = self
            .contract
            .pinned
            .as_ref()
            .is_none_or(|it| !it.is_empty());
        last_part(file) == FORMS && protects && !self.contract.verify.is_empty()
    }

    fn decides(&self, file: &str, names: &[String]) -> bool {
        let was_there = self.before.names.contains(file);
        names.iter().any(|name| match &self.contract.pinned {
            Some(patterns) => patterns.iter().any(|pattern| {
                let from_top = self.work_folder.join(pattern);
                matches_from_start(&from_top.to_string_lossy(), name)
            }),
            None => self.is_read(name, was_there),
        })
    }

    /// Returns true if a check reads a file, where the contract names none: a word of the check leads to the file, or the file
    /// configures a tool among the words. A script that was not there before is part of the work.
    fn is_read(&self, file: &str, was_there: bool) -> bool {
        if was_there && self.words.iter().any(|word| leads_to(word, file)) {
            return true;
        }
        let is_word = |tool: &&str| self.words.iter().any(|word| last_part(&word.text) == *tool);
        let mut rows = TOOLS.iter().filter(|row| row.tools.iter().any(is_word));
        rows.any(|row| {
            let mut of_row = row.files.iter().filter_map(|name| folder_of(file, name));
            of_row.any(|folder| row.was_in(folder, &self.before.names))
        })
    }

    /// The names by which a file is known: its own, and those through links to it or to a folder above it.
    fn names_of(&self, file: &str) -> Vec<String> {
        let mut names = vec![file.to_owned()];
        let mut at = 0;
        while let Some(name) = names
            .get(at)
            .map(PathBuf::from)
            .filter(|_| !self.links.is_empty())
        {
            for above in name.ancestors() {
                let rest = name.strip_prefix(above).unwrap_or(Path::new(""));
                for link in self.links.get(above).into_iter().flatten() {
                    let through = Path::new(link).join(rest);
                    let through = through.to_string_lossy().trim_end_matches('/').to_owned();
                    if !names.contains(&through) && names.len() < MOST_NAMES {
                        names.push(through);
                    }
                }
            }
            at += 1;
        }
        names
    }
}

/// The path from the top to which a link leads; none if that is outside.
fn target_from_top(link: &str, target: &str) -> Option<PathBuf> {
    let mut path = Path::new(link).parent()?.to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

/// Returns the folder in which a file has a name of a row.
fn folder_of<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let depth = name.split('/').count();
    let parts: Vec<&str> = file.split('/').collect();
    let split = parts.len().checked_sub(depth)?;
    let is_name = matches_from_start(name, &parts[split..].join("/"));
    let length = parts[..split].join("/").len();
    is_name.then(|| file.get(..length)).flatten()
}

impl ToolFiles {
    /// Returns true if a folder had one of the files, or if it or a folder below had one of the signs.
    fn was_in(&self, folder: &str, before: &BTreeSet<String>) -> bool {
        let mut files = before.iter();
        files.any(|file| {
            let mut folders = self.files.iter().filter_map(|name| folder_of(file, name));
            let mut signs = self.signs.iter().filter_map(|name| folder_of(file, name));
            folders.any(|found| found == folder)
                || signs.any(|found| Path::new(found).starts_with(folder))
        })
    }
}

fn is_test(file: &str) -> bool {
    let mut parts: Vec<&str> = file.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    parts.iter().any(|part| TEST_FOLDERS.contains(part))
        || TEST_NAMES.iter().any(|pattern| matches_part(pattern, name))
}

/// A word of a command that may name a file.
#[derive(Debug)]
struct Word {
    text: String,
    /// Set if it begins at a place that is not known here: the root, or the value of a variable or a command.
    begins_elsewhere: bool,
}

/// The words of a command. A star stands for the value of a variable.
fn words_of(check: &Check) -> Vec<Word> {
    let mut words = Words::default();
    for line in &check.command {
        let mut rest = line.chars().chain([' ']).peekable();
        while let Some(c) = rest.next() {
            match c {
                '"' | '\'' => {}
                '$' | '`' | ')' => {
                    words.end_word();
                    words.begins_elsewhere = true;
                    let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                    if c == '$' && rest.next_if(is_name).is_some() {
                        while rest.next_if(is_name).is_some() {}
                        words.text.push('*');
                    }
                }
                c if c.is_whitespace() || ";&|(<>=".contains(c) => {
                    words.end_word();
                    words.begins_elsewhere = false;
                }
                c => words.text.push(c),
            }
        }
    }
    words.all
}

/// Words as they are read.
#[derive(Default)]
struct Words {
    all: Vec<Word>,
    text: String,
    begins_elsewhere: bool,
    /// The word before, with options.
    last: String,
    /// The word before that is no option.
    program: String,
}

impl Words {
    fn end_word(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        let last = std::mem::replace(&mut self.last, text.clone());
        if text.starts_with('-') || with_stars(&text) == "*" {
            return;
        }
        let program = std::mem::replace(&mut self.program, text.clone());
        let begins_elsewhere = self.begins_elsewhere || text.starts_with(['/', '~']);
        let word = |text| Word {
            text,
            begins_elsewhere,
        };
        if last == "-m" {
            let module = text.replace('.', "/");
            let files = ENDS.iter().map(|end| word(format!("{module}{end}")));
            self.all.extend(files);
        } else if INTERPRETERS.contains(&last_part(&program)) {
            let files = ENDS.iter().map(|end| word(format!("{text}{end}")));
            self.all.extend(files);
        }
        self.all.push(word(text));
    }
}

/// Returns true if a word leads to a file, whatever folder the command went to: the file's path ends in the word. A word
/// that begins elsewhere leads also to a file whose whole path is the end of the word.
fn leads_to(word: &Word, file: &str) -> bool {
    let pattern = with_stars(&word.text);
    let mut word_parts: Vec<&str> = Vec::new();
    for part in Path::new(&pattern).components() {
        match part {
            Component::Normal(part) => word_parts.extend(part.to_str()),
            Component::ParentDir => {
                word_parts.pop();
            }
            _ => {}
        }
    }
    let file_parts: Vec<&str> = file.split('/').collect();
    let length = word_parts.len().min(file_parts.len());
    if word_parts.is_empty() || (word_parts.len() > length && !word.begins_elsewhere) {
        return false;
    }
    // The first part of a word such as `$HERE/check.sh` is the name of the variable.
    let length = if word.begins_elsewhere && word_parts.len() > 1 && !word.text.starts_with('/') {
        length.min(word_parts.len() - 1)
    } else {
        length
    };
    let ends = word_parts.iter().rev().zip(file_parts.iter().rev());
    ends.take(length)
        .all(|(pattern, part)| matches_part(pattern, part))
}

/// Replaces alternatives and classes of characters by stars.
fn with_stars(word: &str) -> String {
    let mut pattern = String::new();
    let mut open = None;
    for c in word.chars() {
        match (open, c) {
            (None, '{' | '[') => {
                open = Some(if c == '{' { '}' } else { ']' });
                pattern.push('*');
            }
            (Some(end), c) if c == end => open = None,
            (Some(_), _) => {}
            (None, c) => pattern.push(c),
        }
    }
    pattern
}

fn last_part(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Returns true if a path matches a pattern: `*` and `?` stand for characters within a part, `**` for any parts. A folder
/// stands for all that is in it.
fn matches_from_start(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let parts = text
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".");
        parts.map(str::to_owned).collect()
    };
    matches_parts(&parts(&with_stars(pattern)), &parts(path))
}

fn matches_parts(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((first, rest)), _) if first == "**" => {
            (rest.is_empty() && !path.is_empty())
                || (0..path.len()).any(|skipped| matches_parts(rest, &path[skipped..]))
        }
        (Some((first, rest)), Some((part, others))) => {
            matches_part(first, part) && matches_parts(rest, others)
        }
        (Some(_), None) => false,
    }
}

/// Returns true if a name matches a pattern with `*` and `?`.
fn matches_part(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((back, from)) => {
                    star = Some((back, from + 1));
                    at = back + 1;
                    in_name = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [&str; 21] = [
        "Cargo.toml",
        "crate/Cargo.toml",
        "build.rs",
        "t/one.t",
        "tools/judge.py",
        "tools/__main__.py",
        "web/judge/index.js",
        "check.sh",
        "sub/check.sh",
        "sub/deep/run.sh",
        "Makefile",
        "package.json",
        "pyproject.toml",
        "tests/all.rs",
        "src/lib.rs",
        "src/lib_test.go",
        "web/x.spec.ts",
        "answer",
        "a/pytest.ini",
        "scripts/x.sh",
        "scripts/y.sh",
    ];

    fn protected(line: &str, pinned: Option<&[&str]>, changed: &[&str]) -> Vec<String> {
        let mut contract: Contract = serde_json::from_value(serde_json::json!({
            "level": "verified",
            "verify": [{
                "id": "v",
                "command": ["/bin/sh", "-c", line],
                "env": {},
                "allowFailure": false,
            }],
        }))
        .unwrap();
        let owned = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        contract.pinned = pinned.map(owned);
        let before = before();
        Protection::new(&contract, Path::new(""), &before).protected(&owned(changed))
    }

    fn before() -> KnownFiles {
        let links = [
            ("run-all", "sub/deep/run.sh"),
            ("bin/all", "../scripts"),
            ("loop", "."),
        ];
        let names = BEFORE.iter().copied().chain(links.map(|(name, _)| name));
        KnownFiles {
            names: names.map(str::to_owned).collect(),
            links: links
                .map(|(link, target)| (link.to_owned(), target.to_owned()))
                .into(),
        }
    }

    #[test]
    fn a_word_leads_through_links() {
        for (line, file, is_protected) in [
            ("sh run-all", "sub/deep/run.sh", true),
            ("sh bin/all/x.sh", "scripts/x.sh", true),
            ("cd bin && sh all/x.sh", "scripts/x.sh", true),
            ("sh loop/loop/check.sh", "check.sh", true),
            ("sh bin/all/x.sh", "scripts/y.sh", false),
            ("sh bin/all/x.sh", "scripts/new/x.sh", false),
        ] {
            assert_eq!(
                !protected(line, None, &[file]).is_empty(),
                is_protected,
                "{line}: {file}"
            );
        }
        assert_eq!(
            protected("true", Some(&["bin/**"]), &["scripts/x.sh"]),
            ["scripts/x.sh"]
        );
    }

    #[test]
    fn the_forms_of_files_are_as_they_were_where_anything_is_protected() {
        for (pinned, is_protected) in [(None, true), (Some(&["x"][..]), true), (Some(&[]), false)] {
            for file in [".gitattributes", "deep/.gitattributes"] {
                let found = protected("true", pinned, &[file]);
                assert_eq!(!found.is_empty(), is_protected, "{pinned:?}");
            }
        }
    }

    #[test]
    fn the_words_of_a_command_lead_to_files_however_they_are_written() {
        for line in [
            "sh ./check.sh",
            "sh check.sh",
            "./check.sh --fast",
            "cd sub && sh check.sh",
            "cd sub; ./check.sh",
            "sh $PWD/check.sh",
            "sh \"$PWD/check.sh\"",
            "sh \"$(pwd)/check.sh\"",
            "sh `pwd`/check.sh",
            "sh \"${PWD}/check.sh\"",
            "sh /home/person/project/check.sh",
            "sh ~/project/check.sh",
            "sh sub/../check.sh",
            "sh ch*.sh",
            "sh chec?.sh",
            "sh [c]heck.sh",
            "bash {check,x}.sh",
            "env X=1 sh 'check.sh'",
            "sh<check.sh",
            "X=check.sh; sh $X",
            "J=check; sh $J.sh",
            "for t in check other; do sh \"$t.sh\" || exit 1; done",
            "node check",
            "python3 -B check",
        ] {
            assert_eq!(protected(line, None, &["check.sh"]), ["check.sh"], "{line}");
        }
        for line in [
            "cd sub && sh check.sh",
            "make -C sub; sh sub/check.sh",
            "(cd sub; sh check.sh)",
        ] {
            let changed = ["sub/check.sh"];
            assert_eq!(protected(line, None, &changed), changed, "{line}");
        }
        // A file that was not there is part of the work, and so is a file that no word names.
        for (line, file) in [
            ("sh new.sh", "new.sh"),
            ("sh check.sh", "src/lib.rs"),
            ("ls src", "src/lib.rs"),
        ] {
            assert!(protected(line, None, &[file]).is_empty(), "{line}");
        }
    }

    #[test]
    fn an_interpreter_finds_files_by_less_than_their_names() {
        for (line, file) in [
            ("python3 -m tools.judge", "tools/judge.py"),
            ("python3 tools", "tools/__main__.py"),
            ("python3 -m tools", "tools/__main__.py"),
            ("node web/judge", "web/judge/index.js"),
            ("cd web && node judge", "web/judge/index.js"),
        ] {
            assert_eq!(protected(line, None, &[file]), [file], "{line}");
        }
        for line in ["ls tools", "echo $TOOLS ${TOOLS}", "cargo judge"] {
            assert!(
                protected(line, None, &["tools/judge.py"]).is_empty(),
                "{line}"
            );
        }
    }

    #[test]
    fn what_tools_read_and_tests_are_as_they_were() {
        for (line, file, is_protected) in [
            ("npm test", ".npmrc", true),
            ("npm test", "deep/.npmrc", false),
            ("cargo test", ".cargo/config.toml", true),
            ("cargo test", "crate/rust-toolchain", true),
            ("cargo test", "src/.cargo/config.toml", false),
            ("cargo test", "Cargo.toml", false),
            ("cargo build", "build.rs", false),
            ("node scripts", "scripts/index.js", false),
            ("pytest", ".pytest.ini", true),
            ("prove -r t", ".proverc", true),
            ("go test ./...", "go.work", false),
            ("make test", "Makefile", true),
            ("cd . && make -j2 test", "GNUmakefile", true),
            ("make test", "sub/Makefile", false),
            ("npm test", "package.json", true),
            ("npm test", "jest.config.js", true),
            ("cargo test", "package.json", false),
            ("python3 -m pytest", "conftest.py", true),
            ("pytest", "a/conftest.py", true),
            ("pytest", "b/conftest.py", false),
            ("cargo test", "tests/all.rs", true),
            ("cargo test", "tests/new.rs", false),
            ("go test ./...", "src/lib_test.go", true),
            ("true", "web/x.spec.ts", true),
            ("cargo test", "src/lib.rs", false),
        ] {
            let found = protected(line, None, &[file]);
            assert_eq!(!found.is_empty(), is_protected, "{line}: {file}");
        }
    }

    #[test]
    fn a_contract_names_protected_files_by_patterns() {
        for (patterns, file, is_protected) in [
            (&["tests/**"][..], "tests/all.rs", true),
            (&["tests/**"], "tests/deep/new.rs", true),
            (&["tests"], "tests/all.rs", true),
            (&["**/*.sh"], "check.sh", true),
            (&["**/*.sh"], "sub/deep/run.sh", true),
            (&["*.sh"], "sub/check.sh", false),
            (&["./Makefile"], "Makefile", true),
            (&["Makefile"], "sub/Makefile", false),
            (&[], "check.sh", false),
        ] {
            let found = protected("sh check.sh", Some(patterns), &[file]);
            assert_eq!(!found.is_empty(), is_protected, "{patterns:?}: {file}");
        }
    }
}
