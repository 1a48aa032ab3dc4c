//! Writes what was planned: the text, its entries, the index files.

use grove_spec::text::counted;

use grove_spec::Digest;

use super::cards::INDEX_NAME_DIGITS;
use super::fit::Form;
use super::forest::{Kind, NodeId};
use super::index::Binding;
use super::locations::Place;
use super::plan::{Material, Plan};
use super::style::Style;
use super::{Catalog, Entry, EntryKind, INSTRUCTIONS, Request, priority, report};

pub(crate) fn write(material: &Material<'_>, mut plan: Plan, request: &Request<'_>) -> Catalog {
    let Material {
        snapshot,
        forest,
        cards,
        prefixes,
        budget,
        ..
    } = material;
    plan.shown
        .sort_by_cached_key(|(id, _)| priority::on_the_page(snapshot, forest, *id));
    plan.left_out
        .sort_by_cached_key(|id| priority::on_the_page(snapshot, forest, *id));
    let mut binding = Binding {
        snapshot,
        forest,
        cards,
        prefixes,
        files: Vec::new(),
        of_node: vec![None; forest.nodes.len()],
    };
    let closed = |id: NodeId| !plan.opened.is_open(id);
    binding.bind_nodes(|id| closed(id) || forest.ancestors(id).any(closed));
    let rest = (!plan.left_out.is_empty()).then(|| binding.bind_tail(&plan.left_out));
    let Binding { files, of_node, .. } = binding;
    let shown = plan.shown.iter();
    let mut entries: Vec<Entry> = shown
        .filter_map(|(id, form)| entry(material, &of_node, *id, form))
        .collect();
    if let Some(file) = rest {
        let left_out = plan.left_out.iter().filter_map(|id| forest.node(*id));
        let n_skills = left_out.map(|node| node.n_skills).sum();
        entries.push(entry_for_rest(material, n_skills, &file));
    }
    let text = text(material, &entries);
    let used = budget.unit.of(&text);
    Catalog {
        report: report::of(material, &plan, &entries, request, used),
        digest: Digest::of(text.as_bytes()),
        text,
        entries,
        index: files,
    }
}

fn entry(
    material: &Material<'_>,
    of_node: &[Option<String>],
    id: NodeId,
    form: &Form,
) -> Option<Entry> {
    let (forest, cards) = (&material.forest, &material.cards);
    let (node, card) = (forest.node(id)?, cards.card(id)?);
    let place = match of_node.get(id).and_then(Option::as_ref) {
        Some(file) => material.prefixes.in_index(file),
        None => card.place.clone(),
    };
    let description = match form {
        Form::Full => Some(&*card.description).filter(|text| !text.is_empty()),
        Form::Excerpt { text, .. } => Some(&**text),
        Form::NameOnly => None,
    };
    Some(Entry {
        kind: match node.kind {
            Kind::Leaf(_) => EntryKind::Skill,
            Kind::Branch(_) => EntryKind::Branch,
            Kind::Group(_) => EntryKind::Group,
        },
        key: material.key(id),
        name: card.name.to_string(),
        description: description.map(str::to_owned),
        location: material.prefixes.plain(&place),
        shown_location: material.prefixes.location(&place),
        source: material
            .snapshot
            .roots
            .get(node.root)
            .map(|root| root.source),
        skills: node.n_skills,
        cost: cards.cost(id, form),
    })
}

const NAME_OF_REST: &str = "more/";

/// The entry that leads to everything that was left out.
fn entry_for_rest(material: &Material<'_>, n_skills: usize, file: &str) -> Entry {
    let place: Place = material.prefixes.in_index(file);
    let shown_location = material.prefixes.location(&place);
    let description = format!("{} that did not fit here.", counted(n_skills, "more skill"));
    let mut text = String::new();
    let style = material.cards.style;
    style.entry(&mut text, NAME_OF_REST, Some(&description), &shown_location);
    Entry {
        kind: EntryKind::Rest,
        key: String::new(),
        name: NAME_OF_REST.to_owned(),
        description: Some(description),
        location: material.prefixes.plain(&place),
        shown_location,
        source: None,
        skills: n_skills,
        cost: material.budget.unit.of(&text),
    }
}

/// What the entry for the rest costs at most.
pub(crate) fn cost_of_rest(material: &Material<'_>) -> usize {
    let file = format!("{:0>INDEX_NAME_DIGITS$}.md", "");
    entry_for_rest(material, material.forest.nodes.len(), &file).cost
}

fn text(material: &Material<'_>, entries: &[Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let style = material.cards.style;
    let mut body = String::with_capacity(entries.len() * 200);
    for entry in entries {
        let description = entry.description.as_deref();
        style.entry(&mut body, &entry.name, description, &entry.shown_location);
    }
    let body = style.joined(body);
    format!("{}{body}{}", opening(material), style.closing())
}

/// What comes before the entries: how to choose, and what the aliases stand for.
fn opening(material: &Material<'_>) -> String {
    let style = material.cards.style;
    let legend = material.prefixes.legend();
    // The JSON style escapes the whole.
    let legend = match style {
        Style::Json => legend.into(),
        Style::Xml | Style::Markdown => style.escape(&legend),
    };
    style.opening(&format!("{INSTRUCTIONS}{legend}"))
}

/// What a catalog costs beside its entries.
pub(crate) fn frame(material: &Material<'_>) -> usize {
    material.budget.unit.of(&opening(material)) + material.cards.style.closing().len()
}
