//! Facts measured on the library; the test against the library itself is in the `grove` crate.

use super::*;

fn parse(yaml: &str) -> Result<Vec<(String, Data)>, ParseError> {
    parse_frontmatter(&format!("---\n{yaml}---\n")).map(|(metadata, _)| metadata)
}

fn text(yaml: &str) -> String {
    match parse(yaml).expect("valid").swap_remove(0).1 {
        Data::Text(text) => text,
        other => panic!("{other:?} is not text"),
    }
}

fn line(yaml: &str) -> Option<usize> {
    parse(yaml).expect_err("invalid").yaml_line
}

fn crashes(yaml: &str) -> bool {
    parse(yaml).is_err_and(|error| error.crash)
}

#[test]
fn the_fence_is_three_hyphens_anywhere() {
    let message = |content| parse_frontmatter(content).expect_err("invalid").message;
    assert_eq!(
        message("\u{feff}---\na: b\n---\n"),
        "SKILL.md must start with YAML frontmatter (---)"
    );
    assert_eq!(
        message("---\na: b\n...\n"),
        "SKILL.md frontmatter not properly closed with ---"
    );
    assert_eq!(
        message("---\n- a\n---\n"),
        "SKILL.md frontmatter must be a YAML mapping"
    );
    let (metadata, body) = parse_frontmatter("---a: foo --- bar\n---\n").expect("valid");
    assert_eq!(metadata, [("a".to_owned(), Data::Text("foo".to_owned()))]);
    assert_eq!(body, "bar\n---");
}

#[test]
fn every_scalar_is_text() {
    for plain in ["null", "yes", "42", "0x10", "~", "2020-01-01", "1.0"] {
        assert_eq!(text(&format!("a: {plain}\n")), plain);
    }
    assert_eq!(text("a:\n"), "");
    assert_eq!(text("a: #x\n"), "");
    assert_eq!(text("a: b#x # c\n"), "b#x");
}

#[test]
fn scalars_fold_as_in_yaml() {
    assert_eq!(text("a: b\n  c\n\n  d\n"), "b c\nd");
    assert_eq!(text("a: >\n  b\n  c\n\n   d\n  e\n\n"), "b c\n\n d\ne\n");
    assert_eq!(text("a: |+\n  b\n\n"), "b\n\n");
    assert_eq!(text("a: |2-\n   b\n"), " b");
    assert_eq!(
        text("a: \"b\\\n   c\\x41\\u00e9\\U0001F600 \n\n d\"\n"),
        "bcAé😀\nd"
    );
    assert_eq!(text("a: 'it''s\n  b'\n"), "it's b");
}

#[test]
fn strict_rules_name_the_line() {
    assert_eq!(line("a: b\nd: Use when: pdf\n"), Some(3));
    assert_eq!(line("a: [b]\n"), Some(2));
    assert_eq!(line("a: b\na: c\n"), Some(3));
    assert_eq!(line("# 1\na: b\n# 2\na: c\n"), Some(5));
    assert_eq!(line("a: !!str b\n"), Some(2));
    assert_eq!(line("a: &x b\n"), Some(2));
    assert_eq!(line("a: *x\n"), Some(2));
    assert_eq!(line("a:\tb\n"), Some(2));
    assert_eq!(line("a:\n  b: c\nd:\n    e: f\n"), Some(6));
    assert_eq!(line("a: 'b\nc: d\n"), Some(4));
    assert_eq!(line("%YAML 1.2\na: b\n"), Some(3));
    assert_eq!(line("a: b\n...\nc: d\n"), Some(4));
}

#[test]
fn tracebacks_are_clean_errors() {
    assert!(crashes("a: \u{7}\n"), "a control character");
    assert!(crashes("a: \"\\U00110000\"\n"), "no such code point");
    assert!(crashes("a: b\n%YAML 1.3\n"), "an unknown version");
    assert!(crashes("? - a\n: b\n"), "a list as a key");
    assert!(crashes("a: # c\n  b\n\nd: e\n"), "comments that meet");
    assert!(
        crashes("a:\n# 1\n  - x\na:\n# 2\n  - y\n"),
        "comments on a repeated key"
    );
    assert!(crashes("<<:\n  a: b\n<<:\n  c: d\n"), "two merges");
}

#[test]
fn merge_keys_work_below_the_root_only() {
    let keys = |pairs: &[(String, Data)]| -> Vec<String> {
        pairs.iter().map(|(key, _)| key.clone()).collect()
    };
    let metadata = parse("<<:\n  x: y\na:\n  <<:\n    b: c\n  d: e\n").expect("valid");
    assert_eq!(keys(&metadata), ["a"]);
    let Data::Map(inner) = &metadata[0].1 else {
        panic!("a mapping");
    };
    assert_eq!(keys(inner), ["d", "b"]);
}

#[test]
fn metadata_values_become_strings() {
    let yaml = "name: a\ndescription: b\nmetadata:\n  v: 1.0\n  m:\n    k: it's\n  l:\n  - x\n";
    let json = read_properties(&parse(yaml).expect("valid"))
        .expect("complete")
        .to_json();
    assert_eq!(
        json,
        "{\n  \"name\": \"a\",\n  \"description\": \"b\",\n  \"metadata\": {\n    \"v\": \"1.0\",\n    \
         \"m\": \"{'k': \\\"it's\\\"}\",\n    \"l\": \"['x']\"\n  }\n}"
    );
}

#[test]
fn surrogates_and_objects_are_kept_apart_from_text() {
    let yaml = "name: a\ndescription: \"\\ud83d\\ude00\"\nlicense: =\n";
    let metadata = parse(yaml).expect("valid");
    assert!(validate_metadata(&metadata, "a").is_empty());
    let properties = read_properties(&metadata).expect("complete");
    assert!(properties.json_crash().is_some() && properties.prompt_crash().is_some());
    let named = parse("name: =\ndescription: b\n").expect("valid");
    assert_eq!(
        validate_metadata(&named, "a"),
        ["Field 'name' must be a non-empty string"]
    );
}

#[test]
fn complaints_come_in_order() {
    let metadata = parse("zeta: 1\nname: ﬁ_A-\nalpha: 2\ncompatibility:\n- x\n").expect("valid");
    assert_eq!(
        validate_metadata(&metadata, "dir"),
        [
            "Unexpected fields in frontmatter: alpha, zeta. Only ['allowed-tools', 'compatibility', \
             'description', 'license', 'metadata', 'name'] are allowed.",
            "Skill name 'fi_A-' must be lowercase",
            "Skill name cannot start or end with a hyphen",
            "Skill name 'fi_A-' contains invalid characters. Only letters, digits, and hyphens are \
             allowed.",
            "Directory name 'dir' must match skill name 'fi_A-'",
            "Missing required field in frontmatter: description",
            "Field 'compatibility' must be a string",
        ]
    );
}

#[test]
fn the_prompt_escapes_all_but_the_location() {
    let metadata = parse("name: a\ndescription: <b> & \"c\" 'd'\n").expect("valid");
    let properties = read_properties(&metadata).expect("complete");
    let entry = PromptEntry {
        properties: &properties,
        location: "/x & y/SKILL.md",
    };
    assert_eq!(
        to_prompt(&[entry]),
        "<available_skills>\n<skill>\n<name>\na\n</name>\n<description>\n&lt;b&gt; &amp; \
         &quot;c&quot; &#x27;d&#x27;\n</description>\n<location>\n/x & y/SKILL.md\n</location>\n\
         </skill>\n</available_skills>"
    );
    assert_eq!(to_prompt(&[]), "<available_skills>\n</available_skills>");
}

#[test]
fn nesting_is_bounded() {
    let lists = |depth: usize| "- ".repeat(depth) + "x\n";
    assert!(parse(&format!("a:\n  {}", lists(244))).is_ok());
    assert!(crashes(&format!("a:\n  {}", lists(245))));
    assert!(crashes(&lists(100_000)));
    assert!(crashes(&"? ".repeat(100_000)));
    assert!(!crashes(&"[".repeat(100_000)));
}

#[test]
fn every_stored_frontmatter_of_the_fuzz_target_ends_without_a_panic() {
    for (file, bytes) in grove_testkit::fuzz_corpus::inputs("frontmatter").unwrap() {
        println!("{}", file.display());
        if let Ok(block) = std::str::from_utf8(&bytes) {
            let _ = parse_frontmatter(&universal_newlines(block));
        }
    }
}
