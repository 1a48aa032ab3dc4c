//! Files with frontmatter: from bytes to top-level entries and a body, with diagnostics.
//!
//! Skills, agents and other Markdown files with YAML above the text are read here alike; the caller decides what the
//! keys mean.

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::fence::{self, NoFence};
use crate::skill::body;
use crate::yaml::{self, KnownKeys, YamlEntry};

pub(crate) struct FrontmatterFile {
    /// The top-level keys; none when the frontmatter could not be read.
    pub(crate) entries: Option<Vec<YamlEntry>>,
    pub(crate) body_offset: usize,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Returns the text of a file, or a finding at the place where it stops being UTF-8.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let valid = bytes
            .get(..offset)
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default();
        let message = format!("not UTF-8 at byte {offset}");
        Diagnostic::new(Code::NotUtf8, message).at(body::position_of(valid, offset))
    })
}

/// Reads the frontmatter of a file, or reports why it has none; `known` has the keys that such a file may have.
pub(crate) fn read(text: &str, known: KnownKeys) -> Result<FrontmatterFile, Diagnostic> {
    let fenced = fence::split(text).map_err(|reason| no_fence(text, reason))?;
    let block = yaml::read_block(fenced.frontmatter, 2, known);
    let is_readable = !block.diagnostics.iter().any(Diagnostic::is_error);
    Ok(FrontmatterFile {
        entries: is_readable.then_some(block.entries),
        body_offset: fenced.body_offset,
        diagnostics: block.diagnostics,
    })
}

fn no_fence(text: &str, reason: NoFence) -> Diagnostic {
    let start = Position::new(1, 1);
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Diagnostic::new(Code::EmptyFile, "the file is empty").at(start);
    }
    match reason {
        NoFence::Missing => Diagnostic::new(
            Code::FrontmatterMissing,
            "no frontmatter: the first line is not `---`",
        ),
        NoFence::OtherFormat => Diagnostic::new(
            Code::UnsupportedFrontmatter,
            "the frontmatter is not YAML between `---` lines",
        ),
        NoFence::Unclosed => Diagnostic::new(
            Code::FrontmatterUnclosed,
            "the frontmatter has no closing `---` line",
        ),
    }
    .at(start)
}
