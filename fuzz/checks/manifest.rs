//! Any bytes are a manifest or settings: reading them ends, quickly and without a panic; no path that is provided
//! leaves its package and no name of a package is more than a name; JSON is read as everybody reads it.

use grove_spec::json;
use grove_spec::package::{MAX_PATHS, Manifest, ManifestFile, PackageSource, read_settings};
use grove_spec::text::is_control;

/// Lists of one manifest: three of ours, four of pi's.
const LISTS: usize = 7;

fn is_plain(path: &str) -> bool {
    !path.contains(is_control)
        && !path.starts_with(['/', '~'])
        && !path
            .split(['/', '\\'])
            .any(|part| part == ".." || part == ".")
}

pub(crate) fn check(bytes: &[u8]) {
    for file in ManifestFile::ALL {
        let manifest = Manifest::read(bytes, file);
        assert!(manifest.provided.len() <= LISTS * MAX_PATHS);
        for provided in &manifest.provided {
            assert!(is_plain(&provided.path), "{:?}", provided.path);
        }
        assert!(!manifest.name.iter().any(|name| name.contains(is_control)));
    }
    for package in read_settings(bytes).packages {
        match package.source {
            PackageSource::Npm(path) | PackageSource::Git(path) => {
                assert!(is_plain(&path) && !path.contains('\\'), "{path:?}");
                assert!(
                    !path.split('/').any(|part| part.starts_with('-')),
                    "{path:?}"
                );
            }
            PackageSource::Path(path) => assert!(!path.contains(is_control)),
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let theirs = serde_json::from_str::<serde_json::Value>(text);
    match json::parse(text) {
        Ok(ours) => {
            if let Ok(theirs) = theirs {
                assert_eq!(json::value_of(&ours.node), theirs);
            }
        }
        // Ours is stricter about nesting and passes over a byte order mark, and that is all.
        Err(fault) => assert!(
            theirs.is_err() || fault.message.contains("nested"),
            "{fault:?}"
        ),
    }
}
