//! Views of the skills and agents here by every host on this machine and by Grove itself: the rows of `grove` and of
//! `grove why`.

use grove_catalog::catalog::{CatalogBudget, CatalogStyle, Treatment};
use grove_catalog::host_listing::{HostListing, ListedForm};
use grove_catalog::hosts::{self, Host, ListMeasure};
use grove_catalog::snapshot::{Skill, Snapshot};
use grove_fs::files;
use serde::Serialize;

use crate::disclosure::{CatalogOptions, CountTokens, Disclosure};
use crate::environment::Environment;
use crate::library::{Discovery, Library};
use crate::request::{DiscoveryParts, DiscoveryRequest, DiscoveryView};
use crate::search::Searcher;
use crate::{host_lists, machine_hosts};

/// The form in which a skill is shown to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillVisibility {
    /// Its whole description is there.
    Whole,
    /// Its description is cut.
    Shortened,
    /// Its name alone is there.
    NameOnly,
    /// Nothing: the list is full, or something else leads to it.
    NotShown,
}

/// The skills and agents here as a host shows them.
#[derive(Debug)]
pub struct HostView {
    /// Its name on the command line; `grove` for Grove itself.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// The rules of a host; none for Grove itself.
    pub host: Option<Host>,
    /// The discovery by its rules.
    pub discovery: Discovery,
    /// By number in the snapshot: how each skill is shown that a model may be told of.
    pub shown: Vec<(usize, SkillVisibility)>,
    /// The room that a full list takes, and the room that it has, in words.
    pub budget: String,
    counts: ViewCounts,
}

/// The numbers of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewCounts {
    /// The skills that a model may be told of.
    pub skills: usize,
    /// Those of them that are shown whole.
    pub whole: usize,
    /// Those with a shortened description.
    pub shortened: usize,
    /// Those with a name alone.
    pub name_only: usize,
    /// Those that are not shown.
    pub not_shown: usize,
    /// The characters of the list.
    pub chars: usize,
    /// The tokens of the list.
    pub tokens: usize,
    /// Agents that can be used; none where the host's agents are not known.
    pub agents: Option<usize>,
    /// The findings that need attention.
    pub problems: usize,
}

impl HostView {
    /// Returns the numbers of the view.
    pub const fn counts(&self) -> ViewCounts {
        self.counts
    }

    /// Returns the part of a skill that is shown, if a model may be told of it.
    pub fn visibility_of(&self, skill: usize) -> Option<SkillVisibility> {
        let mut shown = self.shown.iter();
        shown.find(|(at, _)| *at == skill).map(|(_, sight)| *sight)
    }

    /// Returns the other places that a host reads on this machine, which nothing here counts.
    pub fn not_followed(&self, environment: &Environment) -> Vec<String> {
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

    /// Grove's own view, of a discovery by its rules; of its catalog for a task, if there is one.
    pub fn own(discovered: &Discovery, task: Option<&str>, count: CountTokens) -> Self {
        let limits = &discovered.world.settings.settings.limits;
        let asked = CatalogOptions {
            style: CatalogStyle::Xml,
            budget: CatalogBudget::chars(limits.prompt_chars.count(), limits.prompt_skills.count()),
            index_dir: None,
            exact: None,
            exclude: Vec::new(),
            task: task.map(|task| Searcher::default().order_for(discovered, task).0),
        };
        let told = Disclosure::new(discovered, None).preview(&asked);
        let lines = told.report.lines.iter();
        let shown = lines.map(|line| (line.skill, sight_of_treatment(line.treatment)));
        let used = told.report.used;
        let (entries, size) = (asked.budget.entries, asked.budget.size);
        Self::of(
            ("grove".to_owned(), "Grove".to_owned()),
            (None, discovered.clone()),
            shown.collect(),
            format!("{used} of {size} characters, at most {entries} entries"),
            cost(&told.text, count),
        )
    }

    /// A host's view, of a discovery by the host's rules.
    pub fn of_host(discovered: &Discovery, host: Host, count: CountTokens) -> Self {
        let listing = host_lists::listing(discovered, &host, None);
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
            (Some(host), discovered.clone()),
            shown.collect(),
            budget,
            listing_cost(&listing, count),
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
pub fn listing_cost(listing: &HostListing, count: CountTokens) -> (usize, usize) {
    let (chars, tokens) = cost(&listing.text, count);
    match listing.budget.measure {
        ListMeasure::Tokens => (chars, listing.budget.used),
        _ => (chars, tokens),
    }
}

/// The places that hosts read besides, a sentence for each host.
pub fn not_followed<'v>(
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
pub fn all(discovered: &Discovery, task: Option<&str>, count: CountTokens) -> Vec<HostView> {
    if let DiscoveryView::Host(name) = &discovered.request.view
        && let Some(host) = hosts::by_name(name)
    {
        return vec![HostView::of_host(discovered, host, count)];
    }
    let mut views = vec![HostView::own(discovered, task, count)];
    if discovered.request.view == DiscoveryView::Own {
        let environment = &discovered.world.environment;
        let hosts = machine_hosts::found(environment).into_iter();
        views.extend(hosts.map(|host| {
            let discovered = discover_as(environment, &host, discovered.request.all);
            HostView::of_host(&discovered, host, count)
        }));
    }
    views
}

/// Looks by the rules of a host, at agents too where its rules for them are known.
fn discover_as(environment: &Environment, host: &Host, all: bool) -> Discovery {
    let request = DiscoveryRequest {
        view: DiscoveryView::Host(host.name.clone()),
        parts: parts_of(host),
        all,
        ..DiscoveryRequest::default()
    };
    Library::new(environment.clone(), request).discover()
}

/// The parts of a discovery by the rules of a host: agents where its rules for them are known.
pub fn parts_of(host: &Host) -> DiscoveryParts {
    if hosts::AgentRules::by_name(&host.name).is_some() {
        DiscoveryParts::PROMPTS
    } else {
        DiscoveryParts::SKILLS
    }
}

/// Returns the number of findings that need attention.
pub fn count_findings(snapshot: &Snapshot) -> usize {
    let of_skills = snapshot.skills.iter().flat_map(Skill::all_diagnostics);
    snapshot
        .diagnostics
        .iter()
        .chain(of_skills)
        .filter(|finding| finding.needs_attention())
        .count()
}

/// The characters and the tokens of a text.
fn cost(text: &str, count: CountTokens) -> (usize, usize) {
    (text.chars().count(), count(text))
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
