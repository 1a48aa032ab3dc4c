//! Any change to the bytes of a search index, with its checksum made right again: it is refused, or it answers
//! something; nothing panics, hangs or floods memory.

use std::sync::{Arc, LazyLock};

use grove_catalog::content::SkillContent;
use grove_catalog::eligibility::MachineFacts;
use grove_catalog::identity::SkillLayout;
use grove_catalog::resolve::{ResolveInput, SkillCandidate, SkillRules, resolve};
use grove_catalog::root::{Root, RootRank, RootSource};
use grove_catalog::search::{
    IndexBuilder, SearchAudience, SearchDocument, SearchIndex, SearchQuery, confusable,
    make_checksum_right, search,
};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::trust::RootTrust;
use grove_spec::config::Settings;
use grove_spec::skill::parse_bytes;

const SKILLS: [(&str, &str, &str); 5] = [
    (
        "pdf",
        "Makes PDF documents. Use when a PDF is asked for.",
        "# Forms\nFill forms and tables.",
    ),
    (
        "docx",
        "Makes Word documents. Use when Word is asked for.",
        "# Letters\nWrite letters.",
    ),
    (
        "deploy-k8s",
        "Deploys to Kubernetes (k8s).",
        "Run `kubectl apply`.",
    ),
    (
        "review",
        "Reviews pull requests.",
        "Look for faults in changes.",
    ),
    (
        "release-notes",
        "Writes release notes.",
        "List what changed since the last version.",
    ),
];

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    let candidates = SKILLS.iter().enumerate().map(|(at, (name, about, body))| {
        let text = format!("---\nname: {name}\ndescription: {about}\n---\n{body}\n");
        let content = SkillContent::new(
            at as u128,
            None,
            text.len() as u64,
            parse_bytes(text.as_bytes()),
        );
        SkillCandidate {
            root: 0,
            layout: SkillLayout::Folder,
            id: (*name).into(),
            file: None,
            hard_links: 1,
            through_link: false,
            content: Arc::new(content),
        }
    });
    resolve(ResolveInput {
        roots: vec![Root {
            label: "user:skills".to_owned(),
            path: "/skills".into(),
            source: RootSource::User,
            rank: RootRank::of(RootSource::User),
            trust: RootTrust::Trusted,
        }],
        candidates: candidates.collect(),
        settings: &Settings::default(),
        facts: &MachineFacts::default(),
        names: None,
        rules: SkillRules::GROVE,
        used: &|_| 0,
        diagnostics: Vec::new(),
    })
});

static INDEX: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut builder = IndexBuilder::default();
    for (at, (name, description, body)) in SKILLS.iter().enumerate() {
        builder.add(&SearchDocument {
            key: at as u128,
            name,
            id: name,
            description,
            body,
        });
    }
    builder.finish(*SNAPSHOT.skills_digest.as_bytes())
});

pub(crate) fn check(edits: &[u8]) {
    let mut bytes = INDEX.clone();
    for edit in edits.chunks_exact(3).take(200) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % bytes.len();
        bytes[at] = edit[2];
    }
    make_checksum_right(&mut bytes);
    let Some(index) = SearchIndex::open(bytes) else {
        return;
    };
    for text in [
        "pdf forms",
        "deploy to kubernetes",
        "review",
        "zzz",
        "release-notes",
    ] {
        let query = SearchQuery {
            text,
            limit: 10,
            audience: SearchAudience::Model,
        };
        if let Ok(hits) = search(&SNAPSHOT, &index, &query) {
            assert!(hits.len() <= 10 && hits.iter().all(|hit| hit.skill < SKILLS.len()));
        }
    }
    let _ = confusable::find(&SNAPSHOT, &index);
    let mut kept = IndexBuilder::default();
    for document in 0..index.documents().min(100) {
        kept.keep(&index, document);
    }
    let again = kept.finish([0; 32]);
    assert!(SearchIndex::open(again).is_some());
}
