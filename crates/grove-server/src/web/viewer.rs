//! The reader of a page: a browser with a right, or a file that stays as it is.

use grove_engine::view::{NodeId, Times};

use super::access::{KnownBrowser, PageRight, WebAccess};
use super::html::{HtmlPage, address_part};

/// The name of the field with the token of a form.
pub(super) const TOKEN_FIELD: &str = "token";

/// The reader of a page.
#[derive(Clone, Copy)]
pub(super) enum Viewer<'a> {
    /// A person with a browser.
    Browser(Browser<'a>),
    /// A file that needs no server and changes nothing.
    File,
}

/// A browser that looks at a page now.
#[derive(Clone, Copy)]
pub(super) struct Browser<'a> {
    pub(super) access: &'a WebAccess,
    pub(super) known: &'a KnownBrowser,
    /// The folder below which all pages lie, with a slash before it.
    pub(super) folder: &'a str,
    pub(super) now: Times,
    /// True for a part of a page that is sent when it changes. Its ages are left to the page's script: a part does not change
    /// because time passes.
    pub(super) is_stream: bool,
}

/// A form with which something is done.
pub(super) struct ActionForm<'a> {
    /// The name of the action, as its address has it.
    pub(super) action: &'static str,
    /// The run, or the child of it, that it is about.
    pub(super) about: &'a str,
    /// The right that it needs.
    pub(super) right: PageRight,
}

impl Viewer<'_> {
    /// The address of a page, given by the parts of its path; none in a file.
    pub(super) fn address(&self, parts: &[&str]) -> Option<String> {
        let Self::Browser(browser) = self else {
            return None;
        };
        let mut address = browser.folder.to_owned();
        for part in parts {
            address.push('/');
            address.push_str(&address_part(part));
        }
        Some(address)
    }

    /// The address of a run's page.
    pub(super) fn run(&self, run: &str) -> Option<String> {
        self.address(&["runs", run])
    }

    /// The address of a child: its page, or its place in the file.
    pub(super) fn child(&self, run: &str, node: &NodeId) -> String {
        self.address(&["runs", run, "children", node.as_str()])
            .unwrap_or_else(|| format!("#{}", anchor("child", node)))
    }

    /// The time now; in a file the time of the run's last event.
    pub(super) fn now(&self, last: Times) -> Times {
        match self {
            Self::Browser(browser) => browser.now,
            Self::File => last,
        }
    }

    /// Returns true if what is shown goes on changing.
    pub(super) const fn is_live(&self) -> bool {
        matches!(self, Self::Browser(_))
    }

    /// Returns true for a part of a page that is sent when it changes.
    pub(super) const fn is_stream(&self) -> bool {
        matches!(
            self,
            Self::Browser(Browser {
                is_stream: true,
                ..
            })
        )
    }

    /// Returns true if the reader may do something that needs a right.
    pub(super) fn may(&self, right: PageRight) -> bool {
        matches!(self, Self::Browser(browser) if browser.known.right >= right)
    }

    /// Writes a form, if the reader may do what it does.
    pub(super) fn form(
        &self,
        form: &ActionForm<'_>,
        html: &mut HtmlPage,
        fields: impl FnOnce(&mut HtmlPage),
    ) {
        self.any_form(form, &[("class", "do")], html, fields);
    }

    /// Writes a form that leads to another page.
    pub(super) fn whole_form(
        &self,
        form: &ActionForm<'_>,
        html: &mut HtmlPage,
        fields: impl FnOnce(&mut HtmlPage),
    ) {
        self.any_form(form, &[("class", "do"), ("data-whole", "")], html, fields);
    }

    fn any_form(
        &self,
        form: &ActionForm<'_>,
        attributes: &[(&'static str, &str)],
        html: &mut HtmlPage,
        fields: impl FnOnce(&mut HtmlPage),
    ) {
        let Self::Browser(browser) = self else {
            return;
        };
        if !self.may(form.right) {
            return;
        }
        let address = self.address(&["do", form.action]).unwrap_or_default();
        let token = browser
            .access
            .form_token(browser.known, form.action, form.about);
        let own = [("method", "post"), ("action", address.as_str())];
        html.tag("form", &[&own[..], attributes].concat());
        hidden(TOKEN_FIELD, &token, html);
        hidden("about", form.about, html);
        fields(html);
        html.markup("</form>");
    }

    /// Writes a form that is a button.
    pub(super) fn button(&self, form: &ActionForm<'_>, words: &str, html: &mut HtmlPage) {
        self.form(form, html, |html| {
            html.leaf("button", &[], words);
        });
    }
}

/// Writes a field that is not seen.
pub(super) fn hidden(name: &'static str, value: &str, html: &mut HtmlPage) {
    html.tag(
        "input",
        &[("type", "hidden"), ("name", name), ("value", value)],
    );
}

/// The name of a child's place on a page: every sign that is no letter or digit is written as a number, since ids may have any.
pub(super) fn anchor(kind: &str, node: &NodeId) -> String {
    use std::fmt::Write as _;
    let mut name = format!("{kind}-");
    for byte in node.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'.' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "_{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_with_odd_ids_have_places_of_their_own() {
        let place = |id: &str| anchor("c", &NodeId::from(id));
        assert_eq!(place("2.0"), "c-2.0");
        assert_eq!(place("2[src/a b]"), "c-2_5bsrc_2fa_20b_5d");
        assert_ne!(place("a_b"), place("a b"));
        assert_ne!(place("_20"), place(" "));
    }
}
