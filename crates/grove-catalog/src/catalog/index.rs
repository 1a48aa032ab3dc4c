//! Index files: what stands behind a collapsed entry, for a reader that has nothing but a file-reading tool.
//!
//! A file is named by the digest of its text, so that a link never leads to another content than the one it
//! was written for. Long lists are paged, and the pages are listed on pages of their own.

use grove_spec::text::{counted, escape_xml};

use crate::digest::Digest;
use crate::snapshot::{Skill, Snapshot};

use super::cards::{Cards, INDEX_NAME_DIGITS};
use super::forest::{Forest, Kind, NodeId};
use super::locations::{Prefixes, of_skill};
use super::shorten::shorten;
use super::style::Style;

/// Characters of one index file.
pub const PAGE_CHARS: usize = 8_000;

/// Characters of a description in an index.
const DESCRIPTION: usize = 300;

const HOW: &str = "Choose one by its description and read its location; none fits: go back and use none of these.\n\n<skills>\n";
const END: &str = "</skills>\n";

/// A file that must exist before the catalog's text is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// Its name in the index folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// One line of an index and what it stands for.
struct Line {
    first: String,
    last: String,
    n_skills: usize,
    text: String,
    chars: usize,
}

/// All index files of one catalog.
pub(crate) struct Binding<'b, 'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) forest: &'b Forest<'a>,
    pub(crate) cards: &'b Cards<'a>,
    pub(crate) prefixes: &'b Prefixes,
    pub(crate) files: Vec<IndexFile>,
    /// The index file of each node that has one.
    pub(crate) of_node: Vec<Option<String>>,
}

impl Binding<'_, '_> {
    /// Writes the index of every node for which `needed` holds; inner ones first, because outer ones
    /// link to them.
    pub(crate) fn bind_nodes(&mut self, needed: impl Fn(NodeId) -> bool) {
        for id in self.forest.bottom_up.iter().copied() {
            let Some(node) = self
                .forest
                .node(id)
                .filter(|node| !node.children.is_empty() && needed(id))
            else {
                continue;
            };
            let lines: Vec<Line> = node
                .children
                .iter()
                .filter_map(|child| self.line(*child))
                .collect();
            let name = self.cards.card(id).map_or("", |card| &card.name);
            let lead = match node.kind {
                Kind::Branch(skill) => self
                    .snapshot
                    .skills
                    .get(skill)
                    .map(|skill| self.own_instructions(skill)),
                _ => None,
            };
            let file = self.bind(name, &lead.unwrap_or_default(), lines);
            if let Some(slot) = self.of_node.get_mut(id) {
                *slot = Some(file);
            }
        }
    }

    /// Writes the index of what did not fit at all.
    pub(crate) fn bind_tail(&mut self, left_out: &[NodeId]) -> String {
        let lines = left_out.iter().filter_map(|id| self.line(*id)).collect();
        self.bind("more/", "", lines)
    }

    fn own_instructions(&self, skill: &Skill) -> String {
        let location = self.prefixes.plain(&of_skill(&skill.place));
        format!("What holds for all of them: {}\n", escape_xml(&location))
    }

    fn line(&self, id: NodeId) -> Option<Line> {
        let (node, card) = (self.forest.node(id)?, self.cards.card(id)?);
        let place = match self.of_node.get(id).and_then(Option::as_ref) {
            Some(file) => self.prefixes.in_index(file),
            None => card.place.clone(),
        };
        let description = if card.description.len() <= DESCRIPTION {
            Some(card.description.clone())
        } else {
            shorten(&card.description, DESCRIPTION).map(Into::into)
        };
        let mut text = String::with_capacity(256);
        let description = description.as_deref().filter(|text| !text.is_empty());
        Style::Xml.entry(
            &mut text,
            &card.name,
            description,
            &self.prefixes.plain(&place),
        );
        let name = card.name.to_string();
        Some(Line {
            first: name.clone(),
            last: name,
            n_skills: node.n_skills,
            chars: text.chars().count(),
            text,
        })
    }

    /// Pages, and pages of pages, until one page leads to all of them. Its name.
    fn bind(&mut self, name: &str, lead: &str, mut lines: Vec<Line>) -> String {
        let n_skills: usize = lines.iter().map(|line| line.n_skills).sum();
        loop {
            let title = format!(
                "# {}: {}\n{lead}{HOW}",
                escape_xml(name),
                counted(n_skills, "skill")
            );
            // A page of pages names itself, which takes a few characters more.
            let room = PAGE_CHARS.saturating_sub(title.chars().count() + END.len() + 40);
            let pages = paged(lines, room);
            let n_pages = pages.len();
            if n_pages <= 1 {
                let entries: String = pages
                    .iter()
                    .flatten()
                    .map(|line| line.text.as_str())
                    .collect();
                return self.file(format!("{title}{entries}{END}"));
            }
            lines = pages
                .into_iter()
                .enumerate()
                .map(|(number, page)| {
                    let entries: String = page.iter().map(|line| line.text.as_str()).collect();
                    let title = format!(
                        "# {}, page {} of {n_pages}\n{HOW}",
                        escape_xml(name),
                        number + 1
                    );
                    let file = self.file(format!("{title}{entries}{END}"));
                    self.link(&page, &file)
                })
                .collect();
        }
    }

    /// The line that leads to a page.
    fn link(&self, page: &[Line], file: &str) -> Line {
        let first = page.first().map_or("", |line| &line.first).to_owned();
        let last = page.last().map_or("", |line| &line.last).to_owned();
        let n_skills = page.iter().map(|line| line.n_skills).sum();
        let place = self.prefixes.in_index(file);
        let mut text = String::new();
        let description = format!("{}, from {first} to {last}", counted(n_skills, "skill"));
        Style::Xml.entry(
            &mut text,
            &format!("{first} … {last}"),
            Some(&description),
            &self.prefixes.plain(&place),
        );
        Line {
            first,
            last,
            n_skills,
            chars: text.chars().count(),
            text,
        }
    }

    fn file(&mut self, text: String) -> String {
        let digest = Digest::of(text.as_bytes()).to_string();
        let digits: String = digest.chars().take(INDEX_NAME_DIGITS).collect();
        let name = format!("{digits}.md");
        self.files.push(IndexFile {
            name: name.clone(),
            text,
        });
        name
    }
}

/// Lines in order on as few pages as hold them.
fn paged(lines: Vec<Line>, room: usize) -> Vec<Vec<Line>> {
    let mut pages: Vec<Vec<Line>> = Vec::new();
    let mut used = 0;
    for line in lines {
        match pages.last_mut() {
            Some(page) if used + line.chars <= room => {
                used += line.chars;
                page.push(line);
            }
            _ => {
                used = line.chars;
                pages.push(vec![line]);
            }
        }
    }
    pages
}
