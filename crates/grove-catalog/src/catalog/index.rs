//! Index files: what stands behind a collapsed entry, for a reader that has nothing but a file-reading tool.
//!
//! A file is named by the digest of its text, so that a link never leads to another content than the one it
//! was written for. Long lists are paged, and the pages are listed on pages of their own.

use std::borrow::Cow;

use grove_spec::text::{counted, escape_xml};

use crate::snapshot::Snapshot;
use grove_spec::Digest;

use super::cards::{Cards, INDEX_NAME_DIGITS};
use super::forest::{Forest, Kind, NodeId};
use super::locations::{Prefixes, of_skill};
use super::shorten::shorten;
use super::style::Style;
use super::two_threads::on_two_threads;

/// Characters of one index file.
pub const PAGE_CHARS: usize = 8_000;

/// From so many pages of one list on the second core pays.
const PAGES_FOR_TWO: usize = 64;

/// What a line of an index usually takes at most.
const USUAL_LINE: usize = 450;

/// Characters of a description in an index.
const DESCRIPTION: usize = 400;

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

/// The pages of one list, written one after another.
struct Pages<'b> {
    heads: &'b Heads,
    /// About how much the lines of all pages take.
    expected: usize,
    written: Vec<Page<'b>>,
}

/// What the pages of a list begin with.
struct Heads {
    title: String,
    /// All of it, for a page that leads to everything.
    top: String,
}

impl Heads {
    /// What a page holds beside its lines, with a number that has more digits than there are pages.
    fn frame(&self) -> usize {
        let parts = [&self.title, HOW, END, ": 1000000000 skills\n"];
        parts.iter().map(|part| part.chars().count()).sum()
    }

    fn of_page(&self, number: usize) -> String {
        format!("{}, page {number}\n{HOW}", self.title)
    }
}

struct Page<'b> {
    first: &'b str,
    last: &'b str,
    n_skills: usize,
    text: String,
    /// Where the lines start in the text.
    start: usize,
    lines: usize,
}

impl Page<'_> {
    /// What its lines take. Bytes are at least as many as characters, and known without counting.
    fn taken(&self) -> usize {
        self.text.len() - self.start
    }

    /// The page is one of several after all.
    fn number(&mut self, head: &str) {
        self.text.replace_range(..self.start, head);
        self.start = head.len();
    }
}

/// What a line that was written is about.
struct Line<'b> {
    first: &'b str,
    last: &'b str,
    n_skills: usize,
}

impl<'b> Pages<'b> {
    fn new(heads: &'b Heads, n_lines: usize) -> Self {
        Self {
            heads,
            expected: n_lines.saturating_mul(USUAL_LINE),
            written: Vec::new(),
        }
    }

    /// Has a line written, and takes it to the next page if this one is full and has at least so many.
    ///
    /// A list begins as its only page, which most lists are.
    fn add(
        &mut self,
        room: usize,
        least: usize,
        write: impl FnOnce(&mut String) -> Option<Line<'b>>,
    ) {
        if self.written.is_empty() {
            self.begin(&self.heads.top);
        }
        let Some(page) = self.written.last_mut() else {
            return;
        };
        let before = page.text.len();
        let Some(line) = write(&mut page.text) else {
            return;
        };
        if page.lines >= least && page.taken() > room {
            let moved = page.text.split_off(before);
            if let [only] = self.written.as_mut_slice() {
                only.number(&self.heads.of_page(1));
            }
            self.begin(&self.heads.of_page(self.written.len() + 1));
            if let Some(page) = self.written.last_mut() {
                page.text.push_str(&moved);
            }
        }
        if let Some(page) = self.written.last_mut() {
            if page.lines == 0 {
                page.first = line.first;
            }
            page.lines += 1;
            page.last = line.last;
            page.n_skills += line.n_skills;
        }
    }

    fn begin(&mut self, head: &str) {
        let most = PAGE_CHARS + PAGE_CHARS / 8;
        let mut text = String::with_capacity(most.min(head.len() + END.len() + self.expected));
        text.push_str(head);
        self.written.push(Page {
            first: "",
            last: "",
            n_skills: 0,
            start: text.len(),
            text,
            lines: 0,
        });
    }

    /// The page that leads to everything, if there is only one and it has room for its lead; else all of them,
    /// finished.
    fn into_top(mut self, room: usize) -> Result<String, Self> {
        if self.written.is_empty() {
            self.begin(&self.heads.top);
        }
        match self.written.as_mut_slice() {
            [only] if only.taken() <= room || only.lines <= 1 => {
                only.text.push_str(END);
                Ok(std::mem::take(&mut only.text))
            }
            pages => {
                if let [only] = pages {
                    only.number(&self.heads.of_page(1));
                }
                for page in pages {
                    page.text.push_str(END);
                }
                Err(self)
            }
        }
    }
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

/// The files of one list.
struct Bound {
    /// The one that leads to the others comes last.
    files: Vec<IndexFile>,
}

impl Bound {
    fn top(&self) -> String {
        let top = self.files.last();
        top.map_or_else(String::new, |file| file.name.clone())
    }
}

impl<'b> Binding<'b, '_> {
    /// Writes the index of every node for which `needed` holds; inner ones first, because outer ones
    /// link to them.
    pub(crate) fn bind_nodes(&mut self, needed: impl Fn(NodeId) -> bool) {
        let forest = self.forest;
        let has_list = |id: &NodeId| {
            let node = forest.node(*id);
            node.is_some_and(|node| !node.children.is_empty()) && needed(*id)
        };
        let listed = forest.bottom_up.iter().copied().filter(has_list);
        for id in listed {
            let bound = self.bind_node(id);
            if let Some(slot) = self.of_node.get_mut(id) {
                *slot = Some(bound.top());
            }
            self.files.extend(bound.files);
        }
    }

    fn bind_node(&self, id: NodeId) -> Bound {
        let node = self.forest.node(id);
        let lead = match node.map(|node| node.kind) {
            Some(Kind::Branch(skill)) => self.own_instructions(skill),
            Some(Kind::Leaf(_) | Kind::Group(_)) | None => String::new(),
        };
        let name = self.cards.card(id).map_or("", |card| &card.name);
        self.bind(name, &lead, node.map_or(&[], |node| &node.children))
    }

    /// Writes the index of what did not fit at all.
    pub(crate) fn bind_tail(&mut self, left_out: &[NodeId]) -> String {
        let bound = self.bind("more/", "", left_out);
        let top = bound.top();
        self.files.extend(bound.files);
        top
    }

    fn own_instructions(&self, skill: usize) -> String {
        let Some(skill) = self.snapshot.skills.get(skill) else {
            return String::new();
        };
        let place = of_skill(&skill.place);
        let (begin, rest) = (self.prefixes.escaped(place.prefix), escape_xml(&place.rest));
        format!("What holds for all of them: {begin}/{rest}\n")
    }

    /// Writes pages, and pages of pages, until one page leads to all of them.
    fn bind(&self, name: &str, lead: &str, nodes: &[NodeId]) -> Bound {
        let title = format!("# {}", escape_xml(name));
        let listed = nodes.iter().filter_map(|id| self.forest.node(*id));
        let n_skills = listed.map(|node| node.n_skills).sum();
        let n_skills = counted(n_skills, "skill");
        let heads = Heads {
            top: format!("{title}: {n_skills}\n{lead}{HOW}"),
            title,
        };
        let room = PAGE_CHARS.saturating_sub(heads.frame());
        let room_on_top = room.saturating_sub(lead.chars().count());
        let mut pages = Pages::new(&heads, nodes.len());
        for id in nodes.iter().copied() {
            pages.add(room, 1, |text| self.line(id, text));
        }
        let mut files = Vec::new();
        loop {
            let below = match pages.into_top(room_on_top) {
                Ok(text) => {
                    let name = name_of(&text);
                    files.push(IndexFile { name, text });
                    return Bound { files };
                }
                Err(below) => below.written,
            };
            let names = on_two_threads(below.len(), PAGES_FOR_TWO, |range| {
                let pages = below.get(range).unwrap_or_default();
                pages.iter().map(|page| name_of(&page.text)).collect()
            });
            pages = Pages::new(&heads, below.len());
            for (page, name) in below.into_iter().zip(names) {
                let line = Line {
                    first: page.first,
                    last: page.last,
                    n_skills: page.n_skills,
                };
                // Two links to a page at least, however long they are, so that there is an end to it.
                pages.add(room, 2, |text| Some(self.link(text, line, &name)));
                let text = page.text;
                files.push(IndexFile { name, text });
            }
        }
    }

    /// Writes the line of a node.
    fn line(&self, id: NodeId, out: &mut String) -> Option<Line<'b>> {
        let (node, card) = (self.forest.node(id)?, self.cards.card(id)?);
        let indexed = self.of_node.get(id).and_then(Option::as_ref);
        let indexed = indexed.map(|file| self.prefixes.in_index(file));
        let place = indexed.as_ref().unwrap_or(&card.place);
        let description = if card.description.len() <= DESCRIPTION {
            Some(Cow::Borrowed(&*card.description))
        } else {
            shorten(&card.description, DESCRIPTION).map(Cow::Owned)
        };
        let begin = self.prefixes.escaped(place.prefix);
        // A path that takes half a page leaves no room for words.
        let room = (begin.len() + place.rest.len()) * 6 < PAGE_CHARS / 2
            || begin.len() + escape_xml(&place.rest).len() < PAGE_CHARS / 2;
        let description = description
            .as_deref()
            .filter(|text| room && !text.is_empty());
        let rest = if card.plain {
            Cow::Borrowed(&*place.rest)
        } else {
            escape_xml(&place.rest)
        };
        Style::Xml.entry_at(out, &card.name, description, &[begin, "/", &rest]);
        Some(Line {
            first: &card.name,
            last: &card.name,
            n_skills: node.n_skills,
        })
    }

    /// Writes the line that leads to a page.
    fn link<'p>(&self, out: &mut String, line: Line<'p>, file: &str) -> Line<'p> {
        let (first, last) = (line.first, line.last);
        let name = format!("{first} … {last}");
        let n_skills = counted(line.n_skills, "skill");
        let about = format!("{n_skills}, from {first} to {last}");
        let begin = self.prefixes.escaped(self.prefixes.of_index());
        Style::Xml.entry_at(out, &name, Some(&about), &[begin, "/", file]);
        line
    }
}

/// The name of the file with this text.
fn name_of(text: &str) -> String {
    Digest::of(text.as_bytes()).first_digits(INDEX_NAME_DIGITS) + ".md"
}
