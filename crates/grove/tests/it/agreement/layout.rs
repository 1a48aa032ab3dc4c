//! A generated home: skills of every kind in every sort of root, with settings and trust.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use grove_testkit::session::{Session, USER_CONFIG};

use super::random::Random;

/// A root and the source it belongs to.
const ROOTS: [(&str, &str); 8] = [
    ("home/.agents/skills", "user"),
    ("home/.claude/skills", "user"),
    ("project/.agents/skills", "project"),
    ("project/.claude/skills", "project"),
    ("project/pkg/.agents/skills", "project"),
    ("extra/one", "extra"),
    ("extra/two", "extra"),
    ("data/grove/skills", "managed"),
];

const NAMES: [&str; 7] = [
    "alpha", "beta", "gamma", "delta", "épsilon", "zeta", "Alpha",
];

/// What is peculiar about a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Undescribed,
    OtherName,
    ForPeople,
    Hostile,
    Invalid,
    NeedsProgram,
    NeedsVariable,
}

const KINDS: [Kind; 12] = [
    Kind::Plain,
    Kind::Plain,
    Kind::Plain,
    Kind::Plain,
    Kind::Plain,
    Kind::Undescribed,
    Kind::OtherName,
    Kind::ForPeople,
    Kind::Hostile,
    Kind::Invalid,
    Kind::NeedsProgram,
    Kind::NeedsVariable,
];

/// A skill that was written.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Its path below its root.
    pub(crate) id: String,
    pub(crate) source: &'static str,
    /// Written again after the project was trusted.
    pub(crate) edited: bool,
}

/// How far the project is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grant {
    None,
    AsSeen,
    Follow,
}

/// The settings that decide about states.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) disabled: Option<&'static str>,
    pub(crate) only: Option<Vec<&'static str>>,
    pub(crate) variable_given: bool,
    pub(crate) loaded_per_source: Option<usize>,
    pub(crate) candidates_per_root: Option<usize>,
    pub(crate) compat_roots: bool,
}

/// A home with everything that was put into it.
pub(crate) struct Layout {
    pub(crate) session: Session,
    pub(crate) cwd: &'static str,
    pub(crate) grant: Grant,
    pub(crate) settings: Settings,
    /// By the absolute path of the file.
    pub(crate) planted: BTreeMap<PathBuf, Planted>,
}

impl Layout {
    pub(crate) fn generate(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let session = crate::session().with_repository();
        let variable = session.path("extra/one");
        let mut layout = Self {
            session: session.with_env("GROVE_SKILL_DIRS", variable),
            cwd: random.one_of::<&str>(&["project", "project/pkg", "home", "project/pkg/src"]),
            grant: *random.one_of(&[Grant::None, Grant::AsSeen, Grant::AsSeen, Grant::Follow]),
            settings: settings(random),
            planted: BTreeMap::new(),
        };
        layout.session.dir("project/pkg/src");
        layout.plant_all(random);
        layout.link(random);
        layout.session.file(USER_CONFIG, layout.config());
        layout.trust_and_edit(random);
        layout
    }

    /// Whether the program looks in a root of this layout at all.
    pub(crate) fn is_in_view(&self, root: &str) -> bool {
        let compat = self.settings.compat_roots || !root.contains(".claude");
        let below = match root.split_once("/.") {
            Some((folder, _)) if root.starts_with("project") => {
                format!("{}/", self.cwd).starts_with(&format!("{folder}/"))
            }
            _ => true,
        };
        compat && below
    }

    fn plant_all(&mut self, random: &mut Random) {
        for (root, source) in ROOTS {
            for _ in 0..random.below(8) {
                self.plant(random, root, source);
            }
            if random.once_in(3) {
                let notes = format!("{root}/README.md");
                self.session.file(notes, "# Notes, and no skill\n");
            }
        }
    }

    fn plant(&mut self, random: &mut Random, root: &str, source: &'static str) {
        let kind = *random.one_of(&KINDS);
        let folder = *random.one_of(&NAMES);
        let name = if kind == Kind::OtherName {
            *random.one_of(&NAMES)
        } else {
            folder
        };
        let is_flat = random.once_in(6);
        let groups = ["", "", "shell/", "docs/deep/"];
        let group = if is_flat { "" } else { *random.one_of(&groups) };
        let id = format!("{group}{folder}");
        let (as_file, as_folder) = (format!("{root}/{id}.md"), format!("{root}/{id}/SKILL.md"));
        if self.session.has(&as_file) || self.session.has(&as_folder) {
            return;
        }
        let path = if is_flat { as_file } else { as_folder };
        self.session.file(&path, text(kind, name));
        if self.is_in_view(root) {
            let name = if kind == Kind::Invalid { folder } else { name }.to_owned();
            let planted = Planted {
                kind,
                name,
                id,
                source,
                edited: false,
            };
            self.planted.insert(self.session.path(path), planted);
        }
    }

    /// One file reached by two paths: a linked skill folder in the user's own roots.
    fn link(&mut self, random: &mut Random) {
        let target = self.session.path("home/.agents/skills/alpha");
        let found = self.planted.get(&target.join("SKILL.md")).cloned();
        if let Some(planted) = found.filter(|_| random.once_in(2) && self.settings.compat_roots) {
            self.session.link("home/.claude/skills/linked", &target);
            let path = self.session.path("home/.claude/skills/linked/SKILL.md");
            let id = "linked".to_owned();
            self.planted.insert(path, Planted { id, ..planted });
        }
    }

    fn config(&self) -> String {
        let settings = &self.settings;
        let extra = self.session.path("extra/two");
        let (extra, compat) = (extra.display(), settings.compat_roots);
        let mut text = format!("extra_dirs = ['{extra}']\ncompat_roots = {compat}\n[limits]\n");
        for (key, value) in [
            ("loaded_per_source", settings.loaded_per_source),
            ("candidates_per_root", settings.candidates_per_root),
        ] {
            if let Some(value) = value {
                writeln!(text, "{key} = {value}").unwrap();
            }
        }
        if let Some(only) = &settings.only {
            writeln!(text, "[skills]\nonly = {only:?}").unwrap();
        }
        if let Some(name) = settings.disabled {
            writeln!(text, "[skills.entries.{name}]\nenabled = false").unwrap();
        }
        if settings.variable_given {
            let given = "[skills.entries.keyed]\nenv = { GROVE_TEST_TOKEN = 'x' }\nproject = true";
            writeln!(text, "{given}").unwrap();
        }
        text
    }

    fn trust_and_edit(&mut self, random: &mut Random) {
        let cwd = if self.cwd == "home" {
            "project"
        } else {
            self.cwd
        };
        match self.grant {
            Grant::None => return,
            Grant::AsSeen => self.session.trust_in(cwd, ""),
            Grant::Follow => self.session.trust_in(cwd, "--follow"),
        };
        for (path, planted) in &mut self.planted {
            if planted.source == "project" && random.once_in(4) {
                let text = text(planted.kind, &planted.name);
                self.session.file(path, format!("{text}\nEdited.\n"));
                planted.edited = true;
            }
        }
    }
}

fn settings(random: &mut Random) -> Settings {
    Settings {
        disabled: random
            .once_in(2)
            .then(|| *random.one_of(&["alpha", "beta"])),
        only: random
            .once_in(4)
            .then(|| vec!["alpha", "gamma", "delta", "grove"]),
        variable_given: random.once_in(2),
        loaded_per_source: random.once_in(3).then(|| 1 + random.below(4)),
        candidates_per_root: random.once_in(4).then(|| 1 + random.below(4)),
        compat_roots: !random.once_in(4),
    }
}

fn text(kind: Kind, name: &str) -> String {
    let described = format!("---\nname: {name}\ndescription: Does {name} things\n");
    let rest = "---\n\n# Body\n";
    match kind {
        Kind::Plain | Kind::OtherName => format!("{described}{rest}"),
        Kind::Undescribed => format!("---\nname: {name}\n{rest}"),
        Kind::ForPeople => format!("{described}disable-model-invocation: true\n{rest}"),
        Kind::Hostile => {
            format!("---\nname: {name}\ndescription: \"a\\e[2J\\r\\x07 b\"\n{rest}\u{1b}]0;t\u{7}")
        }
        Kind::Invalid => format!("{described}name: twice\n{rest}"),
        Kind::NeedsProgram => format!(
            "{described}metadata: {{openclaw: {{requires: {{bins: [no-such-program-here]}}}}}}\n{rest}"
        ),
        Kind::NeedsVariable => format!(
            "{described}metadata:\n  openclaw:\n    skillKey: keyed\n    requires:\n      env: [GROVE_TEST_TOKEN]\n{rest}"
        ),
    }
}
