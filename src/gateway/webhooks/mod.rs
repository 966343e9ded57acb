//! Webhooks: other programs start turns, and are told what happens here.
//!
//! - [`signature`]: who has sent it, by a signature
//! - [`incoming`]: what comes in
//! - [`outgoing`]: what goes out
//! - [`callback`]: a question is decided by who was told of it

pub mod callback;
pub mod incoming;
pub mod outgoing;
pub mod signature;

use url::Url;

use crate::{journal::role::Role, store::subscriptions::Topic};
use signature::Key;

/// A program that wants to be told.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub url: Url,
    pub topics: Vec<Topic>,
    /// The one in force, and the one before it: both sign.
    pub keys: Vec<Key>,
    /// As what it may decide questions, if it may.
    pub role: Option<Role>,
}
