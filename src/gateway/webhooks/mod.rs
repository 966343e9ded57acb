//! Webhooks: other programs start turns, and are told what happens here.
//!
//! - [`sign`]: who has sent it, by a signature
//! - [`take`]: what comes in
//! - [`tell`]: what goes out
//! - [`answer`]: a question is decided by who was told of it

pub mod answer;
pub mod sign;
pub mod take;
pub mod tell;

use url::Url;

use crate::{journal::role::Role, store::topics::Topic};
use sign::Key;

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
