//! Tests of edits of configurations.

use proptest::prelude::*;

use super::*;

const X: [&str; 4] = ["agents", "overrides", "x", "disabled"];
const ALL: [&str; 3] = ["agents", "overrides", "x"];

fn on(text: &str) -> Result<String, ConfigRefusal> {
    set(text, &X, &serde_json::Value::from(true))
}

#[test]
fn a_value_is_set_where_it_belongs() {
    for (before, after) in [
        ("", "[agents.overrides.x]\ndisabled = true\n"),
        ("a = 1", "a = 1\n\n[agents.overrides.x]\ndisabled = true\n"),
        (
            "# c\n[agents.overrides.x] # d\nmodel = 'm' # e\n# f\n\n[z]\nb = 2\n",
            "# c\n[agents.overrides.x] # d\nmodel = 'm' # e\ndisabled = true\n# f\n\n[z]\nb = 2\n",
        ),
        (
            "[agents.overrides.x]\ndisabled = false # why\n",
            "[agents.overrides.x]\ndisabled = true # why\n",
        ),
        (
            "[agents.overrides]\nx.model = 'm'\ny.model = 'n'\n",
            "[agents.overrides]\nx.model = 'm'\nx.disabled = true\ny.model = 'n'\n",
        ),
        (
            "[agents.overrides]\nx = { model = 'm' }\n",
            "[agents.overrides]\nx = { model = 'm', disabled = true }\n",
        ),
        (
            "[agents.overrides]\nx = {}\n",
            "[agents.overrides]\nx = { disabled = true }\n",
        ),
        (
            "agents.overrides.x.model = 'm'\r\n[z]\r\n",
            "agents.overrides.x.model = 'm'\r\nagents.overrides.x.disabled = true\r\n[z]\r\n",
        ),
        (
            "[agents]\r\ndisable_builtins = true\r\n",
            "[agents]\r\ndisable_builtins = true\r\n\r\n[agents.overrides.x]\r\ndisabled = true\r\n",
        ),
        (
            "[agents.overrides.x]",
            "[agents.overrides.x]\ndisabled = true\n",
        ),
        (
            "[agents.overrides.x]\nskills = [\n  'a', # one\n]\n[z]\n",
            "[agents.overrides.x]\nskills = [\n  'a', # one\n]\ndisabled = true\n[z]\n",
        ),
    ] {
        assert_eq!(on(before).as_deref(), Ok(after), "{before:?}");
        assert_eq!(on(after).as_deref(), Ok(after), "again: {before:?}");
    }
    let odd = set(
        "",
        &["agents", "overrides", "a b@c:d", "model"],
        &serde_json::Value::from("m"),
    );
    assert_eq!(
        odd.as_deref(),
        Ok("[agents.overrides.\"a b@c:d\"]\nmodel = \"m\"\n")
    );
}

#[test]
fn what_is_removed_leaves_no_trace_and_no_empty_table() {
    for (before, path, after) in [
        (
            "a = 1\n\n[agents.overrides.x]\ndisabled = true\n",
            &X[..],
            "a = 1\n",
        ),
        (
            "# c\n[agents]\n# d\n[agents.overrides]\n[agents.overrides.x]\ndisabled = true\n# e\n[z]\n",
            &X,
            "# c\n# d\n# e\n[z]\n",
        ),
        (
            "[agents.overrides.x]\nmodel = 'm'\ndisabled = true # why\n",
            &X,
            "[agents.overrides.x]\nmodel = 'm'\n",
        ),
        (
            "[agents.overrides.x]\nmodel = 'm'\ndisabled = true\n\n[agents.overrides.y]\nmodel = 'n'\n",
            &ALL,
            "[agents.overrides.y]\nmodel = 'n'\n",
        ),
        (
            "[agents.overrides]\nx = { model = 'm', disabled = true }\ny = 1\n",
            &X,
            "[agents.overrides]\nx = { model = 'm' }\ny = 1\n",
        ),
        (
            "[agents.overrides]\nx = { disabled = true, model = 'm' }\n",
            &X,
            "[agents.overrides]\nx = { model = 'm' }\n",
        ),
        ("[agents.overrides]\nx = { disabled = true }\n", &ALL, ""),
        (
            "[agents]\noverrides.x.disabled = true\noverrides.x.model = 'm'\n",
            &ALL,
            "",
        ),
        ("[agents.overrides.x]\n", &ALL, ""),
        (
            "[z]\n[agents.overrides.y]\n",
            &ALL,
            "[z]\n[agents.overrides.y]\n",
        ),
        (
            "a = 1\r\n\r\n[agents.overrides.x]\r\ndisabled = true\r\n",
            &ALL,
            "a = 1\r\n",
        ),
    ] {
        assert_eq!(remove(before, path).as_deref(), Ok(after), "{before:?}");
    }
}

#[test]
fn what_cannot_be_changed_alone_is_refused() {
    assert!(matches!(
        on("a = 1\nb = = 2\n"),
        Err(ConfigRefusal::NotToml { line: Some(2), .. })
    ));
    for text in [
        "agents = 7\n",
        "agents = { overrides = {} }\n",
        "[[agents]]\n",
        "[agents.overrides]\nx = 1\n",
        "[agents.overrides.x.disabled]\n",
    ] {
        assert_eq!(on(text), Err(ConfigRefusal::Form), "{text:?}");
    }
}

proptest! {
    #[test]
    fn nothing_else_changes(
        lines in prop::collection::vec(
            prop_oneof![
                Just("# comment".to_owned()),
                Just(String::new()),
                "[a-d] = [0-9]{1,3} # [a-z]*",
                "\\[(agents|agents\\.overrides|agents\\.overrides\\.[xy]|z)\\]",
                "(model|overrides\\.x\\.model|x\\.model) = '[a-z]*'",
            ],
            0..12,
        ),
        crlf: bool,
    ) {
        let line_end = if crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(line_end);
        text.push_str(line_end);
        prop_assume!(text.parse::<toml::Table>().is_ok());
        if let Ok(changed) = on(&text) {
            // Lines may be added, and none is removed but the one that is set.
            let mut rest = changed.split_inclusive('\n');
            for line in text.split_inclusive('\n') {
                prop_assert!(rest.any(|other| other == line), "{text:?} → {changed:?}");
            }
            let removed = remove(&changed, &X).unwrap();
            let old: toml::Table = text.parse().unwrap();
            let mut new: toml::Table = removed.parse().unwrap();
            let mut old = old;
            without_empty(&mut old, 0);
            without_empty(&mut new, 0);
            prop_assert_eq!(old, new);
            let comments = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
            prop_assert_eq!(comments(&text), comments(&removed));
        }
    }
}
