//! Reads a catalog and its index files the way a model with nothing but a file-reading tool does.
//!
//! Written against the documented shape alone, so that a catalog which only its own writer understands
//! does not pass.

use std::collections::{BTreeMap, BTreeSet};

/// One entry as a reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadEntry {
    /// Its name.
    pub name: String,
    /// Its description, if there is one.
    pub description: Option<String>,
    /// Its location, aliases resolved.
    pub location: String,
}

/// The entries of a catalog's text, or what is wrong with it.
pub fn read_catalog(text: &str) -> Result<Vec<ReadEntry>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let marks = ["<available_skills>", "</available_skills>"];
    if marks.map(|mark| text.matches(mark).count()) != [1, 1] {
        return Err("not exactly one list of skills".to_owned());
    }
    let parts = text.split_once("<available_skills>\n");
    let (head, rest) = parts.ok_or("no opening line")?;
    let body = rest.strip_suffix("</available_skills>\n");
    let body = body.ok_or("text after the list")?;
    let aliases = aliases(head);
    let mut entries = read_entries(body)?;
    for entry in &mut entries {
        if let Some((alias, below)) = entry.location.split_once('/')
            && let Some(folder) = aliases.get(alias)
        {
            entry.location = format!("{folder}/{below}");
        }
    }
    Ok(entries)
}

/// The entries of an index file and the location of what holds for all of them.
pub fn read_index(text: &str) -> Result<(Vec<ReadEntry>, Option<String>), String> {
    let (head, rest) = text.split_once("<skills>\n").ok_or("no opening line")?;
    let body = rest.strip_suffix("</skills>\n");
    let body = body.ok_or("text after the list")?;
    let mut lines = head.lines();
    let for_all = lines.find_map(|line| line.strip_prefix("What holds for all of them: "));
    Ok((read_entries(body)?, for_all.map(unescape)))
}

/// Every location that is reached from a catalog by reading alone; `index` gives the text of an index file
/// by its location and nothing for other files.
pub fn reach(
    catalog: &str,
    index: impl Fn(&str) -> Option<String>,
) -> Result<BTreeSet<String>, String> {
    let locations = |entries: Vec<ReadEntry>| entries.into_iter().map(|entry| entry.location);
    let mut waiting: Vec<String> = locations(read_catalog(catalog)?).collect();
    let mut reached = BTreeSet::new();
    while let Some(location) = waiting.pop() {
        if !reached.insert(location.clone()) {
            continue;
        }
        if let Some(text) = index(&location) {
            let index = read_index(&text).map_err(|error| format!("{location}: {error}"));
            let (entries, for_all) = index?;
            waiting.extend(locations(entries).chain(for_all));
        }
    }
    Ok(reached)
}

/// `r1 = ~/.agents/skills;` in the line that begins with `Locations:`.
fn aliases(head: &str) -> BTreeMap<String, String> {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("Locations:"))
        .unwrap_or_default();
    let pairs = line.split("; r").filter_map(|pair| {
        let pair = pair.trim().trim_end_matches(';').trim_start_matches('r');
        pair.split_once(" = ")
            .map(|(alias, folder)| (format!("r{alias}"), unescape(folder)))
    });
    pairs.collect()
}

fn read_entries(body: &str) -> Result<Vec<ReadEntry>, String> {
    body.lines()
        .map(|line| read_entry(line).ok_or_else(|| format!("not an entry: {line}")))
        .collect()
}

fn read_entry(line: &str) -> Option<ReadEntry> {
    let rest = line
        .strip_prefix("<skill><name>")?
        .strip_suffix("</location></skill>")?;
    let (name, rest) = rest.split_once("</name>")?;
    let (description, location) = match rest.strip_prefix("<description>") {
        Some(rest) => {
            let (description, location) = rest.split_once("</description><location>")?;
            (Some(description), location)
        }
        None => (None, rest.strip_prefix("<location>")?),
    };
    let plain = |text: &str| !text.contains(['<', '>']);
    (plain(name) && plain(location) && description.is_none_or(plain)).then(|| ReadEntry {
        name: unescape(name),
        description: description.map(unescape),
        location: unescape(location),
    })
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}
