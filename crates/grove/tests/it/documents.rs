//! The documents are true: every command in them runs and prints what they show.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Value, json};

fn repository() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().unwrap()
}

pub(crate) fn document(path: &str) -> String {
    let text = std::fs::read_to_string(repository().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The folder below the home in which the commands run.
const WORK: &str = "work";

/// A shell in an empty home with `grove` on the path, and a model that answers as the guide tells.
struct Shell {
    home: tempfile::TempDir,
    model: ModelServer,
}

impl Shell {
    fn new() -> Self {
        let home = tempfile::tempdir_in(grove_testkit::session::place()).unwrap();
        // A home folder itself is no place for children.
        std::fs::create_dir(home.path().join(WORK)).unwrap();
        symlink(
            repository().join("docs"),
            home.path().join(WORK).join("docs"),
        )
        .unwrap();
        std::fs::create_dir(home.path().join("bin")).unwrap();
        if let Ok(claude) = Need::Claude.find() {
            symlink(claude, home.path().join("bin/claude")).unwrap();
        }
        let pages = home
            .path()
            .join(WORK)
            .join("pages.txt")
            .display()
            .to_string();
        let replies = [
            Reply::call("bash", json!({ "command": "ls live | wc -l" })),
            Reply::text("There is one."),
            Reply::text("There is still one."),
            Reply::text("There are none."),
        ];
        let script = Script::chosen_by(move |number, request| {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            if body.contains("Write the number") || body.contains("Count the pages") {
                return counted_pages(&request.json(), &pages);
            }
            if body.contains("Count the notes") {
                return Reply::text("One.");
            }
            if body.contains("Count the drafts") {
                return Reply::text("None.");
            }
            if let Some(reply) = later_answer(&body) {
                return reply;
            }
            let reply = replies.get(number).cloned();
            reply.unwrap_or_else(|| Reply::error(400, "nothing was expected"))
        });
        Self {
            home,
            model: ModelServer::start(script).unwrap(),
        }
    }

    fn run(&self, line: &str) -> String {
        let line = match std::env::var_os(RECORD) {
            Some(_) => line
                .replace("--replay", "--record")
                .replace("ANTHROPIC_API_KEY= ", ""),
            None => line.to_owned(),
        };
        let programs = Path::new(env!("CARGO_BIN_EXE_grove")).parent().unwrap();
        let mut path = format!("{}:/usr/bin:/bin", programs.display());
        if line.contains("--replay") || line.contains("--record") {
            // Installed where it is spoken of: everything before knows of no such host.
            path = format!("{path}:{}", self.home.path().join("bin").display());
        }
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .current_dir(self.home.path().join(WORK))
            .env_clear();
        shell
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env("npm_config_prefix", self.home.path().join(".npm-global"))
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "a-key-of-the-guide")
            .env("COLUMNS", "100");
        let finished = process::capture(&mut shell, process::HANGING).unwrap();
        finished.stdout_text()
    }
}

/// What the model says in the guide's later examples.
fn later_answer(body: &str) -> Option<Reply> {
    let is_first = !body.contains("tool_result");
    let bash = |command: &str| Reply::call("bash", json!({ "command": command }));
    let says = |task: &str| body.contains(task);
    Some(match () {
        () if says("Say what docs/hosts.md") => {
            Reply::text("Hosts and what they tell their models.")
        }
        () if says("Say what docs/programs.md") => Reply::text("Agent programs as children."),
        () if says("Correct the spelling") && is_first => bash("sed -i s/helo/hello/ hello.sh"),
        () if says("Correct the spelling") => Reply::text("I corrected hello.sh."),
        () if says("Say that it works") => Reply::text("It works."),
        () if says("Look around") => Reply::call("ls", json!({ "path": "." })),
        () => return None,
    })
}

/// Makes the recordings of the guide anew: its model server answers, and nothing is played.
const RECORD: &str = "GROVE_RECORD";

/// One child counts with Grove's own tools, another program writes with its own.
fn counted_pages(request: &Value, file: &str) -> Reply {
    let is_first = request["messages"].as_array().map_or(0, Vec::len) == 1;
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    match (is_first, has("Write")) {
        (true, true) => Reply::call("Write", json!({ "file_path": file, "content": "3\n" })),
        (false, true) => Reply::text("It is written."),
        (true, false) if has("bash") => {
            let command = "printf '%s\\n' one two three | wc -l";
            Reply::call("bash", json!({ "command": command }))
        }
        _ => Reply::text("There are 3 pages."),
    }
}

/// Commands and what a document shows below each.
pub(crate) fn sessions(text: &str) -> Vec<(String, Vec<String>)> {
    let mut sessions: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), sessions.last_mut()) {
                (Some(command), _) => sessions.push((command.to_owned(), Vec::new())),
                (None, Some((_, shown))) => shown.push(line.to_owned()),
                (None, None) => panic!("output before a command"),
            },
        }
    }
    sessions
}

/// Whether printed lines are as shown: `...` stands for any lines, `[..]` for anything in a line.
pub(crate) fn shows(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any == "..." => {
            (0..=printed.len()).any(|skip| shows(rest, &printed[skip..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_shows(line, first) && shows(rest, others)),
    }
}

fn line_shows(expected: &str, printed: &str) -> bool {
    let mut pieces = expected.split("[..]");
    let Some(mut rest) = printed.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    for (index, piece) in pieces.iter().enumerate() {
        if index + 1 == pieces.len() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty()
}

#[test]
fn the_guide_prints_what_it_shows() {
    needs![Claude];
    let shell = Shell::new();
    if std::env::var_os(RECORD).is_some() {
        // What is recorded goes behind what is there.
        let _ = std::fs::remove_file(repository().join("docs/recordings/pages.jsonl"));
    }
    let sessions = sessions(&document("docs/guide.md"));
    assert!(sessions.len() > 20, "the guide has lost its commands");
    for (command, expected) in sessions {
        let printed = shell.run(&command);
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert!(
            shows(&expected, &lines),
            "$ {command}\nexpected:\n{}\nprinted:\n{printed}",
            expected.join("\n")
        );
    }
}

#[test]
fn the_readme_prints_what_it_shows() {
    let shell = Shell::new();
    let readme = document("README.md");
    let sessions = sessions(&readme);
    assert_eq!(sessions.len(), 2, "the README has other commands");
    for (command, expected) in sessions {
        let printed = shell.run(&command);
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert!(shows(&expected, &lines), "$ {command}\n{printed}");
    }
    let example = readme.split("```toml\n").nth(1).expect("an example");
    let example = example.split("\n```").next().unwrap_or_default();
    let shown = shell.run("ANTHROPIC_API_KEY= grove init");
    let indented: Vec<String> = example.lines().map(|line| format!("  {line}")).collect();
    assert!(shown.contains(&indented.join("\n")), "{shown}");
    assert!(document("docs/guide.md").contains(example), "{example}");
    let file = shell.home.path().join(".config/grove/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, example).unwrap();
    let printed = shell.run("grove config; echo \"exit code $?\"");
    assert!(printed.ends_with("exit code 0\n"), "{printed}");
    assert!(printed.contains("local/small"), "{printed}");
}

/// Every query on the page about the journal runs over a journal, and every column is on the page.
#[test]
fn the_journal_is_as_its_page_says() {
    let shell = Shell::new();
    for (command, _) in sessions(&document("docs/guide.md")) {
        if ["counter", "live", "runs wait"]
            .iter()
            .any(|word| command.contains(word))
        {
            shell.run(&command);
        }
    }
    let path = shell.home.path().join(".local/state/grove/runs.db");
    let journal = Connection::open(path).unwrap();
    let page = document("docs/reference/journal.md");
    let queries: Vec<&str> = page
        .split("```sql\n")
        .skip(1)
        .filter_map(|block| block.split("\n```").next())
        .collect();
    assert_eq!(queries.len(), 4);
    let rows = |query: &str| -> Vec<Vec<String>> {
        let mut statement = journal
            .prepare(query)
            .unwrap_or_else(|error| panic!("{query}: {error}"));
        let n = statement.column_count();
        let cell = |row: &Row<'_>, at: usize| match row.get_ref(at).unwrap() {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        let rows = statement.query_map([], |row| Ok((0..n).map(|at| cell(row, at)).collect()));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let found: Vec<Vec<Vec<String>>> = queries.iter().map(|query| rows(query)).collect();
    assert_eq!(found[0], Vec::<Vec<String>>::new(), "everything is over");
    assert_eq!(found[1][0][2], "ls live | wc -l");
    assert_eq!(found[2][0][1..], ["48", "anthropic/small"]);
    assert!(found[3][0][1].contains("You count."), "{:?}", found[3]);
    let documented: BTreeSet<&str> = page.split('`').collect();
    let columns = "SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table'";
    let columns = rows(columns);
    assert!(columns.len() > 30, "{columns:?}");
    for name in columns.iter().flatten() {
        assert!(
            documented.contains(name.as_str()),
            "`{name}` is not on the page"
        );
    }
    let facts = rows("SELECT DISTINCT body ->> '$.fact' FROM events");
    for fact in facts.iter().flatten() {
        assert!(
            documented.contains(fact.as_str()),
            "`{fact}` is not on the page"
        );
    }
}

#[test]
fn the_matcher_can_fail() {
    for (expected, printed, is_shown) in [
        (
            &["a[..]c", "...", "z"][..],
            &["abc", "x", "y", "z"][..],
            true,
        ),
        (&["a[..]b[..]"], &["a1b2"], true),
        (&["a[..]c"], &["abd"], false),
        (&["a"], &["a", "b"], false),
        (&["a", "...", "z"], &["a", "b"], false),
    ] {
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(shows(&expected, printed), is_shown, "{expected:?}");
    }
}

#[test]
fn the_readme_has_two_commands_and_ci_runs_the_second() {
    let readme = document("README.md");
    let commands: Vec<&str> = readme
        .split("```sh\n")
        .skip(1)
        .filter_map(|block| block.split("\n```").next())
        .collect();
    assert_eq!(commands, ["cargo run --release -- try", "cargo xtask test"]);
    let run = document(".ci/run");
    let run: Vec<&str> = run.lines().filter(|line| line.contains("cargo")).collect();
    assert_eq!(
        run,
        ["cargo xtask test", "exec cargo xtask test --against-hosts"]
    );
    // The test command runs the first command too.
    assert!(document("xtask/src/test.rs").contains("cargo(\"run --release -- try\")"));
}

#[test]
fn links_lead_somewhere() {
    for page in ["README.md", "ARCHITECTURE.md", "docs/guide.md"] {
        let folder = repository().join(page).parent().unwrap().to_path_buf();
        let text = document(page);
        let links = text.split("](").skip(1);
        for link in links.filter_map(|rest| rest.split(')').next()) {
            let leads = link.starts_with('#') || folder.join(link).exists();
            assert!(leads, "{page}: {link}");
        }
    }
}

/// Every command that takes `--json` has a row on the page about JSON.
#[test]
fn every_command_with_json_has_a_row() {
    let page = document("docs/reference/json.md");
    let rows = page.lines().filter(|line| line.starts_with("| `grove"));
    // One row may be about several commands: `grove skills create`, `edit`.
    let mut documented = BTreeSet::new();
    for row in rows {
        let commands = row.split('|').nth(1).unwrap_or_default();
        let mut names = commands.split('`').skip(1).step_by(2);
        let first = names.next().unwrap_or_default();
        let above = first.rsplit_once(' ').map_or("", |(above, _)| above);
        documented.insert(first.to_owned());
        documented.extend(names.map(|name| format!("{above} {name}")));
    }
    let reference = document("docs/reference/cli.md");
    let sections = reference.split("\n## ").skip(1);
    for section in sections.filter(|section| section.contains(" --json ")) {
        let command = section.lines().next().unwrap_or_default();
        assert!(documented.contains(command), "no row for `{command}`");
    }
}

/// Every key that a command prints is on the page about JSON.
#[test]
fn json_is_documented() {
    let page = document("docs/reference/json.md");
    let documented: BTreeSet<&str> = page.split('`').collect();
    let shell = Shell::new();
    for (command, _) in sessions(&document("docs/guide.md")) {
        if command.starts_with("mkdir") || command.starts_with("printf") {
            shell.run(&command);
        }
    }
    shell.run("mkdir -p ~/.agents/skills/bad && echo x > ~/.agents/skills/bad/SKILL.md; mkdir -p p/.git p/.agents/skills/tmux && cp ~/.agents/skills/shell/tmux/SKILL.md p/.agents/skills/tmux/");
    shell.run("printf '%s\\n' --- 'name: everything' 'description: d' 'package: p' 'tools: a' 'extensions: a' 'model: a' 'fallbackModels: a' 'thinking: a' 'inheritProjectContext: true' 'inheritSkills: true' 'skills: a' 'skillPath: a' 'defaultContext: fork' 'output: a' 'outputMode: inline' 'defaultReads: a' 'defaultProgress: true' 'interactive: true' 'maxSubagentDepth: 1' 'completionGuard: true' 'maxExecutionTimeMs: 1' 'timeoutMs: 1' 'maxTokens: 1' 'turnBudget: 1' 'toolBudget: 1' 'acceptance: auto' 'fallbackAfterWrites: true' 'engine: native' 'toolTimeoutMs: 1' 'acceptanceRole: a' 'async: true' 'aliases: everything' 'other: 1' --- > ~/.claude/agents/everything.md");
    shell.run("mkdir -p ~/all-chains && printf '%s\\n' '{\"name\": \"all\", \"description\": \"d\", \"package\": \"p\", \"other\": 1, \"chain\": [{\"agent\": \"a\", \"task\": \"t\", \"phase\": \"p\", \"label\": \"l\", \"as\": \"o\", \"outputSchema\": \"s.json\", \"cwd\": \"c\", \"output\": \"f\", \"outputMode\": \"inline\", \"reads\": [\"r\"], \"progress\": true, \"skill\": [\"s\"], \"model\": \"m\", \"acceptance\": \"auto\"}, {\"parallel\": [{\"agent\": \"a\", \"count\": 2}], \"concurrency\": 1, \"failFast\": true, \"worktree\": true, \"cwd\": \"c\"}, {\"expand\": {\"from\": {\"output\": \"o\", \"path\": \"\"}, \"item\": \"i\", \"key\": \"/k\", \"maxItems\": 1, \"onEmpty\": \"skip\"}, \"parallel\": {\"agent\": \"a\"}, \"collect\": {\"as\": \"c\"}}]}' > ~/all-chains/all.chain.json");
    for command in [
        "grove --json",
        "grove catalog --json",
        "grove catalog --json --budget 700 --max-skills 2 --root ~/.agents/skills",
        "grove skills list --json",
        "cd p && grove skills list --json",
        "grove skills show tmux --json",
        "grove skills check --json",
        "grove skills roots --json",
        "grove skills copy release-notes --to claude --json",
        "grove engines --json",
        "grove plan counter task --json",
        "grove skills search notes --json",
        "grove skills confusable --json",
        "grove skills activate release-notes --json",
        "grove skills activate web --root ~/open/skills --json",
        "grove skills expand web --root ~/open/skills --json",
        "grove skills collapse web --root ~/open/skills --session s.json --json",
        "grove agents list --json",
        "grove agents show planner --json",
        "grove agents show everything --json",
        "grove agents create tidy --description d --model nope --json",
        "grove agents rename tidy neat --json",
        "grove agents disable scout --json",
        "grove agents show scout --json",
        "grove chains create flow --description d --steps '[{\"agent\": \"scout\"}]' --json",
        "grove chains list --json",
        "grove chains show release --json",
        "grove chains show all --chains-dir ~/all-chains --json",
        "grove chains check --json",
        "grove prompt publisher --json",
        "grove validate --json ~/.agents/skills/bad",
        "cd p && grove trust --yes --json",
        "grove trust --list --json",
        "cd p && grove untrust --json",
        "grove hosts --json",
        "grove catalog --host codex --json",
        "grove run counter task --json | tail -1",
        "grove run counter task --bg --json",
        "grove runs list --json",
        "grove runs show \"$(grove runs list --json | sed -n 's/.*\"id\": \"\\(.*\\)\",/\\1/p' | tail -1)\" --json",
        "grove prompt --json --run \"$(grove runs list --json | sed -n 's/.*\"id\": \"\\(.*\\)\",/\\1/p' | tail -1)\"",
        "grove runs prune --json",
        "grove doctor --json",
        "grove config --json",
        "grove watch | head -1",
        "grove watch --root ~/live | { read -r first; mv ~/draft/notes ~/live/; head -1; }",
    ] {
        let printed = shell.run(command);
        let value: Value = serde_json::from_str(&printed)
            .unwrap_or_else(|error| panic!("{command}: {error}\n{printed}"));
        let schema = value["schema"].as_str().unwrap_or("no schema");
        assert!(documented.contains(schema), "{command}: {schema}");
        let mut keys = BTreeSet::new();
        collect_keys(&value, &mut keys);
        for key in keys {
            let is_there = documented.contains(key.as_str());
            assert!(is_there, "{command}: `{key}` is not documented");
        }
    }
}

/// Keys of objects, but for those that are data: settings by key, metadata, states, requirements' own.
fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    for item in value.as_array().into_iter().flatten() {
        collect_keys(item, keys);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        keys.insert(key.clone());
        match key.as_str() {
            "settings" => {
                let settings = value.as_object().unwrap().values();
                settings.for_each(|setting| collect_keys(setting, keys));
            }
            "metadata" | "unknown" | "value" => {}
            _ => collect_keys(value, keys),
        }
    }
}
