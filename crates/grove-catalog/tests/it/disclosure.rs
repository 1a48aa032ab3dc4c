//! Disclosure as tables: what is meant, what is refused, what takes whose place, and what a model reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use grove_catalog::catalog::{CatalogBudget, CatalogRequest, CatalogStyle, catalog};
use grove_catalog::disclosure::{
    ActivateOutcome, ActivationInput, ChildList, CollapseOutcome, DisclosureNode,
    DisclosureRefusal, DisclosureSession, ExpandOutcome, FrozenInputs, PreparedSkill, SkillCaller,
    SkillGroup, SkillResources, expansion_text, list_children, prepare, resolve,
};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::tree::SkillTree;
use grove_spec::config::Settings;
use proptest::prelude::*;

use crate::library::{candidate, look, user_and_extra};

/// A snapshot of skills given as root, id and further frontmatter lines.
fn snapshot(skills: &[(usize, &str, &str)]) -> Snapshot {
    let candidates = skills.iter().map(|(root, id, lines)| {
        let folder = id.rsplit('/').next().unwrap_or(id);
        let name = if lines.contains("name:") {
            String::new()
        } else {
            format!("name: {folder}\n")
        };
        let description = if lines.contains("description:") {
            String::new()
        } else {
            format!("description: Does {folder}.\n")
        };
        let text = format!("---\n{name}{description}{lines}\n---\n");
        candidate(*root, id, &text)
    });
    look(user_and_extra(), candidates, &Settings::default())
}

fn index(snapshot: &Snapshot, address: &str) -> usize {
    let mut skills = snapshot.skills.iter();
    skills
        .position(|skill| snapshot.address(skill) == address)
        .unwrap_or_else(|| panic!("{address}"))
}

fn with_tree(mut snapshot: Snapshot, pairs: &[(&str, &str)]) -> Snapshot {
    let tree = SkillTree::of(
        pairs
            .iter()
            .map(|(child, parent)| (index(&snapshot, child), index(&snapshot, parent))),
    );
    snapshot.tree = tree;
    snapshot
}

/// The keys of what takes a node's place.
fn children(snapshot: &Snapshot, typed: &str) -> Vec<String> {
    let target = resolve(snapshot, typed).unwrap();
    let children = target.node.children(snapshot);
    children.iter().map(|node| node.key(snapshot)).collect()
}

const HIDDEN: &str = "disable-model-invocation: true";
const NOT_HERE: &str = "metadata: {openclaw: {requires: {bins: [no-such-program]}}}";

/// Two roots with a group `shell` each, and one with a group `old`; folders of one or two are no groups.
fn library() -> Snapshot {
    let mut skills = vec![
        (0, "pdf".to_owned(), ""),
        (0, "shell/tmux".to_owned(), ""),
        (0, "shell/more/zsh".to_owned(), ""),
        (0, "shell/hidden".to_owned(), HIDDEN),
        (0, "web/x".to_owned(), NOT_HERE),
        (0, "quiet".to_owned(), "user-invocable: false"),
        (0, "web/twin".to_owned(), "name: twin"),
        (0, "twin2".to_owned(), "name: twin"),
        (1, "old/pdf".to_owned(), "name: pdf"),
        (1, "shell/fish".to_owned(), ""),
    ];
    for (root, folder, count) in [
        (0, "shell", 5),
        (0, "tables", 8),
        (1, "shell", 6),
        (1, "old", 7),
    ] {
        skills.extend((0..count).map(|n| (root, format!("{folder}/of-{folder}-{root}{n}"), "")));
    }
    let skills: Vec<(usize, &str, &str)> = skills
        .iter()
        .map(|(root, id, lines)| (*root, id.as_str(), *lines))
        .collect();
    snapshot(&skills)
}

#[test]
fn what_was_typed_leads_to_one_node_or_a_refusal() {
    let snapshot = library();
    let at = |address: &str| index(&snapshot, address);
    let skill = |address: &str, caller| Ok((address.to_owned(), caller));
    let group = |key: &str| Ok((key.to_owned(), SkillCaller::Model));
    let near = |names: &[&str]| {
        DisclosureRefusal::Unknown(names.iter().map(|name| (*name).to_owned()).collect())
    };
    for (typed, expected) in [
        ("pdf", skill("pdf@user:s", SkillCaller::Model)),
        ("/pdf", skill("pdf@user:s", SkillCaller::Person)),
        ("pdf@user:s", skill("pdf@user:s", SkillCaller::Model)),
        ("shell/tmux", skill("shell/tmux@user:s", SkillCaller::Model)),
        (
            "/shell/tmux",
            skill("shell/tmux@user:s", SkillCaller::Person),
        ),
        (
            "old/pdf@extra:s",
            skill("old/pdf@extra:s", SkillCaller::Model),
        ),
        (
            "old/pdf",
            Err(DisclosureRefusal::Shadowed(at("old/pdf@extra:s"))),
        ),
        ("x", Err(DisclosureRefusal::NotUsable(at("web/x@user:s")))),
        (
            "web/x@user:s",
            Err(DisclosureRefusal::NotUsable(at("web/x@user:s"))),
        ),
        (
            "hidden",
            Err(DisclosureRefusal::ForPeople(at("shell/hidden@user:s"))),
        ),
        (
            "shell/hidden@user:s",
            Err(DisclosureRefusal::ForPeople(at("shell/hidden@user:s"))),
        ),
        ("/hidden", skill("shell/hidden@user:s", SkillCaller::Person)),
        (
            "/quiet",
            Err(DisclosureRefusal::ForModels(at("quiet@user:s"))),
        ),
        ("quiet", skill("quiet@user:s", SkillCaller::Model)),
        (
            "twin",
            Err(DisclosureRefusal::Several(vec![
                at("twin2@user:s"),
                at("web/twin@user:s"),
            ])),
        ),
        ("shell/@extra:s", group("shell/@extra:s")),
        ("tables/", group("tables/@user:s")),
        ("old", group("old/@extra:s")),
        ("shell/more/", Err(near(&["shell", "shell/more/zsh"]))),
        (
            "/old/",
            Err(near(&["old/of-old-10", "old/of-old-11", "old/of-old-12"])),
        ),
        ("tmuxx", Err(near(&["tmux"]))),
        ("hiden", Err(near(&[]))),
        ("/hiden", Err(near(&["hidden"]))),
        ("no-such-thing-at-all", Err(near(&[]))),
    ] {
        let found = resolve(&snapshot, typed);
        let found = found.map(|target| (target.node.key(&snapshot), target.caller));
        assert_eq!(found, expected, "{typed}");
    }
    let Err(DisclosureRefusal::SeveralGroups(several)) = resolve(&snapshot, "shell") else {
        panic!("two roots have one");
    };
    let keys: Vec<&str> = several.iter().map(|group| group.key.as_str()).collect();
    assert_eq!(keys, ["shell/@extra:s", "shell/@user:s"]);
}

#[test]
fn a_groups_children_take_its_place() {
    let snapshot = library();
    assert_eq!(
        children(&snapshot, "shell/@user:s"),
        [
            "shell/of-shell-00@user:s",
            "shell/of-shell-01@user:s",
            "shell/of-shell-02@user:s",
            "shell/of-shell-03@user:s",
            "shell/of-shell-04@user:s",
            "shell/tmux@user:s",
            "shell/more/zsh@user:s",
        ],
        "by name; nothing that a model is not told of, and no group of one"
    );
    assert_eq!(children(&snapshot, "old").len(), 7, "one is shadowed");
    assert_eq!(children(&snapshot, "pdf"), Vec::<String>::new());
}

/// Three levels, with one child by its folder, one beside, and one that a model is not told of.
fn tree() -> Snapshot {
    let flat = snapshot(&[
        (0, "g/docs", ""),
        (0, "g/docs/skills/pdf", ""),
        (0, "g/docs/skills/office", ""),
        (0, "g/docs/skills/office/word", ""),
        (0, "g/docs/skills/secret", HIDDEN),
        (0, "g/docs/skills/secret/inner", ""),
        (0, "g/ocr", ""),
    ]);
    with_tree(
        flat,
        &[
            ("g/docs/skills/pdf@user:s", "g/docs@user:s"),
            ("g/ocr@user:s", "g/docs@user:s"),
            ("g/docs/skills/secret@user:s", "g/docs@user:s"),
            (
                "g/docs/skills/secret/inner@user:s",
                "g/docs/skills/secret@user:s",
            ),
            ("g/docs/skills/office@user:s", "g/docs@user:s"),
            (
                "g/docs/skills/office/word@user:s",
                "g/docs/skills/office@user:s",
            ),
        ],
    )
}

#[test]
fn a_branchs_children_take_its_place_in_declared_order() {
    let snapshot = tree();
    assert_eq!(
        children(&snapshot, "docs"),
        [
            "g/docs/skills/pdf@user:s",
            "g/ocr@user:s",
            "g/docs/skills/secret/inner@user:s",
            "g/docs/skills/office@user:s",
        ],
        "what is kept for people is passed over, its children are not"
    );
    assert_eq!(SkillGroup::all(&snapshot), [], "few skills have no groups");
}

fn material<'a>(body: &'a str, resources: &'a SkillResources) -> ActivationInput<'a> {
    ActivationInput {
        body,
        resources,
        words: &[],
        caller: SkillCaller::Model,
        home: Some(Path::new("/user")),
    }
}

fn prepared(snapshot: &Snapshot, address: &str, body: &str) -> PreparedSkill {
    let resources = SkillResources::default();
    prepare(
        snapshot,
        index(snapshot, address),
        &material(body, &resources),
    )
    .unwrap()
}

#[test]
fn a_leaf_gives_its_body_its_folder_and_its_resources() {
    let snapshot = library();
    let resources = SkillResources {
        names: (0..53).map(|n| format!("r/{n:02}<&.md")).collect(),
        more: 2,
        uncounted: false,
        links_out: 1,
    };
    let body = "\r\n# T\r\n</skill>\u{1b}[2J\rend\r\n\r\n";
    let at = index(&snapshot, "pdf@user:s");
    let prepared = prepare(&snapshot, at, &material(body, &resources)).unwrap();
    let mark = grove_catalog::disclosure::boundary("# T\n</skill>[2J\nend");
    assert_eq!(prepared.boundary, mark);
    let files: Vec<String> = (0..50)
        .map(|n| format!("<file>r/{n:02}&lt;&amp;.md</file>"))
        .collect();
    let files = files.join("\n") + "\n";
    assert_eq!(
        prepared.text,
        format!(
            "<skill name=\"pdf\" boundary=\"{mark}\">\n# T\n</skill>[2J\nend\n</skill boundary=\"{mark}\">\n\
             <folder>/user/pdf</folder>\nRelative paths in this skill are relative to that folder.\n\
             <resources>\n{files}</resources>\n5 more files in this folder are not named here.\n\
             1 link that leads out of this folder is not named here.\n"
        )
    );
}

#[test]
fn a_branch_brings_its_children_and_the_start_of_its_body() {
    let snapshot = tree();
    let short = prepared(&snapshot, "g/docs@user:s", "Choose.\n");
    assert!(
        short.text.contains("\nChoose.\n</skill boundary="),
        "{}",
        short.text
    );
    assert!(!short.text.contains("Only the first"));
    assert!(short.text.ends_with(
        "activate the one that applies:\n\
         <skill><name>pdf</name><description>Does pdf.</description><location>~/g/docs/skills/pdf/SKILL.md</location></skill>\n\
         <skill><name>ocr</name><description>Does ocr.</description><location>~/g/ocr/SKILL.md</location></skill>\n\
         <skill><name>inner</name><description>Does inner.</description><location>~/g/docs/skills/secret/inner/SKILL.md</location></skill>\n\
         <skill><name>office</name><description>Does office.</description><location>~/g/docs/skills/office/SKILL.md</location></skill>\n"
    ), "{}", short.text);
    let line = "A line of thirty characters ok\n";
    let long = prepared(&snapshot, "g/docs@user:s", &line.repeat(100));
    let inside = long.text.split("</skill boundary=").next().unwrap();
    assert!(inside.chars().count() < 2_100, "{}", inside.len());
    assert!(
        long.text.contains("Only the first 1983 of 3099 characters are shown; the rest is in <location>/user/g/docs/SKILL.md</location>.\n"),
        "{}", long.text
    );
    let leaf = prepared(&snapshot, "g/ocr@user:s", &line.repeat(100));
    assert!(
        !leaf.text.contains("Only the first"),
        "a leaf's body is whole"
    );
}

#[test]
fn activating_a_branch_expands_it_and_nothing_is_given_twice() {
    let snapshot = tree();
    let mut session = DisclosureSession::new(FrozenInputs::default());
    let docs = prepared(&snapshot, "g/docs@user:s", "one");
    assert_eq!(
        docs.enter(&snapshot, &mut session),
        Ok(ActivateOutcome::New)
    );
    assert_eq!(session.expanded(), ["g/docs@user:s"]);
    assert_eq!(
        docs.enter(&snapshot, &mut session),
        Ok(ActivateOutcome::Already)
    );
    assert_eq!(
        session.collapse("g/docs@user:s"),
        CollapseOutcome::Collapsed
    );
    assert_eq!(session.collapse("g/docs@user:s"), CollapseOutcome::WasNot);
    assert_eq!(
        docs.enter(&snapshot, &mut session),
        Ok(ActivateOutcome::Changed),
        "its children are told again"
    );
    // A child is had without expanding what is above it.
    let word = prepared(&snapshot, "g/docs/skills/office/word@user:s", "w");
    let mut fresh = DisclosureSession::new(FrozenInputs::default());
    assert_eq!(word.enter(&snapshot, &mut fresh), Ok(ActivateOutcome::New));
    assert_eq!(fresh.expanded(), Vec::<String>::new());
    let changed = prepared(&snapshot, "g/docs/skills/office/word@user:s", "w2");
    assert_eq!(
        changed.enter(&snapshot, &mut fresh),
        Ok(ActivateOutcome::Changed)
    );
    let given: Vec<&str> = session
        .active()
        .iter()
        .map(|given| given.address.as_str())
        .collect();
    assert_eq!(
        given,
        ["g/docs@user:s"],
        "what a host tells again after a compaction"
    );
}

/// A folder with two groups in it, one of them around another folder, and a folder of two.
fn nested() -> Snapshot {
    let folders = [
        ("g", 3),
        ("g/many", 7),
        ("g/only/many2", 6),
        ("g/few", 2),
        ("h", 6),
    ];
    let ids: Vec<String> = folders
        .iter()
        .flat_map(|(folder, count)| {
            let stem = folder.replace('/', "-");
            (0..*count).map(move |n| format!("{folder}/{stem}-{n}"))
        })
        .collect();
    let skills: Vec<(usize, &str, &str)> = ids.iter().map(|id| (0, id.as_str(), "")).collect();
    snapshot(&skills)
}

/// What is listed below a group is what a catalog shows in its place.
#[test]
fn a_group_that_the_catalog_dissolves_was_listed_as_a_group() {
    let snapshot = nested();
    let listed = children(&snapshot, "g");
    assert_eq!(
        listed,
        [
            "g/g-0@user:s",
            "g/g-1@user:s",
            "g/g-2@user:s",
            "g/few/g-few-0@user:s",
            "g/few/g-few-1@user:s",
            "g/many/@user:s",
            "g/only/@user:s",
        ],
        "a folder of two is open, and one around a single group is that group"
    );
    assert_eq!(children(&snapshot, "g/only").len(), 6);
    // Eight entries are as many as there are in what was asked for, and one for the rest.
    let made = catalog(
        &snapshot,
        &CatalogRequest {
            style: CatalogStyle::Xml,
            budget: CatalogBudget::chars(30_000, 8),
            home: None,
            index_dir: Path::new("/index"),
            pinned: &[],
            usage: &BTreeMap::new(),
            expanded: &["g/@user:s".to_owned()],
            exclude: &[],
            task: None,
        },
    );
    let keys = made.entries.iter().map(|entry| entry.key.as_str());
    let below: BTreeSet<&str> = keys.filter(|key| key.starts_with("g/")).collect();
    assert_eq!(below, listed.iter().map(String::as_str).collect());
}

#[test]
fn an_expanded_branch_left_no_way_to_its_own_file() {
    let snapshot = tree();
    let node = resolve(&snapshot, "docs").unwrap().node;
    let listed = list_children(&snapshot, &node.children(&snapshot), None);
    let text = expansion_text(&snapshot, &node, &listed, Some(Path::new("/user")));
    assert_eq!(
        text.strip_prefix(&listed.text),
        Some("What holds for all of them is in <location>~/g/docs/SKILL.md</location>.\n")
    );
}

#[test]
fn expanding_says_what_happened() {
    let snapshot = tree();
    let mut session = DisclosureSession::new(FrozenInputs::default());
    let mut expand = |typed: &str| {
        let node = resolve(&snapshot, typed).unwrap().node;
        session.expand(&snapshot, &node)
    };
    assert_eq!(expand("docs"), ExpandOutcome::Expanded);
    assert_eq!(
        expand("office"),
        ExpandOutcome::Expanded,
        "however few it has"
    );
    assert_eq!(expand("docs"), ExpandOutcome::Already);
    assert_eq!(expand("ocr"), ExpandOutcome::Leaf);
    assert_eq!(
        session.expanded(),
        ["g/docs@user:s", "g/docs/skills/office@user:s"],
        "the most recent last"
    );
}

/// A group of skills with these further frontmatter lines, and how they are listed.
fn listed(names: &[String], lines: &dyn Fn(usize) -> String) -> (Snapshot, ChildList) {
    let ids: Vec<(String, String)> = names
        .iter()
        .enumerate()
        .map(|(n, name)| (format!("big/{name}"), lines(n)))
        .collect();
    let skills: Vec<(usize, &str, &str)> = ids
        .iter()
        .map(|(id, lines)| (0, id.as_str(), lines.as_str()))
        .collect();
    let snapshot = snapshot(&skills);
    let all: Vec<DisclosureNode> = (0..snapshot.skills.len())
        .map(DisclosureNode::Skill)
        .collect();
    let listed = list_children(&snapshot, &all, None);
    (snapshot, listed)
}

#[test]
fn a_long_list_of_children_names_those_it_leaves_out() {
    let names: Vec<String> = (0..200).map(|n| format!("s{n:03}")).collect();
    let (_, listed) = listed(&names, &|_| String::new());
    assert_eq!((listed.children.len(), listed.more), (150, 50));
    assert_eq!(listed.text.lines().count(), 151);
    let last = listed.text.lines().last().unwrap();
    let others = last.strip_prefix(
        "50 more entries are not shown here. Each can be activated by its name: `s150`, `s151`, ",
    );
    assert!(others.unwrap().ends_with(", `s199`."), "{last}");
}

#[test]
fn one_childs_description_took_a_whole_activation() {
    let names: Vec<String> = (0..200).map(|n| format!("s{n:03}")).collect();
    let huge = format!("description: {}", "Very long words. ".repeat(900));
    let lines = |n: usize| if n == 0 { huge.clone() } else { String::new() };
    let (_, listed) = listed(&names, &lines);
    assert!(listed.text.chars().count() <= 30_000);
    assert_eq!((listed.children.len(), listed.more), (150, 50));
    let first = listed.children[0].description.as_deref().unwrap();
    assert!((100..=300).contains(&first.chars().count()), "{first}");
    assert!(listed.text.contains(first), "the same in the text");
}

#[test]
fn a_list_of_long_entries_is_within_its_limit_and_says_how_to_reach_the_rest() {
    let names: Vec<String> = (0..200)
        .map(|n| format!("skill-with-a-long-name-{n:03}"))
        .collect();
    let (snapshot, listed) = listed(&names, &|_| {
        format!(
            "description: {}",
            "Fifty characters are in this one sentence here. ".repeat(20)
        )
    });
    assert!(listed.text.chars().count() <= 30_000);
    assert_eq!(listed.children.len() + listed.more, 200);
    let last = listed.text.lines().last().unwrap();
    assert!(last.chars().count() <= 2_000, "{}", last.len());
    let named: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
    assert!(named.len() > 40, "{last}");
    for name in &named {
        assert!(resolve(&snapshot, name).is_ok(), "{name}");
        assert!(!listed.text.contains(&format!("<name>{name}</name>")));
    }
    let unnamed = listed.more - named.len();
    assert!(
        last.ends_with(&format!(" The catalog leads to the other {unnamed}.")),
        "{last}"
    );
}

#[test]
fn what_is_not_listed_is_named_so_that_nothing_else_is_meant() {
    let names: Vec<String> = (0..153).map(|n| format!("s{n:03}")).collect();
    let lines = |n: usize| match n {
        150 | 152 => "name: twin".to_owned(),
        151 => "name: 'a`b <c>'".to_owned(),
        _ => String::new(),
    };
    let (_, listed) = listed(&names, &lines);
    let last = listed.text.lines().last().unwrap();
    assert_eq!(
        last,
        "3 more entries are not shown here. Each can be activated by its name: `big/s150@user:s`, \
         `big/s152@user:s`. The catalog leads to the other 1."
    );
}

proptest! {
    /// Whatever is done, the order is that of the expansions and no key appears twice.
    #[test]
    fn a_session_keeps_order_and_no_doubles(steps in prop::collection::vec((any::<bool>(), 0..3_usize), 0..40)) {
        let snapshot = tree();
        let typed = ["docs", "office", "ocr"];
        let mut session = DisclosureSession::new(FrozenInputs::default());
        let mut model: Vec<String> = Vec::new();
        for (open, which) in steps {
            let node = resolve(&snapshot, typed[which]).unwrap().node;
            let key = node.key(&snapshot);
            if open {
                let done = session.expand(&snapshot, &node);
                prop_assert_eq!(done == ExpandOutcome::Leaf, which == 2);
                if done == ExpandOutcome::Expanded {
                    prop_assert!(!model.contains(&key));
                    model.push(key);
                }
            } else {
                session.collapse(&key);
                model.retain(|known| *known != key);
            }
            prop_assert_eq!(session.expanded(), model.as_slice());
        }
    }
}
