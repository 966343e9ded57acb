//! The tables of an external database, with their columns and keys.

use std::collections::BTreeMap;

use super::{DatabaseKind, QueryLimits, ReadError, connection::ReadTransaction};

/// The maximum number of columns. A database with more cannot be described.
const MAX_COLUMNS: usize = 50_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseCatalog {
    pub relations: Vec<Relation>,
    /// Pairs of a table and a table that inherits from it or is a partition of it, as indexes into
    /// `relations`.
    pub inherits: Vec<Inherits>,
    /// Whether the user of the connection may change a table.
    pub is_writable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherits {
    pub parent: usize,
    pub child: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub schema: String,
    pub name: String,
    pub kind: RelationKind,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    Table,
    /// A relation whose rows come from elsewhere: a view, a foreign table, a virtual table.
    View,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub is_required: bool,
    pub is_primary: bool,
    pub references: Option<Reference>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub schema: String,
    pub table: String,
    pub column: String,
}

/// Schema, table, kind, column, type, whether the column is required.
const POSTGRES_COLUMNS: &str = "\
SELECT n.nspname::text, c.relname::text, c.relkind::text, a.attname::text,
  format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
  has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE')::text
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1, 2, a.attnum";

/// Schema, table, kind, column, and the referenced column of a foreign key.
const POSTGRES_KEYS: &str = "\
SELECT n.nspname::text, c.relname::text, k.contype::text, a.attname::text,
  fn.nspname::text, fc.relname::text, fa.attname::text
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS part(own, other)
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = part.own
LEFT JOIN pg_catalog.pg_class fc ON fc.oid = k.confrelid
LEFT JOIN pg_catalog.pg_namespace fn ON fn.oid = fc.relnamespace
LEFT JOIN pg_catalog.pg_attribute fa ON fa.attrelid = k.confrelid AND fa.attnum = part.other
WHERE k.contype IN ('p', 'f')
ORDER BY 1, 2, a.attnum";

/// Schema and name of the parent, schema and name of the child.
const POSTGRES_PARENTS: &str = "\
SELECT pn.nspname::text, p.relname::text, cn.nspname::text, c.relname::text
FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f')";

const MYSQL_COLUMNS: &str = "\
SELECT CAST(c.TABLE_SCHEMA AS CHAR), CAST(c.TABLE_NAME AS CHAR), CAST(t.TABLE_TYPE AS CHAR),
  CAST(c.COLUMN_NAME AS CHAR), CAST(c.COLUMN_TYPE AS CHAR),
  CASE c.IS_NULLABLE WHEN 'NO' THEN 'true' ELSE 'false' END,
  CASE WHEN c.PRIVILEGES LIKE '%insert%' OR c.PRIVILEGES LIKE '%update%' THEN 'true' ELSE 'false' END
FROM information_schema.COLUMNS c
JOIN information_schema.TABLES t
  ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
WHERE c.TABLE_SCHEMA = DATABASE()
ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION";

const MYSQL_KEYS: &str = "\
SELECT CAST(TABLE_SCHEMA AS CHAR), CAST(TABLE_NAME AS CHAR),
  CASE WHEN REFERENCED_TABLE_NAME IS NULL THEN 'p' ELSE 'f' END, CAST(COLUMN_NAME AS CHAR),
  CAST(REFERENCED_TABLE_SCHEMA AS CHAR), CAST(REFERENCED_TABLE_NAME AS CHAR),
  CAST(REFERENCED_COLUMN_NAME AS CHAR)
FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA = DATABASE()
  AND (CONSTRAINT_NAME = 'PRIMARY' OR REFERENCED_TABLE_NAME IS NOT NULL)";

const SQLITE_COLUMNS: &str = "\
SELECT 'main', m.name, CASE WHEN m.type = 'table' AND m.sql NOT LIKE 'create virtual%' THEN 'r' ELSE 'v' END,
  c.name, c.type, CASE WHEN c.\"notnull\" THEN 'true' ELSE 'false' END, 'false'
FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.hidden <> 1
ORDER BY m.name, c.cid";

const SQLITE_KEYS: &str = "\
SELECT 'main', m.name, 'p', c.name, NULL, NULL, NULL
FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c
WHERE m.type = 'table' AND c.pk > 0 AND m.sql NOT LIKE 'create virtual%'
UNION ALL
SELECT 'main', m.name, 'f', f.\"from\", 'main', f.\"table\", COALESCE(f.\"to\", '')
FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f
WHERE m.type = 'table' AND m.sql NOT LIKE 'create virtual%'";

pub(super) async fn read(reading: &mut ReadTransaction) -> Result<DatabaseCatalog, ReadError> {
    let (columns, keys, parents) = match reading.kind() {
        DatabaseKind::Postgres => (POSTGRES_COLUMNS, POSTGRES_KEYS, Some(POSTGRES_PARENTS)),
        DatabaseKind::Mysql => (MYSQL_COLUMNS, MYSQL_KEYS, None),
        DatabaseKind::Sqlite => (SQLITE_COLUMNS, SQLITE_KEYS, None),
    };
    let mut catalog = DatabaseCatalog::default();
    for row in rows(reading, columns).await? {
        catalog.add_column(&row);
    }
    let places: BTreeMap<(String, String), usize> = catalog.places();
    for row in rows(reading, keys).await? {
        catalog.add_key(&places, &row);
    }
    if let Some(parents) = parents {
        for row in rows(reading, parents).await? {
            let place = |schema: usize| {
                places.get(&(text(&row, schema).to_owned(), text(&row, schema + 1).to_owned()))
            };
            if let (Some(&parent), Some(&child)) = (place(0), place(2)) {
                catalog.inherits.push(Inherits { parent, child });
            }
        }
    }
    Ok(catalog)
}

async fn rows(
    reading: &mut ReadTransaction,
    sql: &'static str,
) -> Result<Vec<Vec<Option<String>>>, ReadError> {
    let limits = QueryLimits {
        rows: MAX_COLUMNS,
        bytes: usize::MAX,
        time: std::time::Duration::ZERO,
        connections: 1,
    };
    let table = reading.table(sql, limits).await?;
    if table.is_cut {
        let why = format!("the database has more than {MAX_COLUMNS} columns");
        return Err(ReadError::Refused(why));
    }
    Ok(table.rows)
}

fn text(row: &[Option<String>], place: usize) -> &str {
    row.get(place).and_then(Option::as_deref).unwrap_or_default()
}

impl DatabaseCatalog {
    fn places(&self) -> BTreeMap<(String, String), usize> {
        let named = self.relations.iter().enumerate();
        named.map(|(at, r)| ((r.schema.clone(), r.name.clone()), at)).collect()
    }

    fn add_column(&mut self, row: &[Option<String>]) {
        let (schema, name) = (text(row, 0), text(row, 1));
        let is_last = |r: &Relation| r.schema == schema && r.name == name;
        if !self.relations.last().is_some_and(is_last) {
            let kind = match text(row, 2) {
                "r" | "p" | "BASE TABLE" => RelationKind::Table,
                _ => RelationKind::View,
            };
            let (schema, name) = (schema.to_owned(), name.to_owned());
            self.relations.push(Relation { schema, name, kind, columns: Vec::new() });
        }
        self.is_writable |= text(row, 6) == "true";
        if let Some(relation) = self.relations.last_mut() {
            relation.columns.push(Column {
                name: text(row, 3).to_owned(),
                kind: text(row, 4).to_owned(),
                is_required: text(row, 5) == "true",
                is_primary: false,
                references: None,
            });
        }
    }

    fn add_key(&mut self, places: &BTreeMap<(String, String), usize>, row: &[Option<String>]) {
        let place = places.get(&(text(row, 0).to_owned(), text(row, 1).to_owned()));
        let Some(relation) = place.and_then(|&at| self.relations.get_mut(at)) else { return };
        let Some(column) = relation.columns.iter_mut().find(|c| c.name == text(row, 3)) else {
            return;
        };
        if text(row, 2) == "p" {
            column.is_primary = true;
        } else {
            column.references = Some(Reference {
                schema: text(row, 4).to_owned(),
                table: text(row, 5).to_owned(),
                column: text(row, 6).to_owned(),
            });
        }
    }
}
