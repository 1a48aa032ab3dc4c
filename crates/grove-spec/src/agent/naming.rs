//! The names of agents, from their files: the name, the package, and the file's name in place of a missing one.

/// A package as it is used in names; nothing if no character of it can be used.
///
/// It is in lower case, with blanks as hyphens, without other characters, and with runs of hyphens or dots as one.
pub fn package(text: &str) -> Option<String> {
    let mut kept = String::with_capacity(text.len());
    for c in text.trim().to_lowercase().chars() {
        let c = if c.is_whitespace() { '-' } else { c };
        let repeats = matches!(c, '-' | '.') && kept.ends_with(c);
        if (c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.')) && !repeats {
            kept.push(c);
        }
    }
    let segments: Vec<&str> = kept
        .split('.')
        .map(|segment| segment.trim_matches('-'))
        .filter(|segment| !segment.is_empty())
        .collect();
    (!segments.is_empty()).then(|| segments.join("."))
}

/// A name for a new agent that files and hosts accept: ` My Agent! ` is `my-agent`; nothing if no character of it can
/// be kept.
pub fn sanitised(text: &str) -> Option<String> {
    let mut kept = String::with_capacity(text.len());
    for c in text.trim().to_lowercase().chars() {
        let c = if c.is_whitespace() { '-' } else { c };
        let repeats = c == '-' && kept.ends_with('-');
        if (c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') && !repeats {
            kept.push(c);
        }
    }
    let kept = kept.trim_matches('-');
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// The file of an agent with this name and package.
pub fn file_name(name: &str, package: Option<&str>) -> String {
    match package {
        Some(package) => format!("{package}.{name}.md"),
        None => format!("{name}.md"),
    }
}

/// The name that a file gives to an agent without one: `reviewer` for `reviewer.md`, `reviewer.agent.md` and `reviewer.toml`.
pub fn stem(file_name: &str) -> &str {
    let stem = file_name.strip_suffix(".md");
    let stem = stem.or_else(|| file_name.strip_suffix(".toml"));
    let stem = stem.unwrap_or(file_name);
    stem.strip_suffix(".agent").unwrap_or(stem)
}

/// Returns true if a file of this name may be an agent's: Markdown, and neither a skill's nor a chain's.
pub fn is_agent_file(file_name: &str) -> bool {
    file_name
        .strip_suffix(".md")
        .is_some_and(|stem| !stem.is_empty() && stem.strip_suffix(".chain").is_none())
        && !file_name.eq_ignore_ascii_case("SKILL.md")
}

/// The name by which an agent is called, its package included.
pub fn runtime_name(agent: &super::AgentFile, file_name: &str) -> String {
    let name = agent.name.as_deref().unwrap_or_else(|| stem(file_name));
    match &agent.package {
        Some(package) => format!("{package}.{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_normalised() {
        for (text, expected) in [
            ("Code Analysis", Some("code-analysis")),
            ("a..b", Some("a.b")),
            ("a_b", Some("ab")),
            (" -x- ", Some("x")),
            ("a.-b", Some("a.b")),
            ("...", None),
            ("  ", None),
            ("語", None),
        ] {
            assert_eq!(package(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn new_names_have_small_letters_digits_and_hyphens() {
        for (text, expected) in [
            (" My Agent! ", Some("my-agent")),
            ("a__b", Some("ab")),
            ("--A - b--", Some("a-b")),
            ("../../etc/passwd", Some("etcpasswd")),
            ("Ünder", Some("nder")),
            ("語", None),
            (" ! ", None),
            ("", None),
        ] {
            assert_eq!(sanitised(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn skills_and_chains_are_no_agents() {
        for (name, expected) in [
            ("a.md", true),
            ("a.agent.md", true),
            ("a.chain.md", false),
            ("SKILL.md", false),
            ("skill.md", false),
            ("a.txt", false),
            (".md", false),
        ] {
            assert_eq!(is_agent_file(name), expected, "{name}");
        }
        assert_eq!(stem("x.agent.md"), "x");
        assert_eq!(stem("x.y.md"), "x.y");
        assert_eq!(stem("x.toml"), "x");
    }
}
