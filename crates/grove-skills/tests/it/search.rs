//! Searching real files: what is found and why, what is left out, what is read again, what damage does.

use std::fs;
use std::path::{Path, PathBuf};

use grove_skills::search::{SearchAudience, SearchQuery, SearchResult, Searcher};
use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_spec::Code;
use grove_testkit::library::GeneratedLibrary;
use tempfile::TempDir;

struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("skills")
    }

    fn skill(&self, id: &str, frontmatter: &str, body: &str) {
        let folder = self.root().join(id);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("---\n{frontmatter}\n---\n\n{body}\n");
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }

    fn library(&self) -> Library {
        library(&self.root(), &self.folder.path().join("cache"))
    }

    fn index(&self) -> PathBuf {
        let folder = self.folder.path().join("cache/search");
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

fn library(root: &Path, cache: &Path) -> Library {
    let environment = Environment {
        cache: Some(cache.to_owned()),
        ..Environment::for_home("/nonexistent".into(), "/nonexistent".into())
    };
    let request = DiscoveryRequest {
        view: DiscoveryView::Folders(vec![root.to_owned()]),
        all: true,
        ..DiscoveryRequest::default()
    };
    Library::new(environment, request)
}

fn ask(text: &str, audience: SearchAudience) -> SearchQuery<'_> {
    SearchQuery {
        text,
        limit: 10,
        audience,
    }
}

fn names(found: &SearchResult) -> Vec<&str> {
    let hits = found.hits.iter();
    hits.map(|hit| found.snapshot.skills[hit.skill].name())
        .collect()
}

fn few(home: &Home) {
    home.skill(
        "docs/pdf-merge",
        "name: pdf-merge\ndescription: Joins PDF files into one",
        "Use qpdf to concatenate.",
    );
    home.skill(
        "deploy",
        "name: deploy\ndescription: Ships a release to Kubernetes",
        "Run helmUpgrade and watch the rollout.\n\nThe Pod Disruption Budget (PDB) matters.",
    );
    home.skill(
        "review",
        "name: review\ndescription: Reads a patch and looks for mistakes",
        "Look at every hunk.",
    );
    home.skill(
        "secret-plan",
        "name: secret-plan\ndescription: Plans a rollout in secret\ndisable-model-invocation: true",
        "Nothing to see.",
    );
}

#[test]
fn words_lead_to_their_skill() {
    let home = Home::new();
    few(&home);
    let mut library = home.library();
    let mut searcher = Searcher::default();
    for (text, expected) in [
        ("joining two pdfs", "pdf-merge"),
        ("concatenation", "pdf-merge"),
        ("k8s", "deploy"),
        ("helm upgrade", "deploy"),
        ("pod disruption budget", "deploy"),
        ("pdb", "deploy"),
        ("kubernets", "deploy"),
        ("mistake", "review"),
        ("PDF_MERGE", "pdf-merge"),
        ("docs/pdf-merge", "pdf-merge"),
        ("/deploy", "deploy"),
        ("dep", "deploy"),
        ("reveiw", "review"),
    ] {
        let found = searcher.search(&mut library, &ask(text, SearchAudience::Model));
        assert_eq!(names(&found).first(), Some(&expected), "{text}: {found:?}");
    }
    let found = searcher.search(&mut library, &ask("pdf hunk", SearchAudience::Model));
    let first = &found.hits[0];
    assert_eq!(first.path, ["docs"]);
    let why: Vec<(&str, &str)> = first
        .why
        .iter()
        .map(|reason| (reason.word.as_str(), reason.field.as_str()))
        .collect();
    assert_eq!(why, [("pdf", "name")]);
    for nothing in ["", "   ", "how do I", "zzyzx", "\u{0}\u{202e}"] {
        let found = searcher.search(&mut library, &ask(nothing, SearchAudience::Model));
        assert!(found.hits.is_empty(), "{nothing:?}: {found:?}");
    }
}

#[test]
fn a_model_is_not_given_what_models_are_not_told_of() {
    let home = Home::new();
    few(&home);
    home.skill("broken", "name: [\ndescription: secret plan", "secret plan");
    let mut library = home.library();
    let mut searcher = Searcher::default();
    for text in ["secret plan", "secret-plan"] {
        let told = searcher.search(&mut library, &ask(text, SearchAudience::Model));
        assert!(!names(&told).contains(&"secret-plan"), "{told:?}");
        let person = searcher.search(&mut library, &ask(text, SearchAudience::Person));
        assert_eq!(names(&person).first(), Some(&"secret-plan"));
        assert!(!names(&person).contains(&"broken"), "{person:?}");
    }
    let found = searcher.search(&mut library, &ask("rollout", SearchAudience::Model));
    assert_eq!(names(&found), ["deploy"]);
}

#[test]
fn only_what_changed_is_read_again() {
    let home = Home::new();
    few(&home);
    let mut searcher = Searcher::default();
    let query = ask("qpdf", SearchAudience::Model);
    assert_eq!(
        names(&searcher.search(&mut home.library(), &query)),
        ["pdf-merge"]
    );
    assert_eq!(searcher.files_read(), 4);
    let mut next = Searcher::default();
    assert_eq!(
        names(&next.search(&mut home.library(), &query)),
        ["pdf-merge"]
    );
    assert_eq!(next.files_read(), 0, "the index on disk is enough");
    home.skill(
        "review",
        "name: review\ndescription: Reads a patch",
        "Uses qpdf too, qpdf.",
    );
    fs::remove_dir_all(home.root().join("deploy")).unwrap();
    for mut other in [next, Searcher::default()] {
        let found = other.search(&mut home.library(), &query);
        assert_eq!(names(&found).len(), 2, "{found:?}");
        assert!(other.files_read() <= 1, "{}", other.files_read());
        assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    }
}

#[test]
fn a_file_that_changes_under_the_search_is_looked_at_again() {
    let home = Home::new();
    few(&home);
    let mut library = home.library();
    let old = library.discover();
    home.skill(
        "review",
        "name: review\ndescription: Reads a patch",
        "All about zebras.",
    );
    let found =
        Searcher::default().search_in(&mut library, &old, &ask("zebra", SearchAudience::Model));
    assert_eq!(names(&found), ["review"]);
    assert_ne!(found.snapshot.digest, old.snapshot.digest);
}

#[test]
fn a_damaged_index_is_made_anew_with_a_notice() {
    let home = Home::new();
    few(&home);
    let query = ask("joins pdf files", SearchAudience::Model);
    let expected = Searcher::default().search(&mut home.library(), &query).hits;
    let file = home.index();
    let good = fs::read(&file).unwrap();
    let mut noticed = 0;
    for at in (0..good.len()).step_by(61) {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        fs::write(&file, &bad).unwrap();
        let found = Searcher::default().search(&mut home.library(), &query);
        assert_eq!(found.hits, expected, "bit flipped at {at}");
        if let [finding] = found.diagnostics.as_slice() {
            assert_eq!(finding.code, Code::CacheDamaged);
            assert_eq!(fs::read(&file).unwrap(), good, "it was made anew");
            noticed += 1;
        }
    }
    assert!(noticed > 10, "{noticed}");
    for bad in [&b""[..], b"garbage", &good[..good.len() / 2]] {
        fs::write(&file, bad).unwrap();
        let found = Searcher::default().search(&mut home.library(), &query);
        assert_eq!((found.hits, found.diagnostics.len()), (expected.clone(), 1));
    }
}

#[test]
fn several_processes_share_one_index() {
    let home = Home::new();
    few(&home);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let query = ask("patch", SearchAudience::Model);
                    let found = Searcher::default().search(&mut home.library(), &query);
                    assert_eq!(names(&found), ["review"]);
                    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
                }
            });
        }
    });
}

/// All ten thousand are asked for by `cargo xtask bench search`.
#[test]
fn skills_of_a_large_library_are_found_by_id_and_name() {
    let home = Home::new();
    let size = 2_000;
    let generated = GeneratedLibrary::create(home.root(), size).unwrap();
    let mut library = home.library();
    let discovery = library.discover();
    let snapshot = &discovery.snapshot;
    assert_eq!(snapshot.skills.len(), generated.n_skills());
    let mut searcher = Searcher::default();
    for at in (0..size).step_by(97) {
        let skill = &snapshot.skills[at];
        let mut ask = |text: &str| {
            let query = ask(text, SearchAudience::Model);
            searcher.search_in(&mut library, &discovery, &query).hits
        };
        assert_eq!(ask(skill.id())[0].skill, at, "{}", skill.id());
        assert!(ask(skill.name()).iter().any(|hit| hit.skill == at));
    }
}

#[test]
fn near_twins_and_their_difference_are_named() {
    let home = Home::new();
    few(&home);
    for tool in ["qpdf", "ghostscript"] {
        let name = format!("{tool}-optimise");
        home.skill(
            &name,
            &format!("name: {name}\ndescription: Makes scanned PDF documents smaller with {tool}"),
            "Shrink the pictures.",
        );
    }
    let mut library = home.library();
    let discovery = library.discover();
    let (snapshot, found, _) = Searcher::default().confusable_in(&mut library, &discovery);
    let pair = found.pairs.first().expect("a pair");
    let names = pair.skills.map(|at| snapshot.skills[at].name());
    assert_eq!(names, ["ghostscript-optimise", "qpdf-optimise"]);
    assert!(
        pair.change.contains("ghostscript") && pair.change.contains("qpdf"),
        "{pair:?}"
    );
    assert!(found.families.is_empty(), "{found:?}");
}
