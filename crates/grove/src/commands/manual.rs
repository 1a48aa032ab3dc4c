//! The reference pages that are generated from the tables in the code.

use std::fmt::Write as _;

use grove_catalog::hosts;
use grove_skills::environment_variables;
use grove_spec::Code;
use grove_spec::agent::fields::{FieldRow, SettableIn};
use grove_spec::config::keys;

use super::Outcome;
use crate::args::{self, ManualPage};
use crate::command_error::{ErrorKind, ExitCode as _};
use crate::output::CommandOutput;

pub(super) fn run(page: ManualPage, out: &mut CommandOutput) -> Outcome {
    out.text(&match page {
        ManualPage::Agents => agents(),
        ManualPage::Cli => cli(),
        ManualPage::Config => config(),
        ManualPage::Diagnostics => diagnostics(),
        ManualPage::Environment => environment(),
    });
    Ok(0)
}

fn cli() -> String {
    let codes = ErrorKind::ALL.map(|kind| format!("{} {}", kind.exit_code(), kind.meaning()));
    let mut page = format!(
        "# Command line\n\nExit codes: 0 fine, {}. Of a run also: 5 its work was not accepted, 6 a limit or time ran out, \
         7 it is paused, asks, or continues, 129 or 143 a signal ended the command while it continues, 130 it was stopped.\n",
        codes.join(", ")
    );
    let mut root = args::command();
    root.build();
    command(&mut page, &root);
    let _ = write!(
        page,
        "\n## Other names\n\nNames that people know from other programs:\n\n{}",
        args::other_names_table()
    );
    page
}

fn command(page: &mut String, command_: &clap::Command) {
    if command_.is_hide_set() {
        return;
    }
    let name = command_.get_bin_name().unwrap_or(command_.get_name());
    let help = command_.clone().term_width(96).render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(
        page,
        "\n## {name}\n\n```text\n{}\n```\n",
        help.join("\n").trim_end()
    );
    for sub in command_.get_subcommands() {
        command(page, sub);
    }
}

fn agents() -> String {
    let mut page = String::from(
        "# Fields of agents\n\nThe keys of an agent's frontmatter. A value of the wrong kind is left out with a warning. If a key restricts\nthe agent, or is `engine`, a value that cannot be read is an error and the agent is not used; listings show the value under\n\"if unreadable\". In settings that value is used. `agents.overrides` in [the configuration](config.md) says what settings may override.\n\n| key | value | without it | if unreadable | in settings | meaning |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for row in FieldRow::in_files() {
        let other = row.other_key.map(|key| format!(", `{key}`"));
        let _ = writeln!(
            page,
            "| `{}`{} | {} | {} | {} | {} | {} |",
            row.key,
            other.unwrap_or_default(),
            row.takes,
            row.default,
            if row.restricts { row.strictest } else { "" },
            if row.set_in == SettableIn::File {
                ""
            } else {
                "yes"
            },
            row.about
        );
    }
    page
}

fn config() -> String {
    let mut page = String::from(
        "# Configuration\n\nThe user's configuration is `config.toml` in `$XDG_CONFIG_HOME/grove`; `.grove/config.toml` in a trusted project can only narrow it.\nA wrong value is reported with file, line and key, and only that key is ignored; of a limit of runs, no run starts. Below `agents.overrides`, NAME is an agent's name or\n`id@root`, and `false` means that the field counts as missing from the agent's file.\n\n| key | value | default | in a project | what it does |\n| --- | --- | --- | --- | --- |\n",
    );
    for key in keys() {
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` | {} | {} |",
            key.path,
            key.takes,
            key.default,
            if key.may_narrow { "may narrow" } else { "no" },
            key.about
        );
    }
    page
}

fn diagnostics() -> String {
    let mut page = String::from(
        "# Diagnostics\n\nEvery code is stable. An error means that the thing was not loaded or, for a key that restricts a skill, that the strictest reading is used.\n\n| code | usual severity | meaning | help |\n| --- | --- | --- | --- |\n",
    );
    for code in Code::ALL {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            code.as_str(),
            code.severity().as_str(),
            code.meaning(),
            code.help()
        );
    }
    page
}

fn environment() -> String {
    let mut page = String::from("# Environment\n\n| variable | what it does |\n| --- | --- |\n");
    for (name, about) in environment_variables::ALL {
        let _ = writeln!(page, "| `{name}` | {} |", about.trim());
    }
    for host in hosts::all() {
        for root in &host.roots {
            let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            if let Some(name) = &root.env {
                let _ = writeln!(
                    page,
                    "| `{name}` | The folder that {} uses in place of `{folder}`. |",
                    host.title
                );
            }
            if let Some(name) = &root.env_list {
                let _ = writeln!(
                    page,
                    "| `{name}` | Further folders of {}, separated by commas; used only for its view. |",
                    host.title
                );
            }
        }
    }
    page
}
