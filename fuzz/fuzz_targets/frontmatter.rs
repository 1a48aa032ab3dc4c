//! See [`checks`]; and the standard's reference library reads the same bytes without a panic.
#![no_main]

#[path = "../checks/frontmatter.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::check(bytes);
    if let Ok(block) = std::str::from_utf8(bytes) {
        let _ = grove_reference::parse_frontmatter(&grove_reference::universal_newlines(block));
    }
});
