//! `grove runs export`: a run as one page that needs nothing else, or as JSON.

use std::path::PathBuf;

use grove_engine::RunJournal;
use grove_fs::atomic::{self, Durability};
use grove_server::web::exported_page;
use grove_skills::Environment;

use crate::args::RunExportArgs;
use crate::command_error::{CommandError, ErrorKind, ExitCode as _};
use crate::commands::{Outcome, absolute, agreed, tilde};
use crate::output::CommandOutput;

pub(super) fn export(
    environment: &Environment,
    runs: &RunJournal,
    arguments: &RunExportArgs,
    out: &mut CommandOutput,
) -> Outcome {
    let to_stdout = arguments
        .output
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    let id = runs.find(&arguments.run)?;
    let (bytes, left_out) = if arguments.trace {
        let trace = serde_json::to_vec(&runs.trace(&id)?).map_err(CommandError::internal)?;
        (trace, Vec::new())
    } else if arguments.json {
        let exported = runs.export(&id)?;
        if arguments.output.is_none() || to_stdout {
            out.json(&exported);
            return Ok(0);
        }
        let bytes = serde_json::to_vec_pretty(&exported).map_err(CommandError::internal)?;
        (bytes, exported.left_out)
    } else {
        let page = exported_page(runs, &id)?;
        (page.markup.into_bytes(), page.left_out)
    };
    if to_stdout {
        out.exact(&bytes);
        return Ok(0);
    }
    let kind = if arguments.trace {
        "trace.json"
    } else {
        "html"
    };
    let usual = || PathBuf::from(format!("grove-run-{id}.{kind}"));
    let path = arguments.output.clone().unwrap_or_else(usual);
    let path = absolute(&path, environment);
    let shown = tilde(&path, environment);
    if grove_fs::files::is_there(&path) {
        if !grove_fs::files::is_file(&path) {
            return Err(CommandError::usage(format!("{shown} is not a file")));
        }
        if !agreed(&format!("replace {shown}?"), arguments.yes, out)? {
            return Ok(ErrorKind::Finding.exit_code());
        }
    }
    atomic::write(&path, &bytes, Durability::Cache)?;
    out.line(&shown);
    for left_out in &left_out {
        out.note(&format!("left out: {left_out}"));
    }
    Ok(0)
}
