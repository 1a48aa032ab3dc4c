//! See [`checks`].
#![no_main]

#[path = "../checks/mcp.rs"]
mod checks;

/// The folder in which the server finds its skills.
fn home() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz-home")
}

fn write(file: &std::path::Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::check(bytes));
