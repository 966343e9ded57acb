//! The command line, as an operator uses it.

mod backups;
mod commands;
mod doctor;
mod init;
mod mcp_login;
mod skills;
