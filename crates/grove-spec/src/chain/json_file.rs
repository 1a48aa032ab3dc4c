//! `.chain.json`: an object with `name`, `description`, perhaps `package`, and a list of steps.

use super::step_fields::StepReader;
use super::{ChainFile, ChainFormat, MAX_STEPS, ParsedChain, is_head_key, read_head};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::json;
use crate::text::one_line;
use crate::yaml::{YamlEntry, YamlNode, YamlValue};

/// The keys for the list of steps; the second is used by the tool that makes chains.
pub(super) const STEPS: [&str; 2] = ["chain", "steps"];

pub(super) fn read(text: &str) -> ParsedChain {
    let document = match json::parse(text) {
        Ok(document) => document,
        Err(fault) => {
            let finding = Diagnostic::new(Code::JsonSyntax, fault.message);
            return ParsedChain::refused(finding.at(fault.position));
        }
    };
    let Some(entries) = document.node.as_map() else {
        let message = "a chain is an object with `name`, `description` and `chain`";
        let finding = Diagnostic::new(Code::ChainIncomplete, message);
        return ParsedChain::refused(finding.at(document.node.position));
    };
    let mut diagnostics = Vec::new();
    for (key, position) in &document.duplicates {
        let message = format!("`{}` appears twice", one_line(key));
        diagnostics.push(Diagnostic::new(Code::DuplicateKey, message).at(*position));
    }
    let mut chain = ChainFile::default();
    let heads = entries.iter().filter(|entry| is_head_key(&entry.key));
    read_head(heads.cloned().collect(), &mut chain, &mut diagnostics);
    let steps = steps_of(entries, &mut diagnostics);
    for entry in entries {
        if !is_head_key(&entry.key) && !STEPS.contains(&&*entry.key) {
            let value = json::value_of(&entry.value);
            chain.extra.push((entry.key.to_string(), value));
        }
    }
    let mut reader = StepReader {
        format: ChainFormat::Json,
        diagnostics: &mut diagnostics,
    };
    for step in steps.iter().take(MAX_STEPS) {
        match step.as_map() {
            Some(entries) => {
                let step = reader.step(entries, step.position);
                chain.steps.push(step);
            }
            None => reader.report(Code::ChainStep, step.position, "a step is an object"),
        }
    }
    if let Some(beyond) = steps.get(MAX_STEPS) {
        let message = format!("{} steps, more than {MAX_STEPS}", steps.len());
        reader.report(Code::ChainLimit, beyond.position, message);
    }
    ParsedChain { chain, diagnostics }
}

fn steps_of<'a>(entries: &'a [YamlEntry], diagnostics: &mut Vec<Diagnostic>) -> &'a [YamlNode] {
    let mut lists = STEPS
        .iter()
        .filter_map(|key| entries.iter().find(|entry| entry.key == *key));
    let Some(entry) = lists.next() else {
        let finding = Diagnostic::new(Code::ChainIncomplete, "the chain has no `chain`");
        diagnostics.push(finding.at(Position::new(1, 1)));
        return &[];
    };
    if let Some(other) = lists.next() {
        let message = format!("`{}` and `{}` are both there", entry.key, other.key);
        let finding = Diagnostic::new(Code::ChainIncomplete, message);
        diagnostics.push(finding.at(other.position));
    }
    let YamlValue::List(steps) = &entry.value.value else {
        let message = format!("`{}` is not a list of steps", entry.key);
        let finding = Diagnostic::new(Code::ChainIncomplete, message);
        diagnostics.push(finding.at(entry.value.position));
        return &[];
    };
    if steps.is_empty() {
        let finding = Diagnostic::new(Code::ChainIncomplete, "the chain has no step");
        let finding = finding.with_severity(Severity::Warning);
        diagnostics.push(finding.at(entry.value.position));
    }
    steps
}
