//! People who hold a role.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::PageRequest;
use crate::{
    journal::role::Role,
    store::{
        Tx, at,
        db::{row::row, sql},
    },
};

/// A person who was let in or given a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPerson {
    pub channel: String,
    pub person: String,
    pub name: String,
    pub role: Role,
    pub since: DateTime<Utc>,
}

row! {
    struct PersonRow {
        channel: String,
        person: String,
        name: String,
        role: String,
        since: i64,
    }
}

/// Lists people by channel and id.
pub async fn list(tx: &mut Tx<'_>, page_request: &PageRequest) -> Result<Vec<ListedPerson>> {
    let (channel, person): (String, String) =
        serde_json::from_str(&page_request.after).unwrap_or_default();
    let rows: Vec<PersonRow> = sql!(
        tx,
        fetch_all,
        "
        -- list people
        SELECT channel, person, name, role, since FROM people
        WHERE (channel, person) > ($1, $2)
        ORDER BY channel, person
        LIMIT $3",
        channel,
        person,
        page_request.limit as i64
    );
    let people = rows.into_iter().map(|row| ListedPerson {
        channel: row.channel,
        person: row.person,
        name: row.name,
        role: Role::parse(&row.role).unwrap_or(Role::Viewer),
        since: at(row.since),
    });
    Ok(people.collect())
}

/// Gives a person a role.
pub async fn put(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
    role: Role,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert a person
        INSERT INTO people (channel, person, name, role, since)
        VALUES ($1, $2, $2, $3, $4)
        ON CONFLICT (channel, person) DO UPDATE
        SET role = $3",
        channel,
        person,
        role.as_str(),
        now.timestamp_millis()
    );
    Ok(())
}

/// Removes a person. Returns whether they existed.
pub async fn remove(tx: &mut Tx<'_>, channel: &str, person: &str) -> Result<bool> {
    let removed = sql!(
        tx,
        execute,
        "
        -- remove person
        DELETE FROM people
        WHERE channel = $1 AND person = $2",
        channel,
        person
    );
    Ok(removed > 0)
}
