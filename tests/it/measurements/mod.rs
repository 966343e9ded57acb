//! The costs of frequent operations: statements and their plans, round trips, time in a large
//! database, tokens. Each measurement has a limit or prints a table for the documentation.

mod disclosure;
mod growth;
mod plans;
mod round_trips;
