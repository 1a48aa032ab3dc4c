//! The places in a text where a report may be, and JSON as models write it.

use std::ops::Range;

use serde_json::Value;

use super::REPORT_TAG;

/// The words before a report without a fence.
const MARKER: &str = "ACCEPTANCE_REPORT:";
/// The length of a text that is searched for a report in no block, and the number of its objects, at most.
const MOST_SEARCHED: usize = 64 << 10;
const MOST_OBJECTS: usize = 50;

/// A place in a text where a report may be.
pub(super) struct ReportPlace {
    pub(super) kind: &'static str,
    /// Set if it calls itself a report.
    pub(super) is_named: bool,
    pub(super) note: Option<&'static str>,
    pub(super) whole: Range<usize>,
    pub(super) body: Range<usize>,
}

/// Returns the places where reports may be, the likeliest first.
pub(super) fn places(text: &str) -> Vec<ReportPlace> {
    let mut places = Vec::new();
    let fences = fences(text);
    for fence in &fences {
        let tag = fence.tag.to_ascii_lowercase();
        let squeezed: String = tag.chars().filter(char::is_ascii_alphanumeric).collect();
        if squeezed.starts_with("acceptancereport") {
            let note = if !fence.is_closed {
                Some("the fence of the report is not closed")
            } else if tag != REPORT_TAG {
                Some("the fence of the report has another tag")
            } else {
                None
            };
            places.push(fence.place("fence of the report", true, note));
        }
    }
    let upper = text.to_ascii_uppercase();
    for (start, _) in upper.match_indices(MARKER).take(MOST_OBJECTS) {
        if let Some(body) = balanced(text, start + MARKER.len()) {
            places.push(ReportPlace {
                kind: "report after its marker",
                is_named: true,
                note: None,
                whole: start..body.end,
                body,
            });
        }
    }
    for fence in fences.iter().rev() {
        let tag = fence.tag.to_ascii_lowercase();
        if matches!(
            tag.as_str(),
            "" | "json" | "json5" | "jsonc" | "javascript" | "js"
        ) {
            places.push(fence.place(
                "block",
                false,
                Some("the report is in a block of another kind"),
            ));
        }
    }
    // Objects that are written out on their own near the end, the last first.
    let near = text.floor_char_boundary(text.len().saturating_sub(MOST_SEARCHED));
    let starts = text.rmatch_indices('{').map(|(at, _)| at);
    let starts = starts.take_while(|at| *at >= near).take(MOST_OBJECTS);
    let objects: Vec<Range<usize>> = starts.filter_map(|at| balanced(text, at)).collect();
    let is_inside = |body: &Range<usize>| {
        let mut others = objects.iter().filter(|other| *other != body);
        others.any(|other| other.start <= body.start && body.end <= other.end)
    };
    for body in objects.iter().filter(|body| !is_inside(body)) {
        places.push(ReportPlace {
            kind: "object",
            is_named: false,
            note: Some("the report is in no block"),
            whole: body.clone(),
            body: body.clone(),
        });
    }
    places
}

struct Fence<'a> {
    tag: &'a str,
    whole: Range<usize>,
    body: Range<usize>,
    is_closed: bool,
}

impl Fence<'_> {
    fn place(&self, kind: &'static str, is_named: bool, note: Option<&'static str>) -> ReportPlace {
        ReportPlace {
            kind,
            is_named,
            note,
            whole: self.whole.clone(),
            body: self.body.clone(),
        }
    }
}

/// The fenced blocks of a text; the last may be open.
fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences: Vec<Fence<'_>> = Vec::new();
    let mut open: Option<(usize, &str, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let trimmed = line.trim();
        match open {
            None => {
                let mark = ["```", "~~~"]
                    .into_iter()
                    .find(|mark| trimmed.starts_with(mark));
                if let Some(mark) = mark {
                    let run = trimmed.trim_start_matches(|c| mark.starts_with(c));
                    let length = trimmed.len() - run.len();
                    let mark = trimmed.get(..length).unwrap_or(mark);
                    let tag = run.split_whitespace().next().unwrap_or_default();
                    open = Some((start, mark, tag, end));
                }
            }
            Some((began, mark, tag, body)) if trimmed == mark => {
                fences.push(Fence {
                    tag,
                    whole: began..end,
                    body: body..start,
                    is_closed: true,
                });
                open = None;
            }
            Some(_) => {}
        }
    }
    if let Some((began, _, tag, body)) = open {
        fences.push(Fence {
            tag,
            whole: began..text.len(),
            body: body..text.len(),
            is_closed: false,
        });
    }
    fences
}

/// The first object at or after a place, up to the brace that closes it or, when none does, to the end.
fn balanced(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let start = from + rest.find('{')?;
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (at, c) in text.get(start..)?.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(start..start + at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// JSON, or what people and models write instead: comments, single quotes, trailing commas, a missing end.
pub(super) fn lenient(text: &str) -> Option<Value> {
    let text = text.trim();
    let object = balanced(text, 0).and_then(|range| text.get(range));
    let candidates = [Some(text), object];
    for candidate in candidates.into_iter().flatten() {
        if let Ok(value) = serde_json::from_str(candidate) {
            return Some(value);
        }
        if let Ok(value) = serde_json::from_str(&strict(candidate)) {
            return Some(value);
        }
    }
    // A text that was cut off is closed where it ends.
    serde_json::from_str(&strict(&closed(text)?)).ok()
}

/// Returns the same text with double quotes and quoted keys, without comments and without commas that nothing follows. A
/// text of another kind becomes no JSON either.
fn strict(text: &str) -> String {
    let mut strict = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' => {
                strict.push('"');
                while let Some(inner) = rest.next() {
                    match inner {
                        '\\' => match rest.next() {
                            Some('\'') => strict.push('\''),
                            Some(escaped) => strict.extend(['\\', escaped]),
                            None => {}
                        },
                        '"' if c == '\'' => strict.push_str("\\\""),
                        '\n' => strict.push_str("\\n"),
                        end if end == c => break,
                        other => strict.push(other),
                    }
                }
                strict.push('"');
            }
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            '}' | ']' => {
                let kept = strict.trim_end().trim_end_matches(',').len();
                strict.truncate(kept);
                strict.push(c);
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let mut word = String::from(c);
                while let Some(next) =
                    rest.next_if(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
                {
                    word.push(next);
                }
                if matches!(word.as_str(), "true" | "false" | "null") {
                    strict.push_str(&word);
                } else {
                    strict.extend(["\"", &word, "\""]);
                }
            }
            other => strict.push(other),
        }
    }
    strict
}

/// A text that stops inside an object, with what is open closed.
fn closed(text: &str) -> Option<String> {
    let start = text.find('{')?;
    let mut open = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in text.get(start..)?.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => open.push('}'),
            '[' if !quoted => open.push(']'),
            '}' | ']' if !quoted => {
                open.pop();
            }
            _ => {}
        }
    }
    let mut closed = text.get(start..)?.trim_end().to_owned();
    if quoted {
        closed.push('"');
    }
    let kept = closed.trim_end_matches([',', ' ', '\n', ':']).len();
    closed.truncate(kept);
    closed.extend(open.iter().rev());
    Some(closed)
}
