//! Tools: the pinned tools of MCP servers, and the settings of operators.

pub mod pins;
pub mod settings;
