//! Says what happened: plain data, no I/O.
//!
//! - [`event`]: one fact of one conversation
//! - [`session`]: the present, folded from the facts
//!   - [`session::messages`]: files and edits of messages
//!   - [`session::delegation`]: agents that work for one another
//!   - [`session::result_cache`]: results that are used once more
//! - [`snapshot`]: sessions as text, so that a fold need not begin at the first event
//! - [`grant`]: what holds beyond one conversation
//! - [`ids`]: ids as types
//! - [`role`]: what somebody may do

pub mod event;
pub mod grant;
pub mod ids;
pub mod role;
pub mod session;
pub mod snapshot;
