//! `grove engines`: the engines that can drive a child here.

use grove_engine::engines::{NATIVE, ProgramReport, ProgramTrial, report};
use grove_skills::Environment;

use super::Outcome;
use crate::output::{CommandOutput, page};
use crate::table::Table;

pub(super) fn run(
    environment: &Environment,
    try_each: bool,
    json: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let report = report(environment, try_each)?;
    let (ready, rows) = (&report.providers, &report.programs);
    let has_failed = |row: &ProgramReport| row.trial.as_ref().is_some_and(|trial| !trial.ok);
    let code = u8::from(rows.iter().any(has_failed));
    if json {
        out.json(&serde_json::json!({
            "schema": "grove.engines/1", "native": { "providers": ready }, "programs": rows,
        }));
        return Ok(code);
    }
    let mut table = Table::new(&[
        "ENGINE",
        "STATE",
        "VERSION",
        "TRIED WITH",
        "LOGIN",
        "CANNOT",
    ]);
    let state = if ready.is_empty() {
        "no provider has a key".to_owned()
    } else {
        format!("ready: {}", ready.join(", "))
    };
    table.row(&[NATIVE, &state, env!("CARGO_PKG_VERSION"), "", "", ""]);
    for row in rows {
        let state = match &row.trial {
            Some(ProgramTrial { ok: true, .. }) => "installed, works".to_owned(),
            Some(ProgramTrial { why, .. }) => {
                format!("fails: {}", why.as_deref().unwrap_or_default())
            }
            None if row.installed => "installed".to_owned(),
            None => "not installed".to_owned(),
        };
        let version = row.version.as_deref().unwrap_or_default();
        let login = row.login.then_some("login");
        let keys: Vec<&str> = login.into_iter().chain(row.keys.iter().copied()).collect();
        let keys = keys.join(", ");
        let cannot = row.missing().join(", ");
        table.row(&[row.name, &state, version, row.tried, &keys, &cannot]);
    }
    out.painted(&table.render(page(&environment.variables)));
    for row in rows.iter().filter(|row| row.installed) {
        if !row.not_switched_off.is_empty() {
            let what = row.not_switched_off.join(", ");
            out.line(&format!("{} keeps {what}", row.title));
        }
    }
    Ok(code)
}
