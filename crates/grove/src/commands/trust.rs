//! `grove trust` and `grove untrust`.

use std::path::Path;

use grove_fs::trust_store::Grant;
use grove_skills::{Environment, trusting};
use grove_spec::text::{first_names, one_line};
use serde_json::json;

use super::{Outcome, counted, tilde};
use crate::output::Output;
use crate::table::Table;

pub(super) fn grant(
    environment: &Environment,
    folder: Option<&Path>,
    follow: bool,
    list: bool,
    json: bool,
    out: &mut Output,
) -> Outcome {
    if list {
        return list_grants(environment, json, out);
    }
    let granted = trusting::grant(environment, folder, follow)?;
    if json {
        out.json(&json!({
            "schema": "grove.trust/1",
            "folder": granted.folder.to_string_lossy(),
            "follow": granted.follow,
            "new": granted.new,
            "changed": granted.changed,
            "unchanged": granted.unchanged,
            "notSearched": granted.not_searched,
        }));
        return Ok(0);
    }
    out.line(&format!(
        "trusted {}{}",
        tilde(&granted.folder, environment),
        if granted.follow {
            ", later changes too"
        } else {
            " as it is now"
        }
    ));
    for (word, files) in [("new", &granted.new), ("changed", &granted.changed)] {
        for file in files {
            out.line(&format!("  {word} {}", one_line(file)));
        }
    }
    if granted.unchanged > 0 {
        out.line(&format!(
            "  {} as seen before",
            counted(granted.unchanged, "file")
        ));
    }
    if granted.new.is_empty() && granted.changed.is_empty() && granted.unchanged == 0 {
        out.note(
            "hint: this project has no skills yet; what is added later will be shown as changed",
        );
    }
    if !granted.not_searched.is_empty() {
        out.note(&format!(
            "{} not searched, being too many, too deep or unreadable: {}",
            counted_folders(granted.not_searched.len()),
            one_line(&first_names(&granted.not_searched))
        ));
        out.note("hint: run `grove trust` in one of them if you work there");
    }
    Ok(0)
}

fn counted_folders(count: usize) -> String {
    if count == 1 {
        "1 folder was".to_owned()
    } else {
        format!("{count} folders were")
    }
}

pub(super) fn revoke(
    environment: &Environment,
    folder: Option<&Path>,
    json: bool,
    out: &mut Output,
) -> Outcome {
    let (folder, was_trusted) = trusting::revoke(environment, folder)?;
    if json {
        out.json(
            &json!({ "schema": "grove.untrust/1", "folder": folder.to_string_lossy(), "wasTrusted": was_trusted }),
        );
    } else if was_trusted {
        out.line(&format!(
            "{} is no longer trusted",
            tilde(&folder, environment)
        ));
    } else {
        out.line(&format!("{} was not trusted", tilde(&folder, environment)));
        out.note("hint: `grove trust --list` lists what is trusted");
    }
    Ok(0)
}

fn list_grants(environment: &Environment, json: bool, out: &mut Output) -> Outcome {
    let grants = trusting::grants(environment);
    if json {
        let all: Vec<_> = grants.iter().map(|grant| json!({ "folder": grant.path.to_string_lossy(), "follow": grant.follow, "files": files_in(grant) })).collect();
        out.json(&json!({ "schema": "grove.trust.list/1", "grants": all }));
        return Ok(0);
    }
    if grants.is_empty() {
        out.note("nothing is trusted");
        return Ok(0);
    }
    let mut table = Table::new(&["FOLDER", "FILES", "CHANGES"]);
    for grant in &grants {
        let changes = if grant.follow {
            "trusted too"
        } else {
            "shown first"
        };
        table.row(&[
            &tilde(&grant.path, environment),
            &files_in(grant).to_string(),
            changes,
        ]);
    }
    out.text(&table.render(crate::output::columns(&environment.variables)));
    Ok(0)
}

/// How many files a grant pins.
fn files_in(grant: &Grant) -> usize {
    let pins = grant.pins.values();
    pins.filter(|pin| grove_catalog::trust::is_file(pin))
        .count()
}
