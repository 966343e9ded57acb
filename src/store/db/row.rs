//! Statements for both databases, and rows as structs, whose fields are read from the columns of
//! their names.

/// Defines a struct that is read from a row, like `#[derive(sqlx::FromRow)]`. That macro would
/// compile all database drivers a second time.
macro_rules! row {
    ($(#[$meta:meta])* $visible:vis struct $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        $visible struct $name {
            $($visible $field: $type),*
        }

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $name
        where
            &'static str: sqlx::ColumnIndex<R>,
            $($type: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>),*
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: row.try_get(stringify!($field))?),* })
            }
        }
    };
}
pub(in crate::store) use row;

/// The database's time in a statement, in milliseconds: `database_now!(sqlite, "$1")` or
/// `database_now!(postgres, "$1")`, where [`super::Tx::now_base`] is bound to `$1`. PostgreSQL then
/// needs no statement of its own for the time, and can still use an index.
macro_rules! database_now {
    (sqlite, $bound:literal) => {
        $bound
    };
    (postgres, $bound:literal) => {
        concat!("(", $bound, " + CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT))")
    };
}
pub(in crate::store) use database_now;

/// Runs a statement on both databases: `sql!(tx, execute, "…", bind, bind)`. The verbs are sqlx's:
/// `execute` (rows affected), `fetch_one`, `fetch_optional`, `fetch_all` (tuples of one or
/// two columns, or structs made by [`row`]).
macro_rules! sql {
    ($tx:expr, execute, $sql:expr $(, $bind:expr)* $(,)?) => {
        match &mut $tx.conn {
            $crate::store::db::Conn::Sqlite(c) =>
                sqlx::query($sql)$(.bind($crate::store::db::bind::Bind::bound($bind)))*.execute(&mut **c).await?.rows_affected(),
            $crate::store::db::Conn::Postgres(c) =>
                sqlx::query($sql)$(.bind($crate::store::db::bind::Bind::bound($bind)))*.execute(&mut **c).await?.rows_affected(),
        }
    };
    ($tx:expr, $fetch:ident, $sql:expr $(, $bind:expr)* $(,)?) => {
        match &mut $tx.conn {
            $crate::store::db::Conn::Sqlite(c) =>
                sqlx::query_as($sql)$(.bind($crate::store::db::bind::Bind::bound($bind)))*.$fetch(&mut **c).await?,
            $crate::store::db::Conn::Postgres(c) =>
                sqlx::query_as($sql)$(.bind($crate::store::db::bind::Bind::bound($bind)))*.$fetch(&mut **c).await?,
        }
    };
}
pub(in crate::store) use sql;
