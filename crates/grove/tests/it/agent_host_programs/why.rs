//! `grove why NAME` of agents against the real programs: which they have, and the word for each that they have not.

use std::collections::BTreeSet;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::needs;
use grove_testkit::session::{Session, rows};
use serde_json::Value;

use super::{agents_of_claude, agents_of_copilot, described_roles, named_roles, tag, turn};

/// Where everybody works.
const WORKING: &str = "project/pkg";

/// What a file of this kind looks like: what befalls its agent, its path and its text, with `TAG` for its folder.
type Sample = (&'static str, &'static str, &'static str);

/// Folders with agents in Markdown.
const MARKDOWN: [&str; 7] = [
    "home/.claude/agents",
    "home/.copilot/agents",
    "home/.gemini/agents",
    "project/.claude/agents",
    "project/.github/agents",
    "project/.agents/agents",
    "project/pkg/.claude/agents",
];

const MARKDOWN_FILES: [Sample; 16] = [
    ("plain", "plain-TAG.md", "---\nname: plain-TAG\nDESCR---\n"),
    (
        "ending",
        "ending-TAG.agent.md",
        "---\nname: ending-TAG\nDESCR---\n",
    ),
    (
        "deep",
        "deep/down/deep-TAG.md",
        "---\nname: deep-TAG\nDESCR---\n",
    ),
    ("under", "_under-TAG.md", "---\nname: under-TAG\nDESCR---\n"),
    ("unnamed", "unnamed-TAG.md", "---\nDESCR---\n"),
    ("silent", "silent-TAG.md", "---\nname: silent-TAG\n---\n"),
    (
        "colon",
        "colon-TAG.md",
        "---\nname: colon-TAG\ndescription: Use when: asked\n---\n",
    ),
    (
        "broken",
        "broken-TAG.md",
        "---\nname: broken-TAG\ndescription: \"never closed\n---\n",
    ),
    (
        "tabbed",
        "deep/tabbed-TAG.md",
        "---\nname: tabbed-TAG\nDESCRtools:\n\t- Read\n---\n",
    ),
    (
        "number",
        "number-TAG.md",
        "---\nname: number-TAG\ndescription: 42\n---\n",
    ),
    (
        "inner",
        "skills/inner-TAG.md",
        "---\nname: inner-TAG\nDESCR---\n",
    ),
    (
        "mods",
        "node_modules/mods-TAG.md",
        "---\nname: mods-TAG\nDESCR---\n",
    ),
    ("kit", "kit/kit-TAG.md", "---\nname: kit-TAG\nDESCR---\n"),
    (
        "hidden",
        ".hidden/hidden-TAG.md",
        "---\nname: hidden-TAG\nDESCR---\n",
    ),
    ("dot", ".dot-TAG.md", "---\nname: dot-TAG\nDESCR---\n"),
    (
        "same",
        "same.md",
        "---\nname: same\nDESCR---\nText of TAG.\n",
    ),
];

/// Folders with roles of Codex.
const TOML: [&str; 2] = ["home/.codex/agents", "project/.codex/agents"];

const TOML_FILES: [Sample; 11] = [
    ("plain", "plain-TAG.toml", "name = \"plain-TAG\"\nDESCRTOLD"),
    (
        "deep",
        "deep/down/deep-TAG.toml",
        "name = \"deep-TAG\"\nDESCRTOLD",
    ),
    ("unnamed", "unnamed-TAG.toml", "DESCRTOLD"),
    ("silent", "silent-TAG.toml", "name = \"silent-TAG\"\nTOLD"),
    ("mute", "mute-TAG.toml", "name = \"mute-TAG\"\nDESCR"),
    (
        "blank",
        "blank-TAG.toml",
        "name = \"blank-TAG\"\nDESCRdeveloper_instructions = \"\"\n",
    ),
    (
        "broken",
        "broken-TAG.toml",
        "name = \"broken-TAG\nDESCRTOLD",
    ),
    (
        "inner",
        "skills/inner-TAG.toml",
        "name = \"inner-TAG\"\nDESCRTOLD",
    ),
    (
        "hidden",
        ".hidden/hidden-TAG.toml",
        "name = \"hidden-TAG\"\nDESCRTOLD",
    ),
    ("dot", ".dot-TAG.toml", "name = \"dot-TAG\"\nDESCRTOLD"),
    ("same", "same.toml", "name = \"same\"\nDESCRTOLD"),
];

/// The kind of what every folder has and every program lists that looks there.
const PLAIN: &str = "plain";

fn session() -> Session {
    let session = crate::session();
    session
        .file("project/.git/HEAD", "ref: refs/heads/main\n")
        .dir("project/.git/objects")
        .dir("project/.git/refs");
    for folder in MARKDOWN {
        let name = format!("{folder}/kit/SKILL.md");
        session.file(name, "---\nname: kit\ndescription: A skill\n---\n");
        put(&session, folder, &MARKDOWN_FILES, "description: Of TAG\n");
    }
    for folder in TOML {
        put(&session, folder, &TOML_FILES, "description = \"Of TAG\"\n");
    }
    session
}

fn put(session: &Session, folder: &str, samples: &[Sample], description: &str) {
    let filled = |text: &str| {
        text.replace("DESCR", description)
            .replace("TOLD", "developer_instructions = \"x\"\n")
            .replace("TAG", &tag(folder))
    };
    for (_, path, text) in samples {
        session.file(filled(&format!("{folder}/{path}")), filled(text));
    }
}

/// Every agent but those called `same`: what befalls it, its folder and its name.
fn agents() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let of = |folders: &'static [&str], samples: &'static [Sample]| {
        folders.iter().flat_map(move |folder| {
            // Where only some programs look, and elsewhere nobody: such a file is nowhere in other folders.
            let is_in = |programs: &[&str]| programs.iter().any(|it| folder.contains(it));
            let is_open = is_in(&["/.claude/", "/.codex/", "/.copilot/", "/.github/"]);
            let is_all_read = is_in(&["/.claude/", "/.codex/"]);
            let is_asked = move |what: &str| match what {
                "same" => false,
                "inner" | "mods" | "kit" => is_open,
                "hidden" | "dot" => is_all_read,
                _ => true,
            };
            let samples = samples.iter().filter(move |(what, ..)| is_asked(what));
            samples.map(move |(what, ..)| (*what, *folder, format!("{what}-{}", tag(folder))))
        })
    };
    of(&MARKDOWN, &MARKDOWN_FILES).chain(of(&TOML, &TOML_FILES))
}

/// What a program says of itself.
struct Real {
    names: BTreeSet<String>,
    /// The word for the folder whose `same` it has.
    same: String,
}

impl Real {
    fn ask(program: AgentProgram, session: &Session) -> Self {
        let (names, text) = if program == AgentProgram::Codex {
            let roles = described_roles(session, WORKING);
            let (_, same) = roles.split_once("same: {\nOf ").unwrap();
            (named_roles(&roles), same.to_owned())
        } else {
            let names = match program {
                AgentProgram::Claude => agents_of_claude(session, WORKING),
                _ => agents_of_copilot(session, WORKING),
            };
            let (_, requests) = turn(program, session, WORKING, &["--agent", "same"]);
            let mut texts = requests.iter().map(Value::to_string);
            let told = texts.find_map(|it| Some(it.split_once("Text of ")?.1.to_owned()));
            (names, told.unwrap())
        };
        let same = text.split(|c: char| !c.is_alphanumeric() && c != '-');
        let same = same.into_iter().next().unwrap().to_owned();
        Self { names, same }
    }

    fn looks_in(&self, folder: &str) -> bool {
        self.names.contains(&format!("{PLAIN}-{}", tag(folder)))
    }
}

/// The answers and locations in the rows of a program.
fn answers(session: &Session, program: AgentProgram, name: &str) -> Vec<[String; 2]> {
    let why = session.json_in(WORKING, ["why", name]);
    let mut of_host = why["agents"].as_array().unwrap().clone();
    of_host.retain(|row| row["host"] == program.host());
    rows(&Value::Array(of_host), ["answer", "location"])
}

/// The word for an agent in a folder where a program looks, and which the program has not.
fn word_for(program: AgentProgram, what: &str) -> &'static str {
    match (program, what) {
        (AgentProgram::Codex, "broken" | "mute" | "blank") => "invalid",
        (_, "hidden" | "dot") => "passed-over",
        _ => "filtered",
    }
}

#[test]
fn why_says_which_agents_a_program_has_and_what_befell_the_others() {
    needs![Claude, Codex, Copilot];
    let untrusting = session();
    let trusting = session();
    let trusted = format!(
        "[projects.{:?}]\ntrust_level = \"trusted\"\n",
        trusting.path("project")
    );
    trusting.file("home/.codex/config.toml", trusted);
    let mut met = BTreeSet::new();
    for program in [
        AgentProgram::Claude,
        AgentProgram::Codex,
        AgentProgram::Copilot,
    ] {
        let host = program.host();
        let once_trusted = Real::ask(program, &trusting);
        for session in [&untrusting, &trusting] {
            let real = Real::ask(program, session);
            for (what, folder, name) in agents() {
                let expected = if real.names.contains(&name) {
                    "usable"
                } else if real.looks_in(folder) {
                    word_for(program, what)
                } else if once_trusted.names.contains(&name) {
                    "untrusted"
                } else if once_trusted.looks_in(folder) {
                    // What is wrong with it goes before trust, or after it.
                    continue;
                } else {
                    "not-looked-in"
                };
                let said = answers(session, program, &name);
                let said: Vec<&str> = said.iter().map(|[answer, _]| answer.as_str()).collect();
                assert_eq!(said, [expected], "{host}: {name}");
                met.insert(format!("{host} {expected}"));
            }
            // Of those that bear one name one is used, and the others say that it goes before them.
            let folders = MARKDOWN.into_iter().chain(TOML);
            let looked_in = folders.filter(|folder| real.looks_in(folder)).count();
            let said = answers(session, program, "same");
            let (used, others): (Vec<_>, Vec<_>) =
                said.iter().partition(|[answer, _]| answer == "usable");
            let [[_, location]] = used.as_slice() else {
                panic!("{host}: {said:?}");
            };
            let folder = location.rsplit_once('/').unwrap().0;
            let below = folder.strip_prefix(session.path("").to_str().unwrap());
            assert_eq!(tag(below.unwrap()), real.same, "{host}");
            let shadowed = others.iter().filter(|[answer, _]| answer == "shadowed");
            assert_eq!(shadowed.count(), looked_in - 1, "{host}: {said:?}");
        }
    }
    let expected = [
        "claude filtered",
        "claude not-looked-in",
        "claude usable",
        "codex filtered",
        "codex invalid",
        "codex not-looked-in",
        "codex untrusted",
        "codex usable",
        "copilot filtered",
        "copilot not-looked-in",
        "copilot passed-over",
        "copilot usable",
    ];
    let met: Vec<&str> = met.iter().map(String::as_str).collect();
    assert_eq!(met, expected);
}

/// A file in a folder for agents that begins or ends its frontmatter in a way that nobody takes for frontmatter.
#[test]
fn why_names_a_file_that_no_program_takes_for_an_agent() {
    needs![Claude];
    let session = session();
    for (name, text) in [
        ("late", "\n---\nname: late\ndescription: d\n---\n"),
        ("open", "---\nname: open\ndescription: d\n"),
        ("bare", "Only a text\n"),
    ] {
        session.file(format!("home/.claude/agents/{name}.md"), text);
    }
    let real = agents_of_claude(&session, WORKING);
    for name in ["late", "open", "bare"] {
        assert!(!real.contains(name), "{real:?}");
        let file = format!("~/.claude/agents/{name}.md: ");
        let said = session.grove_in(WORKING, ["why", name]).fails(1);
        said.says([&file, "not an agent"]);
    }
}
