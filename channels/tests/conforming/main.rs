//! A conformance suite that every channel has to pass.

#![expect(clippy::disallowed_methods, reason = "a test waits for what it has spawned itself")]
#![expect(clippy::print_stdout, reason = "what does not apply to a channel is said, not skipped")]

mod discord;
mod simcord;
mod splitting;
mod suite;
mod telegram;
mod terminal;
mod web;
