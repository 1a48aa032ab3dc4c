//! The names of chains and of their files.

use super::ChainFile;

/// The format of a chain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChainFormat {
    /// `.chain.json`, which takes precedence if a chain has both files.
    Json,
    /// `.chain.md`, for chains without groups and fan-outs.
    Markdown,
}

impl ChainFormat {
    /// Both formats, the one that takes precedence first.
    pub const ALL: [Self; 2] = [Self::Json, Self::Markdown];

    /// Returns the format of a file of this name, if it is a chain's.
    pub fn of(file_name: &str) -> Option<Self> {
        let is = |format: &Self| {
            let stem = file_name.strip_suffix(format.ending());
            stem.is_some_and(|stem| !stem.is_empty() && !stem.ends_with('/'))
        };
        Self::ALL.into_iter().find(is)
    }

    /// Returns the ending of the names of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Json => ".chain.json",
            Self::Markdown => ".chain.md",
        }
    }
}

/// Returns true if a file of this name is a chain's.
pub fn is_chain_file(file_name: &str) -> bool {
    ChainFormat::of(file_name).is_some()
}

/// Returns a file's name or path without the ending.
pub fn stem(file_name: &str) -> &str {
    let format = ChainFormat::of(file_name);
    format
        .and_then(|format| file_name.strip_suffix(format.ending()))
        .unwrap_or(file_name)
}

/// Returns the name by which a chain is called, its package included; a chain without a name has its file's.
pub fn runtime_name(chain: &ChainFile, file_name: &str) -> String {
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
            ("a.chain.md", Some(ChainFormat::Markdown)),
            ("a.chain.json", Some(ChainFormat::Json)),
            ("sub/a.b.chain.md", Some(ChainFormat::Markdown)),
            ("a.md", None),
            ("chain.md", None),
            (".chain.md", None),
            ("sub/.chain.json", None),
            ("a.chain.toml", None),
        ] {
            assert_eq!(ChainFormat::of(name), format, "{name}");
        }
        assert_eq!(stem("sub/a.b.chain.json"), "sub/a.b");
        assert_eq!(stem("a.md"), "a.md");
    }
}
