//! Rewrites memories when a person is erased.

use anyhow::Result;

use super::{MemoryRow, Note, Write, memory, put};
use crate::{
    journal::ids::CallId,
    store::{
        Tx,
        db::{row::row, sql},
    },
};

row! {
    struct WholeRow {
        id: i64,
        call: String,
        path: String,
        content: String,
        by_whom: String,
        taint: String,
        changed_at: i64,
    }
}

/// Rewrites the memories of all scopes with this key.
pub(in crate::store) async fn rewrite(
    tx: &mut Tx<'_>,
    scope: &str,
    left: &(dyn Fn(&str) -> String + Sync),
) -> Result<()> {
    let rows: Vec<WholeRow> = sql!(
        tx,
        fetch_all,
        "
        -- memories of a scope
        SELECT id, call, path, content, by_whom, taint, changed_at FROM memories
        WHERE shelf = $1",
        scope
    );
    for WholeRow { id, call, path, content, by_whom, taint, changed_at } in rows {
        let is = memory(MemoryRow { path, content, by_whom, taint, changed_at })?;
        let (content, call) = (left(&is.content), CallId(call));
        if content != is.content {
            let what = Write::Whole(String::new());
            let note = Note { path: is.path, what, call, by: is.by, taint: is.taint };
            put(tx, id, content, note, is.changed_at).await?;
        }
    }
    Ok(())
}
