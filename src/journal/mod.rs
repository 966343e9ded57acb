//! Records what happened: plain data without I/O.
//!
//! - [`event`]: one fact about one conversation
//! - [`session`]: the current state, folded from the events
//!   - [`session::messages`]: files and edits of messages
//!   - [`session::delegation`]: waiting for people and sub-agents
//!   - [`session::result_cache`]: reuse of earlier results
//! - [`snapshot`]: serialised sessions, so that a fold need not begin at the first event
//! - [`grant`]: state that applies beyond one conversation
//! - [`ids`]: ids as newtypes
//! - [`prompt_request`]: prompts of MCP servers
//! - [`role`]: the roles of people

pub mod event;
pub mod grant;
pub mod ids;
pub mod prompt_request;
pub mod role;
pub mod session;
pub mod snapshot;
