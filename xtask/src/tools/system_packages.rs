//! Programs that only the system's package manager has: `strace`, which counts system calls, `tmux`, which is a terminal
//! for tests, and `faketime`, a clock that can be set.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::{INSTALL_LIMIT, retry};
use crate::step;

/// Installs them from the system's packages unless they are there.
pub(crate) fn install_system_packages() -> Result<(), String> {
    ["strace", "tmux", "faketime"]
        .into_iter()
        .try_for_each(install_system_package)
}

/// Installs a program whose package has its name, unless it is there.
pub(crate) fn install_system_package(package: &str) -> Result<(), String> {
    if find_on_path(package).is_some() {
        return Ok(());
    }
    eprintln!("installing {package}");
    let install = ["install", "--yes", "--no-install-recommends", package];
    // The package lists may be missing or too old, which only shows when an install fails.
    retry::some_times(&format!("the install of {package}"), || {
        apt_get(&install).or_else(|_| {
            apt_get(&["update"])?;
            apt_get(&install)
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
            "a program is missing, and without root or sudo it cannot be installed".to_owned(),
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
