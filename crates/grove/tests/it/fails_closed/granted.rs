//! What came with a package and would let somebody do more, however YAML lets it be written: none of it is in an
//! export, by two readers of YAML that know nothing of ours.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use grove_catalog::export::{self, ExportJob, ExportSource};
use grove_catalog::hosts::AgentRules;
use grove_spec::agent::{AgentFormat, formats};
use grove_spec::{fence, skill};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process::{HANGING, capture};
use serde_json::json;

use super::{effort, session};

/// Keys that grant something.
const GRANTING: [&str; 9] = [
    "hooks",
    "Hooks",
    "mcpServers",
    "mcp-servers",
    "mcp_servers",
    "mcp",
    "permissions",
    "plugin",
    "permissionMode",
];

/// Ways to write a key and its value.
const SPELLINGS: [&str; 24] = [
    "KEY: VALUE",
    "'KEY': VALUE",
    "\"KEY\": VALUE",
    "\"ESC\": VALUE",
    "\"HEX\": VALUE",
    "? KEY\n: VALUE",
    "? \"ESC\"\n: VALUE",
    "&k KEY: VALUE",
    "!!str KEY: VALUE",
    "!x KEY: VALUE",
    "KEY : VALUE",
    "KEY:\tVALUE",
    "<<: {KEY: VALUE}",
    "x: &h KEY\n*h : VALUE",
    "KEY: &v VALUE",
    "KEY: !!map VALUE",
    "description: more\nKEY: VALUE",
    "note: \"a\u{85}KEY: VALUE\"",
    "note: a\u{2028}KEY: VALUE",
    "note: |\n  text\nKEY: VALUE",
    "# c\nKEY: VALUE # c",
    "note: Use: this\nKEY: VALUE",
    "note: [open\nKEY: VALUE",
    "\u{feff}KEY: VALUE",
];

const VALUES: [&str; 5] = [
    "{Stop: [{command: touch x}]}",
    "allow",
    "[evil]",
    "{x: {command: evil}}",
    "bypassPermissions",
];

fn lines(case: usize) -> String {
    let key = GRANTING[case % GRANTING.len()];
    let spelling = SPELLINGS[(case / GRANTING.len()) % SPELLINGS.len()];
    let value = VALUES[(case / GRANTING.len() / SPELLINGS.len()) % VALUES.len()];
    let (mut escaped, mut hex) = (String::new(), String::new());
    for c in key.chars() {
        let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        let _ = write!(hex, "\\x{:02x}", u32::from(c));
    }
    let written = spelling.replace("ESC", &escaped).replace("HEX", &hex);
    written.replace("KEY", key).replace("VALUE", value)
}

/// A package's file: the granting lines before, between or after others, in one of three line ends.
fn file(case: usize) -> String {
    let lines = lines(case);
    let (name, about) = ("name: a", "description: It does: much\nlicense: MIT");
    let about = if case.is_multiple_of(2) {
        "description: d"
    } else {
        about
    };
    let block = match case % 5 {
        0 => format!("{lines}\n{name}\n{about}"),
        1 => format!("{name}\n{lines}\n{about}"),
        2 => format!("{name}\n{about}\n{lines}"),
        3 => format!(
            "{{\"name\": \"a\", \"description\": \"d\", \"{}\": {{}}}}",
            GRANTING[case % GRANTING.len()]
        ),
        _ => format!("{name}\n{about}\nextra: {{a: b}}\n{lines}"),
    };
    let text = format!("---\n{block}\n---\nBODY\n");
    if case.is_multiple_of(7) {
        text.replace('\n', "\r\n")
    } else {
        text
    }
}

const HOSTS: [(&str, AgentFormat); 6] = [
    ("pi", AgentFormat::Native),
    ("claude", AgentFormat::Claude),
    ("copilot", AgentFormat::Copilot),
    ("gemini", AgentFormat::Gemini),
    ("opencode", AgentFormat::Opencode),
    ("codex", AgentFormat::Native),
];

/// Every file that an export of these would write, in the frontmatter's words.
fn exports(cases: usize) -> Vec<String> {
    let rules: Vec<(AgentRules, AgentFormat)> = HOSTS
        .iter()
        .map(|(host, format)| (AgentRules::by_name(host).unwrap(), *format))
        .collect();
    let mut written = Vec::new();
    for case in 0..cases {
        let text = file(case);
        if skill::parse(&text).is_valid() {
            let (skill, _) = export::packaged_skill("a", &text);
            written.push(export::skill_text(&skill, "a@package:x", &[]).unwrap());
        }
        let (rules, format) = &rules[case % rules.len()];
        let parsed = formats::read(text.as_bytes(), *format).remove(0).parsed;
        if !parsed.is_valid() {
            continue;
        }
        let job = ExportJob {
            title: "it",
            rules,
            inline: false,
            budget: usize::MAX,
        };
        let source = ExportSource {
            name: "a",
            address: Some("a@package:x"),
            agent: &parsed.agent,
            format: *format,
            is_packaged: true,
            places: &parsed.places,
            body: "BODY\n",
            skills: &[],
        };
        let (file, _) = export::agent(&job, &source);
        if rules.export.format == AgentFormat::Codex {
            assert_eq!(
                granting_in_toml(&file.text),
                Vec::<String>::new(),
                "{}",
                file.text
            );
        } else {
            written.push(file.text);
        }
    }
    let front = |text: &String| {
        fence::split(text)
            .map(|fenced| fenced.frontmatter.to_owned())
            .ok()
    };
    written.iter().filter_map(front).collect()
}

fn granting_in_toml(text: &str) -> Vec<String> {
    let found = formats::read(text.as_bytes(), AgentFormat::Codex)
        .remove(0)
        .parsed;
    let keys = found
        .agent
        .unknown
        .iter()
        .map(|entry| entry.key.to_string());
    keys.filter(|key| grove_spec::agent::formats::granting::grants(key))
        .collect()
}

/// Prints the number of documents, and each top-level key of one that grants something.
const PYTHON: &str = "
import json, sys, yaml
GRANTING = {'hooks', 'mcp', 'mcpservers', 'permission', 'permissions', 'permissionmode', 'plugin', 'plugins'}
n = 0
for line in open(sys.argv[1], encoding='utf-8'):
    read = yaml.load(json.loads(line), Loader=yaml.SafeLoader)
    n += 1
    for key in read:
        if str(key).strip().lower().replace('-', '').replace('_', '') in GRANTING:
            print('grants', key, line)
print(n)
";
const NODE: &str = "
const { readFileSync } = require('fs');
const YAML = require(process.argv[2] + '/yaml');
const GRANTING = new Set(['hooks', 'mcp', 'mcpservers', 'permission', 'permissions', 'permissionmode', 'plugin', 'plugins']);
let n = 0;
for (const line of readFileSync(process.argv[3], 'utf8').split('\\n')) {
  if (!line) continue;
  const read = YAML.parse(JSON.parse(line));
  n += 1;
  for (const key of Object.keys(read)) {
    if (GRANTING.has(key.trim().toLowerCase().replaceAll('-', '').replaceAll('_', ''))) console.log('grants', key, line);
  }
}
console.log(n);
";

fn readers(documents: &Path) -> [Command; 2] {
    let mut python = Command::new(Need::OraclePython.path());
    python.args(["-c", PYTHON]).arg(documents);
    let mut node = Command::new(Need::Node.path());
    node.args(["-e", NODE, "--"])
        .arg("")
        .arg(Need::Pi.path())
        .arg(documents);
    [python, node]
}

#[test]
fn no_export_of_a_package_has_a_key_that_grants_by_two_other_readers() {
    needs![OraclePython, Node, Pi];
    let cases = usize::try_from(effort("GROVE_TEST_GRANTS", 10_000)).unwrap();
    let written = exports(cases);
    assert!(written.len() > cases / 2, "{} of {cases}", written.len());
    let folder = tempfile::tempdir().unwrap();
    let documents = folder.path().join("documents");
    let mut file = std::fs::File::create(&documents).unwrap();
    for front in &written {
        writeln!(file, "{}", json!(front)).unwrap();
    }
    for mut reader in readers(&documents) {
        let read = capture(&mut reader, HANGING).unwrap();
        let said = read.stdout_text();
        assert_eq!(
            said.trim(),
            written.len().to_string(),
            "{reader:?}: {}",
            read.stderr_text()
        );
    }
}

#[test]
fn an_anchored_or_escaped_key_of_a_package_passed_into_an_export() {
    for hooks in [
        "&k hooks: {Stop: x}",
        "\"h\\u006foks\": {Stop: x}",
        "? hooks\n: {Stop: x}",
    ] {
        let session = session();
        session
            .file("home/.pi/agent/settings.json", r#"{"packages":["~/pl"]}"#)
            .file("home/pl/.claude-plugin/plugin.json", r#"{"name":"pl"}"#)
            .file(
                "home/pl/agents/helper.md",
                format!("---\nname: helper\ndescription: d\nskills: sk\n{hooks}\n---\nHELP\n"),
            )
            .file(
                "home/pl/skills/sk/SKILL.md",
                format!("---\nname: sk\ndescription: d\n{hooks}\n---\nBODY\n"),
            );
        crate::exported::export(&session, "claude", "");
        for path in [
            "project/.claude/agents/helper.md",
            "project/.claude/skills/sk/SKILL.md",
        ] {
            let text = if session.has(path) {
                session.read(path)
            } else {
                String::new()
            };
            let front = fence::split(&text).map_or("", |fenced| fenced.frontmatter);
            assert!(
                !front.to_lowercase().contains("hook") && !front.contains("u006f"),
                "{hooks}: {text}"
            );
        }
    }
}
