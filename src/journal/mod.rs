//! Says what happened: plain data, no I/O.
//!
//! - [`event`]: one fact of one conversation
//! - [`session`]: the present, folded from the facts
//! - [`snapshot`]: sessions as text, so that a fold need not begin at the first event
//! - [`said`]: files and edits of messages
//! - [`family`]: agents that work for one another
//! - [`reuse`]: results that are used once more
//! - [`standing`]: what holds beyond one conversation
//! - [`ids`]: ids as types
//! - [`role`]: what somebody may do

pub mod event;
pub mod family;
pub mod ids;
pub mod reuse;
pub mod role;
pub mod said;
pub mod session;
pub mod snapshot;
pub mod standing;
