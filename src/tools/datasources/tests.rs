//! Tests of the tools with a SQLite file, PostgreSQL and MariaDB.

use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    ConfiguredSource,
    testing::{CANARY, databases, limits},
    tools,
};
use crate::{
    store::datasources::{DatabaseKind, QueryLimits},
    tools::{Tool, ToolError, testing::ToolFixture},
};

async fn runs(
    tools: &[Arc<dyn Tool>],
    place: &mut ToolFixture,
    name: &str,
    arguments: Value,
) -> Result<String, ToolError> {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
    Ok(place.runs(&**tool, arguments).await?.text)
}

async fn queried(source: ConfiguredSource, sql: &str) -> Result<String, ToolError> {
    let arguments = json!({ "source": "shop", "sql": sql });
    runs(&tools(vec![source]), &mut ToolFixture::new(), "query_sql", arguments).await
}

/// Without a data source the tools do not exist. With one, tool search finds them, and their
/// results are untrusted content.
/// Proves MC-40.
#[tokio::test]
async fn a_database_is_listed_described_sampled_and_queried() {
    assert!(tools(vec![]).is_empty());
    for database in databases().await {
        let (kind, mut place) = (database.kind, ToolFixture::new());
        let tools = tools(vec![database.source(limits())]);
        for tool in &tools {
            let spec = tool.spec();
            assert_eq!(spec.tier, crate::agent::catalog::Tier::Extension);
            assert_eq!(spec.untrusted, spec.name != "list_datasources");
        }
        let list = runs(&tools, &mut place, "list_datasources", json!({})).await.unwrap();
        assert!(list.starts_with("- shop · ") && list.ends_with(" · Orders"), "{list}");
        let all = json!({ "source": "shop" });
        let all = runs(&tools, &mut place, "describe_datasource", all).await.unwrap();
        for part in
            ["users", "- name ", "orders", "references users(id)", ", primary key", ", not null"]
        {
            assert!(all.contains(part), "{kind:?} {part}: {all}");
        }
        for part in ["password", "audit", "all_users"] {
            assert!(!all.contains(part), "{kind:?} {part}: {all}");
        }
        let one = json!({ "source": "shop", "table": "USERS" });
        let one = runs(&tools, &mut place, "describe_datasource", one).await.unwrap();
        assert!(one.contains("- name ") && !one.contains("orders"), "{one}");
        let sample = json!({ "source": "shop", "table": "users", "rows": 1 });
        let sample = runs(&tools, &mut place, "sample_table", sample).await.unwrap();
        assert_eq!(sample, "| id | name |\n| --- | --- |\n| 1 | Ann |", "{kind:?}");
        let sql = "SELECT u.name, COUNT(*) AS orders, SUM(o.total) AS total, MIN(o.placed) AS first \
                   FROM orders o JOIN users u ON u.id = o.user_id GROUP BY u.name ORDER BY u.name DESC";
        let query = json!({ "source": "shop", "sql": sql });
        let text = runs(&tools, &mut place, "query_sql", query).await.unwrap();
        let sums = if kind == DatabaseKind::Sqlite { ["7", "15.0"] } else { ["7.00", "15.00"] };
        let expected = format!(
            "| name | orders | total | first |\n| --- | --- | --- | --- |\n\
             | Bob \\| x | 1 | {} | NULL |\n| Ann | 2 | {} | 2026-01-02 |\n\n\
             2 rows; all of them are in downloads/call1/shop.csv.",
            sums[0], sums[1]
        );
        assert_eq!(text, expected, "{kind:?}");
        let csv = format!(
            "name,orders,total,first\r\nBob | x,1,{},\r\nAnn,2,{},2026-01-02\r\n",
            sums[0], sums[1]
        );
        assert_eq!(place.content("downloads/call1/shop.csv"), csv);
        drop(tools);
        database.end().await;
    }
}

/// Attempts to read hidden data and to write.
const ATTACKS: &[&str] = &[
    "SELECT * FROM users",
    "SELECT password_hash FROM users",
    "SELECT u.password_hash FROM users u",
    "SELECT u.* FROM users u",
    "SELECT users FROM users",
    "SELECT u FROM users u",
    "SELECT row_to_json(u) FROM users u",
    "SELECT to_jsonb(users) FROM users",
    "SELECT json_agg(u) FROM users u",
    "SELECT (u).password_hash FROM users u",
    "SELECT u::text FROM users u",
    "SELECT a, b, c FROM users AS u(a, b, c)",
    "SELECT * FROM users NATURAL JOIN users x",
    "SELECT * FROM users JOIN users x USING (password_hash)",
    "SELECT name FROM users ORDER BY password_hash",
    "SELECT name FROM users WHERE password_hash LIKE 'canary%'",
    "SELECT CASE WHEN password_hash LIKE 'c%' THEN 1 ELSE 0 END FROM users",
    "SELECT (SELECT MAX(password_hash) FROM users)",
    "SELECT x FROM (SELECT 1 AS y) s, LATERAL (SELECT password_hash AS x FROM users) t",
    "WITH x AS (SELECT * FROM users) SELECT * FROM x",
    "WITH x(a, b, c) AS (SELECT * FROM users) SELECT c FROM x",
    "SELECT 1 AS id, 'x' AS name UNION SELECT id, password_hash FROM users",
    "SELECT * FROM audit_log",
    "SELECT * FROM all_users",
    "SELECT login FROM all_users",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_stats",
    "SELECT sql FROM sqlite_schema",
    "SELECT \"password_hash\" FROM users",
    "SELECT `password_hash` FROM users",
    "SELECT [password_hash] FROM users",
    "DELETE FROM orders",
    "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x",
    "SELECT 1; DELETE FROM orders",
];

/// No attempt returns the hidden column, the hidden table or views of them, and nothing is written.
/// Proves MC-40.
#[tokio::test]
async fn hidden_tables_and_columns_are_not_listed() {
    for database in databases().await {
        let kind = database.kind;
        for sql in ATTACKS {
            let told = match queried(database.source(limits()), sql).await {
                Ok(text) => text,
                Err(error) => error.to_string(),
            };
            assert!(!told.contains(CANARY) && !told.contains("canary-"), "{kind:?} {sql}: {told}");
        }
        let left = queried(database.source(limits()), "SELECT COUNT(*) AS n FROM orders").await;
        assert!(left.unwrap().contains("| 3 |"), "{kind:?}");
        // The transaction is read-only as well, regardless of the statement.
        let plain = database.source(limits());
        if kind != DatabaseKind::Sqlite {
            database.run("CREATE SEQUENCE numbers").await;
        }
        let (given, expected) = match kind {
            DatabaseKind::Postgres => ("SELECT nextval('public.numbers') AS n", "transaction"),
            DatabaseKind::Mysql => ("SELECT nextval(numbers) AS n", "transaction"),
            DatabaseKind::Sqlite => ("DELETE FROM orders RETURNING id", "syntax error"),
        };
        let written = plain.database.read(|_| Ok(given.into())).await.unwrap_err().to_string();
        assert!(written.to_lowercase().contains(expected), "{kind:?} {written}");
        drop(plain);
        database.end().await;
    }
}

/// A query ends at its time limit and a result at its size limits. The source works afterwards.
/// Proves MC-40.
#[tokio::test]
async fn a_query_is_bounded_in_time_rows_and_bytes() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) \
                   SELECT COUNT(*) AS n FROM n a, n b, n c, n d WHERE a.i + b.i + c.i + d.i > 9";
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
                SELECT i, name FROM n CROSS JOIN users ORDER BY i, name";
    for database in databases().await {
        let kind = database.kind;
        let short = QueryLimits { time: Duration::from_secs(1), ..limits() };
        let source = database.source(short);
        let started = Instant::now();
        let refused = source.query(endless).await.unwrap_err().to_string();
        assert_eq!(refused, "it took longer than 1 s; ask for less", "{kind:?}");
        assert!(started.elapsed() < Duration::from_secs(6), "{kind:?}");
        assert!(source.query("SELECT 1 AS a").await.is_ok(), "{kind:?}");
        drop(source);

        let few = QueryLimits { rows: 100, ..limits() };
        let text = queried(database.source(few), many).await.unwrap();
        let end = "100 rows (there are more: this is the limit of the data source), shown in part; \
                   all of them are in downloads/call1/shop.csv.";
        assert!(text.ends_with(end), "{kind:?} {text}");
        assert!(text.contains("\n| 1 | Ann |\n| 1 | Bob \\| x |\n| 2 | Ann |"), "{kind:?} {text}");
        let small = QueryLimits { bytes: 2_000, ..limits() };
        let table = database.source(small).query(many).await.unwrap();
        assert!(table.is_cut && table.rows.len() < 100, "{kind:?} {}", table.rows.len());
        database.end().await;
    }
}

/// Columns with the same name, values of all types, and empty results.
#[tokio::test]
async fn values_of_all_kinds_are_shown() {
    for database in databases().await {
        let kind = database.kind;
        let own = match kind {
            DatabaseKind::Postgres => {
                "SELECT 1 AS a, 2 AS a, true AS b, '{\"x\": 1}'::jsonb AS c, \
                ARRAY[1, 2] AS d, '\\x00ff'::bytea AS e, 1.5::float8 AS f, DATE '2026-01-02' AS g, \
                interval '2 days' AS h, NULL AS i"
            }
            DatabaseKind::Mysql => {
                "SELECT 1 AS a, 2 AS a, TRUE AS b, JSON_OBJECT('x', 1) AS c, X'00ff' AS e, \
                1.5e0 AS f, DATE '2026-01-02' AS g, NULL AS i"
            }
            DatabaseKind::Sqlite => {
                "SELECT 1 AS a, 2 AS a, TRUE AS b, json_object('x', 1) AS c, X'00ff' AS e, \
                1.5 AS f, date('2026-01-02') AS g, NULL AS i"
            }
        };
        let text = queried(database.source(limits()), own).await.unwrap();
        let row = text.lines().nth(2).unwrap();
        let expected = match kind {
            DatabaseKind::Postgres => {
                "| 1 | 2 | true | {\"x\": 1} | {1,2} | \\\\x00ff | 1.5 | 2026-01-02 | 2 days | NULL |"
            }
            DatabaseKind::Mysql => "| 1 | 2 | 1 | {\"x\": 1} | 00FF | 1.5 | 2026-01-02 | NULL |",
            DatabaseKind::Sqlite => "| 1 | 2 | 1 | {\"x\":1} | 00FF | 1.5 | 2026-01-02 | NULL |",
        };
        assert_eq!(row, expected, "{kind:?}");
        let none = queried(database.source(limits()), "SELECT id FROM orders WHERE id < 0").await;
        assert!(none.unwrap().starts_with("| id |\n| --- |\n\n0 rows"), "{kind:?}");
        let wrong = queried(database.source(limits()), "SELECT nothing FROM orders").await;
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.starts_with("shop: the database says: "), "{kind:?} {wrong}");
        database.end().await;
    }
}

/// An unreachable database is reported as such, without its address, and within the time limit.
#[tokio::test]
async fn an_unavailable_database_is_reported_as_such() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [
        format!("postgres://ann:{CANARY}@{closed}/db"),
        format!("mysql://ann:{CANARY}@{closed}/db"),
        "sqlite:///nowhere/at/all.db".to_owned(),
    ] {
        let database = super::DataSource::open(&url, limits()).unwrap();
        let error = database.catalog().await.unwrap_err().to_string();
        assert_eq!(error, "the database cannot be reached", "{url}");
    }
    for url in ["oracle://x", "postgres://[", "mysql://ann@host", "nothing"] {
        assert!(super::DataSource::open(url, limits()).is_err(), "{url}");
    }
}

/// Two connections serve many concurrent calls.
#[tokio::test]
async fn calls_share_a_few_connections() {
    for database in databases().await {
        let source = database.source(limits());
        let query = || source.query("SELECT COUNT(*) AS n FROM orders");
        let all = futures::future::join_all((0..12).map(|_| query())).await;
        assert!(all.iter().all(Result::is_ok), "{:?} {all:?}", database.kind);
        drop(source);
        database.end().await;
    }
}
