//! Agents in `OpenCode`'s settings: `agent` is an object with an agent under each name.

use super::{Format, Found, from_values};
use crate::agent::Parsed;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::json;
use crate::yaml::{Entry, Node};

/// The key with the agent's text.
const BODY: &str = "prompt";
/// Agents that one file may hold.
const MAX_AGENTS: usize = 500;

pub(super) fn settings(text: &str) -> Vec<Found> {
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
    let Some(agents) = node.get("agent") else {
        return Vec::new();
    };
    let Some(entries) = agents.as_map() else {
        let message = format!("`agent` is {}, not an object", agents.kind());
        let finding = Diagnostic::new(Code::AgentSyntax, message);
        return refused(finding.at(agents.position));
    };
    let mut found: Vec<Found> = entries.iter().take(MAX_AGENTS).map(one).collect();
    if let Some(first) = found.first_mut() {
        let twice = duplicates.into_iter().map(|(key, position)| {
            let message = format!("`{key}` stands twice; the last one counts");
            Diagnostic::new(Code::JsonDuplicateKey, message).at(position)
        });
        first.parsed.diagnostics.extend(twice);
    }
    if let Some(beyond) = entries.get(MAX_AGENTS) {
        let message = format!("more than {MAX_AGENTS} agents in one file; the rest are not read");
        let finding = Diagnostic::new(Code::CandidateLimit, message);
        let parsed = Parsed::refused(finding.at(beyond.position));
        let member = Some(beyond.key.to_string());
        found.push(Found { member, parsed });
    }
    found
}

/// The text with blanks in place of comments and of commas before an end, so that everything else stays in
/// its place: `OpenCode` reads both.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let (mut in_text, mut is_escaped) = (false, false);
    // Where a comma stands that nothing has followed yet.
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

fn one(entry: &Entry) -> Found {
    Found {
        member: Some(entry.key.to_string()),
        parsed: agent(entry),
    }
}

fn agent(entry: &Entry) -> Parsed {
    let Some(entries) = entry.value.as_map() else {
        let message = format!("`{}` is {}, not an object", entry.key, entry.value.kind());
        let finding = Diagnostic::new(Code::AgentSyntax, message);
        return Parsed::refused(finding.at(entry.value.position));
    };
    let mut diagnostics = Vec::new();
    let mut entries = entries.to_vec();
    if !entries.iter().any(|one| one.key == "name") {
        let name = Entry {
            key: crate::yaml::key("name"),
            position: entry.position,
            value: Node::text(&*entry.key, entry.position),
        };
        entries.insert(0, name);
    }
    let names_a_file = |one: &Entry| {
        let text = one.value.as_text().unwrap_or_default();
        one.key == BODY && text.contains("{file:")
    };
    if let Some(prompt) = entries.iter().find(|one| names_a_file(one)) {
        let message = "`prompt` names a file, which Grove does not read";
        let finding = Diagnostic::new(Code::AgentElsewhere, message)
            .with_help("write the agent as a Markdown file in .opencode/agents");
        diagnostics.push(finding.at(prompt.position));
    }
    let (meaning, inner_body) = from_values(
        entries,
        BODY,
        (Format::OpencodeJson, entry.position),
        &mut diagnostics,
    );
    Parsed {
        agent: meaning.agent,
        places: meaning.places,
        body_offset: 0,
        inner_body: Some(inner_body),
        generated_from: None,
        diagnostics,
    }
}

/// A file of which nothing is known but that it cannot be read.
fn refused(finding: Diagnostic) -> Vec<Found> {
    vec![Found {
        member: None,
        parsed: Parsed::refused(finding),
    }]
}
