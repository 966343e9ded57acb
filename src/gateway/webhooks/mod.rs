//! Webhooks: other programs start turns and subscribe to events.
//!
//! - [`signature`]: signs and verifies requests
//! - [`incoming`]: incoming webhooks
//! - [`body`]: parses their bodies
//! - [`outgoing`]: webhook deliveries
//! - [`callback`]: URLs by which a subscriber decides an approval

mod body;
pub mod callback;
pub mod incoming;
pub mod outgoing;
pub mod signature;

use url::Url;

use crate::{journal::role::Role, store::webhooks::subscriptions::Topic};
use signature::SharedSecret;

/// A program that receives webhook deliveries.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub url: Url,
    pub topics: Vec<Topic>,
    /// The current key and, during rotation, the previous one; both sign.
    pub keys: Vec<SharedSecret>,
    /// The role with which it may decide approvals, if it may.
    pub role: Option<Role>,
}
