//! The few words and flags our commands take. Not a general parser: no `--flag=value`, no short
//! flags, no help texts.

use std::collections::VecDeque;
use std::str::FromStr;

/// What is left of the command line.
#[derive(Debug)]
pub struct Arguments {
    rest: VecDeque<String>,
}

impl Arguments {
    /// The arguments of this process, without the program itself.
    pub fn of_process() -> Self {
        Self {
            rest: std::env::args().skip(1).collect(),
        }
    }

    /// Everything that is left.
    pub fn rest(self) -> Vec<String> {
        self.rest.into()
    }

    /// Takes the first argument when it is a word, not a flag; `--help` is taken as a word too.
    pub fn next_word(&mut self) -> Option<String> {
        let is_word = |word: &String| !word.starts_with('-') || word == "--help" || word == "-h";
        self.rest.pop_front_if(|word| is_word(word))
    }

    /// Takes `flag` wherever it stands and says whether it was there.
    pub fn flag(&mut self, flag: &str) -> bool {
        self.position(flag)
            .and_then(|position| self.rest.remove(position))
            .is_some()
    }

    /// Takes `flag` with the value that follows it.
    pub fn value<T: FromStr>(&mut self, flag: &str) -> Result<Option<T>, String> {
        let Some(position) = self.position(flag) else {
            return Ok(None);
        };
        self.rest.remove(position);
        let value = self.rest.remove(position);
        let text = value.ok_or_else(|| format!("{flag} needs a value"))?;
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(format!("{flag} cannot be {text}")),
        }
    }

    /// An error when something is left that no one has taken.
    pub fn finish(self) -> Result<(), String> {
        match self.rest.front() {
            None => Ok(()),
            Some(unknown) => Err(format!("unknown argument {unknown}")),
        }
    }

    fn position(&self, flag: &str) -> Option<usize> {
        self.rest.iter().position(|argument| argument == flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments {
            rest: line.split(' ').map(str::to_owned).collect(),
        }
    }

    #[test]
    fn words_flags_and_values_are_taken_in_any_order() {
        let mut arguments = arguments("fuzz frontmatter --keep --seconds 20");
        assert_eq!(arguments.next_word().as_deref(), Some("fuzz"));
        assert_eq!(arguments.value::<u64>("--seconds"), Ok(Some(20)));
        assert!(arguments.flag("--keep"));
        assert!(!arguments.flag("--json"));
        assert_eq!(arguments.next_word().as_deref(), Some("frontmatter"));
        assert_eq!(arguments.next_word(), None);
        assert_eq!(arguments.finish(), Ok(()));
    }

    #[test]
    fn what_no_one_takes_is_an_error() {
        assert_eq!(
            arguments("--fast").finish(),
            Err("unknown argument --fast".to_owned())
        );
    }

    #[test]
    fn a_value_must_be_there_and_fit() {
        let missing = arguments("--runs").value::<u32>("--runs");
        assert_eq!(missing, Err("--runs needs a value".to_owned()));
        let unfit = arguments("--runs many").value::<u32>("--runs");
        assert_eq!(unfit, Err("--runs cannot be many".to_owned()));
    }
}
