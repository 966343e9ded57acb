//! Small platforms with state, and with faults on demand: what the tests talk to.

pub mod account;
pub mod crash;
pub mod discord;
pub mod extensions;
pub mod guarded;
pub mod issuer;
pub mod llm;
pub mod media;
pub mod ports;
pub mod telegram;
pub mod tools;
pub mod wasm;
pub mod web;
