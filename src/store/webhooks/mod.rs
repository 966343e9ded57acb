//! Outgoing webhooks: what subscribers ask for, and what they are sent.

pub mod deliveries;
pub mod subscriptions;
