//! Index files: the contents of a closed entry, for a reader that has nothing but a file-reading tool.
//!
//! A file is named by the digest of its text, so that a link never leads to other content than it was written for. No
//! group has more than twelve children, so no file is long.

use std::borrow::Cow;

use grove_spec::Digest;
use grove_spec::text::{counted, escape_xml};

use super::cut::shorten;
use super::forest::{ForestNodeKind, NodeId};
use super::ladder::EntryForm;
use super::locations::LocationRest;
use super::style::CatalogStyle;
use super::texts::{CatalogMaterial, INDEX_NAME_DIGITS, closed_text};
use super::two_threads::on_two_threads;

const DESCRIPTION: usize = 400;

/// The number of files from which on a second thread pays.
const FILES_FOR_TWO: usize = 24;

const HOW: &str = "Choose one by its description and read its location; none fits: go back and use none of these.\n\n<skills>\n";
const END: &str = "</skills>\n";

/// A file that must exist before the catalog's text is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// Its name in the index folder.
    pub name: String,
    /// The Markdown that it contains.
    pub text: String,
}

pub(crate) struct IndexFiles {
    pub(crate) files: Vec<IndexFile>,
    /// By node: the position of its file.
    of_node: Vec<Option<usize>>,
}

impl IndexFiles {
    /// Writes the index of everything that is closed on the page and of what is in it; inner ones first, because outer
    /// ones link to them.
    pub(crate) fn of(material: &CatalogMaterial<'_>, page: &[(NodeId, EntryForm)]) -> Self {
        let forest = &material.forest;
        let mut is_needed = vec![false; forest.nodes.len()];
        // An entry that is opened by its name needs no file.
        let page = page.iter().filter(|_| material.style.has_locations());
        for (id, _) in page {
            is_needed[*id] = true;
        }
        for id in forest.bottom_up.iter().rev() {
            let above = forest.nodes[*id].parent;
            is_needed[*id] |= above.is_some_and(|above| is_needed[above]);
        }
        let mut files = Self {
            files: Vec::new(),
            of_node: vec![None; forest.nodes.len()],
        };
        let listed = forest.bottom_up.iter().copied();
        let listed = listed.filter(|id| is_needed[*id] && !forest.nodes[*id].children.is_empty());
        // Files of one level do not link to one another, so they can be written at the same time.
        let mut levels: Vec<Vec<NodeId>> = Vec::new();
        let mut level_of = vec![0; forest.nodes.len()];
        for id in listed {
            let below = forest.nodes[id].children.iter();
            let level = below.map(|child| level_of[*child]).max().unwrap_or(0);
            level_of[id] = level + 1;
            if levels.len() == level {
                levels.push(Vec::new());
            }
            levels[level].push(id);
        }
        for level in levels {
            let made = on_two_threads(level.len(), FILES_FOR_TWO, |range| {
                let part = level.get(range).unwrap_or_default();
                part.iter().map(|id| files.file(material, *id)).collect()
            });
            for (id, file) in level.into_iter().zip(made) {
                files.add(id, file);
            }
        }
        files
    }

    fn add(&mut self, id: NodeId, file: IndexFile) {
        self.of_node[id] = Some(self.files.len());
        self.files.push(file);
    }

    fn file(&self, material: &CatalogMaterial<'_>, id: NodeId) -> IndexFile {
        let text = self.text(material, id);
        let name = Digest::of(text.as_bytes()).first_digits(INDEX_NAME_DIGITS) + ".md";
        IndexFile { name, text }
    }

    pub(crate) fn of_node(&self, id: NodeId) -> Option<&str> {
        self.of_node[id].map(|at| self.files[at].name.as_str())
    }

    fn text(&self, material: &CatalogMaterial<'_>, id: NodeId) -> String {
        let node = &material.forest.nodes[id];
        let name = material.forest.name(material.snapshot, id);
        let n_skills = counted(node.n_skills - usize::from(is_branch(&node.kind)), "skill");
        let mut text = String::with_capacity(node.children.len() * (DESCRIPTION + 100) + 200);
        for part in ["# ", &escape_xml(&name), ": ", &n_skills, "\n"] {
            text.push_str(part);
        }
        if let ForestNodeKind::Skill(skill) = node.kind {
            let place = &material.snapshot.skills[skill].place;
            let begin = material.prefixes.escaped(place.root);
            let rest = LocationRest::of(place);
            for part in [
                "What holds for all of them: ",
                begin,
                "/",
                &escape_xml(&rest.id),
                rest.file,
                "\n",
            ] {
                text.push_str(part);
            }
        }
        text.push_str(HOW);
        for child in &node.children {
            self.line(material, *child, &mut text);
        }
        text.push_str(END);
        text
    }

    fn line(&self, material: &CatalogMaterial<'_>, id: NodeId, out: &mut String) {
        let (forest, prefixes) = (&material.forest, &material.prefixes);
        let text = material.text(id);
        let (name, description): (Cow<'_, str>, Cow<'_, str>) = if forest.skill(id).is_some() {
            ((*text.name).into(), (*text.description).into())
        } else {
            let held = |id: NodeId| forest.nodes[id].n_skills;
            let about = closed_text(material.snapshot, forest, id, &held, true);
            (forest.name(material.snapshot, id).into(), about.into())
        };
        let description = if description.len() <= DESCRIPTION {
            description
        } else {
            shorten(&description, DESCRIPTION).into()
        };
        // A cut of a text that has nothing to escape has nothing to escape either.
        let description = if text.is_plain {
            description
        } else {
            escape_xml(&description).into_owned().into()
        };
        let description = Some(&*description).filter(|text| !text.is_empty());
        let (prefix, id, file) = match self.of_node(id) {
            Some(file) => (prefixes.of_index(), "", file),
            None => (text.prefix, &*text.rest.id, text.rest.file),
        };
        let location = [prefixes.escaped(prefix), "/", &escape_xml(id), file];
        CatalogStyle::Xml.escaped_entry(out, &escape_xml(&name), description, &location);
    }
}

fn is_branch(kind: &ForestNodeKind<'_>) -> bool {
    matches!(kind, ForestNodeKind::Skill(_))
}
