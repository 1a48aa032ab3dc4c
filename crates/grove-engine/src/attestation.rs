//! The ledger of a run for other programs: an in-toto statement in a signed DSSE envelope.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use grove_plan::NodeView;
use grove_spec::Digest;
use grove_store::{LoadedRun, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::error::EngineError;
use crate::journal::RunJournal;

/// The media type of an envelope's payload.
const PAYLOAD: &str = "application/vnd.in-toto+json";
/// The type of an in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate in our statements.
const PREDICATE: &str = "urn:grove:ledger:1";
/// The bytes before an Ed25519 key in the form that every library of keys reads.
const KEY_FORM: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// The envelope: what the ledger says, about the texts of the run that it names.
pub(crate) fn envelope(
    journal: &RunJournal,
    key: &SigningKey,
    loaded: &LoadedRun,
    nodes: &[NodeView],
    ledger: &Value,
) -> Result<Value, EngineError> {
    let mut subjects = vec![json!({
        "name": format!("run {}", loaded.id),
        "digest": { "blake3": loaded.head },
    })];
    for node in nodes {
        let patch = node.patch.as_ref();
        let patch = patch.map(|patch| (format!("patch of {}", node.id), patch.digest));
        let outputs = node.checks.iter().map(|check| {
            let name = format!("output of {} of {}", check.id, node.id);
            (name, check.output)
        });
        for (name, digest) in patch.into_iter().chain(outputs) {
            let bytes = journal.store.artifact(&digest)?.unwrap_or_default();
            subjects.push(subject(&name, &digest, &bytes));
        }
    }
    let statement = json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": ledger,
    });
    let payload = statement.to_string();
    let signature = key.sign(&encoded_for_signing(&payload));
    Ok(json!({
        "payload": STANDARD.encode(&payload),
        "payloadType": PAYLOAD,
        "signatures": [{ "keyid": key_id(key), "sig": STANDARD.encode(signature) }],
    }))
}

fn subject(name: &str, digest: &Digest, bytes: &[u8]) -> Value {
    json!({
        "name": name,
        "digest": { "sha256": hexadecimal(&Sha256::digest(bytes)), "blake3": digest },
    })
}

/// The bytes that DSSE signs: the payload with its type, each with its length, so that neither can pass for the other.
fn encoded_for_signing(payload: &str) -> Vec<u8> {
    let (of_type, of_payload) = (PAYLOAD.len(), payload.len());
    format!("DSSEv1 {of_type} {PAYLOAD} {of_payload} {payload}").into_bytes()
}

/// The name of a key by which envelopes find it: the digest of its canonical JSON, as securesystemslib has it.
pub(crate) fn key_id(key: &SigningKey) -> String {
    let public = hexadecimal(key.public());
    let canonical =
        format!(r#"{{"keytype":"ed25519","keyval":{{"public":"{public}"}},"scheme":"ed25519"}}"#);
    hexadecimal(&Sha256::digest(canonical))
}

/// The key as JSON, in the form of securesystemslib.
pub fn public_json(key: &SigningKey) -> Value {
    json!({
        "schema": "grove.ledger.key/1",
        "keyid": key_id(key),
        "keytype": "ed25519",
        "scheme": "ed25519",
        "keyval": { "public": hexadecimal(key.public()) },
    })
}

/// The key as PEM.
pub fn public_pem(key: &SigningKey) -> String {
    let bytes = [KEY_FORM.as_slice(), key.public()].concat();
    let text = STANDARD.encode(bytes);
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----")
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
