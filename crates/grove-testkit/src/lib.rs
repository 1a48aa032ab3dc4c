#![doc = include_str!("../README.md")]

pub mod agent_program;
pub mod catalog_reader;
pub mod home;
pub mod library;
pub mod model_server;
pub mod process;
pub mod shared;

mod skill_text;
