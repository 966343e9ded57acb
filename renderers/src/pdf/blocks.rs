//! Blocks as Typst content.

use std::num::NonZeroUsize;

use typst::foundations::{Content, NativeElement, Packed, Smart, Value};
use typst::introspection::MetadataElem;
use typst::layout::{
    Abs, Alignment, BlockBody, BlockElem, Em, FlushElem, Fr, GridCell, GridChild, GridElem,
    GridItem, PageElem, PagebreakElem, Sizing, TrackSizings,
};
use typst::model::{
    DividerElem, EnumElem, EnumItem, FigureCaption, FigureElem, FigureKind, HeadingElem, ListElem,
    ListItem, ListMarker, Numbering, ParElem, QuoteElem, TermItem, TermsElem,
};
use typst::text::{RawContent, RawElem, TextElem};

use super::directions::directed;
use super::drawing::{Drawing, NotePlace, TextVoice, turned_room};
use super::images::{self, Pictures};
use super::inlines::{heading_label, image, label};
use super::lengths;
use super::marks::grounded;
use super::tables;
use crate::Document;
use crate::chart::{Chart, svg};
use crate::document::{Alert, Block, Definition, Inline, Item, List};
use crate::package::fitting::Rooms;
use crate::package::look::look;
use crate::package::numerals::Numerals;
use crate::package::sections::{after_comments, sections};
use crate::package::text::{PictureText, announces, begins_page, plain};
use crate::package::words::{self, TABLE};
use crate::pdf::fontset::Fonts;
use crate::rendered::Warning;

/// The gap between columns, in points.
const GUTTER: f64 = 18.0;
/// Lists with higher numbers have digits in place of Roman numerals.
const HIGHEST_ROMAN: u64 = 3_999;
/// The font size of the largest heading, in points.
const HEADING_POINTS: f64 = 17.7;

/// The content, and warnings about what could not be drawn.
pub struct Body {
    pub content: Content,
    pub warnings: Vec<Warning>,
}

pub fn body(document: &Document, pictures: &Pictures, fonts: &Fonts) -> Body {
    let mut drawing = Drawing::new(document, pictures);
    drawing.faces = fonts.body(&document.meta).join(", ");
    let content = drawing.sections();
    let content = content + drawing.missing_captions();
    Body { content, warnings: drawing.warnings.list() }
}

impl Drawing<'_> {
    /// The content with the label of its caption, to which references lead.
    fn captioned(&mut self, caption: &str, drawn: Content) -> Content {
        let document = self.document;
        match document.captions.get(caption) {
            // A second document that follows may have the same captions.
            Some(anchor) if self.seen_captions.insert(anchor.clone()) => {
                drawn.labelled(label(anchor))
            }
            _ => drawn,
        }
    }

    /// Invisible targets for references to captions that were not drawn, since Typst refuses links
    /// that lead nowhere.
    fn missing_captions(&self) -> Content {
        let anchors = self.document.captions.values();
        let missing = anchors.filter(|anchor| !self.seen_captions.contains(*anchor));
        let target =
            |anchor: &String| MetadataElem::new(Value::None).pack().labelled(label(anchor));
        Content::sequence(missing.map(target).collect::<Vec<_>>())
    }

    /// All blocks, on portrait and landscape pages.
    fn sections(&mut self) -> Content {
        let document = self.document;
        let own = document.meta.page.landscape;
        let (room, turned) = (self.room, turned_room(document));
        let rooms = if own {
            Rooms { upright: turned.width, landscape: Some(room.width) }
        } else {
            Rooms { upright: room.width, landscape: Some(turned.width) }
        };
        let sections = sections(document, |table| tables::fit(table, rooms).is_landscape);
        let mut all = Vec::new();
        for section in sections {
            let is_turned = section.is_landscape != own;
            self.room = if is_turned { turned } else { room };
            let drawn = self.blocks(&document.blocks[section.blocks]);
            all.push(if is_turned { on_own_page(drawn, section.is_landscape) } else { drawn });
        }
        self.room = room;
        Content::sequence(all)
    }

    pub fn blocks(&mut self, blocks: &[Block]) -> Content {
        let (mut drawn, mut at) = (Vec::new(), 0);
        while at < blocks.len() {
            let group = self.headed_note(&blocks[at..]);
            let end = at + group.map_or(1, |group| group.blocks);
            let parts: Vec<_> = (at..end).map(|at| self.block_at(blocks, at)).collect();
            let parts = Content::sequence(parts);
            drawn.push(match group {
                Some(group) => group.keep(parts),
                None => parts,
            });
            at = end;
        }
        Content::sequence(drawn)
    }

    /// One of these blocks, which stays on the page of the next one if it announces it.
    fn block_at(&mut self, blocks: &[Block], at: usize) -> Content {
        let language = self.document.meta.language.as_deref();
        let (block, next) = (&blocks[at], blocks.get(at + 1));
        if let Block::Paragraph(content) = block
            && words::numbered(TABLE, &plain(content), language).is_some()
            && matches!(after_comments(&blocks[at + 1..]), Some(Block::Table(_)))
        {
            let caption = self.inlines(content).labelled(label("table-caption"));
            let caption = self.captioned(&plain(content), ParElem::new(caption).pack());
            return sticky(caption).pack();
        }
        let drawn = self.block(block);
        let announces = announces(block) && next.is_some();
        if announces { sticky(drawn).pack() } else { drawn }
    }

    fn block(&mut self, block: &Block) -> Content {
        self.depth += 1;
        let drawn = self.drawn(block);
        self.depth -= 1;
        if self.rtl { directed(block, drawn, self.is_mostly_rtl) } else { drawn }
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
            Block::Comment(text) if begins_page(text) => self.page_break(),
            Block::Comment(_) => Content::empty(),
        }
    }

    /// Typst refuses a page break within another block.
    fn page_break(&mut self) -> Content {
        if self.depth == 1 {
            return PagebreakElem::new().with_weak(true).pack();
        }
        self.warn("A page break in a list, quote, column or footnote was ignored.");
        Content::empty()
    }

    fn heading(&mut self, level: u8, content: &[Inline]) -> Content {
        self.above.retain(|above| *above < level);
        self.above.push(level);
        let draw = |drawing: &mut Self| drawing.sized(HEADING_POINTS, |d| d.inlines(content));
        let body = self.with_notes(NotePlace::Mentioned, draw);
        let heading = HeadingElem::new(body)
            .with_level(Smart::Custom(
                NonZeroUsize::new(self.above.len()).unwrap_or(NonZeroUsize::MIN),
            ))
            .pack()
            .labelled(heading_label(self.headings));
        self.headings += 1;
        heading + self.mentioned_notes()
    }

    pub fn paragraph(&mut self, content: &[Inline]) -> Content {
        if let [Inline::Image { url, alt, title }] = content {
            return self.picture(url, alt, title);
        }
        let parts = lengths::cut(content);
        let parts = parts.iter().map(|part| ParElem::new(self.inlines(part)).pack());
        Content::sequence(parts.collect::<Vec<_>>())
    }

    /// A paragraph without the space around it, unless it is very long.
    pub fn tight(&mut self, content: &[Inline]) -> Content {
        match lengths::cut(content).as_slice() {
            [] | [_] => self.inlines(content),
            _ => self.paragraph(content),
        }
    }

    /// A picture as a block, with its title as the caption.
    fn picture(&mut self, url: &str, alt: &str, title: &str) -> Content {
        let picture = match self.drawable(url) {
            Ok(picture) => picture,
            Err(why) => {
                let text = self.no_image(PictureText { url, alt, title }, &why);
                return self.captioned(title, ParElem::new(text).pack());
            }
        };
        let drawn = self.shown(url, picture, alt).aligned(Alignment::CENTER);
        if title.is_empty() {
            return drawn;
        }
        let caption = FigureCaption::new(TextElem::packed(grounded(title).into_owned()));
        let figure = FigureElem::new(drawn)
            .with_kind(Smart::Custom(FigureKind::Name("picture".into())))
            .with_supplement(Smart::Custom(None))
            .with_numbering(None)
            .with_caption(Some(Packed::new(caption)))
            .pack();
        self.captioned(title, figure)
    }

    fn chart(&mut self, chart: &Chart) -> Content {
        let palette = look(&self.document.meta).palette();
        let drawn = svg::draw(chart, &palette, &self.faces);
        if drawn.has_cut_names {
            self.warn(svg::CUT);
        }
        match images::vector(&drawn.svg) {
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
        self.room = room.narrowed(24.0);
        let numbering = numbering(self.lists, list);
        self.lists += 1;
        let tasks = list.items.iter().all(|item| item.task.is_some());
        let items: Vec<Content> = list.items.iter().map(|item| self.item(item, list)).collect();
        self.lists -= 1;
        self.room = room;
        if let Some(start) = list.start {
            let items = items.into_iter().map(|item| Packed::new(EnumItem::new(item))).collect();
            let list = EnumElem::new(items).with_tight(list.tight).with_numbering(numbering);
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
                    parts.push(self.tight(content));
                }
                block => parts.push(self.block(block)),
            }
        }
        Content::sequence(parts)
    }

    fn quote(&mut self, alert: Option<Alert>, blocks: &[Block]) -> Content {
        let room = self.room;
        self.room = room.narrowed(24.0);
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
        self.room.width = ((room.width - GUTTER * (count - 1.0)) / count).max(8.0);
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
        let lines = lengths::lines(text).into_iter();
        let lines: Vec<String> =
            lines.map(|line| self.breakable(line, TextVoice::CodeBlock)).collect();
        let parts = lengths::parts(&lines);
        if let [lines] = parts[..] {
            return raw(language, lines);
        }
        let parts = parts.into_iter().map(|lines| {
            let none = Smart::Custom(Em::new(0.0).into());
            let part = BlockElem::new().with_body(Some(BlockBody::Content(raw(language, lines))));
            part.with_above(none).with_below(none).pack()
        });
        let parts = Content::sequence(parts.collect::<Vec<_>>());
        BlockElem::new().with_body(Some(BlockBody::Content(parts))).pack()
    }

    fn definitions(&mut self, items: &[Definition]) -> Content {
        let items = items.iter().map(|Definition { term, description }| {
            let term = self.inlines(term);
            let description = match description.as_slice() {
                [Block::Paragraph(content)] => self.tight(content),
                blocks => self.blocks(blocks),
            };
            Packed::new(TermItem::new(term, description))
        });
        TermsElem::new(items.collect()).pack()
    }
}

/// The numbers of a list in `level` other lists, which may be bullets. A Roman numeral grows with its
/// number.
fn numbering(level: usize, list: &List) -> Numbering {
    let end = list.start.unwrap_or(1).saturating_add(list.items.len() as u64);
    let pattern = match Numerals::of(level) {
        Numerals::Roman if end <= HIGHEST_ROMAN => "i.",
        Numerals::Letters => "a.",
        Numerals::Digits | Numerals::Roman => "1.",
    };
    Numbering::Pattern(pattern.parse().expect("the patterns are valid"))
}

/// Places content on pages of that orientation.
fn on_own_page(content: Content, is_landscape: bool) -> Content {
    let breaks = [PagebreakElem::shared_weak(), PagebreakElem::shared_boundary()];
    let [before, after] = breaks.map(Clone::clone);
    Content::sequence([before, FlushElem::new().pack(), content, after])
        .set(PageElem::flipped, is_landscape)
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
