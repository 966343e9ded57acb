//! Tools of MCP servers, over stdio or streamable HTTP.
//!
//! What a server says of its tools is other people's word. So a tool is remembered as it was first
//! seen, and asks every time until somebody has answered for it; one that has changed since is
//! withheld.
//!
//! - [`server`]: one server: its connection, its tools as they stand, how it is
//! - [`supervisor`]: watches over a server: connects again, lists again
//! - [`session`]: opens a connection, by either generation of the protocol
//! - [`login`]: has a person sign in to one that wants to know for whom
//! - [`oauth`]: gets a token for one that wants one
//! - [`client_handler`]: what a server says without being asked
//! - [`elicit`]: what it asks a person then
//! - [`call`]: one call, to its end
//! - [`tool`]: what we make of a tool's definition
//! - [`content`]: what we make of a result

mod call;
mod client_handler;
mod content;
mod elicit;
pub mod login;
mod oauth;
pub mod server;
pub mod session;
pub mod supervisor;
mod tool;

use reqwest::Url;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

pub use login::Login;
pub use oauth::Credentials;
pub use server::{Health, Server};

use super::{ToolError, sandbox::service::ServerSandbox};
use crate::agent::catalog::Tier;

const CONNECT_FOR: Duration = Duration::from_secs(15);
const DISCOVER_FOR: Duration = Duration::from_secs(15);
/// How long a call may say nothing; what tells of its progress may take longer.
const SILENT_FOR: Duration = Duration::from_mins(1);
const EXECUTE_FOR: Duration = Duration::from_mins(5);

/// Why there is no connection.
#[derive(Debug)]
pub struct Refused {
    pub error: ToolError,
    /// To try again at once would change nothing.
    pub for_good: bool,
}

/// One configured server; `command` or `url` says where it is.
#[derive(Debug, Clone)]
pub struct McpConfig {
    pub name: String,
    /// The program and its arguments, for a server over stdio.
    pub command: Option<Vec<String>>,
    /// For a server over streamable HTTP.
    pub url: Option<Url>,
    /// Added to the little that the process inherits.
    pub env: BTreeMap<String, SecretString>,
    pub tier: Tier,
    pub protocol: Protocol,
    /// Sent as `Authorization: Bearer …`.
    pub bearer: Option<SecretString>,
    /// What a token to be sent so is got with.
    pub oauth: Option<Credentials>,
    /// What somebody has signed in with.
    pub login: Option<Login>,
    pub headers: BTreeMap<String, SecretString>,
    /// What is around its process.
    pub sandbox: Option<ServerSandbox>,
}

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// By `initialize`, which nearly every server knows; else by `server/discover`.
    #[default]
    Auto,
    Initialize,
    Discover,
}

#[cfg(test)]
mod moody_tests;
#[cfg(test)]
mod peers_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
