//! Paginated lists for operators.
//!
//! - [`approvals`]: approvals, open and settled
//! - [`conversations`]: conversations and their events
//! - [`outbox`]: files that were sent, messages that could not be sent
//! - [`people`]: people with a role
//! - [`schedule_people`]: people for whom something can be scheduled

pub mod approvals;
pub mod conversations;
pub mod outbox;
pub mod people;
pub mod schedule_people;

/// A page: the entries after `after`, up to `limit`; an empty `after` is the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    pub after: String,
    pub limit: usize,
}
