//! Signatures under the ends of runs, with a key of this installation.
//!
//! The chain of hashes shows a change only to a reader who knows its head, which the signature records. A program that
//! can read the key can sign too: it keeps out one that cannot, such as a sandboxed command, and not another program of the
//! same person.

use std::sync::Arc;

use grove_spec::Digest;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rusqlite::{Connection, params};

use crate::StoreError;
use crate::journal::JournalFault;
use crate::reading::LoadedRun;

/// A key that signs (Ed25519).
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Ed25519KeyPair>,
}

impl SigningKey {
    /// Returns the key that is derived from a secret of 32 bytes; none from any other number of bytes.
    pub fn from_seed(seed: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let pair = Arc::new(pair);
        Some(Self { pair })
    }

    pub fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.pair.sign(bytes).as_ref().to_vec()
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

pub(crate) fn sign(
    connection: &Connection,
    key: &SigningKey,
    run: &str,
    seq: i64,
    head: &str,
) -> Result<(), StoreError> {
    let signed = signed_text(connection, run, seq, head)?;
    let signature = key.sign(signed.as_bytes());
    connection
        .prepare_cached(
            "INSERT INTO signatures (run, seq, signed, key, signature) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![run, seq, signed, key.public(), signature])?;
    Ok(())
}

/// The text that is signed: the head of the chain, and the digests of the envelope and of the list of texts.
fn signed_text(
    connection: &Connection,
    run: &str,
    seq: i64,
    head: &str,
) -> Result<String, StoreError> {
    let mut envelope = connection.prepare_cached("SELECT envelope FROM plans WHERE run = ?1")?;
    let envelope: String = envelope.query_row([run], |row| row.get(0))?;
    let mut texts =
        connection.prepare_cached("SELECT digest FROM artifact_uses WHERE run = ?1 ORDER BY 1")?;
    let texts = texts.query_map([run], |row| row.get::<_, String>(0))?;
    let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
    let envelope = Digest::of(envelope.as_bytes());
    let texts = Digest::of(texts.join("\n").as_bytes());
    let begin = beginning(run, seq, head);
    Ok(format!("{begin}{envelope}\n{texts}\n"))
}

fn beginning(run: &str, seq: i64, head: &str) -> String {
    format!("grove-ledger-1\n{run}\n{seq}\n{head}\n")
}

/// Checks the signatures of a run whose chain of hashes is whole.
pub(crate) fn verify(
    connection: &Connection,
    key: &SigningKey,
    run: &LoadedRun,
    hashes: &[(u64, String, String)],
) -> Result<Option<JournalFault>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT seq, signed, key, signature FROM signatures WHERE run = ?1 ORDER BY seq",
    )?;
    let mut rows = rows.query([&run.id])?;
    let last = hashes.last().map_or(0, |(seq, _, _)| *seq);
    let mut is_last_signed = false;
    while let Some(row) = rows.next()? {
        let (seq, signed): (i64, String) = (row.get(0)?, row.get(1)?);
        let (public, signature): (Vec<u8>, Vec<u8>) = (row.get(2)?, row.get(3)?);
        let at = u64::try_from(seq).unwrap_or_default();
        if public != key.public() {
            return Ok(Some(JournalFault::OtherKey(at)));
        }
        let mut events = hashes.iter();
        let head = events.find_map(|(seq, hash, _)| (*seq == at).then_some(hash));
        let is_last = at == last;
        let is_what_is_there = match head {
            None => false,
            Some(head) if is_last => signed == signed_text(connection, &run.id, seq, head)?,
            // A run that went on after an end may refer to more texts now than at that end.
            Some(head) => signed.starts_with(&beginning(&run.id, seq, head)),
        };
        let public = UnparsedPublicKey::new(&ED25519, public);
        if !is_what_is_there || public.verify(signed.as_bytes(), &signature).is_err() {
            return Ok(Some(JournalFault::Signature(at)));
        }
        is_last_signed |= is_last;
    }
    let is_missing = run.state.ended.is_some() && !is_last_signed;
    Ok(is_missing.then_some(JournalFault::NotSigned))
}
