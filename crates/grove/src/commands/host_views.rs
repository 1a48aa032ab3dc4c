//! Views of the skills and agents here by every host on this machine and by Grove itself: the rows of `grove` and of
//! `grove why`.

use grove_catalog::catalog::{CatalogBudget, CatalogStyle, Treatment};
use grove_catalog::host_listing::{HostListing, ListedForm};
use grove_catalog::hosts::{self, Host, ListMeasure};
use grove_fs::files;
use grove_skills::disclosure::{CatalogOptions, Disclosure};
use grove_skills::{
    Discovery, DiscoveryParts, DiscoveryRequest, DiscoveryView, Environment, host_lists,
    machine_hosts,
};
use serde::Serialize;

use super::catalog::order_for;
use super::check::count_findings;
use super::{DiscoveredLibrary, cost};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkillVisibility {
    Whole,
    Shortened,
    NameOnly,
    /// Nothing: the list is full, or something else leads to it.
    NotShown,
}

pub(super) struct HostView {
    /// Its name on the command line; `grove` for Grove itself.
    pub(super) name: String,
    pub(super) title: String,
    /// The rules of a host; none for Grove itself.
    pub(super) host: Option<Host>,
    pub(super) discovery: Discovery,
    /// By number in the snapshot: how each skill is shown that a model may be told of.
    pub(super) shown: Vec<(usize, SkillVisibility)>,
    /// The room that a full list takes, and the room that it has, in words.
    pub(super) budget: String,
    counts: ViewCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ViewCounts {
    pub(super) skills: usize,
    pub(super) whole: usize,
    pub(super) shortened: usize,
    pub(super) name_only: usize,
    pub(super) not_shown: usize,
    pub(super) chars: usize,
    pub(super) tokens: usize,
    /// Agents that can be used; none where the host's agents are not known.
    pub(super) agents: Option<usize>,
    pub(super) problems: usize,
}

impl HostView {
    pub(super) const fn counts(&self) -> ViewCounts {
        self.counts
    }

    /// Returns the part of a skill that is shown, if a model may be told of it.
    pub(super) fn visibility_of(&self, skill: usize) -> Option<SkillVisibility> {
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

    pub(super) fn own(discovered: &DiscoveredLibrary, task: Option<&str>) -> Self {
        let limits = &discovered.world.settings.settings.limits;
        let asked = CatalogOptions {
            style: CatalogStyle::Xml,
            budget: CatalogBudget::chars(limits.prompt_chars.count(), limits.prompt_skills.count()),
            index_dir: None,
            exact: None,
            exclude: Vec::new(),
            task: order_for(discovered, task).0,
        };
        let told = Disclosure::new(&discovered.discovery, None).preview(&asked);
        let lines = told.report.lines.iter();
        let shown = lines.map(|line| (line.skill, sight_of_treatment(line.treatment)));
        let used = told.report.used;
        let (entries, size) = (asked.budget.entries, asked.budget.size);
        Self::of(
            ("grove".to_owned(), "Grove".to_owned()),
            (None, discovered.discovery.clone()),
            shown.collect(),
            format!("{used} of {size} characters, at most {entries} entries"),
            cost(&told.text),
        )
    }

    /// A host's view, of a discovery by the host's rules.
    pub(super) fn of_host(discovered: &DiscoveredLibrary, host: Host) -> Self {
        let listing = host_lists::listing(&discovered.discovery, &host, None);
        let shown = listing.shown.iter().map(|one| {
            let sight = match one.how {
                ListedForm::Full => SkillVisibility::Whole,
                ListedForm::Shortened(_) => SkillVisibility::Shortened,
                ListedForm::NameOnly => SkillVisibility::NameOnly,
                ListedForm::LeftOut => SkillVisibility::NotShown,
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
            (Some(host), discovered.discovery.clone()),
            shown.collect(),
            budget,
            listing_cost(&listing),
        )
    }

    fn of(
        (name, title): (String, String),
        (host, discovery): (Option<Host>, Discovery),
        shown: Vec<(usize, SkillVisibility)>,
        budget: String,
        (chars, tokens): (usize, usize),
    ) -> Self {
        let count =
            |wanted: SkillVisibility| shown.iter().filter(|(_, sight)| *sight == wanted).count();
        let usable = discovery.snapshot.agents.all.iter();
        let usable = usable.filter(|agent| agent.state.is_listed()).count();
        let counts = ViewCounts {
            skills: shown.len(),
            whole: count(SkillVisibility::Whole),
            shortened: count(SkillVisibility::Shortened),
            name_only: count(SkillVisibility::NameOnly),
            not_shown: count(SkillVisibility::NotShown),
            chars,
            tokens,
            agents: discovery.request.parts.agents.then_some(usable),
            problems: count_findings(&discovery.snapshot),
        };
        Self {
            name,
            title,
            host,
            discovery,
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
        ListMeasure::Tokens => (chars, listing.budget.used),
        _ => (chars, tokens),
    }
}

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
pub(super) fn all(discovered: &DiscoveredLibrary, task: Option<&str>) -> Vec<HostView> {
    if let DiscoveryView::Host(name) = &discovered.request.view
        && let Some(host) = hosts::by_name(name)
    {
        return vec![HostView::of_host(discovered, host)];
    }
    let mut views = vec![HostView::own(discovered, task)];
    if discovered.request.view == DiscoveryView::Own {
        let environment = discovered.library.environment();
        let hosts = machine_hosts::found(environment).into_iter();
        views.extend(hosts.map(|host| {
            let discovered = discover_as(environment, &host, discovered.request.all);
            HostView::of_host(&discovered, host)
        }));
    }
    views
}

/// Looks by the rules of a host, at agents too where its rules for them are known.
fn discover_as(environment: &Environment, host: &Host, all: bool) -> DiscoveredLibrary {
    let request = DiscoveryRequest {
        view: DiscoveryView::Host(host.name.clone()),
        parts: parts_of(host),
        all,
        ..DiscoveryRequest::default()
    };
    DiscoveredLibrary::new(environment.clone(), request)
}

pub(super) fn parts_of(host: &Host) -> DiscoveryParts {
    if hosts::AgentRules::by_name(&host.name).is_some() {
        DiscoveryParts::PROMPTS
    } else {
        DiscoveryParts::SKILLS
    }
}

const fn sight_of_treatment(treatment: Treatment) -> SkillVisibility {
    match treatment {
        Treatment::Listed => SkillVisibility::Whole,
        Treatment::Shortened => SkillVisibility::Shortened,
        Treatment::Named => SkillVisibility::NameOnly,
        // Something else in the catalog leads to it.
        Treatment::Counted | Treatment::Opened | Treatment::Inside => SkillVisibility::NotShown,
    }
}
