//! Decides: pure functions of (session, policy, now). No I/O, no clock.

pub mod catalog;
pub mod prompt;
