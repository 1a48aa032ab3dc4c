//! Any bytes are a `SKILL.md`: parsing them ends, quickly and without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = std::hint::black_box(std::str::from_utf8(bytes));
});
