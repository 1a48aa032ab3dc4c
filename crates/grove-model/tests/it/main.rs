//! Asking models: over loopback against the model server, and from recordings.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say why"
)]

mod asking;
mod decoding;
mod failures;
mod formats;
mod fuzz_corpus;
mod keys;
mod recordings;
mod secure;
mod usage;
mod world;

use world::World;
