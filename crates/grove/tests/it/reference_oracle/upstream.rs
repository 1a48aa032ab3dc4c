//! The library's own forty tests and our own about its command line, as folders and commands.

/// One test: files in a folder of its own, and the commands to run there.
pub(crate) struct Scene {
    pub(crate) name: String,
    /// Paths and contents; a path that ends with a slash is a folder.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Symlinks: where, and to what.
    pub(crate) links: Vec<(&'static str, &'static str)>,
    pub(crate) commands: Vec<Vec<String>>,
    /// Where the commands run, below the folder.
    pub(crate) at: &'static str,
}

impl Scene {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec()));
        Self {
            name: name.to_owned(),
            files: files.collect(),
            links: Vec::new(),
            commands: Vec::new(),
            at: "",
        }
    }

    /// A skill in a folder, through all three commands.
    fn skill(name: &str, dir: &str, content: &str) -> Self {
        Self::new(name, &[(&format!("{dir}/SKILL.md"), content)]).all(&[dir])
    }

    /// Each of these paths through all three commands.
    fn all(mut self, paths: &[&str]) -> Self {
        for path in paths {
            for command in ["validate", "read-properties", "to-prompt"] {
                self.commands
                    .push(vec![command.to_owned(), (*path).to_owned()]);
            }
        }
        self
    }

    /// A command in words.
    fn run(mut self, command: &str) -> Self {
        let words = command.split(' ').map(str::to_owned);
        self.commands.push(words.collect());
        self
    }

    fn link(mut self, at: &'static str, to: &'static str) -> Self {
        self.links.push((at, to));
        self
    }

    fn at(mut self, at: &'static str) -> Self {
        self.at = at;
        self
    }

    fn file(mut self, path: &str, content: &[u8]) -> Self {
        self.files.push((path.to_owned(), content.to_vec()));
        self
    }
}

fn named(name: &str) -> String {
    format!("---\nname: {name}\ndescription: A test skill\n---\nBody\n")
}

fn with(line: &str) -> String {
    format!("---\nname: my-skill\ndescription: A test skill\n{line}\n---\nBody\n")
}

/// The library's tests of its parser.
pub(crate) fn parser() -> Vec<Scene> {
    let plain = named("my-skill");
    let skill = |name: &str, content: &str| Scene::skill(name, "my-skill", content);
    vec![
        skill("frontmatter and body", &plain),
        skill("no frontmatter", "# Only Markdown\n"),
        skill("unclosed", "---\nname: my-skill\ndescription: x\n"),
        skill("invalid YAML", "---\nname: [invalid\n---\nBody\n"),
        skill("a list", "---\n- one\n- two\n---\nBody\n"),
        skill("license", &with("license: MIT")),
        skill("metadata", &with("metadata:\n  author: me\n  version: 1.0")),
        Scene::new("no file", &[("my-skill/", "")]).all(&["my-skill"]),
        skill("no name", "---\ndescription: x\n---\n"),
        skill("no description", "---\nname: my-skill\n---\n"),
        Scene::new("lower-case file", &[("my-skill/skill.md", &plain)]).all(&["my-skill"]),
        skill(
            "allowed tools",
            &with("allowed-tools: Bash(jq:*) Bash(git:*)"),
        ),
        Scene::new(
            "upper case first",
            &[
                ("my-skill/SKILL.md", &plain),
                ("my-skill/skill.md", &named("lower")),
            ],
        )
        .all(&["my-skill"]),
        Scene::new("lower case found", &[("low/skill.md", &named("low"))]).all(&["low"]),
        Scene::new("neither found", &[("my-skill/README.md", &plain)]).all(&["my-skill"]),
    ]
}

/// The library's tests of its prompt.
pub(crate) fn prompt() -> Vec<Scene> {
    let two = [
        ("skill-a/SKILL.md", &*named("skill-a")),
        ("skill-b/SKILL.md", &*named("skill-b")),
    ];
    let special = "---\nname: special\ndescription: Use <foo> & <bar> tags\n---\n";
    vec![
        Scene::new("no skill", &[]).run("to-prompt"),
        Scene::new("one skill", &two).run("to-prompt skill-a"),
        Scene::new("two skills", &two).run("to-prompt skill-a skill-b"),
        Scene::skill("escapes", "special", special),
    ]
}

/// The library's tests of its validator.
pub(crate) fn validator() -> Vec<Scene> {
    let long = "a".repeat(70);
    let skill = |name: &str, dir: &str| Scene::skill(name, dir, &named(dir));
    let line = |name: &str, line: &str| Scene::skill(name, "my-skill", &with(line));
    vec![
        skill("valid", "my-skill"),
        Scene::new("nothing there", &[]).all(&["missing"]),
        Scene::new("a file", &[("file.txt", "text")]).all(&["file.txt"]),
        Scene::new("no SKILL.md", &[("my-skill/", "")]).all(&["my-skill"]),
        skill("upper case", "MySkill"),
        skill("too long", &long),
        skill("leading hyphen", "-my-skill").run("validate -- -my-skill"),
        skill("two hyphens", "my--skill"),
        skill("underscore", "my_skill"),
        Scene::skill("other folder", "wrong-name", &named("correct-name")),
        line("unknown field", "unknown_field: no"),
        line(
            "all fields",
            "license: MIT\ncompatibility: any\nallowed-tools: Read\nmetadata:\n  a: b",
        ),
        line("allowed tools", "allowed-tools: Bash(jq:*) Bash(git:*)"),
        skill("Chinese", "技能"),
        skill("Russian with a hyphen", "мой-навык"),
        skill("Russian", "навык"),
        skill("Russian upper case", "НАВЫК"),
        Scene::skill("decomposed", "caf\u{e9}", &named("cafe\u{301}")),
        Scene::skill(
            "long description",
            "my-skill",
            &format!(
                "---\nname: my-skill\ndescription: {}\n---\n",
                "x".repeat(1100)
            ),
        ),
        line("compatibility", "compatibility: Requires Python 3.11+"),
        line(
            "long compatibility",
            &format!("compatibility: {}", "x".repeat(550)),
        ),
    ]
}

/// What the library does not test: its program.
pub(crate) fn command_line() -> Vec<Scene> {
    let text = named("good");
    let good = |name: &str| Scene::new(name, &[("good/SKILL.md", &text), ("good/sub/", "")]);
    let x = |name: &str, content: &str| Scene::skill(name, "x", content);
    let described = |lines: &str| format!("---\nname: x\ndescription: {lines}\n---\n");
    let order = "---\nz: 1\nname: -A_-\ncompatibility:\n- y\na: 2\n---\n";
    vec![
        good("here").at("good").all(&[".", "SKILL.md", "sub/.."]),
        good("spelling").all(&["./good//.", "good/", "good/SKILL.md"]),
        good("odd case")
            .file("good/Skill.MD", b"")
            .all(&["good/Skill.MD"]),
        good("symlink")
            .link("alias", "good")
            .all(&["alias", "alias/SKILL.md"]),
        good("symlinked file")
            .file("real/", b"")
            .link("real/SKILL.md", "../good/SKILL.md")
            .all(&["real", "real/SKILL.md"]),
        good("dangling")
            .file("x/", b"")
            .link("x/SKILL.md", "nowhere")
            .all(&["x"]),
        good("folder as file").file("x/SKILL.md/", b"").all(&["x"]),
        Scene::new("not UTF-8", &[])
            .file("x/SKILL.md", b"---\nname: \xff\n---\n")
            .all(&["x"]),
        x("control", "---\nname: \u{7}\n---\n"),
        x("byte order mark", &format!("\u{feff}{}", named("x"))),
        x("line ends", &named("x").replace('\n', "\r\n")),
        x("surrogates", &described("\"\\ud83d\\ude00\"")),
        x("object", &described("y\nlicense: =")),
        x("quotes", &described("\"'a' & \\\"b\\\"\"")),
        x("order", order),
        Scene::skill("markup in the path", "a & <b>", &named("a")),
        good("missing path").all(&["it's", "", "-"]),
        good("second path")
            .run("validate good good")
            .run("read-properties good a b"),
        good("first of several")
            .run("to-prompt good no nor")
            .run("validate no good"),
        good("one bad of two")
            .file("bad/SKILL.md", b"")
            .run("to-prompt good bad"),
        good("no path").run("validate").run("read-properties"),
        good("unknown option")
            .run("validate -x good")
            .run("to-prompt --wrong"),
    ]
}
