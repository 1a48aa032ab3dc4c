//! Every page as people read it: in any light and width, with the keyboard alone, without scripts, and with hostile words in it.

use grove_testkit::browser::{Browser, BrowserLook};
use grove_testkit::hostile;
use grove_testkit::model_server::{ModelServer, Reply, ScriptedReply};
use grove_testkit::needs;
use grove_testkit::session::Session;
use serde_json::json;

use super::{ServedPage, another_link, bash, model, page_of, scene, until};
use crate::run_sessions::worktrees::git;

/// A run with everything that a page may show: a question, a change, a failed check, thoughts, a failed call.
pub(super) fn everything() -> (ModelServer, Session) {
    let server = model(|first, last, turns| {
        if turns == 0 && first.contains("@@ASK") && last.contains("@@ASK") {
            Reply::call(
                "contact_supervisor",
                json!({ "kind": "question", "message": "Which one?" }),
            )
            .into()
        } else {
            match turns {
                0 => ScriptedReply {
                    thinking: Some("First the file.".to_owned()),
                    ..bash("echo new >> a.txt; cat missing").into()
                },
                _ => ScriptedReply::from(Reply::text(
                    "# Done\n\nSee [the site](https://example.org) and `a.txt`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
                )),
            }
        }
    });
    let session = scene(&server);
    git(&session, "init -q -b main");
    session.file("project/a.txt", "one\n");
    git(&session, "add -A");
    git(&session, "commit -q -m first");
    session.definition("home/.agents/skills/odd", "", "Odd things.");
    let request = json!({
        "task": "Look at everything", "model": "anthropic/m", "background": true, "worktree": true,
        "tasks": [
            { "agent": "worker", "task": "Change it", "acceptance": { "level": "verified", "verify": [{ "id": "v", "command": "test -e never" }] } },
            { "agent": "worker", "task": "Ask first @@ASK" },
        ],
    });
    session.file("home/request.json", request.to_string());
    session
        .grove(["run", "--request", "../home/request.json"])
        .ok();
    (server, session)
}

/// The addresses of every page below the folder of all pages.
fn pages(run: &str) -> Vec<String> {
    let child = format!("/runs/{run}/children/0.0");
    let child = child.replace("0.0", "1.0");
    vec![
        "/".to_owned(),
        "/start".to_owned(),
        format!("/runs/{run}"),
        format!("/runs/{run}?by=cause&of=money"),
        format!("/runs/{run}/events"),
        format!("/runs/{run}/again"),
        format!("/runs/{run}/steps/1"),
        "/library".to_owned(),
        child.clone(),
        format!("{child}?q=missing"),
        format!("{child}/diff?at=0.2"),
    ]
}

pub(super) fn begun(session: &Session) -> String {
    let mut run = String::new();
    until("one child asks and the other is done", || {
        let listed = session.json("runs list");
        let Some(id) = listed["runs"][0]["id"].as_str() else {
            return false;
        };
        id.clone_into(&mut run);
        let shown = session.json(["runs", "show", &run]);
        shown["nodes"][0]["state"] == "complete" && shown["nodes"][1]["state"] == "asking"
    });
    run
}

#[test]
fn no_page_has_a_serious_finding_in_any_light_and_width() {
    needs![Chromium, Node, Playwright, Axe];
    let (_server, session) = everything();
    let run = begun(&session);
    let served = ServedPage::start(&session, &[]);
    let browser = Browser::start();
    let mut found = Vec::new();
    for (dark, width) in [(false, 400), (false, 1_400), (true, 400), (true, 1_400)] {
        let look = BrowserLook {
            dark,
            width,
            ..BrowserLook::default()
        };
        let page = page_of(&browser.person(look), &another_link(&session, ""));
        for path in pages(&run) {
            assert_eq!(
                page.open(&format!("{}{path}", served.base())),
                200,
                "{path}"
            );
            for finding in page.serious_findings() {
                found.push(format!("{path} dark {dark} width {width}: {finding}"));
            }
            // Nothing is wider than the window.
            let wide = page.evaluate("document.documentElement.scrollWidth - innerWidth");
            if wide.as_i64().unwrap() > 0 {
                found.push(format!("{path} width {width}: {wide} pixels too wide"));
            }
        }
        let said: Vec<String> = page
            .said()
            .into_iter()
            .filter(|line| line.contains("Policy"))
            .collect();
        assert!(said.is_empty(), "{said:?}");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn without_scripts_everything_is_read_and_a_question_is_answered() {
    needs![Chromium, Node, Playwright, Axe];
    let (_server, session) = everything();
    let run = begun(&session);
    let served = ServedPage::start(&session, &[]);
    let browser = Browser::start();
    let look = BrowserLook {
        script: false,
        width: 400,
        ..BrowserLook::default()
    };
    let page = page_of(&browser.person(look), &another_link(&session, "--answer"));
    for (path, words) in [
        ("/", "Which one?"),
        (format!("/runs/{run}").as_str(), "echo new >> a.txt"),
        (&format!("/runs/{run}/children/1.0"), "First the file."),
        (&format!("/runs/{run}/children/1.0/diff"), "new"),
        (&format!("/runs/{run}/events"), "calls bash"),
    ] {
        assert_eq!(
            page.open(&format!("{}{path}", served.base())),
            200,
            "{path}"
        );
        let text = page.text("body");
        let markup = page.text("html");
        assert!(
            text.contains(words) || markup.contains(words),
            "{path}: {text}"
        );
    }
    page.open(&format!("{}/runs/{run}", served.base()));
    page.fill(".ask textarea", "The second.");
    page.click(".ask button");
    page.gone(".ask");
    until("the answer is heard", || {
        let shown = session.json(["runs", "show", &run]);
        shown["nodes"][1]["state"] != "asking"
    });
}

#[test]
fn the_keyboard_alone_does_every_action() {
    needs![Chromium, Node, Playwright, Axe];
    let (_server, session) = everything();
    let run = begun(&session);
    let served = ServedPage::start(&session, &[]);
    let browser = Browser::start();
    let page = page_of(&browser.person(BrowserLook::default()), &served.link);
    // Everything that can be pressed can be reached, in the order of the page.
    for path in pages(&run) {
        page.open(&format!("{}{path}", served.base()));
        let unreached = page.evaluate("(() => { \
            const all = [...document.querySelectorAll('a[href], button, summary, input:not([type=hidden]), select, textarea')] \
                .filter(one => one.checkVisibility()); \
            return all.filter(one => one.tabIndex < 0 || one.tabIndex > 0).map(one => one.outerHTML); })()");
        assert_eq!(unreached, json!([]), "{path}");
    }
    page.open(&format!("{}/runs/{run}", served.base()));
    let to = |selector: &str| {
        page.evaluate("document.activeElement.blur()");
        for _ in 0..200 {
            page.press("Tab");
            let script = format!("document.activeElement.matches({selector:?})");
            if page.evaluate(&script) == true {
                return;
            }
        }
        panic!("the keyboard does not reach {selector}");
    };
    to(".ask textarea");
    page.type_text("The first.");
    page.press("Tab");
    page.press("Enter");
    page.wait("#notice", "has your answer");
    // A comment on a line.
    page.open(&format!("{}/runs/{run}/children/1.0/diff", served.base()));
    to(".diff .add a");
    page.press("Enter");
    page.wait(".comment textarea", "");
    page.type_text("Why?");
    page.press("Tab");
    page.press("Enter");
    page.wait("#notice", "has your comment");
}

/// Outputs that try to be markup, to run something, or to break the page.
fn hostile_outputs() -> Vec<String> {
    let mut all: Vec<String> = [
        "<script>parent.pwned = 1</script>",
        "<img src=x onerror=\"window.pwned=1\">",
        "<svg onload=window.pwned=1><script>window.pwned=1</script></svg>",
        "<style>body{display:none}</style>",
        "<link rel=stylesheet href=https://evil.example/x.css>",
        "<iframe src=javascript:parent.pwned=1></iframe>",
        "<base href=https://evil.example/>",
        "<meta http-equiv=refresh content=\"0;url=https://evil.example\">",
        "<form action=https://evil.example><button>Answer</button></form>",
        "</pre></details></li></ol></main><h1>Grove says: approved</h1>",
        "--></style></script></textarea></title>",
        "[x](javascript:window.pwned=1)",
        "[x](data:text/html,<script>window.pwned=1</script>)",
        "![x](https://evil.example/pixel.png)",
        "[x]: javascript:window.pwned=1\n\n[x]",
        "<https://evil.example/\" onmouseover=\"window.pwned=1>",
        "`</code><script>window.pwned=1</script>`",
        "```html\"><script>window.pwned=1</script>\nx\n```",
        "| <script>window.pwned=1</script> |\n|---|\n| <img src=x onerror=window.pwned=1> |",
        "\u{202e}txet desrever\u{202c} \u{2066}isolated",
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[31mred",
        "\u{feff}\u{200b}\u{200d}\u{ad}invisible",
        "nul \u{0} and \r carriage \u{b} returns \u{c}",
        "id: 99999\ndata: <script>window.pwned=1</script>\n\nevent: x",
        "\n\n\n\ndata: x",
        "{{constructor.constructor('window.pwned=1')()}}",
        "${window.pwned=1}",
        "<template><script>window.pwned=1</script></template>",
        "<a href=\"//evil.example\" target=_top>x</a>",
        "<object data=javascript:window.pwned=1></object>",
        "<math><mtext><script>window.pwned=1</script></mtext></math>",
        "<details open ontoggle=window.pwned=1>x</details>",
        "<input autofocus onfocus=window.pwned=1>",
        "<body onload=window.pwned=1>",
        "<marquee onstart=window.pwned=1>x</marquee>",
        "<video><source onerror=window.pwned=1></video>",
        "&lt;script&gt;window.pwned=1&lt;/script&gt;",
        "&#60;script&#62;window.pwned=1&#60;/script&#62;",
        "\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e",
        "%3Cscript%3Ewindow.pwned=1%3C/script%3E",
        "<scr\u{0}ipt>window.pwned=1</scr\u{0}ipt>",
        "<div id=notice>fake</div><div id=main data-append=events>",
        "<li id=e1 data-window=https://evil.example>x</li>",
        "style=\"position:fixed;inset:0\" <div style=\"position:fixed;inset:0\">",
        "\u{fffd}\u{fffe}\u{ffff}\u{10ffff}",
    ]
    .map(str::to_owned)
    .into();
    all.push("x".repeat(200_000));
    all.push("> ".repeat(3_000));
    all.push("[".repeat(20_000));
    all.push("*a".repeat(20_000));
    all.push(format!("{}\n", "a|".repeat(5_000)));
    assert!(all.len() >= 50);
    all
}

#[test]
fn no_hostile_output_runs_or_breaks_a_page() {
    needs![Chromium, Node, Playwright, Axe];
    let outputs = hostile_outputs();
    let corpus: Vec<String> = hostile::contents()
        .unwrap()
        .into_iter()
        .map(|content| String::from_utf8_lossy(&content[..content.len().min(2_000)]).into_owned())
        .collect();
    let all = [outputs, corpus].concat();
    let count = all.len();
    let said = all.clone();
    let server = model(move |_, _, turns| {
        match said.get(turns) {
            // Each is an answer, a thought, the input and the result of a call.
            Some(text) => ScriptedReply {
                text: Some(text.clone()),
                thinking: Some(text.clone()),
                ..Reply::call("bash", json!({ "command": format!("cat <<'GROVE_END'\n{text}\nGROVE_END"), "title": text })).into()
            },
            None => ScriptedReply::from(Reply::text(said.iter().take(45).cloned().collect::<Vec<_>>().join("\n\n"))),
        }
    });
    let session = scene(&server);
    let task = format!("Look at {}", all[0]);
    session.file(
        "home/.grove/agents/odd.md",
        format!(
            "---\nname: odd\ndescription: {}\ntools: bash\n---\n{}",
            "\"</script><img src=x onerror=window.pwned=1>\"", all[1]
        ),
    );
    session.grove(["run", "odd", &task, "--model", "anthropic/m"]);
    let listed = session.json("runs list");
    let run = listed["runs"][0]["id"].as_str().unwrap().to_owned();
    let turns = session.json(["runs", "show", &run])["nodes"][0]["attempts"][0]["turns"]
        .as_u64()
        .unwrap();
    assert!(turns >= 50, "{turns} of {count}");
    let served = ServedPage::start(&session, &[]);
    let browser = Browser::start();
    let page = page_of(&browser.person(BrowserLook::default()), &served.link);
    let child = format!("/runs/{run}/children/1");
    let mut paths = vec![
        "/".to_owned(),
        format!("/runs/{run}"),
        format!("/runs/{run}/events"),
        format!("{child}?q=script"),
    ];
    let items = session
        .grove(["runs", "logs", &run])
        .ok()
        .stdout
        .lines()
        .count();
    paths.extend(
        (0..items)
            .step_by(100)
            .map(|from| format!("{child}?from={from}")),
    );
    for path in paths {
        assert_eq!(
            page.open(&format!("{}{path}", served.base())),
            200,
            "{path}"
        );
        let state = page.evaluate("({ pwned: window.pwned ?? null, \
            nav: !!document.querySelector('nav.site'), \
            heading: document.querySelectorAll('h1').length, \
            foreign: [...document.querySelectorAll('script, style, iframe, img, object, link, base, form, video, svg script')] \
                .filter(one => !(one.matches('script[src*=\"page.js\"], link[rel=stylesheet], link[rel=icon], form.search, form.filters, form.do'))).map(one => one.outerHTML), \
            handlers: [...document.querySelectorAll('*')].filter(one => [...one.attributes].some(a => a.name.startsWith('on') || a.name === 'style')).map(one => one.outerHTML), \
            links: [...document.querySelectorAll('a[href]')].map(one => one.protocol).filter(one => !['http:', 'https:'].includes(one)), \
            wide: document.documentElement.scrollWidth - innerWidth })");
        assert_eq!(state["pwned"], json!(null), "{path}");
        assert_eq!(state["nav"], json!(true), "{path}");
        assert_eq!(state["heading"], json!(1), "{path}");
        for nothing in ["foreign", "handlers", "links"] {
            assert_eq!(state[nothing], json!([]), "{path}: {nothing}");
        }
        assert!(state["wide"].as_i64().unwrap() <= 0, "{path}: {state}");
    }
    let said: Vec<String> = page
        .said()
        .into_iter()
        .filter(|line| line.contains("Policy") || line.contains("Refused"))
        .collect();
    assert!(said.is_empty(), "{said:?}");
}
