//! What is written for a project stays in it: a link that came with the project must not lead the writing elsewhere.

use std::path::{Path, PathBuf};

use grove_fs::files;

use super::ManageError;

/// The file below a project's folder, if no link on the way to it leads out of the folder.
pub(super) fn within(root: &Path, below: &Path) -> Result<PathBuf, ManageError> {
    let real = files::canonical(root)?;
    let mut way = root.to_path_buf();
    for part in below {
        way.push(part);
        if !files::is_link(&way) {
            continue;
        }
        let leads_to = files::canonical(&way);
        // Nobody can say that a link that leads nowhere will stay inside once something is there.
        if !leads_to.as_ref().is_ok_and(|to| to.starts_with(&real)) {
            let to = leads_to.or_else(|_| files::link_target(&way))?;
            return Err(ManageError::LedOut { link: way, to });
        }
    }
    Ok(way)
}
