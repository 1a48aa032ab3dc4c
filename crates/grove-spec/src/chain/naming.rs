//! What a chain is called, and by which file.

use super::Chain;

/// How a chain is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// `.chain.json`, which goes first where both are there.
    Json,
    /// `.chain.md`.
    Markdown,
}

impl Format {
    /// Both, the stronger first.
    pub const ALL: [Self; 2] = [Self::Json, Self::Markdown];

    /// The format of a file of this name, if it is a chain's.
    pub fn of(file_name: &str) -> Option<Self> {
        let is = |format: &Self| {
            let stem = file_name.strip_suffix(format.ending());
            stem.is_some_and(|stem| !stem.is_empty() && !stem.ends_with('/'))
        };
        Self::ALL.into_iter().find(is)
    }

    /// How its files' names end.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Json => ".chain.json",
            Self::Markdown => ".chain.md",
        }
    }
}

/// Whether a file of this name is a chain's.
pub fn is_chain_file(file_name: &str) -> bool {
    Format::of(file_name).is_some()
}

/// A file's name or path without the ending.
pub fn stem(file_name: &str) -> &str {
    let format = Format::of(file_name);
    format
        .and_then(|format| file_name.strip_suffix(format.ending()))
        .unwrap_or(file_name)
}

/// What a chain is called; its file's name where it has none.
pub fn runtime_name(chain: &Chain, file_name: &str) -> String {
    let name = chain.name.as_deref().unwrap_or_else(|| stem(file_name));
    match &chain.package {
        Some(package) => format!("{package}.{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_told_by_their_ending() {
        for (name, format) in [
            ("a.chain.md", Some(Format::Markdown)),
            ("a.chain.json", Some(Format::Json)),
            ("sub/a.b.chain.md", Some(Format::Markdown)),
            ("a.md", None),
            ("chain.md", None),
            (".chain.md", None),
            ("sub/.chain.json", None),
            ("a.chain.toml", None),
        ] {
            assert_eq!(Format::of(name), format, "{name}");
        }
        assert_eq!(stem("sub/a.b.chain.json"), "sub/a.b");
        assert_eq!(stem("a.md"), "a.md");
    }
}
