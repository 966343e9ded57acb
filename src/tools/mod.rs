//! The tools of the agent.
//!
//! - [`contract`]: the interface of a tool, and the toolbox that runs cleared calls
//! - [`custom`]: tools made of documented functions
//! - [`conversions`]: the types of other frameworks
//! - [`workspace`]: the only access to files of a conversation; [`atomic_file`], [`folder_lock`]:
//!   changes of files of the gateway
//! - [`skills`]: skills, and their tools; [`builder`]: builds software that becomes a skill
//! - [`schedule_planner`]: plans schedules, for the tools of a chat, the console and the API
//! - [`manual`]: the documentation of this build
//! - [`browser`]: a browser in the sandbox, and its tools
//! - [`datasources`], [`documents`], [`extensions`], [`files`], [`jobs`], [`json`], [`media`], [`memory`],
//!   [`results`], [`schedule`], [`send`], `echo`, [`shell`], [`time`], [`view_image`], [`web`],
//!   [`wiki`]: the tools
//! - [`mcp`]: tools of MCP servers; [`wasm`]: WASM tools

pub(crate) mod atomic_file;
pub(crate) mod browser;
pub mod builder;
pub(crate) mod contract;
pub mod conversions;
pub mod custom;
pub(crate) mod datasources;
pub(crate) mod documents;
pub(crate) mod echo;
pub(crate) mod extensions;
pub(crate) mod files;
pub(crate) mod folder_lock;
pub(crate) mod jobs;
pub(crate) mod json;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod media;
pub(crate) mod memory;
#[cfg(test)]
mod reads_tests;
pub(crate) mod results;
pub(crate) mod schedule;
pub(crate) mod schedule_planner;
pub(crate) mod send;
pub(crate) mod shell;
#[cfg(test)]
mod shown_tests;
pub(crate) mod skills;
#[cfg(test)]
mod testing;
pub(crate) mod time;
pub(crate) mod view_image;
pub(crate) mod wasm;
pub(crate) mod web;
pub(crate) mod wiki;
pub(crate) mod workspace;

pub use contract::{Context, Output, Tool, ToolError};
