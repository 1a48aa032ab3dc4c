//! Every real agent file, written back and changed field by field.

use std::path::PathBuf;

use grove_spec::agent::edit::{self, FieldValue};
use grove_spec::agent::{self, compose};
use grove_testkit::home::TestHome;
use grove_testkit::process::Ending;
use grove_testkit::shared;

/// Every Markdown file of the real collections that lies in a folder of agents and has frontmatter.
fn real_agents() -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    let mut folders = vec![shared::real_corpus().unwrap()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if folder.ends_with("agents") && agent::naming::is_agent_file(&name) {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.starts_with("---\n") {
                    all.push((path, text));
                }
            }
        }
    }
    all.sort();
    assert!(all.len() > 25, "the collections have lost their agents");
    all
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
                all.iter()
                    .filter(|(other, _)| other != key)
                    .cloned()
                    .collect()
            };
            assert_eq!(
                others(&keys),
                others(&new_keys),
                "{}: {key}",
                path.display()
            );
            let new = new_keys.iter().find(|(other, _)| other == key);
            assert_ne!(
                new.map(|(_, lines)| lines),
                Some(lines),
                "{}: {key}",
                path.display()
            );
            let removed = edit::remove(&text, key).unwrap();
            let (left, left_body) = cut(&removed);
            assert!(
                (others(&keys), &body) == (left, &left_body),
                "{}: {key}",
                path.display()
            );
            changes += 1;
        }
    }
    assert!(changes > 100, "{changes}");
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn a_real_file_in_which_nothing_is_changed_is_written_back_byte_for_byte() {
    for (path, text) in real_agents() {
        assert_eq!(compose::change(&text, &[]).as_deref(), Ok(text.as_str()));
        let agent = agent::parse(&text).agent;
        let mut same: Vec<(&str, FieldValue)> = Vec::new();
        let texts = [
            ("name", &agent.name),
            ("description", &agent.description),
            ("model", &agent.model),
        ];
        for (key, value) in texts {
            same.extend(value.as_ref().map(|value| (key, FieldValue::text(value))));
        }
        same.extend(
            agent
                .tools
                .as_ref()
                .map(|tools| ("tools", FieldValue::list(tools))),
        );
        for (key, value) in same {
            let written = edit::set(&text, key, &value);
            assert_eq!(
                written.as_deref(),
                Ok(text.as_str()),
                "{}: {key}",
                path.display()
            );
        }
    }
}

#[test]
fn the_program_edits_real_files_and_takes_the_edit_back() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_grove"));
    home.dir("project/.git");
    for (at, (path, text)) in real_agents().into_iter().enumerate() {
        let stem = agent::naming::stem(path.file_name().unwrap().to_str().unwrap()).to_owned();
        let file = format!("home/.claude/agents/{at}/{stem}.md");
        home.file(&file, &text);
        let address = format!("{at}/{stem}@user:.claude/agents");
        let run = |words: &[&str]| {
            let all: Vec<&str> = ["agents", "edit", &address]
                .iter()
                .chain(words)
                .copied()
                .collect();
            let finished = home.run("project", &all);
            assert!(
                matches!(finished.ending, Ending::Exited(0)),
                "{}: {}",
                path.display(),
                finished.stderr_text()
            );
            std::fs::read_to_string(home.path(&file)).unwrap()
        };
        let (before, body) = cut(&text);
        let changed = run(&["--max-tokens", "1234"]);
        let (mut after, new_body) = cut(&changed);
        after.retain(|(key, _)| key != "maxTokens");
        assert!((before, body) == (after, new_body), "{}", path.display());
        assert_eq!(agent::parse(&changed).agent.max_tokens, Some(1234));
        assert_eq!(run(&["--unset", "maxTokens"]), text, "{}", path.display());
    }
}
