//! Values for skills satisfy requirements, and no output ever shows one.

use grove_testkit::session::Session;

use super::{PROJECT, USER, assert_states, config};

const SECRET: &str = "sk-test-51Hx9-do-not-print";

/// A home with a skill that needs something.
fn session_with(requirements: &str) -> Session {
    let session = crate::session();
    let lines = format!("metadata:\n  openclaw: {requirements}\n");
    session.definition("home/.agents/skills/mail", &lines, "");
    session
}

#[test]
fn entries_satisfy_requirements() {
    let config = "{requires: {config: [channel.mail]}}";
    let primary = "{primaryEnv: MAIL_KEY, requires: {env: [MAIL_KEY]}}";
    let variable = "{requires: {env: [MAIL_TOKEN]}}";
    let keyed = "{skillKey: post, requires: {env: [MAIL_TOKEN]}}";
    let disabled = "mail.enabled = false\nmail.env.MAIL_TOKEN = 'x'";
    for (requirements, entry, expected) in [
        (variable, "", "ineligible"),
        (variable, "mail.env.MAIL_TOKEN = 'x'", "ok"),
        (variable, "mail.env.MAIL_TOKEN = ' '", "ineligible"),
        (variable, "mail.env.OTHER = 'x'", "ineligible"),
        (variable, "mail.api_key = 'x'", "ineligible"),
        (primary, "mail.api_key = 'x'", "ok"),
        (primary, "mail.api_key = ''", "ineligible"),
        (config, "mail.config.channel.mail = true", "ok"),
        (config, "mail.config.channel.mail = false", "ineligible"),
        (config, "mail.config.'channel.mail' = 'x'", "ok"),
        (keyed, "post.env.MAIL_TOKEN = 'x'", "ok"),
        (keyed, "mail.env.MAIL_TOKEN = 'x'", "ineligible"),
        (variable, disabled, "disabled"),
        ("{requires: {bins: [sh]}}", "", "ok"),
        ("{requires: {bins: [sh, no-such]}}", "", "ineligible"),
        ("{requires: {anyBins: [no-such, sh]}}", "", "ok"),
        ("{os: [plan9]}", "", "ineligible"),
        ("{os: [plan9], always: true}", "", "ineligible"),
        ("{always: true, requires: {bins: [no-such]}}", "", "ok"),
        ("{requires: {bins: {a: b}}}", "", "ineligible"),
    ] {
        let session = session_with(requirements);
        session.file(USER, format!("[skills.entries]\n{entry}\n"));
        assert_states(&session, &[["mail", expected]]);
    }
}

#[test]
fn a_variable_of_the_shell_satisfies_too() {
    let session = session_with("{requires: {env: [MAIL_TOKEN]}}").with_env("MAIL_TOKEN", SECRET);
    assert_states(&session, &[["mail", "ok"]]);
    assert_secret_is_kept(&session);
}

/// Every command in every form; none may print the secret to either stream.
#[track_caller]
fn assert_secret_is_kept(session: &Session) {
    for command in [
        "skills list",
        "skills show mail",
        "skills check",
        "skills roots",
        "doctor",
        "config",
        "",
        "hosts",
        "trust --yes",
        "skills list --host openclaw",
    ] {
        session.grove(command).lacks([SECRET]);
        session.grove(&format!("{command} --json")).lacks([SECRET]);
    }
}

#[test]
fn values_of_entries_are_never_printed() {
    let session = session_with(
        "{primaryEnv: MAIL_KEY, requires: {env: [MAIL_TOKEN, MAIL_KEY], config: [a]}}",
    );
    session.file(
        USER,
        format!(
            "[skills.entries.mail]\nenv = {{ MAIL_TOKEN = '{SECRET}' }}\napi_key = '{SECRET}'\nconfig.a = '{SECRET}'\n"
        ),
    );
    assert_states(&session, &[["mail", "ok"]]);
    assert_secret_is_kept(&session);
    let settings = config(&session, 0)["settings"].clone();
    let names = &settings["skills.entries.mail.env"]["value"];
    assert_eq!(names[0], "MAIL_TOKEN", "names are shown");
    assert_eq!(settings["skills.entries.mail.api_key"]["value"], "set");
}

/// A finding about a line may quote it, but not when the line holds a value for a skill.
#[test]
fn values_are_not_printed_either_when_they_are_wrong() {
    for (wrong, state) in [
        (
            "[skills.entries.mail]\napi_key = ['SECRET']\n",
            "ineligible",
        ),
        (
            "[skills.entries.mail]\nenv = { MAIL_TOKEN = ['SECRET'] }\n",
            "ineligible",
        ),
        ("[skills.entries.mail]\nenv = ['SECRET']\n", "ineligible"),
        ("[skills.entries.mail]\nconfig = 'SECRET'\n", "ineligible"),
        ("[skills.entries.mail]\napikey = 'SECRET'\n", "ineligible"),
        ("[skills.entries]\nmail = 'SECRET'\n", "ineligible"),
        ("[skills.entries.mail]\napi_key = SECRET\n", "ineligible"),
        ("[skills.entries.mail]\napi_key = 'SECRET\n", "ineligible"),
        // A text without quotes is said and, since the parser knows what was meant, used.
        (
            "[skills.entries.mail]\nenv = { MAIL_TOKEN = SECRET }\n",
            "ok",
        ),
        (
            "[skills.entries.mail.env]\nMAIL_TOKEN: 'SECRET'\n",
            "ineligible",
        ),
        ("[skills.entries.mail]\nenv = { SECRET }\n", "ineligible"),
        (
            "skills = { only = 1, entries = { mail = { api_key = 'SECRET' } } }\n",
            "ineligible",
        ),
    ] {
        let session = session_with("{requires: {env: [MAIL_TOKEN]}}");
        session.file(USER, wrong.replace("SECRET", SECRET));
        assert_states(&session, &[["mail", state]]);
        assert_secret_is_kept(&session);
    }
}

/// A project's file may not set values at all; saying so must not print them.
#[test]
fn values_in_a_projects_file_are_not_printed() {
    let session = session_with("{requires: {env: [MAIL_TOKEN]}}");
    let values = format!("env = {{ MAIL_TOKEN = '{SECRET}' }}\napi_key = '{SECRET}'\n");
    session.file(PROJECT, format!("[skills.entries.mail]\n{values}"));
    assert_secret_is_kept(&session);
    session.trust();
    assert_states(&session, &[["mail", "ineligible"]]);
    assert_secret_is_kept(&session);
}
