//! Rules of the kernel on files, ports, signals and abstract sockets (Landlock).

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus,
    Scope,
};

use super::readable::{open_without_links, readable_paths, writable_paths};
use super::{EnforcedRestriction, Sandbox};

/// The newest rules on writing that are asked for; an older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V5;
/// The oldest rules that keep a file from being changed: without truncation rules a file can be emptied.
const OLDEST: ABI = ABI::V3;

/// Devices that swallow or make bytes.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

#[derive(Debug, Default)]
pub(super) struct HeldByRules {
    pub(super) held: Vec<EnforcedRestriction>,
    /// Set if sockets that have a path are restricted too.
    pub(super) holds_sockets: bool,
}

pub(super) fn restrict(sandbox: &Sandbox) -> Result<HeldByRules, Box<dyn std::error::Error>> {
    let reading = AccessFs::from_read(OLDEST);
    // A process that may make devices could make one in a writable folder that is the disk itself.
    let writing = AccessFs::from_write(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(OLDEST))?;
    if sandbox.seclusion.is_some() {
        ruleset = ruleset.handle_access(reading)?;
    }
    let mut ruleset = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(NEWEST))?;
    if let Some(seclusion) = &sandbox.seclusion {
        // Sockets that have a path, if the kernel has rules on them.
        ruleset = ruleset
            .handle_access(AccessFs::ResolveUnix)?
            .scope(Scope::from_all(ABI::V6))?;
        if !seclusion.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
        }
    }
    let mut rules = ruleset.create()?;
    let inside = match &sandbox.seclusion {
        Some(_) => writing | AccessFs::ResolveUnix,
        None => writing,
    };
    for folder in writable_paths(sandbox) {
        rules = allow(rules, &folder, inside)?;
    }
    for device in HARMLESS {
        rules = allow(rules, Path::new(device), AccessFs::WriteFile.into())?;
    }
    if let Some(seclusion) = &sandbox.seclusion {
        for path in readable_paths(seclusion) {
            rules = allow(rules, &path, reading)?;
        }
    }
    let status = rules.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel does not hold them".into());
    }
    let mut by_rules = HeldByRules {
        held: vec![EnforcedRestriction::Writes],
        holds_sockets: false,
    };
    if sandbox.seclusion.is_some() {
        by_rules.held.push(EnforcedRestriction::Reads);
        let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
            return Ok(by_rules);
        };
        if effective_abi >= ABI::V6 {
            by_rules.held.push(EnforcedRestriction::Signals);
        }
        by_rules.holds_sockets = effective_abi >= ABI::V9;
    }
    Ok(by_rules)
}

/// Adds a rule; a path that is not there needs none. The path has no links: one that another process has put into it by now
/// leads nowhere.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    match open_without_links(path) {
        Ok(descriptor) => rules.add_rule(PathBeneath::new(descriptor, access)),
        Err(_) => Ok(rules),
    }
}

pub fn write_rules_work() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(OLDEST))
        .and_then(Ruleset::create)
        .is_ok()
}
