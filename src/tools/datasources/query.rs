//! Converts a query written by a model to the SQL that is sent to the database.
//!
//! The query is parsed, checked against the visible tables, and serialized again from its syntax
//! tree. Nothing that the parser skips (comments, hints, a second statement) reaches the database,
//! and string literals are rewritten. Syntax that is not known to be harmless is rejected.
//!
//! A table with hidden columns is replaced by a subquery of its visible columns. Within the query,
//! hidden columns therefore do not exist: no alias, `*`, join or whole-row reference can name them.

use sqlparser::{
    ast::{
        Expr, Function, FunctionArguments, Ident, LimitClause, ObjectName, Query, Select,
        SelectFlavor, Statement, TableAlias, TableFactor, Value, ValueWithSpan, VisitMut as _,
        VisitorMut,
    },
    dialect::{Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect},
    parser::Parser,
};
use std::ops::ControlFlow;

use super::{
    functions,
    grammar::{
        CheckFlow, check_body, check_operator, check_type, is_harmless, plain_parts, refuse,
        require,
    },
    tokens::tokens,
    visible::{VisibleCatalog, VisibleTable, is_quotable},
};
use crate::store::datasources::DatabaseKind;

/// Prefixes of the databases' own relations. A query must not define a name that starts with one.
const SYSTEM: [&str; 7] =
    ["pg_", "sqlite_", "pragma_", "information_schema", "dbstat", "countersign_", "mysql"];

/// The tables, functions and rows that a query may use.
#[derive(Debug, Clone, Copy)]
pub struct QueryTerms<'t> {
    pub kind: DatabaseKind,
    pub visible: &'t VisibleCatalog<'t>,
    /// Additional functions that the operator allows, in lower case.
    pub functions: &'t [String],
    /// The row limit of a query without a LIMIT clause.
    pub rows: usize,
}

/// Returns the SQL for the database, or the reason why the query is rejected.
pub fn plan(sql: &str, terms: QueryTerms<'_>) -> Result<String, String> {
    let dialect = dialect(terms.kind);
    let (tokens, literals) = tokens(sql, dialect)?;
    let parsed = Parser::new(dialect).with_tokens(tokens).parse_statements();
    let parsed = parsed.map_err(|problem| format!("the query cannot be read: {problem}"))?;
    let Ok([statement]) = <[Statement; 1]>::try_from(parsed) else {
        return Err("give exactly one statement".into());
    };
    let Statement::Query(mut query) = statement else {
        return Err("only SELECT, or WITH … SELECT, is run".into());
    };
    let mut check = Check { terms, dialect, scopes: Vec::new(), literals: 0 };
    if let ControlFlow::Break(why) = query.visit(&mut check) {
        return Err(why);
    }
    if check.literals != literals {
        return Err(
            "a text stands where none is expected; write names in double quotes (in MySQL \
                    in backticks), and each text as one literal"
                .into(),
        );
    }
    if query.limit_clause.is_none() && query.fetch.is_none() {
        let rows = Expr::value(Value::Number((terms.rows + 1).to_string(), false));
        query.limit_clause = Some(LimitClause::LimitOffset {
            limit: Some(rows),
            offset: None,
            limit_by: Vec::new(),
        });
    }
    Ok(query.to_string())
}

fn dialect(kind: DatabaseKind) -> &'static dyn Dialect {
    match kind {
        DatabaseKind::Postgres => &PostgreSqlDialect {},
        DatabaseKind::Mysql => &MySqlDialect {},
        DatabaseKind::Sqlite => &SQLiteDialect {},
    }
}

/// Quotes an identifier. `name` must not contain quotation marks; see [`is_quotable`].
pub fn quoted(kind: DatabaseKind, name: &str) -> String {
    match kind {
        DatabaseKind::Mysql => format!("`{name}`"),
        DatabaseKind::Postgres | DatabaseKind::Sqlite => format!("\"{name}\""),
    }
}

struct Check<'t> {
    terms: QueryTerms<'t>,
    dialect: &'static dyn Dialect,
    /// The names of the common table expressions of each enclosing query.
    scopes: Vec<Vec<String>>,
    literals: usize,
}

impl VisitorMut for Check<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> CheckFlow {
        require(query.locks.is_empty(), "FOR UPDATE and FOR SHARE lock rows: leave them out")?;
        let plain = query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none()
            && query.pipe_operators.is_empty();
        require(plain, "a clause of this query is not supported")?;
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        let mut names = Vec::new();
        for cte in with {
            require(cte.from.is_none(), "a clause of this query is not supported")?;
            let name = cte.alias.name.value.to_lowercase();
            self.check_new_name(&name)?;
            names.push(name);
        }
        self.scopes.push(names);
        check_body(&query.body)
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> CheckFlow {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, _statement: &mut Statement) -> CheckFlow {
        refuse("only SELECT, or WITH … SELECT, is run")
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> CheckFlow {
        require(select.into.is_none(), "SELECT … INTO writes: leave INTO out")?;
        let plain = select.optimizer_hints.is_empty()
            && select.select_modifiers.is_none()
            && select.top.is_none()
            && select.exclude.is_none()
            && select.lateral_views.is_empty()
            && select.prewhere.is_none()
            && select.connect_by.is_empty()
            && select.cluster_by.is_empty()
            && select.distribute_by.is_empty()
            && select.sort_by.is_empty()
            && select.qualify.is_none()
            && select.value_table_mode.is_none()
            && matches!(select.flavor, SelectFlavor::Standard);
        require(plain, "a clause of this query is not supported")
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> CheckFlow {
        let unsupported = "this kind of table expression is not supported";
        match factor {
            TableFactor::Table {
                name,
                args,
                with_hints,
                version,
                partitions,
                json_path,
                sample,
                index_hints,
                ..
            } => {
                let plain = with_hints.is_empty()
                    && version.is_none()
                    && partitions.is_empty()
                    && json_path.is_none()
                    && sample.is_none()
                    && index_hints.is_empty();
                require(plain, unsupported)?;
                match args {
                    Some(args) => {
                        require(args.settings.is_none(), unsupported)?;
                        self.check_rows_function(name)
                    }
                    None => ControlFlow::Continue(()),
                }
            }
            TableFactor::Function { name, .. } => self.check_rows_function(name),
            TableFactor::Derived { sample, .. } => require(sample.is_none(), unsupported),
            TableFactor::NestedJoin { .. } => ControlFlow::Continue(()),
            TableFactor::UNNEST { .. } => {
                require(self.terms.kind == DatabaseKind::Postgres, unsupported)
            }
            _ => refuse(unsupported),
        }
    }

    /// Runs after the inner nodes were visited, so that the replacement of a table is not checked
    /// again.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> CheckFlow {
        let TableFactor::Table { name, alias, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let Some(parts) = plain_parts(name) else { return refuse("this table cannot be named so") };
        if let [only] = parts.as_slice()
            && self.scopes.iter().flatten().any(|cte| *cte == only.value.to_lowercase())
        {
            return ControlFlow::Continue(());
        }
        let table = match self.find(&parts) {
            Ok(table) => table,
            Err(why) => return refuse(why),
        };
        let kind = self.terms.kind;
        let (schema, relation) = (&table.relation.schema, &table.relation.name);
        if !table.hides_columns() {
            let quote = quoted(kind, "").chars().next().unwrap_or('"');
            let idents = [schema, relation].map(|part| Ident::with_quote(quote, part.as_str()));
            *name = ObjectName::from(idents.to_vec());
            return ControlFlow::Continue(());
        }
        let columns: Vec<_> = table.columns.iter().map(|c| quoted(kind, &c.name)).collect();
        let (schema, relation) = (quoted(kind, schema), quoted(kind, relation));
        let select = format!("SELECT {} FROM {schema}.{relation}", columns.join(", "));
        let parsed = Parser::parse_sql(self.dialect, &select).ok().and_then(|mut all| all.pop());
        let Some(Statement::Query(subquery)) = parsed else {
            return refuse("this table cannot be read");
        };
        let own = parts.last().cloned().unwrap_or_else(|| Ident::new("t"));
        let name = TableAlias { explicit: true, name: own, columns: Vec::new(), at: None };
        let alias = alias.take().unwrap_or(name);
        *factor =
            TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> CheckFlow {
        match expr {
            Expr::Function(function) => self.check_function(function),
            Expr::BinaryOp { op, .. }
            | Expr::AnyOp { compare_op: op, .. }
            | Expr::AllOp { compare_op: op, .. } => check_operator(op),
            Expr::Cast { data_type, format: None, .. } => check_type(data_type),
            Expr::TypedString(typed) => check_type(&typed.data_type),
            Expr::Convert { charset: None, data_type: Some(data_type), styles, .. } => {
                require(styles.is_empty(), "this form of CONVERT is not supported")?;
                check_type(data_type)
            }
            Expr::Collate { collation, .. } => {
                require(plain_parts(collation).is_some(), "this collation is not supported")
            }
            expr if is_harmless(expr) => ControlFlow::Continue(()),
            _ => refuse(format!("this expression is not supported: {expr}")),
        }
    }

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> CheckFlow {
        let fits = match ident.quote_style {
            Some(_) => is_quotable(&ident.value),
            None => ident.value.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$'),
        };
        require(fits, "a name in the query has characters that are not supported")
    }

    /// Writes a string literal so that all databases read exactly this text: quotation marks are
    /// doubled, and no other character can act as an escape.
    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> CheckFlow {
        let text = match &value.value {
            Value::Number(..) | Value::Boolean(_) | Value::Null => {
                return ControlFlow::Continue(());
            }
            Value::HexStringLiteral(digits) => {
                self.literals += 1;
                let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
                return require(is_hex, "a hexadecimal literal is not valid");
            }
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::NationalStringLiteral(text) => text,
            Value::DollarQuotedString(dollar) => &dollar.value,
            Value::DoubleQuotedString(text) if self.terms.kind == DatabaseKind::Mysql => text,
            _ => return refuse("this kind of literal is not supported"),
        };
        require(!text.contains('\0'), "a text contains a NUL character")?;
        self.literals += 1;
        value.value = Value::Placeholder(format!("'{}'", text.replace('\'', "''")));
        ControlFlow::Continue(())
    }
}

impl<'t> Check<'t> {
    /// The name of a common table expression must differ from all tables, hidden or visible, and
    /// from system relations. Outside its scope, the name would refer to that table.
    fn check_new_name(&self, name: &str) -> CheckFlow {
        let relations = &self.terms.visible.catalog.relations;
        let is_taken = relations.iter().any(|relation| relation.name.to_lowercase() == name)
            || SYSTEM.iter().any(|prefix| name.starts_with(prefix));
        require(!is_taken, "a WITH query has the name of a table: choose another name")
    }

    fn check_rows_function(&self, name: &ObjectName) -> CheckFlow {
        let function = plain_parts(name).unwrap_or_default();
        match function.as_slice() {
            [only] if self.gives_rows(&only.value.to_lowercase()) => ControlFlow::Continue(()),
            _ => refuse(format!("{name} is not among the functions that may be selected from")),
        }
    }

    fn gives_rows(&self, name: &str) -> bool {
        functions::gives_rows(self.terms.kind, name)
    }

    fn check_function(&self, function: &Function) -> CheckFlow {
        let unsupported = "this form of a function call is not supported";
        let plain =
            !function.uses_odbc_syntax && matches!(function.parameters, FunctionArguments::None);
        require(plain, unsupported)?;
        let name = plain_parts(&function.name).unwrap_or_default();
        let [only] = name.as_slice() else {
            return refuse(format!("{}: call functions without a schema", function.name));
        };
        let lower = only.value.to_lowercase();
        let is_own = self.terms.functions.contains(&lower);
        if functions::is_allowed(self.terms.kind, &lower) || is_own {
            return ControlFlow::Continue(());
        }
        refuse(format!("{lower} is not among the functions that a query may call"))
    }

    fn find(&self, parts: &[Ident]) -> Result<&'t VisibleTable<'t>, String> {
        let unknown = || {
            let name: Vec<_> = parts.iter().map(|part| part.value.as_str()).collect();
            format!("there is no table {}; describe_datasource lists them", name.join("."))
        };
        let (schema, name) = match parts {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            _ => return Err(unknown()),
        };
        let is_like = |ident: &Ident, text: &str| ident.value.to_lowercase() == text.to_lowercase();
        let tables = self.terms.visible.tables.iter();
        let alike: Vec<_> = tables
            .filter(|table| is_like(name, &table.relation.name))
            .filter(|table| schema.is_none_or(|schema| is_like(schema, &table.relation.schema)))
            .collect();
        let exact: Vec<_> = alike
            .iter()
            .copied()
            .filter(|table| folded(name, self.terms.kind) == table.relation.name)
            .collect();
        let found = if exact.is_empty() { alike } else { exact };
        let usual: Vec<_> =
            found.iter().copied().filter(|table| table.relation.schema == "public").collect();
        match (found.as_slice(), usual.as_slice()) {
            ([], _) => Err(unknown()),
            ([only], _) | (_, [only]) => Ok(only),
            _ => Err(format!("{} is in several schemas: name the schema", name.value)),
        }
    }
}

/// Folds an unquoted name to lower case, as PostgreSQL does.
fn folded(name: &Ident, kind: DatabaseKind) -> String {
    match (kind, name.quote_style) {
        (DatabaseKind::Postgres, None) => name.value.to_lowercase(),
        _ => name.value.clone(),
    }
}
