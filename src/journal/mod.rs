//! Says what happened: plain data, no I/O.

pub mod event;
pub mod ids;
