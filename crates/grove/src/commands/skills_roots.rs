//! The command `grove skills roots`.

use serde_json::json;

use super::{DiscoveredLibrary, tilde};
use crate::json::{DiagnosticJson, RootJson, SnapshotJson};
use crate::output::{CommandOutput, page};
use crate::table::Table;

pub(super) fn run(discovered: &DiscoveredLibrary, json: bool, out: &mut CommandOutput) -> u8 {
    let planned = discovered.library.roots();
    let snapshot = &discovered.snapshot;
    if json {
        let roots = planned.iter().map(|root| RootJson::new(root, snapshot));
        out.json(&json!({
            "schema": "grove.skills.roots/1",
            "snapshot": SnapshotJson::new(snapshot),
            "roots": roots.collect::<Vec<_>>(),
            "diagnostics": DiagnosticJson::list(&snapshot.diagnostics),
        }));
        return 0;
    }
    let environment = discovered.library.environment();
    let mut table = Table::new(&["ROOT", "SKILLS", "TRUST", "PATH"]);
    let mut absent = Vec::new();
    for root in &planned {
        if !root.exists {
            absent.push(tilde(&root.root.path, environment));
            continue;
        }
        let index = snapshot
            .roots
            .iter()
            .position(|known| known.path == root.root.path);
        let count = snapshot
            .skills
            .iter()
            .filter(|skill| Some(skill.place.root) == index)
            .count();
        table.row(&[
            &root.root.label,
            &count.to_string(),
            grove_skills::trusting::describe(&root.root.trust),
            &tilde(&root.root.path, environment),
        ]);
    }
    out.painted(&table.render(page(&environment.variables)));
    if !absent.is_empty() {
        out.note(&format!("missing: {}", absent.join(", ")));
    }
    out.diagnostics(&snapshot.diagnostics);
    0
}
