//! The rules of meaning as tables: states and their order, rank, caps, identity, addresses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::EntryState;
use grove_catalog::address::{self, AddressMatch};
use grove_catalog::agents::Agents;
use grove_catalog::chains::Chains;
use grove_catalog::eligibility::MachineFacts;
use grove_catalog::identity::SkillLayout;
use grove_catalog::resolve::{ResolveInput, SkillCandidate, SkillRules, none_used, resolve};
use grove_catalog::root::{Root, RootSource, make_labels_unique};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::trust::RootTrust;
use grove_spec::config::{LayerScope, Settings, parse};

use crate::library::{self, candidate, look};

fn root(source: RootSource, path: &str, trust: RootTrust) -> Root {
    let label = format!("{}:{path}", source.as_str());
    Root {
        trust,
        ..library::root(source, &label, format!("/{path}"))
    }
}

fn skill(root: usize, id: &str, name: &str) -> SkillCandidate {
    candidate(
        root,
        id,
        &format!("---\nname: {name}\ndescription: d\n---\n"),
    )
}

fn settings(text: &str) -> Settings {
    let mut settings = Settings::default();
    let (layer, findings) = parse(text, LayerScope::User, std::path::Path::new("c"));
    assert_eq!(findings, []);
    settings.apply_layer(layer, LayerScope::User);
    settings
}

/// `address state` of each skill.
fn states(snapshot: &Snapshot) -> Vec<String> {
    let all = snapshot.skills.iter();
    all.map(|skill| format!("{} {}", snapshot.address(skill), skill.state.as_str()))
        .collect()
}

/// What is found in the user's folder alone.
fn look_at_user(candidates: Vec<SkillCandidate>) -> Snapshot {
    let roots = vec![root(RootSource::User, "u", RootTrust::Trusted)];
    look(roots, candidates, &Settings::default())
}

/// Every reason to refuse at once, taken away one by one: the state is always the first in the order.
#[test]
fn states_are_evaluated_in_their_order() {
    let bad =
        "---\nname: a\ndescription: [x]\nmetadata: {grove: {requires: {bins: [nope]}}}\n---\n";
    let needs =
        "---\nname: a\ndescription: d\nmetadata: {grove: {requires: {bins: [nope]}}}\n---\n";
    let plain = "---\nname: a\ndescription: d\n---\n";
    let off = "[skills]\nallow_bundled = []\nonly = []\n[skills.entries.a]\nenabled = false\n";
    let not_allowed = "[skills]\nallow_bundled = []\nonly = []\n";
    let not_selected = "[skills]\nonly = []\n";
    for (text, trust, config, expected) in [
        (
            bad,
            RootTrust::Untrusted,
            off,
            (EntryState::Invalid, "field-required-type"),
        ),
        (
            needs,
            RootTrust::Untrusted,
            off,
            (EntryState::Untrusted, "untrusted"),
        ),
        (
            needs,
            RootTrust::Trusted,
            off,
            (EntryState::Ineligible, "bin"),
        ),
        (
            plain,
            RootTrust::Trusted,
            off,
            (EntryState::Disabled, "disabled"),
        ),
        (
            plain,
            RootTrust::Trusted,
            not_allowed,
            (EntryState::Filtered, "not-allowed"),
        ),
        (
            plain,
            RootTrust::Trusted,
            not_selected,
            (EntryState::Filtered, "not-selected"),
        ),
    ] {
        let snapshot = look(
            vec![root(RootSource::Bundled, "b", trust)],
            vec![candidate(0, "a", text)],
            &settings(config),
        );
        let found = &snapshot.skills[0];
        assert_eq!((found.state, found.reasons[0].code.as_str()), expected);
        assert!(!found.reasons[0].fix.is_empty());
    }
    let snapshot = look(
        vec![root(RootSource::Bundled, "b", RootTrust::Trusted)],
        vec![candidate(0, "a", plain)],
        &settings(""),
    );
    assert_eq!(
        (snapshot.skills[0].state, snapshot.skills[0].reasons.len()),
        (EntryState::Ok, 0)
    );
}

#[test]
fn lists_omitted_mean_all_and_empty_mean_none() {
    let names = vec!["a".to_owned()];
    let one = |settings: &Settings, names: Option<&[String]>| {
        let facts = MachineFacts::default();
        let candidates = vec![skill(0, "a", "a"), skill(0, "b", "b")];
        let roots = vec![root(RootSource::Bundled, "b", RootTrust::Trusted)];
        let snapshot = resolve(ResolveInput {
            roots,
            candidates,
            settings,
            facts: &facts,
            names,
            rules: SkillRules::GROVE,
            used: &none_used,
            diagnostics: vec![],
        });
        snapshot
            .skills
            .iter()
            .filter(|s| s.state == EntryState::Ok)
            .map(|s| s.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(one(&settings(""), None), ["a", "b"]);
    assert_eq!(
        one(&settings("[skills]\nonly = []"), None),
        Vec::<String>::new()
    );
    assert_eq!(one(&settings("[skills]\nonly = ['b']"), None), ["b"]);
    assert_eq!(
        one(&settings("[skills]\nallow_bundled = ['a']"), None),
        ["a"]
    );
    assert_eq!(one(&settings(""), Some(&names)), ["a"]);
    assert_eq!(one(&settings(""), Some(&[])), Vec::<String>::new());
}

#[test]
fn rank_is_applied_among_usable_skills_only() {
    let roots = |project: RootTrust| {
        vec![
            root(RootSource::User, "u", RootTrust::Trusted),
            root(RootSource::Project, "p", project),
        ]
    };
    let both = || vec![skill(0, "x", "deploy"), skill(1, "y", "deploy")];

    let untrusted = look(roots(RootTrust::Untrusted), both(), &settings(""));
    assert_eq!(states(&untrusted), ["y@project:p untrusted", "x@user:u ok"]);
    assert_eq!(
        untrusted.skills[0].stand_in,
        Some(1),
        "what stands in is named"
    );

    let trusted = look(roots(RootTrust::Trusted), both(), &settings(""));
    assert_eq!(states(&trusted), ["y@project:p ok", "x@user:u shadowed"]);
    assert_eq!(
        trusted.skills[1].reasons[0].message,
        "shadowed by `y@project:p`"
    );
    assert_eq!(trusted.skills[1].stand_in, Some(0));

    {
        let config = "[skills.entries.deploy]\nenabled = false";
        let none = look(roots(RootTrust::Trusted), both(), &settings(config));
        assert!(
            none.skills
                .iter()
                .all(|s| s.state == EntryState::Disabled && s.stand_in.is_none())
        );
    }
}

#[test]
fn equal_names_in_one_root_both_stay_and_are_answered_with_ids() {
    let snapshot = look(
        vec![
            root(RootSource::User, "u", RootTrust::Trusted),
            root(RootSource::Extra, "e", RootTrust::Trusted),
        ],
        vec![
            skill(0, "a/tmux", "tmux"),
            skill(0, "b/tmux", "tmux"),
            skill(1, "tmux", "tmux"),
            skill(0, "other", "other"),
        ],
        &settings(""),
    );
    assert_eq!(
        states(&snapshot),
        [
            "a/tmux@user:u ok",
            "b/tmux@user:u ok",
            "other@user:u ok",
            "tmux@extra:e shadowed"
        ]
    );
    assert_eq!(
        address::find(&snapshot, "tmux"),
        AddressMatch::Several(vec![0, 1])
    );
    assert_eq!(address::find(&snapshot, "b/tmux"), AddressMatch::One(1));
    assert_eq!(
        address::find(&snapshot, "tmux@extra:e"),
        AddressMatch::One(3),
        "a loser is addressable"
    );
    assert_eq!(address::find(&snapshot, "other"), AddressMatch::One(2));
    assert_eq!(
        address::find(&snapshot, "othre"),
        AddressMatch::None(vec!["other".to_owned()])
    );
    assert_eq!(
        address::find(&snapshot, "zzzzzzzz"),
        AddressMatch::None(vec![])
    );
    let collisions: Vec<_> = snapshot
        .skills
        .iter()
        .filter(|s| {
            s.diagnostics
                .iter()
                .any(|d| d.code.as_str() == "name-collision")
        })
        .map(grove_catalog::Skill::id)
        .collect();
    assert_eq!(collisions, ["a/tmux", "b/tmux"]);
}

#[test]
fn a_name_comes_before_an_id_and_addresses_are_unique() {
    let flat = |mut candidate: SkillCandidate| {
        candidate.layout = SkillLayout::Flat;
        candidate
    };
    let candidates = vec![
        skill(0, "delta", "other"),
        skill(0, "x", "delta"),
        skill(0, "tmux", "tmux"),
        flat(skill(0, "tmux", "flat-tmux")),
        flat(skill(0, "note", "note")),
    ];
    let snapshot = look_at_user(candidates);
    let addresses: Vec<String> = snapshot
        .skills
        .iter()
        .map(|skill| snapshot.address(skill))
        .collect();
    assert_eq!(
        addresses,
        [
            "delta@user:u",
            "note@user:u",
            "tmux.md@user:u",
            "tmux@user:u",
            "x@user:u"
        ]
    );
    for (at, address) in addresses.iter().enumerate() {
        assert_eq!(address::find(&snapshot, address), AddressMatch::One(at));
    }
    assert_eq!(address::find(&snapshot, "delta"), AddressMatch::One(4));
    assert_eq!(address::find(&snapshot, "flat-tmux"), AddressMatch::One(2));
}

#[test]
fn many_equal_names_are_told_briefly() {
    let candidates = (0..500).map(|n| skill(0, &format!("s{n:03}"), "same"));
    let snapshot = look(
        vec![root(RootSource::User, "u", RootTrust::Trusted)],
        candidates,
        &settings("[limits]\nloaded_per_source = 1000\nloaded_per_root = 1000"),
    );
    for skill in &snapshot.skills {
        let collision = skill
            .diagnostics
            .iter()
            .find(|d| d.code.as_str() == "name-collision")
            .unwrap();
        assert_eq!(collision.names.len(), 20);
        assert!(
            !collision.names.contains(&skill.id().to_owned())
                && collision.message.contains("and 479 more")
        );
    }
}

#[test]
fn names_that_only_look_alike_collide_but_do_not_shadow() {
    for (a, b) in [("Deploy", "deploy"), ("caf\u{e9}", "cafe\u{301}")] {
        let snapshot = look_at_user(vec![skill(0, "one", a), skill(0, "two", b)]);
        assert!(
            snapshot.skills.iter().all(|s| s.state == EntryState::Ok),
            "{a} {b}"
        );
        assert!(
            snapshot.skills.iter().all(|s| s
                .diagnostics
                .iter()
                .any(|d| d.code.as_str() == "name-collision")),
            "{a} {b}"
        );
    }
    let apart = look_at_user(vec![skill(0, "one", "one"), skill(0, "two", "two")]);
    assert!(apart.skills.iter().all(|s| s.diagnostics.is_empty()));
}

#[test]
fn one_file_is_one_skill_at_its_best_usable_place() {
    let file = |mut candidate: SkillCandidate, inode: u64, through_link: bool| {
        candidate.file = Some((1, inode));
        candidate.through_link = through_link;
        candidate
    };
    let roots = || {
        vec![
            root(RootSource::User, "u", RootTrust::Trusted),
            root(RootSource::Project, "p", RootTrust::Untrusted),
        ]
    };
    let snapshot = look(
        roots(),
        vec![
            file(skill(0, "a", "x"), 7, true),
            file(skill(0, "b", "x"), 7, false),
            file(skill(1, "c", "x"), 7, false),
            file(skill(0, "d", "y"), 8, false),
        ],
        &settings(""),
    );
    assert_eq!(states(&snapshot), ["b@user:u ok", "d@user:u ok"]);
    let others: Vec<_> = snapshot.skills[0]
        .also_at
        .iter()
        .map(|place| snapshot.location(place))
        .collect();
    assert_eq!(
        others,
        [
            PathBuf::from("/p/c/SKILL.md"),
            PathBuf::from("/u/a/SKILL.md")
        ]
    );
    assert_eq!(
        snapshot.location(&snapshot.skills[0].place),
        PathBuf::from("/u/b/SKILL.md")
    );
}

#[test]
fn a_source_offers_its_first_skills_and_names_the_rest() {
    let roots = vec![
        root(RootSource::User, "u", RootTrust::Trusted),
        root(RootSource::Extra, "e", RootTrust::Trusted),
    ];
    let mut candidates: Vec<_> = (0..5)
        .map(|n| skill(0, &format!("u{n}"), &format!("u{n}")))
        .collect();
    candidates.extend((0..2).map(|n| skill(1, &format!("e{n}"), &format!("e{n}"))));
    let snapshot = look(
        roots,
        candidates,
        &settings("[limits]\nloaded_per_source = 3"),
    );
    let capped: Vec<_> = snapshot
        .skills
        .iter()
        .filter(|s| s.state == EntryState::Capped)
        .map(grove_catalog::Skill::id)
        .collect();
    assert_eq!(capped, ["u3", "u4"]);
    assert_eq!(snapshot.diagnostics[0].code.as_str(), "source-limit");
    assert_eq!(snapshot.diagnostics[0].names, ["u3", "u4"]);
    assert!(
        snapshot.skills[3].model_invocable() && snapshot.skills[3].user_invocable(),
        "capped: no entry of its own, still told of and callable"
    );
    assert_eq!(
        address::find(&snapshot, "u4"),
        AddressMatch::One(4),
        "still activated by id"
    );
}

/// Who stays is decided by the order of names, what is pinned first, and by the nearer limit of root and source.
#[test]
fn the_limits_on_entries_go_by_the_order_of_skills() {
    let roots = || {
        vec![
            root(RootSource::User, "u", RootTrust::Trusted),
            root(RootSource::User, "v", RootTrust::Trusted),
        ]
    };
    let candidates = || {
        let names = [
            (0, "z1", "a"),
            (0, "a2", "e"),
            (0, "a3", "d"),
            (1, "b1", "b"),
            (1, "b2", "c"),
        ];
        names.map(|(root, id, name)| skill(root, id, name)).to_vec()
    };
    for (limits, expected) in [
        ("loaded_per_source = 3", vec!["a2", "a3"]),
        ("loaded_per_root = 1", vec!["a2", "a3", "b2"]),
        (
            "loaded_per_source = 2\nloaded_per_root = 1",
            vec!["a2", "a3", "b2"],
        ),
        ("loaded_per_source = 5\nloaded_per_root = 3", vec![]),
        (
            "loaded_per_source = 3\n[catalog]\npinned = [\"e\"]",
            vec!["a3", "b2"],
        ),
    ] {
        let snapshot = look(
            roots(),
            candidates(),
            &settings(&format!("[limits]\n{limits}")),
        );
        let capped = snapshot
            .skills
            .iter()
            .filter(|skill| skill.state == EntryState::Capped);
        let mut ids: Vec<&str> = capped.map(grove_catalog::Skill::id).collect();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{limits}");
    }
}

/// What is used stays before what is not, and what is near before what is far, wherever they are in the alphabet.
#[test]
fn the_limits_on_entries_keep_what_is_used_and_near() {
    let mut near = root(RootSource::Project, "near", RootTrust::Trusted);
    let mut far = root(RootSource::Project, "far", RootTrust::Trusted);
    (near.rank.distance, far.rank.distance) = (0, 1);
    for used in ["a1", "a2", "z1", "z2", "none"] {
        let ids = [(0, "z1"), (0, "z2"), (1, "a1"), (1, "a2")];
        let facts = MachineFacts::default();
        let uses = |file: &Path| u32::from(file.ends_with(format!("{used}/SKILL.md")));
        let snapshot = resolve(ResolveInput {
            roots: vec![near.clone(), far.clone()],
            candidates: ids.map(|(root, id)| skill(root, id, id)).to_vec(),
            settings: &settings("[limits]\nloaded_per_source = 2"),
            facts: &facts,
            names: None,
            rules: SkillRules::GROVE,
            used: &uses,
            diagnostics: Vec::new(),
        });
        let listed = snapshot
            .skills
            .iter()
            .filter(|it| it.state == EntryState::Ok);
        let mut listed: Vec<&str> = listed.map(grove_catalog::Skill::id).collect();
        listed.sort_unstable();
        let expected = match used {
            "a1" | "a2" => [used, "z1"],
            _ => ["z1", "z2"],
        };
        assert_eq!(listed, expected, "{used}");
    }
}

#[test]
fn invocation_is_the_authors_word_and_needs_a_description() {
    for (extra, model, user) in [
        ("description: d\n", true, true),
        (
            "description: d\ndisable-model-invocation: true\n",
            false,
            true,
        ),
        ("description: d\nuser-invocable: false\n", true, false),
        ("", false, true),
    ] {
        let text = format!("---\nname: a\n{extra}---\n");
        let snapshot = look_at_user(vec![candidate(0, "a", &text)]);
        let found = &snapshot.skills[0];
        assert_eq!(
            (found.state, found.model_invocable(), found.user_invocable()),
            (EntryState::Ok, model, user),
            "{extra:?}"
        );
    }
}

#[test]
fn digests_follow_what_can_be_seen() {
    let roots = || vec![root(RootSource::User, "u", RootTrust::Trusted)];
    let base = look(roots(), vec![skill(0, "a", "a")], &settings("")).digest;
    assert_eq!(
        look(roots(), vec![skill(0, "a", "a")], &settings("")).digest,
        base
    );
    assert_ne!(
        look(roots(), vec![skill(0, "a", "b")], &settings("")).digest,
        base,
        "content"
    );
    assert_ne!(
        look(roots(), vec![skill(0, "b", "a")], &settings("")).digest,
        base,
        "place"
    );
    assert_ne!(
        look(
            roots(),
            vec![skill(0, "a", "a")],
            &settings("[skills]\nonly = []")
        )
        .digest,
        base,
        "state"
    );
}

#[test]
fn order_of_candidates_does_not_matter() {
    let make = |reversed: bool| {
        let roots = vec![
            root(RootSource::User, "u", RootTrust::Trusted),
            root(RootSource::Project, "p", RootTrust::Trusted),
        ];
        let mut candidates: Vec<_> = (0..40)
            .map(|n| skill(n % 2, &format!("s{n:02}"), &format!("n{}", n / 3)))
            .collect();
        if reversed {
            candidates.reverse();
        }
        look(roots, candidates, &settings(""))
    };
    assert_eq!(make(false), make(true));
}

#[test]
fn folder_findings_follow_the_folder() {
    let findings = |source: RootSource, id: &str, name: &str, hard_links: u32| {
        let mut one = skill(0, id, name);
        one.hard_links = hard_links;
        let snapshot = look(
            vec![root(source, "r", RootTrust::Trusted)],
            vec![one],
            &settings(""),
        );
        snapshot.skills[0]
            .diagnostics
            .iter()
            .map(|d| d.code.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(findings(RootSource::User, "a", "a", 1), Vec::<&str>::new());
    assert_eq!(findings(RootSource::User, "g/b", "a", 1), ["name-mismatch"]);
    assert_eq!(
        findings(RootSource::User, "aux", "aux", 1),
        ["portable-name"]
    );
    assert_eq!(
        findings(RootSource::User, "a", "a", 2),
        Vec::<&str>::new(),
        "the user's own hard links are the user's business"
    );
    assert_eq!(findings(RootSource::Project, "a", "a", 2), ["hard-link"]);
}

#[test]
fn labels_are_unique() {
    let mut roots: Vec<Root> = ["x", "x", "y", "x#2", "x"]
        .iter()
        .map(|path| root(RootSource::User, path, RootTrust::Trusted))
        .collect();
    make_labels_unique(&mut roots);
    let labels: Vec<&str> = roots.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(
        labels,
        ["user:x", "user:x#2", "user:y", "user:x#2#2", "user:x#3"]
    );
}

#[test]
fn the_digest_is_over_skills_agents_and_chains() {
    let root = || root(RootSource::User, "u", RootTrust::Trusted);
    let skills = |id: &str| look(vec![root()], vec![skill(0, id, id)], &Settings::default());
    let agents = Arc::new(Agents {
        roots: vec![root()],
        ..Agents::default()
    });
    let chains = Arc::new(Chains {
        roots: vec![root()],
        ..Chains::default()
    });
    let of = |snapshot: Snapshot, agents: &Arc<Agents>, chains: &Arc<Chains>| {
        let snapshot = snapshot.with_agents_and_chains(Arc::clone(agents), Arc::clone(chains));
        snapshot.digest.to_string()
    };
    let (no_agents, no_chains) = (Arc::default(), Arc::default());
    let all: BTreeSet<String> = [
        of(skills("a"), &no_agents, &no_chains),
        of(skills("b"), &no_agents, &no_chains),
        of(skills("a"), &agents, &no_chains),
        of(skills("a"), &no_agents, &chains),
        of(skills("a"), &agents, &chains),
    ]
    .into();
    assert_eq!(all.len(), 5);
    assert!(
        all.contains(&skills("a").digest.to_string()),
        "nothing added is as before"
    );
}
