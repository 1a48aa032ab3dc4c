//! The model server and the agent programs that tests rely on.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say why"
)]

mod agent_programs;
mod model_server;
