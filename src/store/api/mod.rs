//! The rows of the API: tokens, idempotency keys, and the keys with which all nodes sign.

pub mod idempotency;
pub(super) mod signing_keys;
pub mod tokens;
