//! Skills over MCP as standardised: `skills/list` and `skills/get` of `io.modelcontextprotocol/skills`.
//!
//! An entry is a promise: all readers of YAML read its frontmatter alike, its list of files is whole, and
//! every digest is that of the bytes which `resources/read` gives. A skill for which this does not hold is
//! left out, and the answer says so.

use std::fmt::Write as _;

use grove_catalog::snapshot::Skill;
use grove_skills::Discovery;
use grove_spec::skill::is_standard_name;
use rmcp::ErrorData;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::frontmatter;
use crate::pages;
use crate::resources::MAX_FILE;
use crate::served_library::ServedLibrary;
use crate::skill_paths::{OWN_FILE, uri};
use crate::work::WorkHandle;

pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
pub(crate) const LIST: &str = "skills/list";
pub(crate) const GET: &str = "skills/get";

/// The number of files of a skill that every host accepts, including its own.
const MAX_FILES: usize = 512;
/// The bytes of all files of a skill that every host accepts.
const MAX_TOTAL: u64 = 16 << 20;
const PAGE: usize = 50;
/// The bytes after which a page ends: hashing more would keep a client waiting.
const FULL_PAGE: u64 = 64 << 20;
/// The milliseconds for which a client may keep an answer. It is short, since a skill may change at any time.
const FRESH_MS: u64 = 5_000;

pub(crate) fn list(
    library: &ServedLibrary,
    params: Option<&Value>,
    work: &WorkHandle,
) -> Result<Value, ErrorData> {
    let cursor = params.and_then(|params| params.get("cursor"));
    let after = match cursor {
        None | Some(Value::Null) => None,
        Some(Value::String(cursor)) => Some(pages::parse(cursor)?),
        Some(_) => return Err(ErrorData::invalid_params("`cursor` is not text", None)),
    };
    let discovery = library.discover();
    let paths = library.paths(&discovery.snapshot);
    let (mut skills, mut left_out, mut bytes, mut last) = (Vec::new(), Vec::new(), 0, None);
    let mut rest = paths.after(after.as_deref()).peekable();
    let of = paths.len().min(PAGE);
    for done in 0..PAGE {
        if work.is_cancelled() || bytes >= FULL_PAGE {
            break;
        }
        let Some((path, at)) = rest.next() else {
            break;
        };
        last = Some(path);
        match entry(&discovery, path, at, work) {
            Ok(entry) => {
                bytes += entry.bytes;
                skills.push(entry.json);
            }
            Err(why) => left_out.push(json!({ "uri": uri(path, OWN_FILE), "why": why })),
        }
        work.done(done + 1, of);
    }
    let mut result = JsonObject::new();
    result.insert("skills".to_owned(), Value::Array(skills));
    if let (Some(last), true) = (last, rest.peek().is_some()) {
        result.insert("nextCursor".to_owned(), pages::cursor(last).into());
    }
    if !left_out.is_empty() {
        result.insert("_meta".to_owned(), json!({ "grove/leftOut": left_out }));
    }
    Ok(complete(result))
}

pub(crate) fn get(
    library: &ServedLibrary,
    params: Option<&Value>,
    work: &WorkHandle,
) -> Result<Value, ErrorData> {
    let invalid = |message: String| ErrorData::invalid_params(message, None);
    let wanted = match params.and_then(|params| params.get("uri")) {
        Some(Value::String(wanted)) => wanted,
        None | Some(Value::Null) => return Err(invalid("`uri` is missing".to_owned())),
        Some(_) => return Err(invalid("`uri` is not text".to_owned())),
    };
    let discovery = library.discover();
    let paths = library.paths(&discovery.snapshot);
    let Some((path, at)) = paths.skill(wanted) else {
        return Err(invalid(format!("no skill is served at {wanted}")));
    };
    let entry = entry(&discovery, path, at, work)
        .map_err(|why| invalid(format!("no skill is served at {wanted}: {why}")))?;
    let mut result = JsonObject::new();
    result.insert("skill".to_owned(), entry.json);
    Ok(complete(result))
}

fn complete(mut result: JsonObject) -> Value {
    result.insert("resultType".to_owned(), "complete".into());
    result.insert("ttlMs".to_owned(), FRESH_MS.into());
    // The skills are those of one person on one machine.
    result.insert("cacheScope".to_owned(), "private".into());
    Value::Object(result)
}

struct IndexedSkill {
    json: Value,
    bytes: u64,
}

fn entry(
    discovery: &Discovery,
    path: &str,
    at: usize,
    work: &WorkHandle,
) -> Result<IndexedSkill, &'static str> {
    let (snapshot, sources) = (&discovery.snapshot, &discovery.sources.skills);
    let skill = snapshot.skills.get(at).ok_or("it is gone")?;
    let own = sources.read(skill).ok_or("it is changing")?;
    let text = std::str::from_utf8(&own).map_err(|_| "it is not UTF-8")?;
    let frontmatter = frontmatter::as_json(text).ok_or("its frontmatter is not plain YAML")?;
    check_names(skill, &frontmatter)?;
    let found = sources.all_files(snapshot, skill, MAX_FILES);
    let found = found.map_err(|_| "its folder cannot be listed")?;
    let too_deep = found.names.iter().any(|name| name.ends_with('/'));
    if too_deep || found.uncounted || found.not_seen > 0 || found.names.len() >= MAX_FILES {
        return Err("it has more files than hosts accept");
    }
    let mut bytes = own.len() as u64;
    let mut files = vec![file(path, OWN_FILE, &own)];
    for name in &found.names {
        if work.is_cancelled() {
            return Err("the request was cancelled");
        }
        let content = sources.read_file(snapshot, skill, name, MAX_FILE);
        let content = content.map_err(|_| "one of its files cannot be read")?;
        bytes += content.len() as u64;
        if bytes > MAX_TOTAL {
            return Err("it is larger than hosts accept");
        }
        files.push(file(path, name, &content));
    }
    let json = json!({
        "uri": uri(path, OWN_FILE),
        "frontmatter": frontmatter,
        "resources": files,
    });
    Ok(IndexedSkill { json, bytes })
}

/// Checks that the frontmatter has a description and a name in the standard's form, as the standard demands.
fn check_names(skill: &Skill, frontmatter: &JsonObject) -> Result<(), &'static str> {
    let text = |key: &str| frontmatter.get(key).and_then(Value::as_str);
    if text("name") != Some(skill.name()) {
        return Err("its name is not in its frontmatter");
    }
    if text("description").is_none() {
        return Err("its description is not text");
    }
    if is_standard_name(skill.name()) {
        Ok(())
    } else {
        Err("its name is not one that the standard allows")
    }
}

fn file(path: &str, name: &str, content: &[u8]) -> Value {
    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        let _ = write!(digest, "{byte:02x}");
    }
    json!({ "uri": uri(path, name), "digest": digest, "size": content.len() })
}
