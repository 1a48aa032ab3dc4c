//! Obstacles of a walk, as diagnostics.

use std::borrow::Cow;
use std::path::Path;

use grove_fs::FsError;
use grove_fs::probe_walk::{LimitsHit, WalkOptions, WalkProblem, WalkTrouble};
use grove_spec::skill::file_limit::too_large;
use grove_spec::text::{first_names, one_line, visible};
use grove_spec::{Code, Diagnostic};

pub(crate) fn problem(root: &Path, problem: &WalkProblem) -> Diagnostic {
    let path = match problem.trouble {
        // The finding names the file as it is shown: the raw name must reach no reader.
        WalkTrouble::UnprintableName => visible(&problem.path),
        _ => Cow::Borrowed(problem.path.as_str()),
    };
    describe(&problem.path, &problem.trouble).in_file(&root.join(&*path))
}

pub(crate) fn refusal(trouble: &WalkTrouble, limit: u64) -> Diagnostic {
    match trouble {
        WalkTrouble::TooLarge(size) => too_large(*size, limit),
        other => describe("SKILL.md", other),
    }
}

pub(crate) fn describe(path: &str, trouble: &WalkTrouble) -> Diagnostic {
    let path = one_line(path);
    let shown = |target: &Path| one_line(&target.to_string_lossy());
    let (code, message) = match trouble {
        WalkTrouble::TooLarge(size) => (Code::FileTooLarge, format!("`{path}` has {size} bytes")),
        WalkTrouble::NotRegular => {
            let message = format!("`{path}` is not a regular file");
            (Code::NotRegularFile, message)
        }
        WalkTrouble::Pseudo => {
            let message = format!("`{path}` leads into a kernel file system");
            (Code::PseudoFile, message)
        }
        WalkTrouble::Escape(target) => {
            let to = shown(target);
            let message =
                format!("link `{path}` leads out of the root to `{to}` and was not followed");
            (Code::PathEscape, message)
        }
        WalkTrouble::BrokenLink(target) => {
            let message = format!("link `{path}` leads nowhere: `{}`", shown(target));
            (Code::BrokenLink, message)
        }
        WalkTrouble::Error(error) => {
            let message = format!("`{path}` could not be read: {error}");
            (Code::Unreadable, message)
        }
        WalkTrouble::UnprintableName => {
            let message =
                format!("`{path}` has a name that cannot be shown; nothing in it was read");
            (Code::UnprintablePath, message)
        }
        WalkTrouble::Loop => {
            let message = format!("`{path}` leads to a folder that was already walked");
            (Code::LinkLoop, message)
        }
        WalkTrouble::Twins(names) => {
            let first = first_names(names);
            let message = format!("in both places, and only the one in `skills` was read: {first}");
            return Diagnostic::new(Code::ChildDuplicate, message).with_names(names.clone());
        }
        WalkTrouble::TooDeep => {
            let message = format!(
                "it is on the last of {} levels of its tree, so its children were not looked for",
                grove_catalog::tree::MAX_LEVELS
            );
            (Code::TreeDepth, message)
        }
        WalkTrouble::WrongCase(name) => {
            let message = format!("`{name}` is not `SKILL.md` and was not read");
            (Code::FileNameCase, message)
        }
    };
    Diagnostic::new(code, message)
}

pub(crate) fn file_error(code: Code, error: &FsError) -> Diagnostic {
    Diagnostic::new(code, format!("{error}: {}", error.source)).in_file(&error.path)
}

pub(crate) fn limits(
    root: &Path,
    label: &str,
    hit: &LimitsHit,
    options: &WalkOptions,
    found: usize,
) -> Vec<Diagnostic> {
    let (limit, depth, folders) = (
        options.max_candidates,
        options.max_depth,
        options.max_folders,
    );
    let count = |names: &[String]| (names.len(), first_names(names));
    let (left, names) = count(&hit.candidates);
    let candidates = format!(
        "{label} has {found} skill folders, {limit} were read and {left} were not: {names}"
    );
    let (left, names) = count(&hit.depth);
    let deep =
        format!("{left} folders are below {depth} group levels and were not walked: {names}");
    let (left, names) = count(&hit.folders);
    let opened = format!(
        "{label} has {} folders without a skill, {folders} were opened and {left} were only probed: {names}",
        left + folders
    );
    let names = match first_names(&hit.entries) {
        names if names.is_empty() => "the root".to_owned(),
        names => names,
    };
    let entries = format!("more than {} entries in {names}", options.max_entries);
    limit_findings(root, hit, [candidates, deep, opened, entries])
}

/// The findings about limits that were reached: candidates, depth, folders, entries.
pub(crate) fn limit_findings(
    root: &Path,
    hit: &LimitsHit,
    [candidates, depth, folders, entries]: [String; 4],
) -> Vec<Diagnostic> {
    let all = [
        (Code::CandidateLimit, &hit.candidates, candidates),
        (Code::DepthLimit, &hit.depth, depth),
        (Code::FolderLimit, &hit.folders, folders),
        (Code::EntryLimit, &hit.entries, entries),
    ];
    let reached = all.into_iter().filter(|(_, names, _)| !names.is_empty());
    let said = reached.map(|(code, names, message)| {
        let finding = Diagnostic::new(code, message).in_file(root);
        finding.with_names(names.clone())
    });
    said.collect()
}
