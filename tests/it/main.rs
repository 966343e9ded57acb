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
mod discord_wires;
mod docs;
mod doctor;
mod documents;
mod fake_channel;
mod fault_matrix;
mod first_hour;
mod first_pages;
mod fuzz;
mod growth;
mod init;
mod kills;
mod logins;
mod long_tables;
mod measured;
mod old_formats;
mod pages;
mod plans;
mod power_failure;
mod process;
mod refusals;
mod releases;
mod reload;
mod round_trips;
mod rows;
mod sandbox;
mod shell_oracle;
mod shells;
mod skill_scan;
mod skills;
mod stable_output;
mod store;
mod stories;
mod templates;
mod terminal_wires;
mod tidy;
mod tools;
mod traces;
mod wires;
mod world;
