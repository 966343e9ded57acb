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

pub mod atomic_file;
pub mod browser;
pub mod builder;
pub mod contract;
pub mod conversions;
pub mod custom;
pub mod datasources;
pub mod documents;
pub mod echo;
pub mod extensions;
pub mod files;
pub mod folder_lock;
pub mod jobs;
pub mod json;
pub mod manual;
pub mod mcp;
pub mod media;
pub mod memory;
#[cfg(test)]
mod reads_tests;
pub mod results;
pub mod schedule;
pub mod schedule_planner;
pub mod send;
pub mod shell;
#[cfg(test)]
mod shown_tests;
pub mod skills;
#[cfg(test)]
mod testing;
pub mod time;
pub mod view_image;
pub mod wasm;
pub mod web;
pub mod wiki;
pub mod workspace;

pub use contract::{Context, Output, Tool, ToolError};
