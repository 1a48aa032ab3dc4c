//! The instructions of a project for every agent that works in it, as parts of a prompt.

use std::path::PathBuf;

use grove_spec::agent::prompt_text;
use grove_spec::{Code, Diagnostic};

use super::{Prompt, PromptPart, PromptPartKind};
use crate::disclosure::marked;
use grove_spec::Digest;

/// The element around a file of instructions. Skills have another one.
pub(super) const ELEMENT: &str = "project_instructions";

/// A file with instructions that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// The path of the file.
    pub file: PathBuf,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The text of the file.
    pub text: String,
}

impl InstructionFile {
    /// Returns its text as a model gets it, without the last line end.
    pub(super) fn body(&self) -> String {
        let mut text = prompt_text(&self.text);
        text.truncate(text.trim_end().len());
        text
    }

    fn block(&self, body: &str) -> PromptPart {
        let file = self.file.to_string_lossy();
        PromptPart {
            kind: PromptPartKind::Instructions,
            name: String::new(),
            source: Some(self.file.clone()),
            digest: self.digest,
            text: format!("{}\n", marked(ELEMENT, "file", &file, body)),
        }
    }
}

impl Prompt {
    /// Adds the instructions that the agent inherits, in the order given: the nearest folder's first.
    ///
    /// `budget` is in characters, for all files together. A file that does not fit is left out whole, and later ones
    /// are still tried. Equal texts in two folders are added once.
    pub fn add_instructions(&mut self, files: &[InstructionFile], budget: usize) {
        let mut left = budget;
        let mut told: Vec<String> = Vec::new();
        for file in files {
            let body = file.body();
            if body.is_empty() || told.contains(&body) {
                continue;
            }
            let block = file.block(&body);
            let cost = block.cost();
            if cost > left {
                let message = format!(
                    "the instructions take {cost} characters and {left} of {budget} are left, so they were left out"
                );
                let finding = Diagnostic::new(Code::InstructionsBudget, message);
                self.warnings.push(finding.in_file(&file.file));
                continue;
            }
            left -= cost;
            told.push(body);
            self.blocks.push(block);
        }
        self.join();
    }
}
