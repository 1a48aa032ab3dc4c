//! Every real agent file, written back and changed field by field.

use std::path::PathBuf;

use grove_spec::agent::edit::{self, FieldValue};
use grove_spec::agent::{self, compose};
use grove_testkit::needs;
use grove_testkit::shared;

/// Paths and texts.
type Files = Vec<(PathBuf, String)>;

/// Every Markdown file of the real collections that lies in a folder of agents: agents, and notes without frontmatter.
fn real_files() -> (Files, Files) {
    let mut files = shared::files_below(&shared::real_corpus().unwrap()).unwrap();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.parent().unwrap().ends_with("agents") && agent::naming::is_agent_file(name)
    });
    let texts = files.into_iter().map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    });
    let (agents, notes): (Vec<_>, Vec<_>) = texts.partition(|(_, text)| text.starts_with("---\n"));
    let (n_agents, n_notes) = (agents.len(), notes.len());
    assert!(
        n_agents > 25 && n_notes > 0,
        "the collections have lost files: {n_agents} {n_notes}"
    );
    (agents, notes)
}

fn real_agents() -> Files {
    real_files().0
}

/// A file cut by its lines, without Grove's own reader: each key of the frontmatter with its lines, and the rest.
fn cut(text: &str) -> (Vec<(String, String)>, String) {
    let end = text[4..].find("\n---").unwrap() + 5;
    let (block, body) = (&text[4..end], &text[end..]);
    let mut keys: Vec<(String, String)> = Vec::new();
    for line in block.split_inclusive('\n') {
        let is_inner = line.starts_with([' ', '\t', '-', '\n']);
        match (line.split_once(':'), keys.last_mut()) {
            (_, Some((_, lines))) if is_inner => lines.push_str(line),
            (Some((key, _)), _) if !line.starts_with('#') => {
                keys.push((key.to_owned(), line.to_owned()));
            }
            (_, _) => keys.push(("#".to_owned(), line.to_owned())),
        }
    }
    // Blank lines after a value belong to nobody.
    let whole = keys.into_iter().flat_map(|(key, lines)| {
        let kept = format!("{}\n", lines.trim_end_matches('\n'));
        let blank = lines.len().saturating_sub(kept.len());
        let blanks = std::iter::repeat_n(("#".to_owned(), "\n".to_owned()), blank);
        std::iter::once((key, kept)).chain(blanks)
    });
    (whole.collect(), body.to_owned())
}

#[test]
fn changing_any_field_of_a_real_file_changes_its_lines_alone() {
    needs![RealCollections];
    let (mut changes, mut refused) = (0, Vec::new());
    for (path, text) in real_agents() {
        let (keys, body) = cut(&text);
        for (key, lines) in keys.iter().filter(|(key, _)| key != "#") {
            let value = FieldValue::text("something else: \"entirely\" # here");
            let Ok(changed) = edit::set(&text, key, &value) else {
                refused.push(format!("{}: {key}", path.display()));
                continue;
            };
            let (new_keys, new_body) = cut(&changed);
            assert!(body == new_body, "{}: {key}", path.display());
            let others = |all: &[(String, String)]| -> Vec<(String, String)> {
                let others = all.iter().filter(|(other, _)| other != key);
                others.cloned().collect()
            };
            let case = format!("{}: {key}", path.display());
            assert_eq!(others(&keys), others(&new_keys), "{case}");
            let new = new_keys.iter().find(|(other, _)| other == key);
            assert_ne!(new.map(|(_, lines)| lines), Some(lines), "{case}");
            let (left, left_body) = cut(&edit::remove(&text, key).unwrap());
            assert!((others(&keys), &body) == (left, &left_body), "{case}");
            changes += 1;
        }
    }
    assert!(changes > 100, "{changes}");
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn a_real_file_in_which_nothing_is_changed_is_written_back_byte_for_byte() {
    needs![RealCollections];
    for (path, text) in real_agents() {
        assert_eq!(compose::change(&text, &[]).as_deref(), Ok(text.as_str()));
        let parsed = agent::parse(&text);
        assert!(parsed.is_valid(), "{}", path.display());
        let agent = parsed.agent;
        let same = [
            ("name", agent.name.map(FieldValue::Text)),
            (
                "description",
                Some(FieldValue::Text(agent.description.unwrap())),
            ),
            ("model", agent.model.map(FieldValue::Text)),
            ("tools", agent.tools.map(FieldValue::list)),
        ];
        for (key, value) in same {
            let Some(value) = value else { continue };
            let written = edit::set(&text, key, &value);
            let case = format!("{}: {key}", path.display());
            assert_eq!(written.as_deref(), Ok(text.as_str()), "{case}");
        }
    }
}

#[test]
fn lists_are_written_into_real_files_and_taken_out_again() {
    needs![RealCollections];
    for (path, text) in real_agents() {
        let tools = ["Read", "Bash(git log, git diff)"];
        let changed = edit::set(&text, "tools", &FieldValue::list(tools)).unwrap();
        let read = agent::parse(&changed).agent.tools.unwrap();
        assert_eq!(read, tools, "{}", path.display());
        let others = |text: &str| {
            let (mut keys, body) = cut(text);
            keys.retain(|(key, _)| key != "tools");
            (keys, body)
        };
        assert!(others(&text) == others(&changed), "{}", path.display());
        let added = edit::set(&text, "skills", &FieldValue::list(["a", "b"])).unwrap();
        let removed = edit::remove(&added, "skills");
        assert_eq!(removed.as_deref(), Ok(text.as_str()), "{}", path.display());
    }
}

/// What stands between the second line `---` and the end without blank lines at its edges, found without Grove's
/// own reader.
fn body_of(text: &str) -> String {
    let (_, body) = text[4..].split_once("\n---\n").unwrap();
    body.trim_start_matches('\n').trim_end().to_owned()
}

#[test]
fn real_agents_are_told_exactly_their_own_text() {
    needs![RealCollections];
    let session = crate::session().without_bundled().with_repository();
    let (agents, notes) = real_files();
    let prompt = |path: &PathBuf| {
        let (folder, stem) = (path.parent().unwrap(), path.file_stem().unwrap());
        session.grove([
            "prompt".as_ref(),
            stem,
            "--agents-dir".as_ref(),
            folder.as_os_str(),
        ])
    };
    for (path, text) in &agents {
        let is_plain = agent::parse(text).agent.skills.is_empty();
        assert!(is_plain, "{}", path.display());
        assert_eq!(prompt(path).ok().stdout, format!("{}\n", body_of(text)));
    }
    // Without frontmatter it is a note beside a skill, and nobody's agent.
    for (path, text) in &notes {
        prompt(path).fails(1);
        let findings = agent::parse(text).diagnostics;
        let codes: Vec<_> = findings.iter().map(|it| it.code.as_str()).collect();
        assert_eq!(codes, ["frontmatter-missing"], "{}", path.display());
    }
}

#[test]
fn the_program_edits_real_files_and_takes_the_edit_back() {
    needs![RealCollections];
    let session = crate::session().with_repository();
    for (at, (path, text)) in real_agents().into_iter().enumerate() {
        let stem = agent::naming::stem(path.file_name().unwrap().to_str().unwrap()).to_owned();
        let file = format!("home/.claude/agents/{at}/{stem}.md");
        session.file(&file, &text);
        let address = format!("{at}/{stem}@user:.claude/agents");
        let edited = |option: &str, value: &str| {
            let edit = ["agents", "edit", &address, option, value];
            session.grove(edit).ok();
            session.read(&file)
        };
        let (before, body) = cut(&text);
        let changed = edited("--max-tokens", "1234");
        let (mut after, new_body) = cut(&changed);
        after.retain(|(key, _)| key != "maxTokens");
        assert!((before, body) == (after, new_body), "{}", path.display());
        assert_eq!(agent::parse(&changed).agent.max_tokens, Some(1234));
        let taken_back = edited("--unset", "maxTokens");
        assert_eq!(taken_back, text, "{}", path.display());
    }
}
