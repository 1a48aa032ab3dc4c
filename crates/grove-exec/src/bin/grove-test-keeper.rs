//! A program that keeps, as the product's own does.

use std::process::ExitCode;

fn main() -> ExitCode {
    grove_exec::keep()
}
