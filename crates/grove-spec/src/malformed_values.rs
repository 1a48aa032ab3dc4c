//! Values that no restricting key can have, for the tests of every layer.

use ValueShape::{Nothing, Switches, Text, Texts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueShape {
    /// One text, which some keys read as a list of names.
    Text,
    /// A list of texts.
    Texts,
    /// Names that are switched on and off.
    Switches,
    /// A value that no key takes.
    Nothing,
}

/// Values from which no switch, number or budget can be read, in JSON, which is YAML too.
pub(crate) const MALFORMED: [(&str, ValueShape); 42] = [
    (r#""tru""#, Text),
    (r#""treu""#, Text),
    (r#""flase""#, Text),
    (r#""yes please""#, Text),
    (r#""true false""#, Text),
    (r#""[true]""#, Text),
    (r#""{}""#, Text),
    (r#""-1""#, Text),
    (r#""1.5""#, Text),
    (r#""1e3""#, Text),
    (r#""0x10""#, Text),
    (r#""1_000""#, Text),
    (r#""many""#, Text),
    (r#""nothing""#, Text),
    (r#""null""#, Text),
    (r#""99999999999999999999999""#, Text),
    (r#""\u0074ruе""#, Text),
    (r#""ｔｒｕｅ""#, Text),
    (r#""""#, Text),
    (r#"" ""#, Text),
    (r#"["a"]"#, Texts),
    (r#"["true"]"#, Texts),
    (r#"["1"]"#, Texts),
    (r"[]", Texts),
    (r#"["a", "b"]"#, Texts),
    (r#"{"a": true}"#, Switches),
    (r#"{"a": false}"#, Switches),
    (r#"{"a": true, "b": false}"#, Switches),
    (r#"{"*": true}"#, Nothing),
    (r#"{"a": "b"}"#, Nothing),
    (r#"{"a": true, "b": "maybe"}"#, Nothing),
    (r#"{"a": {"b": true}}"#, Nothing),
    (r#"{"a": [true]}"#, Nothing),
    (r"[[]]", Nothing),
    (r#"[["a"]]"#, Nothing),
    (r#"["a", ["b"]]"#, Nothing),
    (r#"[{"a": true}]"#, Nothing),
    (r#"["a", {"b": true}]"#, Nothing),
    (r"[[[[]]]]", Nothing),
    (r#"{"a": null}"#, Nothing),
    (r"[null]", Nothing),
    (r#"["*", ["a"]]"#, Nothing),
];

/// The start of a file that is YAML, and of one that has to be repaired.
pub(crate) const STARTS: [&str; 2] = [
    "name: a\ndescription: d\n",
    "name: a\ndescription: Use it: when asked\n",
];

/// The value in TOML's notation; nothing for one that TOML lacks, such as null.
pub(crate) fn in_toml(value: &str) -> Option<String> {
    let is_null = value.contains("null") && !value.contains("\"null");
    (!is_null).then(|| value.replace("\": ", "\" = "))
}
