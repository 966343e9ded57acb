//! The promises of the store: its guarantees, what survives a power failure, two releases on one
//! database.

mod changes;
pub mod guarantees;
mod power_failure;
mod releases;
