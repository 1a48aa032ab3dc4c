//! `grove trust` and `grove untrust`.

use std::fmt::Write as _;
use std::path::Path;

use grove_fs::trust_store::Grant;
use grove_skills::Environment;
use grove_skills::trusting::{self, ChangedFile, ItemKind, ReviewItem, TrustReview};
use grove_spec::text::{first_names, one_line, visible};
use serde_json::json;

use super::{Outcome, counted, tilde};
use crate::args::TrustArgs;
use crate::command_error::CommandError;
use crate::output::CommandOutput;
use crate::table::Table;

const SHOWN_DIGEST: usize = 16;

pub(super) fn grant(
    environment: &Environment,
    arguments: &TrustArgs,
    out: &mut CommandOutput,
) -> Outcome {
    if arguments.list {
        return list_grants(environment, arguments.json, out);
    }
    let review = trusting::review(environment, arguments.folder.as_deref(), arguments.follow)?;
    if !arguments.json {
        print_review(&review, environment, out);
    }
    if !arguments.dry_run {
        if !(arguments.yes || is_agreed(&review, arguments.json, environment, out)?) {
            out.note("nothing was trusted");
            return Ok(1);
        }
        trusting::accept(environment, &review)?;
    }
    if arguments.json {
        print_json(&review, !arguments.dry_run, out);
        return Ok(0);
    }
    let folder = tilde(&review.folder, environment);
    if arguments.dry_run {
        out.note("nothing was trusted: this was a dry run");
    } else if review.follow {
        out.line(&format!("trusted {folder}, later changes too"));
    } else {
        out.line(&format!("trusted {folder} as it is now"));
    }
    Ok(0)
}

/// Asks the person at the terminal; without a terminal that is an error.
fn is_agreed(
    review: &TrustReview,
    is_json: bool,
    environment: &Environment,
    out: &mut CommandOutput,
) -> Result<bool, CommandError> {
    let folder = tilde(&review.folder, environment);
    let answer = if is_json {
        None
    } else {
        out.ask(&format!("trust {folder}?"))
    };
    answer.ok_or_else(|| {
        CommandError::usage("nothing was trusted: there is no terminal to ask on")
            .hint("review what `grove trust --dry-run` prints, then run `grove trust --yes`")
    })
}

fn print_review(review: &TrustReview, environment: &Environment, out: &mut CommandOutput) {
    let news = || {
        review
            .items
            .iter()
            .filter(|item| review.is_new_or_changed(item))
    };
    let findings = news().flat_map(|item| item.findings.iter().map(move |it| (item, it)));
    for (item, finding) in findings {
        let path = one_line(&item.path);
        out.line(&format!(
            "! {} {path} {}",
            item.kind.as_str(),
            one_line(finding)
        ));
    }
    for kind in ItemKind::ALL {
        for item in news().filter(|item| item.kind == kind) {
            let package = item.package.as_deref().map_or_else(String::new, |package| {
                format!(" of the package {}", one_line(package))
            });
            out.line(&format!(
                "{} {}{package}",
                kind.as_str(),
                one_line(&item.path)
            ));
        }
    }
    let mut left = MAX_NEW_LINES;
    for file in &review.new {
        out.line(&format!("  new {}", one_line(file)));
        match review.text_of(file) {
            Some(text) => content(&text, &mut left)
                .lines()
                .for_each(|line| out.line(line)),
            None => out.line("    not shown: it is no text, too long, or has settings"),
        }
    }
    for file in &review.removed {
        out.line(&format!("  removed {}", one_line(file)));
    }
    for file in &review.changed {
        out.line(&format!("  changed {}", one_line(&file.path)));
        match &file.texts {
            Some((before, now)) => out.text(&difference(before, now)),
            None => out.line("    its earlier text was not kept"),
        }
    }
    if review.unchanged > 0 {
        let count = counted(review.unchanged, "file");
        out.line(&format!("  {count} unchanged since you last looked"));
    }
    if review.new.is_empty() && review.changed.is_empty() && review.unchanged == 0 {
        out.note(
            "hint: this project has no skills yet; what is added later will be shown as changed",
        );
    }
    for (skill, problem) in &review.not_pinned {
        out.note(&format!(
            "{} cannot be trusted: {}",
            tilde(&review.folder.join(skill), environment),
            one_line(problem)
        ));
    }
    if !review.not_searched.is_empty() {
        out.note(&format!(
            "{} not searched (too many, too deep or unreadable): {}",
            counted_folders(review.not_searched.len()),
            one_line(&first_names(&review.not_searched))
        ));
        out.note("hint: run `grove trust` in one of them if you work there");
    }
}

/// The longest part of a difference, or of a new file, that is shown.
const MAX_LINES: usize = 200;
const MAX_NEW_LINES: usize = 1_000;
const MAX_LINE: usize = 500;

/// The beginning of a new file's text, for people; `left` is how many more lines are shown of all.
fn content(text: &str, left: &mut usize) -> String {
    let most = MAX_LINES.min(*left);
    let mut lines = text.lines();
    let mut shown = String::new();
    for line in lines.by_ref().take(most) {
        let kept: String = line.chars().take(MAX_LINE).collect();
        let cut = if kept.len() < line.len() { "…" } else { "" };
        let line = format!("    | {}{cut}", visible(&kept));
        let _ = writeln!(shown, "{}", line.trim_end());
        *left -= 1;
    }
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(shown, "    and {}", counted(more, "more line"));
    }
    shown
}

/// Returns the difference of two texts, line by line, for people.
fn difference(before: &str, now: &str) -> String {
    let difference = similar::TextDiff::from_lines(before, now);
    let unified = difference.unified_diff().to_string();
    let mut lines = unified.lines();
    let mut shown: String = lines
        .by_ref()
        .take(MAX_LINES)
        .fold(String::new(), |all, line| all + "    " + line + "\n");
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(shown, "    and {more} more lines");
    }
    shown
}

fn print_json(review: &TrustReview, granted: bool, out: &mut CommandOutput) {
    let item = |item: &ReviewItem| {
        json!({
            "kind": item.kind.as_str(),
            "path": item.path,
            "package": item.package,
            "isNew": review.is_new_or_changed(item),
            "findings": item.findings,
        })
    };
    let difference = |file: &ChangedFile| {
        let text = file.texts.as_ref();
        json!({
            "path": file.path,
            "difference": text.map(|(before, now)| {
                similar::TextDiff::from_lines(before, now).unified_diff().to_string()
            }),
        })
    };
    let not_pinned = review.not_pinned.iter();
    out.json(&json!({
        "schema": "grove.trust/1",
        "folder": review.folder.to_string_lossy(),
        "follow": review.follow,
        "granted": granted,
        "items": review.items.iter().map(item).collect::<Vec<_>>(),
        "new": review.new,
        "changed": review.changed.iter().map(|file| &file.path).collect::<Vec<_>>(),
        "removed": review.removed,
        "unchanged": review.unchanged,
        "differences": review.changed.iter().map(difference).collect::<Vec<_>>(),
        "notPinned": not_pinned
            .map(|(path, problem)| json!({ "path": path, "problem": problem }))
            .collect::<Vec<_>>(),
        "notSearched": review.not_searched,
    }));
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
    out: &mut CommandOutput,
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

/// Takes back that a command or program of a project may run.
pub(super) fn disapprove(
    environment: &Environment,
    digest: &str,
    json: bool,
    out: &mut CommandOutput,
) -> Outcome {
    let approvals = trusting::approvals(environment);
    let all = approvals.all();
    let meant: Vec<_> = all
        .iter()
        .filter(|it| it.digest.starts_with(digest))
        .collect();
    let [approval] = meant.as_slice() else {
        let message = match meant.len() {
            0 => format!("nothing with the digest {} was approved", one_line(digest)),
            _ => format!("several digests begin with {}", one_line(digest)),
        };
        return Err(CommandError::finding(message).hint("`grove trust --list` lists them"));
    };
    approvals.remove(approval)?;
    if json {
        out.json(&json!({ "schema": "grove.untrust/1", "approval": approval.digest }));
    } else {
        let about = one_line(&approval.about);
        out.line(&format!("no longer approved: {about}"));
    }
    Ok(0)
}

fn list_grants(environment: &Environment, json: bool, out: &mut CommandOutput) -> Outcome {
    let grants = trusting::grants(environment);
    let approved = trusting::approvals(environment).all();
    if json {
        let all: Vec<_> = grants.iter().map(|grant| json!({ "folder": grant.path.to_string_lossy(), "follow": grant.follow, "files": files_in(grant) })).collect();
        let approved: Vec<_> = approved
            .iter()
            .map(|it| json!({ "digest": it.digest, "about": it.about }))
            .collect();
        out.json(&json!({ "schema": "grove.trust.list/1", "grants": all, "approvals": approved }));
        return Ok(0);
    }
    for approval in &approved {
        let digest = approval.digest.get(..SHOWN_DIGEST).unwrap_or_default();
        out.line(&format!("approved {digest}: {}", one_line(&approval.about)));
    }
    if grants.is_empty() {
        if approved.is_empty() {
            out.note("nothing is trusted");
        }
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
    out.painted(&table.render(crate::output::page(&environment.variables)));
    Ok(0)
}

fn files_in(grant: &Grant) -> usize {
    let pins = grant.pins.values();
    pins.filter(|pin| grove_catalog::trust::is_file(pin))
        .count()
}
