//! Where a process and everything below it may write, held by the kernel.

use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus,
};
use serde::{Deserialize, Serialize};

/// The newest rules that are asked for; an older kernel holds those that it knows.
const NEWEST: ABI = ABI::V5;
/// The oldest whose rules keep a file from being changed: without truncation rules a file can be emptied.
const OLDEST: ABI = ABI::V3;

/// Where a tree may write. Devices that swallow or make bytes are always open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRules {
    /// The folders, with everything below them.
    pub folders: Vec<PathBuf>,
}

const HARMLESS: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Binds this process and all that it starts. There is no way back.
pub(crate) fn restrict_this_process(rules: &WriteRules) -> Result<(), String> {
    let all = AccessFs::from_write(NEWEST);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(OLDEST))
        .map_err(|error| error.to_string())?;
    let ruleset = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    let folders = rules.folders.iter().map(|folder| (folder.clone(), all));
    let devices = HARMLESS
        .iter()
        .map(|path| (PathBuf::from(path), AccessFs::WriteFile.into()));
    let mut ruleset = ruleset;
    for (path, access) in folders.chain(devices) {
        // What is not there cannot be written to.
        let Ok(descriptor) = PathFd::new(&path) else {
            continue;
        };
        ruleset = ruleset
            .add_rule(PathBeneath::new(descriptor, access))
            .map_err(|error| error.to_string())?;
    }
    let status = ruleset.restrict_self().map_err(|error| error.to_string())?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel does not hold write rules".to_owned());
    }
    Ok(())
}

/// Whether the kernel holds write rules.
pub fn write_rules_work() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(OLDEST))
        .and_then(Ruleset::create)
        .is_ok()
}
