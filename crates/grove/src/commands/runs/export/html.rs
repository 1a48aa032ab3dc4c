//! Markup in which nothing that a file or a model wrote has a meaning.
//!
//! Markup is a constant of this program; everything else goes through [`HtmlPage::text`] or an attribute, and both escape.
//! There is no other way to put something on a page.

use grove_spec::text::visible;

#[derive(Debug, Default)]
pub(super) struct HtmlPage(String);

impl HtmlPage {
    /// Markup of this program.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Words from anywhere. Lines and tabs stay; what could not be seen is made visible.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.0.push('\n');
            }
            for (at, part) in line.split('\t').enumerate() {
                if at > 0 {
                    self.0.push('\t');
                }
                push_escaped(&mut self.0, &visible(part));
            }
        }
        self
    }

    /// A tag with attributes, whose names are constants and whose values are words from anywhere.
    pub(super) fn tag(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
    ) -> &mut Self {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            push_escaped(&mut self.0, &visible(value));
            self.0.push('"');
        }
        self.0.push('>');
        self
    }

    pub(super) fn element(
        &mut self,
        open: &'static str,
        text: &str,
        close: &'static str,
    ) -> &mut Self {
        self.markup(open).text(text).markup(close)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            c => out.push(c),
        }
    }
}
