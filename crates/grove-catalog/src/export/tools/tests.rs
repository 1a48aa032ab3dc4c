use super::*;

#[test]
fn tools_have_the_names_of_the_host() {
    let of = |host: &str| AgentRules::by_name(host).unwrap().export;
    for (tools, from, host, names, unmapped) in [
        (
            "read grep find bash",
            Format::Native,
            "claude",
            "Read Grep Glob Bash",
            "",
        ),
        (
            "read ls ./x.ts",
            Format::Native,
            "claude",
            "Read",
            "ls ./x.ts",
        ),
        (
            "mcp:docs mcp:docs/find",
            Format::Native,
            "claude",
            "mcp__docs mcp__docs__find",
            "",
        ),
        (
            "mcp:docs mcp:docs/find",
            Format::Native,
            "copilot",
            "docs/* docs/find",
            "",
        ),
        ("mcp:docs", Format::Native, "gemini", "", "mcp:docs"),
        ("grep find ls", Format::Native, "copilot", "search", ""),
        (
            "Read Edit mcp__a__b mcp__c",
            Format::Claude,
            "pi",
            "read edit mcp:a/b mcp:c",
            "",
        ),
        (
            "Bash(git:*) Read",
            Format::Claude,
            "claude",
            "Bash(git:*) Read",
            "",
        ),
        (
            "Bash(git:*) Read",
            Format::Claude,
            "pi",
            "read",
            "Bash(git:*)",
        ),
        (
            "edit docs/* docs/find",
            Format::Copilot,
            "pi",
            "edit write mcp:docs mcp:docs/find",
            "",
        ),
        ("search", Format::Copilot, "claude", "Glob Grep", "search"),
        ("read_file", Format::Gemini, "opencode", "read", ""),
        // Names of Copilot are known in letters of any size, and compatible ones too.
        (
            "Shell EDIT Read WebFetch",
            Format::Copilot,
            "claude",
            "Bash Edit Write Read WebFetch",
            "",
        ),
        // A set of an editor's own tools is no server; what it has more of is not known.
        (
            "read/problems vscode/memory execute/* docs/find",
            Format::Copilot,
            "claude",
            "Bash mcp__docs__find",
            "read/problems vscode/memory",
        ),
        // Neither is an extension, nor a name of a catalogue.
        (
            "ms-python.python/x io.github.a/b/* a/b/*",
            Format::Copilot,
            "claude",
            "",
            "ms-python.python/x io.github.a/b/* a/b/*",
        ),
        (
            "NotebookEdit Task TodoWrite",
            Format::Claude,
            "opencode",
            "edit task todowrite",
            "",
        ),
    ] {
        let list =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        assert_eq!(
            Vocabulary::of(from).translate(&list(tools), &of(host), &BTreeSet::new()),
            Tools {
                names: list(names),
                unmapped: list(unmapped)
            },
            "{tools} for {host}"
        );
    }
}
