//! The skills inside the binary, written once to the data folder so that every location can be read.

use std::path::PathBuf;

use grove_catalog::Digest;
use grove_fs::atomic::{self, Durability};
use grove_fs::{FsError, files};

use crate::environment::Environment;

const FILES: [(&str, &str); 1] = [("grove/SKILL.md", include_str!("../bundled/grove/SKILL.md"))];

/// The folder with the bundled skills; written first if this version's is not there yet.
pub(crate) fn folder(environment: &Environment) -> Result<PathBuf, FsError> {
    if let Some(folder) = &environment.bundled_dir {
        return Ok(folder.clone());
    }
    let folder = environment.data.join("bundled").join(&version()[..16]);
    for (path, text) in FILES {
        let file = folder.join(path);
        // What is bundled is what is in the binary: a file that was cut short or changed is written again.
        let is_same = files::read_bounded(&file, text.len() as u64)
            .is_ok_and(|bytes| bytes == text.as_bytes());
        if !is_same {
            atomic::write(&file, text.as_bytes(), Durability::Cache)?;
        }
    }
    Ok(folder)
}

fn version() -> String {
    let mut all = String::new();
    for (path, text) in FILES {
        all.push_str(path);
        all.push('\0');
        all.push_str(text);
        all.push('\0');
    }
    Digest::of(all.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bundled_skills_are_beyond_reproach() {
        for (path, text) in super::FILES {
            let folder = path.split('/').next().unwrap_or_default();
            let findings =
                grove_spec::skill::strict::validate(&grove_spec::skill::parse(text), folder);
            assert_eq!(findings, [], "{path}");
        }
    }
}
