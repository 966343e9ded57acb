//! The part of a database that agents may see: its catalog without what the operator hides.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::collections::BTreeSet;

use crate::store::datasources::catalog::{Column, DatabaseCatalog, Relation, RelationKind};

/// The operator's patterns for visible and hidden tables and columns.
#[derive(Debug, Clone)]
pub struct Visibility {
    /// Tables by `name` or `schema.name`; empty means all.
    tables: Vec<String>,
    tables_set: GlobSet,
    hidden_tables: GlobSet,
    /// Columns by `column`, `table.column` or `schema.table.column`.
    hidden_columns: GlobSet,
    /// Whether any pattern hides something.
    is_hiding: bool,
}

/// A catalog as agents see it.
#[derive(Debug)]
pub struct VisibleCatalog<'c> {
    pub tables: Vec<VisibleTable<'c>>,
    /// The whole catalog. Common table expressions must not use its names.
    pub catalog: &'c DatabaseCatalog,
}

#[derive(Debug)]
pub struct VisibleTable<'c> {
    pub relation: &'c Relation,
    pub columns: Vec<&'c Column>,
}

impl VisibleTable<'_> {
    pub fn hides_columns(&self) -> bool {
        self.columns.len() < self.relation.columns.len()
    }
}

impl Visibility {
    pub fn new(
        tables: &[String],
        hidden_tables: &[String],
        hidden_columns: &[String],
    ) -> Result<Self, String> {
        Ok(Self {
            tables: tables.to_vec(),
            tables_set: patterns(tables)?,
            hidden_tables: patterns(hidden_tables)?,
            hidden_columns: patterns(hidden_columns)?,
            is_hiding: !(hidden_tables.is_empty() && hidden_columns.is_empty()),
        })
    }

    pub fn of<'c>(&self, catalog: &'c DatabaseCatalog) -> VisibleCatalog<'c> {
        let relations = || catalog.relations.iter();
        let mut kept: Vec<_> = relations()
            .map(|relation| (!self.hides(relation)).then(|| self.hidden_columns(relation)))
            .collect();
        share_with_descendants(catalog, &mut kept);
        let tables = relations().zip(kept).filter_map(|(relation, hidden)| {
            let hidden = hidden.filter(|_| self.shows(relation))?;
            let is_shown = |c: &&Column| !hidden.contains(&c.name) && is_quotable(&c.name);
            let columns: Vec<_> = relation.columns.iter().filter(is_shown).collect();
            (!columns.is_empty()).then_some(VisibleTable { relation, columns })
        });
        VisibleCatalog { tables: tables.collect(), catalog }
    }

    fn hides(&self, relation: &Relation) -> bool {
        names(relation).iter().any(|name| self.hidden_tables.is_match(name))
    }

    /// Whether the relation is listed and safe to show. A view may show hidden columns of its
    /// tables under other names. If anything is hidden or an allow list is set, a view is visible
    /// only if the operator lists its exact name, without a wildcard.
    fn shows(&self, relation: &Relation) -> bool {
        let names = names(relation);
        let is_named = self
            .tables
            .iter()
            .any(|listed| names.iter().any(|name| name.eq_ignore_ascii_case(listed)));
        let is_listed =
            self.tables.is_empty() || names.iter().any(|name| self.tables_set.is_match(name));
        let is_restricted = self.is_hiding || !self.tables.is_empty();
        let is_safe = relation.kind == RelationKind::Table || !is_restricted || is_named;
        is_listed && is_safe && names.iter().all(|name| is_quotable(name))
    }

    fn hidden_columns(&self, relation: &Relation) -> BTreeSet<String> {
        let is_hidden = |column: &&Column| {
            let in_table = format!("{}.{}", relation.name, column.name);
            let full = format!("{}.{in_table}", relation.schema);
            [&column.name, &in_table, &full].into_iter().any(|n| self.hidden_columns.is_match(n))
        };
        relation.columns.iter().filter(is_hidden).map(|column| column.name.clone()).collect()
    }
}

/// The names of a relation that patterns match: `name` and `schema.name`.
fn names(relation: &Relation) -> [String; 2] {
    [relation.name.clone(), format!("{}.{}", relation.schema, relation.name)]
}

/// Hides the same columns in a table and in the tables that inherit from it, such as partitions:
/// each shows rows of the other.
fn share_with_descendants(catalog: &DatabaseCatalog, kept: &mut [Option<BTreeSet<String>>]) {
    loop {
        let mut changed = false;
        for pair in &catalog.inherits {
            for (from, to) in [(pair.parent, pair.child), (pair.child, pair.parent)] {
                match (kept[from].clone(), &mut kept[to]) {
                    (None, to) if to.is_some() => {
                        *to = None;
                        changed = true;
                    }
                    (Some(from), Some(to)) if !from.is_subset(to) => {
                        to.extend(from);
                        changed = true;
                    }
                    _ => {}
                }
            }
        }
        if !changed {
            return;
        }
    }
}

/// Whether a name can be written in quotation marks without an escape. Other names are not shown.
pub fn is_quotable(name: &str) -> bool {
    !name.is_empty()
        && !name.chars().any(|c| "\"'`[]\\".contains(c) || c.is_control() || is_invisible(c))
}

/// Whether the character is invisible or changes the display of a text, but not its meaning to a
/// database.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn patterns(texts: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let glob = GlobBuilder::new(text).case_insensitive(true).build();
        set.add(glob.map_err(|problem| format!("`{text}`: {problem}"))?);
    }
    set.build().map_err(|problem| problem.to_string())
}
