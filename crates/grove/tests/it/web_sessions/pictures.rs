//! Pictures of the pages, light and dark, narrow and wide, for people to look at.

use std::path::PathBuf;

use grove_testkit::browser::{Browser, BrowserLook};
use grove_testkit::needs;

use super::reading::{begun, everything};
use super::{ServedPage, another_link, page_of};

#[test]
#[ignore = "`cargo xtask look` makes the pictures"]
fn every_page_has_its_picture() {
    needs![Chromium, Node, Playwright, Axe];
    let folder = PathBuf::from(std::env::var_os("GROVE_LOOK").unwrap());
    let (_server, session) = everything();
    session.dir("home/.claude");
    let run = begun(&session);
    session.skill("project/.agents/skills/ours", "ours", "Ours at first.");
    session.grove("trust --yes").ok();
    session.skill("project/.agents/skills/ours", "ours", "Ours, changed.");
    let served = ServedPage::start(&session, &[]);
    let browser = Browser::start();
    let child = format!("/runs/{run}/children/1.0");
    let pages = [
        ("list", "/".to_owned()),
        ("run", format!("/runs/{run}")),
        ("child", child.clone()),
        ("question", format!("/runs/{run}/children/1.1")),
        ("start", "/start".to_owned()),
        ("library", "/library".to_owned()),
        ("catalog", "/library?budget=50#catalog".to_owned()),
    ];
    for (dark, width) in [(false, 400), (false, 1_400), (true, 400), (true, 1_400)] {
        let look = BrowserLook {
            dark,
            width,
            ..BrowserLook::default()
        };
        let light = if dark { "dark" } else { "light" };
        let page = page_of(&browser.person(look), &another_link(&session, ""));
        let keep = |name: &str| page.picture(&folder.join(format!("{name}-{light}-{width}.png")));
        for (name, path) in &pages {
            assert_eq!(
                page.open(&format!("{}{path}", served.base())),
                200,
                "{path}"
            );
            keep(name);
        }
        page.open(&format!("{}{child}/diff", served.base()));
        page.click(".diff .add a");
        page.fill(".comment textarea", "Why is this line new?");
        keep("diff");
    }
}
