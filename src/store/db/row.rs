//! Statements for both databases, and rows as structs, whose fields are read from the columns of
//! their names.

/// Defines a struct that is read from a row of either database. `#[derive(sqlx::FromRow)]` would
/// compile all database drivers a second time.
macro_rules! row {
    ($(#[$meta:meta])* $visible:vis struct $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        $visible struct $name {
            $($visible $field: $type),*
        }

        impl<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow> for $name {
            fn from_row(row: &'r sqlx::postgres::PgRow) -> Result<Self, sqlx::Error> {
                use sqlx::Row as _;
                Ok(Self { $($field: row.try_get(stringify!($field))?),* })
            }
        }

        impl $crate::store::db::sqlite::FromSqliteRow for $name {
            fn from_sqlite_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self { $($field: row.get(stringify!($field))?),* })
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
            $crate::store::db::Conn::Sqlite(c) => $crate::store::db::sqlite::execute(
                c,
                $sql,
                &[$(&$crate::store::db::bind::Bind::bound($bind) as &dyn rusqlite::ToSql),*],
            )?,
            $crate::store::db::Conn::Postgres(session) => sqlx::query($sql)
                $(.bind($crate::store::db::bind::Bind::bound($bind)))*
                .persistent(session.keeps_statements)
                .execute(&mut *session.conn)
                .await?
                .rows_affected(),
        }
    };
    ($tx:expr, $fetch:ident, $sql:expr $(, $bind:expr)* $(,)?) => {
        match &mut $tx.conn {
            $crate::store::db::Conn::Sqlite(c) => $crate::store::db::sqlite::$fetch(
                c,
                $sql,
                &[$(&$crate::store::db::bind::Bind::bound($bind) as &dyn rusqlite::ToSql),*],
            )?,
            $crate::store::db::Conn::Postgres(session) => sqlx::query_as($sql)
                $(.bind($crate::store::db::bind::Bind::bound($bind)))*
                .persistent(session.keeps_statements)
                .$fetch(&mut *session.conn)
                .await?,
        }
    };
}
pub(in crate::store) use sql;
