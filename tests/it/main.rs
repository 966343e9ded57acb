//! Everything that is tested from outside: stories, the store, the command line, the house's rules.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends there, and reads its own surroundings"
)]

mod config;
mod discord_wires;
mod documents;
mod fault_matrix;
mod kills;
mod process;
mod room;
mod rows;
mod sandbox;
mod store;
mod stories;
mod terminal_wires;
mod tidy;
mod wires;
mod world;
