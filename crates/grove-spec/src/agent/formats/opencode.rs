//! Agents in `OpenCode`'s settings: `agent` is an object with an agent under each name, and so is the older `mode`.

use super::{AgentFormat, FoundAgent, NamedFiles, from_values, opencode_references as references};
use crate::agent::ParsedAgent;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::json;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

const BODY: &str = "prompt";
/// The keys that hold agents: the present one and the older one.
const KEYS: [&str; 2] = ["agent", OLD_KEY];
/// The older key; inside an agent it tells if a person talks to the agent.
const OLD_KEY: &str = "mode";
const MAX_AGENTS: usize = 500;

/// The paths of the files that prompts name, as they are written.
pub(super) fn named_files(text: &str) -> Vec<String> {
    let Ok(read) = json::parse(&without_comments(text)) else {
        return Vec::new();
    };
    let entries = KEYS.iter().filter_map(|key| read.node.get(key)?.as_map());
    let prompts = entries
        .flatten()
        .filter_map(|entry| entry.value.get(BODY)?.as_text());
    references::named_in(prompts)
}

pub(super) fn settings(text: &str, named: &NamedFiles) -> Vec<FoundAgent> {
    let json::Json {
        node, duplicates, ..
    } = match json::parse(&without_comments(text)) {
        Ok(read) => read,
        Err(fault) => {
            let message = format!("not JSON: {}", fault.message);
            let finding = Diagnostic::new(Code::AgentSyntax, message);
            return refused(finding.at(fault.position));
        }
    };
    let (entries, faults) = entries_of(&node);
    let mut found: Vec<FoundAgent> = entries
        .iter()
        .take(MAX_AGENTS)
        .map(|entry| one(entry, named))
        .collect();
    if let Some(first) = found.first_mut() {
        let twice = duplicates.into_iter().map(|(key, position)| {
            let message = format!("`{key}` appears twice; the last one counts");
            Diagnostic::new(Code::JsonDuplicateKey, message).at(position)
        });
        first.parsed.diagnostics.extend(twice);
    }
    if let Some(beyond) = entries.get(MAX_AGENTS) {
        let message = format!("more than {MAX_AGENTS} agents in one file; the rest are not read");
        let finding = Diagnostic::new(Code::CandidateLimit, message);
        let parsed = ParsedAgent::refused(finding.at(beyond.position));
        let member = Some(beyond.key.to_string());
        found.push(FoundAgent { member, parsed });
    }
    found.extend(faults.into_iter().flat_map(refused));
    found
}

/// The agents under both keys. An agent under both has the fields of both, and those of the older key take precedence,
/// as in `OpenCode`.
fn entries_of(node: &YamlNode) -> (Vec<YamlEntry>, Vec<Diagnostic>) {
    let (mut all, mut faults): (Vec<YamlEntry>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    for key in KEYS {
        let Some(agents) = node.get(key) else {
            continue;
        };
        let Some(entries) = agents.as_map() else {
            let message = format!("`{key}` is {}, not an object", agents.kind());
            let finding = Diagnostic::new(Code::AgentSyntax, message);
            faults.push(finding.at(agents.position));
            continue;
        };
        for entry in entries {
            let mut entry = entry.clone();
            if key == OLD_KEY {
                make_primary(&mut entry);
            }
            match all.iter_mut().find(|known| known.key == entry.key) {
                Some(known) => join(known, entry),
                None => all.push(entry),
            }
            // One more than the limit is kept, so that the rest can be reported.
            if all.len() > MAX_AGENTS {
                break;
            }
        }
    }
    (all, faults)
}

/// Marks an agent under the older key as one that a person talks to.
fn make_primary(entry: &mut YamlEntry) {
    let position = entry.position;
    if let YamlValue::Map(fields) = &mut entry.value.value {
        fields.retain(|field| field.key != OLD_KEY);
        fields.push(YamlEntry {
            key: crate::yaml::key(OLD_KEY),
            position,
            value: YamlNode::text("primary", position),
        });
    }
}

/// Adds the fields of an entry to one of the same name; the added ones take precedence.
fn join(known: &mut YamlEntry, over: YamlEntry) {
    match (&mut known.value.value, over.value.value) {
        (YamlValue::Map(fields), YamlValue::Map(stronger)) => {
            fields.retain(|field| !stronger.iter().any(|other| other.key == field.key));
            fields.extend(stronger);
        }
        (value, other) => *value = other,
    }
}

/// The text with blanks in place of comments and of trailing commas, both of which `OpenCode` accepts, so that all else
/// stays in its place.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let (mut in_text, mut is_escaped) = (false, false);
    // The offset of a comma after which only blanks have come.
    let mut comma = None;
    while let Some(c) = rest.next() {
        if in_text {
            in_text = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            out.push(c);
            continue;
        }
        match (c, rest.peek()) {
            ('/', Some('/')) => {
                out.push(' ');
                while let Some(c) = rest.next_if(|c| *c != '\n') {
                    out.push(blank(c));
                }
            }
            ('/', Some('*')) => {
                // The star that begins a comment does not end it.
                rest.next();
                out.push_str("  ");
                let mut last = ' ';
                for c in rest.by_ref() {
                    out.push(blank(c));
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            (c, _) => {
                if matches!(c, '}' | ']')
                    && let Some(at) = comma
                {
                    out.replace_range(at..=at, " ");
                }
                if c == ',' {
                    comma = Some(out.len());
                } else if !c.is_ascii_whitespace() {
                    comma = None;
                }
                in_text = c == '"';
                out.push(c);
            }
        }
    }
    out
}

fn blank(c: char) -> char {
    if c == '\n' { c } else { ' ' }
}

fn one(entry: &YamlEntry, named: &NamedFiles) -> FoundAgent {
    FoundAgent {
        member: Some(entry.key.to_string()),
        parsed: agent(entry, named),
    }
}

fn agent(entry: &YamlEntry, named: &NamedFiles) -> ParsedAgent {
    let Some(entries) = entry.value.as_map() else {
        let message = format!("`{}` is {}, not an object", entry.key, entry.value.kind());
        let finding = Diagnostic::new(Code::AgentSyntax, message);
        return ParsedAgent::refused(finding.at(entry.value.position));
    };
    let mut diagnostics = Vec::new();
    let mut entries = entries.to_vec();
    if !entries.iter().any(|one| one.key == "name") {
        let name = YamlEntry {
            key: crate::yaml::key("name"),
            position: entry.position,
            value: YamlNode::text(&*entry.key, entry.position),
        };
        entries.insert(0, name);
    }
    for one in &mut entries {
        let is_prompt = one.key == BODY;
        diagnostics.extend(references::literal(one, is_prompt));
        if !is_prompt {
            continue;
        }
        match references::filled(one, named) {
            Ok(None) => {}
            Ok(Some(text)) => one.value = YamlNode::text(text, one.value.position),
            Err(finding) => diagnostics.push(finding),
        }
    }
    let (meaning, inner_body) = from_values(
        entries,
        BODY,
        (AgentFormat::OpencodeJson, entry.position),
        &mut diagnostics,
    );
    ParsedAgent {
        agent: meaning.agent,
        places: meaning.places,
        body_offset: 0,
        inner_body: Some(inner_body),
        named_file: None,
        generated_from: None,
        diagnostics,
    }
}

fn refused(finding: Diagnostic) -> Vec<FoundAgent> {
    vec![FoundAgent {
        member: None,
        parsed: ParsedAgent::refused(finding),
    }]
}
