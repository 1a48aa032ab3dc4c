//! Libraries laid out for a program.

use std::fs;
use std::path::Path;

use grove_testkit::agent_program::AgentProgram;
use grove_testkit::session::Session;
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
pub(crate) fn copy_real(home: &Session, program: AgentProgram) -> usize {
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
pub(crate) fn generate(home: &Session, program: AgentProgram, n_skills: usize, longest: usize) {
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
    pub(crate) path: String,
    /// The name under which it would be listed.
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// Hosts for which `grove catalog --host` differs from the program.
    pub(crate) differs_in: Vec<&'static str>,
}

/// Every row of [`ODD_FILES`] as the file that it stands for.
pub(crate) fn odd_files() -> Vec<OddFile> {
    let of_row = |row: &&'static str| {
        let cells: Vec<&str> = row.splitn(4, '|').map(str::trim_start).collect();
        let (name, path) = (cells[0].trim_end(), cells[2].trim_end());
        let text = cells[3].replace("{long}", &"long ".repeat(300));
        let is_whole = text.starts_with(['-', '#', '\u{feff}']);
        OddFile {
            path: match path {
                "" => format!("{name}/SKILL.md"),
                path => path.to_owned(),
            },
            name,
            text: if is_whole {
                text
            } else {
                format!("---\nname: {name}\n{text}\n---\n\nx\n")
            },
            differs_in: cells[1].split_whitespace().collect(),
        }
    };
    ODD_FILES.iter().map(of_row).collect()
}

/// Every way of being odd that was tried; docs/hosts.md has the reasons for those that differ.
///
/// Name, hosts that differ, path where it is not the name's folder, and either what stands below the name in the
/// frontmatter or the whole file.
const ODD_FILES: &[&str] = &[
    "plain      | | | description: Plain",
    "inner      | | plain/inner/SKILL.md | description: In a skill",
    "deep       | | a/b/c/d/e/f/deep/SKILL.md | description: Six groups down",
    "renamed    | | | ---\nname: other\ndescription: Named unlike its folder\n---\n\nx\n",
    "other      | | renamed2/SKILL.md | description: Named unlike its folder",
    "hidden     | | .hidden/hidden/SKILL.md | description: In a hidden folder",
    "module     | | node_modules/module/SKILL.md | description: In node_modules",
    "bare       | | | ---\nname: bare\n---\n\n# Head\n\nFirst line.\nSecond *line*.\n\nThird.\nFourth.\n",
    "empty      | | | ---\nname: empty\n---\n",
    "unnamed    | | | ---\ndescription: No name\n---\n\nx\n",
    "nothing    | | | # A title\n\nText.\n",
    "unclosed   | | | ---\nname: unclosed\ndescription: d\n",
    "some-files | | | description: For some files\npaths: src/**/*.rs, docs",
    "all-files  | | | description: For all files\npaths: \"**\"",
    "colon      | | | description: Use when: a colon is there",
    "end-colon  | codex | | ---\nname: end-colon\ndescription: Ends with a colon:\n---\n\nThe text.\n",
    "escape     | codex | | ---\nname: escape\ndescription: \"Matches \\d+ in C:\\Users\"\n---\n\nThe text.\n",
    "quote      | codex | | ---\nname: quote\ndescription: 'It's a reviewer'\n---\n\nThe text.\n",
    "two-quotes | codex | | ---\nname: two-quotes\ndescription: \"a\" and \"b\"\n---\n\nThe text.\n",
    "dash       | codex | | ---\nname: dash\ndescription: - item\n---\n\nThe text.\n",
    "two-lines  | codex | | ---\nname: two-lines\ndescription: first line\nsecond line\n---\n\nThe text.\n",
    "other-key  | | | ---\nname: other-key\ndescription: d\nkey2: a: b\n---\n\nThe text.\n",
    "bang-colon | codex | | ---\nname: bang-colon\ndescription: wow! ends:\n---\n\nThe text.\n",
    "lines      | | | description: |-\n  One <b> & \"two\".\n\n  It's three.",
    "ending     | pi | | description: |\n  With a line end",
    "blanks     | copilot pi | | description: \"  In   blanks  \"",
    "secret     | | | description: Not for models\ndisable-model-invocation: true",
    "manual     | | | description: Not for people\nuser-invocable: false",
    "when       | | | description: Something\nwhen_to_use: Whenever",
    "long       | | | description: {long}end",
    "with_line  | | | description: A low line",
    "naïve      | | | description: Not ASCII",
    "marked     | claude codex | | \u{feff}---\nname: marked\ndescription: Byte order mark\n---\n\nx\n",
    "number     | copilot pi | | description: 456",
    "twice      | claude | | description: one\ndescription: two",
    "anchor     | claude codex copilot pi | | description: &a text",
    "list       | claude | | description: [a, b]",
    "control    | claude codex copilot pi | | description: \"a\\u001bb\\u200bc\"",
    "flat       | | flat.md | description: A single file",
    "small      | | small/skill.md | description: A file in small letters",
];
