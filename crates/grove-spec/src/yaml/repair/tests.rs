use proptest::prelude::*;

use crate::agent::known_keys::KNOWN;
use crate::yaml::{YamlBlock, YamlNode, YamlValue, events, read_block};

fn read(text: &str) -> YamlBlock {
    read_block(text, 2, KNOWN)
}

/// The keys of a block, and the code and line of each finding.
fn shape(text: &str) -> (Vec<String>, Vec<(&'static str, u32)>) {
    let block = read(text);
    let keys = block.entries.iter().map(|entry| entry.key.to_string());
    let findings = block.diagnostics.iter();
    let place = |finding: &crate::Diagnostic| finding.position.map_or(0, |place| place.line);
    (
        keys.collect(),
        findings
            .map(|finding| (finding.code.as_str(), place(finding)))
            .collect(),
    )
}

/// The value of a key, a list as its items.
fn said(text: &str, key: &str) -> Vec<String> {
    let block = read(text);
    let entry = block.entries.iter().find(|entry| entry.key == key);
    let texts = |nodes: &[YamlNode]| -> Vec<String> {
        let texts = nodes.iter().map(|node| node.as_text().unwrap_or("no text"));
        texts.map(str::to_owned).collect()
    };
    match entry.map(|entry| &entry.value) {
        None => Vec::new(),
        Some(node) => match &node.value {
            YamlValue::List(items) => texts(items),
            _ => texts(std::slice::from_ref(node)),
        },
    }
}

fn description(text: &str) -> (Option<String>, Vec<&'static str>) {
    let block = read(text);
    let codes = block.diagnostics.iter().map(|d| d.code.as_str()).collect();
    let node = block
        .entries
        .iter()
        .find(|entry| entry.key == "description")
        .map(|entry| &entry.value);
    (node.and_then(YamlNode::as_text).map(str::to_owned), codes)
}

#[test]
fn what_people_write_is_read_as_they_see_it() {
    for (value, expected) in [
        ("Use when: the user asks", "Use when: the user asks"),
        ("[WIP] does things", "[WIP] does things"),
        ("{name} is replaced", "{name} is replaced"),
        ("@mention somebody", "@mention somebody"),
        ("*important* thing", "*important* thing"),
        ("& more", "& more"),
        ("&c is a thing", "&c is a thing"),
        ("!important note", "!important note"),
        ("%d items", "%d items"),
        ("`code` first", "`code` first"),
        ("\"quoted\" and more", "\"quoted\" and more"),
        ("'it's broken'", "it's broken"),
        ("\"a \\d regex\"", "a \\d regex"),
        ("\"Quick\" X \"make a GIF.\"", "\"Quick\" X \"make a GIF.\""),
        ("'a 'quoted' word: here'", "a 'quoted' word: here"),
        ("{{ product }} text", "{{ product }} text"),
        ("first: line\n  second: line", "first: line second: line"),
        ("- dash: first", "- dash: first"),
        (">\n  a: b\n c: d", "a: b c: d"),
    ] {
        let text = format!("name: x\ndescription: {value}\nlicense: MIT\n");
        assert_eq!(
            description(&text),
            (Some(expected.to_owned()), vec!["yaml-repaired"]),
            "{value:?}"
        );
    }
}

#[test]
fn what_is_refused_stays_refused() {
    for (text, code) in [
        (
            "name: x\ndescription: d\ndescription: e: f\n",
            "duplicate-key",
        ),
        (
            "name: !!python/object/apply:os.system [\"x\"]\ndescription: a: b\n",
            "yaml-tag",
        ),
        (
            "name: x\ndescription: a: b\nmetadata:\n  a: &a [1]\n  b: *a\n",
            "yaml-anchor",
        ),
        ("just words\nmore words: and more: words\n", "yaml-syntax"),
    ] {
        assert_eq!(description(text), (None, vec![code]), "{text:?}");
    }
}

#[test]
fn nested_keys_keep_their_shape() {
    let block = read("name: x\nmetadata:\n  author: me: myself\n  version: 1\n");
    let metadata = block
        .entries
        .iter()
        .find(|entry| entry.key == "metadata")
        .map(|entry| &entry.value);
    assert_eq!(
        metadata
            .and_then(|node| node.get("author"))
            .and_then(YamlNode::as_text),
        Some("me: myself")
    );
    assert_eq!(
        metadata
            .and_then(|node| node.get("version"))
            .and_then(YamlNode::as_text),
        Some("1")
    );
}

const REPAIRED: &str = "yaml-repaired";

#[test]
fn a_list_that_goes_on_in_lines_without_indent_is_a_list() {
    for (tools, line) in [
        ("[\n  'Read',\n  'Edit'\n]", 6),
        ("[\n'Read',\n'Edit'\n]", 4),
        ("[\n  'Read', # reads: all\n  \"Edit\",\n]", 6),
        ("['Read',\n'Edit']", 4),
        ("['Read', 'Edit'],", 3),
        ("['Read', 'Edit'] , # both", 3),
        ("[\n  Read,\n  Edit\n],", 6),
        ("\n\t- Read\n\t- Edit", 4),
        ("\n\t- Read\n  - Edit", 4),
        ("\n  - Read\n\t- Edit", 5),
        ("\n\t- Read\n - Edit", 4),
    ] {
        let text = format!("name: x\ntools: {tools}\nmodel: m\n");
        assert_eq!(said(&text, "tools"), ["Read", "Edit"], "{text}");
        let keys = ["name", "tools", "model"].map(str::to_owned).to_vec();
        let (found, findings) = shape(&text);
        assert_eq!(found, keys, "{text}");
        assert_eq!(findings.first(), Some(&(REPAIRED, line)), "{text}");
        // The same value beside a key that no reader of YAML accepts.
        let text = format!("name: x\ntools: {tools}\ndescription: a: b\n");
        assert_eq!(said(&text, "tools"), ["Read", "Edit"], "{text}");
        assert_eq!(said(&text, "description"), ["a: b"], "{text}");
    }
}

#[test]
fn a_list_deep_in_a_value_leaves_the_rest_of_it_as_it_is() {
    let text = "name: x\nmcp-servers:\n  docs:\n    command: npx\n    args: [\n      '-y',\n      'a: b'\n    ]\n    env:\n      A: b\nmodel: m\n";
    let block = read(text);
    let server = block.entries[1].value.get("docs").unwrap();
    let YamlValue::List(args) = &server.get("args").unwrap().value else {
        panic!("{server:?}");
    };
    let words: Vec<_> = args.iter().filter_map(YamlNode::as_text).collect();
    assert_eq!(words, ["-y", "a: b"]);
    // Positions are those in the file, not in the repaired text.
    assert_eq!(args[1].position, crate::Position::new(8, 7));
    let inner = server.get("env").and_then(|env| env.get("A"));
    assert_eq!(inner.and_then(YamlNode::as_text), Some("b"));
    assert_eq!(shape(text).1, [(REPAIRED, 9)]);
}

#[test]
fn brackets_that_are_never_closed_take_no_other_key() {
    for text in [
        "name: x\ntools: ['Read', 'Edit'\nmodel: m\n",
        "name: x\ntools: [\n  'Read',\nmodel: [m]\n",
        "name: x\ndescription: [WIP does things\nmodel: m # ]\n",
        "name: x\ndescription: \"Reads\nmodel: \"m\"\n",
    ] {
        let (keys, findings) = shape(text);
        assert_eq!(
            (keys.len(), keys.last().unwrap().as_str()),
            (3, "model"),
            "{text}"
        );
        assert!(
            findings.iter().all(|finding| finding.0 == REPAIRED),
            "{text}"
        );
    }
}

#[test]
fn a_tab_after_the_colon_is_yaml() {
    let text = "name:\tx\ndescription:\t\tReads\tit\nmetadata:\n  author:\tme\n";
    let block = read(text);
    assert_eq!(block.diagnostics, []);
    assert_eq!(said(text, "name"), ["x"]);
    assert_eq!(said(text, "description"), ["Reads\tit"]);
    let author = block.entries[2].value.get("author");
    assert_eq!(author.and_then(YamlNode::as_text), Some("me"));
    assert_eq!(block.entries[0].value.position, crate::Position::new(2, 7));
}

const EXAMPLES: &str = "Use this agent when X. Examples:\n\n<example>\nContext: a\nuser: \"x\"\n</example>\n\n<example>\nContext: b\nuser: \"y\"\n</example>";
const EXAMPLES_READ: &str = "Use this agent when X. Examples:\n<example> Context: a user: \"x\" </example>\n<example> Context: b user: \"y\" </example>";

#[test]
fn a_description_goes_on_in_lines_without_indent_up_to_the_next_key() {
    let after = "\nmodel: haiku\ntools: [\"Read\"]\n";
    for (written, expected, line) in [
        (EXAMPLES.to_owned(), EXAMPLES_READ, 5),
        (format!("|\n{EXAMPLES}"), "", 4),
        (
            "Use it.\nWhen asked.\nAnd: then".to_owned(),
            "Use it. When asked. And: then",
            4,
        ),
        (
            "Use it\nhttps://example.org/a for more".to_owned(),
            "Use it https://example.org/a for more",
            4,
        ),
        ("\nUse it.\nContext: a".to_owned(), "Use it. Context: a", 4),
        (
            "\"Quick\" help\n<example>\nContext: a".to_owned(),
            "\"Quick\" help <example> Context: a",
            4,
        ),
        (
            "[WIP] help\n<example>\nContext: a".to_owned(),
            "[WIP] help <example> Context: a",
            4,
        ),
    ] {
        let text = format!("name: b\ndescription: {written}{after}");
        let (keys, findings) = shape(&text);
        assert_eq!(keys, ["name", "description", "model", "tools"], "{text}");
        assert_eq!(findings, [(REPAIRED, line)], "{text}");
        assert_eq!(said(&text, "tools"), ["Read"], "{text}");
        if !expected.is_empty() {
            assert_eq!(said(&text, "description"), [expected], "{text}");
        }
    }
    // A block of text keeps its lines.
    let literal = format!("name: b\ndescription: |\n{EXAMPLES}{after}");
    assert_eq!(said(&literal, "description"), [EXAMPLES]);
}

#[test]
fn a_quoted_text_goes_on_in_lines_without_indent() {
    let inner = EXAMPLES.replace('"', "\\\"");
    let text = format!("name: b\ndescription: \"{inner}\"\nmodel: haiku\n");
    let (keys, findings) = shape(&text);
    assert_eq!(keys, ["name", "description", "model"]);
    assert_eq!(findings, [(REPAIRED, 5)]);
    assert_eq!(said(&text, "description"), [EXAMPLES_READ]);
}

#[test]
fn keys_that_nobody_knows_stay_keys_after_an_ordinary_description() {
    for text in [
        // Valid YAML is read as it is.
        "name: b\ndescription: Use it.\nContext: a\nuser: b\n",
        "name: b\ndescription: Use it\n  when asked.\nContext: a\nuser: b\n",
        // Another fault makes this text invalid YAML.
        "name: b: c\ndescription: Use it.\nContext: a\nuser: b\n",
        "name: b\ndescription: Use it: now\nContext: a\nuser: b\n",
        "name: b: c\ndescription: Use it\n  when asked.\nContext: a\nuser: b\n",
        "name: b: c\ndescription:\n- Use it\nContext: a\nuser: b\n",
    ] {
        let keys = ["name", "description", "Context", "user"];
        assert_eq!(shape(text).0, keys, "{text}");
    }
    // A repeated key is refused in every place where it is a key.
    for text in [
        "name: b\ndescription: Use it.\nContext: a\nContext: b\n",
        "name: b\ndescription: Use it: now\nContext: a\nContext: b\n",
        "name: b\ndescription: Use it.\n<example>\nname: c\n",
    ] {
        let codes: Vec<_> = shape(text).1.iter().map(|found| found.0).collect();
        assert_eq!(codes, ["duplicate-key"], "{text}");
    }
}

#[test]
fn a_known_key_with_a_blank_too_many_is_that_key() {
    for (text, line) in [
        ("name: a50\n description: one blank\ntools: Read\n", 3),
        ("name: a50\n   description: one blank\ntools: Read\n", 3),
        ("name: 'a50'\n description: one blank\ntools: Read\n", 3),
        ("name: a50\n\n description: one blank\ntools: Read\n", 4),
        (" name: a50\ndescription: one blank\ntools: Read\n", 2),
        ("name: a50\n description: one blank\n tools: Read\n", 3),
    ] {
        assert_eq!(said(text, "name"), ["a50"], "{text}");
        assert_eq!(said(text, "description"), ["one blank"], "{text}");
        assert_eq!(said(text, "tools"), ["Read"], "{text}");
        assert_eq!(shape(text).1.first(), Some(&(REPAIRED, line)), "{text}");
    }
    for (text, description) in [
        // A key that no program knows.
        (
            "name: a\ndescription: one: two\n  three: four\n",
            "one: two three: four",
        ),
        // A key that is in another line too.
        (
            "name: a\ndescription: the\n  name: of it\n",
            "the name: of it",
        ),
        // A key that is not in the line directly after.
        (
            "name: a\ndescription: one: two\n  and\n  model: four\n",
            "one: two and model: four",
        ),
        // A key in a block of text.
        (
            "name: a: b\ndescription: |\n  model: four\n",
            "model: four\n",
        ),
    ] {
        assert_eq!(said(text, "description"), [description], "{text}");
        assert_eq!(shape(text).0, ["name", "description"], "{text}");
    }
    let nested = read("name: a: b\nmetadata:\n  model: m\nhooks: # none\n  model: m\n");
    assert_eq!(nested.entries.len(), 3);
}

#[test]
fn a_known_key_is_one_whatever_blank_and_colon_follow() {
    for (text, messages) in [
        (
            "name:p01\ndescription:no blank\ntools:read,write\n",
            ["no blank"; 3],
        ),
        (
            "name:\u{a0}p01\ndescription:\u{a0}no blank\ntools:\u{a0}read,write\n",
            ["a no-break space (U+00A0)"; 3],
        ),
        (
            "name\u{ff1a}p01\ndescription\u{ff1a} no blank\ntools\u{ff1a}read,write\n",
            ["a full-width colon (U+FF1A)"; 3],
        ),
    ] {
        let block = read(text);
        let found: Vec<_> = block
            .diagnostics
            .iter()
            .zip(messages)
            .enumerate()
            .map(|(at, (finding, message))| {
                assert!(finding.message.contains(message), "{finding:?}");
                (
                    finding.code.as_str(),
                    finding.position.unwrap().line,
                    u32::try_from(at).unwrap() + 2,
                )
            })
            .collect();
        assert_eq!(
            found,
            [(REPAIRED, 2, 2), (REPAIRED, 3, 3), (REPAIRED, 4, 4)],
            "{text}"
        );
        assert_eq!(said(text, "name"), ["p01"], "{text}");
        assert_eq!(said(text, "description"), ["no blank"], "{text}");
        assert_eq!(said(text, "tools"), ["read,write"], "{text}");
    }
    let mixed = "name: p\ndescription:no blank\npriorities:high\n";
    assert_eq!(shape(mixed).0, ["name", "description", "priorities"]);
    // A colon makes no key of a text or of an address.
    assert_eq!(shape("just:words\n").1, [("yaml-not-mapping", 2)]);
    assert_eq!(shape("https://example.org\n").1, [("yaml-not-mapping", 2)]);
    let text = "name: p\ndescription: See\nmodel:this one\nmodel: m\n";
    assert_eq!(said(text, "description"), ["See model:this one"]);
    assert_eq!(said(text, "model"), ["m"]);
}

/// A value in brackets, each part on a line of its own.
fn in_brackets() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec![
        "Read",
        "'a: b'",
        "\"it's\"",
        "don't",
        "'it''s'",
        "\"[\"",
        "'}'",
        "Bash(git:*)",
        "\"a\\\"b\"",
        "1",
        "x y",
        "'# no'",
        "a#b",
    ]);
    let leaf = prop::collection::vec(word, 1..4).prop_map(|words| {
        words
            .iter()
            .map(|word| format!("{word},"))
            .collect::<Vec<_>>()
    });
    leaf.prop_recursive(3, 20, 3, |inner| {
        (inner.clone(), inner, any::<bool>()).prop_map(|(a, b, is_map)| {
            let (open, close) = if is_map {
                ("{ k:  [", "] },")
            } else {
                ("[", "],")
            };
            let mut lines = vec![open.to_owned()];
            lines.extend(a);
            lines.push(close.to_owned());
            lines.extend(b);
            lines
        })
    })
}

fn without_places(node: &YamlNode) -> String {
    match &node.value {
        YamlValue::Text(scalar) => format!("{scalar:?}"),
        YamlValue::List(items) => {
            format!("{:?}", items.iter().map(without_places).collect::<Vec<_>>())
        }
        YamlValue::Map(entries) => entries
            .iter()
            .map(|entry| format!("{}={};", entry.key, without_places(&entry.value)))
            .collect::<Vec<_>>()
            .concat(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_yaml_reads_indented_is_read_the_same_without_indent(
        lines in in_brackets(),
        indents in prop::collection::vec(0_usize..3, 64),
        key in prop::sample::select(vec!["tools: ", "m:\n  deep: ", "m:\n  - deep: ", "m:\n  - "]),
    ) {
        let with = |indent: &dyn Fn(usize) -> usize| {
            let inner: Vec<String> = lines.iter().enumerate()
                .map(|(at, line)| format!("{}{line}\n", " ".repeat(indent(at)))).collect();
            let inner = inner.concat();
            format!("name: x\n{key}[\n{inner}{}]\nlast: y\n", " ".repeat(indent(lines.len())))
        };
        let indented = with(&|_| 8);
        let ragged = with(&|at| indents.get(at % 64).copied().unwrap_or(0));
        let expected = events::parse(&indented, 2);
        prop_assert!(expected.is_ok(), "{indented}");
        let expected: Vec<_> = expected.unwrap_or_default().iter().map(|entry| without_places(&entry.value)).collect();
        let block = read(&ragged);
        prop_assert!(block.diagnostics.iter().all(|finding| finding.code.as_str() == REPAIRED), "{ragged}");
        let found: Vec<_> = block.entries.iter().map(|entry| without_places(&entry.value)).collect();
        prop_assert_eq!(found, expected, "{}", ragged);
    }

    #[test]
    fn a_tab_for_the_blank_after_a_colon_changes_nothing(
        values in prop::collection::vec("[a-z]{1,5}( [a-z]{1,4}){0,2}|'[a-z:]{0,4}'|\\[a, 'b:\tc'\\]|\\|-\n    a:\tb|\"x\n   a:\tb\"", 1..5),
    ) {
        let with = |blank: &str| {
            let lines = values.iter().enumerate().map(|(at, value)| format!("k{at}:{blank}{value}\n"));
            lines.collect::<String>()
        };
        let expected = events::parse(&with(" "), 2);
        prop_assert!(expected.is_ok(), "{}", with(" "));
        let block = read(&with("\t"));
        prop_assert_eq!(&block.diagnostics, &vec![], "{}", with("\t"));
        prop_assert_eq!(Ok(block.entries), expected);
    }

    #[test]
    fn a_text_without_indent_loses_no_word_and_takes_no_known_key(
        lines in prop::collection::vec("<[a-z]{1,6}>|(Context|user|assistant|Note): [a-z\"' ]{0,8}|[A-Z][a-z ]{1,12}|", 1..8),
        model in "[a-z]{1,8}",
    ) {
        let prose = lines.join("\n");
        let text = format!("name: x\ndescription: Use it. Examples:\n<example>\n{prose}\nmodel: {model}\n");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let expected = words(&format!("Use it. Examples:\n<example>\n{prose}"));
        prop_assert_eq!(words(&said(&text, "description").concat()), expected, "{}", text);
        prop_assert_eq!(said(&text, "model"), [model]);
        prop_assert_eq!(shape(&text).1, [(REPAIRED, 4)]);
    }

    #[test]
    fn what_yaml_takes_is_not_repaired(text in "(name|description|tools|x): ([a-z\\[\\]'\":,\t ]{0,8}\n( {0,2}[a-z:,'\\]\t-]{0,6}\n){0,2}){1,2}") {
        if let Ok(entries) = events::parse(&text, 2) {
            let block = read(&text);
            prop_assert_eq!(block.entries, entries);
            prop_assert_eq!(block.diagnostics, vec![]);
        }
    }
}
