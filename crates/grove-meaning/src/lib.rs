#![doc = include_str!("../README.md")]

mod integers;
mod late;
mod near;
mod pooled;
mod record;
mod table;
#[cfg(test)]
mod tests;
mod tokens;

pub use table::{FILE_NAME, Table, TableError, find, open_file};
