//! See [`checks`].
#![no_main]

#[path = "../checks/model_stream.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
