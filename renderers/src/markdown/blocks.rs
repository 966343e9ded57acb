//! Converts the blocks of comrak.

use comrak::nodes::{AlertType, ListType, Node, NodeList, NodeValue, TableAlignment};

use super::html::{self, Piece};
use super::reader::Reader;
use super::tags::Open;
use super::{clean, inlines};
use crate::budgets::{CHARTS, NESTING};
use crate::chart;
use crate::document::{Alert, Align, Block, Inline, Item, List, Table, plain_text};

impl<'a> Reader<'a> {
    /// The blocks inside `node`, which is `depth` levels deep.
    pub fn blocks(&mut self, node: Node<'a>, depth: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        for child in node.children() {
            if depth >= NESTING {
                self.losses.deep();
                blocks.extend(flat(child));
            } else {
                self.block(child, depth, &mut blocks);
            }
        }
        blocks
    }

    fn block(&mut self, node: Node<'a>, depth: usize, blocks: &mut Vec<Block>) {
        match &node.data().value {
            NodeValue::Paragraph => self.paragraph(node, depth, blocks),
            NodeValue::Heading(heading) => {
                let content = inlines::read(self, node, depth + 1);
                blocks.push(Block::Heading { level: heading.level, content });
                self.drain_comments(blocks);
            }
            NodeValue::List(list) => {
                let list = self.list(node, list, depth);
                blocks.push(Block::List(list));
                self.drain_comments(blocks);
            }
            NodeValue::Table(table) => {
                let align = table.alignments.iter().copied().map(align).collect();
                blocks.push(Block::Table(self.table(node, align, depth)));
                self.drain_comments(blocks);
            }
            NodeValue::CodeBlock(code) => blocks.push(self.code(&code.info, &code.literal)),
            NodeValue::BlockQuote | NodeValue::MultilineBlockQuote(_) => {
                blocks.push(Block::Quote { alert: None, blocks: self.blocks(node, depth + 1) });
            }
            NodeValue::Alert(alert) => blocks.push(self.alert(node, alert, depth)),
            NodeValue::DescriptionList => blocks.push(self.definitions(node, depth)),
            NodeValue::ThematicBreak => blocks.push(Block::Break),
            NodeValue::HtmlBlock(html) => self.html(&html.literal, depth + 1, blocks),
            NodeValue::FootnoteDefinition(_) => {}
            _ => blocks.append(&mut self.blocks(node, depth + 1)),
        }
    }

    /// Display math inside a paragraph splits the paragraph.
    fn paragraph(&mut self, node: Node<'a>, depth: usize, blocks: &mut Vec<Block>) {
        for piece in inlines::read_cut(self, node, depth + 1) {
            match piece {
                inlines::Cut::Text(content) => blocks.push(Block::Paragraph(content)),
                inlines::Cut::Math(latex) => blocks.push(Block::Math(latex)),
            }
        }
        self.drain_comments(blocks);
    }

    fn drain_comments(&mut self, blocks: &mut Vec<Block>) {
        blocks.extend(self.comments.drain(..).map(Block::Comment));
    }

    fn list(&mut self, node: Node<'a>, list: &NodeList, depth: usize) -> List {
        let items = node
            .children()
            .map(|item| {
                let task = match &item.data().value {
                    NodeValue::TaskItem(task) => Some(task.symbol.is_some()),
                    _ => None,
                };
                Item { task, blocks: self.blocks(item, depth + 1) }
            })
            .collect();
        let start = (list.list_type == ListType::Ordered).then_some(list.start as u64);
        List { start, tight: list.tight, items }
    }

    fn table(&mut self, node: Node<'a>, align: Vec<Align>, depth: usize) -> Table {
        let mut rows = node
            .children()
            .map(|row| row.children().map(|cell| inlines::read(self, cell, depth + 1)).collect());
        let header = rows.next().unwrap_or_default();
        let rows = rows.collect();
        Table { align, header, rows, given: None }
    }

    fn alert(&mut self, node: Node<'a>, alert: &comrak::nodes::NodeAlert, depth: usize) -> Block {
        let mut blocks = Vec::new();
        if let Some(title) = &alert.title {
            let title = vec![Inline::Text(clean::line(title))];
            blocks.push(Block::Paragraph(vec![Inline::Strong(title)]));
        }
        blocks.append(&mut self.blocks(node, depth + 1));
        let kind = match alert.alert_type {
            AlertType::Note => Alert::Note,
            AlertType::Tip => Alert::Tip,
            AlertType::Important => Alert::Important,
            AlertType::Warning => Alert::Warning,
            AlertType::Caution => Alert::Caution,
        };
        Block::Quote { alert: Some(kind), blocks }
    }

    /// A term with several definitions gets them all.
    fn definitions(&mut self, node: Node<'a>, depth: usize) -> Block {
        let mut items: Vec<(Vec<Inline>, Vec<Block>)> = Vec::new();
        for part in node.children().flat_map(comrak::nodes::AstNode::children) {
            if matches!(part.data().value, NodeValue::DescriptionTerm) {
                let mut term = Vec::new();
                for block in self.blocks(part, depth + 1) {
                    match block {
                        Block::Paragraph(mut content) => term.append(&mut content),
                        other => self.orphans.push(other),
                    }
                }
                items.push((term, Vec::new()));
            } else if let Some((_, description)) = items.last_mut() {
                description.append(&mut self.blocks(part, depth + 1));
            }
        }
        Block::Definitions(items)
    }

    /// A code block or a chart; an invalid chart stays a code block.
    fn code(&mut self, info: &str, literal: &str) -> Block {
        let language = clean::line(info.split([' ', ',', '{']).next().unwrap_or(""));
        let text = clean::text(literal.trim_end_matches('\n'));
        if language == "chart" {
            self.charts += 1;
            let many = format!("a document may have {CHARTS} charts");
            let is_one_too_many = self.charts > CHARTS;
            match if is_one_too_many { Err(many) } else { chart::read::read(&text) } {
                Ok(chart) => return Block::Chart(chart),
                Err(why) => {
                    let number = self.charts;
                    self.losses.other(format!("Chart {number} is shown as its source: {why}."));
                }
            }
        }
        Block::Code { language: Some(language).filter(|language| !language.is_empty()), text }
    }

    fn html(&mut self, html: &str, depth: usize, blocks: &mut Vec<Block>) {
        let mut open = Open::default();
        for piece in html::pieces(html) {
            match piece {
                Piece::Comment(comment) => {
                    push(blocks, std::mem::take(&mut open).close_block(self));
                    blocks.push(Block::Comment(clean::text(comment)));
                }
                Piece::Tag(tag) => open.tag(self, &tag, depth),
                Piece::Text(text) => open.lines(&text),
            }
        }
        push(blocks, open.close_block(self));
    }

    /// The footnotes, after the text has been read. Unreferenced footnotes are reported.
    pub fn notes(&mut self) -> Vec<Vec<Block>> {
        self.in_note = true;
        let mentioned = std::mem::take(&mut self.mentioned);
        let notes = mentioned.iter().map(|name| self.blocks(self.definitions[name], 1)).collect();
        let mut rest: Vec<(String, Node<'a>)> = self
            .definitions
            .iter()
            .filter(|(name, _)| !mentioned.contains(name))
            .map(|(name, node)| (name.clone(), *node))
            .collect();
        rest.sort_by_key(|(_, node)| node.data().sourcepos.start.line);
        for (name, node) in rest {
            let name = clean::line(&name);
            self.losses.other(format!(
                "The footnote [^{name}] is not referenced; it was added at the end."
            ));
            let label = vec![Inline::Strong(vec![Inline::Text(format!("[{name}]"))])];
            self.orphans.push(Block::Paragraph(label));
            let mut note = self.blocks(node, 1);
            self.orphans.append(&mut note);
        }
        notes
    }
}

fn push(blocks: &mut Vec<Block>, content: Vec<Inline>) {
    if !content.is_empty() {
        blocks.push(Block::Paragraph(content));
    }
}

/// All text below `node` in one paragraph, without recursion.
pub fn flat(node: Node) -> Option<Block> {
    let content = inlines::flat(node);
    (!plain_text(&content).trim().is_empty()).then_some(Block::Paragraph(content))
}

fn align(align: TableAlignment) -> Align {
    match align {
        TableAlignment::None | TableAlignment::Left => Align::Start,
        TableAlignment::Center => Align::Center,
        TableAlignment::Right => Align::End,
    }
}
