//! What stood in the way of a walk, as diagnostics.

use std::borrow::Cow;
use std::path::Path;

use grove_fs::probe_walk::{LimitsHit, Problem, Trouble, WalkOptions};
use grove_spec::skill::kept::too_large;
use grove_spec::text::{first_names, one_line, visible};
use grove_spec::{Code, Diagnostic};

/// The diagnostic for a problem below a root.
pub(crate) fn problem(root: &Path, problem: &Problem) -> Diagnostic {
    let path = match problem.trouble {
        // The file is named as it is shown: nobody is to be told the name itself.
        Trouble::UnprintableName => visible(&problem.path),
        _ => Cow::Borrowed(problem.path.as_str()),
    };
    describe(&problem.path, &problem.trouble).in_file(&root.join(&*path))
}

/// The diagnostic for a skill file that could not be read.
pub(crate) fn refusal(trouble: &Trouble, limit: u64) -> Diagnostic {
    match trouble {
        Trouble::TooLarge { size } => too_large(*size, limit),
        other => describe("SKILL.md", other),
    }
}

pub(crate) fn describe(path: &str, trouble: &Trouble) -> Diagnostic {
    let path = one_line(path);
    match trouble {
        Trouble::TooLarge { size } => {
            Diagnostic::new(Code::FileTooLarge, format!("`{path}` has {size} bytes"))
        }
        Trouble::NotRegular => Diagnostic::new(
            Code::NotRegularFile,
            format!("`{path}` is not a regular file"),
        ),
        Trouble::Pseudo => Diagnostic::new(
            Code::PseudoFile,
            format!("`{path}` leads into a file system of the kernel"),
        ),
        Trouble::Escape { target } => Diagnostic::new(
            Code::PathEscape,
            format!(
                "link `{path}` leads out of the root to `{}` and was not followed",
                one_line(&target.to_string_lossy())
            ),
        ),
        Trouble::BrokenLink { target } => Diagnostic::new(
            Code::BrokenLink,
            format!(
                "link `{path}` leads nowhere: `{}`",
                one_line(&target.to_string_lossy())
            ),
        ),
        Trouble::Error(error) => Diagnostic::new(
            Code::Unreadable,
            format!("`{path}` could not be read: {error}"),
        ),
        Trouble::UnprintableName => Diagnostic::new(
            Code::UnprintablePath,
            format!("`{path}` has a name that cannot be shown; nothing in it was read"),
        ),
        Trouble::Loop => Diagnostic::new(
            Code::LinkLoop,
            format!("`{path}` leads to a folder that was walked already"),
        ),
        Trouble::Twins { names } => Diagnostic::new(
            Code::ChildDuplicate,
            format!(
                "in both places, and only the one in `skills` was read: {}",
                first_names(names)
            ),
        )
        .with_names(names.clone()),
        Trouble::TooDeep => Diagnostic::new(
            Code::TreeDepth,
            format!(
                "it is on the last of {} levels of its tree, so its children were not looked for",
                grove_catalog::tree::MAX_LEVELS
            ),
        ),
        Trouble::WrongCase { name } => Diagnostic::new(
            Code::FileNameCase,
            format!("`{name}` is not `SKILL.md` and was not read"),
        ),
    }
}

/// The diagnostics for the limits that a walk reached.
pub(crate) fn limits(
    root: &Path,
    label: &str,
    hit: &LimitsHit,
    options: &WalkOptions,
    found: usize,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut say = |code: Code, names: &[String], message: &dyn Fn(usize, &str) -> String| {
        if !names.is_empty() {
            let message = message(names.len(), &first_names(names));
            findings.push(
                Diagnostic::new(code, message)
                    .in_file(root)
                    .with_names(names.to_vec()),
            );
        }
    };
    let limit = options.max_candidates;
    say(Code::CandidateLimit, &hit.candidates, &|count, names| {
        format!(
            "{label} has {found} skill folders, {limit} were read and {count} were not: {names}"
        )
    });
    let depth = options.max_depth;
    say(Code::DepthLimit, &hit.depth, &|count, names| {
        format!("{count} folders lie below {depth} group levels and were not walked: {names}")
    });
    let folders = options.max_folders;
    say(Code::FolderLimit, &hit.folders, &|count, names| {
        format!(
            "{label} has {} folders without a skill, {folders} were opened and {count} were only probed: {names}",
            count + folders
        )
    });
    let entries = options.max_entries;
    say(Code::EntryLimit, &hit.entries, &|_, names| {
        format!(
            "more than {entries} entries in {}",
            if names.is_empty() { "the root" } else { names }
        )
    });
    findings
}
