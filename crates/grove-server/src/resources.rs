//! Resources: skills, their files, and runs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use grove_catalog::snapshot::Skill;
use grove_engine::Engine;
use grove_skills::{Discovery, ReadRefusal};
use grove_spec::text::one_line;
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::mime::kind_of;
use crate::pages;
use crate::served_library::ServedLibrary;
use crate::skill_paths::{OWN_FILE, SkillPaths, uri};
use crate::work::WorkHandle;

/// The largest file that is served, in bytes: for a larger one a client can read the file itself.
pub(crate) const MAX_FILE: u64 = 4 << 20;
const PAGE: usize = 100;
const FULL_PAGE: usize = 1_000;
/// The number of tries to read a file that changes between looking and reading.
const ATTEMPTS: usize = 3;

/// Returns a page of resources after a skill's path, and the cursor of the next page.
pub(crate) fn list(
    discovery: &Discovery,
    paths: &SkillPaths,
    after: Option<&str>,
    work: &WorkHandle,
) -> (Vec<Resource>, Option<String>) {
    let mut resources = Vec::new();
    let mut rest = paths.after(after).peekable();
    let mut last = None;
    let of = paths.len().min(PAGE);
    for done in 0..PAGE {
        if work.is_cancelled() || resources.len() >= FULL_PAGE {
            break;
        }
        let Some((path, at)) = rest.next() else {
            break;
        };
        last = Some(path);
        if let Some(skill) = discovery.snapshot.skills.get(at) {
            resources.push(own_file(path, skill));
            resources.extend(other_files(discovery, path, skill));
        }
        work.done(done + 1, of);
    }
    let more = rest.peek().is_some();
    (resources, last.filter(|_| more).map(pages::cursor))
}

fn own_file(path: &str, skill: &Skill) -> Resource {
    let resource = Resource::new(uri(path, OWN_FILE), one_line(skill.name()))
        .with_mime_type(kind_of(OWN_FILE, None))
        .with_size(skill.content.size);
    match skill.description() {
        Some(description) => resource.with_description(one_line(description)),
        None => resource,
    }
}

/// Returns the files beside a skill's own; a folder that cannot be listed gives none.
fn other_files(discovery: &Discovery, path: &str, skill: &Skill) -> Vec<Resource> {
    let found = discovery
        .sources
        .skills
        .resources(&discovery.snapshot, skill);
    let names = found.unwrap_or_default().names;
    let files = names.iter().filter(|name| !name.ends_with('/'));
    let name_of = |file: &str| one_line(&format!("{}/{file}", skill.name()));
    files
        .map(|file| {
            Resource::new(uri(path, file), name_of(file)).with_mime_type(kind_of(file, None))
        })
        .collect()
}

pub(crate) const RUN: &str = "run://";

pub(crate) fn templates(has_runs: bool) -> Vec<ResourceTemplate> {
    let skills = ResourceTemplate::new("skill://{+skill}/{+file}", "skill file").with_description(
        "A file of a skill: `SKILL.md` is the skill itself and names its other files",
    );
    let runs = ResourceTemplate::new("run://{run}", "run")
        .with_description("A run of child agents, as `grove runs show --json` prints it")
        .with_mime_type(RUN_TYPE);
    let runs = has_runs.then_some(runs);
    std::iter::once(skills).chain(runs).collect()
}

const RUN_TYPE: &str = "application/json";

pub(crate) fn run_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(RUN)
}

/// Returns the bytes of a resource of the library; none when it does not exist or cannot be read.
pub(crate) fn bytes_of(library: &ServedLibrary, uri: &str) -> Option<Vec<u8>> {
    let contents = read(library, uri).ok()?;
    serde_json::to_vec(&contents).ok()
}

pub(crate) fn read_run(engine: &Engine, uri: &str) -> Result<ResourceContents, ErrorData> {
    let run = run_of(uri).and_then(|run| engine.run_json(run));
    match run {
        Some((json, _)) => Ok(ResourceContents::text(json, uri).with_mime_type(RUN_TYPE)),
        None => Err(unknown(uri)),
    }
}

fn unknown(uri: &str) -> ErrorData {
    let message = format!("there is no resource {}", one_line(uri));
    ErrorData::resource_not_found(message, None)
}

pub(crate) fn read(library: &ServedLibrary, wanted: &str) -> Result<ResourceContents, ErrorData> {
    let unknown = || unknown(wanted);
    for _ in 0..ATTEMPTS {
        let discovery = library.discover();
        let (snapshot, sources) = (&discovery.snapshot, &discovery.sources.skills);
        let paths = library.paths(snapshot);
        let (at, file) = paths.file(wanted).ok_or_else(unknown)?;
        let skill = snapshot.skills.get(at).ok_or_else(unknown)?;
        if file == OWN_FILE {
            match sources.read(skill) {
                Some(bytes) => return Ok(contents(wanted, &file, bytes)),
                None => continue,
            }
        }
        return match sources.read_file(snapshot, skill, &file, MAX_FILE) {
            Ok(bytes) => Ok(contents(wanted, &file, bytes)),
            Err(ReadRefusal::NoSuchFile) => Err(unknown()),
            // The next discovery finds the changed skill, and the file may no longer be a resource then.
            Err(ReadRefusal::Changed) => continue,
            Err(ReadRefusal::Fs(error)) => {
                let message = format!("{} cannot be read: {}", one_line(wanted), error.source);
                Err(ErrorData::invalid_params(message, None))
            }
        };
    }
    let message = format!("{} keeps changing; ask again", one_line(wanted));
    Err(ErrorData::internal_error(message, None))
}

fn contents(uri: &str, file: &str, bytes: Vec<u8>) -> ResourceContents {
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(kind_of(file, Some(true))),
        Err(error) => {
            let blob = STANDARD.encode(error.as_bytes());
            ResourceContents::blob(blob, uri).with_mime_type(kind_of(file, Some(false)))
        }
    }
}
