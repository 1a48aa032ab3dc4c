//! `grove config`: the settings in force and where each comes from.

use std::sync::Arc;

use grove_skills::{DiscoveryParts, DiscoveryRequest, Environment, World};
use grove_spec::Diagnostic;
use grove_spec::agent::overrides::Overrides;
use grove_spec::config::{KeyPlace, McpEntry, Origin, ProviderEntry, Settings, Sourced};
use serde_json::json;

use super::{Outcome, tilde};
use crate::json::DiagnosticJson;
use crate::output::{CommandOutput, page};
use crate::table::Table;

enum RowOrigin {
    Default,
    Line(Origin),
    /// Only the user's file may set it, and the line is not recorded.
    UserFile,
}

/// The exit code for a configuration that could not be used as written.
const CONFIGURATION: u8 = 3;

struct ConfigRow {
    key: String,
    value: serde_json::Value,
    set_in: RowOrigin,
}

pub(super) fn run(environment: Environment, json: bool, out: &mut CommandOutput) -> Outcome {
    let request = DiscoveryRequest {
        parts: DiscoveryParts::NOTHING,
        ..DiscoveryRequest::default()
    };
    let world = World::find(&Arc::new(environment), &request);
    let (loaded, environment) = (&world.settings, &world.environment);
    let file = environment.config.join("config.toml");
    let rows = rows(&loaded.settings);
    let mut findings = loaded.diagnostics.iter();
    let bad = findings.any(Diagnostic::needs_attention);
    let code = if bad { CONFIGURATION } else { 0 };
    if json {
        let settings: serde_json::Map<_, _> = rows
            .iter()
            .map(|row| {
                let origin = match &row.set_in {
                    RowOrigin::Default => None,
                    RowOrigin::Line(origin) => Some((&origin.file, Some(origin.line))),
                    RowOrigin::UserFile => Some((&file, None)),
                };
                let origin = origin
                    .map(|(file, line)| json!({ "file": file.to_string_lossy(), "line": line }));
                (
                    row.key.clone(),
                    json!({ "value": row.value, "origin": origin }),
                )
            })
            .collect();
        out.json(&json!({
            "schema": "grove.config/1",
            "file": file.to_string_lossy(),
            "files": loaded.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
            "settings": settings,
            "diagnostics": DiagnosticJson::list(&loaded.diagnostics),
        }));
        return Ok(code);
    }
    let mut table = Table::new(&["KEY", "VALUE", "SET IN"]);
    for row in &rows {
        let origin = match &row.set_in {
            RowOrigin::Default => "default".to_owned(),
            RowOrigin::Line(origin) => {
                format!("{}:{}", tilde(&origin.file, environment), origin.line)
            }
            RowOrigin::UserFile => tilde(&file, environment),
        };
        table.row(&[&row.key, &row.value.to_string(), &origin]);
    }
    out.painted(&table.render(page(&environment.variables)));
    for finding in &loaded.diagnostics {
        // The message names the key and the line. The line itself is not quoted: it may hold a secret,
        // whatever the key is, since an inline table puts several keys on one line.
        out.diagnostic(finding);
    }
    let refused = loaded
        .diagnostics
        .iter()
        .any(|finding| finding.file.as_ref() == Some(&file));
    if loaded.files.is_empty() && !refused {
        out.note(&format!(
            "no configuration file; settings go to {}",
            tilde(&file, environment)
        ));
    }
    Ok(code)
}

fn rows(settings: &Settings) -> Vec<ConfigRow> {
    let in_table = settings.rows().into_iter().map(|setting| ConfigRow {
        key: setting.path.to_owned(),
        value: setting.value,
        set_in: setting.origin.map_or(RowOrigin::Default, RowOrigin::Line),
    });
    let mut rows: Vec<ConfigRow> = in_table.collect();
    for (key, entry) in &settings.entries {
        if let Some(enabled) = &entry.enabled {
            rows.push(ConfigRow {
                key: format!("skills.entries.{key}.enabled"),
                value: json!(enabled.value),
                set_in: enabled
                    .origin
                    .clone()
                    .map_or(RowOrigin::Default, RowOrigin::Line),
            });
        }
        // Names are shown, values never. A name without a value is left out, since it may be a value that lost its name.
        let set = entry.env.iter().filter(|(_, value)| !value.is_empty());
        let names: Vec<&String> = set.map(|(name, _)| name).collect();
        for (what, shown) in [
            ("env", json!(names)),
            ("config", json!(entry.config)),
            ("api_key", json!(entry.api_key.as_ref().map(|_| "set"))),
            ("project", json!(entry.project.then_some(true))),
        ] {
            if !(shown.is_null() || shown.as_array().is_some_and(Vec::is_empty)) {
                rows.push(ConfigRow {
                    key: format!("skills.entries.{key}.{what}"),
                    value: shown,
                    set_in: RowOrigin::UserFile,
                });
            }
        }
    }
    let providers = settings.providers.iter();
    rows.extend(providers.flat_map(|(name, provider)| provider_rows(name, provider)));
    let servers = settings.mcp.iter();
    rows.extend(servers.flat_map(|(name, server)| mcp_rows(name, server)));
    rows.extend(settings.agent_overrides.iter().flat_map(agent_rows));
    rows
}

/// The rows of a provider; of its key only the place.
fn provider_rows(name: &str, provider: &Sourced<ProviderEntry>) -> Vec<ConfigRow> {
    let entry = &provider.value;
    let key = entry.key.as_ref().map(KeyPlace::shown);
    let fields = [
        ("api", json!(entry.api)),
        ("base_url", json!(entry.base_url)),
        ("key", json!(key)),
        ("models", json!(entry.models)),
    ];
    let set = fields
        .into_iter()
        .filter(|(_, value)| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)));
    let rows = set.map(|(field, value)| ConfigRow {
        key: format!("providers.{name}.{field}"),
        value,
        set_in: set_in(provider.origin.as_ref(), entry.lines.get(field)),
    });
    rows.collect()
}

/// A server; of its variables the names alone, and of its command the program, since arguments may be secret.
fn mcp_rows(name: &str, server: &Sourced<McpEntry>) -> Vec<ConfigRow> {
    let entry = &server.value;
    let names: Vec<&String> = entry.env.keys().collect();
    let rows = [
        ("command", json!(entry.command.first())),
        ("env", json!(names)),
    ];
    let rows = rows.map(|(field, value)| ConfigRow {
        key: format!("mcp.{name}.{field}"),
        value,
        set_in: set_in(server.origin.as_ref(), entry.lines.get(field)),
    });
    rows.into()
}

/// Returns the place where a key of a table was set: its own line where it has one, as in the table's file.
fn set_in(table: Option<&Origin>, line: Option<&u32>) -> RowOrigin {
    let origin = table.map(|table| Origin {
        line: line.copied().unwrap_or(table.line),
        ..table.clone()
    });
    origin.map_or(RowOrigin::Default, RowOrigin::Line)
}

/// Returns the rows of one file about agents; the last file counts.
fn agent_rows(overrides: &Overrides) -> Vec<ConfigRow> {
    let row = |key: String, value: serde_json::Value, origin: &Origin| ConfigRow {
        key,
        value,
        set_in: RowOrigin::Line(origin.clone()),
    };
    let mut rows = Vec::new();
    if let Some((flag, origin)) = &overrides.disable_builtins {
        rows.push(row(
            "agents.disable_builtins".to_owned(),
            json!(flag),
            origin,
        ));
    }
    for agent in &overrides.agents {
        for set in &agent.fields {
            let field = set.change.field().config_key();
            let key = format!("agents.overrides.{}.{field}", agent.agent);
            rows.push(row(key, set.change.value().clone(), &set.origin));
        }
    }
    rows
}
