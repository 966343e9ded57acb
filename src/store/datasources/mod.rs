//! External databases that agents read: PostgreSQL, MySQL or MariaDB, SQLite.
//!
//! Every read is one transaction that cannot write, with a time limit that the database itself
//! enforces. The transaction first reads the catalog, so that visibility is decided from the
//! current tables, and then runs the query that the caller has built from that catalog.
//!
//! - [`catalog`]: tables, columns and keys
//! - `connection`: small pools that connect on demand

pub mod catalog;
mod connection;

use std::{sync::Arc, time::Duration};
use thiserror::Error;

use catalog::DatabaseCatalog;
use connection::Pool;

/// The maximum length of a value, in characters.
const CELL_CHARS: usize = 20_000;
/// The maximum number of columns of a query.
const COLUMNS: usize = 200;
/// How long after the database's own time limit the wait for it is abandoned.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    Postgres,
    Mysql,
    Sqlite,
}

#[derive(Debug, Clone, Copy)]
pub struct QueryLimits {
    pub rows: usize,
    pub bytes: usize,
    pub time: Duration,
    pub connections: u32,
}

/// An external database.
#[derive(Clone)]
pub struct DataSource {
    pool: Arc<Pool>,
    pub limits: QueryLimits,
}

/// A result as text; `None` is NULL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultTable {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    /// Whether the limit of rows or bytes was reached.
    pub is_cut: bool,
}

/// The reason why nothing was read, worded so that a model can act on it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// With the reason, for operators only.
    #[error("the database cannot be reached")]
    Unreachable(String),
    #[error("it took longer than {} s; ask for less", .0.as_secs())]
    Timeout(Duration),
    #[error("{0}")]
    Refused(String),
    /// With the message of the database.
    #[error("the database says: {0}")]
    Failed(String),
}

impl DataSource {
    /// Validates the URL. Connections are opened on demand. The error does not contain the URL.
    pub fn open(url: &str, limits: QueryLimits) -> Result<Self, &'static str> {
        Ok(Self { pool: Arc::new(Pool::open(url, limits)?), limits })
    }

    pub fn kind(&self) -> DatabaseKind {
        self.pool.kind()
    }

    pub async fn catalog(&self) -> Result<DatabaseCatalog, ReadError> {
        self.bounded(async {
            let mut reading = self.pool.begin(self.limits.time).await?;
            let catalog = catalog::read(&mut reading).await?;
            reading.end().await;
            Ok(catalog)
        })
        .await
    }

    /// Runs the query that `plan` builds from the catalog. It must be a single SELECT; checking its
    /// safety is the task of `plan`.
    pub async fn read(
        &self,
        plan: impl FnOnce(&DatabaseCatalog) -> Result<String, String> + Send,
    ) -> Result<ResultTable, ReadError> {
        self.bounded(async {
            let mut reading = self.pool.begin(self.limits.time).await?;
            let catalog = catalog::read(&mut reading).await?;
            let sql = plan(&catalog).map_err(ReadError::Refused)?;
            let columns = reading.columns(&sql).await?;
            if columns.is_empty() || columns.len() > COLUMNS {
                let why = format!("the query has {} columns; 1 to {COLUMNS} fit", columns.len());
                return Err(ReadError::Refused(why));
            }
            let sql = as_text(self.kind(), &sql, &columns, self.limits.rows);
            let table = reading.table(&sql, self.limits).await?;
            reading.end().await;
            let columns = columns.into_iter().map(|column| column.name).collect();
            Ok(ResultTable { columns, ..table })
        })
        .await
    }

    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, ReadError>>,
    ) -> Result<T, ReadError> {
        let time = self.limits.time;
        let within = tokio::time::timeout(time + GRACE, work).await;
        match within {
            Err(_) | Ok(Err(ReadError::Timeout(_))) => Err(ReadError::Timeout(time)),
            Ok(ended) => ended,
        }
    }
}

/// A column of a result, known before its values are read.
struct Column {
    name: String,
    is_binary: bool,
}

/// Wraps the query, so that the database converts every value to text of limited length and returns
/// at most one row more than the limit. As a subquery, the text cannot be any other statement.
fn as_text(kind: DatabaseKind, sql: &str, columns: &[Column], rows: usize) -> String {
    let names: Vec<_> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let values: Vec<_> = names
        .iter()
        .zip(columns)
        .map(|(name, column)| {
            let value = format!("countersign_result.{name}");
            let text = match kind {
                DatabaseKind::Postgres => format!("{value}::text"),
                DatabaseKind::Mysql if column.is_binary => format!("HEX({value})"),
                DatabaseKind::Mysql => format!("CAST({value} AS CHAR)"),
                DatabaseKind::Sqlite => format!(
                    "CASE typeof({value}) WHEN 'blob' THEN hex({value}) ELSE CAST({value} AS TEXT) END"
                ),
            };
            match kind {
                DatabaseKind::Postgres | DatabaseKind::Mysql => format!("LEFT({text}, {})", CELL_CHARS + 1),
                DatabaseKind::Sqlite => format!("substr({text}, 1, {})", CELL_CHARS + 1),
            }
        })
        .collect();
    let (values, names, limit) = (values.join(", "), names.join(", "), rows + 1);
    match kind {
        DatabaseKind::Postgres => {
            format!("SELECT {values} FROM ({sql}) AS countersign_result({names}) LIMIT {limit}")
        }
        DatabaseKind::Mysql | DatabaseKind::Sqlite => format!(
            "WITH countersign_result({names}) AS ({sql}) SELECT {values} FROM countersign_result LIMIT {limit}"
        ),
    }
}
