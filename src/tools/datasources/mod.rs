//! The tools that read external databases: `list_datasources`, `describe_datasource`,
//! `sample_table`, `query_sql`.
//!
//! - [`visible`]: the part of a database that agents may see
//! - [`query`]: checks queries, with `tokens` and `grammar`; [`functions`]: the allowed functions
//! - `shown`: results as Markdown and CSV

pub mod functions;
mod grammar;
pub mod query;
#[cfg(test)]
mod query_tests;
mod shown;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tokens;
pub mod visible;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc, time::Duration};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{NoArguments, parse, schema},
    workspace,
};
use crate::{
    agent::catalog::{Tier, ToolSpec},
    store::datasources::{
        DataSource, DatabaseKind, ReadError, ResultTable,
        catalog::{Column, RelationKind},
    },
};
use query::QueryTerms;
use visible::{Visibility, VisibleCatalog, VisibleTable};

/// The maximum number of tables that one call describes in full.
const DESCRIBED: usize = 40;
const SAMPLE_ROWS: usize = 5;
const MAX_SAMPLE_ROWS: usize = 20;
/// The time that a call may take in addition to the time limit of the database.
const MARGIN: Duration = Duration::from_secs(15);

/// A database that the operator has configured.
pub struct ConfiguredSource {
    pub name: String,
    pub description: String,
    pub database: DataSource,
    pub visibility: Visibility,
    /// Additional functions that its queries may call, in lower case.
    pub functions: Vec<String>,
}

impl ConfiguredSource {
    fn terms<'t>(&'t self, visible: &'t VisibleCatalog<'t>) -> QueryTerms<'t> {
        QueryTerms {
            kind: self.database.kind(),
            visible,
            functions: &self.functions,
            rows: self.database.limits.rows,
        }
    }

    /// Checks a query against the visible tables and runs it.
    async fn query(&self, sql: &str) -> Result<ResultTable, ReadError> {
        let plan = |catalog: &_| {
            let visible = self.visibility.of(catalog);
            query::plan(sql, self.terms(&visible))
        };
        self.database.read(plan).await
    }
}

/// The configured databases, shared by the tools.
type Sources = Arc<Vec<ConfiguredSource>>;

/// The four tools, or none if no data source is configured.
pub fn tools(sources: Vec<ConfiguredSource>) -> Vec<Arc<dyn Tool>> {
    if sources.is_empty() {
        return Vec::new();
    }
    let sources = Arc::new(sources);
    vec![
        Arc::new(ListDatasources(sources.clone())),
        Arc::new(DescribeDatasource(sources.clone())),
        Arc::new(SampleTable(sources.clone())),
        Arc::new(QuerySql(sources)),
    ]
}

/// `list_datasources`
struct ListDatasources(Sources);

/// `describe_datasource`
struct DescribeDatasource(Sources);

/// `sample_table`
struct SampleTable(Sources);

/// `query_sql`
struct QuerySql(Sources);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Describe {
    /// The name of a data source.
    source: String,
    /// A table; all tables if left out.
    table: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sample {
    /// The name of a data source.
    source: String,
    table: String,
    /// 5 if left out, at most 20.
    rows: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// The name of a data source.
    source: String,
    /// One SELECT, or WITH … SELECT, in the dialect of the source.
    sql: String,
}

fn spec(sources: &Sources, name: &str, description: &str, parameters: Value) -> ToolSpec {
    let longest = sources.iter().map(|source| source.database.limits.time).max();
    ToolSpec {
        tier: Tier::Extension,
        // The contents of a database may come from anyone.
        untrusted: true,
        timeout: longest.unwrap_or_default() + MARGIN,
        ..ToolSpec::read_only(name, description, parameters)
    }
}

#[async_trait]
impl Tool for ListDatasources {
    fn spec(&self) -> ToolSpec {
        let description = "Lists the databases that can be queried with SQL.";
        ToolSpec {
            untrusted: false,
            ..spec(&self.0, "list_datasources", description, schema::<NoArguments>())
        }
    }

    async fn run(&self, _arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let lines = self.0.iter().map(|source| {
            let dialect = dialect(source.database.kind());
            let about = [source.name.as_str(), dialect, source.description.as_str()];
            let about: Vec<_> = about.into_iter().filter(|part| !part.is_empty()).collect();
            format!("- {}", about.join(" · "))
        });
        Ok(Output::text(lines.collect::<Vec<_>>().join("\n")))
    }
}

#[async_trait]
impl Tool for DescribeDatasource {
    fn spec(&self) -> ToolSpec {
        let description = "Shows the tables of a database, with their columns, types and keys.";
        spec(&self.0, "describe_datasource", description, schema::<Describe>())
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let Describe { source, table } = parse(arguments)?;
        let source = find(&self.0, &source)?;
        let catalog = source.database.catalog().await.map_err(|e| failed(source, e))?;
        let visible = source.visibility.of(&catalog);
        let tables: Vec<_> = match &table {
            None => visible.tables.iter().collect(),
            Some(name) => visible.tables.iter().filter(|t| is_called(t, name)).collect(),
        };
        if let (Some(name), true) = (&table, tables.is_empty()) {
            let why = format!("there is no table {name}; leave `table` out to see all");
            return Err(ToolError::InvalidParameters(why));
        }
        Ok(Output::text(described(source, &visible, &tables)))
    }
}

#[async_trait]
impl Tool for SampleTable {
    fn spec(&self) -> ToolSpec {
        let description = "Shows some rows of a table of a database.";
        spec(&self.0, "sample_table", description, schema::<Sample>())
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let Sample { source, table, rows } = parse(arguments)?;
        let source = find(&self.0, &source)?;
        let rows = rows.unwrap_or(SAMPLE_ROWS).clamp(1, MAX_SAMPLE_ROWS);
        let kind = source.database.kind();
        let plan = |catalog: &_| {
            let visible = source.visibility.of(catalog);
            let called = visible.tables.iter().find(|t| is_called(t, &table));
            let unknown = || format!("there is no table {table}; describe_datasource lists them");
            let relation = called.ok_or_else(unknown)?.relation;
            let (schema, name) =
                (query::quoted(kind, &relation.schema), query::quoted(kind, &relation.name));
            let sql = format!("SELECT * FROM {schema}.{name} LIMIT {rows}");
            query::plan(&sql, source.terms(&visible))
        };
        let table = source.database.read(plan).await.map_err(|e| failed(source, e))?;
        Ok(Output::text(shown::markdown(&table, rows).text))
    }
}

#[async_trait]
impl Tool for QuerySql {
    fn spec(&self) -> ToolSpec {
        let description = "Runs one SELECT on a database and shows the result as a table. A longer \
                           result is shown in part; all of it is put into the workspace as CSV, \
                           for workbooks and charts.";
        spec(&self.0, "query_sql", description, schema::<Query>())
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Query { source, sql } = parse(arguments)?;
        let source = find(&self.0, &source)?;
        let table = source.query(&sql).await.map_err(|e| failed(source, e))?;
        let shown = shown::markdown(&table, shown::ROWS);
        let folder: String =
            context.call.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
        // `downloads` is the folder for external content, which readers treat as untrusted.
        let path = format!("downloads/{folder}/{}.csv", source.name);
        let (kept, csv) = (path.clone(), shown::csv(&table));
        workspace::beneath(context, move |workspace, cancelled| {
            workspace.replace(&kept, csv.as_bytes(), cancelled)
        })
        .await?;
        let mut text = shown.text;
        let count = table.rows.len();
        let _ = write!(text, "\n\n{count} rows");
        if table.is_cut {
            text.push_str(" (there are more: this is the limit of the data source)");
        }
        if shown.is_part {
            text.push_str(", shown in part");
        }
        let _ = write!(text, "; all of them are in {path}.");
        Ok(Output::text(text))
    }
}

fn find<'s>(sources: &'s Sources, name: &str) -> Result<&'s ConfiguredSource, ToolError> {
    sources.iter().find(|source| source.name == name).ok_or_else(|| {
        let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
        let why = format!("there is no data source `{name}`; there are {}", names.join(", "));
        ToolError::InvalidParameters(why)
    })
}

fn failed(source: &ConfiguredSource, error: ReadError) -> ToolError {
    let text = format!("{}: {error}", source.name);
    match error {
        ReadError::Unreachable(_) => ToolError::ExternalService(text),
        ReadError::Refused(_) => ToolError::InvalidParameters(text),
        ReadError::Timeout(_) | ReadError::Failed(_) => ToolError::ExecutionFailed(text),
    }
}

fn dialect(kind: DatabaseKind) -> &'static str {
    match kind {
        DatabaseKind::Postgres => "PostgreSQL",
        DatabaseKind::Mysql => "MySQL",
        DatabaseKind::Sqlite => "SQLite",
    }
}

/// Whether `name` is the table's name, with or without its schema.
fn is_called(table: &VisibleTable<'_>, name: &str) -> bool {
    let relation = table.relation;
    let full = format!("{}.{}", relation.schema, relation.name);
    relation.name.eq_ignore_ascii_case(name) || full.eq_ignore_ascii_case(name)
}

fn described(
    source: &ConfiguredSource,
    visible: &VisibleCatalog<'_>,
    tables: &[&VisibleTable<'_>],
) -> String {
    let mut text = format!("{} ({})\n", source.name, dialect(source.database.kind()));
    for table in tables.iter().take(DESCRIBED) {
        let relation = table.relation;
        let kind = match relation.kind {
            RelationKind::Table => "",
            RelationKind::View => " (view)",
        };
        let _ = writeln!(text, "\n{}.{}{kind}", relation.schema, relation.name);
        for column in &table.columns {
            let _ = writeln!(text, "- {} {}{}", column.name, column.kind, keys(visible, column));
        }
    }
    if tables.len() > DESCRIBED {
        let names: Vec<_> = tables[DESCRIBED..].iter().map(|t| t.relation.name.as_str()).collect();
        let _ = writeln!(text, "\nMore tables, to be described one by one: {}", names.join(", "));
    }
    text
}

/// The key properties of a column. References to hidden tables or columns are omitted.
fn keys(visible: &VisibleCatalog<'_>, column: &Column) -> String {
    let mut text = String::new();
    if column.is_primary {
        text.push_str(", primary key");
    } else if column.is_required {
        text.push_str(", not null");
    }
    let Some(to) = &column.references else { return text };
    let table = visible.tables.iter().find(|table| {
        table.relation.schema == to.schema && table.relation.name.eq_ignore_ascii_case(&to.table)
    });
    let is_shown = table.is_some_and(|table| {
        to.column.is_empty() || table.columns.iter().any(|column| column.name == to.column)
    });
    if is_shown {
        let _ = write!(text, ", references {}", to.table);
        if !to.column.is_empty() {
            let _ = write!(text, "({})", to.column);
        }
    }
    text
}
