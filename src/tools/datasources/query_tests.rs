//! Tests of the query checks, without a database.

use super::{
    query::{QueryTerms, plan},
    visible::Visibility,
};
use crate::store::datasources::{
    DatabaseKind,
    catalog::{Column, DatabaseCatalog, Inherits, Relation, RelationKind},
};

fn relation(name: &str, kind: RelationKind, columns: &[&str]) -> Relation {
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        kind: "text".into(),
        is_required: false,
        is_primary: false,
        references: None,
    };
    let columns = columns.iter().map(column).collect();
    Relation { schema: "public".into(), name: name.into(), kind, columns }
}

fn catalog() -> DatabaseCatalog {
    use RelationKind::{Table, View};
    let relations = vec![
        relation("users", Table, &["id", "name", "password_hash"]),
        relation("orders", Table, &["id", "user_id", "total"]),
        relation("audit_log", Table, &["id", "entry"]),
        relation("audit_log_2026", Table, &["id", "entry"]),
        relation("all_users", View, &["id", "login", "secret"]),
    ];
    DatabaseCatalog {
        relations,
        inherits: vec![Inherits { parent: 2, child: 3 }],
        is_writable: false,
    }
}

fn planned(kind: DatabaseKind, sql: &str) -> Result<String, String> {
    let catalog = catalog();
    let hidden = Visibility::new(&[], &["audit_log".into()], &["password*".into()]).unwrap();
    let visible = hidden.of(&catalog);
    plan(sql, QueryTerms { kind, visible: &visible, functions: &["st_area".into()], rows: 100 })
}

fn postgres(sql: &str) -> Result<String, String> {
    planned(DatabaseKind::Postgres, sql)
}

/// Tables are written with their schema. A table with hidden columns becomes a subquery of the
/// visible ones.
#[test]
fn a_table_is_replaced_by_what_may_be_seen_of_it() {
    for (sql, expected) in [
        ("select * from orders", r#"SELECT * FROM "public"."orders" LIMIT 101"#),
        (
            "SELECT o.id FROM public.Orders o LIMIT 5;",
            r#"SELECT o.id FROM "public"."orders" o LIMIT 5"#,
        ),
        (
            "SELECT * FROM users",
            r#"SELECT * FROM (SELECT "id", "name" FROM "public"."users") AS users LIMIT 101"#,
        ),
        (
            "SELECT u.name FROM orders JOIN users AS u ON u.id = user_id FETCH FIRST 3 ROWS ONLY",
            r#"SELECT u.name FROM "public"."orders" JOIN (SELECT "id", "name" FROM "public"."users") AS u ON u.id = user_id FETCH FIRST 3 ROWS ONLY"#,
        ),
        (
            "WITH u AS (SELECT * FROM users) SELECT row_to_json(u) FROM u",
            r#"WITH u AS (SELECT * FROM (SELECT "id", "name" FROM "public"."users") AS users) SELECT row_to_json(u) FROM u LIMIT 101"#,
        ),
        (
            "SELECT 'it''s', E'a\\'b', $$c'd$$, st_area(1) -- comment\n /* and another */",
            "SELECT 'it''s', 'a''b', 'c''d', st_area(1) LIMIT 101",
        ),
    ] {
        assert_eq!(postgres(sql).as_deref(), Ok(expected), "{sql}");
    }
    let mysql = planned(DatabaseKind::Mysql, r#"SELECT `id`, "a\"b\\" FROM users"#).unwrap();
    let expected = r#"SELECT `id`, 'a"b\' FROM (SELECT `id`, `name` FROM `public`.`users`) AS users LIMIT 101"#;
    assert_eq!(mysql, expected, "a backslash is no escape there any more");
}

/// More than one statement, none, or a statement that writes, locks or is not a query.
const NOT_READING: &[&str] = &[
    "",
    ";",
    "no sql",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE orders",
    "SELECT 1 /* ; */ ; DELETE FROM orders -- x",
    "INSERT INTO orders VALUES (1, 2, 3)",
    "UPDATE orders SET total = 0",
    "DELETE FROM orders",
    "DROP TABLE orders",
    "CREATE TABLE x AS SELECT * FROM orders",
    "TRUNCATE orders",
    "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x",
    "WITH x AS (INSERT INTO orders VALUES (1, 2, 3) RETURNING id) SELECT * FROM x",
    "WITH x AS (UPDATE orders SET total = 1 RETURNING id) SELECT * FROM x",
    "WITH x AS (SELECT 1) DELETE FROM orders",
    "SELECT * INTO copy FROM orders",
    "SELECT * FROM orders INTO OUTFILE '/tmp/x'",
    "SELECT * FROM orders FOR UPDATE",
    "SELECT * FROM orders FOR SHARE",
    "SELECT * FROM (SELECT * FROM orders FOR UPDATE) o",
    "TABLE orders",
    "SELECT 1 UNION TABLE users",
    "COPY orders TO '/tmp/x'",
    "COPY (SELECT * FROM orders) TO PROGRAM 'sh'",
    "EXPLAIN ANALYZE SELECT 1",
    "CALL x()",
    "DO $$ BEGIN END $$",
    "SET search_path = public",
    "SHOW TABLES",
    "PRAGMA table_info(users)",
    "ATTACH DATABASE 'x' AS y",
    "VACUUM",
    "BEGIN",
    "LOCK TABLE orders",
    "LOAD DATA INFILE 'x' INTO TABLE orders",
    "GRANT ALL ON orders TO public",
    "PREPARE x AS SELECT 1",
];

/// Tables that are hidden, do not exist, or belong to the database itself.
const NOT_VISIBLE: &[&str] = &[
    "SELECT * FROM audit_log",
    "SELECT * FROM public.audit_log",
    "SELECT * FROM audit_log_2026",
    "SELECT * FROM all_users",
    "SELECT * FROM nowhere",
    "SELECT * FROM information_schema.columns",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT * FROM pg_stats",
    "SELECT * FROM sqlite_schema",
    "SELECT * FROM pragma_table_info('users')",
    "SELECT * FROM mysql.user",
    "SELECT * FROM a.b.users",
    "WITH audit_log AS (SELECT 1) SELECT * FROM audit_log",
    "WITH users AS (SELECT 1) SELECT * FROM users",
    "WITH pg_authid AS (SELECT 1) SELECT * FROM pg_authid",
    "SELECT * FROM (WITH nowhere AS (SELECT 1) SELECT * FROM nowhere) x, nowhere",
];

/// Functions with side effects, and unusual operators, types, names and characters.
const NOT_PLAIN: &[&str] = &[
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_sleep(10)",
    "SELECT sleep(10)",
    "SELECT benchmark(1000000, md5('x'))",
    "SELECT load_file('/etc/passwd')",
    "SELECT load_extension('x')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT set_config('a', 'b', false)",
    "SELECT current_setting('x')",
    "SELECT * FROM dblink('x', 'SELECT 1') AS t(a int)",
    "SELECT query_to_xml('SELECT * FROM users', true, false, '')",
    "SELECT nextval('orders_id_seq')",
    "SELECT pg_catalog.pg_read_file('x')",
    "SELECT \"pg_read_file\"('x')",
    "SELECT pg_advisory_lock(1)",
    "SELECT get_lock('x', 10)",
    "SELECT zeroblob(1000000000)",
    "SELECT 1 OPERATOR(public.+) 2",
    "SELECT 'x'::public.evil",
    "SELECT ?",
    "SELECT 'a' AS 'b'",
    "SELECT 1\u{200b}",
    "SELECT id FROM orders\u{202e} WHERE 1 = 1",
    "SELECT\u{a0}\u{2060}1",
    "SELECT '\u{202e}'",
    "SELECT X'zz'",
];

/// None of these reaches the database.
/// Proves MC-40.
#[test]
fn only_a_single_read_only_select_is_accepted() {
    for sql in NOT_READING.iter().chain(NOT_VISIBLE).chain(NOT_PLAIN) {
        for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql, DatabaseKind::Sqlite] {
            let planned = planned(kind, sql);
            assert!(planned.is_err(), "{kind:?} {sql}: {planned:?}");
        }
    }
    for sql in ["SELECT $1", "SELECT U&'\\0041'", "SELECT \"a\\\"\" FROM orders"] {
        assert!(postgres(sql).is_err(), "{sql}");
    }
    for sql in [
        "SELECT @@version",
        "SELECT @x := 1",
        "SELECT /*!50000 sleep(1) */ 1",
        "SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
        "SELECT * FROM orders USE INDEX (x)",
        "SELECT * FROM orders PROCEDURE ANALYSE()",
        "SELECT _utf8mb4 0x41",
        "SELECT CAST('a' AS ENUM('b\\'c'))",
    ] {
        let planned = planned(DatabaseKind::Mysql, sql);
        assert!(planned.is_err(), "{sql}: {planned:?}");
    }
}

/// A string literal has the same value in each dialect. The end of a literal in another dialect
/// does not end it.
#[test]
fn a_text_cannot_be_left() {
    let evil = r"SELECT 'a\'' UNION SELECT password_hash FROM users -- '";
    let text = r"SELECT 'a\'' UNION SELECT password_hash FROM users -- ' LIMIT 101";
    assert_eq!(postgres(evil).as_deref(), Ok(text), "all of it is a text");
    let mysql = planned(DatabaseKind::Mysql, evil).unwrap();
    let begin = "SELECT 'a''' UNION SELECT password_hash FROM (SELECT `id`, `name` FROM";
    assert!(mysql.starts_with(begin), "the text ends, and the rest sees what may be seen: {mysql}");
    let ends = r"SELECT 'a\', id FROM orders";
    assert!(planned(DatabaseKind::Mysql, ends).is_err(), "there it does not end");
    assert!(planned(DatabaseKind::Postgres, ends).unwrap().contains(r"'a\', id"));
    let joined = "SELECT '👩\u{200d}💻'";
    assert!(
        planned(DatabaseKind::Sqlite, joined).is_ok(),
        "an emoji may need an invisible character"
    );
}

/// A query that is nested too deeply or too long causes an error, not a crash.
#[test]
fn a_query_beyond_reason_is_refused() {
    for sql in [
        format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("SELECT 1{}", "+1".repeat(5_000)),
        format!("SELECT {}1", "- ".repeat(5_000)),
        format!("SELECT {}1", "NOT ".repeat(3_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(1_300)),
        format!("SELECT * FROM {}orders{}", "(SELECT * FROM ".repeat(900), ") x".repeat(900)),
        format!("SELECT '{}'", "x".repeat(30_000)),
    ] {
        assert!(postgres(&sql).is_err(), "{}", &sql[..40]);
    }
    assert!(postgres(&format!("SELECT 1{}", "+1".repeat(900))).is_ok());
    let many = (0..3_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert!(postgres(&format!("SELECT id FROM orders WHERE id IN ({many})")).is_ok());
}

/// Without hidden columns or tables, all tables and views are visible; with an allow list, only
/// those on it.
#[test]
fn the_operator_decides_what_is_seen() {
    let catalog = catalog();
    let names = |tables: &[&str], hidden: &[&str], columns: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
        let (tables, hidden, columns) = (owned(tables), owned(hidden), owned(columns));
        let visibility = Visibility::new(&tables, &hidden, &columns).unwrap();
        let seen = visibility.of(&catalog).tables;
        let names =
            seen.iter().map(|table| format!("{}:{}", table.relation.name, table.columns.len()));
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[], &[], &[]), "users:3 orders:3 audit_log:2 audit_log_2026:2 all_users:3");
    assert_eq!(names(&["*"], &[], &[]), "users:3 orders:3 audit_log:2 audit_log_2026:2");
    assert_eq!(names(&["audit_log"], &[], &[]), "audit_log:2", "its partition need not be listed");
    assert_eq!(names(&["orders", "all_users"], &[], &["USERS.*"]), "orders:3 all_users:3");
    assert_eq!(names(&[], &["public.audit_log_2026"], &[]), "users:3 orders:3");
    assert_eq!(
        names(&[], &[], &["audit_log.entry"]),
        "users:3 orders:3 audit_log:1 audit_log_2026:1"
    );
    assert_eq!(names(&[], &[], &["*"]), "");
}
