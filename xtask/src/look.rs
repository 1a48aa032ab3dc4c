//! `cargo xtask look`: the page of an exported run in headless Chromium, light and dark, narrow and wide, for people to look at.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::tools;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

const BUILD_LIMIT: Duration = Duration::from_mins(20);
const LIMIT: Duration = Duration::from_mins(2);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let folder = arguments.value("--output")?;
    arguments.finish()?;
    let folder: PathBuf = folder.unwrap_or_else(|| workspace::target().join("look"));
    tools::install_system_package("chromium")?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--package", "grove"]);
    step::show("cargo build", &mut build, BUILD_LIMIT)?;
    let tried = tempfile::tempdir().map_err(|error| error.to_string())?;
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let page = folder.join("run.html");
    export(&tried.path().join("tried"), &page)?;
    for (name, scheme) in [("dark", "0"), ("light", "1")] {
        for width in [400, 1_400] {
            let picture = folder.join(format!("{name}-{width}.png"));
            photograph(&page, scheme, width, &picture)?;
            println!("{}", picture.display());
        }
    }
    Ok(())
}

/// Exports the run of `grove try`.
fn export(tried: &Path, page: &Path) -> Result<(), String> {
    let grove = workspace::target().join("debug/grove");
    let mut try_it = Command::new(&grove);
    try_it.arg("try").arg("--folder").arg(tried);
    step::quiet("grove try", &mut try_it, LIMIT)?;
    let there = |words: &[&str]| {
        let mut command = Command::new(&grove);
        let home = tried.join("home");
        command.args(words).current_dir(tried).env("HOME", home);
        command.env_remove("XDG_STATE_HOME");
        command
    };
    let listed = step::quiet(
        "grove runs list",
        &mut there(&["runs", "list", "--json"]),
        LIMIT,
    )?;
    let listed: Value =
        serde_json::from_str(&listed.stdout_text()).map_err(|error| error.to_string())?;
    let id = listed["runs"][0]["id"].as_str().unwrap_or_default();
    let mut export = there(&["runs", "export", id, "--yes", "--output"]);
    step::quiet("grove runs export", export.arg(page), LIMIT).map(drop)
}

fn photograph(page: &Path, scheme: &str, width: u32, picture: &Path) -> Result<(), String> {
    let profile = tempfile::tempdir().map_err(|error| error.to_string())?;
    // A window is at least 500 wide; a frame in one may be narrower.
    let framed = profile.path().join("frame.html");
    let markup = format!(
        "<!doctype html><body style=\"margin:0\"><iframe src=\"file://{}\" style=\"width:{width}px;height:2000px;border:0\"></iframe>",
        page.display()
    );
    std::fs::write(&framed, markup).map_err(|error| error.to_string())?;
    let mut chromium = Command::new("chromium");
    chromium
        .args(
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars"
                .split(' '),
        )
        .args(
            "--disable-background-networking --disable-component-update --disable-sync".split(' '),
        )
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--window-size={},2000", width.max(500)))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", framed.display()));
    step::quiet("chromium", &mut chromium, LIMIT).map(drop)
}
