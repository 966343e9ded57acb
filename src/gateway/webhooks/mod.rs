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
