//! Views of the skills and agents here by every host on this machine and by Grove itself: the rows of `grove` and of
//! `grove why`.

use grove_catalog::catalog::{Budget, Style, Treatment};
use grove_catalog::host_listing::{HostListing, How};
use grove_catalog::hosts::{self, Host, Measure};
use grove_fs::files;
use grove_skills::disclosure::{CatalogOptions, Disclosure};
use grove_skills::{Environment, Look, Parts, Request, View, host_lists, machine_hosts};
use serde::Serialize;

use super::catalog::order_for;
use super::check::count_findings;
use super::{Looked, cost};

/// The part of a skill that a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Its name and its whole description.
    Whole,
    /// Its name and a part of its description.
    Shortened,
    /// Its name without a description.
    NameOnly,
    /// Nothing: the list is full, or something else leads to it.
    NotShown,
}

/// The view of one host, or of Grove itself, of the skills and agents here.
pub(super) struct HostView {
    /// Its name on the command line; `grove` for Grove itself.
    pub(super) name: String,
    pub(super) title: String,
    /// The rules of a host; none for Grove itself.
    pub(super) host: Option<Host>,
    pub(super) look: Look,
    /// By number in the snapshot: how each skill is shown that a model may be told of.
    pub(super) shown: Vec<(usize, Sight)>,
    /// The room that a full list takes, and the room that it has, in words.
    pub(super) budget: String,
    counts: ViewCounts,
}

/// The row of a host in the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ViewCounts {
    /// Skills that a model may be told of.
    pub(super) skills: usize,
    pub(super) whole: usize,
    pub(super) shortened: usize,
    pub(super) name_only: usize,
    pub(super) not_shown: usize,
    pub(super) chars: usize,
    pub(super) tokens: usize,
    /// Agents that can be used; none where the host's agents are not known.
    pub(super) agents: Option<usize>,
    /// Findings about skills that need attention.
    pub(super) problems: usize,
}

impl HostView {
    pub(super) const fn counts(&self) -> ViewCounts {
        self.counts
    }

    /// Returns the part of a skill that is shown, if a model may be told of it.
    pub(super) fn sight_of(&self, skill: usize) -> Option<Sight> {
        let mut shown = self.shown.iter();
        shown.find(|(at, _)| *at == skill).map(|(_, sight)| *sight)
    }

    /// Returns the other places that a host reads on this machine, which nothing here counts.
    pub(super) fn not_followed(&self, environment: &Environment) -> Vec<String> {
        let paths = self.host.iter().flat_map(|host| &host.not_followed);
        let is_there = |path: &&String| {
            let place = match path.strip_prefix("~/") {
                Some(below) => environment.home.as_ref().map(|home| home.join(below)),
                None => Some(environment.working.join(path)),
            };
            place.is_some_and(|place| files::is_there(&place))
        };
        paths.filter(is_there).cloned().collect()
    }

    /// Grove's own view, of what was looked at.
    pub(super) fn own(looked: &Looked, task: Option<&str>) -> Self {
        let limits = &looked.world.settings.settings.limits;
        let asked = CatalogOptions {
            style: Style::Xml,
            budget: Budget::chars(limits.prompt_chars.count(), limits.prompt_skills.count()),
            index_dir: None,
            exact: None,
            exclude: Vec::new(),
            task: order_for(looked, task),
        };
        let told = Disclosure::new(&looked.look, None).preview(&asked);
        let lines = told.report.lines.iter();
        let shown = lines.map(|line| (line.skill, sight_of_treatment(line.treatment)));
        let used = told.report.used;
        let (entries, size) = (asked.budget.entries, asked.budget.size);
        Self::of(
            ("grove".to_owned(), "Grove".to_owned()),
            (None, looked.look.clone()),
            shown.collect(),
            format!("{used} of {size} characters, at most {entries} entries"),
            cost(&told.text),
        )
    }

    /// A host's view, of a look by the host's rules.
    pub(super) fn of_host(looked: &Looked, host: Host) -> Self {
        let listing = host_lists::listing(&looked.look, &host, None);
        let shown = listing.shown.iter().map(|one| {
            let sight = match one.how {
                How::Full => Sight::Whole,
                How::Shortened(_) => Sight::Shortened,
                How::NameOnly => Sight::NameOnly,
                How::LeftOut => Sight::NotShown,
            };
            (one.skill, sight)
        });
        let (used, measure) = (listing.budget.used, listing.budget.measure.as_str());
        let budget = listing.budget.limit.map_or_else(
            || format!("{used} {measure}, without a limit"),
            |limit| format!("{used} of {limit} {measure}"),
        );
        Self::of(
            (host.name.clone(), host.title.clone()),
            (Some(host), looked.look.clone()),
            shown.collect(),
            budget,
            listing_cost(&listing),
        )
    }

    fn of(
        (name, title): (String, String),
        (host, look): (Option<Host>, Look),
        shown: Vec<(usize, Sight)>,
        budget: String,
        (chars, tokens): (usize, usize),
    ) -> Self {
        let count = |wanted: Sight| shown.iter().filter(|(_, sight)| *sight == wanted).count();
        let usable = look.snapshot.agents.all.iter();
        let usable = usable.filter(|agent| agent.state.is_listed()).count();
        let counts = ViewCounts {
            skills: shown.len(),
            whole: count(Sight::Whole),
            shortened: count(Sight::Shortened),
            name_only: count(Sight::NameOnly),
            not_shown: count(Sight::NotShown),
            chars,
            tokens,
            agents: look.request.parts.agents.then_some(usable),
            problems: count_findings(&look.snapshot),
        };
        Self {
            name,
            title,
            host,
            look,
            shown,
            budget,
            counts,
        }
    }
}

/// Characters and tokens of a host's list. A host that counts tokens itself has its own number: it rounds up line by
/// line and counts the skills that come with it.
pub(super) fn listing_cost(listing: &HostListing) -> (usize, usize) {
    let (chars, tokens) = cost(&listing.text);
    match listing.budget.measure {
        Measure::Tokens => (chars, listing.budget.used),
        _ => (chars, tokens),
    }
}

/// A sentence for every host that reads more than is known here.
pub(super) fn not_followed<'v>(
    views: &'v [HostView],
    environment: &'v Environment,
) -> impl Iterator<Item = String> + 'v {
    views.iter().filter_map(|view| {
        let paths = view.not_followed(environment);
        let (title, listed) = (&view.title, paths.join(", "));
        (!paths.is_empty())
            .then(|| format!("{title} also reads {listed}, which Grove does not follow"))
    })
}

/// Grove's own view and that of every host on this machine, or the one view that was asked for.
pub(super) fn all(looked: &Looked, task: Option<&str>) -> Vec<HostView> {
    if let View::Host(name) = &looked.request.view
        && let Some(host) = hosts::by_name(name)
    {
        return vec![HostView::of_host(looked, host)];
    }
    let mut views = vec![HostView::own(looked, task)];
    if looked.request.view == View::Own {
        let environment = looked.library.environment();
        let hosts = machine_hosts::found(environment).into_iter();
        views.extend(hosts.map(|host| {
            let looked = look_as(environment, &host, looked.request.all);
            HostView::of_host(&looked, host)
        }));
    }
    views
}

/// Looks by the rules of a host, at agents too where its rules for them are known.
fn look_as(environment: &Environment, host: &Host, all: bool) -> Looked {
    let request = Request {
        view: View::Host(host.name.clone()),
        parts: parts_of(host),
        all,
        ..Request::default()
    };
    Looked::new(environment.clone(), request)
}

/// Returns the parts that are looked for in a host's view.
pub(super) fn parts_of(host: &Host) -> Parts {
    if hosts::AgentRules::by_name(&host.name).is_some() {
        Parts::PROMPTS
    } else {
        Parts::SKILLS
    }
}

const fn sight_of_treatment(treatment: Treatment) -> Sight {
    match treatment {
        Treatment::Listed => Sight::Whole,
        Treatment::Shortened => Sight::Shortened,
        Treatment::Named => Sight::NameOnly,
        // Something else in the catalog leads to it.
        Treatment::Counted | Treatment::Opened | Treatment::Inside => Sight::NotShown,
    }
}
