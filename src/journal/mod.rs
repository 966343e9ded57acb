//! Says what happened: plain data, no I/O.
//!
//! - [`event`]: one fact of one conversation
//! - [`session`]: the present, folded from the facts
//! - [`standing`]: what holds beyond one conversation
//! - [`ids`]: ids as types

pub mod event;
pub mod ids;
pub mod session;
pub mod standing;
