//! Metrics: gauges that are read from the tables, and counts recorded after a commit.

pub mod committed;
pub(super) mod counter;
pub mod gauges;
