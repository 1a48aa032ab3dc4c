//! The library on the page: what each host shows, the catalog, and what is trusted.

use grove_testkit::browser::{Browser, BrowserLook};
use grove_testkit::model_server::Reply;
use grove_testkit::needs;
use serde_json::json;

use super::{ServedPage, model, page_of, scene};
use crate::run_sessions::worktrees::git;

#[test]
fn the_library_shows_what_hosts_show_and_trusts_exactly_what_was_shown() {
    needs![Chromium, Node, Playwright, Axe];
    let server = model(|_, _, _| Reply::text("Done."));
    let session = scene(&server);
    session.dir("home/.claude");
    session.skill(
        "home/.agents/skills/mending",
        "mending",
        "Mends broken fences.",
    );
    session.skill("home/.claude/skills/baking", "baking", "Bakes bread.");
    git(&session, "init -q -b main");
    session.skill("project/.agents/skills/ours", "ours", "Ours at first.");
    let served = ServedPage::start(&session, &[]);
    let library = format!("{}/library", served.base());
    let browser = Browser::start();
    let page = page_of(&browser.person(BrowserLook::default()), &served.link);
    page.click("nav >> text=Library");
    page.wait("table", "Claude Code");
    let of = |name: &str| page.text(&format!(".skills li:has(b:text-is('{name}'))"));
    let mending = of("mending");
    assert!(mending.contains("whole in Grove"), "{mending}");
    assert!(mending.contains("missing in Claude Code"), "{mending}");
    assert!(of("baking").contains("Claude Code"), "{}", of("baking"));
    assert!(
        page.text("details:has-text('As a model reads it') pre")
            .contains("<name>mending</name>")
    );

    // What a search finds is what `grove skills search` finds.
    page.fill("input[name=q]", "fences");
    page.click("text=Show");
    page.wait("h2", "Found");
    assert!(page.text(".skills").contains("mending"));

    // A smaller budget leaves less of the catalog, and says so.
    page.open(&format!("{library}?budget=0"));
    page.wait("p", "of 0 tokens");

    // Nothing of the project is used until it is trusted, as it is shown.
    page.open(&library);
    page.wait(".trust", ".agents/skills/ours/SKILL.md");
    let is_used = || {
        let listed = session.json("skills list --all");
        let skills = listed["skills"].as_array().unwrap().clone();
        let ours = skills.into_iter().find(|skill| skill["name"] == "ours");
        ours.is_some_and(|skill| skill["state"] == "ok")
    };
    assert!(!is_used());
    page.click("text=Trust it as it is shown here");
    page.gone(".trust");
    assert!(is_used());

    // A change is shown beside what was trusted; one that came after is not trusted with it.
    session.skill("project/.agents/skills/ours", "ours", "Ours, changed.");
    page.open(&library);
    page.wait(".sides .del", "Ours at first.");
    page.wait(".sides .add", "Ours, changed.");
    session.skill(
        "project/.agents/skills/ours",
        "ours",
        "Ours, changed behind the back.",
    );
    page.click("text=Trust it as it is shown here");
    page.wait(".refused", "the files have changed since they were shown");
    assert!(!is_used());

    for (dark, width) in [(false, 400), (true, 1_400)] {
        let look = BrowserLook {
            dark,
            width,
            ..BrowserLook::default()
        };
        let page = page_of(
            &browser.person(look),
            &super::another_link(&session, "--read"),
        );
        assert_eq!(page.open(&library), 200);
        assert_eq!(page.serious_findings(), Vec::<String>::new());
        let wide = page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{wide} pixels too wide");
        // A link that may only read shows no button.
        let buttons = page.evaluate("document.querySelectorAll('.trust button').length");
        assert_eq!(buttons, json!(0));
    }
}
