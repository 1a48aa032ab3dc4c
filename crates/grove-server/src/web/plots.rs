//! What a run spends over time, as a picture: by child or by cause, in tokens or in money.

use std::collections::BTreeMap;

use grove_engine::view::NodeId;
use grove_engine::view::history::{SpendCause, Spending};
use grove_spec::text::{counted, one_line};

use super::html::HtmlPage;
use super::rows::first_words;
use super::scene::Scene;
use super::wording;

/// The points of a line.
const POINTS: usize = 60;
/// The most lines of a picture; the rest is one more.
const MOST_LINES: usize = 7;
/// The size of a picture, in its own measure.
const WIDTH: u64 = 600;
const HEIGHT: u64 = 120;

/// The choice of what a picture shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PlotChoice {
    pub(super) by_cause: bool,
    pub(super) in_money: bool,
}

impl PlotChoice {
    /// Reads the choice from the values of an address.
    pub(super) fn read(by: Option<&str>, of: Option<&str>) -> Self {
        Self {
            by_cause: by == Some("cause"),
            in_money: of == Some("money"),
        }
    }

    fn amount(self, amount: u64) -> String {
        if self.in_money {
            wording::money(amount)
        } else {
            wording::tokens(amount)
        }
    }
}

/// A line of a picture.
struct PlotLine {
    name: String,
    /// The amount up to each point of time.
    amounts: Vec<u64>,
}

impl PlotLine {
    fn sum(&self) -> u64 {
        self.amounts.last().copied().unwrap_or_default()
    }
}

/// Writes the picture of what a run spent, with the way to the others.
pub(super) fn spending(scene: &Scene<'_>, html: &mut HtmlPage) {
    let choice = scene.plots;
    html.markup("<div id=\"plots\">\n");
    choices(scene, choice, html);
    let lines = lines(scene, choice);
    let sum: u64 = lines.iter().map(PlotLine::sum).sum();
    if sum == 0 {
        html.markup("<p class=\"quiet\">Nothing is known to have been spent.</p>\n</div>\n");
        return;
    }
    picture(scene, &lines, sum, choice, html);
    html.markup("<ol class=\"series\">\n");
    for (at, line) in lines.iter().enumerate() {
        let class = format!("k{at}");
        html.markup("<li><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\">");
        let rect = [("class", class.as_str()), ("width", "12"), ("height", "12")];
        html.tag("rect", &rect).markup("</rect></svg><span>");
        html.text(&line.name).markup("</span><b>");
        html.text(&choice.amount(line.sum()))
            .markup("</b><small class=\"quiet\">");
        let percent = u128::from(line.sum()) * 100 / u128::from(sum);
        html.text(&format!("{percent} %")).markup("</small></li>\n");
    }
    html.markup("</ol>\n");
    if choice.by_cause {
        html.markup("<p class=\"quiet\">Providers count requests as a whole: the parts follow from their lengths.</p>\n");
    }
    if scene.run.state.spent.estimated {
        html.markup("<p class=\"quiet\">Some of these figures are what a program reported about itself.</p>\n");
    }
    html.markup("</div>\n");
}

/// The ways to the other pictures.
fn choices(scene: &Scene<'_>, choice: PlotChoice, html: &mut HtmlPage) {
    let Some(address) = scene.viewer.run(&scene.run.id) else {
        return;
    };
    html.markup("<p class=\"choices\">");
    let ways = [
        (
            "by child",
            PlotChoice {
                by_cause: false,
                ..choice
            },
        ),
        (
            "by cause",
            PlotChoice {
                by_cause: true,
                ..choice
            },
        ),
        (
            "tokens",
            PlotChoice {
                in_money: false,
                ..choice
            },
        ),
        (
            "money",
            PlotChoice {
                in_money: true,
                ..choice
            },
        ),
    ];
    for (words, way) in ways {
        let by = if way.by_cause { "cause" } else { "child" };
        let of = if way.in_money { "money" } else { "tokens" };
        let address = format!("{address}?by={by}&of={of}#plots");
        let mut link = vec![("href", address.as_str())];
        if way == choice {
            link.push(("aria-current", "true"));
        }
        html.leaf("a", &link, words).markup(" ");
    }
    html.markup("</p>\n");
}

/// The lines of a picture: those of which most was spent, and one for the rest.
fn lines(scene: &Scene<'_>, choice: PlotChoice) -> Vec<PlotLine> {
    let (began, until) = (scene.began(), scene.until());
    let all = until.saturating_sub(began).max(1);
    let point = |at: u64| {
        let at = u128::from(at.saturating_sub(began)) * (POINTS as u128 - 1) / u128::from(all);
        // What is spent between two points is there at the second of them.
        usize::try_from(at).unwrap_or(0).min(POINTS - 2) + 1
    };
    let mut sums: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut add = |name: &str, at: u64, amount: u64| {
        let line = sums
            .entry(name.to_owned())
            .or_insert_with(|| vec![0; POINTS]);
        if let Some(known) = line.get_mut(point(at)) {
            *known += amount;
        }
    };
    for (id, child) in scene.run.history.children() {
        let name = if choice.by_cause {
            String::new()
        } else {
            name_of(scene, id)
        };
        for spending in &child.spent {
            let Some(amounts) = amounts(spending, choice) else {
                continue;
            };
            if !choice.by_cause {
                add(&name, spending.at, amounts.sum());
                continue;
            }
            for cause in SpendCause::ALL {
                if let amount @ 1.. = amounts.of(cause) {
                    add(cause.words(), spending.at, amount);
                }
            }
        }
    }
    let lines = sums.into_iter().map(|(name, mut amounts)| {
        let mut sum = 0;
        for amount in &mut amounts {
            sum += *amount;
            *amount = sum;
        }
        PlotLine { name, amounts }
    });
    let mut lines: Vec<PlotLine> = lines.collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.sum()));
    if lines.len() > MOST_LINES + 1 {
        let rest = lines.split_off(MOST_LINES);
        let sum_at = |at: usize| rest.iter().filter_map(|line| line.amounts.get(at)).sum();
        lines.push(PlotLine {
            name: counted(rest.len(), "other"),
            amounts: (0..POINTS).map(sum_at).collect(),
        });
    }
    lines
}

fn amounts(
    spending: &Spending,
    choice: PlotChoice,
) -> Option<grove_engine::view::history::SpentOn> {
    if choice.in_money {
        spending.cost
    } else {
        Some(spending.tokens)
    }
}

fn name_of(scene: &Scene<'_>, id: &NodeId) -> String {
    let name = scene.child(id).map_or("", |child| child.name);
    first_words(&one_line(&format!("{id} {name}")), 40)
}

/// Writes the areas of a picture, the first one at the bottom.
fn picture(
    scene: &Scene<'_>,
    lines: &[PlotLine],
    sum: u64,
    choice: PlotChoice,
    html: &mut HtmlPage,
) {
    let view = format!("0 0 {WIDTH} {HEIGHT}");
    let what = if choice.in_money { "money" } else { "tokens" };
    let words = format!(
        "{} {what} over {}",
        choice.amount(sum),
        wording::duration(scene.until() - scene.began())
    );
    let svg = [
        ("class", "plot"),
        ("viewBox", view.as_str()),
        ("preserveAspectRatio", "none"),
        ("role", "img"),
        ("aria-label", &words),
    ];
    html.tag("svg", &svg);
    let x = |at: usize| at as u64 * WIDTH / (POINTS as u64 - 1);
    let height = |amount: u64| {
        let height = u128::from(amount) * u128::from(HEIGHT) / u128::from(sum);
        HEIGHT - u64::try_from(height).unwrap_or(HEIGHT).min(HEIGHT)
    };
    let mut below = vec![0_u64; POINTS];
    for (at, line) in lines.iter().enumerate() {
        let above: Vec<u64> = below
            .iter()
            .zip(&line.amounts)
            .map(|(a, b)| a + b)
            .collect();
        let forth = above
            .iter()
            .enumerate()
            .map(|(at, sum)| (x(at), height(*sum)));
        let back = below.iter().enumerate().rev();
        let back = back.map(|(at, sum)| (x(at), height(*sum)));
        let points = forth.chain(back).map(|(x, y)| format!("{x},{y}"));
        let points = points.collect::<Vec<_>>().join(" ");
        let class = format!("k{at}");
        html.tag("polygon", &[("class", &class), ("points", &points)]);
        html.element("<title>", &line.name, "</title></polygon>");
        below = above;
    }
    html.markup("</svg>\n<p class=\"axis quiet\"><span>");
    html.text(&wording::utc(scene.began()))
        .markup("</span><span>");
    html.text(&wording::duration(scene.until() - scene.began()));
    html.markup("</span></p>\n");
}
