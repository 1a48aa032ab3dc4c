//! Writes the catalog of one rung: the text, its entries, the index files.

use grove_spec::Digest;

use super::forest::{EVERYTHING, ForestNodeKind, NodeId, is_named};
use super::index;
use super::ladder::{EntryForm, PageState, entry_cost, entry_text, prefix};
use super::locations::AliasChoice;
use super::style::CatalogStyle;
use super::task_order::{PlacedBy, placed_by};
use super::texts::{ANY_INDEX_FILE, CatalogMaterial};
use super::{Catalog, CatalogEntry, CatalogEntryKind, CatalogRequest, report};

pub(crate) fn write(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    request: &CatalogRequest<'_>,
) -> Catalog {
    let page = page(material, sight, request);
    let index = index::IndexFiles::of(material, &page);
    let aliases = aliases(material, sight);
    let entry = |(id, form): &(NodeId, EntryForm)| {
        let file = index.of_node(*id);
        let mut made = entry(material, sight, &aliases, *id, *form, file);
        made.placed_by = placed_by(material, *id, &made.key, request);
        made
    };
    let entries: Vec<CatalogEntry> = page.iter().map(entry).collect();
    let text = text(material, &aliases, &entries);
    let used = material.unit.of(&text);
    Catalog {
        report: report::of(material, sight, &page, &entries, request, used),
        digest: Digest::of(text.as_bytes()),
        text,
        entries,
        index: index.files,
        location_aliases: material.prefixes.stand_for(&aliases),
    }
}

/// Returns the text of a rung, with placeholders for the names of index files that are as long as the final names.
pub(crate) fn draft(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    request: &CatalogRequest<'_>,
) -> String {
    let aliases = aliases(material, sight);
    let page = page(material, sight, request);
    let entry =
        |(id, form): &(NodeId, EntryForm)| entry(material, sight, &aliases, *id, *form, None);
    let entries: Vec<CatalogEntry> = page.iter().map(entry).collect();
    text(material, &aliases, &entries)
}

/// Returns the entries in the order of the page: pinned ones, those found for the task, then group after group, the rest
/// of each at its end.
///
/// A page that shows every skill whole has the same order for all tasks, and so the same bytes in a provider's cache.
/// Recent use does not change the order: a text that moved with every use would never be found in a provider's cache
/// again.
fn page(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    request: &CatalogRequest<'_>,
) -> Vec<(NodeId, EntryForm)> {
    let (forest, snapshot) = (&material.forest, material.snapshot);
    let forms = sight.forms.iter().enumerate();
    let mut page: Vec<(NodeId, EntryForm)> = forms
        .filter_map(|(id, form)| Some((id, (*form)?)))
        .collect();
    let is_whole = |(id, form): &(NodeId, EntryForm)| match form {
        EntryForm::Skill(cut) => cut.end == material.text(*id).description.len(),
        EntryForm::Closed { .. } => false,
    };
    let task = request.task.filter(|_| !page.iter().all(is_whole));
    let mut ranks = vec![usize::MAX; snapshot.skills.len()];
    for (rank, skill) in task.iter().flat_map(|task| task.ranked.iter().enumerate()) {
        if let Some(slot) = ranks.get_mut(*skill) {
            *slot = rank;
        }
    }
    page.sort_by_cached_key(|(id, _)| {
        let rank = forest.skill(*id).map_or(usize::MAX, |skill| ranks[skill]);
        let skill = forest.skill(*id).map(|skill| &snapshot.skills[skill]);
        let is_pinned = skill.is_some_and(|skill| is_named(snapshot, skill, request.pinned));
        (!is_pinned, rank, forest.nodes[*id].place)
    });
    page
}

fn aliases(material: &CatalogMaterial<'_>, sight: &PageState) -> AliasChoice {
    if sight.in_full {
        material.prefixes.in_full()
    } else {
        material.prefixes.aliases(&sight.uses(material))
    }
}

fn entry(
    material: &CatalogMaterial<'_>,
    sight: &PageState,
    aliases: &AliasChoice,
    id: NodeId,
    form: EntryForm,
    index_file: Option<&str>,
) -> CatalogEntry {
    let (forest, snapshot, prefixes) = (&material.forest, material.snapshot, &material.prefixes);
    let node = &forest.nodes[id];
    let (kind, root) = match &node.kind {
        ForestNodeKind::Skill(skill) if node.children.is_empty() => (
            CatalogEntryKind::Skill,
            Some(snapshot.skills[*skill].place.root),
        ),
        ForestNodeKind::Skill(skill) => (
            CatalogEntryKind::Branch,
            Some(snapshot.skills[*skill].place.root),
        ),
        ForestNodeKind::Group { .. } if id == EVERYTHING => (CatalogEntryKind::Rest, None),
        ForestNodeKind::Group { root, .. } => (CatalogEntryKind::Group, *root),
    };
    let begin = prefix(material, id, form);
    let has_locations = material.style.has_locations();
    let is_file = has_locations || begin != prefixes.of_index();
    let rest = match (index_file, form) {
        (Some(file), _) => file.to_owned(),
        (None, EntryForm::Skill(_)) => material.text(id).rest.whole(),
        (None, EntryForm::Closed { .. }) => ANY_INDEX_FILE.to_owned(),
    };
    CatalogEntry {
        kind,
        key: forest.key(snapshot, id),
        name: material.name(id).into_owned(),
        description: entry_text(material, sight, id, form),
        location: if is_file {
            prefixes.location(begin, &rest, &prefixes.in_full())
        } else {
            String::new()
        },
        shown_location: if has_locations {
            prefixes.location(begin, &rest, aliases)
        } else {
            String::new()
        },
        source: root
            .and_then(|root| snapshot.roots.get(root))
            .map(|root| root.source),
        skills: match form {
            EntryForm::Skill(_) => node.n_skills,
            EntryForm::Closed { .. } => sight.held(id, id),
        },
        placed_by: PlacedBy::Usual,
        cost: entry_cost(material, sight, id, form) + prefixes.cost_in_entry(begin, aliases),
    }
}

fn text(material: &CatalogMaterial<'_>, aliases: &AliasChoice, entries: &[CatalogEntry]) -> String {
    let style = material.style;
    let mut body = String::with_capacity(entries.len() * 200);
    for entry in entries {
        let description = entry.description.as_deref();
        style.entry(&mut body, &entry.name, description, &entry.shown_location);
    }
    let body = style.joined(body);
    let legend = material.prefixes.legend(aliases);
    format!("{}{body}{}", opening(style, &legend), style.closing())
}

/// Returns the text before the entries: the instructions for choosing, and the folders behind the aliases.
fn opening(style: CatalogStyle, legend: &str) -> String {
    // The JSON style escapes the legend together with the instructions.
    let legend = match style {
        CatalogStyle::Json => legend.into(),
        CatalogStyle::Xml | CatalogStyle::Markdown | CatalogStyle::Names => style.escape(legend),
    };
    style.opening(&format!("{}{legend}", style.instructions()))
}

/// Returns the cost of a catalog without its entries and aliases.
pub(crate) fn frame(material: &CatalogMaterial<'_>) -> usize {
    material.unit.of(&opening(material.style, "")) + material.style.closing().len()
}
