//! Index files: what stands behind a collapsed entry, for a reader that has nothing but a file-reading tool.
//!
//! A file is named by the digest of its text, so that a link never leads to another content than the one it
//! was written for. Long lists are paged, and the pages are listed on pages of their own.

use std::borrow::Cow;
use std::fmt::Write as _;

use grove_spec::text::{counted, escape_xml};

use crate::digest::Digest;
use crate::snapshot::Snapshot;

use super::cards::{Cards, INDEX_NAME_DIGITS};
use super::forest::{Forest, Kind, NodeId};
use super::locations::{Prefixes, of_skill};
use super::shorten::shorten;
use super::style::Style;

/// Characters of one index file.
pub const PAGE_CHARS: usize = 8_000;

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
    /// What every page begins with, but for its number.
    title: String,
    /// Characters of lines on one page.
    room: usize,
    written: Vec<Page<'b>>,
}

struct Page<'b> {
    first: &'b str,
    last: &'b str,
    n_skills: usize,
    text: String,
    /// Where the lines start in the text.
    start: usize,
    chars: usize,
    lines: usize,
}

impl<'b> Pages<'b> {
    fn new(title: String, room: usize) -> Self {
        Self {
            title,
            room,
            written: Vec::new(),
        }
    }

    /// Adds a line, on the next page if this one is full and has at least so many.
    fn add(
        &mut self,
        line: &str,
        (first, last): (&'b str, &'b str),
        n_skills: usize,
        least: usize,
    ) {
        // Bytes are at least as many as characters, and known without counting.
        let chars = line.len();
        let full = self
            .written
            .last()
            .is_none_or(|page| page.lines >= least && page.chars + chars > self.room);
        if full {
            let mut text = String::with_capacity(PAGE_CHARS + PAGE_CHARS / 8);
            let _ = write!(
                text,
                "{}, page {}\n{HOW}",
                self.title,
                self.written.len() + 1
            );
            let start = text.len();
            self.written.push(Page {
                first,
                last,
                n_skills: 0,
                text,
                start,
                chars: 0,
                lines: 0,
            });
        }
        if let Some(page) = self.written.last_mut() {
            page.text.push_str(line);
            page.chars += chars;
            page.lines += 1;
            page.last = last;
            page.n_skills += n_skills;
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

impl<'b> Binding<'b, '_> {
    /// Writes the index of every node for which `needed` holds; inner ones first, because outer ones
    /// link to them.
    pub(crate) fn bind_nodes(&mut self, needed: impl Fn(NodeId) -> bool) {
        let forest = self.forest;
        for id in forest.bottom_up.iter().copied() {
            let Some(node) = forest.node(id) else {
                continue;
            };
            if node.children.is_empty() || !needed(id) {
                continue;
            }
            let lead = match node.kind {
                Kind::Branch(skill) => self.own_instructions(skill),
                Kind::Leaf(_) | Kind::Group(_) => String::new(),
            };
            let name = self.cards.card(id).map_or("", |card| &card.name);
            let file = self.bind(name, &lead, &node.children);
            if let Some(slot) = self.of_node.get_mut(id) {
                *slot = Some(file);
            }
        }
    }

    /// Writes the index of what did not fit at all.
    pub(crate) fn bind_tail(&mut self, left_out: &[NodeId]) -> String {
        self.bind("more/", "", left_out)
    }

    fn own_instructions(&self, skill: usize) -> String {
        let Some(skill) = self.snapshot.skills.get(skill) else {
            return String::new();
        };
        let place = of_skill(&skill.place);
        let (begin, rest) = (self.prefixes.escaped(place.prefix), escape_xml(&place.rest));
        format!("What holds for all of them: {begin}/{rest}\n")
    }

    /// Writes pages, and pages of pages, until one page leads to all of them. Its name.
    fn bind(&mut self, name: &str, lead: &str, nodes: &[NodeId]) -> String {
        let title = format!("# {}", escape_xml(name));
        // What a page holds beside its lines, with a number that has more digits than there are pages.
        let frame = [&title, HOW, END, ": 1000000000 skills\n"];
        let frame: usize = frame.iter().map(|part| part.chars().count()).sum();
        let room = PAGE_CHARS.saturating_sub(frame);
        let room_on_top = room.saturating_sub(lead.chars().count());
        let mut pages = Pages::new(title, room);
        let mut line = String::new();
        for id in nodes.iter().copied() {
            line.clear();
            if let Some((name, n_skills)) = self.line(id, &mut line) {
                pages.add(&line, (name, name), n_skills, 1);
            }
        }
        let n_skills: usize = pages.written.iter().map(|page| page.n_skills).sum();
        let is_top = |pages: &Pages<'_>| match pages.written.as_slice() {
            [] => true,
            [only] => only.chars <= room_on_top || only.lines == 1,
            _ => false,
        };
        while !is_top(&pages) {
            let mut links = Pages::new(pages.title, room);
            for mut page in pages.written {
                page.text.push_str(END);
                let file = self.file(page.text);
                line.clear();
                let names = (page.first, page.last);
                self.link(&mut line, names, page.n_skills, &file);
                // Two links to a page at least, however long they are, so that there is an end to it.
                links.add(&line, names, page.n_skills, 2);
            }
            pages = links;
        }
        let only = pages.written.first();
        let lines = only.and_then(|page| page.text.get(page.start..));
        let (title, lines) = (&pages.title, lines.unwrap_or_default());
        let n_skills = counted(n_skills, "skill");
        self.file(format!("{title}: {n_skills}\n{lead}{HOW}{lines}{END}"))
    }

    /// Writes the line of a node; its name, and how many skills it stands for.
    fn line(&self, id: NodeId, out: &mut String) -> Option<(&'b str, usize)> {
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
        if card.plain {
            let location = [begin, "/", &place.rest];
            Style::Xml.entry_of_escaped(out, &card.name, description, &location);
        } else {
            let description = description.map(escape_xml);
            let (name, rest) = (escape_xml(&card.name), escape_xml(&place.rest));
            let location = [begin, "/", &rest];
            Style::Xml.entry_of_escaped(out, &name, description.as_deref(), &location);
        }
        Some((&card.name, node.n_skills))
    }

    /// Writes the line that leads to a page.
    fn link(&self, out: &mut String, names: (&str, &str), n_skills: usize, file: &str) {
        let (first, last) = (escape_xml(names.0), escape_xml(names.1));
        let name = format!("{first} … {last}");
        let about = format!("{}, from {first} to {last}", counted(n_skills, "skill"));
        let begin = self.prefixes.escaped(self.prefixes.of_index());
        Style::Xml.entry_of_escaped(out, &name, Some(&about), &[begin, "/", file]);
    }

    fn file(&mut self, text: String) -> String {
        let digest = Digest::of(text.as_bytes()).to_string();
        let digits = digest.get(..INDEX_NAME_DIGITS).unwrap_or(&digest);
        let name = format!("{digits}.md");
        self.files.push(IndexFile {
            name: name.clone(),
            text,
        });
        name
    }
}
