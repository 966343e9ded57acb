//! Converts the blocks of comrak.

use std::collections::HashSet;

use comrak::nodes::{AlertType, ListType, Node, NodeList, NodeValue, TableAlignment};

use super::html_blocks::Builder;
use super::reader::Reader;
use super::{clean, heading_ids, html, inlines, pictures};
use crate::budgets::{CHARTS, NESTING};
use crate::chart;
use crate::document::{Alert, Align, Block, Definition, Inline, Item, List, Table, plain_text};

/// A pie chart with more slices than this is questioned.
const SLICES: usize = 10;

impl<'a> Reader<'a> {
    /// The blocks inside `node`, which is `depth` levels deep.
    pub fn blocks(&mut self, node: Node<'a>, depth: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut never_closed = HashSet::new();
        let mut next = node.first_child();
        while let Some(child) = next {
            next = child.next_sibling();
            if depth >= NESTING {
                self.losses.deep();
                blocks.extend(flat(child));
            } else if let NodeValue::HtmlBlock(block) = &child.data().value {
                if html::is_page_break(&block.literal) {
                    blocks.push(Block::Comment("pagebreak".to_owned()));
                    continue;
                }
                let mut builder = Builder::new(depth + 1);
                builder.html(self, &block.literal);
                next = self.html(child, depth, &mut builder, &mut never_closed);
                blocks.append(&mut builder.finish(self));
            } else {
                self.block(child, depth, &mut blocks);
            }
        }
        blocks
    }

    /// Feeds the builder with the siblings up to the end of the element that it has begun; returns
    /// the next sibling. `never_closed` has the closing tags that no later sibling contains.
    fn html(
        &mut self,
        begin: Node<'a>,
        depth: usize,
        builder: &mut Builder,
        never_closed: &mut HashSet<&'static str>,
    ) -> Option<Node<'a>> {
        let mut next = begin.next_sibling();
        while let Some(closing) = builder.awaits() {
            let mut siblings = std::iter::successors(next, |node| node.next_sibling());
            let is_closed = !never_closed.contains(closing)
                && siblings.any(|node| raw(node).is_some_and(|html| contains(&html, closing)));
            if !is_closed {
                never_closed.insert(closing);
                return next;
            }
            while let Some(node) = next {
                next = node.next_sibling();
                if let Some(html) = raw(node) {
                    builder.html(self, &html);
                    if contains(&html, closing) {
                        break;
                    }
                } else {
                    let mut between = Vec::new();
                    self.block(node, depth + 1, &mut between);
                    builder.blocks(self, between);
                }
            }
        }
        next
    }

    fn block(&mut self, node: Node<'a>, depth: usize, blocks: &mut Vec<Block>) {
        match &node.data().value {
            NodeValue::Paragraph => self.paragraph(node, depth, blocks),
            NodeValue::Heading(heading) => {
                let mut content = inlines::read(self, node, depth + 1);
                if self.escaped_ids.contains(&node.data().sourcepos.start.line) {
                    heading_ids::keep_braces(&mut content);
                }
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
            NodeValue::FootnoteDefinition(_) => {}
            _ => blocks.append(&mut self.blocks(node, depth + 1)),
        }
    }

    /// Display math inside a paragraph splits the paragraph.
    fn paragraph(&mut self, node: Node<'a>, depth: usize, blocks: &mut Vec<Block>) {
        for piece in inlines::read_cut(self, node, depth + 1) {
            match piece {
                inlines::Cut::Text(content) if is_page_break(&content) => {
                    blocks.push(Block::Comment("pagebreak".to_owned()));
                }
                inlines::Cut::Text(content) => {
                    let row = pictures::side_by_side(&content);
                    blocks.push(row.unwrap_or(Block::Paragraph(content)));
                }
                inlines::Cut::Math(latex) => blocks.push(Block::Math(latex)),
            }
        }
        self.drain_comments(blocks);
    }

    fn drain_comments(&mut self, blocks: &mut Vec<Block>) {
        let comments = self.comments.drain(..).filter(|comment| !comment.trim().is_empty());
        blocks.extend(comments.map(Block::Comment));
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
        Table { align, header, rows, ..Table::default() }
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
        let mut items: Vec<Definition> = Vec::new();
        for part in node.children().flat_map(comrak::nodes::AstNode::children) {
            if matches!(part.data().value, NodeValue::DescriptionTerm) {
                let mut term = Vec::new();
                for block in self.blocks(part, depth + 1) {
                    match block {
                        Block::Paragraph(mut content) => term.append(&mut content),
                        other => self.orphans.push(other),
                    }
                }
                items.push(Definition { term, description: Vec::new() });
            } else if let Some(item) = items.last_mut() {
                item.description.append(&mut self.blocks(part, depth + 1));
            }
        }
        Block::Definitions(items)
    }

    /// A code block or a chart; an invalid chart stays a code block.
    fn code(&mut self, info: &str, literal: &str) -> Block {
        let language = clean::line(language(info));
        let text = clean::text(literal.trim_end_matches('\n'));
        if language == "math" && !text.trim().is_empty() {
            return Block::Math(text.trim().to_owned());
        }
        if language.eq_ignore_ascii_case("mermaid") {
            let sentence = "Mermaid diagrams are not drawn; they are shown as their source.";
            self.losses.other(sentence.to_owned());
        }
        if language == "chart" {
            self.charts += 1;
            let many = format!("a document may have {CHARTS} charts");
            let is_one_too_many = self.charts > CHARTS;
            match if is_one_too_many { Err(many) } else { chart::read::read(&text) } {
                Ok(chart) => {
                    if chart.is_round() && chart.categories.len() > SLICES {
                        self.losses.other(format!(
                            "Chart {} has {} slices, which are hard to compare; bars show them better.",
                            self.charts,
                            chart.categories.len()
                        ));
                    }
                    return Block::Chart(chart);
                }
                Err(why) => {
                    let number = self.charts;
                    self.losses.other(format!("Chart {number} is shown as its source: {why}."));
                }
            }
        }
        Block::Code { language: Some(language).filter(|language| !language.is_empty()), text }
    }

    /// The footnotes, after the text has been read. Unreferenced footnotes are reported.
    pub fn notes(&mut self) -> Vec<Vec<Block>> {
        self.in_note = true;
        let mentioned = std::mem::take(&mut self.mentioned);
        let notes = mentioned.iter().map(|name| self.blocks(self.definitions[name], 1)).collect();
        let mut rest: Vec<(String, Node<'a>)> = self
            .definitions
            .iter()
            .filter(|(name, _)| !self.numbers.contains_key(name.as_str()))
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

/// The language of a code block: `rust`, `{rust}` as in R Markdown, or `{.rust #id}` as in Pandoc.
fn language(info: &str) -> &str {
    let Some(attributes) = info.trim().strip_prefix('{') else {
        return info.split([' ', ',', '{']).next().unwrap_or_default();
    };
    let words = attributes.split([' ', ',', '}']).map(|word| word.trim_start_matches('.'));
    let is_name = |word: &&str| !word.is_empty() && !word.starts_with('#') && !word.contains('=');
    words.into_iter().find(is_name).unwrap_or_default()
}

/// Raw HTML. After an empty line, indented HTML looks like indented code.
fn raw(node: Node<'_>) -> Option<String> {
    match &node.data().value {
        NodeValue::HtmlBlock(html) => Some(html.literal.clone()),
        NodeValue::CodeBlock(code) if !code.fenced && code.literal.trim().starts_with('<') => {
            Some(code.literal.clone())
        }
        _ => None,
    }
}

/// Whether a paragraph is a page break of LaTeX.
fn is_page_break(content: &[Inline]) -> bool {
    matches!(content, [Inline::Text(text)] if matches!(text.trim(), "\\newpage" | "\\pagebreak" | "\\clearpage"))
}

fn contains(html: &str, closing: &str) -> bool {
    html.to_ascii_lowercase().contains(closing)
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
