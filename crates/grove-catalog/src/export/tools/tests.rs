use super::*;

/// Tools of an agent by a format's names, a host, the host's names for them, and those for which it has none.
const TRANSLATIONS: &str = "
native  | read grep find bash | claude | Read Grep Glob Bash |
native  | read ls ./x.ts | claude | Read | ls ./x.ts
native  | mcp:docs mcp:docs/find | claude | mcp__docs mcp__docs__find |
native  | mcp:docs mcp:docs/find | copilot | docs/* docs/find |
native  | mcp:docs | gemini | | mcp:docs
native  | grep find ls | copilot | search |
claude  | Read Edit mcp__a__b mcp__c | pi | read edit mcp:a/b mcp:c |
claude  | Bash(git:*) Read | claude | Bash(git:*) Read |
claude  | Bash(git:*) Read | pi | read | Bash(git:*)
claude  | NotebookEdit Task TodoWrite | opencode | edit task todowrite |
gemini  | read_file | opencode | read |
copilot | edit docs/* docs/find | pi | edit write mcp:docs mcp:docs/find |
copilot | search | claude | Glob Grep | search
Names of Copilot are known in letters of any size, and compatible ones too.
copilot | Shell EDIT Read WebFetch | claude | Bash Edit Write Read WebFetch |
A set of an editor's own tools is no server; what it has more of is not known.
copilot | read/problems vscode/memory execute/* docs/find | claude | Bash mcp__docs__find | read/problems vscode/memory
Neither is an extension, nor a name of a catalogue.
copilot | ms-python.python/x io.github.a/b/* a/b/* | claude | | ms-python.python/x io.github.a/b/* a/b/*
";

#[test]
fn tools_have_the_names_of_the_host() {
    let list = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let mut n_rows = 0;
    for row in TRANSLATIONS.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [from, tools, host, names, unmapped] = cells[..] else {
            continue;
        };
        n_rows += 1;
        let from = match from {
            "native" => AgentFormat::Native,
            "claude" => AgentFormat::Claude,
            "gemini" => AgentFormat::Gemini,
            "copilot" => AgentFormat::Copilot,
            other => panic!("{other}"),
        };
        let rules = AgentRules::by_name(host).unwrap().export;
        let found = ToolNames::of(from).translate(&list(tools), &rules, &BTreeSet::new());
        let expected = HostTools {
            names: list(names),
            unmapped: list(unmapped),
        };
        assert_eq!(found, expected, "{row}");
    }
    assert_eq!(n_rows, 16);
}
