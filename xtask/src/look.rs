//! `cargo xtask look`: the pages of runs and of the library in headless Chromium, light and dark, narrow and wide, for people to
//! look at. A test makes them, since it has the scenes.

use std::path::PathBuf;
use std::time::Duration;

use crate::tools;
use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::{step, workspace};

const LIMIT: Duration = Duration::from_mins(30);
const TEST: &str = "web_sessions::pictures::every_page_has_its_picture";

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let folder = arguments.value("--output")?;
    arguments.finish()?;
    let folder: PathBuf = folder.unwrap_or_else(|| workspace::target().join("look"));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let folder = std::fs::canonicalize(&folder).map_err(|error| error.to_string())?;
    tools::install_system_package("chromium")?;
    tools::install_node()?;
    tools::install_browser_tools()?;
    let mut test = workspace::cargo();
    test.args(["test", "--package", "grove", "--test", "it", "--"])
        .args(["--exact", "--ignored", TEST])
        .envs(tools::environment())
        .env("GROVE_LOOK", &folder);
    step::show("the pictures", &mut test, LIMIT)?;
    println!("{}", folder.display());
    Ok(())
}
