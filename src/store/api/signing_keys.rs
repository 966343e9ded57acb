//! Signing keys that all nodes share, created by the first node that needs one.

use anyhow::{Context as _, Result};

use crate::store::{Store, Tx, db::sql};

impl Store {
    /// The key with this name; `fresh` is stored if there is none yet. A key that is not encrypted
    /// with the current encryption key is encrypted again.
    pub async fn signing_key(&self, name: &str, fresh: String) -> Result<String> {
        let (name, encryption) = (name.to_owned(), self.encryption.clone());
        let write = self.write("signing key", move |tx| {
            Box::pin(async move {
                let stored = insert(tx, &name, encryption.seal(&name, &fresh)?).await?;
                let key = encryption.open(&name, &stored);
                let key = key.with_context(|| format!("the signing key `{name}`"))?;
                if encryption.is_outdated(&name, &stored) {
                    replace(tx, &name, encryption.seal(&name, &key)?).await?;
                }
                Ok(key)
            })
        });
        write.await
    }
}

async fn insert(tx: &mut Tx<'_>, name: &str, sealed: String) -> Result<String> {
    let (stored,): (String,) = sql!(
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
        sealed
    );
    Ok(stored)
}

async fn replace(tx: &mut Tx<'_>, name: &str, sealed: String) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- encrypt a signing key again
        UPDATE signing_keys
        SET secret = $1
        WHERE name = $2",
        sealed,
        name
    );
    Ok(())
}
