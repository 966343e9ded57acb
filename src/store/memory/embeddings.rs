//! Embeddings of memories.

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::scope::MemoryScope;
use crate::store::{
    Tx,
    db::{row::row, sql},
};

/// A memory and its embedding, if it is up to date.
pub struct EmbeddedMemory {
    pub path: String,
    pub vector: Option<Vec<f32>>,
}

row! {
    /// A memory without an up-to-date embedding.
    #[derive(Clone)]
    pub struct UnembeddedMemory {
        id: i64,
        content: String,
        changed_at: i64,
    }
}

/// All memories of a scope, most recently changed first.
pub async fn of_scope(
    tx: &mut Tx<'_>,
    memory_scope: &MemoryScope,
    model: &str,
) -> Result<Vec<EmbeddedMemory>> {
    let rows: Vec<(String, Option<String>)> = sql!(
        tx,
        fetch_all,
        "
        -- vectors of a scope
        SELECT m.path, v.vector FROM memories m
        LEFT JOIN memory_vectors v ON v.memory = m.id AND v.model = $3
        WHERE m.agent = $1 AND m.shelf = $2
        ORDER BY m.changed_at DESC, m.path",
        memory_scope.agent.as_str(),
        memory_scope.scope.as_str(),
        model
    );
    let placed = |(path, vector): (String, Option<String>)| EmbeddedMemory {
        path,
        vector: vector.as_deref().and_then(read),
    };
    Ok(rows.into_iter().map(placed).collect())
}

/// Up to `limit` memories without an embedding of this model.
pub async fn unread(
    tx: &mut Tx<'_>,
    memory_scope: &MemoryScope,
    model: &str,
    limit: usize,
) -> Result<Vec<UnembeddedMemory>> {
    let rows: Vec<UnembeddedMemory> = sql!(
        tx,
        fetch_all,
        "
        -- memories without a vector
        SELECT m.id, m.content, m.changed_at FROM memories m
        WHERE m.agent = $1 AND m.shelf = $2 AND NOT EXISTS (
            SELECT 1 FROM memory_vectors v WHERE v.memory = m.id AND v.model = $3
        )
        ORDER BY m.changed_at DESC, m.path
        LIMIT $4",
        memory_scope.agent.as_str(),
        memory_scope.scope.as_str(),
        model,
        limit as i64
    );
    Ok(rows)
}

/// On PostgreSQL, waits for a concurrent change of the memory.
macro_rules! keep {
    ($lock:literal) => {
        concat!(
            "
            -- store a vector
            INSERT INTO memory_vectors (memory, model, vector)
            SELECT id, $1, $2 FROM memories
            WHERE id = $3 AND changed_at = $4 ",
            $lock,
            "
            ON CONFLICT (memory, model) DO UPDATE
            SET vector = $2"
        )
    };
}

/// Stores the embedding, unless the memory was changed since it was read.
pub async fn keep(
    tx: &mut Tx<'_>,
    model: &str,
    of: &UnembeddedMemory,
    vector: &[f32],
) -> Result<()> {
    let bytes: Vec<u8> = vector.iter().flat_map(|part| part.to_le_bytes()).collect();
    let keep = tx.either(keep!(""), keep!("FOR UPDATE"));
    sql!(tx, execute, keep, model, BASE64_STANDARD.encode(bytes), of.id, of.changed_at);
    Ok(())
}

/// Deletes the embeddings of a memory that was changed or deleted.
pub(in crate::store) async fn drop_all(tx: &mut Tx<'_>, memory: i64) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- drop vectors
        DELETE FROM memory_vectors
        WHERE memory = $1",
        memory
    );
    Ok(())
}

fn read(text: &str) -> Option<Vec<f32>> {
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    let (parts, []) = bytes.as_chunks::<4>() else { return None };
    Some(parts.iter().map(|part| f32::from_le_bytes(*part)).collect())
}
