//! Who gets in: links that are good for one browser, and the browsers that have used one.
//!
//! A link carries a secret. The first browser that follows it gets a cookie in its place, and the link is used up. The file in
//! the state folder has only the digests of both, so that the page can be served again by another process, and so that a
//! command can add a link to a page that is being served.
//!
//! Browsers send a cookie to every port of a machine. So all pages lie below a folder with a name that cannot be guessed, and
//! the cookie is for that folder alone: a program on another port never sees it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grove_fs::lock::Lock;
use grove_fs::{FsError, atomic, files};
use grove_spec::Digest;
use serde::{Deserialize, Serialize};

use crate::token::Token;

/// The longest wait for another process that changes the file.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// The most bytes of the file that are read.
const MOST_BYTES: u64 = 256 << 10;
/// The most links that wait for a browser; a new one takes the place of the oldest.
const MOST_LINKS: usize = 64;
/// The most browsers that are known.
const MOST_BROWSERS: usize = 64;
/// The seconds for which a link waits for a browser.
const LINK_SECONDS: u64 = 24 * 60 * 60;
/// The seconds for which a browser is known.
pub(super) const BROWSER_SECONDS: u64 = 30 * 24 * 60 * 60;
/// The digits of the folder's name.
const FOLDER_DIGITS: usize = 16;

/// What a browser may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PageRight {
    /// The right to read everything.
    Read,
    /// To read, and to answer questions.
    Answer,
    /// To do everything that the person can do in a terminal.
    All,
}

impl PageRight {
    /// The words for the right.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "read and answer questions",
            Self::All => "do everything",
        }
    }
}

/// The reason why links and browsers cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The file cannot be read, written or locked.
    #[error(transparent)]
    File(#[from] FsError),
    /// The file is not as this program writes it.
    #[error("{path} is damaged")]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The fault in it.
        source: serde_json::Error,
    },
    /// The system has no randomness to give.
    #[error("the system could not generate a random token")]
    NoRandomness,
}

/// A secret that was given away, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptSecret {
    digest: Digest,
    right: PageRight,
    /// The time in seconds since 1970.
    made: u64,
}

/// The file of links and browsers.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AccessFile {
    /// The folder below which all pages lie.
    folder: String,
    /// The secret from which the tokens of forms are made.
    secret: String,
    /// The port at which the page was last served.
    port: Option<u16>,
    links: Vec<KeptSecret>,
    browsers: Vec<KeptSecret>,
}

impl AccessFile {
    fn new() -> Result<Self, AccessError> {
        let folder = new_secret()?;
        let folder = folder.get(..FOLDER_DIGITS).unwrap_or_default();
        Ok(Self {
            folder: folder.to_owned(),
            secret: new_secret()?,
            port: None,
            links: Vec::new(),
            browsers: Vec::new(),
        })
    }
}

fn new_secret() -> Result<String, AccessError> {
    let token = Token::generate().ok_or(AccessError::NoRandomness)?;
    Ok(token.secret().to_owned())
}

/// The links and browsers of a state folder.
#[derive(Debug)]
pub struct WebAccess {
    path: PathBuf,
    /// The file as it was last read or written by this process.
    known: Mutex<AccessFile>,
}

/// A browser that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownBrowser {
    pub(super) right: PageRight,
    /// The digest of its cookie, from which the tokens of its forms are made.
    cookie: Digest,
}

impl WebAccess {
    /// Reads the file of a state folder, or makes one.
    pub fn open(state: &Path) -> Result<Self, AccessError> {
        files::make_closed_folder(state)?;
        let path = state.join("web.json");
        let _lock = Lock::take(&path, LOCK_WAIT)?;
        let kept = if files::is_there(&path) {
            read(&path)?
        } else {
            let new = AccessFile::new()?;
            write(&path, &new)?;
            new
        };
        Ok(Self {
            path,
            known: Mutex::new(kept),
        })
    }

    /// Returns true if a process serves the page of this state folder.
    pub fn is_served(&self) -> bool {
        Lock::take(&self.serving(), Duration::ZERO).is_err()
    }

    /// Takes the right to serve the page of this state folder, which one process has at a time.
    pub(super) fn serve(&self) -> Result<Lock, AccessError> {
        Ok(Lock::take(&self.serving(), Duration::ZERO)?)
    }

    /// The file whose lock the process holds that serves the page.
    fn serving(&self) -> PathBuf {
        self.path.with_file_name("web-serving")
    }

    /// The port at which the page was last served.
    pub fn port(&self) -> Option<u16> {
        self.known().port
    }

    /// The name of the folder below which all pages lie.
    pub(super) fn folder(&self) -> String {
        self.known().folder.clone()
    }

    /// Notes the port at which the page is served now. Where another program has taken the port of before, that program may
    /// have been sent cookies: nothing of what was given away is good any more.
    pub(super) fn serve_at(&self, port: u16) -> Result<(), AccessError> {
        self.change(|kept| {
            if kept.port.is_some_and(|before| before != port) {
                *kept = AccessFile::new()?;
            }
            kept.port = Some(port);
            Ok(())
        })
    }

    /// Returns the path of a new link with a right, to be followed by the path of a page.
    pub fn new_link(&self, right: PageRight) -> Result<String, AccessError> {
        let secret = new_secret()?;
        self.change(|kept| {
            let made = now();
            kept.links.retain(|link| link.made + LINK_SECONDS > made);
            let beyond = (kept.links.len() + 1).saturating_sub(MOST_LINKS);
            kept.links.drain(..beyond);
            kept.links.push(KeptSecret {
                digest: Digest::of(secret.as_bytes()),
                right,
                made,
            });
            Ok(format!("/{}/in/{secret}", kept.folder))
        })
    }

    /// Takes a link and returns the cookie for it; none if no such link waits for a browser.
    pub(super) fn follow_link(&self, secret: &str) -> Result<Option<String>, AccessError> {
        let given = Digest::of(secret.as_bytes());
        self.change(|kept| {
            let now = now();
            let is_it = |link: &KeptSecret| link.digest == given && link.made + LINK_SECONDS > now;
            let Some(at) = kept.links.iter().position(is_it) else {
                return Ok(None);
            };
            let right = kept.links.remove(at).right;
            let cookie = new_secret()?;
            let beyond = (kept.browsers.len() + 1).saturating_sub(MOST_BROWSERS);
            kept.browsers.drain(..beyond);
            kept.browsers.push(KeptSecret {
                digest: Digest::of(cookie.as_bytes()),
                right,
                made: now,
            });
            Ok(Some(cookie))
        })
    }

    /// The browser that has a cookie.
    pub(super) fn browser(&self, cookie: &str) -> Option<KnownBrowser> {
        let cookie = Digest::of(cookie.as_bytes());
        let known = self.known();
        let now = now();
        let is_it = |it: &&KeptSecret| it.digest == cookie && it.made + BROWSER_SECONDS > now;
        let right = known.browsers.iter().find(is_it)?.right;
        Some(KnownBrowser { right, cookie })
    }

    /// The token of a form: for one browser, one action and one thing that it is about.
    pub(super) fn form_token(&self, browser: &KnownBrowser, action: &str, about: &str) -> String {
        let secret = self.known().secret.clone();
        let cookie = browser.cookie.to_string();
        let token = Digest::of_fields([secret.as_str(), &cookie, action, about]);
        token.to_string()
    }

    fn known(&self) -> MutexGuard<'_, AccessFile> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the file as it is now: another process may have added links.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut AccessFile) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let _lock = Lock::take(&self.path, LOCK_WAIT)?;
        let mut kept = read(&self.path)?;
        let done = change(&mut kept)?;
        write(&self.path, &kept)?;
        *self.known() = kept;
        Ok(done)
    }
}

fn read(path: &Path) -> Result<AccessFile, AccessError> {
    let bytes = files::read_bounded(path, MOST_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|source| AccessError::Damaged {
        path: path.to_path_buf(),
        source,
    })
}

fn write(path: &Path, kept: &AccessFile) -> Result<(), AccessError> {
    let text = serde_json::to_vec_pretty(kept).map_err(|source| AccessError::Damaged {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(atomic::write_mode(path, &text, 0o600)?)
}

/// The time in seconds since 1970.
fn now() -> u64 {
    grove_engine::now().wall / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret_of(link: &str) -> &str {
        link.rsplit('/').next().unwrap()
    }

    #[test]
    fn a_link_is_good_for_one_browser() {
        let folder = tempfile::tempdir().unwrap();
        let access = WebAccess::open(folder.path()).unwrap();
        let link = access.new_link(PageRight::Answer).unwrap();
        let cookie = access.follow_link(secret_of(&link)).unwrap().unwrap();
        assert_eq!(access.follow_link(secret_of(&link)).unwrap(), None);
        let browser = access.browser(&cookie).unwrap();
        assert_eq!(browser.right, PageRight::Answer);
        for wrong in ["", "x", secret_of(&link)] {
            assert_eq!(access.browser(wrong), None);
            assert_eq!(access.follow_link(wrong).unwrap(), None);
        }
    }

    #[test]
    fn another_process_adds_links_and_serves_the_same_browsers() {
        let folder = tempfile::tempdir().unwrap();
        let served = WebAccess::open(folder.path()).unwrap();
        let command = WebAccess::open(folder.path()).unwrap();
        let link = command.new_link(PageRight::All).unwrap();
        let cookie = served.follow_link(secret_of(&link)).unwrap().unwrap();
        drop(served);
        let later = WebAccess::open(folder.path()).unwrap();
        assert!(later.browser(&cookie).is_some());
        assert!(link.starts_with(&format!("/{}/in/", later.folder())));
    }

    #[test]
    fn a_form_is_of_one_browser_and_for_one_thing() {
        let folder = tempfile::tempdir().unwrap();
        let access = WebAccess::open(folder.path()).unwrap();
        let mut browsers = (0..2).map(|_| {
            let link = access.new_link(PageRight::All).unwrap();
            let cookie = access.follow_link(secret_of(&link)).unwrap().unwrap();
            access.browser(&cookie).unwrap()
        });
        let (one, other) = (browsers.next().unwrap(), browsers.next().unwrap());
        let token = access.form_token(&one, "stop", "r1.2");
        assert_eq!(token, access.form_token(&one, "stop", "r1.2"));
        for another in [
            access.form_token(&other, "stop", "r1.2"),
            access.form_token(&one, "pause", "r1.2"),
            access.form_token(&one, "stop", "r1.3"),
        ] {
            assert_ne!(token, another);
        }
    }

    #[test]
    fn another_port_makes_everything_new_and_the_file_has_no_secret_that_was_given_away() {
        let folder = tempfile::tempdir().unwrap();
        let access = WebAccess::open(folder.path()).unwrap();
        access.serve_at(4_000).unwrap();
        let link = access.new_link(PageRight::All).unwrap();
        let kept = || grove_fs::files::read_bounded(&folder.path().join("web.json"), 1 << 20);
        let has = |secret: &str| String::from_utf8(kept().unwrap()).unwrap().contains(secret);
        assert!(has("4000") && !has(secret_of(&link)));
        let cookie = access.follow_link(secret_of(&link)).unwrap().unwrap();
        assert!(!has(&cookie));
        access.serve_at(4_000).unwrap();
        assert!(access.browser(&cookie).is_some());
        let before = access.folder();
        access.serve_at(4_001).unwrap();
        assert!(access.browser(&cookie).is_none());
        assert_ne!(access.folder(), before);
    }
}
