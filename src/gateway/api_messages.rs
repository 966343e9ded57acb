//! Receives messages of programs with an API token.

use anyhow::Result;
use channels::{Batch, Incoming};
use std::sync::Arc;

use super::{
    Gateway, intake,
    intake_context::{IntakeContext, IntakeOrigin},
    receive::RateLimited,
};
use crate::journal::role::Role;

/// Stores a message of a program whose token has this role. The message is never taken for a
/// command. Returns whether the rate limit refused it.
pub async fn receive_from_api(
    gateway: &Arc<Gateway>,
    channel: &str,
    incoming: Incoming,
    role: Role,
) -> Result<Option<RateLimited>> {
    let context = IntakeContext::new(gateway, channel, IntakeOrigin::Api { role })?;
    intake::store(gateway, context, Batch { incomings: vec![incoming], position: None }).await
}
