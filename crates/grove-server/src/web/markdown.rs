//! Markdown of models as a page shows it: a safe part of it. Nothing in it is markup of its own, no picture is loaded, and a link
//! leads to `http` or `https` alone, with its address shown beside its words.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::html::HtmlPage;

/// The deepest nesting that is shown as such; what lies deeper is text.
const DEEPEST: usize = 24;

/// Writes a text as HTML.
pub(super) fn write(text: &str, html: &mut HtmlPage) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut open: Vec<Option<&'static str>> = Vec::new();
    let mut links: Vec<String> = Vec::new();
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(tag) => {
                let name = if open.len() < DEEPEST {
                    begin(&tag, html)
                } else {
                    None
                };
                if let Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } = &tag {
                    links.push(dest_url.to_string());
                }
                open.push(name);
            }
            Event::End(end) => {
                if let Some(Some(name)) = open.pop() {
                    html.end(name);
                }
                if matches!(end, TagEnd::Link | TagEnd::Image)
                    && let Some(address) = links.pop()
                {
                    let address = format!(" ({address})");
                    html.markup("<span class=\"quiet\">").text(&address);
                    html.markup("</span>");
                }
                if is_block(end) {
                    html.markup("\n");
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                html.text(&text);
            }
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                html.element("<code>", &code, "</code>");
            }
            Event::SoftBreak => {
                html.markup("\n");
            }
            Event::HardBreak => {
                html.markup("<br>\n");
            }
            Event::Rule => {
                html.markup("<hr>\n");
            }
            Event::TaskListMarker(is_done) => {
                html.markup(if is_done { "☑ " } else { "☐ " });
            }
            Event::FootnoteReference(name) => {
                html.text(&format!("[{name}]"));
            }
        }
    }
}

/// Writes the beginning of an element and returns its name; none for what has no element.
fn begin(tag: &Tag<'_>, html: &mut HtmlPage) -> Option<&'static str> {
    let name = match tag {
        Tag::Paragraph | Tag::HtmlBlock => "p",
        Tag::Heading { level, .. } => match level {
            HeadingLevel::H1 | HeadingLevel::H2 | HeadingLevel::H3 => "h4",
            _ => "h5",
        },
        Tag::BlockQuote(_) => "blockquote",
        Tag::CodeBlock(kind) => {
            let language = match kind {
                CodeBlockKind::Fenced(language) => language.as_ref(),
                CodeBlockKind::Indented => "",
            };
            html.tag("pre", &[("data-language", language), ("tabindex", "0")]);
            return Some("pre");
        }
        Tag::List(Some(first)) => {
            html.tag("ol", &[("start", &first.to_string())]);
            return Some("ol");
        }
        Tag::List(None) => "ul",
        Tag::Item => "li",
        Tag::Table(_) => "table",
        Tag::TableHead => {
            html.markup("<thead>");
            return Some("thead");
        }
        Tag::TableRow => "tr",
        Tag::TableCell => "td",
        Tag::Emphasis => "em",
        Tag::Strong => "strong",
        Tag::Strikethrough => "s",
        Tag::Link { dest_url, .. } => {
            if !is_web_address(dest_url) {
                return None;
            }
            let attributes = [
                ("href", dest_url.as_ref()),
                ("rel", "noreferrer noopener nofollow"),
                ("target", "_blank"),
            ];
            html.tag("a", &attributes);
            return Some("a");
        }
        _ => return None,
    };
    html.tag(name, &[]);
    Some(name)
}

fn is_block(end: TagEnd) -> bool {
    !matches!(
        end,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::TableCell
    )
}

/// Returns true if an address is one of the web, and not one that runs or holds something.
fn is_web_address(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme);
    let is_web = scheme.is_some_and(|scheme| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    is_web && !address.contains(|c: char| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut html = HtmlPage::default();
        write(text, &mut html);
        html.finish()
    }

    #[test]
    fn a_text_has_the_form_that_its_signs_say() {
        let page = written(
            "# A\n\nSome *words* and `code`.\n\n- one\n- [x] two\n\n```rust\nlet a = 1 < 2;\n```\n",
        );
        assert_eq!(
            page,
            "<h4>A</h4>\n<p>Some <em>words</em> and <code>code</code>.</p>\n<ul><li>one</li>\n<li>☑ two</li>\n</ul>\n\
             <pre data-language=\"rust\" tabindex=\"0\">let a = 1 &lt; 2;\n</pre>\n"
        );
    }

    #[test]
    fn links_lead_to_the_web_with_their_address_beside_them() {
        let page = written("[here](https://example.org/?a=1&b=2)");
        assert!(
            page.contains("href=\"https://example.org/?a=1&amp;b=2\""),
            "{page}"
        );
        assert!(
            page.contains("(https://example.org/?a=1&amp;b=2)"),
            "{page}"
        );
        for wrong in [
            "javascript:alert(1)",
            "data:text/html,<script>",
            "file:///etc/passwd",
            "//example.org",
            "vbscript:x",
            "java\tscript:alert(1)",
            "http:/x",
        ] {
            let page = written(&format!("[here](<{wrong}>) ![picture](<{wrong}>)"));
            assert!(!page.contains("<a") && !page.contains("<img"), "{page}");
        }
    }

    #[test]
    fn nothing_in_a_text_is_markup() {
        for hostile in [
            "<script>alert(1)</script>",
            "text <img src=x onerror=alert(1)> text",
            "<div style=\"position:fixed\">",
            "<!-- hidden -->",
            "```\n</pre><script>\n```",
            "| a |\n|---|\n| <b> |",
            "<svg/onload=alert(1)>",
            "[a](https://x\"onmouseover=\"alert(1))",
        ] {
            let page = written(hostile);
            for part in page.split('<').skip(1) {
                let name = part.trim_start_matches('/');
                let end = name.find(|c: char| !c.is_ascii_alphanumeric());
                let name = &name[..end.unwrap_or(name.len())];
                let known = [
                    "p", "pre", "code", "a", "span", "table", "thead", "tr", "td", "br",
                ];
                assert!(known.contains(&name), "<{part} of {hostile}");
            }
            assert!(
                !page.contains("onerror=alert") || page.contains("&lt;img"),
                "{page}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_text() {
        let page = written(&"> ".repeat(5_000));
        assert!(
            page.matches("<blockquote>").count() <= DEEPEST,
            "{}",
            page.len()
        );
        let page = written(&format!("{}x", "- ".repeat(5_000)));
        assert!(page.matches("<ul>").count() <= DEEPEST, "{}", page.len());
    }
}
