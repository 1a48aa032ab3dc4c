//! The sources of packages: `npm:NAME`, `git:HOST/PATH`, a repository's address, `file:PATH` or a path.

use crate::text::{is_line, one_line, without_credentials};

/// The beginnings of the addresses of repositories.
const SCHEMES: [&str; 4] = ["https://", "http://", "ssh://", "git://"];

/// A package as it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageSource {
    /// An npm package by its name, without a version.
    Npm(String),
    /// A clone, by its path below the folder of clones: `host/owner/name`.
    Git(String),
    /// A folder, as written.
    Path(String),
}

/// The reasons why a package cannot be named in this way, each to follow the package.
const UNKNOWN: &str = "is neither `npm:`, `git:`, `file:` nor a path";
const UNSAFE: &str = "has a part that goes up, is absolute or empty, or begins like an option";
const NO_REPOSITORY: &str = "is not a host and a path of at least two parts";

impl PackageSource {
    /// Reads a source, or returns the reason why it cannot be resolved.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if !is_line(text) {
            return Err(UNSAFE);
        }
        if let Some(spec) = text.strip_prefix("npm:") {
            return npm(spec.trim());
        }
        if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return git(text);
        }
        if let Some(spec) = text.strip_prefix("git:") {
            return git(spec.trim());
        }
        let path = text.strip_prefix("file:").unwrap_or(text);
        let is_path = path.starts_with(['/', '.']) || path == "~" || path.starts_with("~/");
        let is_dots = path.starts_with('.');
        let relative = !is_dots
            || matches!(path, "." | "..")
            || path.starts_with("./")
            || path.starts_with("../");
        if is_path && relative {
            Ok(Self::Path(path.to_owned()))
        } else {
            Err(UNKNOWN)
        }
    }
}

/// A source as it is shown: on one line, without a user's name, a password or a token.
pub(super) fn shown(written: &str) -> String {
    let line = one_line(&without_credentials(written));
    match line.rsplit_once('@') {
        Some((user, place)) if !line.contains("://") && is_login(user) => {
            format!("git:***@{place}")
        }
        _ => line,
    }
}

/// Returns true if the text before an `@` is a user with a password, and not a package before its version.
fn is_login(user: &str) -> bool {
    let user = user.strip_prefix("git:").unwrap_or(user);
    user.contains(':') && !user.starts_with("npm:")
}

/// Returns true if a text is the name of an npm package: `name` or `@scope/name`.
pub fn is_package_name(name: &str) -> bool {
    let (scope, bare) = match name.strip_prefix('@') {
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, bare)) => (Some(scope), bare),
            None => return false,
        },
        None => (None, name),
    };
    is_safe_part(bare) && scope.is_none_or(is_safe_part)
}

/// Returns true if a part of a path is a name and nothing else.
fn is_safe_part(part: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+');
    !part.is_empty() && !part.starts_with(['-', '.', '~']) && part.chars().all(fits)
}

/// Returns true for the version of a package: words of which none can be taken for an option.
fn is_safe_version(version: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./+^~*<>=|".contains(c);
    let is_word = |word: &str| !word.starts_with('-') && word.chars().all(fits);
    !version.is_empty() && version.split(' ').all(is_word)
}

fn npm(spec: &str) -> Result<PackageSource, &'static str> {
    // An `@` at the beginning of the name belongs to its scope.
    let version = spec.char_indices().skip(1).find(|(_, c)| *c == '@');
    let (name, version) = match version {
        Some((at, _)) => (spec.get(..at), spec.get(at + 1..)),
        None => (Some(spec), None),
    };
    let name = name.unwrap_or(spec);
    if is_package_name(name) && version.is_none_or(is_safe_version) {
        Ok(PackageSource::Npm(name.to_owned()))
    } else {
        Err(UNSAFE)
    }
}

fn git(spec: &str) -> Result<PackageSource, &'static str> {
    let (host, path) = host_and_path(spec).ok_or(NO_REPOSITORY)?;
    let (path, version) = match path.split_once(['@', '#']) {
        Some((path, version)) => (path, Some(version)),
        None => (path, None),
    };
    if !version.is_none_or(is_safe_version) {
        return Err(UNSAFE);
    }
    let path = path.trim_start_matches('/');
    let path = path.strip_suffix('/').unwrap_or(path);
    let path = path.strip_suffix(".git").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    if !is_safe_part(host) || !parts.iter().all(|part| is_safe_part(part)) {
        return Err(UNSAFE);
    }
    if parts.len() < 2 {
        return Err(NO_REPOSITORY);
    }
    Ok(PackageSource::Git(format!("{host}/{path}")))
}

fn host_and_path(spec: &str) -> Option<(&str, &str)> {
    for scheme in SCHEMES {
        if let Some(rest) = spec.strip_prefix(scheme) {
            let (authority, path) = rest.split_once('/')?;
            let host = authority.rsplit('@').next().unwrap_or(authority);
            let host = host.split(':').next().unwrap_or(host);
            return Some((host, path));
        }
    }
    if let Some(rest) = spec.strip_prefix("git@") {
        return rest.split_once(':');
    }
    spec.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_source_are_never_shown() {
        for (written, expected) in [
            ("https://u:secret@h.org/o/r#v1", "https://***@h.org/o/r#v1"),
            ("https://secret@h.org/o/r", "https://***@h.org/o/r"),
            (
                "git:https://u:se/cret@h.org/o/r",
                "git:https://***@h.org/o/r",
            ),
            ("https://h.org/o/r?token=secret", "https://h.org/o/r?***"),
            ("git:u:secret@h.org:o/r", "git:***@h.org:o/r"),
            ("git:git@h.org:o/r", "git:git@h.org:o/r"),
            ("https://h.org:443/o/r@v1", "https://h.org:443/o/r@v1"),
            ("npm:@s/a@1.2", "npm:@s/a@1.2"),
            ("./x@y", "./x@y"),
        ] {
            assert_eq!(shown(written), expected, "{written}");
        }
    }

    #[test]
    fn sources_are_named_in_these_ways_and_no_others() {
        let npm = |name: &str| Ok(PackageSource::Npm(name.to_owned()));
        let git = |path: &str| Ok(PackageSource::Git(path.to_owned()));
        let path = |path: &str| Ok(PackageSource::Path(path.to_owned()));
        for (text, expected) in [
            ("npm:a", npm("a")),
            ("npm:a@1.2", npm("a")),
            ("npm:@s/a", npm("@s/a")),
            (" npm:@s/a@latest ", npm("@s/a")),
            ("npm:", Err(UNSAFE)),
            ("npm:../../evil", Err(UNSAFE)),
            ("npm:@s/../../x", Err(UNSAFE)),
            ("npm:@s", Err(UNSAFE)),
            ("npm:a@^1.2 || >=3", npm("a")),
            ("npm:a@--output=/x", Err(UNSAFE)),
            ("npm:a@1 --output=/x", Err(UNSAFE)),
            ("npm:@s/a@-g", Err(UNSAFE)),
            ("npm:a@", Err(UNSAFE)),
            ("npm:/etc", Err(UNSAFE)),
            ("npm:-g", Err(UNSAFE)),
            ("npm:a\\..\\b", Err(UNSAFE)),
            ("npm:a\u{1b}b", Err(UNSAFE)),
            ("git:git@example.org:o/r.git", git("example.org/o/r")),
            (
                "git:https://u@example.org:443/o/r.git#v1",
                git("example.org/o/r"),
            ),
            (
                "git:ssh://git@example.org/o/s/r@main",
                git("example.org/o/s/r"),
            ),
            ("git:example.org/o/r", git("example.org/o/r")),
            ("git:example.org/o/r#feature/x-1", git("example.org/o/r")),
            ("git:example.org/o/r#--orphan", Err(UNSAFE)),
            ("git:example.org/o/r@--output=x", Err(UNSAFE)),
            ("git:example.org/o/r#v1@--x", Err(UNSAFE)),
            ("git:example.org/o/r#", Err(UNSAFE)),
            ("git:git@example.org:o/r#-b", Err(UNSAFE)),
            ("https://example.org/o/r#a b", git("example.org/o/r")),
            ("https://example.org/o/r#a -b", Err(UNSAFE)),
            ("git:example.org/o", Err(NO_REPOSITORY)),
            ("git:o", Err(NO_REPOSITORY)),
            ("git:-oProxyCommand=x/y", Err(UNSAFE)),
            ("git:host/../../../etc", Err(UNSAFE)),
            ("git:host/-u/x", Err(UNSAFE)),
            ("git:host/o//r", Err(UNSAFE)),
            ("git:../o/r", Err(UNSAFE)),
            ("git:ext::sh -c x/y/z", Err(UNSAFE)),
            ("file:/etc", path("/etc")),
            ("file:./x", path("./x")),
            ("./x", path("./x")),
            ("../x", path("../x")),
            ("..", path("..")),
            ("~", path("~")),
            ("~/x", path("~/x")),
            ("/x", path("/x")),
            ("x", Err(UNKNOWN)),
            (".hidden", Err(UNKNOWN)),
            ("~user/x", Err(UNKNOWN)),
            ("https://example.org/o/r", git("example.org/o/r")),
            ("https://example.org/o/r.git@v1", git("example.org/o/r")),
            ("https://u:p@example.org/o/r/", git("example.org/o/r")),
            ("ssh://git@example.org:22/o/r#main", git("example.org/o/r")),
            ("git://example.org/o/r", git("example.org/o/r")),
            ("https://example.org/x", Err(NO_REPOSITORY)),
            ("https://example.org", Err(NO_REPOSITORY)),
            ("https://example.org/../../x", Err(UNSAFE)),
            ("https://../o/r", Err(UNSAFE)),
            ("ftp://example.org/o/r", Err(UNKNOWN)),
            ("example.org/o/r", Err(UNKNOWN)),
            ("", Err(UNKNOWN)),
        ] {
            assert_eq!(PackageSource::parse(text), expected, "{text:?}");
        }
    }
}
