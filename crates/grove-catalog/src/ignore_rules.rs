//! Ignore files as git reads them, for hosts that honour them.
//!
//! They have comments, negation, patterns for folders only, patterns bound to their folder, `*`, `?`, `[…]` and `**`.
//! The last pattern that matches decides.

use grove_spec::wildcard::path_expression;
use regex::Regex;

/// The patterns of all ignore files that apply to a tree.
#[derive(Debug, Default)]
pub struct IgnoreRules {
    patterns: Vec<IgnorePattern>,
}

#[derive(Debug)]
struct IgnorePattern {
    /// The folder of the file it stands in, with a `/` at its end unless it is the top.
    folder: String,
    /// The expression for whole paths below that folder, or for names alone.
    expression: Regex,
    negated: bool,
    folders_only: bool,
    /// Set if it is bound to its folder and does not match at any depth.
    bound: bool,
}

impl IgnoreRules {
    /// Adds the text of an ignore file in a folder that is given by its path below the top.
    pub fn add(&mut self, folder: &str, text: &str) {
        let folder = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        self.patterns.extend(
            text.lines()
                .filter_map(|line| IgnorePattern::parse(&folder, line)),
        );
    }

    /// Returns true if a folder, given by its path below the top, or one above it is ignored.
    pub fn ignores_folder(&self, path: &str) -> bool {
        self.ignores(path, true)
    }

    /// Returns true if a file, or a folder it is in, is ignored.
    pub fn ignores_file(&self, path: &str) -> bool {
        self.ignores(path, false)
    }

    fn ignores(&self, path: &str, is_folder: bool) -> bool {
        // A path in an ignored folder is ignored, even if a later pattern negates it.
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        above
            .map(|folder| (folder, true))
            .chain([(path, is_folder)])
            .any(|(part, is_folder)| {
                self.patterns
                    .iter()
                    .rev()
                    .find(|pattern| pattern.matches(part, is_folder))
                    .is_some_and(|pattern| !pattern.negated)
            })
    }
}

impl IgnorePattern {
    fn parse(folder: &str, line: &str) -> Option<Self> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = if line.ends_with("\\ ") {
            line
        } else {
            line.trim_end()
        };
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (negated, line) = line
            .strip_prefix('!')
            .map_or((false, line), |rest| (true, rest));
        let line = line
            .strip_prefix('\\')
            .filter(|rest| rest.starts_with(['#', '!']))
            .unwrap_or(line);
        let (folders_only, line) = line
            .strip_suffix('/')
            .map_or((false, line), |rest| (true, rest));
        let bound = line.contains('/');
        let parts: Vec<&str> = line.trim_start_matches('/').split('/').collect();
        let usable = parts.iter().any(|part| !part.is_empty());
        let expression = path_expression(&parts).filter(|_| usable)?;
        Some(Self {
            folder: folder.to_owned(),
            expression,
            negated,
            folders_only,
            bound,
        })
    }

    fn matches(&self, path: &str, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let Some(below) = path.strip_prefix(self.folder.as_str()) else {
            return false;
        };
        let last = below.rsplit('/').next().unwrap_or(below);
        self.expression
            .is_match(if self.bound { below } else { last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_git_means() {
        for (text, path, expected) in [
            ("build", "build", true),
            ("build", "a/build", true),
            ("build", "builder", false),
            ("/build", "a/build", false),
            ("/build", "build/x", true),
            ("a/b", "a/b", true),
            ("a/b", "x/a/b", false),
            ("*.tmp", "x.tmp", true),
            ("x*y?z", "xAAyBz", true),
            ("x*y?z", "xyz", false),
            ("[ab]c", "bc", true),
            ("[!ab]c", "bc", false),
            ("[a-c]x", "bx", true),
            ("**/deep", "a/b/deep", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("# comment\n\n\\#real", "#real", true),
            ("x\n!x", "x", false),
            ("x/\n!x/keep", "x/keep", true),
            ("!x\nx", "x", true),
        ] {
            let mut rules = IgnoreRules::default();
            rules.add("", text);
            assert_eq!(rules.ignores_folder(path), expected, "{text:?} {path:?}");
        }
    }

    #[test]
    fn nested_files_speak_of_their_folder_only() {
        let mut rules = IgnoreRules::default();
        rules.add("sub", "x\n/y\nonly/");
        assert!(
            rules.ignores_folder("sub/x")
                && rules.ignores_folder("sub/a/x")
                && rules.ignores_folder("sub/y")
        );
        assert!(
            !rules.ignores_folder("x")
                && !rules.ignores_folder("sub/a/y")
                && !rules.ignores_file("sub/only")
        );
        assert!(rules.ignores_folder("sub/only") && rules.ignores_file("sub/only/file"));
    }
}
