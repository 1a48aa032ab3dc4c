//! Snapshots for tests: roots, skill files and what they are resolved into.

use std::path::PathBuf;
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::content::SkillContent;
use grove_catalog::eligibility::MachineFacts;
use grove_catalog::identity::SkillLayout;
use grove_catalog::resolve::{ResolveInput, SkillCandidate, SkillRules, none_used, resolve};
use grove_catalog::root::{Root, RootRank, RootSource};
use grove_catalog::snapshot::Snapshot;
use grove_catalog::trust::RootTrust;
use grove_spec::Diagnostic;
use grove_spec::config::Settings;
use grove_spec::skill::parse_bytes;

/// A trusted root.
pub(crate) fn root(source: RootSource, label: &str, path: impl Into<PathBuf>) -> Root {
    Root {
        label: label.to_owned(),
        path: path.into(),
        source,
        rank: RootRank::of(source),
        trust: RootTrust::Trusted,
    }
}

/// `/user` and `/extra`, called `user:s` and `extra:s`.
pub(crate) fn user_and_extra() -> Vec<Root> {
    let roots = [(RootSource::User, "user:s"), (RootSource::Extra, "extra:s")];
    let of =
        |(source, label): (RootSource, &str)| root(source, label, format!("/{}", source.as_str()));
    roots.map(of).into()
}

/// A skill in a folder of its own.
pub(crate) fn candidate(root: usize, id: &str, text: &str) -> SkillCandidate {
    let digest = Digest::of(text.as_bytes());
    let (fingerprint, _) = digest.as_bytes().split_first_chunk().unwrap();
    let content = SkillContent::new(
        u128::from_le_bytes(*fingerprint),
        Some(digest),
        text.len() as u64,
        parse_bytes(text.as_bytes()),
    );
    SkillCandidate {
        root,
        layout: SkillLayout::Folder,
        id: id.into(),
        file: None,
        hard_links: 1,
        through_link: false,
        content: Arc::new(content),
    }
}

/// What is found on Linux by Grove's own rules.
pub(crate) fn look(
    roots: Vec<Root>,
    candidates: impl IntoIterator<Item = SkillCandidate>,
    settings: &Settings,
) -> Snapshot {
    look_by(SkillRules::GROVE, roots, candidates, settings, Vec::new())
}

/// The same by other rules, after these findings.
pub(crate) fn look_by(
    rules: SkillRules,
    roots: Vec<Root>,
    candidates: impl IntoIterator<Item = SkillCandidate>,
    settings: &Settings,
    diagnostics: Vec<Diagnostic>,
) -> Snapshot {
    let facts = MachineFacts {
        os: "linux".into(),
        ..MachineFacts::default()
    };
    resolve(ResolveInput {
        roots,
        candidates: candidates.into_iter().collect(),
        settings,
        facts: &facts,
        names: None,
        rules,
        used: &none_used,
        diagnostics,
    })
}
