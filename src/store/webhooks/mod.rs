//! Outgoing webhooks: what subscribers ask for, and what they are sent.

pub mod deliveries;
mod removed_subscriptions;
pub mod subscriptions;
