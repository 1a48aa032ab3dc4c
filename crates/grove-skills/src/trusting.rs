//! Granting and revoking trust: what is in a project, and remembering that it was seen.

mod findings;
mod nested;
mod seen_texts;
mod skill_folders;
mod survey;

pub(crate) use skill_folders::{FolderCache, file_is_as_judged, folder_is_as_judged};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grove_catalog::Digest;
use grove_catalog::trust::{self, RootTrust};
use grove_fs::approvals::Approvals;
use grove_fs::trust_store::{Grant, GrantLookup, Pins, TrustStore};
use grove_fs::{FsError, files};

use crate::environment::Environment;
use crate::project::{Project, ProjectRule};
use seen_texts::{SeenTexts, text_of};
use survey::survey;
pub use survey::{ItemKind, ReviewItem};

/// The reasons for not granting trust.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Home and what it lies in, temporary folders and whole file systems are never a project.
    #[error("{} cannot be trusted as a project", .0.display())]
    NeverAProject(PathBuf),
    /// There is nothing at the path.
    #[error("{} does not exist", .0.display())]
    NotThere(PathBuf),
    /// There is something else at the path.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// Trust is given to a folder above and can only be taken back there.
    #[error("{} is trusted as a part of {}", .0.display(), .1.display())]
    PartOf(PathBuf, PathBuf),
    /// There is no home, so there is nowhere to remember trust.
    #[error("{0}, so there is nowhere to store trust grants")]
    NoHome(String),
    /// The file system said no.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// A folder that would be trusted, and what is different from what was trusted before.
#[derive(Debug)]
pub struct TrustReview {
    /// The folder that would be trusted.
    pub folder: PathBuf,
    /// Set if later changes are trusted too.
    pub follow: bool,
    /// The items in the folder, by kind and path.
    pub items: Vec<ReviewItem>,
    /// Files that had not been seen, by path below the folder.
    pub new: Vec<String>,
    /// Files that had been seen with another content.
    pub changed: Vec<ChangedFile>,
    /// Files that had been seen and are gone.
    pub removed: Vec<String>,
    /// Files that were seen as they are.
    pub unchanged: usize,
    /// Skills whose folders cannot be pinned whole and which are not used therefore, each with the reason.
    pub not_pinned: Vec<(String, String)>,
    /// Folders below that were not searched for skills: too many, too deep, or unreadable.
    pub not_searched: Vec<String>,
    grant: Grant,
    absorbed: Vec<PathBuf>,
}

/// A file that was seen with another content.
#[derive(Debug)]
pub struct ChangedFile {
    /// Its path below the folder.
    pub path: String,
    /// Its text before and now, where it is one, both are known, and no secret is to be feared in it.
    pub texts: Option<(String, String)>,
}

impl TrustReview {
    /// The text of a file as it is trusted, where it is one and no secret is to be feared in it.
    pub fn text_of(&self, path: &str) -> Option<String> {
        let is_setting = |item: &ReviewItem| item.kind == ItemKind::Setting && item.path == path;
        if self.items.iter().any(is_setting) {
            return None;
        }
        let pin = self.grant.pins.get(path)?;
        text_of(&self.folder.join(path), trust::digest_word(pin))
    }

    /// The digest of everything that would be trusted.
    pub fn digest(&self) -> Digest {
        let folder = self.folder.as_os_str().as_encoded_bytes();
        let pins = self.grant.pins.iter();
        let pins = pins.flat_map(|(path, pin)| [path.as_bytes(), pin.as_bytes()]);
        Digest::of_fields(std::iter::once(folder).chain(pins))
    }

    /// Returns true if anything of an item is new or changed.
    pub fn is_new_or_changed(&self, item: &ReviewItem) -> bool {
        let is_of = |path: &str| {
            let rest = path.strip_prefix(item.path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let changed = self.changed.iter().map(|changed| &changed.path);
        let mut news = self.new.iter().chain(changed).chain(&self.removed);
        news.any(|path| is_of(path))
    }
}

/// Looks at everything that trusting a folder would mean; the working folder's project when none is given.
pub fn review(
    environment: &Environment,
    folder: Option<&Path>,
    follow: bool,
) -> Result<TrustReview, TrustError> {
    if let Some(why) = environment.why_nowhere() {
        return Err(TrustError::NoHome(why));
    }
    let folder = folder_for(environment, folder)?;
    let store = store(environment);
    let mut grant = TrustStore::grant_for(&folder, follow)?;
    let mut earlier = EarlierPins::find(&store, &folder);
    let survey = survey(environment, &folder);
    let pins = survey.pins();
    let texts = SeenTexts::new(&environment.state);
    let is_setting = |path: &str| {
        let key = (ItemKind::Setting, path.to_owned());
        survey.items.contains_key(&key)
    };
    let (mut new, mut changed, mut unchanged) = (Vec::new(), Vec::new(), 0);
    for (path, pin) in pins.iter().filter(|(_, pin)| trust::is_file(pin)) {
        match earlier.pins.get(path) {
            None => new.push(path.clone()),
            Some(seen) if seen == pin => unchanged += 1,
            Some(seen) => {
                let (before, now) = (trust::digest_word(seen), trust::digest_word(pin));
                let both = || Some((texts.get(before)?, text_of(&folder.join(path), now)?));
                changed.push(ChangedFile {
                    path: path.clone(),
                    texts: both().filter(|_| !is_setting(path)),
                });
            }
        }
    }
    // A file that is only met from another folder keeps its pin; files in a skill's folder are met from everywhere.
    let stays = |path: &String| !survey.is_in_skill(path) && files::is_there(&folder.join(path));
    let gone = earlier.pins.iter();
    let gone =
        gone.filter(|(path, pin)| trust::is_file(pin) && !pins.contains_key(*path) && !stays(path));
    let removed = gone.map(|(path, _)| path.clone()).collect();
    earlier.pins.retain(|path, _| stays(path));
    earlier.pins.extend(pins);
    grant.pins = Arc::new(earlier.pins);
    Ok(TrustReview {
        follow,
        items: survey.items.into_values().collect(),
        new,
        changed,
        removed,
        unchanged,
        not_pinned: survey.not_pinned.into_iter().collect(),
        not_searched: survey.not_searched,
        grant,
        absorbed: earlier.absorbed,
        folder,
    })
}

/// Trusts a folder exactly as it was when it was reviewed: a file that changed in the meantime counts as changed.
pub fn accept(environment: &Environment, review: &TrustReview) -> Result<(), TrustError> {
    let store = store(environment);
    let settings = review
        .items
        .iter()
        .filter(|item| item.kind == ItemKind::Setting);
    let settings: BTreeSet<&str> = settings.map(|item| item.path.as_str()).collect();
    let pins = review.grant.pins.iter();
    let texts = pins.filter(|(path, _)| !settings.contains(path.as_str()));
    let texts = texts.map(|(path, pin)| (review.folder.join(path), trust::digest_word(pin)));
    SeenTexts::new(&environment.state).keep(texts)?;
    store.store(&review.grant)?;
    for folder in &review.absorbed {
        store.revoke(folder)?;
    }
    Ok(())
}

/// Trusts a folder as it is now, for a caller who has reviewed it.
pub fn grant(
    environment: &Environment,
    folder: Option<&Path>,
    follow: bool,
) -> Result<TrustReview, TrustError> {
    let review = review(environment, folder, follow)?;
    accept(environment, &review)?;
    Ok(review)
}

/// A file that a command of the person's wrote or removed.
#[derive(Debug, Clone, Copy)]
pub struct WrittenFile<'a> {
    /// The path of the file.
    pub path: &'a Path,
    /// Its content before; none where there was no file.
    pub before: Option<&'a [u8]>,
    /// Its content now; none where there is no file.
    pub after: Option<&'a [u8]>,
}

/// Lets a trusted project stay trusted with a file that Grove wrote in it for the person, and with nothing else: a file
/// that was not as it was trusted stays changed, and so does a skill in whose folder anything else is new or changed.
pub fn keep_written(
    environment: &Environment,
    written: &WrittenFile<'_>,
) -> Result<(), TrustError> {
    let Some(folder) = written
        .path
        .ancestors()
        .skip(1)
        .find(|it| files::is_there(it))
    else {
        return Ok(());
    };
    let store = store(environment);
    let folder = files::canonical(folder)?;
    let GrantLookup::Granted(mut grant) = store.covering(&folder) else {
        return Ok(());
    };
    let path = files::without_links_above(written.path)?;
    let Some(below) = path.strip_prefix(&grant.path).ok().and_then(Path::to_str) else {
        return Ok(());
    };
    let digest = |content: &[u8]| Digest::of(content).to_string();
    let is_pinned = |pins: &Pins, content: Option<&[u8]>| {
        let pin = pins.get(below).map(|pin| trust::digest_word(pin));
        pin == content.map(digest).as_deref()
    };
    if grant.follow || (written.before.is_some() && !is_pinned(&grant.pins, written.before)) {
        return Ok(());
    }
    let review = review(environment, Some(&grant.path), false)?;
    let item = below.strip_suffix("/SKILL.md").unwrap_or(below);
    let is_of = |path: &str| {
        let rest = path.strip_prefix(item);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let changed = review.changed.iter().map(|changed| &changed.path);
    let mut news = review.new.iter().chain(changed).chain(&review.removed);
    let is_alone = news.all(|path| path == below || !is_of(path));
    if !is_alone || !is_pinned(&review.grant.pins, written.after) {
        return Ok(());
    }
    let mut pins = Pins::clone(&grant.pins);
    pins.retain(|path, _| !is_of(path));
    let of_item = review.grant.pins.iter().filter(|(path, _)| is_of(path));
    pins.extend(of_item.map(|(path, pin)| (path.clone(), pin.clone())));
    grant.pins = Arc::new(pins);
    let text = written.after.map(|content| (path.clone(), digest(content)));
    let text = text
        .iter()
        .map(|(path, digest)| (path.clone(), digest.as_str()));
    SeenTexts::new(&environment.state).keep(text)?;
    Ok(store.store(&grant)?)
}

/// The pins that earlier grants of a folder, and of folders below it, have.
#[derive(Default)]
struct EarlierPins {
    pins: Pins,
    /// Folders below with a grant of their own. The nearest grant decides, so it would hide the new one.
    absorbed: Vec<PathBuf>,
}

impl EarlierPins {
    fn find(store: &TrustStore, folder: &Path) -> Self {
        let mut earlier = Self::default();
        let of_the_tree = |grant: &Grant| {
            grant.path.starts_with(folder)
                && matches!(store.covering(&grant.path), GrantLookup::Granted(sound) if sound == *grant)
        };
        for grant in store.grants().into_iter().filter(of_the_tree) {
            // A folder below whose changes are followed keeps its own grant.
            let below = grant.path != folder;
            if below && grant.follow {
                continue;
            }
            let prefix = grant.path.strip_prefix(folder).unwrap_or(&grant.path);
            let pins = grant.pins.iter();
            earlier.pins.extend(pins.map(|(path, pin)| {
                let path = prefix.join(path).to_string_lossy().into_owned();
                (path, pin.clone())
            }));
            if below {
                earlier.absorbed.push(grant.path);
            }
        }
        earlier
    }
}

/// Takes trust back; says whether there was any.
pub fn revoke(
    environment: &Environment,
    folder: Option<&Path>,
) -> Result<(PathBuf, bool), TrustError> {
    let store = store(environment);
    let working = environment.working.join(folder.unwrap_or(Path::new("")));
    let asked = files::canonical(&working).unwrap_or(working);
    if store.revoke(&asked)? {
        return Ok((asked, true));
    }
    match store.covering(&asked) {
        // Without a folder one means whatever makes this place trusted.
        GrantLookup::Granted(grant) if folder.is_none() => {
            Ok((grant.path.clone(), store.revoke(&grant.path)?))
        }
        GrantLookup::Granted(grant) => Err(TrustError::PartOf(asked, grant.path)),
        _ if folder.is_none() => Ok((folder_for(environment, None)?, false)),
        _ => Ok((asked, false)),
    }
}

/// All grants that are stored.
pub fn grants(environment: &Environment) -> Vec<Grant> {
    store(environment).grants()
}

/// The approvals that a user has given.
pub fn approvals(environment: &Environment) -> Approvals {
    Approvals::new(folder(environment))
}

pub(crate) fn store(environment: &Environment) -> TrustStore {
    TrustStore::new(folder(environment))
}

pub(crate) fn folder(environment: &Environment) -> PathBuf {
    environment.state.join("trust")
}

fn folder_for(environment: &Environment, folder: Option<&Path>) -> Result<PathBuf, TrustError> {
    let folder = if let Some(folder) = folder {
        existing(&environment.working.join(folder))?
    } else {
        let working = files::canonical(&environment.working)?;
        let project = Project::find(environment);
        project.grant_folder().map_or(working, Path::to_path_buf)
    };
    let may_be_project = ProjectRule::in_environment(environment).allows(&folder);
    if may_be_project && !files::is_mount_root(&folder) {
        Ok(folder)
    } else {
        Err(TrustError::NeverAProject(folder))
    }
}

fn existing(folder: &Path) -> Result<PathBuf, TrustError> {
    match files::canonical(folder) {
        Ok(canonical) if files::is_folder(&canonical) => Ok(canonical),
        Ok(_) => Err(TrustError::NotAFolder(folder.to_path_buf())),
        Err(error) if error.is_not_found() => Err(TrustError::NotThere(folder.to_path_buf())),
        Err(error) => Err(error.into()),
    }
}

/// The word for the trust in a project folder, for display.
pub fn describe(trust: &RootTrust) -> &'static str {
    match trust {
        RootTrust::Trusted => "trusted",
        RootTrust::Untrusted | RootTrust::NotByHost { .. } => "untrusted",
        RootTrust::Pinned { .. } => "trusted as seen",
        RootTrust::NamedAnew { .. } => "named anew",
    }
}
