//! Splitting a command line into words as a shell does, without any expansion.

pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_as_a_shell_does() {
        for (line, words) in [
            ("", Some(vec![])),
            ("  a  b ", Some(vec!["a", "b"])),
            (
                "/bin/bash -lc 'npm test'",
                Some(vec!["/bin/bash", "-lc", "npm test"]),
            ),
            (
                r#"/bin/bash -lc "echo \"a 'b'\" && ls""#,
                Some(vec!["/bin/bash", "-lc", r#"echo "a 'b'" && ls"#]),
            ),
            (r"a\ b 'c'\''d' ''", Some(vec!["a b", "c'd", ""])),
            (r#""a\nb""#, Some(vec![r"a\nb"])),
            ("'open", None),
            ("\"open", None),
        ] {
            let words = words.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(split(line), words, "{line}");
        }
    }
}
