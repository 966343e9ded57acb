//! Columns as Pandoc and Marp's friends write them: lines of `::: columns`, `::: column`, `:::`.
//!
//! CommonMark does not know these lines: they arrive as text, at times at the end of a list's last
//! item. They are taken out here, and what stood between them becomes [`Block::Columns`]. Other
//! text between colons is left alone, and so are columns of which there are fewer than two.

use crate::document::{Block, Inline};
use crate::package::text::plain;

/// What a line that marks columns begins with.
pub const MARK: &str = ":::";

/// The blocks with their columns gathered.
pub fn gather(blocks: Vec<Block>) -> Vec<Block> {
    let pieces: Vec<Piece> = blocks.into_iter().map(Piece::of).collect();
    let mut gathered = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        let found = if pieces[at].opens() { Gathering::from(&pieces[at..]) } else { None };
        let Some((found, count)) = found else {
            gathered.push(pieces[at].whole.clone());
            at += 1;
            continue;
        };
        gathered.extend(found.above);
        gathered.push(Block::Columns(found.columns));
        gathered.extend(found.below);
        at += count;
    }
    gathered
}

/// A block, and what is in it besides marks.
struct Piece {
    whole: Block,
    tokens: Vec<Token>,
}

enum Token {
    Mark(String),
    Block(Block),
}

impl Piece {
    fn of(whole: Block) -> Self {
        Self { tokens: tokens(whole.clone()), whole }
    }

    fn opens(&self) -> bool {
        self.tokens.iter().any(|token| {
            matches!(token, Token::Mark(mark) if matches!(name(mark), "columns" | "column"))
        })
    }
}

/// `::: {.column}` is `column`.
fn name(mark: &str) -> &str {
    match mark.trim_start_matches(':').trim().trim_matches(['{', '}', '.']) {
        "cols" => "columns",
        "col" => "column",
        name => name,
    }
}

/// Columns as they are being gathered.
#[derive(Default)]
struct Gathering {
    above: Vec<Block>,
    columns: Vec<Vec<Block>>,
    below: Vec<Block>,
    /// Between `::: columns` and its end.
    is_open: bool,
    /// Within a column.
    is_inside: bool,
    /// Other things between colons that are open within a column.
    others: usize,
}

impl Gathering {
    /// The columns that begin with the first piece, and how many pieces they take.
    fn from(pieces: &[Piece]) -> Option<(Self, usize)> {
        let mut found = Self::default();
        let mut count = 0;
        for piece in pieces {
            let is_over = count > 0 && !found.is_open && !found.is_inside && !piece.opens();
            if is_over || matches!(piece.whole, Block::Break) {
                break;
            }
            for token in &piece.tokens {
                match token {
                    Token::Mark(mark) => found.mark(mark),
                    Token::Block(block) => found.put(block.clone()),
                }
            }
            count += 1;
        }
        found.columns.retain(|column| !column.is_empty());
        (found.columns.len() > 1).then_some((found, count))
    }

    fn put(&mut self, block: Block) {
        match self.columns.last_mut() {
            Some(column) if self.is_inside => column.push(block),
            None => self.above.push(block),
            Some(_) => self.below.push(block),
        }
    }

    fn mark(&mut self, mark: &str) {
        match name(mark) {
            "columns" => self.is_open = true,
            "column" => {
                self.columns.push(Vec::new());
                self.is_inside = true;
            }
            "" if self.others > 0 => {
                self.others -= 1;
                self.put(Block::Paragraph(vec![Inline::Text(mark.to_owned())]));
            }
            "" if self.is_inside => self.is_inside = false,
            "" => self.is_open = false,
            _ => {
                self.others += 1;
                self.put(Block::Paragraph(vec![Inline::Text(mark.to_owned())]));
            }
        }
    }
}

/// Lines of colons, and what stands between them. A line without an empty one before it goes on with
/// the text above, be it the last of a list or a quote.
fn tokens(block: Block) -> Vec<Token> {
    match block {
        Block::Paragraph(content) => lines(content),
        Block::List(mut list) => {
            let rest = list.items.last_mut().map(|item| rest(&mut item.blocks));
            let list = Token::Block(Block::List(list));
            std::iter::once(list).chain(rest.unwrap_or_default()).collect()
        }
        Block::Quote { alert, mut blocks } => {
            let rest = rest(&mut blocks);
            let quote = Token::Block(Block::Quote { alert, blocks });
            std::iter::once(quote).chain(rest).collect()
        }
        other => vec![Token::Block(other)],
    }
}

/// Takes what follows the first mark out of the last of these blocks.
fn rest(blocks: &mut Vec<Block>) -> Vec<Token> {
    let mut tokens = blocks.pop().map(tokens).unwrap_or_default();
    match tokens.first() {
        Some(Token::Block(_)) => {
            let rest = tokens.split_off(1);
            blocks.extend(tokens.into_iter().filter_map(|token| match token {
                Token::Block(block) => Some(block),
                Token::Mark(_) => None,
            }));
            rest
        }
        _ => tokens,
    }
}

fn lines(content: Vec<Inline>) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut text: Vec<Inline> = Vec::new();
    let mut line: Vec<Inline> = Vec::new();
    let mut put = |line: &mut Vec<Inline>, text: &mut Vec<Inline>, is_last: bool| {
        let words = plain(line);
        if words.starts_with(MARK) {
            line.clear();
        } else {
            text.append(line);
        }
        if (is_last || words.starts_with(MARK)) && !text.is_empty() {
            while matches!(text.last(), Some(Inline::SoftBreak | Inline::LineBreak)) {
                text.pop();
            }
            tokens.push(Token::Block(Block::Paragraph(std::mem::take(text))));
        }
        if words.starts_with(MARK) {
            tokens.push(Token::Mark(words.trim().to_owned()));
        }
    };
    for inline in content {
        let is_break = matches!(inline, Inline::SoftBreak | Inline::LineBreak);
        line.push(inline);
        if is_break {
            put(&mut line, &mut text, false);
        }
    }
    put(&mut line, &mut text, true);
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;
    use crate::package::text::flat;

    fn columns(source: &str) -> (Vec<Block>, Vec<Vec<String>>) {
        let blocks = markdown::read(source).unwrap().blocks;
        let columns = blocks.iter().find_map(|block| match block {
            Block::Columns(columns) => Some(columns.iter().map(|c| flat(c)).collect()),
            _ => None,
        });
        (blocks, columns.unwrap_or_default())
    }

    #[test]
    fn lines_of_colons_make_columns() {
        let source = "Before\n\n::: columns\n::: column\n### Pros\n- fast\n- small\n:::\n\
                      ::: column\n### Cons\n- new\n:::\n:::\n\nAfter";
        let (blocks, found) = columns(source);
        assert_eq!(found, [vec!["Pros", "fast", "small"], vec!["Cons", "new"]]);
        assert_eq!(flat(&blocks[..1]), ["Before"]);
        assert_eq!(flat(&blocks[2..]), ["After"]);
        let (blocks, found) = columns("::: column\na\n:::\n\n::: {.column}\nb\n:::\n\nafter");
        assert_eq!((found.len(), flat(&blocks[1..])), (2, vec!["after".to_owned()]));
        let (_, found) =
            columns("::: columns\n::: column\n- a\n  - b\n:::\n::: column\nc\nd\n:::\n:::");
        assert_eq!(found, [vec!["a", "b"], vec!["c d"]]);
    }

    #[test]
    fn a_break_ends_columns_that_nobody_closed() {
        let (blocks, found) = columns("::: column\na\n\n::: column\nb\n\n---\n\nc");
        assert_eq!(found, [["a"], ["b"]]);
        assert_eq!(blocks[1..].len(), 2);
    }

    #[test]
    fn other_text_is_left_alone() {
        for source in ["a\n\n- b\n\n::: note\nc\n:::", "::: columns\n::: column\nalone\n:::\n:::"] {
            let (blocks, found) = columns(source);
            assert!(found.is_empty());
            assert!(flat(&blocks).concat().contains(":::"), "{blocks:?}");
        }
        let (_, found) = columns("::: column\n::: note\nx\n:::\n\n:::\n\n::: column\ny\n:::");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].concat(), "::: notex:::");
    }
}
