//! All tests from outside: stories, the store, the command line, the project's rules.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends there, and reads its own surroundings"
)]

mod api;
mod atomic_writes;
mod attack_corpus;
mod browser;
mod builder;
mod changes;
mod command_line;
mod config;
mod custom_tools;
mod disclosure_benchmark;
mod discord_end_to_end;
mod docs;
mod doctor;
mod documents;
mod fake_channel;
mod fault_matrix;
mod first_hour;
mod fuzz;
mod growth;
mod init;
mod kills;
mod long_tables;
mod mcp_login;
mod office_previews;
mod old_formats;
mod plans;
mod power_failure;
mod process;
mod refusals;
mod releases;
mod reload;
mod requirements;
mod round_trips;
mod sandbox;
mod shell_oracle;
mod shell_programs;
mod skill_scan;
mod skills;
mod stable_output;
mod store;
mod stories;
mod telegram_end_to_end;
mod templates;
mod terminal_end_to_end;
mod tidy;
mod tools;
mod traces;
mod web_pages;
mod world;
