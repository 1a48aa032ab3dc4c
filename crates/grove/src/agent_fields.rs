//! The fields of an agent as flags: one table, so that no field is forgotten.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// Fields, their flags and what they are.
const FIELDS: [(&str, &str, &str); 28] = [
    (
        "description",
        "description",
        "What it does and when to use it",
    ),
    (
        "tools",
        "tools",
        "The tools it may use, with commas; `[]` for none, empty for whatever is usual",
    ),
    (
        "extensions",
        "extensions",
        "Its extensions, with commas; `[]` for none, empty for whatever is usual",
    ),
    ("model", "model", "Its model"),
    (
        "fallbackModels",
        "fallback-models",
        "Models to try in order when that one fails",
    ),
    ("thinking", "thinking", "How much the model thinks"),
    (
        "systemPromptMode",
        "system-prompt-mode",
        "`replace` or `append`",
    ),
    (
        "inheritProjectContext",
        "inherit-project-context",
        "Whether the project's instructions are in its prompt",
    ),
    (
        "inheritSkills",
        "inherit-skills",
        "Whether the catalog of all skills is in its prompt",
    ),
    ("skills", "skills", "The skills in its prompt, with commas"),
    ("skillInjection", "skill-injection", "`full` or `light`"),
    ("skillPath", "skill-path", "Further folders with its skills"),
    ("defaultContext", "default-context", "`fresh` or `fork`"),
    (
        "output",
        "output",
        "The file for its answer; `false` for none",
    ),
    ("outputMode", "output-mode", "`inline` or `file-only`"),
    (
        "defaultReads",
        "default-reads",
        "Files that it reads first, with commas",
    ),
    (
        "defaultProgress",
        "default-progress",
        "Whether it keeps a file about its progress",
    ),
    ("interactive", "interactive", "Whether it may ask"),
    (
        "maxSubagentDepth",
        "max-subagent-depth",
        "How deep it may call others",
    ),
    (
        "completionGuard",
        "completion-guard",
        "Whether its answer is checked for being one",
    ),
    (
        "maxExecutionTimeMs",
        "max-execution-time-ms",
        "Milliseconds that it may run",
    ),
    (
        "timeoutMs",
        "timeout-ms",
        "Milliseconds that it may be silent",
    ),
    ("maxTokens", "max-tokens", "Tokens that it may use"),
    ("turnBudget", "turn-budget", "Turns that it may take"),
    (
        "toolBudget",
        "tool-budget",
        "Calls of tools that it may make",
    ),
    (
        "acceptanceRole",
        "acceptance-role",
        "Its part in accepting work",
    ),
    ("async", "async", "Whether it runs in the background"),
    ("aliases", "aliases", "Other names for it, with commas"),
];

/// What is asked of an agent's fields and text.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedFields {
    /// Fields with their values, those with flags of their own first.
    pub(crate) fields: Vec<(String, String)>,
    /// The text.
    pub(crate) body: Option<String>,
    /// The file with the text; `-` for standard input.
    pub(crate) body_file: Option<PathBuf>,
}

impl Args for AskedFields {
    fn augment_args(command: Command) -> Command {
        let fields = FIELDS.map(|(key, flag, about)| {
            Arg::new(key)
                .long(flag)
                .value_name("VALUE")
                .allow_hyphen_values(true)
                .help(about)
        });
        command
            .args(fields)
            .arg(
                Arg::new("set")
                    .long("set")
                    .value_name("FIELD=VALUE")
                    .action(ArgAction::Append)
                    .value_parser(pair)
                    .help("Any field, by its name in the file; an empty value is no value (repeatable)"),
            )
            .arg(
                Arg::new("body")
                    .long("body")
                    .value_name("TEXT")
                    .allow_hyphen_values(true)
                    .conflicts_with("body_file")
                    .help("Its text"),
            )
            .arg(
                Arg::new("body_file")
                    .long("body-file")
                    .value_name("FILE")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("The file with its text; `-` for standard input"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AskedFields {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut asked = Self::default();
        asked.update_from_arg_matches(matches)?;
        Ok(asked)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (key, _, _) in FIELDS {
            if let Some(value) = matches.get_one::<String>(key) {
                self.fields.push((key.to_owned(), value.clone()));
            }
        }
        if let Some(pairs) = matches.get_many::<(String, String)>("set") {
            self.fields.extend(pairs.cloned());
        }
        self.body = matches.get_one("body").cloned();
        self.body_file = matches.get_one("body_file").cloned();
        Ok(())
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write FIELD=VALUE")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
