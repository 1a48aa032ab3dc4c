//! `grove mcp`: skills and child agents for hosts that speak MCP.
//!
//! Here is decided what is served and where; the protocol is `grove-server`'s.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use grove_engine::Engine;
use grove_server::{HttpOptions, Server, Token};
use grove_skills::live::LiveLibrary;
use grove_skills::{DiscoveryRequest, Environment};

use super::{Outcome, absolute, mcp_install, tilde};
use crate::args::{DiscoveryArgs, McpArgs};
use crate::command_error::CommandError;
use crate::output::CommandOutput;

pub(super) fn run(
    environment: Environment,
    arguments: &McpArgs,
    out: &mut CommandOutput,
) -> Outcome {
    if let Some(command) = &arguments.command {
        return mcp_install::run(&environment, command, out);
    }
    let flags = DiscoveryArgs {
        roots: arguments.roots.clone(),
        all: arguments.all,
        ..DiscoveryArgs::default()
    };
    let agents: Vec<PathBuf> = arguments
        .agents_dirs
        .iter()
        .map(|folder| absolute(folder, &environment))
        .collect();
    let request = DiscoveryRequest {
        agent_folders: agents,
        ..super::request(&environment, &flags, None)?
    };
    let serve = |environment: Environment| {
        let library = Arc::new(LiveLibrary::start(environment.clone(), request));
        let engine = Engine::with_library(environment, Arc::clone(&library));
        Server::new(library).with_engine(Arc::new(engine))
    };
    match &arguments.http {
        None => serve(environment).stdio(),
        Some(address) => {
            let address = parse(address)?;
            let options = HttpOptions {
                address,
                token: Token::generate().ok_or_else(|| {
                    CommandError::internal("the system could not generate a random token")
                })?,
            };
            let kept = options.token.keep(&environment.state)?;
            let kept = tilde(&kept, &environment);
            let secret = options.token.secret().to_owned();
            serve(environment).http(options, move |address| {
                let mut notes = CommandOutput::default();
                notes.note(&format!("serving skills at http://{address}/mcp"));
                notes.note(&format!("authorization: Bearer {secret}"));
                notes.note(&format!("the token is also in {kept}"));
                // A person who does not read this finds the token in the file.
                let _ = notes.finish();
            })
        }
    }?;
    Ok(0)
}

fn parse(address: &str) -> Result<SocketAddr, CommandError> {
    let port = address.strip_prefix(':').unwrap_or(address);
    let parsed = match port.parse::<u16>() {
        Ok(port) => Some(SocketAddr::new(HttpOptions::LOOPBACK.ip(), port)),
        Err(_) => address.parse().ok(),
    };
    parsed.ok_or_else(|| {
        CommandError::usage(format!("`{address}` is not an address"))
            .hint("give a port, or an address with a port such as 127.0.0.1:8722")
    })
}
