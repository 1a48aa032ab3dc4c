//! The command `grove hosts`: every known host.

use grove_catalog::hosts;
use grove_skills::Environment;
use serde_json::json;

use super::Outcome;
use crate::output::{CommandOutput, page};
use crate::table::Table;

pub(super) fn run(environment: &Environment, json: bool, out: &mut CommandOutput) -> Outcome {
    let all = hosts::all();
    if json {
        let hosts: Vec<_> = all
            .iter()
            .map(|host| {
                json!({
                    "name": host.name,
                    "title": host.title,
                    "checked": host.checked,
                    "roots": host.roots.iter().map(|root| json!({ "source": root.source.as_str(), "path": root.path, "env": root.env, "envList": root.env_list })).collect::<Vec<_>>(),
                    "groupLevels": host.scan.depth,
                    "stopsAtSkill": host.scan.stop_at_skill,
                    "budget": { "chars": host.budget.chars, "windowShare": host.budget.window_share, "entryChars": host.budget.entry_chars, "skills": host.budget.skills, "measure": host.budget.measure.as_str(), "limit": host.budget.limit(None), "strategy": host.budget.overflow.as_str(), "overflow": host.budget.about },
                    "unknown": host.unknown,
                })
            })
            .collect();
        out.json(&json!({ "schema": "grove.hosts/1", "hosts": hosts }));
        return Ok(0);
    }
    let mut table = Table::new(&[
        "HOST",
        "PRODUCT",
        "CHECKED",
        "LOOKS IN",
        "BEYOND ITS BUDGET",
    ]);
    for host in all {
        let paths: Vec<String> = host
            .roots
            .iter()
            .map(|root| {
                root.env_list
                    .as_ref()
                    .map_or_else(|| root.path.clone(), |name| format!("${name}"))
            })
            .collect();
        table.row(&[
            &host.name,
            &host.title,
            &host.checked,
            &paths.join(" "),
            &host.budget.about,
        ]);
    }
    out.painted(&table.render(page(&environment.variables)));
    out.note("`grove skills list --host NAME` lists what a host would see");
    Ok(0)
}
