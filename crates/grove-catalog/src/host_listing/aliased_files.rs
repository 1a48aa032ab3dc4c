//! `- name: description (file: r0/name/SKILL.md)` below a table of roots, counted in tokens.
//!
//! Over the budget, descriptions get one character each in turn until no token is left. If the names alone are too
//! much, entries without descriptions are added while they fit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::measure::{first_chars, tokens};
use super::{ListedForm, ListedSkill, ListingDraft, ListingEntry, ListingOptions, path_text};
use crate::hosts::{BuiltInSkill, Host};
use crate::root::{Root, RootSource};
use crate::snapshot::Snapshot;

const ROOTS: &str = "### Skill roots\n";
const SKILLS: &str = "### Available skills\n";
const CUT: &str = "...";
/// The folder of a project that the program searches from the outermost folder inwards.
const SHARED_FOLDER: &str = ".agents/skills";

pub(super) fn draft(
    snapshot: &Snapshot,
    host: &Host,
    mut entries: Vec<ListingEntry>,
    options: &ListingOptions,
) -> ListingDraft {
    entries.sort_by(|a, b| {
        let step = |entry: &ListingEntry| {
            let root = snapshot.roots.get(entry.root);
            root.map_or(u32::MAX, |root| root.rank.step)
        };
        (step(a), &a.name, &a.location).cmp(&(step(b), &b.name, &b.location))
    });
    let roots = RootTable::new(snapshot, host, &entries, options);
    let longest = host.budget.entry_chars.unwrap_or(usize::MAX);
    let own = host
        .listing
        .built_in
        .iter()
        .map(|skill| AliasedEntry::of_built_in(skill, &roots));
    let theirs = entries
        .iter()
        .map(|entry| AliasedEntry::of_entry(entry, &roots, longest));
    let lines: Vec<AliasedEntry> = own.chain(theirs).collect();
    let limit = options.limit(host);
    let shares = share(&lines, limit);
    let used = lines
        .iter()
        .zip(&shares)
        .map(|(line, share)| line.cost(*share));
    let used = used.sum();
    let n_own = host.listing.built_in.len();
    let mut shown = Vec::with_capacity(entries.len());
    let mut listed = String::new();
    for ((entry, line), share) in entries
        .into_iter()
        .zip(lines.iter().skip(n_own))
        .zip(shares.iter().skip(n_own))
    {
        line.write(&mut listed, *share);
        shown.push(line.shown(entry, *share));
    }
    let text = if shown.is_empty() {
        String::new()
    } else {
        format!("{ROOTS}{}{SKILLS}{listed}", roots.text())
    };
    ListingDraft { text, shown, used }
}

/// The roots that entries are below, with their short names.
struct RootTable {
    paths: Vec<PathBuf>,
    /// The numbers by a root's index in the snapshot.
    numbers: BTreeMap<usize, usize>,
    built_in: Option<usize>,
}

impl RootTable {
    fn new(
        snapshot: &Snapshot,
        host: &Host,
        entries: &[ListingEntry],
        options: &ListingOptions,
    ) -> Self {
        let is_used = |index: usize| entries.iter().any(|entry| entry.root == index);
        let mut used: Vec<(usize, &Root)> = snapshot
            .roots
            .iter()
            .enumerate()
            .filter(|(index, _)| is_used(*index))
            .collect();
        let is_shared =
            |root: &Root| root.source == RootSource::Project && root.path.ends_with(SHARED_FOLDER);
        used.sort_by_key(|(_, root)| {
            let order = root.rank.order;
            let last = is_shared(root);
            (last, if last { u32::MAX - order } else { order })
        });
        let mut table = Self {
            paths: Vec::new(),
            numbers: BTreeMap::new(),
            built_in: None,
        };
        // The program's own folder comes after the user's.
        let own_place = used
            .iter()
            .position(|(_, root)| is_shared(root) || root.source == RootSource::Managed)
            .unwrap_or(used.len());
        for place in 0..=used.len() {
            if place == own_place
                && let (Some(below), Some(home)) = (&host.listing.built_in_root, &options.home)
            {
                table.built_in = Some(table.paths.len());
                table.paths.push(home.join(below));
            }
            if let Some((index, root)) = used.get(place) {
                table.numbers.insert(*index, table.paths.len());
                table.paths.push(root.path.clone());
            }
        }
        table
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (number, path) in self.paths.iter().enumerate() {
            let path = path_text(path);
            let _ = writeln!(text, "- `r{number}` = `{path}`");
        }
        text
    }

    fn short(&self, entry: &ListingEntry) -> String {
        let number = self.numbers.get(&entry.root);
        let root = number.and_then(|number| Some((number, self.paths.get(*number)?)));
        let below = root.and_then(|(number, path)| {
            let below = entry.location.strip_prefix(path).ok()?;
            Some(format!("r{number}/{}", path_text(below)))
        });
        below.unwrap_or_else(|| path_text(&entry.location))
    }
}

/// The characters of its description that an entry gets; none if the entry is left out.
type Share = Option<usize>;

/// An entry with the cost of each beginning of its description.
struct AliasedEntry {
    name: String,
    file: String,
    description: String,
    /// Set if the description was cut before costs were counted.
    is_cut: bool,
    /// The bytes of the entry without a description, its line end included.
    bytes: usize,
    /// The bytes of the first characters of the description, from none to all.
    prefix_bytes: Vec<usize>,
}

impl AliasedEntry {
    fn of_entry(entry: &ListingEntry, roots: &RootTable, longest: usize) -> Self {
        let words: Vec<&str> = entry.description.split_whitespace().collect();
        let whole = words.join(" ");
        let is_cut = whole.chars().count() > longest;
        let description = if is_cut {
            format!("{}{CUT}", first_chars(&whole, longest - CUT.len()))
        } else {
            whole
        };
        let lengths: Vec<usize> = description.chars().map(char::len_utf8).collect();
        Self {
            description,
            is_cut,
            ..Self::new(&entry.name, roots.short(entry), lengths)
        }
    }

    fn of_built_in(skill: &BuiltInSkill, roots: &RootTable) -> Self {
        let number = roots.built_in.unwrap_or_default();
        let file = format!("r{number}/{}/SKILL.md", skill.name);
        let length = |index: usize| if skill.wide.contains(&index) { 3 } else { 1 };
        let lengths = (0..skill.description).map(length).collect();
        Self::new(&skill.name, file, lengths)
    }

    fn new(name: &str, file: String, lengths: Vec<usize>) -> Self {
        let mut prefix_bytes = vec![0];
        let mut bytes = 0;
        for length in lengths {
            bytes += length;
            prefix_bytes.push(bytes);
        }
        Self {
            bytes: format!("- {name}: (file: {file})\n").len(),
            name: name.to_owned(),
            file,
            description: String::new(),
            is_cut: false,
            prefix_bytes,
        }
    }

    fn n_chars(&self) -> usize {
        self.prefix_bytes.len() - 1
    }

    fn cost(&self, share: Share) -> usize {
        match share {
            None => 0,
            Some(0) => tokens(self.bytes),
            Some(chars) => {
                let described = self.prefix_bytes.get(chars).copied().unwrap_or_default();
                tokens(self.bytes + described + 1)
            }
        }
    }

    fn write(&self, text: &mut String, share: Share) {
        let Self { name, file, .. } = self;
        let _ = match share {
            None => Ok(()),
            Some(0) => writeln!(text, "- {name}: (file: {file})"),
            Some(chars) => {
                let description = first_chars(&self.description, chars);
                writeln!(text, "- {name}: {description} (file: {file})")
            }
        };
    }

    fn shown(&self, entry: ListingEntry, share: Share) -> ListedSkill {
        let how = match share {
            None => ListedForm::LeftOut,
            Some(chars) if chars == self.n_chars() && !self.is_cut => ListedForm::Full,
            Some(0) => ListedForm::NameOnly,
            Some(chars) => {
                // The marks of a cut are not part of the description.
                let marks = if self.is_cut { CUT.len() } else { 0 };
                ListedForm::Shortened(chars.min(self.n_chars() - marks))
            }
        };
        let description = share.unwrap_or_default();
        ListedSkill {
            description,
            ..entry.shown(how)
        }
    }
}

fn share(lines: &[AliasedEntry], limit: usize) -> Vec<Share> {
    let full: usize = lines
        .iter()
        .map(|line| line.cost(Some(line.n_chars())))
        .sum();
    if full <= limit {
        return lines.iter().map(|line| Some(line.n_chars())).collect();
    }
    let names: usize = lines.iter().map(|line| line.cost(Some(0))).sum();
    if names <= limit {
        return in_turn(lines, limit - names);
    }
    let mut left = limit;
    lines
        .iter()
        .map(|line| {
            // An entry that does not fit leaves the rest to shorter ones.
            left = left.checked_sub(line.cost(Some(0)))?;
            Some(0)
        })
        .collect()
}

/// Gives each entry one character of description in turn, until no entry can have another.
fn in_turn(lines: &[AliasedEntry], mut left: usize) -> Vec<Share> {
    let mut shares = vec![0; lines.len()];
    loop {
        let mut changed = false;
        for (line, share) in lines.iter().zip(&mut shares) {
            if *share == line.n_chars() {
                continue;
            }
            let more = line.cost(Some(*share + 1)) - line.cost(Some(*share));
            if more <= left {
                left -= more;
                *share += 1;
                changed = true;
            }
        }
        if !changed {
            return shares.into_iter().map(Some).collect();
        }
    }
}
