//! Charges a model request of a tool before its call has ended.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{UsageRecord, enter, spent};
use crate::{
    journal::ids::ConversationId,
    store::{Store, metrics::committed},
};

/// A model request that a tool made.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    /// The conversation in which people see the usage.
    pub conversation: ConversationId,
    /// The conversation under which it was reserved.
    pub reserved_by: ConversationId,
    pub used: UsageRecord,
}

impl Store {
    /// Records a model request that a tool made, before its call has ended, and ends the
    /// reservation.
    pub async fn charge(&self, charge: Charge, now: DateTime<Utc>) -> Result<()> {
        self.write("charge", move |tx| {
            let Charge { conversation, reserved_by, used } = charge.clone();
            Box::pin(async move {
                tx.wakeups.counts.extend(committed::of_used(&used));
                spent::release(tx, &reserved_by, &used.person).await?;
                enter(tx, &conversation, used, now).await
            })
        })
        .await
    }
}
