//! A child calls a server that people use, through `mcp:` tools.

use grove_testkit::model_server::{ModelServer, Reply, Script};
use grove_testkit::need::Need;
use grove_testkit::needs;
use grove_testkit::process_shapes::command_lines;
use serde_json::json;

use crate::run_sessions::mcp_tools::{results, tool_names, with_server};

#[test]
fn a_server_that_people_use_is_called_and_ends_with_the_child() {
    needs![McpPython];
    let convert =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let server = ModelServer::start(Script::replies([
        Reply::call("mcp__it__convert_time", convert),
        Reply::call("mcp__it__convert_time", json!({ "time": "noon" })),
        Reply::text("It is nine in the evening there."),
    ]))
    .unwrap();
    let python = Need::McpPython.path();
    let python = python.to_str().unwrap();
    let session = with_server(
        &server,
        &[python, "-m", "mcp_server_time"],
        "mcp:it",
        60_000,
    );
    let words = [
        "run",
        "worker",
        "What time is it?",
        "--model",
        "anthropic/m",
    ];
    session.grove(words).ok();
    let mut names = tool_names(&server);
    names.sort();
    assert_eq!(
        names,
        ["mcp__it__convert_time", "mcp__it__get_current_time"]
    );
    let told = results(&server, 1);
    assert!(
        told[0].0.contains("21:00:00+09:00") && !told[0].1,
        "{told:?}"
    );
    let told = results(&server, 2);
    assert!(told[0].1, "what the server refuses has failed: {told:?}");
    let state = session.path("state").display().to_string();
    let is_left = |line: &String| line.contains("mcp_server_time") && line.contains(&state);
    assert!(!command_lines().iter().any(is_left));
}
