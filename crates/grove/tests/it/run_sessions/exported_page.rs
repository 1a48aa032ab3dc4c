//! A run as one page: everything that happened is on it, nothing on it is markup of anybody else, and a file is not
//! replaced unasked.

use grove_testkit::hostile;
use grove_testkit::model_server::{ModelServer, Reply, Script, ScriptedReply};

use super::{AGENT, KEY, bash, run, scene, server};

/// All texts of the hostile corpus, each cut.
fn corpus() -> String {
    let mut all = String::new();
    for content in hostile::contents().unwrap() {
        let text = String::from_utf8_lossy(&content[..content.len().min(400)]);
        all.push_str(&text);
        all.push('\n');
    }
    assert!(all.len() > 10_000, "{}", all.len());
    all
}

const HOSTILE: &str = "</pre></details><script>alert(1)</script><img src=x onerror=\"alert(2)\">";

/// Every tag of a page is one that pages have.
fn assert_no_foreign_markup(page: &str) {
    const KNOWN: [&str; 43] = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "nav",
        "header",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "ul",
        "ol",
        "li",
        "b",
        "em",
        "strong",
        "small",
        "span",
        "div",
        "a",
        "svg",
        "rect",
        "polygon",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "pre",
        "code",
        "blockquote",
        "hr",
        "s",
        "del",
    ];
    for part in page.split('<').skip(1) {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || "!/".contains(c)));
        let name = part[..end.unwrap_or(part.len())].trim_start_matches('/');
        assert!(KNOWN.contains(&name) || name == "br", "<{part}");
    }
}

#[test]
fn everything_is_on_the_page_and_nothing_of_it_is_markup() {
    let corpus = corpus();
    let answer = format!("{HOSTILE}\n{corpus}");
    let server = server(vec![
        bash(&format!(
            "echo '{HOSTILE}'; echo key $ANTHROPIC_API_KEY; cat odd.md"
        )),
        Reply::text(answer),
    ]);
    let session = scene(&server);
    session.skill("home/.agents/skills/odd", "odd", "Odd things");
    session.definition(AGENT, "tools: read, bash\nskills: odd\n", HOSTILE);
    session.file("project/odd.md", &corpus);
    let task = format!("Look at {HOSTILE}");
    session.grove(run(&task, &[])).ok();
    let listed = session.json("runs list");
    let id = listed["runs"][0]["id"].as_str().unwrap();
    let said = session
        .grove(["runs", "export", id, "--output", "run.html"])
        .ok();
    assert!(said.stdout.ends_with("run.html\n"), "{}", said.stdout);
    let page = session.read("project/run.html");
    assert_no_foreign_markup(&page);
    for text in [
        "Content-Security-Policy",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "skill odd",
        ".agents/skills/odd/SKILL.md",
        "agent worker",
        "boundary",
        "<h3>What it was told</h3>",
        "<h3>What it did</h3>",
        "<h2>Ledger</h2>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains(KEY), "the key is on the page");
    assert!(page.len() < 2 << 20, "{}", page.len());
    // The same as data.
    let data = session.json(["runs", "export", id]);
    assert_eq!(data["schema"], "grove.export/2");
    let parts = data["children"][0]["told"]["parts"].as_array().unwrap();
    let kinds: Vec<&str> = parts
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["skill", "agent", "boundary"]);
    let of_agent = &parts[1]["text"]["text"];
    assert_eq!(of_agent.as_str().unwrap().trim(), HOSTILE);
    let done = data["children"][0]["done"].as_array().unwrap();
    let tools: Vec<&str> = done.iter().filter_map(|it| it["tool"].as_str()).collect();
    assert_eq!(tools, ["bash"]);
    // Parts are the whole of what was told, and each stands where it is said to be.
    let told = session.json(["prompt", "--run", id]);
    let system = told["system"].as_str().unwrap();
    let mut left = system.to_owned();
    for part in told["parts"].as_array().unwrap().iter().rev() {
        let at = usize::try_from(part["at"].as_u64().unwrap()).unwrap();
        let bytes = usize::try_from(part["bytes"].as_u64().unwrap()).unwrap();
        left.replace_range(at..at + bytes, "");
    }
    assert_eq!(left.trim(), "", "{left}");
}

#[test]
fn a_file_is_not_replaced_unasked() {
    let server = server(vec![Reply::text("Done.")]);
    let session = scene(&server);
    session.grove(run("Look", &[])).ok();
    let id = session.json("runs list")["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    session.file("project/mine.html", "mine");
    let words = ["runs", "export", &id, "--output", "mine.html"];
    let refused = session.grove(words);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    refused.says(["add --yes"]);
    assert_eq!(session.read("project/mine.html"), "mine");
    session.grove([&words[..], &["--yes"]].concat()).ok();
    assert!(
        session
            .read("project/mine.html")
            .starts_with("<!doctype html>")
    );
    // Without a name it has the name of the run.
    session.grove(["runs", "export", &id]).ok();
    assert!(session.has(format!("project/grove-run-{id}.html")));
    session.dir("project/folder");
    let refused = session.grove(["runs", "export", &id, "--output", "folder", "--yes"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn what_has_no_room_is_said() {
    let long = ScriptedReply {
        text: Some("A line of words that is said again and again.\n".to_owned()),
        repeat: 2_000,
        ..ScriptedReply::default()
    };
    let server = ModelServer::start(Script::replies([long])).unwrap();
    let session = scene(&server);
    session.grove(run("Talk", &[])).ok();
    let id = session.json("runs list")["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let said = session.grove(["runs", "export", &id]).ok();
    said.says(["left out: the ends of"]);
    let page = session.read(format!("project/grove-run-{id}.html"));
    assert!(page.contains("Left out: the ends of"), "it is on the page");
    assert!(page.contains("cut: 16,3"), "and where it is cut");
}
