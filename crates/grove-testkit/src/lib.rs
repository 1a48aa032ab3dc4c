#![doc = include_str!("../README.md")]

pub mod catalog_reader;
pub mod home;
pub mod library;
pub mod process;
pub mod shared;

mod skill_text;
