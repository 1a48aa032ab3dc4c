use grove_spec::Position;
use grove_spec::agent::AgentFormat;
use grove_spec::agent::formats::read;
use proptest::prelude::*;

use super::*;

const NOWHERE: Position = Position::new(1, 1);

fn entry(name: &str, value: YamlNode) -> YamlEntry {
    YamlEntry {
        key: grove_spec::yaml::key(name),
        position: NOWHERE,
        value,
    }
}

/// A value without its position.
fn placeless(node: &YamlNode) -> YamlNode {
    let value = match &node.value {
        YamlValue::Text(scalar) => YamlValue::Text(scalar.clone()),
        YamlValue::List(items) => YamlValue::List(items.iter().map(placeless).collect()),
        YamlValue::Map(entries) => YamlValue::Map(sorted(entries)),
    };
    YamlNode::new(value, NOWHERE)
}

/// Entries without their positions: in a file of tables the plain keys come first.
fn sorted(entries: &[YamlEntry]) -> Vec<YamlEntry> {
    let mut entries: Vec<YamlEntry> = entries
        .iter()
        .map(|it| entry(&it.key, placeless(&it.value)))
        .collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

#[test]
fn tables_come_after_the_text_and_words_stay_words() {
    let text = "name = \"lens\"\ndeveloper_instructions = \"Look.\"\nnickname_candidates = [\"Lens\", 3, true]\n\
        mixed = [{a = 1}, 2]\n\n[features]\nmulti_agent = false\nsince = 2026-01-02\n\n\
        [mcp_servers.docs]\nurl = \"https://x\"\n\n[mcp_servers.\"a b\"]\n\n\
        [[skills.config]]\npath = \"/x/SKILL.md\"\nenabled = false\n\n[[skills.config]]\npath = \"/y\"\n";
    let parsed = read(text.as_bytes(), AgentFormat::Codex).remove(0).parsed;
    assert!(parsed.is_valid(), "{:?}", parsed.diagnostics);
    let mut entries = vec![entry("name", YamlNode::text("lens", NOWHERE))];
    entries.extend(parsed.agent.unknown.clone());
    let made = role(&entries, Some("# a mark"), "Look.");
    let (top, tables) = text.split_once("mixed").unwrap();
    let top = top.replace("developer_instructions = \"Look.\"\n", "");
    let (mixed, tables) = tables.split_once('\n').unwrap();
    assert_eq!(
        made,
        format!("# a mark\n{top}mixed{mixed}\ndeveloper_instructions = \"Look.\"\n{tables}")
    );
}

fn values() -> impl Strategy<Value = YamlNode> {
    let texts = prop::sample::select(vec![
        "",
        "x",
        "two\nlines",
        "\"",
        "\\",
        "a = 1",
        "[t]",
        "ü\t",
        "true",
        "\u{1}",
    ]);
    let words = prop::sample::select(vec!["1", "-2.5", "true", "false", "2026-01-02", "0x1f"]);
    let leaf = prop_oneof![
        texts.prop_map(|text| YamlNode::text(text, NOWHERE)),
        words.prop_map(|word| YamlNode::plain(word, NOWHERE)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| YamlNode::new(YamlValue::List(items), NOWHERE)),
            tables(inner).prop_map(|entries| YamlNode::new(YamlValue::Map(entries), NOWHERE)),
        ]
    })
}

fn tables(inner: impl Strategy<Value = YamlNode>) -> impl Strategy<Value = Vec<YamlEntry>> {
    let names = prop::sample::select(vec!["xa", "x-b", "x c", "x.d", "x\"e", "xü"]);
    prop::collection::btree_map(names, inner, 0..4).prop_map(|entries| {
        let entries = entries.into_iter();
        entries.map(|(name, value)| entry(name, value)).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_as_what_it_was_written_from(
        entries in tables(values()),
        body in "[a-z\"\\\\\n]{1,20}",
    ) {
        let made = role(&entries, Some("# a mark"), &body);
        let found = read(made.as_bytes(), AgentFormat::Codex).remove(0).parsed;
        // A role without a text is not a role.
        let is_told = !body.trim().is_empty();
        prop_assert_eq!(found.is_valid(), is_told, "{}\n{:?}", made, found.diagnostics);
        prop_assert_eq!(sorted(&found.agent.unknown), sorted(&entries), "{}", made);
        prop_assert_eq!(found.body(&made), Some(&*body), "{}", made);
    }
}
