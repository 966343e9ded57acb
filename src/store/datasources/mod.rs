//! External databases that agents read: PostgreSQL, MySQL or MariaDB, SQLite.
//!
//! Every read is one transaction that cannot write, with a time limit that the database itself
//! enforces. Within it the catalog is read first, so that what a query may see is decided on the
//! tables as they are, and then the query runs whose text the caller has made of that catalog.
//!
//! - [`catalog`]: tables, columns and keys
//! - `connection`: small pools that connect when they are needed

pub mod catalog;
mod connection;

use std::{sync::Arc, time::Duration};
use thiserror::Error;

use catalog::DatabaseCatalog;
use connection::Pool;

/// The maximum length of a value, in characters.
const CELL_CHARS: usize = 20_000;
/// A query of more columns is refused.
const COLUMNS: usize = 200;
/// What the database has besides its own limit until the wait for it ends.
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
    /// The limit of rows or bytes was reached.
    pub is_cut: bool,
}

/// Why nothing was read, in words that a model can act on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// With the reason, which is for operators.
    #[error("the database cannot be reached")]
    Unreachable(String),
    #[error("it took longer than {} s; ask for less", .0.as_secs())]
    Timeout(Duration),
    #[error("{0}")]
    Refused(String),
    /// In the words of the database.
    #[error("the database says: {0}")]
    Failed(String),
}

impl DataSource {
    /// Connects to nothing yet. The error does not contain the URL.
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

    /// Runs the query that `plan` makes of the catalog: one SELECT, whose safety is the plan's
    /// business.
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

/// A column of a result, before its values are read.
struct Column {
    name: String,
    is_binary: bool,
}

/// Wraps the query so that the database turns every value into text of bounded length, and gives
/// one row more than the limit at most. As a subquery it cannot be anything but a query.
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
