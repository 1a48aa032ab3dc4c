//! A Python environment with the reference implementation of the skill format.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{INSTALL_LIMIT, folder, marker};
use grove_testkit::task::step;

const VERSION: &str = "0.1.1";
const MCP_VERSION: &str = "2.3.0";
const MCP_SERVER_VERSION: &str = "2026.10.19";
const SIGNATURES_VERSION: &str = "1.6.0";
const YAML_VERSION: &str = "6.0.3";

/// Installs `skills-ref`, with which our validation is compared.
pub(crate) fn install_oracle() -> Result<(), String> {
    marker::once("skills-ref", VERSION, || {
        // Its messages come from these two, which it does not pin.
        [
            "strictyaml==1.7.3",
            "click==8.5.1",
            &format!("skills-ref=={VERSION}"),
        ]
        .into_iter()
        .try_for_each(pip_install)
    })
}

/// Installs a second reader of YAML, with which exports are read.
pub(crate) fn install_yaml() -> Result<(), String> {
    marker::once("pyyaml", YAML_VERSION, || {
        pip_install(&format!("PyYAML=={YAML_VERSION}"))
    })
}

/// Installs a library that checks signed envelopes, with which attestations are checked.
pub(crate) fn install_signatures() -> Result<(), String> {
    marker::once("securesystemslib", SIGNATURES_VERSION, || {
        pip_install(&format!("securesystemslib=={SIGNATURES_VERSION}"))
    })
}

/// Installs the official MCP SDK, which is the client that the server is asked by, and a server that children call.
pub(crate) fn install_mcp() -> Result<(), String> {
    marker::once("mcp", MCP_VERSION, || {
        pip_install(&format!("mcp=={MCP_VERSION}"))
    })?;
    marker::once("mcp-server-time", MCP_SERVER_VERSION, || {
        pip_install(&format!("mcp-server-time=={MCP_SERVER_VERSION}"))
    })
}

/// The Python that can import `mcp`.
pub(super) fn mcp_python() -> Result<PathBuf, String> {
    let has_server = marker::is_installed("mcp-server-time", MCP_SERVER_VERSION);
    if marker::is_installed("mcp", MCP_VERSION) && has_server {
        Ok(environment_python())
    } else {
        Err("the MCP SDK is not installed; run `cargo xtask test --against-hosts`".to_owned())
    }
}

/// The Python that can import `skills_ref`.
pub(super) fn python() -> Result<PathBuf, String> {
    if marker::is_installed("skills-ref", VERSION) {
        Ok(environment_python())
    } else {
        Err("skills-ref is not installed; run `cargo xtask test --against-hosts`".to_owned())
    }
}

/// Installs one requirement into the environment, which is made first when it is not there.
pub(super) fn pip_install(requirement: &str) -> Result<(), String> {
    // pip comes last, so an environment without it was given up halfway, and has to be made anew.
    if !environment().join("bin/pip").exists() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(environment());
        step::quiet("python3 -m venv", &mut make, INSTALL_LIMIT)?;
    }
    let mut pip = Command::new(environment_python());
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.arg(requirement);
    step::quiet(
        &format!("pip install {requirement}"),
        &mut pip,
        INSTALL_LIMIT,
    )
    .map(drop)
}

/// Returns what a line of Python prints in the environment.
pub(super) fn python_prints(program: &str) -> Result<String, String> {
    let mut python = Command::new(environment_python());
    python.args(["-c", program]);
    let finished = step::quiet("python", &mut python, INSTALL_LIMIT)?;
    Ok(finished.stdout_text().trim_end().to_owned())
}

fn environment() -> PathBuf {
    folder().join("python")
}

fn environment_python() -> PathBuf {
    environment().join(Path::new("bin/python"))
}
