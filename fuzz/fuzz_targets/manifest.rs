//! See [`checks`].
#![no_main]

#[path = "../checks/manifest.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
