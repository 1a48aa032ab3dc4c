//! Commands in groups, as `grove --help` lists them, and the names that people know from other programs.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::Cli;

/// Commands that belong together.
struct CommandGroup {
    title: &'static str,
    commands: &'static [&'static str],
    example: &'static str,
}

/// The groups of commands in the help; a command that is in none of these goes into the last one.
const GROUPS: [CommandGroup; 4] = [
    CommandGroup {
        title: "Skills and agents",
        commands: &[
            "skills", "agents", "chains", "prompt", "catalog", "why", "trust", "untrust",
        ],
        example: "grove why pdf",
    },
    CommandGroup {
        title: "Running agents",
        commands: &["run", "plan", "runs", "engines", "try"],
        example: "grove run scout \"Find out how the tests are started\"",
    },
    CommandGroup {
        title: "Connecting hosts",
        commands: &["init", "mcp", "hosts"],
        example: "grove mcp install --host claude",
    },
    CommandGroup {
        title: "Checking and maintenance",
        commands: &[],
        example: "grove check",
    },
];

/// Another name of a command.
struct CommandAlias {
    /// The words that people type after `grove`.
    typed: &'static [&'static str],
    /// The command that they mean.
    means: &'static [&'static str],
    /// The command that they mean when a name follows, where it is another one.
    with_name: Option<&'static [&'static str]>,
}

macro_rules! aliases {
    ($($($typed:literal)+ => $($means:literal)+ $(, with a name $($with_name:literal)+)?;)+) => {
        /// The names that people know from other programs. None of them is a command of its own.
        const ALIASES: &[CommandAlias] = &[$(CommandAlias {
            typed: &[$($typed),+],
            means: &[$($means),+],
            with_name: aliases!(@ $($($with_name)+)?),
        }),+];
    };
    (@) => { None };
    (@ $($with_name:literal)+) => { Some(&[$($with_name),+]) };
}

aliases! {
    "ls" => "skills" "list";
    "add" => "skills" "create";
    "ps" => "runs" "list";
    "status" => "runs" "list", with a name "runs" "show";
    "logs" => "runs" "logs";
    "attach" => "runs" "watch";
    "cancel" => "runs" "stop";
    "retry" => "runs" "again";
    "skills" "ls" => "skills" "list";
    "skills" "add" => "skills" "create";
    "skills" "rm" => "skills" "delete";
    "agents" "ls" => "agents" "list";
    "agents" "add" => "agents" "create";
    "agents" "rm" => "agents" "delete";
    "chains" "ls" => "chains" "list";
    "chains" "add" => "chains" "create";
    "chains" "rm" => "chains" "delete";
    "runs" "ls" => "runs" "list";
    "runs" "ps" => "runs" "list";
    "runs" "status" => "runs" "list", with a name "runs" "show";
    "runs" "attach" => "runs" "watch";
    "runs" "cancel" => "runs" "stop";
    "runs" "retry" => "runs" "again";
}

/// Replaces other names of commands by the names themselves in what was typed.
pub(crate) fn with_names(arguments: Vec<OsString>) -> Vec<OsString> {
    let Some((program, typed)) = arguments.split_first() else {
        return arguments;
    };
    let is_it = |alias: &&CommandAlias| {
        let mut words = alias.typed.iter().enumerate();
        words.all(|(at, word)| typed.get(at).is_some_and(|typed| typed == word))
    };
    let Some(alias) = ALIASES.iter().find(is_it) else {
        return arguments;
    };
    let rest = typed.get(alias.typed.len()..).unwrap_or_default();
    let has_name = rest
        .first()
        .is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let means = alias.with_name.filter(|_| has_name).unwrap_or(alias.means);
    let mut meant = vec![program.clone()];
    meant.extend(means.iter().map(OsString::from));
    meant.extend_from_slice(rest);
    meant
}

/// The whole command line, whose own help has commands in groups.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\nOther names: {}",
        other_names()
    ))
}

fn groups(command: &clap::Command) -> String {
    let all: Vec<&clap::Command> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .collect();
    let width = all.iter().map(|it| it.get_name().len()).max().unwrap_or(0);
    let is_named = |name: &str| GROUPS.iter().any(|group| group.commands.contains(&name));
    let mut text = String::new();
    for group in &GROUPS {
        let _ = writeln!(text, "{}:", group.title);
        let named = group.commands.iter();
        let named = named.filter_map(|name| all.iter().find(|it| it.get_name() == *name));
        let others = all
            .iter()
            .filter(|it| group.commands.is_empty() && !is_named(it.get_name()));
        for command in named.chain(others) {
            let about = command.get_about().map(ToString::to_string);
            let (name, about) = (command.get_name(), about.unwrap_or_default());
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
        let _ = writeln!(text, "  Example: {}\n", group.example);
    }
    text
}

/// The other names of whole commands, in a line.
fn other_names() -> String {
    let whole = ALIASES.iter().filter(|alias| alias.typed.len() == 1);
    let names = whole.map(|alias| format!("{} ({})", alias.typed.join(" "), alias.means.join(" ")));
    names.collect::<Vec<_>>().join(", ")
}

/// Every other name, as a table in Markdown.
pub(crate) fn other_names_table() -> String {
    let mut table = String::from("| typed | means |\n| --- | --- |\n");
    for alias in ALIASES {
        let with_name = alias.with_name.map_or_else(String::new, |means| {
            format!("; with a name `grove {}`", means.join(" "))
        });
        let (typed, means) = (alias.typed.join(" "), alias.means.join(" "));
        let _ = writeln!(table, "| `grove {typed}` | `grove {means}`{with_name} |");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(typed: &str) -> String {
        let words = typed.split(' ').map(OsString::from).collect();
        let meant = with_names(words);
        let meant: Vec<_> = meant.iter().map(|it| it.to_string_lossy()).collect();
        meant.join(" ")
    }

    #[test]
    fn another_name_is_the_command_that_people_mean() {
        for (typed, expected) in [
            ("grove ls --json", "grove skills list --json"),
            ("grove ps", "grove runs list"),
            ("grove status", "grove runs list"),
            ("grove status --json", "grove runs list --json"),
            ("grove status 0sw", "grove runs show 0sw"),
            ("grove runs status 0sw --json", "grove runs show 0sw --json"),
            ("grove runs cancel 0sw", "grove runs stop 0sw"),
            ("grove skills add x", "grove skills create x"),
            // Elsewhere these are words like any other.
            ("grove run ls status", "grove run ls status"),
            ("grove skills show ls", "grove skills show ls"),
            ("grove", "grove"),
        ] {
            assert_eq!(meant(typed), expected, "{typed}");
        }
    }

    #[test]
    fn every_name_means_a_command_and_is_none() {
        let command = command();
        let find = |words: &[&str]| {
            let mut found = Some(&command);
            for word in words {
                found = found.and_then(|it| it.get_subcommands().find(|it| it.get_name() == *word));
            }
            found.is_some()
        };
        for alias in ALIASES {
            assert!(!find(alias.typed), "{:?}", alias.typed);
            for means in [Some(alias.means), alias.with_name].into_iter().flatten() {
                assert!(find(means), "{means:?}");
            }
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = command();
        let listed = groups(&command);
        let known = command.get_subcommands().map(clap::Command::get_name);
        let known: Vec<&str> = known.collect();
        for group in &GROUPS {
            for name in group.commands {
                assert!(known.contains(name), "{name}");
            }
        }
        for command in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let start = format!("  {} ", command.get_name());
            let lines = listed.lines().filter(|line| line.starts_with(&start));
            assert_eq!(lines.count(), 1, "{start}");
        }
    }
}
