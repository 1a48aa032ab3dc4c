//! Fills arguments and folder variables into a body: one pass, plain text, nothing run.
//!
//! Text that was put in is not searched again, so an argument that looks like a placeholder stays as it is.

use std::ops::ControlFlow;

use super::target::SkillCaller;

const FOLDER_VARIABLES: [&str; 3] = ["${GROVE_SKILL_DIR}", "${CLAUDE_SKILL_DIR}", "{baseDir}"];

/// The label in front of the arguments if no placeholder took one of them.
const FOLLOWING: &str = "ARGUMENTS: ";

const MAX_DIGITS: usize = 3;

/// The most characters of a filled body. A body that is longer by itself keeps its length.
pub const MAX_FILLED: usize = 1_000_000;

/// The refusal of a body that would be longer than [`MAX_FILLED`] with everything put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it would have more than {MAX_FILLED} characters with everything put in")]
pub struct BodyTooLong;

/// The values that are put into a body.
#[derive(Debug, Clone, Copy)]
pub struct PlaceholderValues<'a> {
    /// The caller. A person's call fills placeholders even without arguments.
    pub caller: SkillCaller,
    /// The arguments, word by word.
    pub words: &'a [String],
    /// The names that the skill declares for its arguments, in order.
    pub declared: &'a [String],
    /// The folder of the skill.
    pub folder: &'a str,
}

/// Returns a body with its placeholders filled.
///
/// `$ARGUMENTS` is all words, `$ARGUMENTS[n]` one of them from zero, `$n` one of them from one, and a declared
/// name the word in its place. A number beyond both what was given and what the skill declares is left alone:
/// it is most likely part of a shell example. A backslash before a placeholder keeps it as it is. When some
/// word was put nowhere, all of them follow as a last line.
///
/// A body decides how often an argument is put in, so the length is computed before anything is built.
pub fn fill(body: &str, given: &PlaceholderValues<'_>) -> Result<String, BodyTooLong> {
    let all = given.words.join(" ");
    let most = MAX_FILLED.max(body.chars().count());
    let (mut chars, mut bytes) = (0_usize, 0_usize);
    let used = pieces(body, given, &all, |piece| {
        // Counting ends at the limit, so that a long piece that is repeated very often costs no time.
        chars += piece.chars().count();
        bytes += piece.len();
        if chars > most {
            ControlFlow::Break(BodyTooLong)
        } else {
            ControlFlow::Continue(())
        }
    });
    let used = match used {
        ControlFlow::Continue(used) => used,
        ControlFlow::Break(too_long) => return Err(too_long),
    };
    let follow = used.contains(&false);
    let around = "\n\n".len() + FOLLOWING.len() + "\n".len();
    if follow && chars + around + all.chars().count() > most {
        return Err(BodyTooLong);
    }
    let mut filled = String::with_capacity(bytes + around + all.len());
    let _: ControlFlow<(), _> = pieces(body, given, &all, |piece| {
        filled.push_str(piece);
        ControlFlow::Continue(())
    });
    if follow {
        filled.truncate(filled.trim_end().len());
        if !filled.is_empty() {
            filled.push_str("\n\n");
        }
        filled.push_str(FOLLOWING);
        filled.push_str(&all);
        filled.push('\n');
    }
    Ok(filled)
}

/// Gives the filled body piece by piece, and returns for each of the words if it was put somewhere.
fn pieces<B>(
    body: &str,
    given: &PlaceholderValues<'_>,
    all: &str,
    mut take: impl FnMut(&str) -> ControlFlow<B>,
) -> ControlFlow<B, Vec<bool>> {
    let mut used = vec![false; given.words.len()];
    let mut rest = body;
    while let Some((before, from)) = rest
        .find(['$', '\\', '{'])
        .and_then(|at| rest.split_at_checked(at))
    {
        take(before)?;
        let (kept, candidate) = match from.strip_prefix('\\') {
            Some(after) => (true, after),
            None => (false, from),
        };
        let found = placeholder(candidate, given)
            .and_then(|(length, what)| Some((candidate.split_at_checked(length)?, what)));
        let Some(((written, after), what)) = found else {
            // Each of the three characters searched for is one byte.
            let (one, after) = from.split_at_checked(1).unwrap_or((from, ""));
            take(one)?;
            rest = after;
            continue;
        };
        rest = after;
        match what {
            _ if kept => take(written)?,
            Placeholder::Folder => take(given.folder)?,
            Placeholder::All => {
                take(all)?;
                used.fill(true);
            }
            Placeholder::Word(index) => {
                if let (Some(word), Some(used)) = (given.words.get(index), used.get_mut(index)) {
                    take(word)?;
                    *used = true;
                }
            }
        }
    }
    take(rest)?;
    ControlFlow::Continue(used)
}

enum Placeholder {
    Folder,
    All,
    /// A word by its index from zero; empty if the call did not give it.
    Word(usize),
}

/// Returns the placeholder that a text starts with and its length, if this call fills it.
fn placeholder(text: &str, given: &PlaceholderValues<'_>) -> Option<(usize, Placeholder)> {
    if let Some(name) = FOLDER_VARIABLES.iter().find(|name| text.starts_with(*name)) {
        return Some((name.len(), Placeholder::Folder));
    }
    if given.caller == SkillCaller::Model && given.words.is_empty() {
        return None;
    }
    let after = text.strip_prefix('$')?;
    let known = |index: &usize| *index < given.words.len().max(given.declared.len());
    if let Some(tail) = after.strip_prefix("ARGUMENTS")
        && !continues_word(tail)
    {
        let length = "$ARGUMENTS".len();
        let indexed = tail.strip_prefix('[').and_then(|tail| {
            let (index, digits) = number(tail)?;
            tail.get(digits..)?
                .starts_with(']')
                .then_some((index, digits))
        });
        return match indexed {
            Some((index, digits)) => {
                known(&index).then_some((length + digits + 2, Placeholder::Word(index)))
            }
            None => Some((length, Placeholder::All)),
        };
    }
    if let Some((count, digits)) = number(after) {
        let index = count.checked_sub(1).filter(known)?;
        return Some((1 + digits, Placeholder::Word(index)));
    }
    let named = given.declared.iter().enumerate().filter(|(_, name)| {
        let tail = after.strip_prefix(name.as_str());
        !name.is_empty() && tail.is_some_and(|tail| !continues_word(tail))
    });
    let (index, name) = named.max_by_key(|(_, name)| name.len())?;
    Some((1 + name.len(), Placeholder::Word(index)))
}

/// Returns the number that a text starts with, and the count of its digits.
fn number(text: &str) -> Option<(usize, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > MAX_DIGITS {
        return None;
    }
    Some((text.get(..digits)?.parse().ok()?, digits))
}

/// Returns true if a name goes on in the text that follows it.
fn continues_word(tail: &str) -> bool {
    tail.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(body: &str, caller: SkillCaller, words: &[&str], declared: &[&str]) -> String {
        let owned = |all: &[&str]| {
            all.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        fill(
            body,
            &PlaceholderValues {
                caller,
                words: &owned(words),
                declared: &owned(declared),
                folder: "/s/x",
            },
        )
        .unwrap()
    }

    #[test]
    fn a_call_fills_placeholders() {
        for (body, words, declared, expected) in [
            ("Do $ARGUMENTS now", &["a", "b"][..], &[][..], "Do a b now"),
            ("Do $ARGUMENTS now", &[], &[], "Do  now"),
            ("$1 and $2", &["a", "b"], &[], "a and b"),
            ("$ARGUMENTS[0]-$ARGUMENTS[1]", &["a", "b"], &[], "a-b"),
            ("$1abc $12", &["a"], &[], "aabc $12"),
            (
                "fix $issue in $file",
                &["7", "x.rs"],
                &["issue", "file"],
                "fix 7 in x.rs",
            ),
            (
                "fix $issue in $file.",
                &["7"],
                &["issue", "file"],
                "fix 7 in .",
            ),
            ("$issue_id $issue", &["7"], &["issue"], "$issue_id 7"),
            ("$a $a-b", &["1", "2"], &["a", "a-b"], "1 2"),
            // Nothing of that number was given or declared.
            ("awk '{print $1}'", &[], &[], "awk '{print $1}'"),
            (
                "costs $5 or $1000",
                &["a"],
                &["x"],
                "costs $5 or $1000\n\nARGUMENTS: a\n",
            ),
            ("$1 $2 $3", &["a"], &["x", "y"], "a  $3"),
            (
                "$ARGUMENTS[5] $ARGUMENTS[x]",
                &["a"],
                &[],
                "$ARGUMENTS[5] a[x]",
            ),
            (
                "$0 ${1} $HOME $",
                &["a"],
                &[],
                "$0 ${1} $HOME $\n\nARGUMENTS: a\n",
            ),
            (
                "$ARGUMENTSX $ARGUMENTS_Y",
                &["a"],
                &[],
                "$ARGUMENTSX $ARGUMENTS_Y\n\nARGUMENTS: a\n",
            ),
            // A backslash keeps a placeholder, and is itself kept before anything else.
            (r"\$ARGUMENTS $ARGUMENTS", &["a"], &[], "$ARGUMENTS a"),
            (r"\$HOME \$9 \n \", &[], &[], r"\$HOME \$9 \n \"),
            (
                r"\${GROVE_SKILL_DIR} ${GROVE_SKILL_DIR}",
                &[],
                &[],
                "${GROVE_SKILL_DIR} /s/x",
            ),
            // What was used nowhere follows, all of it when a part was.
            ("Body\n", &["a", "b"], &[], "Body\n\nARGUMENTS: a b\n"),
            ("", &["a"], &[], "ARGUMENTS: a\n"),
            (
                "first $1\n",
                &["a", "b"],
                &[],
                "first a\n\nARGUMENTS: a b\n",
            ),
            // Text that was put in is not searched again.
            ("$1|$2", &["$2", "$ARGUMENTS"], &[], "$2|$ARGUMENTS"),
            ("$1", &["${GROVE_SKILL_DIR}"], &[], "${GROVE_SKILL_DIR}"),
            (
                "$ARGUMENTS!`echo $1`",
                &["$(id)"],
                &[],
                "$(id)!`echo $(id)`",
            ),
        ] {
            assert_eq!(
                filled(body, SkillCaller::Person, words, declared),
                expected,
                "{body}"
            );
        }
    }

    #[test]
    fn without_arguments_a_model_gets_the_body_as_written_but_for_folders() {
        let body = r"$ARGUMENTS $1 $x \$1 {baseDir}/a ${CLAUDE_SKILL_DIR}/b ${GROVE_SKILL_DIR}/c";
        let expected = r"$ARGUMENTS $1 $x \$1 /s/x/a /s/x/b /s/x/c";
        assert_eq!(filled(body, SkillCaller::Model, &[], &["x"]), expected);
        assert_eq!(filled("$1 $x", SkillCaller::Model, &["a"], &["x"]), "a a");
    }

    #[test]
    fn a_small_body_that_repeats_its_arguments_is_refused_before_it_is_built() {
        let word = ["x".repeat(20_000)];
        let fill = |body: &str, words: &[String]| {
            let given = PlaceholderValues {
                caller: SkillCaller::Person,
                words,
                declared: &[],
                folder: "/s/x",
            };
            fill(body, &given).map(|filled| filled.chars().count())
        };
        let lines = |count: usize| "$ARGUMENTS\n".repeat(count);
        assert_eq!(fill(&lines(22_000), &word), Err(BodyTooLong));
        assert_eq!(fill(&"$1".repeat(121_000), &word), Err(BodyTooLong));
        assert_eq!(fill(&"$ARGUMENTS".repeat(50), &word), Ok(MAX_FILLED));
        assert_eq!(
            fill(&lines(50), &word),
            Err(BodyTooLong),
            "one line end each too many"
        );
        // What is long by itself is not refused: nothing was multiplied.
        let long = "y".repeat(MAX_FILLED + 5);
        assert_eq!(fill(&long, &[]), Ok(MAX_FILLED + 5));
        assert_eq!(fill(&long, &word), Err(BodyTooLong));
        assert_eq!(
            fill(&"{baseDir}".repeat(300_000), &[]),
            Ok(1_200_000),
            "shorter than the body"
        );
    }

    proptest! {
        /// Arguments come out whole and untouched: with marks in place of the words, filling is the same.
        #[test]
        fn arguments_are_never_expanded(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just("$ARGUMENTS"), Just("$1"), Just("$2"), Just("$name"), Just("$ARGUMENTS[1]"),
                    Just("\\"), Just("{baseDir}"), Just("text "), Just("$"), Just("\n"),
                ],
                0..20,
            ),
            hostile in prop::collection::vec(
                prop_oneof![
                    Just("$ARGUMENTS"), Just("$1"), Just("$2"), Just("${GROVE_SKILL_DIR}"),
                    Just("$name"), Just("\\$1"), Just("$(touch x)"), Just("`id`"), Just("{baseDir}"),
                ],
                2..=2,
            ),
        ) {
            let body = pieces.concat();
            let names = ["name"];
            let marks = ["\u{1}", "\u{2}"];
            let expected = filled(&body, SkillCaller::Person, &marks, &names)
                .replace('\u{1}', hostile[0])
                .replace('\u{2}', "\u{3}")
                .replace('\u{3}', hostile[1]);
            prop_assert_eq!(filled(&body, SkillCaller::Person, &hostile, &names), expected);
        }

        #[test]
        fn any_text_is_filled_without_loss(body in ".{0,80}", word in ".{0,10}") {
            let out = filled(&body, SkillCaller::Person, &[&word], &[]);
            prop_assert!(out.contains(&word));
            prop_assert_eq!(filled(&body, SkillCaller::Model, &[], &[]).contains("${GROVE_SKILL_DIR}"),
                body.contains("\\${GROVE_SKILL_DIR}"));
        }
    }
}
