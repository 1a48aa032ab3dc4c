//! The names that hosts take, and how they write them.

use std::borrow::Cow;

use serde::Deserialize;

/// The names that a host takes, and its way of writing them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameForm {
    /// Any name, as it is.
    #[default]
    Any,
    /// ASCII letters, digits, `.`, `_`, `-`, `:` and blanks after a letter or digit; blanks become `-`.
    Ascii,
    /// Any name; characters that cannot be in a file name become `-`.
    File,
}

impl NameForm {
    /// Returns true if the host takes a skill of this name.
    pub fn takes(self, name: &str) -> bool {
        self != Self::Ascii
            || (name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-: ".contains(c)))
    }

    /// Returns the name as the host writes it.
    pub fn written(self, name: &str) -> Cow<'_, str> {
        let replaced = match self {
            Self::Any => "",
            Self::Ascii => " ",
            Self::File => ":\\/<>*?\"|",
        };
        if name.contains(|c| replaced.contains(c)) {
            Cow::Owned(name.replace(|c| replaced.contains(c), "-"))
        } else {
            Cow::Borrowed(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_and_written_by_their_form() {
        for (form, name, written) in [
            (NameForm::Any, "a b/ü", Some("a b/ü")),
            (NameForm::Ascii, "A b.c", Some("A-b.c")),
            (NameForm::Ascii, "plugin:skill", Some("plugin:skill")),
            (NameForm::Ascii, "naïve", None),
            (NameForm::Ascii, "-lead", None),
            (NameForm::Ascii, "a/b", None),
            (NameForm::File, "a/b: \"ü\"", Some("a-b- -ü-")),
        ] {
            let found = form.takes(name).then(|| form.written(name));
            assert_eq!(found.as_deref(), written, "{form:?} {name}");
        }
    }
}
