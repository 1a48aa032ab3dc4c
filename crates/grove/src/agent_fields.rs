//! The fields of an agent as flags: one table, so that no field is forgotten.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use grove_spec::agent::fields::FieldRow;

/// The fields that have flags, with the flags: the name is changed by renaming.
static FLAGS: LazyLock<Vec<(&FieldRow, String)>> = LazyLock::new(|| {
    let rows = FieldRow::in_files().filter(|row| !matches!(row.key, "name" | "package"));
    rows.map(|row| (row, row.flag())).collect()
});

#[derive(Debug, Clone, Default)]
pub(crate) struct TypedFields {
    /// Fields with their values, those with flags of their own first.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    /// The file with the text; `-` for standard input.
    pub(crate) body_file: Option<PathBuf>,
}

impl Args for TypedFields {
    fn augment_args(command: Command) -> Command {
        let fields = FLAGS.iter().map(|(row, flag)| {
            let takes = match row.takes {
                // A description in several words is a help only if it gives the words to write.
                takes if takes.starts_with('`') => format!(" ({takes})"),
                _ => row.flag_note.to_owned(),
            };
            Arg::new(row.key)
                .long(flag.as_str())
                .value_name("VALUE")
                .allow_hyphen_values(true)
                .help(format!("{}{takes}", row.about))
        });
        command
            .args(fields)
            .arg(
                Arg::new("set")
                    .long("set")
                    .value_name("FIELD=VALUE")
                    .action(ArgAction::Append)
                    .value_parser(pair)
                    .help("Set any field by its name in the file; an empty value removes it (repeatable)"),
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
                    .help("A file with its text; `-` for standard input"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TypedFields {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut asked = Self::default();
        asked.update_from_arg_matches(matches)?;
        Ok(asked)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (row, _) in FLAGS.iter() {
            if let Some(value) = matches.get_one::<String>(row.key) {
                self.fields.push((row.key.to_owned(), value.clone()));
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

/// A field with its value.
pub(crate) fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("write FIELD=VALUE")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
