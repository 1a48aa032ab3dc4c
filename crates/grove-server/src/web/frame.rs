//! The frame of every page: its head, the way to other pages, and what the page's script needs to know.

use grove_spec::Digest;
use std::sync::LazyLock;

use super::access::PageRight;
use super::html::HtmlPage;
use super::viewer::Viewer;

/// The style of every page.
pub(super) const STYLE: &str = include_str!("page.css");
/// The script of every page that a browser shows.
pub(super) const SCRIPT: &str = include_str!("page.js");
/// The picture in the tab of a browser.
pub(super) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
<path d=\"M8 1 3 8h3l-3 4h4v3h2v-3h4l-3-4h3z\" fill=\"#3a7d54\"/></svg>";

/// The first digits of the digest of the files, which tell those of another version apart.
static EDITION: LazyLock<String> =
    LazyLock::new(|| Digest::of_fields([STYLE, SCRIPT]).first_digits(12));

/// The parts of a page that are the same for many.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    /// The page of the site that this one belongs to.
    pub(super) here: Section,
    /// The address of the stream that keeps the page current, with its values; none for a page that stays as it is.
    pub(super) stream: Option<String>,
    /// The last event that the page has.
    pub(super) seq: u64,
}

/// A part of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Runs,
    Start,
    Library,
    /// A page that belongs to none of them.
    None,
}

impl<'a> Frame<'a> {
    /// The frame of a page that stays as it is.
    pub(super) const fn still(title: &'a str, here: Section) -> Self {
        Self {
            title,
            here,
            stream: None,
            seq: 0,
        }
    }

    /// Puts a page together.
    pub(super) fn around(&self, viewer: &Viewer<'_>, body: &HtmlPage) -> String {
        let mut html = HtmlPage::default();
        html.markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        let style = viewer.address(&["page.css"]);
        if let Some(style) = style {
            let style = format!("{style}?{}", *EDITION);
            html.tag("link", &[("rel", "stylesheet"), ("href", &style)]);
            let icon = viewer.address(&["icon.svg"]).unwrap_or_default();
            html.tag("link", &[("rel", "icon"), ("href", &icon)]);
            let script = viewer.address(&["page.js"]).unwrap_or_default();
            let script = format!("{script}?{}", *EDITION);
            html.tag("script", &[("src", &script), ("defer", "")]);
            html.markup("</script>\n");
        } else {
            let policy = format!(
                "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
                style_hash()
            );
            let meta = [
                ("http-equiv", "Content-Security-Policy"),
                ("content", policy.as_str()),
            ];
            html.tag("meta", &meta);
            html.markup("\n<meta name=\"referrer\" content=\"no-referrer\">\n<style>")
                .markup(STYLE)
                .markup("</style>\n");
        }
        html.element("<title>", self.title, "</title>\n</head>\n");
        let seq = self.seq.to_string();
        let mut attributes = vec![("data-seq", seq.as_str())];
        if let Some(stream) = &self.stream {
            attributes.push(("data-stream", stream));
        }
        html.tag("body", &attributes).markup("\n");
        self.navigation(viewer, &mut html);
        html.markup("<main id=\"main\">\n<div id=\"notice\" role=\"status\"></div>\n");
        html.part(body);
        html.markup("</main>\n</body>\n</html>\n");
        html.finish()
    }

    fn navigation(&self, viewer: &Viewer<'_>, html: &mut HtmlPage) {
        if !viewer.is_live() {
            return;
        }
        html.markup("<a class=\"skip\" href=\"#main\">To the page</a>\n<nav class=\"site\" aria-label=\"Site\">");
        let ways = [
            (Section::Runs, "Runs", &[][..], PageRight::Read),
            (
                Section::Start,
                "Start a run",
                &["start"][..],
                PageRight::All,
            ),
            (
                Section::Library,
                "Library",
                &["library"][..],
                PageRight::Read,
            ),
        ];
        for (section, words, parts, right) in ways {
            let Some(address) = viewer.address(parts).filter(|_| viewer.may(right)) else {
                continue;
            };
            let address = if parts.is_empty() {
                format!("{address}/")
            } else {
                address
            };
            let mut link = vec![("href", address.as_str())];
            if section == self.here {
                link.push(("aria-current", "page"));
            }
            html.leaf("a", &link, words);
        }
        if self.stream.is_some() {
            html.markup("<span id=\"live\" class=\"quiet\" role=\"status\"></span>");
        }
        html.markup("</nav>\n");
    }
}

/// The hash of the style as a policy names it.
fn style_hash() -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(STYLE.as_bytes()))
}
