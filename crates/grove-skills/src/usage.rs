//! The use of skills: written when one is activated, read when a session begins.
//!
//! The record is a convenience. When it is damaged or cannot be written, that is said and nothing else changes. Skills
//! are remembered by a digest of their file's path: a label such as `project:.agents/skills` means another folder in
//! every project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use grove_catalog::Digest;
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::atomic::{self, Durability};
use grove_fs::lock::Lock;
use grove_fs::{FsError, files};
use grove_spec::{Code, Diagnostic};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

const VERSION: u32 = 1;
/// Skills that are remembered; beyond, the longest unused are forgotten.
const MAX_SKILLS: usize = 10_000;
/// Skills whose use a session takes along; a catalog shows far fewer.
const MAX_SCORES: usize = 1_000;
const MAX_BYTES: u64 = 4 << 20;
const LOCK_WAIT: Duration = Duration::from_secs(2);
const DAY: f64 = 86_400.0;
const HALF_LIFE_DAYS: f64 = 7.0;
/// The part of its worth that a use keeps however long ago it was.
const FLOOR: f64 = 0.1;
/// The worth of one use just now.
const POINTS: f64 = 100.0;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageRecord {
    version: u32,
    skills: BTreeMap<String, SkillUse>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillUse {
    count: u32,
    /// The time of the last use, in seconds since 1970.
    last: u64,
}

impl Default for UsageRecord {
    fn default() -> Self {
        Self {
            version: VERSION,
            skills: BTreeMap::new(),
        }
    }
}

/// Remembers that a skill was used. What is in the way is a finding, never an error.
pub(crate) fn remember(environment: &Environment, location: &Path, now: u64) -> Vec<Diagnostic> {
    let Some(file) = file_of(environment) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if let Err(error) = update(&file, location, now, &mut findings) {
        let message = format!("{error}: {}", error.source);
        findings.push(Diagnostic::new(Code::UsageUnwritable, message).in_file(&file));
    }
    findings
}

/// The number of uses of each skill of a snapshot that was used, by its number there.
pub fn counts(environment: &Environment, snapshot: &Snapshot) -> BTreeMap<usize, u32> {
    let record = file_of(environment).map(|file| read(&file).record);
    let record = record.unwrap_or_default();
    let skills = snapshot.skills.iter().enumerate();
    let used = skills.filter_map(|(at, skill)| {
        let location = snapshot.location(&skill.place);
        Some((at, record.skills.get(&key_of(&location))?.count))
    });
    used.collect()
}

/// The score of each skill of a snapshot that is used, by address.
pub(crate) fn scores(
    environment: &Environment,
    snapshot: &Snapshot,
    now: u64,
) -> (BTreeMap<String, u32>, Option<Diagnostic>) {
    let Some(file) = file_of(environment) else {
        return Default::default();
    };
    let ReadRecord {
        record, finding, ..
    } = read(&file);
    let of = |skill: &Skill| {
        let location = snapshot.location(&skill.place);
        record.skills.get(&key_of(&location))
    };
    let mut all: Vec<(u32, String)> = snapshot
        .skills
        .iter()
        .filter_map(|skill| Some((score(*of(skill)?, now), snapshot.address(skill))))
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    all.truncate(MAX_SCORES);
    let scores = all.into_iter().map(|(score, address)| (address, score));
    (scores.collect(), finding)
}

/// The usage from before a library began. It is read once, at the first question, so that the text of a conversation
/// does not change with each use.
#[derive(Debug)]
pub(crate) struct EarlierUsage {
    file: Option<PathBuf>,
    read: OnceLock<(UsageRecord, u64)>,
}

impl EarlierUsage {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            file: file_of(environment),
            read: OnceLock::new(),
        }
    }

    pub(crate) fn of(&self, location: &Path) -> u32 {
        let Some(file) = &self.file else { return 0 };
        let (record, now) = self.read.get_or_init(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            (read(file).record, now.unwrap_or_default().as_secs())
        });
        let used = record.skills.get(&key_of(location));
        used.map_or(0, |used| score(*used, *now))
    }
}

#[expect(
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "counts and ages are not negative, and days need no precision"
)]
fn score(used: SkillUse, now: u64) -> u32 {
    let days = now.saturating_sub(used.last) as f64 / DAY;
    let decay = 0.5_f64.powf(days / HALF_LIFE_DAYS).max(FLOOR);
    (f64::from(used.count) * decay * POINTS).round() as u32
}

fn update(
    file: &Path,
    location: &Path,
    now: u64,
    findings: &mut Vec<Diagnostic>,
) -> Result<(), FsError> {
    if let Some(folder) = file.parent() {
        files::make_folder(folder)?;
    }
    let _lock = Lock::take(file, LOCK_WAIT)?;
    let ReadRecord {
        mut record,
        finding,
        is_ours,
    } = read(file);
    findings.extend(finding);
    if !is_ours {
        return Ok(());
    }
    let used = record.skills.entry(key_of(location)).or_default();
    used.count = used.count.saturating_add(1);
    used.last = used.last.max(now);
    forget_oldest(&mut record);
    let bytes = serde_json::to_vec(&record)
        .map_err(|error| FsError::new("write", file, std::io::Error::other(error)))?;
    atomic::write(file, &bytes, Durability::Cache)
}

fn forget_oldest(record: &mut UsageRecord) {
    let Some(over) = record
        .skills
        .len()
        .checked_sub(MAX_SKILLS)
        .filter(|over| *over > 0)
    else {
        return;
    };
    let mut by_age: Vec<(u64, String)> = record
        .skills
        .iter()
        .map(|(key, used)| (used.last, key.clone()))
        .collect();
    by_age.sort_unstable();
    for (_, key) in by_age.into_iter().take(over) {
        record.skills.remove(&key);
    }
}

/// The part that every version of the record has.
#[derive(Debug, Deserialize)]
struct UsageVersion {
    version: u64,
}

/// A record that was read; when there is none to be had it is empty, with the reason. A record of a later version is
/// not ours to replace.
struct ReadRecord {
    record: UsageRecord,
    finding: Option<Diagnostic>,
    is_ours: bool,
}

fn read(file: &Path) -> ReadRecord {
    let empty = |code: Code, message: String| ReadRecord {
        record: UsageRecord::default(),
        finding: Some(Diagnostic::new(code, message).in_file(file)),
        is_ours: code != Code::UsageNewer,
    };
    let whole = |record: UsageRecord| ReadRecord {
        record,
        finding: None,
        is_ours: true,
    };
    let bytes = match files::read_bounded(file, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return whole(UsageRecord::default()),
        Err(error) => return empty(Code::UsageDamaged, format!("{error}: {}", error.source)),
    };
    // A later version may have other fields, so its number is looked at by itself.
    if let Ok(UsageVersion { version }) = serde_json::from_slice(&bytes)
        && version > u64::from(VERSION)
    {
        let message = format!(
            "the record of used skills has version {version}, this program knows version {VERSION}: it is left alone"
        );
        return empty(Code::UsageNewer, message);
    }
    match serde_json::from_slice::<UsageRecord>(&bytes) {
        Ok(record) if record.version == VERSION => whole(record),
        _ => {
            let message = "the record of used skills is damaged and has been started afresh";
            empty(Code::UsageDamaged, message.to_owned())
        }
    }
}

fn key_of(location: &Path) -> String {
    let mut key = Digest::of(location.as_os_str().as_encoded_bytes()).to_string();
    key.truncate(32);
    key
}

fn file_of(environment: &Environment) -> Option<PathBuf> {
    let nowhere = environment.state.starts_with(Environment::NOWHERE);
    (!nowhere).then(|| environment.state.join("usage.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_fades_by_half_in_a_week_down_to_a_floor() {
        let days = |days: u64| days * 86_400;
        for (count, age, expected) in [
            (1, 0, 100),
            (1, days(7), 50),
            (4, days(14), 100),
            (3, days(3650), 30),
            (0, 0, 0),
            (u32::MAX, 0, u32::MAX),
        ] {
            let now = days(20_000);
            let used = SkillUse {
                count,
                last: now - age,
            };
            assert_eq!(score(used, now), expected, "{count} {age}");
        }
        let ahead = SkillUse { count: 1, last: 9 };
        assert_eq!(score(ahead, 0), 100, "a clock that was put back");
    }

    #[test]
    fn the_longest_unused_are_forgotten() {
        let mut record = UsageRecord::default();
        for n in 0..MAX_SKILLS as u64 + 3 {
            record
                .skills
                .insert(format!("{n:05}"), SkillUse { count: 1, last: n });
        }
        forget_oldest(&mut record);
        assert_eq!(record.skills.len(), MAX_SKILLS);
        assert_eq!(
            record.skills.keys().next().map(String::as_str),
            Some("00003")
        );
    }
}
