//! What all nodes sign with: made by the first that needs it.

use anyhow::Result;

use super::{Store, db::sql};

impl Store {
    /// The secret of that name; `fresh`, where there is none yet.
    pub async fn signing_key(&self, name: &str, fresh: String) -> Result<String> {
        let name = name.to_owned();
        let write = self.write("signing key", move |tx| {
            Box::pin(async move {
                let (secret,): (String,) = sql!(
                    tx,
                    fetch_one,
                    "
                    -- signing key
                    INSERT INTO signing_keys (name, secret)
                    VALUES ($1, $2)
                    ON CONFLICT (name) DO UPDATE
                    SET secret = signing_keys.secret
                    RETURNING secret",
                    name,
                    fresh
                );
                Ok(secret)
            })
        });
        write.await
    }
}
