//! The rows of the API: tokens, idempotency keys, requests of OpenAI clients, and the keys with
//! which all nodes sign.

pub mod completions;
pub mod idempotency;
pub(super) mod signing_keys;
pub mod tokens;
