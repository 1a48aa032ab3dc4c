//! `grove catalog --host NAME`: what another host would tell its model.

use grove_catalog::host_listing::{self, HostListing};
use grove_catalog::hosts::{self, Host};
use grove_catalog::snapshot::Snapshot;
use grove_skills::host_lists;
use serde_json::{Value, json};

use grove_skills::host_views;

use super::{DiscoveredLibrary, Outcome, counted, naming};
use crate::args::CatalogArgs;
use crate::command_error::CommandError;
use crate::output::CommandOutput;

/// Prints the host's list, and beside it what the host cuts.
pub(super) fn run(
    discovered: &DiscoveredLibrary,
    host_name: &str,
    arguments: &CatalogArgs,
    out: &mut CommandOutput,
) -> Outcome {
    let host = naming::known_host(host_name, "known hosts", hosts::names())?;
    let host = hosts::by_name(host)
        .ok_or_else(|| CommandError::internal(format!("the description of {host} is damaged")))?;
    let snapshot = &discovered.snapshot;
    let listing = host_lists::listing(&discovered.discovery, &host, arguments.window);
    if arguments.discovery.json {
        out.json(&to_json(snapshot, &host, &listing));
    } else {
        out.text(&listing.text);
        print_notes(&host, &listing, out);
    }
    Ok(0)
}

fn count(listing: &HostListing, how: &str) -> usize {
    let shown = listing.shown.iter();
    shown.filter(|one| one.how.as_str() == how).count()
}

fn to_json(snapshot: &Snapshot, host: &Host, listing: &HostListing) -> Value {
    let entry = |one: &host_listing::ListedSkill| {
        Some(json!({
            "name": one.name,
            "address": snapshot.address(snapshot.skills.get(one.skill)?),
            "how": one.how.as_str(),
            // Characters of its description in the list.
            "shownDescription": one.description,
        }))
    };
    let built_in = host.listing.built_in.iter();
    let (chars, tokens) = host_views::listing_cost(listing, crate::tokens::count);
    json!({
        "schema": "grove.catalog.host/1",
        "host": host.name,
        "title": host.title,
        "checked": host.checked,
        "text": listing.text,
        "chars": chars,
        "tokens": tokens,
        "entries": listing.shown.iter().filter_map(entry).collect::<Vec<_>>(),
        "report": {
            "full": count(listing, "full"),
            "shortened": count(listing, "shortened"),
            "nameOnly": count(listing, "nameOnly"),
            "leftOut": count(listing, "leftOut"),
            "budget": {
                "measure": listing.budget.measure.as_str(),
                "limit": listing.budget.limit,
                "used": listing.budget.used,
                "strategy": host.budget.overflow.as_str(),
            },
            "builtIn": built_in.map(|skill| skill.name.as_str()).collect::<Vec<_>>(),
            "notes": listing.notes,
        },
    })
}

/// Names of what is cut beyond this many are counted and not named.
const MOST_NAMES: usize = 20;

fn print_notes(host: &Host, listing: &HostListing, out: &mut CommandOutput) {
    let title = &host.title;
    if listing.shown.is_empty() {
        out.note(&format!("{title} would list none of your skills"));
    } else {
        let budget = &listing.budget;
        let measure = budget.measure.as_str();
        let of_limit = budget.limit.map_or_else(
            || "it has no limit".to_owned(),
            |limit| format!("{} of {limit} {measure} used", budget.used),
        );
        out.note(&format!(
            "{title} {}: {}, {of_limit}",
            host.checked,
            counted(listing.shown.len(), "skill")
        ));
    }
    for (how, words) in [
        ("shortened", "with a shortened description"),
        ("nameOnly", "by name alone"),
        ("leftOut", "not listed at all"),
    ] {
        let shown = listing.shown.iter();
        let names: Vec<&str> = shown
            .filter(|one| one.how.as_str() == how)
            .map(|one| one.name.as_str())
            .collect();
        if names.is_empty() {
            continue;
        }
        let first: Vec<&str> = names.iter().take(MOST_NAMES).copied().collect();
        let more = names.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        out.note(&format!(
            "{} {words}: {}{more}",
            names.len(),
            first.join(", ")
        ));
    }
    listing.notes.iter().for_each(|note| out.note(note));
}
