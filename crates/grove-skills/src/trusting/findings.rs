//! The findings to look at first in what a project brings: it runs commands, asks for tools, or hides text.

use grove_catalog::folder_content::{FolderContent, FolderContentEntry};
use grove_spec::text::{first_names, one_line};
use grove_spec::{Code, Diagnostic, agent, skill};

const CONDUCT: [Code; 8] = [
    Code::ControlCharacters,
    Code::HiddenUnicode,
    Code::BidiControl,
    Code::StructureBreakout,
    Code::RoleMarker,
    Code::OverbroadTrigger,
    Code::DynamicCommand,
    Code::ExfilUrl,
];

/// Endings of files that are meant to be run.
const PROGRAMS: [&str; 12] = [
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "ts", "rb", "pl", "ps1", "bat",
];

pub(super) fn about_conduct(diagnostics: &[Diagnostic]) -> Vec<String> {
    let about = diagnostics.iter().filter(|it| CONDUCT.contains(&it.code));
    about.map(|it| one_line(&it.message)).collect()
}

pub(super) fn of_skill(parsed: &skill::ParsedSkill, folder: Option<&FolderContent>) -> Vec<String> {
    let mut all = Vec::new();
    let programs: Vec<String> = folder.map(programs_in).unwrap_or_default();
    if !programs.is_empty() {
        all.push(format!(
            "brings programs: {}",
            one_line(&first_names(&programs))
        ));
    }
    let tools = parsed
        .skill
        .details
        .as_ref()
        .map(|it| it.allowed_tools.as_slice());
    all.extend(asks_for(tools.unwrap_or_default()));
    all.extend(about_conduct(&parsed.diagnostics));
    all
}

pub(super) fn of_agent(parsed: &agent::ParsedAgent) -> Vec<String> {
    let tools = parsed.agent.tools.as_deref().unwrap_or_default();
    let mut all: Vec<String> = asks_for(tools).into_iter().collect();
    all.extend(about_conduct(&parsed.diagnostics));
    all
}

pub(super) fn of_text(text: &str) -> Vec<String> {
    about_conduct(&skill::parse_bytes(text.as_bytes()).diagnostics)
}

fn asks_for(tools: &[String]) -> Option<String> {
    let names = one_line(&first_names(tools));
    (!tools.is_empty()).then(|| format!("asks for the tools {names}"))
}

/// The files of a folder that can be run, or whose names say that they are for that.
fn programs_in(folder: &FolderContent) -> Vec<String> {
    let is_program = |path: &str, entry: &FolderContentEntry| match entry {
        FolderContentEntry::File { executable, .. } => {
            let ending = path.rsplit_once('.').map(|(_, ending)| ending);
            *executable || ending.is_some_and(|ending| PROGRAMS.contains(&ending))
        }
        _ => false,
    };
    let programs = folder
        .entries
        .iter()
        .filter(|(path, entry)| is_program(path, entry));
    programs.map(|(path, _)| path.clone()).collect()
}
