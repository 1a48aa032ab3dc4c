//! The page of a run as a file: the same page, as it is at the run's last event, with everything of its children in it.

use grove_engine::transcript::TextRoom;
use grove_engine::{EngineError, RunJournal, WatchedRun};
use grove_spec::text::{counted, grouped};

use super::child_page;
use super::frame::{Frame, Section};
use super::html::HtmlPage;
use super::run_page;
use super::scene::Scene;
use super::viewer::Viewer;

/// The most bytes of all texts of children together: a page of a hundred children stays below a megabyte.
const MOST_TEXTS: usize = 480 << 10;
/// The most bytes of one text.
const MOST_TEXT: usize = 16 << 10;
/// Children that are on the page with everything they did.
const MOST_CHILDREN: usize = 250;

/// A run as a file.
#[derive(Debug)]
pub struct ExportedPage {
    /// The text of the page.
    pub markup: String,
    /// Everything that has no room on it.
    pub left_out: Vec<String>,
}

/// Writes the page of a run that needs no server. The same journal gives the same bytes.
pub fn exported_page(journal: &RunJournal, run: &str) -> Result<ExportedPage, EngineError> {
    let id = journal.find(run)?;
    let mut watched = WatchedRun::new(journal, &id)?;
    watched.take_news(journal, |_, _| {})?;
    let scene = Scene::of(journal, &watched, Viewer::File);
    let mut body = HtmlPage::default();
    run_page::run_page(&scene, &mut body)?;
    let (children, left_out) = children(&scene)?;
    for left_out in &left_out {
        body.element("<p class=\"doubt\">Left out: ", left_out, "</p>\n");
    }
    body.part(&children);
    let frame = Frame::still(&scene.run.title, Section::None);
    Ok(ExportedPage {
        markup: frame.around(&scene.viewer, &body),
        left_out,
    })
}

/// Everything of the children, each with its share of the room.
fn children(scene: &Scene<'_>) -> Result<(HtmlPage, Vec<String>), EngineError> {
    let mut html = HtmlPage::default();
    let all = scene.live.children().count();
    let share = MOST_TEXTS / all.clamp(1, MOST_CHILDREN);
    let (mut cut, mut unshown) = (0, 0);
    for child in scene.live.children().take(MOST_CHILDREN) {
        let mut room = TextRoom {
            each: MOST_TEXT,
            left: share,
            cut: 0,
        };
        unshown += child_page::frozen(scene, child, &mut room, &mut html)?;
        cut += room.cut;
    }
    let id = &scene.run.id;
    let mut left_out = Vec::new();
    if let Some(more @ 1..) = all.checked_sub(MOST_CHILDREN) {
        let more = grouped(more);
        left_out.push(format!(
            "what {more} more children did; see `grove runs show {id}`"
        ));
    }
    if unshown > 0 {
        let steps = counted(unshown, "step");
        left_out.push(format!(
            "{steps} of transcripts; see `grove runs logs {id}`"
        ));
    }
    if cut > 0 {
        let texts = counted(cut, "text");
        left_out.push(format!(
            "the ends of {texts}; see `grove runs logs {id} --json`"
        ));
    }
    Ok((html, left_out))
}
