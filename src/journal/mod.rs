//! Says what happened: plain data, no I/O.
//!
//! - [`event`]: one fact of one conversation
//! - [`session`]: the present, folded from the facts
//! - [`said`]: files and edits of messages
//! - [`standing`]: what holds beyond one conversation
//! - [`ids`]: ids as types
//! - [`role`]: what somebody may do

pub mod event;
pub mod ids;
pub mod role;
pub mod said;
pub mod session;
pub mod standing;
