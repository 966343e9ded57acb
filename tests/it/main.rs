//! Everything that is tested from outside: stories, the store, the command line, the house's rules.

mod config;
mod room;
mod store;
mod stories;
mod tidy;
mod world;
