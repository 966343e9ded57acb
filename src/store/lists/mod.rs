//! What operators look through, a stretch at a time.
//!
//! - [`approvals`]: questions, open and settled
//! - [`conversations`]: where they are, what happened in them
//! - [`outbox`]: files that were shown, what could not be shown
//! - [`people`]: whom the bot has made something

pub mod approvals;
pub mod conversations;
pub mod outbox;
pub mod people;

/// What stands behind `after` in a list, so many of it; empty is the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stretch {
    pub after: String,
    pub most: usize,
}
