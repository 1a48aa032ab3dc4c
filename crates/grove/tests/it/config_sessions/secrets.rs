//! Values for skills satisfy requirements, and no output ever shows one.

use grove_testkit::home::TestHome;
use serde_json::Value;

use super::session::{USER, assert_states, new_home, states};

const SECRET: &str = "sk-test-51Hx9-do-not-print";

/// A home with a skill that needs something.
fn home_with(requirements: &str) -> TestHome {
    let home = new_home();
    home.file(
        "home/.agents/skills/mail/SKILL.md",
        format!(
            "---\nname: mail\ndescription: Sends mail\nmetadata:\n  openclaw: {requirements}\n---\n"
        ),
    );
    home
}

#[test]
fn entries_satisfy_requirements() {
    let config = "{requires: {config: [channel.mail]}}";
    let primary = "{primaryEnv: MAIL_KEY, requires: {env: [MAIL_KEY]}}";
    let variable = "{requires: {env: [MAIL_TOKEN]}}";
    let keyed = "{skillKey: post, requires: {env: [MAIL_TOKEN]}}";
    for (requirements, entry, expected) in [
        (variable, "", "ineligible"),
        (
            variable,
            "[skills.entries.mail]\nenv = { MAIL_TOKEN = 'x' }",
            "ok",
        ),
        (
            variable,
            "[skills.entries.mail]\nenv = { MAIL_TOKEN = ' ' }",
            "ineligible",
        ),
        (
            variable,
            "[skills.entries.mail]\nenv = { OTHER = 'x' }",
            "ineligible",
        ),
        (
            variable,
            "[skills.entries.mail]\napi_key = 'x'",
            "ineligible",
        ),
        (primary, "[skills.entries.mail]\napi_key = 'x'", "ok"),
        (primary, "[skills.entries.mail]\napi_key = ''", "ineligible"),
        (
            config,
            "[skills.entries.mail.config.channel]\nmail = true",
            "ok",
        ),
        (
            config,
            "[skills.entries.mail.config.channel]\nmail = false",
            "ineligible",
        ),
        (
            config,
            "[skills.entries.mail.config]\n'channel.mail' = 'x'",
            "ok",
        ),
        (
            keyed,
            "[skills.entries.post]\nenv = { MAIL_TOKEN = 'x' }",
            "ok",
        ),
        (
            keyed,
            "[skills.entries.mail]\nenv = { MAIL_TOKEN = 'x' }",
            "ineligible",
        ),
        (
            variable,
            "[skills.entries.mail]\nenabled = false\nenv = { MAIL_TOKEN = 'x' }",
            "disabled",
        ),
        ("{requires: {bins: [sh]}}", "", "ok"),
        (
            "{requires: {bins: [sh, no-such-program]}}",
            "",
            "ineligible",
        ),
        ("{requires: {anyBins: [no-such-program, sh]}}", "", "ok"),
        ("{os: [plan9]}", "", "ineligible"),
        ("{os: [plan9], always: true}", "", "ineligible"),
        (
            "{always: true, requires: {bins: [no-such-program]}}",
            "",
            "ok",
        ),
        ("{requires: {bins: {a: b}}}", "", "ineligible"),
    ] {
        let home = home_with(requirements);
        home.file(USER, entry);
        assert_states(&home, &[("mail", expected)]);
    }
}

#[test]
fn a_variable_of_the_shell_satisfies_too() {
    let home = home_with("{requires: {env: [MAIL_TOKEN]}}").with_env("MAIL_TOKEN", SECRET);
    assert_states(&home, &[("mail", "ok")]);
    assert_secret_is_kept(&home);
}

/// Every command in every form; none may print the secret to either stream.
#[track_caller]
fn assert_secret_is_kept(home: &TestHome) {
    for command in [
        &["skills", "list"][..],
        &["skills", "show", "mail"],
        &["skills", "check"],
        &["skills", "roots"],
        &["doctor"],
        &["config"],
        &[],
        &["hosts"],
        &["trust"],
        &["skills", "list", "--host", "openclaw"],
    ] {
        for form in [&[][..], &["--json"]] {
            let finished = home.run("project", command.iter().chain(form));
            for (stream, text) in [
                ("stdout", finished.stdout_text()),
                ("stderr", finished.stderr_text()),
            ] {
                assert!(
                    !text.contains(SECRET),
                    "{command:?} {form:?} on {stream}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn values_of_entries_are_never_printed() {
    let home =
        home_with("{primaryEnv: MAIL_KEY, requires: {env: [MAIL_TOKEN, MAIL_KEY], config: [a]}}");
    home.file(
        USER,
        format!(
            "[skills.entries.mail]\nenv = {{ MAIL_TOKEN = '{SECRET}' }}\napi_key = '{SECRET}'\n[skills.entries.mail.config]\na = '{SECRET}'\n"
        ),
    );
    assert_states(&home, &[("mail", "ok")]);
    assert_secret_is_kept(&home);
    let config = home.run("project", ["config", "--json"]);
    let config: Value = serde_json::from_slice(&config.stdout).unwrap();
    let settings = &config["settings"];
    assert_eq!(
        settings["skills.entries.mail.env"]["value"][0], "MAIL_TOKEN",
        "names are shown"
    );
    assert_eq!(settings["skills.entries.mail.api_key"]["value"], "set");
}

/// A finding about a line may quote it, but not when the line holds a value for a skill.
#[test]
fn values_are_not_printed_either_when_they_are_wrong() {
    // A text without quotes is said and, since the parser knows what was meant, used.
    let recovered = format!("[skills.entries.mail]\nenv = {{ MAIL_TOKEN = {SECRET} }}\n");
    for wrong in [
        format!("[skills.entries.mail]\napi_key = ['{SECRET}']\n"),
        format!("[skills.entries.mail]\nenv = {{ MAIL_TOKEN = ['{SECRET}'] }}\n"),
        format!("[skills.entries.mail]\nenv = ['{SECRET}']\n"),
        format!("[skills.entries.mail]\nconfig = '{SECRET}'\n"),
        format!("[skills.entries.mail]\napikey = '{SECRET}'\n"),
        format!("[skills.entries]\nmail = '{SECRET}'\n"),
        format!("[skills.entries.mail]\napi_key = {SECRET}\n"),
        format!("[skills.entries.mail]\napi_key = '{SECRET}\n"),
        recovered.clone(),
        format!("[skills.entries.mail.env]\nMAIL_TOKEN: '{SECRET}'\n"),
        format!("[skills.entries.mail]\nenv = {{ {SECRET} }}\n"),
        format!("skills = {{ only = 1, entries = {{ mail = {{ api_key = '{SECRET}' }} }} }}\n"),
    ] {
        let home = home_with("{requires: {env: [MAIL_TOKEN]}}");
        home.file(USER, &wrong);
        let state = if wrong == recovered {
            "ok"
        } else {
            "ineligible"
        };
        assert_eq!(
            states(&home, &[]),
            [("mail".to_owned(), state.to_owned())],
            "{wrong}"
        );
        assert_secret_is_kept(&home);
    }
}

/// A project's file may not set values at all; saying so must not print them.
#[test]
fn values_in_a_projects_file_are_not_printed() {
    let home = home_with("{requires: {env: [MAIL_TOKEN]}}");
    home.file(
        "project/.grove/config.toml",
        format!(
            "[skills.entries.mail]\nenv = {{ MAIL_TOKEN = '{SECRET}' }}\napi_key = '{SECRET}'\n"
        ),
    );
    assert_secret_is_kept(&home);
    home.run("project", ["trust"])
        .require_success("trust")
        .unwrap();
    assert_states(&home, &[("mail", "ineligible")]);
    assert_secret_is_kept(&home);
}
