//! Blocks as Typst content.

use std::num::NonZeroUsize;

use typst::foundations::{Content, NativeElement, Packed, Smart};
use typst::layout::{
    Abs, Alignment, BlockBody, BlockElem, Celled, Em, Fr, GridCell, GridChild, GridElem, GridItem,
    HAlignment, PagebreakElem, Sizing, TrackSizings,
};
use typst::model::{
    DividerElem, EnumElem, EnumItem, FigureCaption, FigureElem, FigureKind, HeadingElem, ListElem,
    ListItem, ListMarker, ParElem, QuoteElem, TableCell, TableChild, TableElem, TableHeader,
    TableItem, TermItem, TermsElem,
};
use typst::text::{RawContent, RawElem, TextElem};

use super::directions::directed;
use super::drawing::{Drawing, Voice};
use super::images::{self, Pictures};
use super::inlines::{heading_label, image, label};
use super::lengths;
use super::marks::grounded;
use crate::Document;
use crate::chart::{Chart, svg};
use crate::document::{Alert, Align, Block, CellSpan, Inline, Item, List, Spans, Table};
use crate::package::look::look;
use crate::package::text::{announces, begins_page};
use crate::package::words;
use crate::pdf::fontset::Fonts;

/// The gap between columns, in points.
const GUTTER: f64 = 18.0;
/// Longer code is laid out in parts: the cost of one part grows with the square of its length.
const CODE_LINES: usize = 250;
/// The font size of the largest heading, in points.
const HEADING_POINTS: f64 = 17.7;

/// The content, and warnings about what could not be drawn.
pub struct Body {
    pub content: Content,
    pub warnings: Vec<String>,
}

pub fn body(document: &Document, pictures: &Pictures, fonts: &Fonts) -> Body {
    let mut drawing = Drawing::new(document, pictures);
    drawing.faces = fonts.body(&document.meta).join(", ");
    let content = drawing.blocks(&document.blocks);
    Body { content, warnings: drawing.warnings }
}

impl Drawing<'_> {
    pub fn blocks(&mut self, blocks: &[Block]) -> Content {
        let drawn = blocks.iter().enumerate().map(|(at, block)| {
            let drawn = self.block(block);
            let announces = announces(block) && at + 1 < blocks.len();
            if announces { sticky(drawn).pack() } else { drawn }
        });
        Content::sequence(drawn.collect::<Vec<_>>())
    }

    fn block(&mut self, block: &Block) -> Content {
        let drawn = self.drawn(block);
        if self.rtl { directed(block, drawn) } else { drawn }
    }

    fn drawn(&mut self, block: &Block) -> Content {
        match block {
            Block::Heading { level, content } => self.heading(*level, content),
            Block::Paragraph(content) => self.paragraph(content),
            Block::List(list) => self.list(list),
            Block::Table(table) => self.table(table),
            Block::Code { language, text } => self.code(language.as_deref(), text),
            Block::Quote { alert, blocks } => self.quote(*alert, blocks),
            Block::Definitions(items) => self.definitions(items),
            Block::Columns(columns) => self.columns(columns),
            Block::Chart(chart) => self.chart(chart),
            Block::Math(latex) => self.formula(latex, true),
            Block::Break => DividerElem::new().pack(),
            Block::Comment(text) if begins_page(text) => {
                PagebreakElem::new().with_weak(true).pack()
            }
            Block::Comment(_) => Content::empty(),
        }
    }

    fn heading(&mut self, level: u8, content: &[Inline]) -> Content {
        self.above.retain(|above| *above < level);
        self.above.push(level);
        let draw = |drawing: &mut Self| drawing.sized(HEADING_POINTS, |d| d.inlines(content));
        let body = self.holding_notes(draw);
        let heading = HeadingElem::new(body)
            .with_level(Smart::Custom(
                NonZeroUsize::new(self.above.len()).unwrap_or(NonZeroUsize::MIN),
            ))
            .pack()
            .labelled(heading_label(self.headings));
        self.headings += 1;
        heading + self.release_notes()
    }

    fn holding_notes(&mut self, draw: impl FnOnce(&mut Self) -> Content) -> Content {
        let held = std::mem::replace(&mut self.holds_notes, true);
        let drawn = draw(self);
        self.holds_notes = held;
        drawn
    }

    fn release_notes(&mut self) -> Content {
        if self.holds_notes || self.held_notes.is_empty() {
            return Content::empty();
        }
        let marks: Vec<Inline> = self.held_notes.drain(..).map(Inline::Footnote).collect();
        ParElem::new(self.inlines(&marks)).pack()
    }

    fn paragraph(&mut self, content: &[Inline]) -> Content {
        if let [Inline::Image { url, alt, title }] = content {
            return self.picture(url, alt, title);
        }
        let parts = lengths::cut(content);
        let parts = parts.iter().map(|part| ParElem::new(self.inlines(part)).pack());
        Content::sequence(parts.collect::<Vec<_>>())
    }

    /// A picture as a block, with its title as the caption.
    fn picture(&mut self, url: &str, alt: &str, title: &str) -> Content {
        let picture = match self.drawable(url) {
            Ok(picture) => picture,
            Err(why) => return ParElem::new(self.no_image((url, alt, title), &why)).pack(),
        };
        let drawn = image(picture, alt, self.room).aligned(Alignment::CENTER);
        if title.is_empty() {
            return drawn;
        }
        let caption = FigureCaption::new(TextElem::packed(grounded(title).into_owned()));
        FigureElem::new(drawn)
            .with_kind(Smart::Custom(FigureKind::Name("picture".into())))
            .with_supplement(Smart::Custom(None))
            .with_numbering(None)
            .with_caption(Some(Packed::new(caption)))
            .pack()
    }

    fn chart(&mut self, chart: &Chart) -> Content {
        let palette = look(&self.document.meta).palette();
        match images::vector(&svg::draw(chart, &palette, &self.faces)) {
            Ok(picture) => {
                image(&picture, &chart.description(), self.room).aligned(Alignment::CENTER)
            }
            Err(why) => {
                self.warn(format!("A chart is shown as its values: {why}."));
                self.paragraph(&[Inline::Text(chart.description())])
            }
        }
    }

    fn list(&mut self, list: &List) -> Content {
        let room = self.room;
        self.room.0 -= 24.0;
        let tasks = list.items.iter().all(|item| item.task.is_some());
        let items: Vec<Content> = list.items.iter().map(|item| self.item(item, list)).collect();
        self.room = room;
        if let Some(start) = list.start {
            let items = items.into_iter().map(|item| Packed::new(EnumItem::new(item))).collect();
            let list = EnumElem::new(items).with_tight(list.tight);
            return list.with_start(Smart::Custom(start)).pack();
        }
        let items = items.into_iter().map(|item| Packed::new(ListItem::new(item))).collect();
        let drawn = ListElem::new(items).with_tight(list.tight);
        if tasks {
            drawn.with_marker(ListMarker::Content(vec![Content::empty()])).pack()
        } else {
            drawn.pack()
        }
    }

    fn item(&mut self, item: &Item, list: &List) -> Content {
        let mut parts = Vec::new();
        if let Some(done) = item.task {
            let sign = if done { "\u{2611}" } else { "\u{2610}" };
            parts.push(TextElem::packed(format!("{sign}\u{a0}")));
        }
        for (at, block) in item.blocks.iter().enumerate() {
            match block {
                Block::Paragraph(content) if list.tight || (at == 0 && item.task.is_some()) => {
                    parts.push(self.inlines(content));
                }
                block => parts.push(self.block(block)),
            }
        }
        Content::sequence(parts)
    }

    fn table(&mut self, table: &Table) -> Content {
        let columns = table.header.len().max(1);
        let room = self.room;
        self.room.0 = (self.room.0 / columns as f64 - 12.0).max(8.0);
        let points = match columns {
            ..=7 => 9.5,
            8..=14 => 7.5,
            _ => 6.0,
        };
        let points = std::mem::replace(&mut self.points, points);
        let spans = table.spans();
        let header_rows = table.header_rows();
        let row = |number: usize| number.checked_sub(1).map_or(&table.header, |at| &table.rows[at]);
        let header = self.holding_notes(|drawing| {
            let rows = (0..header_rows).map(|number| (number, row(number).as_slice()));
            let cells = rows.flat_map(|row| drawing.cells(row, columns, &spans)).collect();
            // A header that fills a page cannot be repeated.
            let is_short = table.header.iter().flatten().map(lengths::size).sum::<usize>() < 2_000;
            TableHeader::new(cells).with_repeat(is_short).pack()
        });
        let header = header.into_packed::<TableHeader>().map(TableChild::Header);
        let mut children: Vec<TableChild> = header.into_iter().collect();
        for number in header_rows..=table.rows.len() {
            let cells = self.cells((number, row(number)), columns, &spans);
            children.extend(cells.into_iter().map(TableChild::Item));
        }
        (self.room, self.points) = (room, points);
        let align = (0..columns).map(|at| table.align.get(at).copied().unwrap_or_default());
        let drawn = TableElem::new(children)
            .with_columns(TrackSizings((0..columns).map(|_| Sizing::Auto).collect()))
            .with_align(Celled::Array(align.map(alignment).collect()))
            .pack();
        drawn + self.release_notes()
    }

    /// The cells of a row, without those that others cover.
    fn cells(
        &mut self,
        (number, row): (usize, &[Vec<Inline>]),
        columns: usize,
        spans: &Spans,
    ) -> Vec<TableItem> {
        let blank: &[Inline] = &[];
        let mut cells = Vec::new();
        for at in 0..columns {
            let (rows, columns) = match spans.at(number, at) {
                CellSpan::Single => (1, 1),
                CellSpan::First(merge) => (merge.rows, merge.columns),
                CellSpan::CoveredLeft(_) | CellSpan::CoveredAbove(_) => continue,
            };
            let count = |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
            let cell = self.cell(row.get(at).map_or(blank, Vec::as_slice));
            let cell = cell.with_colspan(count(columns)).with_rowspan(count(rows));
            cells.push(TableItem::Cell(Packed::new(cell)));
        }
        cells
    }

    fn cell(&mut self, content: &[Inline]) -> TableCell {
        let body = match lengths::cut(content).as_slice() {
            [] => Content::empty(),
            [part] => self.inlines(part),
            _ => self.paragraph(content),
        };
        TableCell::new(body)
    }

    fn quote(&mut self, alert: Option<Alert>, blocks: &[Block]) -> Content {
        let room = self.room;
        self.room.0 -= 24.0;
        let body = self.blocks(blocks);
        self.room = room;
        let Some(alert) = alert else { return QuoteElem::new(body).with_block(true).pack() };
        let name = match alert {
            Alert::Note => "alert-note",
            Alert::Tip => "alert-tip",
            Alert::Important => "alert-important",
            Alert::Warning => "alert-warning",
            Alert::Caution => "alert-caution",
        };
        let word = words::alert(alert, self.document.meta.language.as_deref());
        let title = TextElem::packed(word).strong().labelled(label("alert-title"));
        // Keeps the title on the page of its content.
        let title = sticky(ParElem::new(title).pack());
        let body = title.with_below(Smart::Custom(Em::new(0.8).into())).pack() + body;
        QuoteElem::new(body).with_block(true).pack().labelled(label(name))
    }

    fn columns(&mut self, columns: &[Vec<Block>]) -> Content {
        let room = self.room;
        let count = columns.len().max(1) as f64;
        self.room.0 = ((room.0 - GUTTER * (count - 1.0)) / count).max(8.0);
        let drawn = columns.iter().map(|column| {
            let body = self.blocks(column);
            GridChild::Item(GridItem::Cell(Packed::new(GridCell::new(body))))
        });
        let grid = GridElem::new(drawn.collect())
            .with_columns(TrackSizings(columns.iter().map(|_| Sizing::Fr(Fr::one())).collect()))
            .with_column_gutter(TrackSizings([Abs::pt(GUTTER).into()].into_iter().collect()));
        self.room = room;
        BlockElem::new().with_body(Some(BlockBody::Content(grid.pack()))).pack()
    }

    fn code(&mut self, language: Option<&str>, text: &str) -> Content {
        let lines: Vec<String> =
            text.lines().map(|line| self.breakable(line, Voice::CodeBlock)).collect();
        if lines.len() <= CODE_LINES {
            return raw(language, &lines);
        }
        let parts = lines.chunks(CODE_LINES).map(|lines| {
            let none = Smart::Custom(Em::new(0.0).into());
            let part = BlockElem::new().with_body(Some(BlockBody::Content(raw(language, lines))));
            part.with_above(none).with_below(none).pack()
        });
        let parts = Content::sequence(parts.collect::<Vec<_>>());
        BlockElem::new().with_body(Some(BlockBody::Content(parts))).pack()
    }

    fn definitions(&mut self, items: &[(Vec<Inline>, Vec<Block>)]) -> Content {
        let items = items.iter().map(|(term, description)| {
            let term = self.inlines(term);
            let description = match description.as_slice() {
                [Block::Paragraph(content)] => self.inlines(content),
                blocks => self.blocks(blocks),
            };
            Packed::new(TermItem::new(term, description))
        });
        TermsElem::new(items.collect()).pack()
    }
}

/// Lines of code in a box.
fn raw(language: Option<&str>, lines: &[String]) -> Content {
    RawElem::new(RawContent::Text(lines.join("\n").into()))
        .with_block(true)
        .with_lang(language.map(|language| language.to_lowercase().into()))
        .with_tab_size(4)
        .pack()
}

/// Keeps the block on the page of the next one.
fn sticky(drawn: Content) -> BlockElem {
    BlockElem::new().with_sticky(true).with_body(Some(BlockBody::Content(drawn)))
}

fn alignment(align: Align) -> Smart<Alignment> {
    Smart::Custom(Alignment::H(match align {
        Align::Start => HAlignment::Start,
        Align::Center => HAlignment::Center,
        Align::End => HAlignment::End,
    }))
}
