//! The choice among the skills of a package, by patterns in its manifest and in the settings that name it.

use std::sync::Arc;

use super::manifest::MAX_PATHS;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};
use crate::json::{self, kind_of, text_of};
use crate::text::{is_line, one_line};
use crate::wildcard::{Wildcard, is_wildcard};
use crate::yaml::{YamlNode, YamlValue};

const SKILL_FILE: &str = "SKILL.md";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleEffect {
    /// Without a sign: includes the skill, and excludes skills that no rule includes.
    Take,
    /// `!`: excludes the skill.
    Leave,
    /// `+`: includes the skill even if those rules exclude it.
    Add,
    /// `-`: excludes the skill in any case.
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleTarget {
    Pattern(Wildcard),
    /// A path as written, without `./`.
    Exact(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ChoiceRule {
    sign: RuleEffect,
    target: RuleTarget,
}

/// Rules that choose among the skills of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillChoice {
    rules: Vec<ChoiceRule>,
    /// Set for `autoload: false`: a skill that no rule matches is excluded, and for others the last rule decides.
    is_delta: bool,
}

impl SkillChoice {
    /// Returns true if there are no rules, so that every skill counts.
    pub fn is_everything(&self) -> bool {
        self.rules.is_empty() && !self.is_delta
    }

    /// Adds a rule as it is written, or returns the reason why it cannot be one.
    pub(super) fn add(&mut self, written: &str) -> Result<(), &'static str> {
        if !is_line(written) {
            return Err("has control characters");
        }
        let signs = [
            ('!', RuleEffect::Leave),
            ('+', RuleEffect::Add),
            ('-', RuleEffect::Remove),
        ];
        let signed = signs
            .iter()
            .find_map(|(sign, means)| Some((*means, written.strip_prefix(*sign)?)));
        let (sign, text) = signed.unwrap_or((RuleEffect::Take, written));
        if text.trim().is_empty() {
            return Err("is blank");
        }
        let text = text.replace('\\', "/");
        let target = match sign {
            RuleEffect::Take | RuleEffect::Leave => RuleTarget::Pattern(Wildcard::parse(&text)?),
            RuleEffect::Add | RuleEffect::Remove => {
                let plain = text.strip_prefix("./").unwrap_or(&text);
                RuleTarget::Exact(plain.trim_end_matches('/').to_owned())
            }
        };
        self.rules.push(ChoiceRule { sign, target });
        Ok(())
    }

    /// Returns true if a skill counts, by the path of its file below the package.
    fn takes(&self, file: &str) -> bool {
        let any = |sign: RuleEffect| {
            let mut rules = self.rules.iter().filter(move |rule| rule.sign == sign);
            rules.any(|rule| rule.is_about(file))
        };
        if self.is_delta {
            let last = self.rules.iter().rev().find(|rule| rule.is_about(file));
            return last
                .is_some_and(|rule| matches!(rule.sign, RuleEffect::Take | RuleEffect::Add));
        }
        let chooses = self.rules.iter().any(|rule| rule.sign == RuleEffect::Take);
        let taken = (!chooses || any(RuleEffect::Take)) && !any(RuleEffect::Leave);
        (taken || any(RuleEffect::Add)) && !any(RuleEffect::Remove)
    }
}

impl ChoiceRule {
    /// Returns true if the rule names the skill's file or folder; a pattern may also match only the last part of either.
    fn is_about(&self, file: &str) -> bool {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let is_folder = name == SKILL_FILE;
        match &self.target {
            RuleTarget::Exact(path) => path == file || (is_folder && path == folder),
            RuleTarget::Pattern(pattern) => {
                let folder_name = folder.rsplit('/').next().unwrap_or(folder);
                pattern.matches(file)
                    || pattern.matches(name)
                    || (is_folder && (pattern.matches(folder) || pattern.matches(folder_name)))
            }
        }
    }
}

/// The choice that settings make among the skills of a package that they name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SkillFilter {
    /// The package is named by a text alone.
    #[default]
    Unsaid,
    /// The package is named by an object without `skills`: its usual folder counts too.
    Usual,
    /// None of its skills count.
    Nothing,
    /// The skills that these rules choose.
    Chosen(SkillChoice),
}

impl SkillFilter {
    /// Reads the filter of a package that settings name. A filter that cannot be read lets nothing through, since its
    /// author meant to have fewer skills.
    pub(super) fn read(item: &YamlNode) -> (Self, Vec<Diagnostic>) {
        if item.as_map().is_none() {
            return (Self::Unsaid, Vec::new());
        }
        let mut findings = Vec::new();
        let mut say = |position: Position, message: String| {
            findings.push(Diagnostic::new(Code::PackageSource, message).at(position));
        };
        let autoload = item.get("autoload");
        let is_delta = autoload.is_some_and(|node| json::value_of(node) == false);
        if let Some(node) = autoload.filter(|node| !json::value_of(node).is_boolean()) {
            let message = format!("`autoload` is {}, not true or false", kind_of(node));
            say(node.position, message);
        }
        let mut choice = SkillChoice {
            rules: Vec::new(),
            is_delta,
        };
        let filter = match item.get("skills").map(|node| (&node.value, node)) {
            None if is_delta => Self::Nothing,
            None => Self::Usual,
            Some((YamlValue::List(items), _)) => {
                for item in items.iter().take(MAX_PATHS) {
                    let refusal = match text_of(item) {
                        None => Some(format!("is {}, not a pattern", kind_of(item))),
                        Some(text) => choice
                            .add(text)
                            .err()
                            .map(|why| format!("has `{}`, which {why}", one_line(text))),
                    };
                    if let Some(why) = refusal {
                        say(item.position, format!("the filter `skills` {why}"));
                    }
                }
                if items.len() > MAX_PATHS {
                    let message = format!(
                        "the filter `skills` has {} patterns; the first {MAX_PATHS} are looked at",
                        items.len()
                    );
                    findings.push(Diagnostic::new(Code::PackageLimit, message).at(item.position));
                }
                if choice.rules.is_empty() {
                    Self::Nothing
                } else {
                    Self::Chosen(choice)
                }
            }
            Some((_, node)) => {
                let message = format!(
                    "the filter `skills` is {}, not a list of patterns; none of the package's skills are used",
                    kind_of(node)
                );
                say(node.position, message);
                Self::Nothing
            }
        };
        (filter, findings)
    }
}

/// The choice within one folder of skills that a package provides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderChoice {
    /// The folder's path below the package.
    pub below: String,
    /// Patterns that lead to the skills; without any, everything in the folder is meant.
    pub leads: Vec<Wildcard>,
    /// The choices of the manifest and of the settings; a skill must pass all of them.
    pub choices: Vec<Arc<SkillChoice>>,
}

impl FolderChoice {
    /// Returns the path below the package of a file, from its path below the folder.
    pub fn below_package(&self, file: &str) -> String {
        match self.below.as_str() {
            "" => file.to_owned(),
            below => format!("{below}/{file}"),
        }
    }

    /// Returns true if a skill counts, by the path of its file below the folder.
    pub fn takes(&self, file: &str) -> bool {
        let whole = self.below_package(file);
        let is_led_to = |lead: &Wildcard| {
            let above = whole
                .match_indices('/')
                .filter_map(|(at, _)| whole.get(..at));
            above.chain([whole.as_str()]).any(|part| lead.matches(part))
        };
        (self.leads.is_empty() || self.leads.iter().any(is_led_to))
            && self.choices.iter().all(|choice| choice.takes(&whole))
    }
}

/// The folder that contains everything that a pattern can match; nothing if the text is no pattern.
pub(super) fn folder_of_pattern(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let first = parts.iter().position(|part| is_wildcard(part))?;
    // Braces and classes before the wildcard may stand for more than one folder.
    let plain = parts.iter().take(first);
    let plain = plain.take_while(|part| !part.contains(['{', '[']));
    Some(plain.copied().collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(rules: &[&str], is_delta: bool) -> SkillChoice {
        let mut choice = SkillChoice {
            rules: Vec::new(),
            is_delta,
        };
        for rule in rules {
            choice.add(rule).unwrap();
        }
        choice
    }

    /// The skills `a`, `b` and the single file `c` that are left after the choice.
    fn left(choice: SkillChoice) -> Vec<&'static str> {
        let chosen = FolderChoice {
            below: "skills".to_owned(),
            leads: Vec::new(),
            choices: vec![Arc::new(choice)],
        };
        let all = [("a", "a/SKILL.md"), ("b", "g/b/SKILL.md"), ("c", "c.md")];
        let kept = all.into_iter().filter(|(_, file)| chosen.takes(file));
        kept.map(|(name, _)| name).collect()
    }

    #[test]
    fn signs_choose_by_file_folder_or_name_and_the_stronger_sign_wins() {
        for (rules, expected) in [
            (&[][..], &["a", "b", "c"][..]),
            (&["a"], &["a"]),
            (&["skills/a"], &["a"]),
            (&["./skills/a/"], &["a"]),
            (&["skills/a/SKILL.md"], &["a"]),
            (&["skills/*"], &["a", "c"]),
            (&["skills/**"], &["a", "b", "c"]),
            (&["c.md"], &["c"]),
            (&["c"], &[]),
            (&["!b"], &["a", "c"]),
            (&["!**"], &[]),
            (&["a", "!a"], &[]),
            (&["!**", "+skills/a"], &["a"]),
            (&["!**", "+./skills/c.md"], &["c"]),
            (&["+skills/a"], &["a", "b", "c"]),
            (&["a", "+skills/g/b"], &["a", "b"]),
            (&["a", "+b"], &["a"]),
            (&["+skills/a", "-skills/a"], &["b", "c"]),
            (&["-a"], &["a", "b", "c"]),
            (&["-skills/a/"], &["b", "c"]),
        ] {
            assert_eq!(left(choice(rules, false)), expected, "{rules:?}");
        }
    }

    #[test]
    fn without_loading_by_itself_the_last_rule_about_a_skill_decides() {
        for (rules, expected) in [
            (&[][..], &[][..]),
            (&["a"], &["a"]),
            (&["skills/**", "!a"], &["b", "c"]),
            (&["!a", "skills/**"], &["a", "b", "c"]),
            (&["-skills/a", "+skills/a"], &["a"]),
        ] {
            assert_eq!(left(choice(rules, true)), expected, "{rules:?}");
        }
    }

    #[test]
    fn a_pattern_leads_to_everything_below_what_it_matches() {
        for (lead, file, expected) in [
            ("skills/*", "a/SKILL.md", true),
            ("skills/*", "a/deep/SKILL.md", true),
            ("skills/a*", "b/SKILL.md", false),
            ("skills/*/SKILL.md", "a/SKILL.md", true),
            ("skills/*/SKILL.md", "a/b/SKILL.md", false),
            ("skills/*.md", "c.md", true),
            ("skills/*.md", "a/SKILL.md", false),
        ] {
            let chosen = FolderChoice {
                below: "skills".to_owned(),
                leads: vec![Wildcard::parse(lead).unwrap()],
                choices: Vec::new(),
            };
            assert_eq!(chosen.takes(file), expected, "{lead} {file}");
        }
    }

    #[test]
    fn the_folder_of_a_pattern_is_what_stands_before_its_first_wildcard() {
        for (path, expected) in [
            ("skills", None),
            ("skills/{a,b}", None),
            ("skills/*", Some("skills")),
            ("a/b/x?/c", Some("a/b")),
            ("*/skills", Some("")),
            ("**", Some("")),
            ("a/{b,c}/*", Some("a")),
        ] {
            assert_eq!(folder_of_pattern(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn rules_that_are_none_are_refused() {
        for written in ["", " ", "!", "+", "a\0b", "!a\nb"] {
            assert!(SkillChoice::default().add(written).is_err(), "{written:?}");
        }
        let many = "{a,b}".repeat(7);
        assert!(SkillChoice::default().add(&many).is_err());
    }
}
