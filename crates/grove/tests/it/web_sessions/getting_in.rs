//! Who gets in, as a table: links, cookies, hosts, origins and rights, over plain connections.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use grove_testkit::model_server::Reply;

use super::{ServedPage, another_link, model, scene};

/// An answer: its status, its head and its body.
struct Answered {
    status: u16,
    head: String,
    body: String,
}

impl Answered {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn cookie(&self) -> String {
        let set = self.header("set-cookie").unwrap();
        set.split(';').next().unwrap().to_owned()
    }
}

/// A request as it is written.
fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answered {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    let own = format!("127.0.0.1:{port}");
    if !headers.iter().any(|(name, _)| *name == "host") {
        let _ = write!(request, "host: {own}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    let _ = write!(request, "content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Answered {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// The path of a link.
fn path_of(link: &str) -> String {
    let rest = link.strip_prefix("http://127.0.0.1:").unwrap();
    format!("/{}", rest.split_once('/').unwrap().1)
}

#[test]
fn a_link_gives_one_browser_a_cookie_and_everybody_else_is_told_why_not() {
    let server = model(|_, _, _| Reply::text("Done."));
    let session = scene(&server);
    let served = ServedPage::start(&session, &[]);
    let (port, base) = (served.port(), path_of(&served.base()));
    let link = path_of(&served.link);
    let evil = ("origin", "http://evil.example");
    let other_port = format!("http://127.0.0.1:{}", port ^ 1);
    // Nothing of this uses the link up.
    for (path, headers, status, words) in [
        (
            link.as_str(),
            &[("host", "evil.example")][..],
            421,
            "for this machine alone",
        ),
        (
            &link,
            &[("host", "127.0.0.1")],
            421,
            "for this machine alone",
        ),
        (&link, &[evil], 403, "a page of http://evil.example"),
        (
            &link,
            &[("origin", &other_port)],
            403,
            "only the page itself may",
        ),
        (
            &link,
            &[("origin", "null")],
            403,
            "only the page itself may",
        ),
        (
            &link,
            &[
                ("sec-fetch-site", "same-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            403,
            "another site or port",
        ),
        ("/", &[], 404, "open the link"),
        ("/runs", &[], 404, "open the link"),
        (&format!("{base}/"), &[], 401, "not known here"),
        (&format!("{base}/events"), &[], 401, "not known here"),
        (&format!("{base}/page.css"), &[], 401, "not known here"),
        (
            &format!("{base}/"),
            &[("cookie", "grove=0123")],
            401,
            "not known here",
        ),
        (
            &format!("{base}/in/0123/"),
            &[],
            403,
            "`grove web link` prints another",
        ),
    ] {
        let answer = ask(port, "GET", path, headers, "");
        assert_eq!(answer.status, status, "{path} {headers:?}: {}", answer.body);
        assert!(
            answer.body.contains(words),
            "{path} {headers:?}: {}",
            answer.body
        );
        assert!(answer.header("set-cookie").is_none(), "{path} {headers:?}");
    }
    let let_in = ask(port, "GET", &link, &[], "");
    assert_eq!(let_in.status, 303);
    assert_eq!(let_in.header("location"), Some(format!("{base}/").as_str()));
    let set = let_in.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", &format!("Path={base};")] {
        assert!(set.contains(part), "{set}");
    }
    let cookie = let_in.cookie();
    let known = [("cookie", cookie.as_str())];
    assert_eq!(
        ask(port, "GET", &format!("{base}/"), &known, "").status,
        200
    );
    // A used link leads to the page for the browser that has a cookie, and is refused without.
    assert_eq!(ask(port, "GET", &link, &known, "").status, 303);
    let again = ask(port, "GET", &link, &[], "");
    assert_eq!(again.status, 403, "{}", again.body);
    assert!(again.body.contains("was used"), "{}", again.body);
    // The link may lead to any page.
    let another = path_of(&another_link(&session, ""));
    let led = ask(port, "GET", &format!("{another}runs/x%2Fy"), &[], "");
    assert_eq!(
        led.header("location"),
        Some(format!("{base}/runs/x%2Fy").as_str())
    );
    let policy = ask(port, "GET", &format!("{base}/"), &known, "");
    let policy = policy.header("content-security-policy").unwrap().to_owned();
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("default-src 'none'"), "{policy}");
}

#[test]
fn a_form_needs_its_own_token_and_a_link_may_carry_less() {
    let server = model(|_, _, _| Reply::text("Done."));
    let session = scene(&server);
    session
        .grove(["run", "worker", "Look", "--model", "anthropic/m"])
        .ok();
    let id = session.json("runs list")["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let served = ServedPage::start(&session, &[]);
    let (port, base) = (served.port(), path_of(&served.base()));
    let cookie = |link: &str| ask(port, "GET", &path_of(link), &[], "").cookie();
    let all = cookie(&served.link);
    let reading = cookie(&another_link(&session, "--read"));
    let answering = cookie(&another_link(&session, "--answer"));
    let child = format!("{base}/runs/{id}/children/1");
    let page = |cookie: &str| ask(port, "GET", &child, &[("cookie", cookie)], "");
    // The page offers only what may be done.
    let whole = page(&all);
    assert_eq!(whole.status, 200, "{}", whole.body);
    assert!(whole.body.contains("/do/resume"), "{}", whole.body);
    for narrow in [&reading, &answering] {
        let page = page(narrow);
        assert_eq!(page.status, 200);
        assert!(!page.body.contains("/do/"), "{}", page.body);
        let start = ask(
            port,
            "GET",
            &format!("{base}/start"),
            &[("cookie", narrow)],
            "",
        );
        assert_eq!(start.status, 403, "{}", start.body);
    }
    let at = whole.body.find("/do/resume").unwrap();
    let token = whole.body[at..]
        .split("name=\"token\" value=\"")
        .nth(1)
        .unwrap();
    let token = token.split('"').next().unwrap();
    let form = |token: &str, about: &str| format!("token={token}&about={about}&text=go");
    let resume = format!("{base}/do/resume");
    let own = format!("{id}.1");
    let no_origin: &[(&str, &str)] = &[];
    let foreign: &[(&str, &str)] = &[("origin", "http://evil.example")];
    for (path, cookie, headers, form, status, words) in [
        (
            &resume,
            &all,
            no_origin,
            form("", &own),
            403,
            "not from this page",
        ),
        (
            &resume,
            &all,
            no_origin,
            form("00", &own),
            403,
            "not from this page",
        ),
        (
            &resume,
            &all,
            no_origin,
            form(token, &format!("{id}.2")),
            403,
            "not from this page",
        ),
        (
            &format!("{base}/do/stop"),
            &all,
            no_origin,
            form(token, &own),
            403,
            "not from this page",
        ),
        (
            &resume,
            &reading,
            no_origin,
            form(token, &own),
            403,
            "not from this page",
        ),
        (
            &resume,
            &all,
            foreign,
            form(token, &own),
            403,
            "only the page itself",
        ),
        (
            &resume,
            &"grove=x".to_owned(),
            no_origin,
            form(token, &own),
            401,
            "not known here",
        ),
    ] {
        let mut headers = headers.to_vec();
        headers.push(("cookie", cookie));
        let answer = ask(port, "POST", path, &headers, &form);
        assert_eq!(answer.status, status, "{path} {form}: {}", answer.body);
        assert!(
            answer.body.contains(words),
            "{path} {form}: {}",
            answer.body
        );
    }
    assert_eq!(server.requests().len(), 1, "nothing was done");
    let done = ask(
        port,
        "POST",
        &resume,
        &[("cookie", &all)],
        &form(token, &own),
    );
    assert_eq!(done.status, 303, "{}", done.body);
    session.grove(["runs", "wait", &id]).ok();
    assert_eq!(server.requests().len(), 2);
    // The record says where the person was.
    session
        .grove(["runs", "logs", &id])
        .ok()
        .prints(["the page asked 1 to continue"]);
}

#[test]
fn another_port_makes_browsers_strangers_and_the_same_port_does_not() {
    let server = model(|_, _, _| Reply::text("Done."));
    let session = scene(&server);
    let served = ServedPage::start(&session, &[]);
    let (port, base) = (served.port(), path_of(&served.base()));
    let cookie = ask(port, "GET", &path_of(&served.link), &[], "").cookie();
    let known = [("cookie", cookie.as_str())];
    // A second one prints a link to the first.
    let second = session.grove("web --no-open").ok();
    assert!(
        second.stdout.starts_with(&served.base()),
        "{}",
        second.stdout
    );
    served.kill();
    session
        .grove("web link")
        .fails(1)
        .says(["is not being served"]);
    let served = ServedPage::start(&session, &[]);
    assert_eq!(served.port(), port);
    assert_eq!(
        ask(port, "GET", &format!("{base}/"), &known, "").status,
        200
    );
    served.kill();
    let squatter = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let served = ServedPage::start(&session, &[]);
    assert_ne!(served.port(), port);
    let new_base = path_of(&served.base());
    assert_ne!(new_base, base);
    let refused = ask(served.port(), "GET", &format!("{new_base}/"), &known, "");
    assert_eq!(refused.status, 401, "{}", refused.body);
    drop(squatter);
}
