//! Browsers that are notified of approval requests (Web Push). A subscription is deleted with the
//! session in which it was made.

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::store::{
    Tx,
    approvals::hash_of,
    db::{row::row, sql},
    people::BrowserSession,
};

/// The maximum number of subscriptions of a person. A further one replaces the oldest.
pub const MAX_DEVICES: i64 = 10;

/// Where a browser receives notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSubscription {
    /// The address of its push service.
    pub endpoint: String,
    /// Its public key, in base64url.
    pub p256dh: String,
    /// The secret that authenticates messages, in base64url.
    pub auth: String,
    /// The language of the browser.
    pub language: String,
}

/// A subscription, and the session in which it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSubscription {
    pub subscription: PushSubscription,
    pub session: BrowserSession,
}

row! {
    struct SubscriptionRow {
        endpoint: String,
        p256dh: String,
        auth: String,
        language: String,
        name: String,
        shown: Option<String>,
        claims: Option<String>,
    }
}

/// Stores a subscription of a session. If it exists, it belongs to this session from now on.
pub async fn put(
    tx: &mut Tx<'_>,
    session_hash: &str,
    person: &str,
    new: &PushSubscription,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- put push subscription
        INSERT INTO push_subscriptions
            (id, session, person, endpoint, p256dh, auth, language, created_at)
        SELECT $1, hash, $3, $4, $5, $6, $7, CAST($8 AS BIGINT) FROM access_tokens
        WHERE hash = $2
        ON CONFLICT (id) DO UPDATE
        SET session = excluded.session, person = excluded.person, p256dh = excluded.p256dh,
            auth = excluded.auth, language = excluded.language, created_at = excluded.created_at",
        hash_of(&new.endpoint),
        session_hash,
        person,
        new.endpoint.as_str(),
        new.p256dh.as_str(),
        new.auth.as_str(),
        new.language.as_str(),
        now.timestamp_millis()
    );
    sql!(
        tx,
        execute,
        "
        -- delete the oldest push subscriptions
        DELETE FROM push_subscriptions
        WHERE person = $1 AND id NOT IN (
            SELECT id FROM push_subscriptions
            WHERE person = $1
            ORDER BY created_at DESC, id
            LIMIT $2
        )",
        person,
        MAX_DEVICES
    );
    Ok(())
}

/// The subscriptions of a person, with the sessions in which they were made.
pub async fn of_person(
    tx: &mut Tx<'_>,
    person: &str,
    now: DateTime<Utc>,
) -> Result<Vec<SessionSubscription>> {
    let rows: Vec<SubscriptionRow> = sql!(
        tx,
        fetch_all,
        "
        -- push subscriptions of a person
        SELECT p.endpoint, p.p256dh, p.auth, p.language, t.name, t.shown, t.claims
        FROM push_subscriptions p
        JOIN access_tokens t ON t.hash = p.session AND t.kind = 'session' AND t.name = p.person
        WHERE p.person = $1 AND t.expires_at > $2
        ORDER BY p.created_at DESC, p.id
        LIMIT $3",
        person,
        now.timestamp_millis(),
        MAX_DEVICES
    );
    rows.into_iter().map(subscription).collect()
}

fn subscription(row: SubscriptionRow) -> Result<SessionSubscription> {
    let SubscriptionRow { endpoint, p256dh, auth, language, name: person, shown, claims } = row;
    let claims = claims.map(|claims| serde_json::from_str(&claims)).transpose()?;
    let name = shown.unwrap_or_else(|| person.clone());
    Ok(SessionSubscription {
        subscription: PushSubscription { endpoint, p256dh, auth, language },
        session: BrowserSession { person, name, claims },
    })
}

/// Deletes a subscription of a person.
pub async fn remove(tx: &mut Tx<'_>, person: &str, endpoint: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- remove push subscription
        DELETE FROM push_subscriptions
        WHERE id = $1 AND person = $2",
        hash_of(endpoint),
        person
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::store::{
        Store, StoreOptions,
        people::{self, AccessTokenKind, NewAccess},
    };

    async fn count(tx: &mut Tx<'_>) -> Result<i64> {
        let (count,): (i64,) = sql!(tx, fetch_one, "SELECT count(*) FROM push_subscriptions");
        Ok(count)
    }

    /// However a session ends, the database deletes its subscriptions.
    #[tokio::test]
    async fn a_subscription_is_deleted_with_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/push.db", folder.path().display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        let write = store.write("test", |tx| {
            Box::pin(async move {
                let now = DateTime::UNIX_EPOCH;
                for token in ["signed out", "ended", "expired"] {
                    let access = NewAccess { kind: AccessTokenKind::Session, name: "ann", token };
                    people::grant_access(tx, access, now, now + TimeDelta::days(1)).await?;
                    let new = PushSubscription {
                        endpoint: format!("https://push.example/{token}"),
                        p256dh: String::new(),
                        auth: String::new(),
                        language: "en".into(),
                    };
                    put(tx, &people::session_hash(token), "ann", &new, now).await?;
                }
                let mut counts = vec![count(tx).await?];
                people::revoke_session(tx, "signed out").await?;
                counts.push(count(tx).await?);
                people::replace_session(tx, &people::session_hash("ended")).await?;
                counts.push(count(tx).await?);
                people::sweep_access(tx, now + TimeDelta::days(2)).await?;
                counts.push(count(tx).await?);
                Ok(counts)
            })
        });
        assert_eq!(write.await.unwrap(), [3, 2, 1, 0]);
    }
}
