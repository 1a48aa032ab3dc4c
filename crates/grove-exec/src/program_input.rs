//! The standard input of a program that gets lines while it runs: a named pipe, since a keeper's own input carries
//! orders.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;

/// Our end of a program's input. Dropping it is the end of the input.
#[derive(Debug)]
pub struct ProgramInput(pipe::Sender);

impl ProgramInput {
    /// Makes the pipe. Must be called within a runtime.
    pub fn make(path: &Path) -> io::Result<Self> {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Open in both directions, so that neither side waits for the other.
        let sender = pipe::OpenOptions::new()
            .read_write(true)
            .open_sender(path)?;
        Ok(Self(sender))
    }

    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        self.0.write_all(line.as_bytes()).await
    }
}
