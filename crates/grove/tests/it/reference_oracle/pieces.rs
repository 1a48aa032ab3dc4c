//! What the generator builds from: names, values and whole files that once made a difference.

/// Two sets of pieces: one that keeps a document valid, and one of all kinds.
#[derive(Debug)]
pub(crate) struct Moods<'a> {
    pub(crate) calm: &'a [&'a str],
    pub(crate) wild: &'a [&'a str],
}

/// Names, most of them wrong in one way.
pub(crate) const NAMES: &[&str] = &[
    "a", "abc", "a-b", "a--b", "-a", "a-", "-", "--", "A", "aB", "a_b", "a b", "a.b", "a/b", "1",
    "123", "0x10", "null", "true", "~", "技能", "мой-навык", "навык", "НАВЫК", "straße",
    "STRASSE", "a²", "a١", "ﬁle", "ａbc", "Ⅷ", "ⅷ", "ﷺ", "क्ष", "😀", "e\u{301}", "é", "ǅ", "İ",
    "ΑΣ", "ας", "Σ", "\u{212a}", "ª", "①", "½", "\u{a0}x", "x\u{3000}", "\u{200b}", "\u{1e030}",
    "\u{1df25}", "\u{a7cb}", "\u{10d50}", "\u{1171e}", "\"\\x41\"", "\"\\ud800\"",
    "\"\\ud83d\\ude00\"", "'x '", "\" x\"", "\"\"", "''", "\"\\t\"", "\"\\x1c\"", "=", "<<",
    "[a]", "{a: b}", "&a", "*a", "!a", "|", ">", "@a", "`a`", "%a", "#a", "'a", "\"a", "a: b",
    "a #b", "- a", "? a", "a:", ":a", "-a-", "a\u{feff}b", "\u{feff}a", "o\u{308}\u{323}",
    "\u{1100}\u{1161}",
];

/// Folder names that match hardly any skill.
pub(crate) const DIRS: &[&str] = &["other", "ABC", "a b", "é", "e\u{301}", "ﬁ", "-x"];

/// Keys besides those of a skill.
pub(crate) const KEYS: Moods<'static> = Moods {
    calm: &["one", "\"two\"", "three é"],
    wild: &[
        "a", "b", "c", "key", "version", "\"q\"", "'s'", "x y", "é", "<<", "=", "\"<<\"", "~",
        "1", "null", "a.b", "A", "? a", "", "name", "metadata", "z", "\"\\x41\"", "&x k", "!t k",
        "*k", "[k]", "{k}", "- k", "#k", "k#", "k #", "author", "internal", "\"a: b\"", "-", "?",
        ":", "a:b", "\u{85}k", "\u{feff}k",
    ],
};

/// Values of one line, or starting on one.
pub(crate) const VALUES: Moods<'static> = Moods {
    calm: &[
        "text", "two words", "null", "yes", "42", "0x10", "1.0", "2020-01-01", "~", "a:b",
        "http://x.y/z?q=1#f", "a#x", "a, b", "a [b] {c}", "-x", "?x", ":x", "'single'",
        "\"double\"", "'it''s'", "\"a\\\"b\"", "Bash(git:*) Read", "x\u{a0}y", "é", "😀",
        "<b>&amp;\"'", "\"<&>\"", "\"\\u00e9\"", "\"\\U0001F600\"", "\"\\ud83d\\ude00\"",
        "\"\\x00\"", "\"\\N\\_\\L\\P\"", "\"a\\\n  b\"", "'\\'", "a # b", "\"a\" # c", "a  ",
        "'a\n  b'", "x\n      y", "\"\\e\\x7f\\u200b\"", "\"'\"", "'\"'", "\"\"", "\u{10ffff}",
        "\u{e000}", "\u{1e030}", "a\u{2028}b", "''''", "\"\\\\\"", "\"\\ud800\"", "",
    ],
    wild: &[
        "text", "two words", "", "", "null", "~", "yes", "42", "0x10", "1.0", "2020-01-01", "=",
        "<<", "true", "Use when: pdf", "a:b", "a : b", "a: ", "url http://x.y/z?q=1",
        "foo --- bar", "a--b", "...", "#x", "a #x", "a#x", "[Read, Grep]", "{}", "[]", "{a: b}",
        "a [b]", "a {b}", "a, b", "&x y", "*x", "*x*", "!!str x", "!x y", "! y", "%x", "@x",
        "`x`", "- x", "-x", "? x", "?x", ":x", ": x", "|x", ">x", "'single'", "\"double\"",
        "'it''s'", "\"a\\\"b\"", "'a' b", "\"a\" b", "'a'b", "'unclosed", "\"unclosed", "'a': b",
        "\"a\": b", "Bash(git:*) Read", "x\ty", "\tx", "x\t", "x\u{a0}y", "\u{a0}", "é\u{301}",
        "😀", "<b>&amp;\"'", "\"<&>\"", "a\u{2028}b", "a\u{85}b", "\u{feff}", "a\u{feff}b",
        "\"\\u00e9\"", "\"\\U0001F600\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"\\x00\"",
        "\"\\0\\a\\b\\e\\f\\v\"", "\"\\N\\_\\L\\P\"", "\"\\/\\ \\t\"", "\"\\q\"", "\"\\x4\"",
        "\"\\u12\"", "\"\\U00110000\"", "\"\\UFFFFFFFF\"", "\"a\\\n  b\"", "'\\'", "\"\\", "|",
        ">", "|-", "|\n", ">\n  x", "-", "?", "!<x> y", "!<x y", "!a!b c", "!%41 x", "!%ff x",
        "!%4 x", "&", "*", "& x", "* x", "&a*b x", "*a,b", "a # b # c", "\"a\" # c", "\"a\"#c",
        "'a' #", "a  ", "# only", "  lead", "\u{7f}", "\u{80}", "\u{1f}", "\u{fffe}",
        "\u{10ffff}", "''", "\"\"", "' '", "\" x \"", "\"\\n\"", "'a\n  b'", "\"a\n\n  b\"",
        "x\n  y", "x\n\n  y", "x\n y: z", "x\n  y: z", "\n  x", "\n  x\n", "\n\n  x\n",
        "\n  # c\n  x\n", " # c\n  x\n", " # c\n  x\n\n", "\n  |\n   x\n", "\n  # c\n  |\n   x\n",
        "\n  # c\n  | # d\n   x\n", "# c\n  - x\n", "\n- x\n- y\n", "\n- a: b\n  c: d\n",
        "\n- - x\n", "\n  - x\n -y\n", "\n  ? x\n  : y\n", "\n  ? - x\n  : y\n",
        "\n  ? a: b\n  : y\n", "\n  <<:\n    p: q\n  r: s\n", "\n  <<:\n  - p: q\n  - t: u\n",
        "\n  <<: x\n", "\n  <<:\n    p: q\n  <<:\n    r: s\n", "\n  a: {}\n",
        "\n  a: b\n  a: c\n", "\n  # 1\n  a: b\n  # 2\n  a: c\n", "\n  a: # 1\n  a: # 2\n",
        "\n  a:\n    x: y\n  b:\n      x: y\n", "\n  a:\n   - x: 1\n  b:\n    - x: 1\n",
    ],
};

/// Lines between fields.
pub(crate) const FILLERS: Moods<'static> = Moods {
    calm: &["\n", "\n\n", "# comment\n", "  # indented\n", "#\n", "   \n", "# é\n\n# b\n"],
    wild: &[
        "\n", "\n\n", "# comment\n", "  # indented\n", "#\n", "   \n", "\t\n", "\n\t",
        "%YAML 1.2\n", "%YAML 1.1\n", "%YAML 1.3\n", "%YAML 2.0\n", "%YAML 1\n", "%YAML x\n",
        "%TAG ! x\n", "%TAG !a! x\n%TAG !a! y\n", "%TAG x\n", "%FOO bar\n", "%\n", "...\n", "...",
        "--- \n", "key\n", "key:\n", ": value\n", "? key\n", "? key\n: value\n", "- item\n",
        "? |\n  block key\n: value\n", "? - a\n: b\n", "? a: b\n: c\n", "[a, b]: c\n",
        "{a: b}: c\n", "]\n", "}\n", ",\n", "'quoted': x\n", "\"quoted\" : x\n", "'a' 'b'\n",
        "&a key: x\n", "*a : x\n", "!t key: x\n", "<<:\n", "<<: x\n", "<<:\n  a: b\n",
        "<<:\n- a: b\n- x\n", "=: x\n", "x: =\n", "\u{feff}\n", "\u{85}", "\u{2028}", "|\n",
        "> x\n", "a: b: c\n", "a: 'b' c\n", " indented: x\n", "x: |\n  a\n\n# after\n",
        "x: >+\n  a\n\n\n", "x: 'a\n  b\n", "description: again\n", "name: again\n", "x: # c\n",
        "x: # c\n  # d\n  y\n\n", "x:\n\n\n  y\n", "x:\n- # c\n  a: b\n",
    ],
};

/// Between a key and its value.
pub(crate) const COLONS: Moods<'static> = Moods {
    calm: &[": ", ": ", ":  ", " : "],
    wild: &[": ", ": ", ": ", ":  ", " : ", ":", ":\t", ":\n  "],
};

/// Behind a value.
pub(crate) const TAILS: Moods<'static> = Moods {
    calm: &["\n", "\n", "\n", "  \n", " # note\n", "\n\n"],
    wild: &["\n", "\n", "  \n", " # note\n", "\n\n", "#x\n", "\t\n"],
};

/// Opening fences.
pub(crate) const OPENINGS: Moods<'static> = Moods {
    calm: &["---\n"],
    wild: &["---\n", "---\n", "---\n", "---", "--- \n", "----\n"],
};

/// Closing fences.
pub(crate) const CLOSINGS: Moods<'static> = Moods {
    calm: &["---\n"],
    wild: &["---\n", "---\n", "---", "----\n", "...\n", " ---\n", ""],
};

/// Bodies.
pub(crate) const BODIES: &[&str] = &["# Title\n\nText.\n", "", "\n\n a --- b \u{a0}\n", "\u{1c}x\u{1f}"];

/// What follows a block indicator.
pub(crate) const BLOCK_HEADERS: Moods<'static> = Moods {
    calm: &["", "", "-", "+", "2", "1", "2-", "+2", "-1", " # note", " "],
    wild: &["", "", "4", "9", "0", "22", "x", " # note", "-  #", "#", "- -", "+-", "2-"],
};

/// Lines of a block scalar, or just after.
pub(crate) const BLOCK_LINES: Moods<'static> = Moods {
    calm: &[
        "  one\n", "  one\n", "  two words\n", "    deeper\n", "\n", "\n", "  trailing  \n",
        "  # not a comment\n", "  \ttab\n", "  a: b\n", "  - c\n", "  x\u{2028}y\n",
        "  \u{1f600}\n", "  'q'\n",
    ],
    wild: &[
        "  one\n", "  one\n", "  two words\n", "    deeper\n", "\n", "\n", "   \n", " shallow\n",
        "  trailing  \n", "  # not a comment\n", "\ttab\n", "  \ttab\n", "  a: b\n", "  - c\n",
        "none\n", "  \u{85}\n", "  x\u{2028}y\n", "# outside\n", "  \u{1f600}\n", "...\n",
        "  ---\n", "      far\n", "  \u{2029}", "  x\u{85}  y\n",
    ],
};

/// Further lines of a plain scalar, or its end.
pub(crate) const CONTINUATIONS: Moods<'static> = Moods {
    calm: &[
        "\n  more", "\n more", "\n\n  after", "\n\n\n  after", "  \n  x", " word", "\n  'q'",
        "\n  x#",
    ],
    wild: &[
        "\n  more", "\n more", "\n\n  after", "  \n  x", "\n  # c", " #c\n  y", "\n  - z",
        "\n  k: v", "\nleft", "\n\tt", "\u{85}  nel", "\u{2028}  ls", " \t x", "\n  ...", "\n...",
        "\n...\n", "\n\n\n", "\n\n# c\n  d",
    ],
};

/// What stands inside quotes.
pub(crate) const QUOTED: &[&str] = &[
    "a", "word ", " ", "  ", "\t", "\n", "\n  ", "\n\n", "\n\t ", "''", "'", "\"", "\\\"", "\\\\",
    "\\n", "\\t", "\\x41", "\\u00e9", "\\U0001F600", "\\ud83d", "\\ude00", "\\q", "\\x4", "\\\n",
    "\\\n   ", "\\ ", "\\0", "é", "😀", ": ", "#", " # ", "\u{85}", "\u{2028}", "\u{2029} ",
    "\n...", "\n... ", "...", "{", "[", "&", "*", "\u{a0}", "--", "<", "&amp;",
];

/// Comments and blank lines inside a collection.
pub(crate) const COMMENTS: &[&str] = &["# c\n", "\n", "    # deep\n", "  \n", "\n\n# c\n"];

/// Starts of lines of structure.
pub(crate) const INDICATORS: &[&str] = &["- ", "- ", "? ", ": ", "a: ", "b: ", "<<: ", "\"q\": "];

/// Ends of lines of structure.
pub(crate) const LEAVES: &[&str] = &[
    "x", "x", "y", "", "", "x: y", "a: b", "a:", "b:", "'q'", "\"q\"", "- x", "-", "?", ": x",
    "=", "<<", "<<:", "|", ">-", "x\n  y", "x\n\n", "# c", "*a", "&a x", "!t x", "[x]", "{", "]",
    ",", "a: b: c", "\"a\" \"b\"", "? - a", "? a: b",
];

/// Between lines of structure.
pub(crate) const LINE_ENDS: &[&str] = &["\n", "\n", "\n", "\n", " # c\n", "\n\n", "\n# c\n", "\n \n"];

/// Pieces for texts without order.
pub(crate) const SOUP: &[&str] = &[
    "a", "b", "a", "b", " ", " ", "  ", "\n", "\n", "\n", "\n  ", "\n ", "\n\n", "\t", ":", ": ",
    ":\n", "- ", "-", "-\n", "? ", "?", "|", "|\n", "|-\n", ">\n", ">2\n", "'", "\"", "''",
    "\"\"", "#", " #", "# c\n", "[", "]", "{", "}", ", ", ",", "&a ", "&", "*a", "* ", "!t ", "!",
    "!!str ", "!<a> ", "%", "%YAML 1.1\n", "%YAML 1.2 #c\n", "...", "\n...\n", "<<", "<<:", "=",
    "\\", "\\x41", "\u{85}", "\u{2028}", "\u{feff}", "é", "😀", "a: b\n", "name: x\n",
    "description: y\n", "@", "`", "~", "metadata:\n  ", "\r", "\r\n", "--", "c: d", "\n- ",
    "\n  - ", "\n? ", "\n: ", "0",
];

/// Whole files.
pub(crate) const QUIRKS: &[&str] = &[
    "",
    "-",
    "--",
    "---",
    "------",
    "---\n---",
    "---\n\n---\n",
    "---\n# only a comment\n---\n",
    "\u{feff}---\nname: a\ndescription: b\n---\n",
    "\n---\nname: a\ndescription: b\n---\n",
    "---name: a\ndescription: b\n---\n",
    "---\nname: a\ndescription: b\n...\n",
    "---\nname: a\ndescription: foo --- bar\n---\n",
    "---\n- a\n- b\n---\n",
    "---\njust text\n---\n",
    "---\n=\n---\n",
    "---\nname: [invalid\n---\n",
    "---\nname: a\ndescription: b\nmetadata:\n  version: 1.0\n---\n",
    "---\nname: a\ndescription: b\nmetadata: hello\n---\n",
    "---\nname: a\ndescription: b\nmetadata:\n---\n",
    "---\nname: a\ndescription: b\nmetadata:\n- x\n---\n",
    "---\nname: a\ndescription: b\nmetadata:\n  a:\n    b: c\n  d: ['x']\n---\n",
    "---\nname: a\ndescription: b\nmetadata:\n  a:\n    b: \"it's\"\n  d:\n  - \"\\u200b\"\n  - '\"'\n---\n",
    "---\nname: a\ndescription: b\nmetadata:\n  a: =\n---\n",
    "---\nname: a\ndescription: b\nlicense: =\n---\n",
    "---\nname: a\ndescription: b\nallowed-tools:\n- Read\n- Grep\n---\n",
    "---\nname: a\ndescription: b\nallowed-tools:\n- =\n---\n",
    "---\nname: a\ndescription: b\ncompatibility:\n---\n",
    "---\nname: a\ndescription: b\ncompatibility:\n- x\n---\n",
    "---\nname: a\ndescription: \"\\ud83d\\ude00\"\n---\n",
    "---\nname: a\ndescription: b\nlicense: \"\\ud83d\\ude00\"\n---\n",
    "---\nname: a\nname: b\n---\n",
    "---\nname: a\ndescription: b\nzeta: 1\nalpha: 2\n\"A B\": 3\n---\n",
    "---\nname: a\ndescription: >\n  folded\n  text\n\n  more\n---\n",
    "---\nname: a\ndescription: |2\n    kept\n   indent\n---\n",
    "---\nname: a\ndescription: # note\n  text\n\nlicense: x\n---\n",
    "---\n<<:\n  name: a\ndescription: b\n---\n",
    "---\nname: a\ndescription: b\n...\n---\n",
    "---\nname: a\ndescription: b\n...\n...\n---\n",
    "---\nname: a\ndescription: b\n...\nmore: c\n---\n",
    "---\n%YAML 1.2\nname: a\n---\n",
    "---\nname: a\n%YAML 1.3\n---\n",
    "---\nname: a\ndescription: b\n\n\tlicense: x\n---\n",
    "---\nname: a\ndescription: 'b\n---\n",
    "---\n\u{85}name: a\ndescription: b\n---\n",
    "---\nname: a\u{2028}description: b\n---\n",
];
