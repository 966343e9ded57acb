//! Requests to reconnect a channel, for whichever node listens on it.

use anyhow::Result;

use super::{Store, Tx, db::sql};

impl Store {
    /// The number of reconnections requested so far; the listening node watches it for changes.
    pub async fn reconnects(&self, channel: &str) -> Result<i64> {
        let channel = channel.to_owned();
        let read = self.read(move |tx| {
            Box::pin(async move {
                let found: Option<(i64,)> = sql!(
                    tx,
                    fetch_optional,
                    "
                    -- reconnects
                    SELECT times FROM reconnects
                    WHERE channel = $1",
                    channel
                );
                Ok(found.map_or(0, |(times,)| times))
            })
        });
        read.await
    }
}

pub async fn reconnect(tx: &mut Tx<'_>, channel: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- reconnect
        INSERT INTO reconnects (channel, times)
        VALUES ($1, 1)
        ON CONFLICT (channel) DO UPDATE
        SET times = reconnects.times + 1",
        channel
    );
    Ok(())
}
