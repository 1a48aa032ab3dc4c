//! A request of a browser as data: where it leads, what it says, and who sent it.

use std::net::SocketAddr;

use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method};

use super::html::words_of_address;

/// The name of the cookie.
pub(super) const COOKIE_NAME: &str = "grove";
/// The header by which the page's own script asks for a part of a page.
const PART_HEADER: &str = "x-grove-part";

/// A request of a browser.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    /// True if something is to be done, and not only shown.
    pub(super) is_post: bool,
    /// The parts of the path, without the folder of all pages.
    pub(super) path: Vec<String>,
    /// The values after the question mark.
    pub(super) query: Fields,
    /// The values of a form.
    pub(super) form: Fields,
    /// The cookie, if there is one.
    pub(super) cookie: Option<String>,
    /// True if the page's own script asks for a part of a page.
    pub(super) is_part: bool,
    /// The last event that a stream has had.
    pub(super) last_event: Option<u64>,
    /// True if it came from a page of another site by a link.
    pub(super) is_from_elsewhere: bool,
}

/// Values with their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads values as forms and addresses have them; what cannot be read is left out.
    pub(super) fn read(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = words_of_address(name, true)?;
            Some((name, words_of_address(value, true)?))
        });
        Self(pairs.collect())
    }

    /// The first value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        values.next().map(|(_, value)| value.as_str())
    }

    /// The value of a name, without blanks around it; none where it is empty.
    pub(super) fn said(&self, name: &str) -> Option<&str> {
        self.get(name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// The value of a name as a number.
    pub(super) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.said(name)?.parse().ok()
    }

    /// All values with their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The reason why a request is refused before anything is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misled {
    /// It names another host.
    Host(String),
    /// A page of another origin sent it.
    Origin(String),
    /// A page of another site or port embeds it.
    Embedded,
}

/// The names under which the page is served.
#[derive(Debug, Clone)]
pub(super) struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// The names of an address of this machine, and those under which a tunnel of the person's leads to it.
    pub(super) fn of(address: SocketAddr, tunnels: &[String]) -> Self {
        let port = address.port();
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        let tunnels = tunnels.iter().map(|name| name.to_ascii_lowercase());
        Self {
            names: own.into_iter().chain(tunnels).collect(),
        }
    }

    /// Refuses a request that names another host, or that a page of another origin sent.
    pub(super) fn check(&self, headers: &HeaderMap, is_navigation: bool) -> Result<(), Misled> {
        let host = text_of(headers, HOST.as_str()).unwrap_or_default();
        if !self.names.contains(&host.to_ascii_lowercase()) {
            return Err(Misled::Host(host.to_owned()));
        }
        if let Some(origin) = text_of(headers, ORIGIN.as_str()) {
            let name = origin.split_once("://").map_or("", |(_, name)| name);
            if !self.names.contains(&name.to_ascii_lowercase()) {
                return Err(Misled::Origin(origin.to_owned()));
            }
        }
        let site = text_of(headers, "sec-fetch-site");
        let is_own = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        if !is_own && !is_navigation {
            return Err(Misled::Embedded);
        }
        Ok(())
    }
}

/// Returns true if a request is for a page that a person opens, and not for a part of another page.
pub(super) fn is_navigation(parts: &Parts) -> bool {
    let mode = text_of(&parts.headers, "sec-fetch-mode");
    parts.method == Method::GET && mode.is_none_or(|mode| mode == "navigate")
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Asked {
    /// Reads a request below a folder; none if it is for something elsewhere.
    pub(super) fn read(parts: &Parts, body: &[u8], folder: &str) -> Option<Self> {
        let path = parts.uri.path().strip_prefix('/')?.strip_prefix(folder)?;
        let path = match path.strip_prefix('/') {
            Some(path) => path,
            None if path.is_empty() => path,
            None => return None,
        };
        let path = path.split('/').filter(|part| !part.is_empty());
        let path: Option<Vec<String>> = path.map(|part| words_of_address(part, false)).collect();
        let headers = &parts.headers;
        let cookies = text_of(headers, COOKIE.as_str()).unwrap_or_default();
        let mut cookies = cookies.split(';').filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == COOKIE_NAME).then(|| value.to_owned())
        });
        let site = text_of(headers, "sec-fetch-site");
        Some(Self {
            is_post: parts.method == Method::POST,
            path: path?,
            query: Fields::read(parts.uri.query().unwrap_or_default()),
            form: Fields::read(std::str::from_utf8(body).unwrap_or_default()),
            cookie: cookies.next(),
            is_part: headers.contains_key(PART_HEADER),
            last_event: text_of(headers, "last-event-id").and_then(|id| id.parse().ok()),
            is_from_elsewhere: site.is_some_and(|site| !matches!(site, "same-origin" | "none")),
        })
    }

    /// The parts of the path as texts.
    pub(super) fn parts(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: Method, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_requests_of_the_page_itself_and_of_people_are_heard() {
        let hosts = Hosts::of(
            "127.0.0.1:4000".parse().unwrap(),
            &["box.ts.net".to_owned()],
        );
        let own = ("host", "127.0.0.1:4000");
        let host = |name: &str| Err(Misled::Host(name.to_owned()));
        let origin = |name: &str| Err(Misled::Origin(name.to_owned()));
        let check =
            |headers: &[(&str, &str)], is_navigation: bool, expected: Result<(), Misled>| {
                let parts = parts(Method::GET, "/", headers);
                let checked = hosts.check(&parts.headers, is_navigation);
                assert_eq!(checked, expected, "{headers:?}");
            };
        check(&[own], true, Ok(()));
        check(&[("host", "localhost:4000")], true, Ok(()));
        check(&[("host", "LOCALHOST:4000")], true, Ok(()));
        check(&[("host", "box.ts.net")], true, Ok(()));
        check(&[], true, host(""));
        check(&[("host", "localhost:4001")], true, host("localhost:4001"));
        check(&[("host", "localhost")], true, host("localhost"));
        check(&[("host", "evil.example")], true, host("evil.example"));
        check(&[own, ("origin", "http://127.0.0.1:4000")], false, Ok(()));
        check(&[own, ("origin", "null")], true, origin("null"));
        check(
            &[own, ("origin", "http://127.0.0.1:4001")],
            true,
            origin("http://127.0.0.1:4001"),
        );
        check(
            &[own, ("sec-fetch-site", "same-site")],
            false,
            Err(Misled::Embedded),
        );
        check(&[own, ("sec-fetch-site", "cross-site")], true, Ok(()));
        check(&[own, ("sec-fetch-site", "same-origin")], false, Ok(()));
    }

    #[test]
    fn a_request_is_read_below_its_folder_alone() {
        let path = |uri: &str| {
            let parts = parts(Method::GET, uri, &[]);
            Asked::read(&parts, b"", "f0").map(|asked| asked.path)
        };
        assert_eq!(path("/f0"), Some(vec![]));
        assert_eq!(path("/f0/"), Some(vec![]));
        let node = vec!["runs".to_owned(), "r".to_owned(), "2[a/b]".to_owned()];
        assert_eq!(path("/f0/runs/r/2%5Ba%2Fb%5D"), Some(node));
        for elsewhere in ["/", "/f00/runs", "/f1", "/f0/%ff"] {
            assert_eq!(path(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_form_and_a_cookie_are_read() {
        let cookies = [("cookie", "other=1; grove=abc; x"), ("last-event-id", "7")];
        let parts = parts(Method::POST, "/f0/do?run=r&run=s", &cookies);
        let asked = Asked::read(&parts, b"text=a+b%0Ac&empty=&=x&bad=%zz", "f0").unwrap();
        assert_eq!(asked.cookie.as_deref(), Some("abc"));
        assert_eq!(asked.form.get("text"), Some("a b\nc"));
        assert_eq!(
            (asked.form.get("empty"), asked.form.said("empty")),
            (Some(""), None)
        );
        assert_eq!(
            (asked.form.get("bad"), asked.query.get("run")),
            (None, Some("r"))
        );
        assert_eq!((asked.last_event, asked.is_post), (Some(7), true));
    }
}
