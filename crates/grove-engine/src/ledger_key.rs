//! The key with which this installation signs the ends of runs.

use grove_fs::FsError;
use grove_fs::file_place::FilePlace;
use grove_store::{SigningKey, Store, StoreError};

use crate::places::RunPlaces;

/// The bytes of the secret that a key is made from.
const SEED: usize = 32;

/// The reasons why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file cannot be used.
    #[error("the state folder of runs cannot be used")]
    Folder(#[from] FsError),
    /// The journal cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another user could have written the file.
    #[error("{path} belongs to another user, or everybody may write it")]
    NotOwn {
        /// The file or folder.
        path: std::path::PathBuf,
    },
    /// The key is not what it should be.
    #[error("the key that signs ledgers, {path}, {problem}")]
    Key {
        /// The file of the key.
        path: std::path::PathBuf,
        /// The problem with the file, after its name.
        problem: &'static str,
    },
}

impl RunPlaces {
    /// Opens the journal with the key of this installation, which is made if there is none. The folder has to be there.
    pub fn open_journal(&self) -> Result<Store, JournalError> {
        self.require_own_journal()?;
        self.close_journal()?;
        let key = self.signing_key()?;
        Ok(Store::open_signing(&self.journal(), key)?)
    }

    /// Refuses a journal that others can write: it would let them decide what runs do.
    fn require_own_journal(&self) -> Result<(), JournalError> {
        let journal = self.journal();
        let log = journal.with_extension("db-wal");
        for path in [self.folder().to_path_buf(), journal, log] {
            if grove_fs::files::is_there(&path) && grove_fs::files::belongs_to_others(&path)? {
                return Err(JournalError::NotOwn { path });
            }
        }
        Ok(())
    }

    /// Makes the journal readable by its user alone, also one that an earlier version made: it has the prompts and results of
    /// runs. Its log files get the same mode.
    fn close_journal(&self) -> Result<(), JournalError> {
        grove_fs::files::close(self.folder())?;
        let journal = self.journal();
        grove_fs::files::make_closed_file(&journal)?;
        for path in [
            journal.with_extension("db-wal"),
            journal.with_extension("db-shm"),
            journal,
        ] {
            grove_fs::files::close(&path)?;
        }
        Ok(())
    }

    fn signing_key(&self) -> Result<SigningKey, JournalError> {
        let path = self.folder().join("ledger.key");
        if !grove_fs::files::is_there(&path) {
            let mut seed = [0; SEED];
            getrandom::fill(&mut seed).map_err(|_| JournalError::Key {
                path: path.clone(),
                problem: "could not be created: the system has no random data",
            })?;
            let made = grove_fs::atomic::create_at(&FilePlace::at(&path)?, &seed, Some(0o600));
            // Another process may have made a key meanwhile: then that one is used.
            if made.is_err() && !grove_fs::files::is_there(&path) {
                made?;
            }
        }
        let wrong = |problem| JournalError::Key {
            path: path.clone(),
            problem,
        };
        if grove_fs::files::mode(&path)? & 0o077 != 0 {
            return Err(wrong("can be read by others: give it mode 600"));
        }
        let seed = grove_fs::files::read_bounded(&path, SEED as u64)?;
        SigningKey::from_seed(&seed).ok_or_else(|| wrong("is no key"))
    }
}
