//! The library: skills as each host here shows them, the catalog as a model reads it, and what changed since it was trusted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use grove_catalog::catalog::budget::BYTES_PER_TOKEN;
use grove_catalog::catalog::{CatalogBudget, CatalogStyle};
use grove_catalog::state::StateReason;
use grove_engine::EngineError;
use grove_skills::disclosure::{CatalogOptions, Disclosure};
use grove_skills::host_views::{self, HostView, SkillVisibility};
use grove_skills::search::{SearchAudience, SearchQuery, Searcher};
use grove_skills::trusting::{self, TrustReview};
use grove_skills::{Discovery, DiscoveryParts, DiscoveryRequest, Environment, Library, usage};
use grove_spec::text::{counted, grouped, one_line};
use http::StatusCode;
use similar::{ChangeTag, TextDiff};

use super::access::PageRight;
use super::actions::Done;
use super::answer;
use super::asked::{Asked, Fields};
use super::frame::{Frame, Section};
use super::html::HtmlPage;
use super::rows::first_words;
use super::site::{Looked, Site};
use super::viewer::{ActionForm, Viewer, hidden};

/// The most skills of a page; others are found by their words.
const MOST_SKILLS: usize = 300;
/// The most results of a search.
const MOST_FOUND: usize = 30;
/// The most tokens that the slider gives a catalog.
const MOST_TOKENS: usize = 20_000;
/// The most bytes of a text.
const MOST_TEXT: usize = 128 << 10;
/// The most lines of a file's changes.
const MOST_LINES: usize = 400;

/// Answers with the library of a folder.
pub(super) fn page(site: &Site, asked: &Asked, viewer: &Viewer<'_>) -> Looked {
    let there = environment(site, &asked.query);
    let engine = site.runs.engine();
    let own = engine.discover(there.clone(), DiscoveryParts::PROMPTS);
    let views = host_views::all(&own, None, tokens);
    let mut body = HtmlPage::default();
    body.markup("<h1>Library</h1>\n");
    form(&there, &asked.query, &mut body);
    if let Some(words) = asked.query.said("q") {
        found(&there, words, &mut body);
    }
    trust(&there, viewer, &mut body);
    hosts(&views, &mut body);
    skills(&own, &views, &mut body);
    catalog(&own, &asked.query, &mut body);
    let frame = Frame::still("Library", Section::Library);
    Ok(answer::page(StatusCode::OK, frame.around(viewer, &body)))
}

/// The tokens of a text, as limits estimate them.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// The environment in the folder that a form names; else in the one in which the page was started.
fn environment(site: &Site, form: &Fields) -> Environment {
    let environment = site.runs.engine().environment();
    let folder = form.said("folder");
    Environment {
        working: folder.map_or_else(
            || environment.working.clone(),
            |folder| environment.working.join(folder),
        ),
        ..environment.clone()
    }
}

fn form(there: &Environment, query: &Fields, html: &mut HtmlPage) {
    html.markup("<form class=\"filters\" role=\"search\" action=\"\">\n<label>Words");
    let words = query.said("q").unwrap_or_default();
    html.tag(
        "input",
        &[("type", "search"), ("name", "q"), ("value", words)],
    );
    html.markup("</label>\n<label class=\"wide\">Folder");
    let folder = there.working.to_string_lossy();
    html.tag("input", &[("name", "folder"), ("value", &folder)]);
    html.markup("</label>\n<button>Show</button>\n</form>\n");
}

/// Writes the skills that a search finds, best first.
fn found(there: &Environment, words: &str, html: &mut HtmlPage) {
    let request = DiscoveryRequest {
        parts: DiscoveryParts::SKILLS,
        ..DiscoveryRequest::default()
    };
    let mut library = Library::new(there.clone(), request);
    let query = SearchQuery {
        text: words,
        limit: MOST_FOUND,
        audience: SearchAudience::Person,
    };
    let result = Searcher::default().search(&mut library, &query);
    html.markup("<h2>Found</h2>\n");
    if result.hits.is_empty() {
        html.markup("<p class=\"quiet\">No skill is about that.</p>\n");
        return;
    }
    html.markup("<ol class=\"skills\">\n");
    for hit in &result.hits {
        let Some(skill) = result.snapshot.skills.get(hit.skill) else {
            continue;
        };
        html.markup("<li><b>").text(&one_line(skill.name()));
        html.markup("</b> <span class=\"quiet\">")
            .text(hit.fit.as_str())
            .markup("</span><p>");
        let about = skill.description().unwrap_or_default();
        html.text(&first_words(&one_line(about), 300))
            .markup("</p></li>\n");
    }
    html.markup("</ol>\n");
}

/// The figures of a host.
const COLUMNS: [&str; 7] = [
    "Skills", "Whole", "Cut", "By name", "No room", "Agents", "Tokens",
];

/// Writes what each host shows, a row each.
fn hosts(views: &[HostView], html: &mut HtmlPage) {
    html.markup("<h2>Hosts</h2>\n<table><thead><tr><th>Host</th>");
    for name in COLUMNS {
        html.element("<th class=\"n\">", name, "</th>");
    }
    html.markup("</tr></thead><tbody>\n");
    for view in views {
        let counts = view.counts();
        html.element("<tr><td><b>", &view.title, "</b><br><span class=\"quiet\">");
        html.text(&view.budget).markup("</span></td>");
        let agents = counts.agents.map_or_else(|| "—".to_owned(), grouped);
        let figures = [
            grouped(counts.skills),
            grouped(counts.whole),
            grouped(counts.shortened),
            grouped(counts.name_only),
            grouped(counts.not_shown),
            agents,
            grouped(counts.tokens),
        ];
        for (name, figure) in COLUMNS.into_iter().zip(&figures) {
            html.tag("td", &[("class", "n"), ("data-of", name)])
                .text(figure)
                .markup("</td>");
        }
        html.markup("</tr>\n");
    }
    html.markup("</tbody></table>\n");
}

/// A skill with what every host makes of it.
#[derive(Default)]
struct SkillRow<'a> {
    name: &'a str,
    about: &'a str,
    uses: u32,
    /// The hosts by the form in which they show it.
    forms: BTreeMap<String, Vec<&'a str>>,
    reasons: Vec<&'a StateReason>,
}

/// Writes each skill with its form in each host, and why.
fn skills(own: &Discovery, views: &[HostView], html: &mut HtmlPage) {
    let mut rows: BTreeMap<PathBuf, SkillRow<'_>> = BTreeMap::new();
    let uses = usage::counts(&own.world.environment, &own.snapshot);
    for view in views {
        let snapshot = &view.discovery.snapshot;
        for (at, skill) in snapshot.skills.iter().enumerate() {
            let row = rows.entry(snapshot.location(&skill.place)).or_default();
            if row.name.is_empty() {
                (row.name, row.about) = (skill.name(), skill.description().unwrap_or_default());
            }
            let form = match view.visibility_of(at) {
                Some(SkillVisibility::Whole) => "whole in",
                Some(SkillVisibility::Shortened) => "cut in",
                Some(SkillVisibility::NameOnly) => "by name in",
                Some(SkillVisibility::NotShown) => "no room in",
                None if skill.state.is_offered() => "for people alone in",
                None => skill.state.as_str(),
            };
            let form = match form.split_once(' ') {
                Some(_) => form.to_owned(),
                None => format!("{form} in"),
            };
            row.forms.entry(form).or_default().push(&view.title);
            for reason in &skill.reasons {
                if !row.reasons.contains(&reason) {
                    row.reasons.push(reason);
                }
            }
        }
    }
    for (at, count) in uses {
        let skill = own.snapshot.skills.get(at);
        let place = skill.map(|skill| own.snapshot.location(&skill.place));
        if let Some(row) = place.and_then(|place| rows.get_mut(&place)) {
            row.uses = count;
        }
    }
    let heading = format!("Skills ({})", grouped(rows.len()));
    html.element("<h2>", &heading, "</h2>\n");
    if rows.is_empty() {
        html.markup("<p class=\"quiet\">There are none here.</p>\n");
        return;
    }
    let count = rows.len();
    let mut rows: Vec<(PathBuf, SkillRow<'_>)> = rows.into_iter().collect();
    rows.sort_by(|a, b| (a.1.name, &a.0).cmp(&(b.1.name, &b.0)));
    html.markup("<ol class=\"skills\">\n");
    for (place, row) in rows.iter().take(MOST_SKILLS) {
        skill_row(place, row, views, html);
    }
    html.markup("</ol>\n");
    if count > MOST_SKILLS {
        let words = format!("The first {MOST_SKILLS} of {} are shown.", grouped(count));
        html.element("<p class=\"quiet\">", &words, "</p>\n");
    }
}

fn skill_row(place: &std::path::Path, row: &SkillRow<'_>, views: &[HostView], html: &mut HtmlPage) {
    html.markup("<li><b>")
        .text(&one_line(row.name))
        .markup("</b>");
    if row.uses > 0 {
        let words = format!(" used {}", counted(row.uses as usize, "time"));
        html.element("<span class=\"quiet\">", &words, "</span>");
    }
    html.element(
        "<p>",
        &first_words(&one_line(row.about), 240),
        "</p><p class=\"quiet\">",
    );
    let mut missing: Vec<&str> = views.iter().map(|view| view.title.as_str()).collect();
    let mut words = Vec::new();
    for (form, hosts) in &row.forms {
        missing.retain(|host| !hosts.contains(host));
        words.push(format!("{form} {}", hosts.join(", ")));
    }
    if !missing.is_empty() {
        words.push(format!("missing in {}", missing.join(", ")));
    }
    html.text(&words.join(" · "))
        .markup("<br><code>")
        .text(&one_line(&place.to_string_lossy()))
        .markup("</code></p>");
    for reason in &row.reasons {
        let words = format!("{}: {}", one_line(&reason.message), one_line(&reason.fix));
        html.element("<p class=\"doubt\">▲ ", &words, "</p>");
    }
    let is_all = row.reasons.is_empty() && words.len() == 1;
    if !is_all {
        let command = format!("grove why {}", one_line(row.name));
        html.element(
            "<p class=\"quiet\"><code>",
            &command,
            "</code> says why, and what changes it</p>",
        );
    }
    html.markup("</li>\n");
}

/// Writes the catalog that a new conversation is given, or one for a task, with the tokens of each entry, for the budget of
/// the slider.
fn catalog(own: &Discovery, query: &Fields, html: &mut HtmlPage) {
    let limits = &own.world.settings.settings.limits;
    let usual = limits.prompt_chars.count() / BYTES_PER_TOKEN;
    let budget = query
        .number::<usize>("budget")
        .unwrap_or(usual)
        .min(MOST_TOKENS);
    let task = query.said("for").filter(|task| !task.trim().is_empty());
    let asked = CatalogOptions {
        style: CatalogStyle::Xml,
        budget: CatalogBudget::tokens(budget, limits.prompt_skills.count()),
        index_dir: None,
        exact: None,
        exclude: Vec::new(),
        task: task.map(|task| Searcher::default().order_for(own, task).0),
    };
    let made = Disclosure::new(own, None).preview(&asked);
    html.markup("<h2 id=\"catalog\">Catalog</h2>\n<form class=\"slider\" action=\"#catalog\">");
    for name in ["folder", "q"] {
        if let Some(said) = query.said(name) {
            hidden(name, said, html);
        }
    }
    html.markup("<label for=\"budget\">Tokens that it may take</label>");
    let (most, value) = (MOST_TOKENS.to_string(), budget.to_string());
    let slider = [
        ("type", "range"),
        ("id", "budget"),
        ("name", "budget"),
        ("min", "0"),
        ("max", most.as_str()),
        ("step", "50"),
        ("value", value.as_str()),
    ];
    html.tag("input", &slider);
    html.markup("<label for=\"for\">A task that it is for</label>");
    let task = task.unwrap_or_default();
    html.tag("input", &[("id", "for"), ("name", "for"), ("value", task)]);
    html.markup("<button>Show</button></form>\n<p>");
    let words = format!(
        "{} of {} tokens; {} would show every skill whole",
        grouped(tokens(&made.text)),
        grouped(budget),
        grouped(made.report.needed.div_ceil(BYTES_PER_TOKEN)),
    );
    html.text(&words).markup("</p>\n");
    for advice in &made.report.advice {
        html.element("<p class=\"doubt\">▲ ", advice, "</p>\n");
    }
    html.markup("<details class=\"part\" open><summary>As a model reads it</summary>");
    html.element(
        "<pre tabindex=\"0\">",
        cut(&made.text),
        "</pre></details>\n",
    );
    html.markup(
        "<details class=\"part\"><summary>Tokens of each entry</summary><ul class=\"series\">\n",
    );
    for entry in &made.entries {
        html.markup("<li><span></span><span>")
            .text(&one_line(&entry.name));
        html.element(
            "</span><b>",
            &grouped(entry.cost.div_ceil(BYTES_PER_TOKEN)),
            "</b></li>\n",
        );
    }
    html.markup("</ul></details>\n");
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_TEXT))
        .unwrap_or_default()
}

/// Writes what is new or changed in the project since it was trusted, with the button that trusts exactly this.
fn trust(there: &Environment, viewer: &Viewer<'_>, html: &mut HtmlPage) {
    let Ok(review) = reviewed(there) else {
        return;
    };
    if review.new.is_empty() && review.changed.is_empty() && review.removed.is_empty() {
        return;
    }
    html.markup("<section class=\"trust\"><h2>Changed since it was trusted</h2>\n<p>In <code>");
    html.text(&review.folder.to_string_lossy())
        .markup("</code>. Nothing of this is used until you trust it.</p>\n");
    for item in review
        .items
        .iter()
        .filter(|item| review.is_new_or_changed(item))
    {
        for finding in &item.findings {
            let words = format!(
                "{} {}: {}",
                item.kind.as_str(),
                one_line(&item.path),
                one_line(finding)
            );
            html.element("<p class=\"doubt\">▲ ", &words, "</p>\n");
        }
    }
    for path in &review.new {
        whole_file("new", path, review.text_of(path).as_deref(), html);
    }
    for file in &review.changed {
        html.element(
            "<h4 class=\"file\">changed ",
            &one_line(&file.path),
            "</h4>\n",
        );
        match &file.texts {
            Some((before, now)) => side_by_side(before, now, html),
            None => {
                html.markup("<p class=\"quiet\">Its earlier text was not kept.</p>\n");
            }
        }
    }
    for path in &review.removed {
        html.element("<h4 class=\"file\">removed ", &one_line(path), "</h4>\n");
    }
    let digest = review.digest().to_string();
    let grant = ActionForm {
        action: "trust",
        about: &digest,
        right: PageRight::All,
    };
    html.markup("<div class=\"actions\">");
    viewer.whole_form(&grant, html, |html| {
        hidden("folder", &there.working.to_string_lossy(), html);
        html.markup("<button class=\"first\">Trust it as it is shown here</button>");
    });
    html.markup("</div></section>\n");
}

fn whole_file(kind: &'static str, path: &str, text: Option<&str>, html: &mut HtmlPage) {
    html.markup("<details class=\"part\"><summary>")
        .markup(kind);
    html.element(" <code>", &one_line(path), "</code></summary>");
    match text {
        Some(text) => html.element("<pre tabindex=\"0\">", cut(text), "</pre>"),
        None => html
            .markup("<p class=\"quiet\">Not shown: it is no text, too long, or has settings.</p>"),
    };
    html.markup("</details>\n");
}

/// Writes the changes of a file, its lines before beside its lines now.
fn side_by_side(before: &str, now: &str, html: &mut HtmlPage) {
    let difference = TextDiff::from_lines(before, now);
    html.markup("<div class=\"sides\" tabindex=\"0\">\n");
    let mut left = MOST_LINES;
    for group in difference.grouped_ops(3) {
        for op in &group {
            let of = |tag: ChangeTag| {
                let changes = difference.iter_changes(op);
                let lines =
                    changes.filter(move |it| it.tag() == tag || it.tag() == ChangeTag::Equal);
                lines.map(|it| {
                    (
                        it.tag() != ChangeTag::Equal,
                        it.value().trim_end_matches('\n'),
                    )
                })
            };
            let (mut old, mut new) = (of(ChangeTag::Delete), of(ChangeTag::Insert));
            loop {
                let (one, other) = (old.next(), new.next());
                if (one.is_none() && other.is_none()) || left == 0 {
                    break;
                }
                left -= 1;
                side(one, "del", html);
                side(other, "add", html);
            }
        }
    }
    if left == 0 {
        html.markup("<p class=\"quiet\">and more</p>");
    }
    html.markup("</div>\n");
}

fn side(line: Option<(bool, &str)>, changed: &'static str, html: &mut HtmlPage) {
    let (class, text) = match line {
        Some((true, text)) => (changed, text),
        Some((false, text)) => ("same", text),
        None => ("none", ""),
    };
    html.leaf("code", &[("class", class)], text);
}

/// Trusts a project as it was shown; another content by now is shown again first.
pub(super) fn accept(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let there = environment(site, form);
    let review = reviewed(&there)?;
    if review.digest().to_string() != about {
        return Err(
            EngineError::finding("the files have changed since they were shown")
                .hint("look at the library again, and trust what it shows then"),
        );
    }
    trusting::accept(&there, &review).map_err(EngineError::finding)?;
    let folder = there.working.to_string_lossy();
    let library = viewer.address(&["library"]).unwrap_or_default();
    Ok(Done {
        to: format!("{library}?folder={}", super::html::address_part(&folder)),
        lines: vec![format!(
            "{} is trusted as it is now",
            review.folder.display()
        )],
    })
}

fn reviewed(there: &Environment) -> Result<TrustReview, EngineError> {
    trusting::review(there, None, false).map_err(EngineError::finding)
}
