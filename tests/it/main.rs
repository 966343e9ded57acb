//! All tests from outside.
//!
//! - [`stories`]: what a person sees, on both databases
//! - [`end_to_end`]: the whole program, over real sockets and pipes
//! - [`command_line`], [`config`], [`api`]: the interfaces of an operator
//! - [`store`], [`tools`], [`security`]: parts of the program, and attacks on them
//! - [`measurements`]: what frequent operations cost
//! - [`docs`], [`requirements`], [`tidy`]: the rules of this repository
//! - [`support`]: the surroundings of the tests

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends there, and reads its own surroundings"
)]

mod api;
mod command_line;
mod config;
mod docs;
mod end_to_end;
mod measurements;
mod requirements;
mod security;
mod store;
mod stories;
mod support;
mod tidy;
mod tools;
