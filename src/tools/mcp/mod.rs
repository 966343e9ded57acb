//! Tools of MCP servers, over stdio or streamable HTTP.
//!
//! A server's descriptions of its tools are untrusted content. A tool is pinned as first seen, and
//! requires approval every time until an operator trusts it; a tool that has changed since is
//! withheld.
//!
//! - [`server`]: one server: its connection, tools and health
//! - [`supervisor`]: reconnects, and updates the list of tools
//! - [`session`]: opens a connection, with either generation of the protocol
//! - [`bounded_transport`]: limits what a connection keeps in memory
//! - [`listing`]: lists the tools, also to check a server; [`listed_tools`]: compares them with the
//!   pinned ones
//! - [`login`]: signing in to a server with a user's authorisation; [`credentials_file`]: what is
//!   stored of it
//! - [`oauth`]: client credentials; [`client_key`]: the private key of a client
//! - [`client_handler`]: notifications and elicitation requests
//! - [`elicit`]: elicitation requests shown to people as questions
//! - [`stderr`]: the last lines that a local server wrote to its standard error
//! - [`call`]: one call
//! - [`tool`]: converts a tool's definition
//! - [`content`]: converts a result
//! - [`resources`]: the resources of a server; [`prompts`]: its prompts, as commands
//! - [`challenge`]: how a server refuses a request without a token

mod bounded_transport;
mod call;
mod challenge;
mod client_handler;
mod client_key;
mod content;
mod credentials_file;
mod elicit;
mod listed_tools;
pub mod listing;
pub mod login;
mod oauth;
pub mod prompts;
mod resources;
pub mod server;
mod session;
mod stderr;
pub mod supervisor;
mod tool;

use reqwest::Url;
use sandbox::service::ServerSandbox;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

pub use client_key::ClientKey;
pub use login::Login;
pub use oauth::{ClientProof, Credentials};
pub use server::Server;

use super::{ToolError, web::client::WebClient};
use crate::agent::catalog::Tier;

const CONNECT_FOR: Duration = Duration::from_secs(15);
const DISCOVER_FOR: Duration = Duration::from_secs(15);
/// How long a call may run without reporting progress.
const SILENT_FOR: Duration = Duration::from_mins(1);
const EXECUTE_FOR: Duration = Duration::from_mins(5);

/// Why there is no connection.
#[derive(Debug, Clone)]
pub struct ConnectionRefused {
    pub error: ToolError,
    /// An immediate retry would not help.
    pub is_permanent: bool,
}

/// One configured server, with either `command` or `url`.
#[derive(Debug, Clone)]
pub struct McpConfig {
    pub name: String,
    /// The program and its arguments, for a server over stdio.
    pub command: Option<Vec<String>>,
    /// For a server over streamable HTTP.
    pub url: Option<Url>,
    /// Added to the few variables that the process inherits.
    pub env: BTreeMap<String, SecretString>,
    pub tier: Tier,
    pub protocol: Protocol,
    pub connection: ConnectionMode,
    /// Sent as `Authorization: Bearer …`.
    pub bearer: Option<SecretString>,
    /// The client credentials for getting a token.
    pub oauth: Option<Credentials>,
    /// The credentials of a user's sign-in.
    pub login: Option<Login>,
    pub headers: BTreeMap<String, SecretString>,
    /// The sandbox of its process.
    pub sandbox: Option<ServerSandbox>,
    /// The client for a server whose URL does not come from the operator: it reaches only public
    /// hosts.
    pub checked_client: Option<WebClient>,
}

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// By `initialize`, which nearly every server supports; otherwise by `server/discover`.
    #[default]
    Auto,
    Initialize,
    Discover,
}

/// How long a connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// All calls share one connection, which is kept open.
    #[default]
    Shared,
    /// Each call opens a connection and closes it.
    PerCall,
}

#[cfg(test)]
mod conformance_tests;
#[cfg(test)]
mod demanding_server_tests;
#[cfg(test)]
mod faulty_server_tests;
#[cfg(test)]
mod peers_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
