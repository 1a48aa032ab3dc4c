//! `strace`, which counts system calls.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::{INSTALL_LIMIT, retry};
use crate::step;

/// Installs `strace` from the system's packages unless it is there.
pub(crate) fn install_strace() -> Result<(), String> {
    if strace_program().is_some() {
        return Ok(());
    }
    eprintln!("installing strace");
    // The package lists may be missing or too old, which only shows when an install fails.
    retry::some_times("the install of strace", || {
        apt_get(&["install", "--yes", "--no-install-recommends", "strace"]).or_else(|_| {
            apt_get(&["update"])?;
            apt_get(&["install", "--yes", "--no-install-recommends", "strace"])
        })
    })
}

/// The program `strace`, when there is one.
pub(crate) fn strace_program() -> Option<PathBuf> {
    find_on_path("strace")
}

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("apt-get")
    } else if find_on_path("sudo").is_some() {
        let mut sudo = Command::new("sudo");
        // Without a password that was given before, this fails instead of asking.
        sudo.args(["--non-interactive", "apt-get"]);
        sudo
    } else {
        return Err(
            "strace is missing, and without root or sudo it cannot be installed".to_owned(),
        );
    };
    command
        // A fresh machine may be busy with its own updates.
        .args(["-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    let what = format!("apt-get {}", arguments.first().unwrap_or(&""));
    step::quiet(&what, &mut command, INSTALL_LIMIT).map(drop)
}

fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}
