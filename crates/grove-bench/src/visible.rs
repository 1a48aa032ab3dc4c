//! `cargo xtask bench catalog-hosts`: what is left of a library in what hosts tell their models.
//!
//! Not a measurement of time: the lists are made by the same rules as `grove catalog --host`, which the
//! tests compare with the programs. Prints the table of the guide as Markdown.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use grove_catalog::catalog::{self, CatalogBudget, CatalogEntry, CatalogEntryKind, CatalogStyle};
use grove_catalog::host_listing::{self, HostListing, ListedForm, ListingOptions};
use grove_catalog::hosts::{self, Host};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::catalog_reader;
use grove_testkit::library::GeneratedLibrary;

use grove_testkit::task::arguments::Arguments;
use grove_testkit::task::workspace;

/// As many skills as a person collects, a team, a company, and everything there is.
const SIZES: [usize; 4] = [52, 200, 1_000, 10_000];

/// A description cut to fewer characters says less than a sentence.
const READABLE: usize = 40;

/// The makers of lists, in the order of the table.
const LISTERS: [Lister; 5] = [
    Lister::Grove,
    Lister::Host("openclaw"),
    Lister::Host("codex"),
    Lister::Host("claude"),
    Lister::Host("copilot"),
];

/// The maker of a list that is looked at.
#[derive(Debug, Clone, Copy)]
enum Lister {
    Grove,
    Host(&'static str),
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let sizes: Option<String> = arguments.value("--sizes")?;
    arguments.finish()?;
    let sizes = match sizes {
        None => SIZES.to_vec(),
        Some(list) => list
            .split(',')
            .map(|size| size.parse().map_err(|_| format!("{size} is no number")))
            .collect::<Result<_, _>>()?,
    };
    println!("| skills | laid out | told by | visible | readable | behind a group | reachable |");
    println!("| ---: | --- | --- | ---: | ---: | ---: | ---: |");
    for size in sizes {
        for layout in [Layout::Flat, Layout::Groups] {
            let home = layout.home(size)?;
            for lister in LISTERS {
                let row = lister.row(&home)?;
                let Row {
                    title,
                    visible,
                    readable,
                    grouped,
                    reachable,
                } = row;
                let layout = layout.words();
                println!(
                    "| {size} | {layout} | {title} | {visible} | {readable} | {grouped} | {reachable} |"
                );
            }
        }
    }
    Ok(())
}

/// The skills of a library that a model learns of.
#[derive(Debug)]
struct Row {
    title: String,
    /// Skills that are in the list at all.
    visible: usize,
    /// Those with their description in full, or with enough of it to choose by.
    readable: usize,
    /// Skills that an entry with the names of some of them stands for.
    grouped: usize,
    /// Skills that a model gets to by what the list says.
    reachable: usize,
}

impl Lister {
    fn row(self, home: &Path) -> Result<Row, String> {
        match self {
            Self::Grove => own_row(home),
            Self::Host(name) => host_row(name, home),
        }
    }
}

/// Grove's own catalog at its default budget, with the limits on reading lifted; what is reachable is what a
/// reader of the text and its index files gets to.
fn own_row(home: &Path) -> Result<Row, String> {
    let nothing = home.join("nothing-bundled");
    make_folder(&nothing)?;
    let environment = Environment {
        cache: None,
        bundled_dir: Some(nothing),
        ..Environment::for_home(home.to_path_buf(), home.join("project"))
    };
    let request = DiscoveryRequest {
        all: true,
        ..DiscoveryRequest::default()
    };
    let snapshot = Library::new(environment, request).load();
    let index_dir = home.join(".cache/grove/index");
    let told = catalog::catalog(
        &snapshot,
        &catalog::CatalogRequest {
            style: CatalogStyle::Xml,
            budget: CatalogBudget::chars(30_000, 150),
            home: Some(home),
            index_dir: &index_dir,
            pinned: &[],
            usage: &BTreeMap::new(),
            expanded: &[],
            exclude: &[],
            task: None,
        },
    );
    let page = |location: &str| {
        let name = location.rsplit('/').next()?;
        let mut files = told.index.iter();
        files
            .find(|file| file.name == name)
            .map(|file| file.text.clone())
    };
    let reached = catalog_reader::reach(&told.text, page)?;
    let skills = |entry: &&CatalogEntry| entry.kind == CatalogEntryKind::Skill;
    let readable = told.entries.iter().filter(skills).filter(|entry| {
        let shown = entry.description.as_deref().unwrap_or_default();
        shown.chars().count() >= READABLE || told.report.is_whole()
    });
    Ok(Row {
        title: "Grove".to_owned(),
        visible: told.entries.iter().filter(skills).count(),
        readable: readable.count(),
        grouped: told
            .entries
            .iter()
            .filter(|entry| entry.kind == CatalogEntryKind::Group)
            .map(|entry| entry.skills)
            .sum(),
        reachable: reached
            .iter()
            .filter(|file| file.ends_with("/SKILL.md"))
            .count(),
    })
}

/// Returns the list that a host gives its model of the skills in a home.
pub(crate) fn listing(host: &Host, home: &Path) -> HostListing {
    let working = home.join("project");
    let environment = Environment {
        cache: None,
        ..Environment::for_home(home.to_path_buf(), working.clone())
    };
    let request = DiscoveryRequest {
        view: DiscoveryView::Host(host.name.clone()),
        ..DiscoveryRequest::default()
    };
    let snapshot = Library::new(environment, request).load();
    let options = ListingOptions {
        home: Some(home.to_path_buf()),
        working,
        window_tokens: None,
        bodies: BTreeMap::new(),
    };
    host_listing::render(&snapshot, host, &options)
}

fn host_row(name: &str, home: &Path) -> Result<Row, String> {
    let host = hosts::by_name(name).ok_or_else(|| format!("no host {name}"))?;
    let listing = listing(&host, home);
    let count = |wanted: &dyn Fn(ListedForm) -> bool| {
        let shown = listing.shown.iter();
        shown.filter(|one| wanted(one.how)).count()
    };
    let visible = count(&|how| how != ListedForm::LeftOut);
    Ok(Row {
        title: host.title,
        visible,
        readable: count(&|how| match how {
            ListedForm::Full => true,
            ListedForm::Shortened(kept) => kept >= READABLE,
            ListedForm::NameOnly | ListedForm::LeftOut => false,
        }),
        grouped: 0,
        // A name or a path is enough to open a skill, and no host says how to get to the others.
        reachable: visible,
    })
}

/// The arrangement of skills in their root.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Flat,
    Groups,
}

impl Layout {
    const fn words(self) -> &'static str {
        match self {
            Self::Flat => "side by side",
            Self::Groups => "in groups",
        }
    }

    /// A home with a generated library in the folder that hosts share, and a link for the one that does
    /// not read it.
    fn home(self, size: usize) -> Result<PathBuf, String> {
        let folder = workspace::target().join("bench/visible");
        let groups = folder.join(format!("groups-{size}"));
        let root = groups.join(".agents/skills");
        make_folder(&groups.join(".agents"))?;
        let library = GeneratedLibrary::create(&root, size)?;
        let home = match self {
            Self::Groups => groups,
            Self::Flat => {
                let home = folder.join(format!("flat-{size}"));
                flatten(&library, &home.join(".agents/skills"))?;
                home
            }
        };
        link_for_claude(&home)?;
        Ok(home)
    }
}

/// A project in a home, and a link for the host that does not read the folder that others share.
pub(crate) fn link_for_claude(home: &Path) -> Result<(), String> {
    make_folder(&home.join("project"))?;
    make_folder(&home.join(".claude"))?;
    let link = home.join(".claude/skills");
    // Left by an earlier run.
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(home.join(".agents/skills"), &link)
        .map_err(|error| format!("cannot link {}: {error}", link.display()))
}

/// The same skills without their groups.
fn flatten(library: &GeneratedLibrary, root: &Path) -> Result<(), String> {
    for index in 0..library.n_skills() {
        let folder = root.join(library.skill_name(index));
        let file = folder.join("SKILL.md");
        if file.exists() {
            continue;
        }
        make_folder(&folder)?;
        fs::copy(library.skill_file(index), &file)
            .map_err(|error| format!("cannot copy to {}: {error}", file.display()))?;
    }
    Ok(())
}

pub(crate) fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}
