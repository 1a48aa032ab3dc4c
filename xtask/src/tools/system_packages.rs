//! Programs that only the system's package manager has: `strace`, which counts system calls, `valgrind`, which counts
//! instructions, `tmux`, which is a terminal for tests, `chromium`, which is a browser for them, `faketime`, a clock that can
//! be set, and the Python that makes the environment of the others.

use std::process::Command;

use grove_testkit::need;

use super::{INSTALL_LIMIT, retry};
use grove_testkit::task::step;

/// Installs them from the system's packages unless they are there.
pub(crate) fn install_system_packages() -> Result<(), String> {
    [
        "strace", "tmux", "faketime", "valgrind", "python3", "chromium",
    ]
    .into_iter()
    .try_for_each(install_system_package)?;
    for (program, package) in [("script", "bsdutils"), ("pgrep", "procps")] {
        if need::on_path(program).is_err() {
            install(package)?;
        }
    }
    if has_venv() {
        return Ok(());
    }
    install("python3-venv")
}

/// Installs a program whose package has its name, unless it is there.
pub(crate) fn install_system_package(package: &str) -> Result<(), String> {
    if need::on_path(package).is_ok() {
        return Ok(());
    }
    install(package)
}

/// Returns true if Python can make an environment with pip, which some systems keep in a package of its own.
fn has_venv() -> bool {
    let mut python = Command::new("python3");
    python.args(["-m", "ensurepip", "--version"]);
    step::quiet("python3 -m ensurepip", &mut python, INSTALL_LIMIT).is_ok()
}

fn install(package: &str) -> Result<(), String> {
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

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("apt-get")
    } else if need::on_path("sudo").is_ok() {
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
