//! Starting a run: a form, the plan that it would be, and the start of exactly that plan. And a run again from one of its steps.

use std::path::PathBuf;

use grove_catalog::entry::Entry as _;
use grove_engine::view::Told;
use grove_engine::{EngineError, ResolvedRun, RunOrder, plan_lines};
use grove_skills::{DiscoveryParts, Environment};
use grove_spec::money::millionths;
use grove_spec::text::one_line;
use http::StatusCode;

use super::access::PageRight;
use super::actions::Done;
use super::answer;
use super::asked::{Asked, Fields};
use super::frame::{Frame, Section};
use super::html::HtmlPage;
use super::scene::Scene;
use super::site::{Looked, Site, still, way_back};
use super::viewer::{ActionForm, Viewer, hidden};
use crate::token::Token;

/// The digits of the key by which a form that is sent twice starts one run.
const KEY_DIGITS: usize = 24;
/// The fields of the form that are texts, in their order.
const FIELDS: [&str; 10] = [
    "agent",
    "chain",
    "task",
    "model",
    "folder",
    "max-tokens",
    "max-cost",
    "minutes",
    "worktree",
    "approve",
];

/// Answers with the form, filled with the values of the address.
pub(super) fn page(site: &Site, asked: &Asked, viewer: &Viewer<'_>) -> Looked {
    let mut body = HtmlPage::default();
    body.markup("<h1>Start a run</h1>\n");
    form(site, &asked.query, viewer, &mut body);
    let frame = Frame::still("Start a run", Section::Start);
    Ok(answer::page(StatusCode::OK, frame.around(viewer, &body)))
}

/// The folder that a form names; else the one in which the page was started.
fn folder(site: &Site, form: &Fields) -> PathBuf {
    let working = &site.runs.engine().environment().working;
    form.said("folder")
        .map_or_else(|| working.clone(), |folder| working.join(folder))
}

/// The names of agents and chains that can be used in a folder.
fn names(site: &Site, form: &Fields) -> (Vec<String>, Vec<String>) {
    let there = Environment {
        working: folder(site, form),
        ..site.runs.engine().environment().clone()
    };
    let look = site.runs.engine().discover(there, DiscoveryParts::ALL);
    let agents = look.snapshot.agents.all.iter();
    let agents = agents
        .filter(|agent| agent.state.is_usable())
        .map(|agent| agent.name().to_owned());
    let chains = look.snapshot.chains.all.iter();
    let chains = chains
        .filter(|chain| chain.state.is_usable())
        .map(|chain| chain.name().to_owned());
    (agents.collect(), chains.collect())
}

/// Writes the form. It leads to the plan, and nothing starts with it.
fn form(site: &Site, values: &Fields, viewer: &Viewer<'_>, html: &mut HtmlPage) {
    let (agents, chains) = names(site, values);
    let value = |name: &str| values.get(name).unwrap_or_default();
    let shown = folder(site, values);
    let start = ActionForm {
        action: "plan",
        about: "",
        right: PageRight::All,
    };
    viewer.whole_form(&start, html, |html| {
        html.markup("<div class=\"fields\">");
        choice("Agent", "agent", value("agent"), &agents, html);
        choice("or chain", "chain", value("chain"), &chains, html);
        html.markup("<label class=\"wide\">Task");
        html.leaf(
            "textarea",
            &[("name", "task"), ("rows", "6"), ("required", "")],
            value("task"),
        );
        html.markup("</label>\n");
        let folder = shown.to_string_lossy();
        let texts = [
            ("Model", "model", value("model"), "text"),
            ("Folder", "folder", folder.as_ref(), "text"),
            (
                "Tokens at most",
                "max-tokens",
                value("max-tokens"),
                "number",
            ),
            ("Cost at most", "max-cost", value("max-cost"), "text"),
            ("Minutes at most", "minutes", value("minutes"), "number"),
            ("Approved digests", "approve", value("approve"), "text"),
        ];
        for (label, name, value, kind) in texts {
            html.markup("<label>").markup(label);
            html.tag("input", &[("type", kind), ("name", name), ("value", value)]);
            html.markup("</label>\n");
        }
        html.markup("<label class=\"check\">");
        let mut check = vec![("type", "checkbox"), ("name", "worktree"), ("value", "1")];
        if values.said("worktree").is_some() {
            check.push(("checked", ""));
        }
        html.tag("input", &check)
            .markup(" Each child in a working tree of its own</label>\n</div>\n");
        html.markup("<button class=\"first\">Show the plan</button>");
    });
}

fn choice(
    label: &'static str,
    name: &'static str,
    chosen: &str,
    words: &[String],
    html: &mut HtmlPage,
) {
    html.markup("<label>").markup(label);
    html.tag("select", &[("name", name)])
        .markup("<option value=\"\"></option>");
    for word in words {
        let mut option = vec![("value", word.as_str())];
        if word == chosen {
            option.push(("selected", ""));
        }
        html.leaf("option", &option, &one_line(word));
    }
    html.markup("</select></label>\n");
}

/// The order that a form says.
fn order(form: &Fields) -> Result<RunOrder, EngineError> {
    let task = form.said("task").unwrap_or_default().replace("\r\n", "\n");
    let mut order = match (form.said("agent"), form.said("chain")) {
        (Some(agent), None) => RunOrder::of_task(agent, &task),
        (None, Some(chain)) => RunOrder::of_saved_chain(chain, &task),
        _ => {
            return Err(EngineError::usage(
                "choose an agent or a chain, and not both",
            ));
        }
    };
    let number = |name: &str| match (form.said(name), form.number::<u64>(name)) {
        (None, _) => Ok(None),
        (Some(_), Some(number)) => Ok(Some(number)),
        (Some(said), None) => Err(EngineError::usage(format!(
            "`{said}` is no whole number above zero"
        ))),
    };
    let request = &mut order.request;
    request.model = form.said("model").map(str::to_owned);
    request.max_tokens = number("max-tokens")?;
    request.timeout_ms = number("minutes")?.map(|minutes| minutes.saturating_mul(60_000));
    request.worktree = form.said("worktree").map(|_| true);
    request.background = true;
    if let Some(said) = form.said("max-cost") {
        let cost = said.parse().ok().and_then(millionths);
        let wrong = || EngineError::usage(format!("`{said}` is no amount above zero"));
        request.max_cost = Some(cost.ok_or_else(wrong)?);
    }
    request.submit_key = form.said("key").map(|key| format!("page/{key}"));
    let approved = form.said("approve").unwrap_or_default();
    order.approve = approved.split_whitespace().map(str::to_owned).collect();
    Ok(order)
}

fn resolved(site: &Site, form: &Fields) -> Result<ResolvedRun, EngineError> {
    let engine = site.runs.engine();
    engine.resolve_in(&folder(site, form), &order(form)?)
}

/// Shows the plan that a form would be, with the button that starts it.
pub(super) fn show_plan(site: &Site, values: &Fields, viewer: &Viewer<'_>) -> Looked {
    let resolved = resolved(site, values)?;
    let digest = resolved.plan.digest().to_string();
    let mut body = HtmlPage::default();
    body.markup("<h1>The plan</h1>\n");
    for warning in &resolved.warnings {
        body.element("<p class=\"doubt\">", &warning.message, "</p>\n");
    }
    for note in &resolved.notes {
        body.element("<p class=\"quiet\">", note, "</p>\n");
    }
    let lines = plan_lines(&resolved).join("\n");
    body.element("<pre class=\"whole\" tabindex=\"0\">", &lines, "</pre>\n");
    let limits = &resolved.plan.tree;
    if limits.max_tokens.is_none() && limits.max_cost.is_none() {
        body.markup("<p class=\"doubt\">Nothing limits what it may spend.</p>\n");
    }
    let start = ActionForm {
        action: "start",
        about: &digest,
        right: PageRight::All,
    };
    viewer.whole_form(&start, &mut body, |html| {
        for name in FIELDS {
            hidden(name, values.get(name).unwrap_or_default(), html);
        }
        // A form that is sent twice starts one run.
        if let Some(token) = Token::generate() {
            hidden(
                "key",
                token.secret().get(..KEY_DIGITS).unwrap_or_default(),
                html,
            );
        }
        html.markup("<button class=\"first\">Start it</button>");
    });
    body.markup("<h2>Change it</h2>\n");
    form(site, values, viewer, &mut body);
    let frame = Frame::still("The plan", Section::Start);
    Ok(answer::page(StatusCode::OK, frame.around(viewer, &body)))
}

/// Starts the plan that was shown.
pub(super) fn start(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let resolved = resolved(site, form)?;
    if resolved.plan.digest().to_string() != about {
        let message =
            "the plan is another one by now, since something that it is made from has changed";
        return Err(EngineError::finding(message).hint("show the plan again, and look at it"));
    }
    let (submitted, _) = site.runs.engine().submit(&resolved)?;
    Ok(Done {
        to: viewer.run(&submitted.id).unwrap_or_default(),
        lines: vec![format!("run {} has begun", submitted.id)],
    })
}

/// Answers with the form by which a run is run again from a step.
pub(super) fn again_page(scene: &Scene<'_>, asked: &Asked) -> Looked {
    let steps = scene
        .run
        .plan
        .nodes
        .iter()
        .filter(|node| node.reviews.is_none());
    let steps: Vec<&str> = steps.map(|node| node.id.as_str()).collect();
    let given = asked.query.said("from");
    let is_done = |id: &str| {
        let node = grove_engine::view::NodeId::from(id);
        scene
            .run
            .state
            .nodes
            .get(&node)
            .is_some_and(grove_engine::view::NodeState::is_done)
    };
    let first = steps.iter().copied().find(|id| !is_done(id));
    // An item of a list is repeated with its step.
    let of_list = |given: &str| {
        steps
            .iter()
            .copied()
            .find(|id| given.starts_with(&format!("{id}[")))
    };
    let from = given.and_then(|given| {
        steps
            .iter()
            .copied()
            .find(|id| *id == given)
            .or_else(|| of_list(given))
    });
    let from = from
        .or(first)
        .or(steps.first().copied())
        .unwrap_or_default();
    let mut body = HtmlPage::default();
    way_back(scene, &mut body);
    body.markup("<h1>Run again</h1>\n<p class=\"quiet\">The results of the steps before it are taken over as they are.</p>\n");
    let address = scene
        .viewer
        .address(&["runs", &scene.run.id, "again"])
        .unwrap_or_default();
    body.tag("form", &[("class", "filters"), ("action", &address)]);
    body.markup("<label>From")
        .tag("select", &[("name", "from")]);
    for step in &steps {
        let mut option = vec![("value", *step)];
        if *step == from {
            option.push(("selected", ""));
        }
        body.leaf("option", &option, step);
    }
    body.markup("</select></label><button>Choose</button></form>\n");
    let task = task_of(scene, from);
    let form = ActionForm {
        action: "again",
        about: &scene.run.id,
        right: PageRight::All,
    };
    scene.viewer.whole_form(&form, &mut body, |html| {
        hidden("from", from, html);
        hidden("before", &task, html);
        html.markup("<label>Its task");
        html.leaf("textarea", &[("name", "task"), ("rows", "10")], &task);
        html.markup("</label><button class=\"first\">Run again</button>");
    });
    Ok(still(scene, "Run again", &body))
}

/// The message of a step's child, with its variables.
fn task_of(scene: &Scene<'_>, step: &str) -> String {
    use grove_engine::view::{NodeId, Work};
    let node = scene.run.plan.node(&NodeId::from(step));
    let told = node.map(|node| match &node.work {
        Work::Child(child) => child.told,
        Work::FanOut(list) => list.child.told,
    });
    let told = told.and_then(|digest| scene.text(&digest));
    let told: Option<Told> = told.and_then(|text| serde_json::from_str(&text).ok());
    told.map(|told| told.message).unwrap_or_default()
}

/// Runs a run again from a step; with another task, if it was changed.
pub(super) fn again(
    site: &Site,
    about: &str,
    form: &Fields,
    viewer: &Viewer<'_>,
) -> Result<Done, EngineError> {
    let said = |name: &str| form.get(name).unwrap_or_default().replace("\r\n", "\n");
    let task = said("task");
    let is_changed = task.trim() != said("before").trim() && !task.trim().is_empty();
    let journal = site.runs.journal()?;
    let submitted = journal.again(
        about,
        form.said("from"),
        is_changed.then_some(task.as_str()),
    )?;
    Ok(Done {
        to: viewer.run(&submitted.id).unwrap_or_default(),
        lines: vec![format!("run {} has begun", submitted.id)],
    })
}
