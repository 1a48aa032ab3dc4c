//! Libraries laid out for a program.

use std::fs;
use std::path::Path;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::home::TestHome;
use grove_testkit::shared;

/// The folder below home that a program reads.
pub(crate) const fn folder_of(program: AgentProgram) -> &'static str {
    match program {
        AgentProgram::Claude => ".claude/skills",
        AgentProgram::Codex => ".agents/skills",
        AgentProgram::Copilot => ".copilot/skills",
        AgentProgram::Pi => ".pi/agent/skills",
    }
}

/// Copies every skill file of the real corpus and says how many there are. A program that does not look into
/// groups gets them side by side, where a later one takes the place of an earlier one of the same name.
pub(crate) fn copy_real(home: &TestHome, program: AgentProgram) -> usize {
    let corpus = shared::real_corpus().unwrap_or_else(|why| panic!("{why}"));
    let root = home.path("home").join(folder_of(program));
    copy(&corpus, &corpus, &root, program == AgentProgram::Claude)
}

fn copy(folder: &Path, corpus: &Path, root: &Path, is_flat: bool) -> usize {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    let mut copied = 0;
    for entry in entries {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            copied += copy(&path, corpus, root, is_flat);
        } else if entry.file_name() == "SKILL.md" {
            let below = if is_flat {
                Path::new(folder.file_name().unwrap())
            } else {
                folder.strip_prefix(corpus).unwrap()
            };
            fs::create_dir_all(root.join(below)).unwrap();
            fs::write(root.join(below).join("SKILL.md"), fs::read(&path).unwrap()).unwrap();
            copied += 1;
        }
    }
    copied
}

/// Skills with descriptions of up to so many characters, no two of the same length in a row; for programs that
/// look into groups, in groups.
pub(crate) fn generate(home: &TestHome, program: AgentProgram, n_skills: usize, longest: usize) {
    for number in 0..n_skills {
        let name = format!("task-{number:04}");
        let length = longest - number * 7 % (longest / 4);
        let mut text = format!("Does task {number} & reports <it>. Use when task {number} is due");
        while text.len() < length {
            text.push_str(" or when a \"due\" task — as usual — is late");
        }
        let end = text.floor_char_boundary(length);
        let folder = folder_of(program);
        let group = if program == AgentProgram::Claude {
            String::new()
        } else {
            format!("group-{}/", number % 5)
        };
        home.file(
            format!("home/{folder}/{group}{name}/SKILL.md"),
            format!(
                "---\nname: {name}\ndescription: |-\n  {}\n---\n\n# {name}\n",
                text[..end].trim_end()
            ),
        );
    }
}

/// A file that programs may read otherwise than Grove does.
pub(crate) struct OddFile {
    pub(crate) path: &'static str,
    /// The name under which it would be listed.
    pub(crate) name: &'static str,
    text: &'static str,
    /// Hosts for which `grove catalog --host` differs from the program.
    pub(crate) differs_in: &'static [&'static str],
}

impl OddFile {
    pub(crate) fn text(&self) -> String {
        self.text.replace("{long}", &"long ".repeat(300))
    }
}

const fn odd(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    differs_in: &'static [&'static str],
) -> OddFile {
    OddFile {
        path,
        name,
        text,
        differs_in,
    }
}

/// Every way of being odd that was tried; docs/hosts.md has the reasons for those that differ.
pub(crate) const ODD_FILES: &[OddFile] = &[
    odd(
        "plain",
        "plain/SKILL.md",
        "---\nname: plain\ndescription: Plain\n---\n\nx\n",
        &[],
    ),
    odd(
        "inner",
        "plain/inner/SKILL.md",
        "---\nname: inner\ndescription: In a skill\n---\n\nx\n",
        &[],
    ),
    odd(
        "deep",
        "a/b/c/d/e/f/deep/SKILL.md",
        "---\nname: deep\ndescription: Six groups down\n---\n\nx\n",
        &[],
    ),
    odd(
        "renamed",
        "renamed/SKILL.md",
        "---\nname: other\ndescription: Named unlike its folder\n---\n\nx\n",
        &[],
    ),
    odd(
        "other",
        "renamed2/SKILL.md",
        "---\nname: other\ndescription: Named unlike its folder\n---\n\nx\n",
        &[],
    ),
    odd(
        "hidden",
        ".hidden/hidden/SKILL.md",
        "---\nname: hidden\ndescription: In a hidden folder\n---\n\nx\n",
        &[],
    ),
    odd(
        "module",
        "node_modules/module/SKILL.md",
        "---\nname: module\ndescription: In node_modules\n---\n\nx\n",
        &[],
    ),
    odd(
        "bare",
        "bare/SKILL.md",
        "---\nname: bare\n---\n\n# Head\n\nFirst line.\nSecond *line*.\n\nThird.\nFourth.\n",
        &[],
    ),
    odd("empty", "empty/SKILL.md", "---\nname: empty\n---\n", &[]),
    odd(
        "unnamed",
        "unnamed/SKILL.md",
        "---\ndescription: No name\n---\n\nx\n",
        &[],
    ),
    odd(
        "nothing",
        "nothing/SKILL.md",
        "# A title\n\nText.\n",
        &["claude"],
    ),
    odd(
        "colon",
        "colon/SKILL.md",
        "---\nname: colon\ndescription: Use when: a colon is there\n---\n\nx\n",
        &[],
    ),
    odd(
        "end-colon",
        "end-colon/SKILL.md",
        "---\nname: end-colon\ndescription: Ends with a colon:\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "escape",
        "escape/SKILL.md",
        "---\nname: escape\ndescription: \"Matches \\d+ in C:\\Users\"\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "quote",
        "quote/SKILL.md",
        "---\nname: quote\ndescription: 'It's a reviewer'\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "two-quotes",
        "two-quotes/SKILL.md",
        "---\nname: two-quotes\ndescription: \"a\" and \"b\"\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "dash",
        "dash/SKILL.md",
        "---\nname: dash\ndescription: - item\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "two-lines",
        "two-lines/SKILL.md",
        "---\nname: two-lines\ndescription: first line\nsecond line\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "other-key",
        "other-key/SKILL.md",
        "---\nname: other-key\ndescription: d\nkey2: a: b\n---\n\nThe text.\n",
        &[],
    ),
    odd(
        "bang-colon",
        "bang-colon/SKILL.md",
        "---\nname: bang-colon\ndescription: wow! ends:\n---\n\nThe text.\n",
        &["codex"],
    ),
    odd(
        "lines",
        "lines/SKILL.md",
        "---\nname: lines\ndescription: |-\n  One <b> & \"two\".\n\n  It's three.\n---\n\nx\n",
        &[],
    ),
    odd(
        "ending",
        "ending/SKILL.md",
        "---\nname: ending\ndescription: |\n  With a line end\n---\n\nx\n",
        &["pi"],
    ),
    odd(
        "blanks",
        "blanks/SKILL.md",
        "---\nname: blanks\ndescription: \"  In   blanks  \"\n---\n\nx\n",
        &["copilot", "pi"],
    ),
    odd(
        "secret",
        "secret/SKILL.md",
        "---\nname: secret\ndescription: Not for models\ndisable-model-invocation: true\n---\n\nx\n",
        &[],
    ),
    odd(
        "manual",
        "manual/SKILL.md",
        "---\nname: manual\ndescription: Not for people\nuser-invocable: false\n---\n\nx\n",
        &[],
    ),
    odd(
        "when",
        "when/SKILL.md",
        "---\nname: when\ndescription: Something\nwhen_to_use: Whenever\n---\n\nx\n",
        &[],
    ),
    odd(
        "long",
        "long/SKILL.md",
        "---\nname: long\ndescription: {long}end\n---\n\nx\n",
        &[],
    ),
    odd(
        "with_line",
        "with_line/SKILL.md",
        "---\nname: with_line\ndescription: A low line\n---\n\nx\n",
        &[],
    ),
    odd(
        "naïve",
        "naïve/SKILL.md",
        "---\nname: naïve\ndescription: Not ASCII\n---\n\nx\n",
        &[],
    ),
    odd(
        "marked",
        "marked/SKILL.md",
        "\u{feff}---\nname: marked\ndescription: Byte order mark\n---\n\nx\n",
        &["claude", "codex"],
    ),
    odd(
        "number",
        "number/SKILL.md",
        "---\nname: number\ndescription: 456\n---\n\nx\n",
        &["copilot", "pi"],
    ),
    odd(
        "twice",
        "twice/SKILL.md",
        "---\nname: twice\ndescription: one\ndescription: two\n---\n\nx\n",
        &["claude"],
    ),
    odd(
        "anchor",
        "anchor/SKILL.md",
        "---\nname: anchor\ndescription: &a text\n---\n\nx\n",
        &["claude", "codex", "copilot", "pi"],
    ),
    odd(
        "list",
        "list/SKILL.md",
        "---\nname: list\ndescription: [a, b]\n---\n\nx\n",
        &["claude"],
    ),
    odd(
        "control",
        "control/SKILL.md",
        "---\nname: control\ndescription: \"a\\u001bb\\u200bc\"\n---\n\nx\n",
        &["claude", "codex", "copilot", "pi"],
    ),
    odd(
        "small",
        "small/skill.md",
        "---\nname: small\ndescription: A file in small letters\n---\n\nx\n",
        &[],
    ),
];
