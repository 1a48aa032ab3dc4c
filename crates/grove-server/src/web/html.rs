//! Markup in which nothing that a file or a model wrote has a meaning.
//!
//! Markup is a constant of this program; everything else goes through [`HtmlPage::text`] or an attribute, and both escape.
//! There is no other way to put something on a page.

use grove_spec::text::visible;

/// A page while it is written.
#[derive(Debug, Default, Hash)]
pub(super) struct HtmlPage(String);

impl HtmlPage {
    /// Markup of this program.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Markup that was written before in the same way.
    pub(super) fn part(&mut self, part: &Self) -> &mut Self {
        self.0.push_str(&part.0);
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

    /// An element that has words alone.
    pub(super) fn element(
        &mut self,
        open: &'static str,
        text: &str,
        close: &'static str,
    ) -> &mut Self {
        self.markup(open).text(text).markup(close)
    }

    /// An element with attributes that has words alone.
    pub(super) fn leaf(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        text: &str,
    ) -> &mut Self {
        self.tag(tag, attributes).text(text).end(tag)
    }

    /// The end of an element.
    pub(super) fn end(&mut self, tag: &'static str) -> &mut Self {
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
        self
    }

    /// Returns true if nothing was written.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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

/// Words as a part of an address: everything but letters, digits and a few signs is written with percent signs.
pub(super) fn address_part(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The words of a part of an address; none if they are not UTF-8. In the values of a form a plus sign is a blank.
pub(super) fn words_of_address(part: &str, is_form: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                u8::from_str_radix(digits, 16).ok().filter(|_| is_number)?
            }
            b'+' if is_form => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_an_address_come_back_as_they_were() {
        for words in ["2[src/a b]", "1.review", "ü%+&=?#", "", "../x"] {
            let part = address_part(words);
            assert!(!part.contains(['/', '&', '?', '#', ' ', '"']), "{part}");
            assert_eq!(words_of_address(&part, false).unwrap(), words);
            assert_eq!(words_of_address(&part, true).unwrap(), words);
        }
        assert_eq!(words_of_address("a+b", true).unwrap(), "a b");
        for wrong in ["%", "%2", "%zz", "%ff", "%+1"] {
            assert_eq!(words_of_address(wrong, false), None, "{wrong}");
        }
    }

    #[test]
    fn nothing_that_is_given_is_markup() {
        let mut html = HtmlPage::default();
        html.tag("a", &[("href", "\"><script>'`")])
            .text("<b>&\u{202e}");
        assert_eq!(
            html.finish(),
            "<a href=\"&quot;&gt;&lt;script&gt;&#39;&#96;\">&lt;b&gt;&amp;\\u{202e}"
        );
    }
}
