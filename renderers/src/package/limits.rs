//! Limits that are checked before rendering, so that a small input cannot produce a huge file.

use crate::Document;
use crate::budgets::{PAGE_COLUMNS, TABLE_CELLS};
use crate::document::{Block, Inline};
use crate::package::text::{columns, rows};
use crate::rendered::RenderError;

/// The maximum nesting of formatting; hand-written text does not come near it.
const MARKS: usize = 64;
const OUTPUT_BYTES: usize = 20 << 20;

/// Rejects documents whose tables or formatting exceed a limit.
pub fn check(document: &Document) -> Result<(), RenderError> {
    let mut cells = 0;
    let mut todo: Vec<&Block> =
        document.blocks.iter().chain(document.notes.iter().flatten()).collect();
    while let Some(block) = todo.pop() {
        match block {
            Block::Heading { content, .. } | Block::Paragraph(content) => marks(content)?,
            Block::List(list) => todo.extend(list.items.iter().flat_map(|item| &item.blocks)),
            Block::Quote { blocks, .. } => todo.extend(blocks),
            Block::Definitions(terms) => {
                terms.iter().try_for_each(|item| marks(&item.term))?;
                todo.extend(terms.iter().flat_map(|item| &item.description));
            }
            Block::Columns(columns) => todo.extend(columns.iter().flatten()),
            Block::Table(table) => {
                let wide = columns(table);
                page_columns(wide)?;
                cells += wide * rows(table).count();
                within(cells, TABLE_CELLS, "table cells")?;
                rows(table).flatten().try_for_each(|cell| marks(cell))?;
            }
            Block::Code { .. }
            | Block::Chart(_)
            | Block::Math(_)
            | Block::Break
            | Block::Comment(_) => {}
        }
    }
    Ok(())
}

/// Rejects a table with more columns than pages can show.
pub fn page_columns(count: usize) -> Result<(), RenderError> {
    if count <= PAGE_COLUMNS {
        return Ok(());
    }
    Err(RenderError::TooLarge(format!(
        "There are {count} columns in a table; the limit is {PAGE_COLUMNS}. Split the table, or \
         create a workbook (xlsx)."
    )))
}

/// Rejects a file with more than `limit` pages or slides.
pub fn pages(count: usize, limit: usize, what: &str) -> Result<(), RenderError> {
    within(count, limit, what)
}

/// Rejects a file that is too large to send.
pub fn output(bytes: &[u8]) -> Result<(), RenderError> {
    within(bytes.len(), OUTPUT_BYTES, "bytes in the file")
}

fn within(count: usize, limit: usize, what: &str) -> Result<(), RenderError> {
    if count <= limit {
        return Ok(());
    }
    let advice = "Make the document shorter or split it.";
    Err(RenderError::TooLarge(format!("There are {count} {what}; the limit is {limit}. {advice}")))
}

/// Walks the formatting without recursion, since its depth is what is being checked.
fn marks(content: &[Inline]) -> Result<(), RenderError> {
    let mut todo: Vec<(&Inline, usize)> = content.iter().map(|inline| (inline, 1)).collect();
    while let Some((inline, depth)) = todo.pop() {
        let (Inline::Strong(parts)
        | Inline::Emphasis(parts)
        | Inline::Strike(parts)
        | Inline::Marked(_, parts)
        | Inline::Link { content: parts, .. }) = inline
        else {
            continue;
        };
        within(depth, MARKS, "levels of nested formatting")?;
        todo.extend(parts.iter().map(|part| (part, depth + 1)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Table;

    fn table(rows: usize, columns: usize) -> Document {
        let row = vec![vec![]; columns];
        let table = Table { header: row.clone(), rows: vec![row; rows], ..Table::default() };
        Document { blocks: vec![Block::Table(table)], ..Document::default() }
    }

    #[test]
    fn tables_over_the_budget_are_refused_with_the_figure() {
        assert_eq!(check(&table(10, 256)), Ok(()));
        let wide = check(&table(1, 257)).unwrap_err().to_string();
        assert!(wide.contains("257 columns") && wide.contains("256"), "{wide}");
        let long = check(&table(2_000, 100)).unwrap_err().to_string();
        assert!(long.contains("200100 table cells"), "{long}");
    }

    #[test]
    fn marks_may_nest_but_not_without_end() {
        let nested = |depth: usize| {
            let text = vec![Inline::Text("x".into())];
            let content = (0..depth).fold(text, |inner, _| vec![Inline::Strong(inner)]);
            check(&Document { blocks: vec![Block::Paragraph(content)], ..Document::default() })
        };
        assert_eq!(nested(64), Ok(()));
        assert!(nested(65).is_err());
    }
}
