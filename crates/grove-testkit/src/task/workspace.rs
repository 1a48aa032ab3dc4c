//! Where things are in this workspace, and its cargo.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut above = manifest.ancestors().skip(2);
    above.next().unwrap_or(manifest).to_owned()
}

/// The folder cargo builds into, which also takes everything that is installed or generated here.
pub fn target() -> PathBuf {
    // A relative value counts from where cargo was called, which is also where we were started.
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => env::current_dir().unwrap_or_default().join(folder),
        None => root().join("target"),
    }
}

/// The cargo that started us, in the folder of the workspace.
pub fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    // Absolute, since the folder in which cargo is started changes here.
    cargo.current_dir(root()).env("CARGO_TARGET_DIR", target());
    cargo
}
