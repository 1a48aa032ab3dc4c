//! Trees as tables: what is declared, what hangs under what, and what is said about it.

use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::content::SkillContent;
use grove_catalog::hosts;
use grove_catalog::identity::SkillLayout;
use grove_catalog::resolve::{SkillCandidate, SkillRules};
use grove_catalog::root::RootSource;
use grove_catalog::snapshot::Snapshot;
use grove_catalog::tree::MAX_LEVELS;
use grove_spec::config::Settings;
use grove_spec::skill::parse;
use grove_spec::{Code, Diagnostic};
use proptest::prelude::*;

use crate::library::{self, candidate};

/// A skill in the first root: its id and its lines under `metadata`.
fn skill(id: &str, metadata: &str) -> SkillCandidate {
    described(id, metadata, "About gardens")
}

fn described(id: &str, metadata: &str, description: &str) -> SkillCandidate {
    let name = id.rsplit('/').next().unwrap_or(id);
    let text = format!("---\nname: {name}\ndescription: {description}\nmetadata:\n{metadata}---\n");
    // One fingerprint for all, so that nothing but the tree tells two libraries apart.
    SkillCandidate {
        content: Arc::new(SkillContent::new(1, None, 1, parse(&text))),
        ..candidate(0, id, "")
    }
}

fn children(names: &str) -> String {
    format!("  children: {names}\n")
}

fn parent(name: &str) -> String {
    format!("  parent: {name}\n")
}

fn look_by(
    rules: SkillRules,
    candidates: Vec<SkillCandidate>,
    diagnostics: Vec<Diagnostic>,
) -> Snapshot {
    let roots =
        ["one", "two"].map(|name| library::root(RootSource::User, name, format!("/{name}")));
    let settings = Settings::default();
    library::look_by(rules, roots.into(), candidates, &settings, diagnostics)
}

fn look(candidates: Vec<SkillCandidate>) -> Snapshot {
    look_by(SkillRules::GROVE, candidates, Vec::new())
}

/// `child < parent` for each child, parents in the order of the snapshot.
fn edges(snapshot: &Snapshot) -> Vec<String> {
    let id = |at: usize| snapshot.skills[at].id();
    let pairs = snapshot.tree.pairs();
    pairs
        .map(|(child, parent)| format!("{} < {}", id(child), id(parent)))
        .collect()
}

/// The findings about trees: whose, which, and what they name.
fn findings(snapshot: &Snapshot) -> Vec<(String, Code, String)> {
    let of = |skill: &grove_catalog::Skill| {
        let id = skill.id().to_owned();
        let all = skill.diagnostics.iter();
        let of_names = [Code::NameMismatch, Code::NameCollision];
        let all = all.filter(|finding| !of_names.contains(&finding.code));
        all.map(|finding| (id.clone(), finding.code, finding.names.join(" ")))
            .collect::<Vec<_>>()
    };
    snapshot.skills.iter().flat_map(of).collect()
}

fn check(candidates: Vec<SkillCandidate>, expected: &[&str], said: &[(&str, Code, &str)]) {
    let snapshot = look(candidates);
    assert_eq!(edges(&snapshot), expected);
    let said: Vec<(String, Code, String)> = said
        .iter()
        .map(|(id, code, names)| ((*id).to_owned(), *code, (*names).to_owned()))
        .collect();
    assert_eq!(findings(&snapshot), said);
}

#[test]
fn declared_children_hang_under_their_branch_in_the_declared_order() {
    check(
        vec![
            skill("a", &children("z, y x")),
            skill("a/skills/x", ""),
            skill("a/skills/z", ""),
            skill("a/y", ""),
            skill("b", ""),
        ],
        &["a/skills/z < a", "a/y < a", "a/skills/x < a"],
        &[],
    );
    check(
        vec![
            skill("a", &children("'*'")),
            skill("a/b/skills/x", ""),
            skill("a/b", &children("'*'")),
            skill("a/b/skills/y", ""),
            skill("a/b/z", ""),
            skill("a/skills/c", ""),
            skill("a/skills/a", ""),
            skill("ab", ""),
        ],
        &[
            "a/skills/a < a",
            "a/b < a",
            "a/skills/c < a",
            "a/b/skills/x < a/b",
            "a/b/skills/y < a/b",
            "a/b/z < a/b",
        ],
        &[],
    );
}

#[test]
fn the_roots_own_skill_has_children_below_the_root() {
    let top = |keys: &str| SkillCandidate {
        layout: SkillLayout::Root,
        ..skill("one", keys)
    };
    let below = || [skill("skills/x", ""), skill("skills/y", ""), skill("z", "")];
    for keys in [children("x y z"), children("'*'")] {
        let all = [top(&keys)].into_iter().chain(below()).collect();
        check(all, &["skills/x < one", "skills/y < one", "z < one"], &[]);
    }
}

#[test]
fn siblings_name_their_parent_by_name_or_id_within_their_root() {
    let renamed = |id: &str, name: &str| {
        let text = format!("---\nname: {name}\ndescription: About gardens\n---\n");
        SkillCandidate {
            content: Arc::new(SkillContent::new(1, None, 1, parse(&text))),
            ..skill(id, "")
        }
    };
    check(
        vec![
            renamed("g/top", "head"),
            skill("a", &parent("head")),
            skill("b", &parent("g/top")),
            SkillCandidate {
                layout: SkillLayout::Flat,
                ..skill("c", &parent("head"))
            },
        ],
        &["a < g/top", "b < g/top", "c < g/top"],
        &[],
    );
    check(
        vec![
            skill("a", &parent("nobody")),
            skill("b", &parent("twin")),
            skill("c/twin", ""),
            skill("d/twin", ""),
            skill("e", &parent("d/twin")),
            SkillCandidate {
                root: 1,
                ..skill("f", &parent("a"))
            },
        ],
        &["e < d/twin"],
        &[
            ("a", Code::ParentMissing, ""),
            ("b", Code::ParentMissing, "c/twin d/twin"),
            ("d/twin", Code::BranchSmall, ""),
            ("f", Code::ParentMissing, ""),
        ],
    );
}

#[test]
fn a_missing_child_is_named_unless_another_finding_speaks_of_it() {
    let all = || {
        vec![
            skill("a", &children("x y capped escaped deep/er late")),
            skill("a/x", ""),
        ]
    };
    let found = vec![
        Diagnostic::new(Code::CandidateLimit, "m")
            .in_file(&PathBuf::from("/one"))
            .with_names(vec!["a/skills/capped".to_owned()]),
        Diagnostic::new(Code::PathEscape, "m").in_file(&PathBuf::from("/one/a/skills/escaped")),
        Diagnostic::new(Code::Unreadable, "m").in_file(&PathBuf::from("/one/a/late/SKILL.md")),
        Diagnostic::new(Code::PathEscape, "m").in_file(&PathBuf::from("/two/a/y")),
    ];
    let missing = |names: &str| vec![("a".to_owned(), Code::ChildMissing, names.to_owned())];
    assert_eq!(findings(&look(all())), missing("y capped escaped late"));
    let snapshot = look_by(SkillRules::GROVE, all(), found);
    assert_eq!(findings(&snapshot), missing("y"));
    assert_eq!(edges(&snapshot), ["a/x < a"]);
    let at = snapshot.skills[0].diagnostics[0].position.map(|at| at.line);
    assert_eq!(at, Some(5), "the line of the key");

    let too_deep = Diagnostic::new(Code::TreeDepth, "m").in_file(&PathBuf::from("/one/a/SKILL.md"));
    let snapshot = look_by(SkillRules::GROVE, all(), vec![too_deep]);
    assert_eq!(findings(&snapshot), []);

    check(
        vec![SkillCandidate {
            layout: SkillLayout::Flat,
            ..skill("a", &children("x y z"))
        }],
        &[],
        &[("a", Code::ChildMissing, "")],
    );
}

#[test]
fn the_first_claim_on_a_child_counts() {
    check(
        vec![
            skill("a", &children("x y z x")),
            skill("a/x", &parent("b")),
            skill("a/y", &parent("a")),
            skill("a/z", ""),
            skill("b", ""),
        ],
        &["a/x < a", "a/y < a", "a/z < a"],
        &[
            ("a", Code::ChildDuplicate, "x"),
            ("a/x", Code::ChildDuplicate, ""),
        ],
    );
}

#[test]
fn no_skill_is_above_itself() {
    check(
        vec![skill("a", &parent("a"))],
        &[],
        &[("a", Code::TreeCycle, "")],
    );
    check(
        vec![
            skill("a", &parent("c")),
            skill("b", &parent("a")),
            skill("c", &parent("b")),
        ],
        &["b < a", "a < c"],
        &[
            ("a", Code::BranchSmall, ""),
            ("c", Code::TreeCycle, ""),
            ("c", Code::BranchSmall, ""),
        ],
    );
    // A link from a branch's own children to the branch: one file, two places.
    let file = Some((1, 1));
    check(
        vec![
            SkillCandidate {
                file,
                ..skill("a", &children("x"))
            },
            SkillCandidate {
                file,
                through_link: true,
                ..skill("a/x", &children("x"))
            },
        ],
        &[],
        &[("a", Code::TreeCycle, "")],
    );
}

#[test]
fn children_are_found_under_every_place_of_their_branch() {
    let file = Some((1, 1));
    let linked = SkillCandidate {
        file,
        through_link: true,
        ..skill("a", &children("x y z"))
    };
    let real = SkillCandidate {
        file,
        ..skill("b", &children("x y z"))
    };
    let below = ["a/x", "a/y", "a/z"].map(|id| skill(id, ""));
    let all = [linked, real].into_iter().chain(below).collect();
    check(all, &["a/x < b", "a/y < b", "a/z < b"], &[]);
}

#[test]
fn a_tree_has_six_levels_and_what_is_below_stands_on_its_own() {
    let chain: Vec<SkillCandidate> = (0..=MAX_LEVELS + 1)
        .map(|n| match n {
            0 => skill("s0", ""),
            n => skill(&format!("s{n}"), &parent(&format!("s{}", n - 1))),
        })
        .collect();
    let snapshot = look(chain);
    assert_eq!(
        edges(&snapshot),
        [
            "s1 < s0", "s2 < s1", "s3 < s2", "s4 < s3", "s5 < s4", "s7 < s6"
        ]
    );
    let deep = findings(&snapshot);
    let deep = deep.iter().filter(|(_, code, _)| *code == Code::TreeDepth);
    let deep: Vec<_> = deep
        .map(|(id, _, names)| (id.as_str(), names.as_str()))
        .collect();
    assert_eq!(deep, [("s5", "s6")]);
}

#[test]
fn a_branch_of_one_or_two_is_said_and_of_three_is_not() {
    let with = |count: usize, names: &str| {
        let ids = ["a/x", "a/y", "a/z"].into_iter().take(count);
        let below = ids.map(|id| skill(id, ""));
        let all = [skill("a", &children(names))].into_iter().chain(below);
        findings(&look(all.collect()))
            .into_iter()
            .map(|(_, code, _)| code)
            .collect::<Vec<_>>()
    };
    assert_eq!(with(1, "x"), [Code::BranchSmall]);
    assert_eq!(with(2, "x y"), [Code::BranchSmall]);
    assert_eq!(with(3, "x y z"), []);
    assert_eq!(with(2, "'*'"), [Code::BranchSmall]);
    assert_eq!(with(2, "x y z"), [Code::ChildMissing], "missing says it");
    assert_eq!(with(0, "x"), [Code::ChildMissing], "no branch at all");
}

#[test]
fn children_behind_a_vaguer_parent_are_named_once() {
    let below = |ids: [(&str, &str); 3]| ids.map(|(id, text)| described(id, "", text));
    let branch = |text: &str| described("office", &children("pdf mail sheets"), text);
    for (text, hidden) in [
        ("Various useful things", "pdf mail sheets"),
        ("Reads PDF documents and sends mail", "sheets"),
        ("Documents (PDF), mail and tables of numbers", ""),
    ] {
        let children = below([
            ("office/pdf", "Extracts text"),
            ("office/mail", "Answers letters"),
            ("office/sheets", "Adds up a table"),
        ]);
        let all = [branch(text)].into_iter().chain(children).collect();
        let said = findings(&look(all));
        let expected: Vec<_> = (!hidden.is_empty())
            .then(|| ("office".to_owned(), Code::BranchVague, hidden.to_owned()))
            .into_iter()
            .collect();
        assert_eq!(said, expected, "{text}");
    }
}

#[test]
fn edges_are_in_the_digest_and_flat_libraries_have_no_tree() {
    // Both texts have the same fingerprint here, so only the edge tells them apart.
    let with = |keys: &str| look(vec![skill("a", ""), skill("b", keys)]);
    assert_ne!(with(&parent("a")).digest, with("").digest);
    assert_eq!(with(&parent("nobody")).digest, with("").digest);
    assert!(with("").tree.is_flat());
}

#[test]
fn another_host_knows_no_trees() {
    let all = vec![
        skill("a", &children("x")),
        skill("a/x", ""),
        skill("b", &parent("nobody")),
    ];
    for host in hosts::all() {
        let snapshot = look_by(SkillRules::of(host), all.clone(), Vec::new());
        assert!(snapshot.tree.is_flat(), "{}", host.name);
        let said = findings(&snapshot);
        assert!(said.iter().all(|(_, code, _)| *code != Code::ParentMissing));
    }
}

/// Few names, so that declarations meet, repeat and run in circles.
fn declarations() -> impl Strategy<Value = Vec<SkillCandidate>> {
    let name = prop::sample::select(vec!["a", "b", "c", "d", "e"]);
    let id = prop::collection::vec(name.clone(), 1..5).prop_map(|parts| parts.join("/"));
    let parts = (
        id.clone(),
        prop::option::of(prop::collection::vec(name, 0..4)),
        any::<bool>(),
        prop::option::of(id),
        prop::option::of(0..6_u64),
        0..2_usize,
    );
    let one = parts.prop_map(|(id, names, every, above, file, root)| {
        let mut keys = String::new();
        match names {
            Some(_) if every => keys.push_str("  children: '*'\n"),
            Some(names) => keys.push_str(&children(&names.join(" "))),
            None => {}
        }
        if let Some(above) = above {
            keys.push_str(&parent(&above));
        }
        SkillCandidate {
            root,
            file: file.map(|inode| (1, inode)),
            ..skill(&id, &keys)
        }
    });
    prop::collection::vec(one, 0..40).prop_map(|mut all| {
        all.sort_by(|a, b| (a.root, &a.id).cmp(&(b.root, &b.id)));
        all.dedup_by(|a, b| (a.root, &a.id) == (b.root, &b.id));
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_declared_the_result_is_a_tree(all in declarations()) {
        let snapshot = look(all.clone());
        let tree = &snapshot.tree;
        let mut seen = std::collections::BTreeSet::new();
        for (child, parent) in tree.pairs() {
            prop_assert!(seen.insert(child), "one parent each");
            prop_assert_eq!(tree.parent(child), Some(parent));
            let above: Vec<usize> = tree.ancestors(child).take(MAX_LEVELS + 1).collect();
            prop_assert!(above.len() < MAX_LEVELS && !above.contains(&child), "{above:?}");
            let [child, parent] = [child, parent].map(|at| &snapshot.skills[at]);
            prop_assert!(child.content.tree_keys().is_some() || parent.content.tree_keys().is_some());
        }
        let again = look(all);
        prop_assert_eq!(again.digest, snapshot.digest);
        prop_assert_eq!(&again.tree, tree);
    }
}
