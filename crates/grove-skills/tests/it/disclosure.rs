//! Conversations with a library on real files: branches, changed files, sessions, use, hostile folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::disclosure::DisclosureRefusal;
use grove_catalog::snapshot::Snapshot;
use grove_catalog::tree::SkillTree;
use grove_skills::disclosure::{ActivationResult, Disclosure, DisclosureError, SkillCall};
use grove_skills::session_file;
use grove_skills::{
    Discovery, DiscoveryRequest, DiscoveryView, Environment, Library, Rediscover as _,
};
use grove_spec::Code;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn put(&self, relative: &str, text: &str) {
        let file = self.path(relative);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn skill(&self, id: &str, body: &str) {
        let name = id.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}");
        self.put(&format!("root/{id}/SKILL.md"), &text);
    }

    fn library(&self, names: Option<Vec<String>>) -> Library {
        let home = self.path("home");
        let environment = Environment::for_home(home.clone(), home);
        Library::new(
            environment,
            DiscoveryRequest {
                view: DiscoveryView::Folders(vec![self.path("root")]),
                names,
                ..DiscoveryRequest::default()
            },
        )
    }

    fn session(&self) -> PathBuf {
        self.path("session.json")
    }

    fn activate(&self, typed: &str) -> Result<ActivationResult, DisclosureError> {
        let (mut library, session) = (self.library(None), self.session());
        Disclosure::new(&library.discover(), Some(&session)).activate(&SkillCall::of(typed))
    }
}

/// A snapshot with other branches than were found.
fn grown(snapshot: &Snapshot, pairs: &[(&str, &str)]) -> Arc<Snapshot> {
    let index = |id: &str| {
        snapshot
            .skills
            .iter()
            .position(|skill| skill.id() == id)
            .unwrap()
    };
    Arc::new(Snapshot {
        tree: SkillTree::of(
            pairs
                .iter()
                .map(|(child, parent)| (index(child), index(parent))),
        ),
        diagnostics: Vec::new(),
        ..snapshot.clone()
    })
}

#[test]
fn three_levels_are_walked_from_the_top() {
    let place = Place::new();
    let filler = "A line about choosing.\n".repeat(200);
    place.skill("docs", &filler);
    place.skill("office", "Choose an office program.\n");
    place.skill("word", "Write with word.\n");
    place.skill("excel", "Count with excel.\n");
    place.skill("pdf", "Print.\n");
    let (mut library, session) = (place.library(None), place.session());
    let pairs = [
        ("office", "docs"),
        ("pdf", "docs"),
        ("word", "office"),
        ("excel", "office"),
    ];
    let found = library.discover();
    let snapshot = grown(&found.snapshot, &pairs);
    let discovery = Discovery {
        snapshot: Arc::clone(&snapshot),
        ..found
    };
    let disclosure = Disclosure::new(&discovery, Some(&session));
    let activate = |typed: &str| disclosure.activate(&SkillCall::of(typed)).unwrap();

    let docs = activate("docs");
    assert_eq!(docs.children.len(), 2);
    assert!(docs.text.contains("<name>office</name>") && docs.text.contains("<name>pdf</name>"));
    assert!(
        !docs.text.contains("<name>word</name>"),
        "one level at a time"
    );
    assert!(docs.text.contains("Only the first "), "{}", docs.text);
    assert!(docs.text.len() < 4_000, "{}", docs.text.len());
    let office = activate("office");
    assert!(office.text.contains("Choose an office program."));
    assert!(office.text.contains("<name>word</name>"));
    let word = activate("word");
    assert!(word.text.contains("Write with word.") && word.children.is_empty());
    assert!(activate("office").already_active);

    let kept = session_file::read(&session).unwrap().unwrap();
    assert_eq!(
        kept.expanded(),
        ["docs@user:root", "office@user:root"]
            .map(|key| { key.replace("user:root", &label(&snapshot)) })
    );
    assert_eq!(kept.active().len(), 3);
    assert!(disclosure.collapse("docs").unwrap().was_expanded);
    assert_eq!(
        session_file::read(&session)
            .unwrap()
            .unwrap()
            .expanded()
            .len(),
        1
    );
    let docs = activate("docs");
    assert!(
        !docs.already_active,
        "it was collapsed, so its children are told again"
    );
}

fn label(snapshot: &Snapshot) -> String {
    snapshot.roots[0].label.clone()
}

#[test]
fn what_changed_is_given_again_and_what_did_not_is_not() {
    let place = Place::new();
    place.skill("pdf", "one\n");
    assert!(place.activate("pdf").unwrap().text.contains("\none\n"));
    assert!(place.activate("pdf").unwrap().already_active);
    place.skill("pdf", "two\n");
    let second = place.activate("pdf").unwrap();
    assert!(!second.already_active && second.text.contains("\ntwo\n"));
    let fork = place.path("fork.json");
    std::fs::copy(place.session(), &fork).unwrap();
    let mut library = place.library(None);
    let forked = Disclosure::new(&library.discover(), Some(&fork)).activate(&SkillCall::of("pdf"));
    assert!(
        forked.unwrap().already_active,
        "a copy of the file is a fork"
    );
    let again = SkillCall {
        again: true,
        ..SkillCall::of("pdf")
    };
    let told = Disclosure::new(&library.discover(), Some(&fork))
        .activate(&again)
        .unwrap();
    assert!(!told.already_active && told.text.contains("\ntwo\n"));
}

#[test]
fn a_file_that_changed_since_it_was_looked_at_is_looked_at_again() {
    let place = Place::new();
    place.skill("pdf", "old\n");
    let mut library = place.library(None);
    let discovery = library.discover();
    place.skill("pdf", "new text\n");
    let activate =
        |discovery: &Discovery| Disclosure::new(discovery, None).activate(&SkillCall::of("pdf"));
    let stale = activate(&discovery);
    assert!(
        matches!(stale, Err(DisclosureError::FileChanged(_))),
        "never other bytes than were judged"
    );
    let steady = library.fresh_from(&discovery, activate).unwrap();
    assert!(steady.text.contains("new text"));
}

#[test]
fn use_is_remembered_and_frozen_when_a_session_begins() {
    let place = Place::new();
    place.skill("pdf", "p\n");
    place.skill("tmux", "t\n");
    place.put(
        "home/.config/grove/config.toml",
        "[catalog]\npinned = ['tmux']\n",
    );
    place.activate("pdf").unwrap();
    let first = session_file::read(&place.session()).unwrap().unwrap();
    assert!(
        first.frozen.usage.is_empty(),
        "nothing was used before it began"
    );
    assert_eq!(first.frozen.pinned, ["tmux"]);
    place.put("home/.config/grove/config.toml", "");
    place.activate("tmux").unwrap();
    let later = session_file::read(&place.session()).unwrap().unwrap();
    assert_eq!(
        later.frozen, first.frozen,
        "a session keeps what it began with"
    );

    let (mut library, next) = (place.library(None), place.path("next.json"));
    let again = SkillCall {
        again: true,
        ..SkillCall::of("pdf")
    };
    Disclosure::new(&library.discover(), None)
        .activate(&again)
        .unwrap();
    Disclosure::new(&library.discover(), Some(&next))
        .activate(&SkillCall::of("pdf"))
        .unwrap();
    let frozen = session_file::read(&next).unwrap().unwrap().frozen;
    let label = label(&library.load());
    let scores: Vec<(&str, u32)> = frozen
        .usage
        .iter()
        .map(|(key, score)| (key.as_str(), *score))
        .collect();
    assert_eq!(
        scores,
        [
            (format!("pdf@{label}").as_str(), 200),
            (format!("tmux@{label}").as_str(), 100)
        ]
    );
    assert!(frozen.pinned.is_empty());
}

#[test]
fn a_damaged_record_of_use_is_said_and_begun_anew() {
    let place = Place::new();
    place.skill("pdf", "p\n");
    for damage in ["", "{", "{\"version\":0,\"skills\":{}}", "\u{0}\u{1}"] {
        place.put("home/.local/state/grove/usage.json", damage);
        let mut library = place.library(None);
        let activated = Disclosure::new(&library.discover(), None)
            .activate(&SkillCall::of("pdf"))
            .unwrap();
        let codes: Vec<Code> = activated
            .diagnostics
            .iter()
            .map(|finding| finding.code)
            .collect();
        assert_eq!(codes, [Code::UsageDamaged], "{damage:?}");
        assert!(activated.text.contains("\np\n"));
        let activated = Disclosure::new(&library.discover(), None)
            .activate(&SkillCall::of("pdf"))
            .unwrap();
        assert!(activated.diagnostics.is_empty(), "{damage:?}");
    }
    std::fs::remove_file(place.path("home/.local/state/grove/usage.json")).unwrap();
    std::fs::create_dir(place.path("home/.local/state/grove/usage.json")).unwrap();
    let mut library = place.library(None);
    let activated = Disclosure::new(&library.discover(), None)
        .activate(&SkillCall::of("pdf"))
        .unwrap();
    assert!(
        activated
            .diagnostics
            .iter()
            .any(|finding| finding.code == Code::UsageUnwritable)
    );
}

#[test]
fn a_session_lets_only_its_names_through() {
    let place = Place::new();
    place.skill("pdf", "p\n");
    place.skill("tmux", "t\n");
    let (mut library, session) = (place.library(Some(vec!["pdf".to_owned()])), place.session());
    let discovery = library.discover();
    let disclosure = Disclosure::new(&discovery, Some(&session));
    disclosure.activate(&SkillCall::of("pdf")).unwrap();
    let refused = disclosure.activate(&SkillCall::of("tmux"));
    assert!(matches!(
        refused,
        Err(DisclosureError::Refused {
            refusal: DisclosureRefusal::NotUsable(_),
            ..
        })
    ));
    let frozen = session_file::read(&session).unwrap().unwrap().frozen;
    assert_eq!(frozen.names.as_deref(), Some(&["pdf".to_owned()][..]));
}

#[test]
fn a_session_file_that_cannot_be_used_is_an_error_and_stays_as_it_is() {
    let place = Place::new();
    place.skill("pdf", "p\n");
    for content in [
        "",
        "{}",
        "null",
        "{\"version\": 7}",
        "{\"version\": 1, \"expanded\": 3}",
    ] {
        std::fs::write(place.session(), content).unwrap();
        let error = place.activate("pdf").unwrap_err();
        assert!(
            matches!(error, DisclosureError::Session(_)),
            "{content}: {error}"
        );
        assert_eq!(std::fs::read_to_string(place.session()).unwrap(), content);
    }
    std::fs::remove_file(place.session()).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.session()).unwrap();
    assert!(place.activate("pdf").is_err());
    assert!(!place.path("elsewhere").exists());
}

#[test]
fn hostile_folders_are_named_and_not_read() {
    let place = Place::new();
    place.skill("wide", "w\n");
    for n in 0..10_000 {
        std::fs::write(place.path(&format!("root/wide/f{n:05}.txt")), "").unwrap();
    }
    place.skill("odd", "o\n");
    place.put("root/odd/a/b/c/d/e/deep.txt", "");
    place.put("root/odd/name with <skill> & co.md", "");
    place.put("secret.txt", "SECRET");
    std::os::unix::fs::symlink(place.path("secret.txt"), place.path("root/odd/link.txt")).unwrap();
    std::os::unix::fs::symlink("/etc", place.path("root/odd/etc")).unwrap();
    std::os::unix::fs::symlink(".", place.path("root/odd/a/loop")).unwrap();
    let pipe = place.path("root/odd/pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );

    let wide = place.activate("wide").unwrap();
    assert_eq!(wide.text.matches("<file>").count(), 50);
    assert!(
        wide.text.contains("<file>f00049.txt</file>"),
        "the first in order"
    );
    assert!(
        wide.text
            .contains("9950 more files in this folder are not named here."),
        "{}",
        wide.text
    );
    let odd = place.activate("odd").unwrap();
    assert_eq!(
        odd.resources.names,
        ["name with <skill> & co.md", "a/b/c/d/e/"]
    );
    assert!(
        odd.text
            .contains("<file>name with &lt;skill&gt; &amp; co.md</file>")
    );
    assert!(
        odd.text
            .contains("2 links that lead out of this folder are not named here."),
        "{}",
        odd.text
    );
    assert!(!odd.text.contains("SECRET"));
}

#[test]
fn a_flat_file_has_no_resources_and_other_skills_folders_are_theirs() {
    let place = Place::new();
    place.put("root/flat.md", "---\nname: flat\ndescription: d\n---\nf\n");
    place.put("root/other.txt", "");
    place.skill("docs", "d\n");
    place.put("root/docs/own.txt", "");
    place.skill("docs/skills/pdf", "p\n");
    place.put("root/docs/skills/pdf/theirs.txt", "");
    let flat = place.activate("flat").unwrap();
    assert_eq!(flat.resources.names, Vec::<String>::new());
    assert_eq!(flat.folder, place.path("root"));
    let docs = place.activate("docs").unwrap();
    let without_declaration = ["own.txt", "skills/pdf/SKILL.md", "skills/pdf/theirs.txt"];
    assert_eq!(
        docs.resources.names, without_declaration,
        "nothing says that they are skills"
    );
    assert!(Path::new(&docs.folder).ends_with("root/docs"));

    let mut library = place.library(None);
    let discovery = library.discover();
    let snapshot = grown(&discovery.snapshot, &[]);
    let mut snapshot = Arc::into_inner(snapshot).unwrap();
    let docs = snapshot.skills[0].clone();
    assert_eq!(docs.id(), "docs");
    let mut child = docs.clone();
    child.place.id = "docs/skills/pdf".into();
    snapshot.skills.insert(1, child);
    let found = discovery.sources.skills.resources(&snapshot, &docs);
    let found = found.unwrap();
    assert_eq!(found.names, ["own.txt"], "a child's folder is the child's");
}
