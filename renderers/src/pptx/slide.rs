//! Writes one slide: title, items, footer and notes.

use super::deck::Deck;
use super::formula_heights::has_formulas;
use super::frames::TextSlot;
use super::geometry::{Area, emu};
use super::heights::{INSET, SMALL, caption_height, code_height, code_size, size};
use super::items::{Para, SlideItem};
use super::layouts::Layout;
use super::markup::{
    Holder, NAMESPACES, RECTANGLE, TREE, close_shape, fill, open_holder, open_shape, open_text_box,
    open_text_box_frame, position,
};
use super::page::{Piece, SlidePage};
use super::paragraphs::TextFormat;
use super::sheet::{FormulaForm, Sheet};
use crate::document::{Align, Color, Inline, MIN_PICTURE, PictureWidth};
use crate::package::Relations;
use crate::package::look;
use crate::package::measure::{self, Face, begins_rtl, is_wide};
use crate::package::text::plain;
use crate::package::xml::Xml;

const KIND: &str = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml";

impl<'d> Deck<'d> {
    /// Writes slide `number`, counted from one.
    pub fn slide(&mut self, number: usize, page: &SlidePage<'d>) {
        let mut relations = Relations::default();
        let layout = self.frames.layout(page.layout).part;
        relations.part("slideLayout", &format!("../slideLayouts/slideLayout{layout}.xml"));
        if !page.notes.is_empty() {
            relations.part("notesSlide", &format!("../notesSlides/notesSlide{number}.xml"));
            self.notes(number, &page.notes);
        }
        let inherits = matches!(page.layout, Layout::Title | Layout::Section);
        let has_own_sizes = self.frames.is_template && !inherits;
        let text = self.frames.layout(page.layout).bodies.first().copied();
        let mut sheet = Sheet {
            deck: self,
            relations,
            links: Vec::new(),
            last_id: 1,
            ink: page.ink,
            formulas: FormulaForm::default(),
            has_own_sizes,
            first_level_size: text.map(|slot| slot.points),
        };
        let mut xml = Xml::new();
        xml.open("p:sld", &NAMESPACES);
        xml.open("p:cSld", &[]);
        if let Some(color) = page.background {
            xml.open("p:bg", &[]);
            xml.open("p:bgPr", &[]);
            fill(&mut xml, &color);
            xml.empty("a:effectLst", &[]);
            xml.close();
            xml.close();
        }
        xml.open("p:spTree", &[]);
        xml.raw(TREE);
        sheet.backdrops(&mut xml, page);
        sheet.title(&mut xml, page);
        sheet.pieces(&mut xml, page);
        sheet.edge(&mut xml, page, number);
        xml.close();
        xml.close();
        xml.raw("<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>");
        xml.close();
        let relations = sheet.relations;
        let name = format!("ppt/slides/slide{number}.xml");
        self.package.add(&name, KIND, xml);
        self.package.relate(&name, relations);
    }
}

/// The name and the colours (RRGGBB) of a box around code or an alert.
struct BoxFrame<'c> {
    name: &'static str,
    line: &'c str,
    fill: &'c str,
}

impl Sheet<'_, '_> {
    fn title(&mut self, xml: &mut Xml, page: &SlidePage<'_>) {
        let slot = self.deck.frames.layout(page.layout).title;
        let area = page.layout.title_area(&page.geometry);
        let around = self.deck.frames.around(area);
        let is_own_size = page.layout == Layout::Figure || !self.deck.frames.is_template;
        let full = if is_own_size { page.layout.title_size() } else { slot.points };
        let size = title_size(&page.title, area, full);
        let id = self.next_id();
        let place = (!around.is_near(slot.area)).then_some(around);
        open_shape(xml, &[("id", &id), ("name", "Title")], slot.holder, place);
        xml.empty("a:bodyPr", &[]);
        xml.empty("a:lstStyle", &[]);
        let is_other = (size - slot.points).abs() > 0.05;
        let size = is_other.then_some(size);
        self.line(
            xml,
            &page.title,
            Align::Start,
            TextFormat {
                size,
                own_size: Some(slot.points),
                unseen: page.hidden_title,
                ..TextFormat::default()
            },
        );
        close_shape(xml);
    }

    fn pieces(&mut self, xml: &mut Xml, page: &SlidePage<'_>) {
        let mut texts = 0;
        for (at, piece) in page.pieces.iter().enumerate() {
            let frames = &self.deck.frames;
            let bodies = &frames.layout(page.layout).bodies;
            // Our own layouts have a placeholder for each piece, templates one or two for texts.
            let is_text = matches!(
                piece.item,
                SlideItem::Text(_) | SlideItem::Alert(..) | SlideItem::Code { .. }
            );
            let slot = if frames.is_template {
                bodies.get(texts).filter(|_| is_text)
            } else {
                bodies.get(at)
            };
            let slot = slot.copied();
            texts += usize::from(is_text);
            self.with_formulas(xml, has_formulas(&piece.item), |sheet, xml| {
                sheet.piece(xml, piece, slot);
            });
        }
    }

    fn piece(&mut self, xml: &mut Xml, piece: &Piece<'_>, slot: Option<TextSlot>) {
        let holder = slot.map(|slot| slot.holder);
        match &piece.item {
            SlideItem::Text(paras) => self.text(xml, paras, piece, slot),
            SlideItem::Alert(..) => self.alert(xml, piece, holder),
            SlideItem::Code { .. } => self.code_box(xml, piece, holder),
            SlideItem::Table(table) => self.table(xml, table, piece),
            SlideItem::Chart(chart) => self.chart(xml, chart, piece.area),
            SlideItem::Picture { picture, alt, caption, width, height, .. } => {
                let high = caption_height(caption, piece.area.width);
                let below = high.min(piece.area.height / 2.0);
                let above = piece.area.height - below;
                let area = lowered(narrowed(piece.area.band(0.0, above), *width), *height);
                self.picture(xml, picture, alt, area);
                if !caption.is_empty() {
                    self.caption(xml, caption, piece.area.band(above, below), holder);
                }
            }
        }
    }

    fn text(&mut self, xml: &mut Xml, paras: &[Para], piece: &Piece<'_>, slot: Option<TextSlot>) {
        let area = self.deck.frames.around(piece.area);
        let id = self.next_id();
        let named = [("id", id.as_str()), ("name", &format!("Text {id}"))];
        match slot {
            Some(TextSlot { holder, area: own, .. }) => {
                open_shape(xml, &named, holder, (!own.is_near(area)).then_some(area));
            }
            None => open_text_box(xml, &named, area),
        }
        xml.open("a:bodyPr", &[]);
        self.scaled(xml, paras, piece.scale);
        close_shape(xml);
    }

    /// Centred below a picture.
    fn caption(&mut self, xml: &mut Xml, caption: &str, area: Area, holder: Option<Holder>) {
        let id = self.next_id();
        let named = [("id", id.as_str()), ("name", &format!("Caption {id}"))];
        match holder {
            Some(holder) => open_shape(xml, &named, holder, Some(area)),
            None => open_text_box(xml, &named, area),
        }
        xml.raw("<a:bodyPr><a:normAutofit/></a:bodyPr><a:lstStyle/>");
        let rtl = begins_rtl(caption);
        xml.open("a:p", &[]);
        let mut attributes = vec![("marL", "0"), ("indent", "0"), ("algn", "ctr")];
        attributes.extend(rtl.then_some(("rtl", "1")));
        xml.open("a:pPr", &attributes);
        xml.empty("a:buNone", &[]);
        xml.close();
        let (size, color) = (Some(SMALL), Color::read(self.deck.look.quiet));
        self.run(xml, caption, TextFormat { rtl, color, size, ..TextFormat::default() });
        xml.close();
        close_shape(xml);
    }

    /// The rest of a body whose text is drawn at that scale.
    fn scaled(&mut self, xml: &mut Xml, paras: &[Para], scale: f64) {
        debug_assert!(paras.iter().all(|para| size(para, scale) > 0.0));
        let percent = ((scale * 100_000.0) as i64).to_string();
        if scale < 1.0 && !self.has_own_sizes {
            xml.empty("a:normAutofit", &[("fontScale", &percent)]);
        } else {
            xml.empty("a:normAutofit", &[]);
        }
        xml.close();
        xml.empty("a:lstStyle", &[]);
        self.paras(xml, paras, scale);
    }

    fn code_box(&mut self, xml: &mut Xml, piece: &Piece<'_>, holder: Option<Holder>) {
        let SlideItem::Code { language, text, size } = &piece.item else { return };
        let size = size.unwrap_or_else(|| code_size(text, piece.area.width, piece.scale));
        let high = code_height(text, piece.area.width, size);
        let area = Area { height: high.min(piece.area.height), ..piece.area };
        let look = &self.deck.look;
        let frame = BoxFrame { name: "Code", line: look.line, fill: look.paper };
        self.open_box(xml, frame, area, holder);
        xml.empty("a:noAutofit", &[]);
        xml.close();
        xml.empty("a:lstStyle", &[]);
        let ink = self.ink.take();
        self.code(xml, language.as_deref(), text, size);
        self.ink = ink;
        close_shape(xml);
    }

    fn alert(&mut self, xml: &mut Xml, piece: &Piece<'_>, holder: Option<Holder>) {
        let SlideItem::Alert(alert, paras) = &piece.item else { return };
        let fill = look::alert_fill(*alert);
        let frame = BoxFrame { name: "Alert", line: look::alert(*alert), fill: &fill };
        self.open_box(xml, frame, piece.area, holder);
        let ink = self.ink.take();
        self.scaled(xml, paras, piece.scale);
        self.ink = ink;
        close_shape(xml);
    }

    /// A box up to its text properties; `frame` is its name and border colour.
    fn open_box(&mut self, xml: &mut Xml, frame: BoxFrame<'_>, area: Area, holder: Option<Holder>) {
        let BoxFrame { name, line, fill: background } = frame;
        let id = self.next_id();
        let named = [("id", id.as_str()), ("name", &format!("{name} {id}"))];
        match holder {
            Some(holder) => open_holder(xml, &named, holder),
            None => open_text_box_frame(xml, &named),
        }
        xml.open("p:spPr", &[]);
        position(xml, area);
        if holder.is_none() {
            xml.raw(RECTANGLE);
        }
        if self.deck.look.is_dark() {
            xml.empty("a:noFill", &[]);
        } else {
            fill(xml, background);
        }
        xml.open("a:ln", &[("w", "9525")]);
        fill(xml, line);
        xml.close();
        xml.close();
        xml.open("p:txBody", &[]);
        let inset = emu(INSET).to_string();
        let insets =
            [("lIns", inset.as_str()), ("tIns", &inset), ("rIns", &inset), ("bIns", &inset)];
        xml.open("a:bodyPr", &insets);
    }

    /// Footer and slide number, in the placeholders of the layouts.
    fn edge(&mut self, xml: &mut Xml, page: &SlidePage<'_>, number: usize) {
        let moved = page.geometry.footer != self.deck.geometry.footer;
        let frame = self.deck.frames.layout(page.layout);
        let (footer, number_holder) = (frame.footer, frame.number);
        let text = page.footer.as_deref().filter(|text| !text.trim().is_empty());
        if (text.is_some() && footer.is_none()) || (page.numbered && number_holder.is_none()) {
            let lost = "The template has no place for the footer or the slide number.";
            self.deck.warnings.add(lost);
        }
        if let (Some(text), Some(holder)) = (text, footer) {
            let id = self.next_id();
            let place = moved.then_some(page.geometry.footer);
            open_shape(xml, &[("id", &id), ("name", "Footer")], holder, place);
            xml.raw("<a:bodyPr/><a:lstStyle/>");
            let text = [Inline::Text(text.trim().to_owned())];
            self.line(xml, &text, Align::Start, TextFormat::default());
            close_shape(xml);
        }
        if let Some(holder) = number_holder.filter(|_| page.numbered) {
            let id = self.next_id();
            let place = moved.then_some(page.geometry.number);
            open_shape(xml, &[("id", &id), ("name", "Slide Number")], holder, place);
            xml.raw("<a:bodyPr/><a:lstStyle/><a:p>");
            let field = [("id", "{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}"), ("type", "slidenum")];
            xml.open("a:fld", &field);
            xml.open("a:rPr", &[("lang", "en-US")]);
            if let Some(ink) = page.ink {
                fill(xml, &ink);
            }
            xml.close();
            xml.leaf("a:t", &[], &number.to_string());
            xml.close();
            xml.raw("</a:p>");
            close_shape(xml);
        }
    }
}

/// The part of an area that a picture of that width takes.
fn narrowed(area: Area, width: Option<PictureWidth>) -> Area {
    let Some(width) = width else { return area };
    let width = width.of(area.width, 0.75).max(MIN_PICTURE * 0.75);
    area.column((area.width - width) / 2.0, width)
}

/// The part of an area that a picture of at most that height in pixels takes.
fn lowered(area: Area, height: Option<f64>) -> Area {
    let height = height.map_or(area.height, |pixels| (pixels * 0.75).min(area.height));
    area.band((area.height - height) / 2.0, height)
}

/// The largest font size at which a title fits its box.
fn title_size(title: &[Inline], area: Area, full: f64) -> f64 {
    let text = plain(title);
    let tall = if text.chars().any(is_wide) { 1.4 } else { 1.15 };
    let fits = |size: &f64| {
        let lines = measure::lines(&text, Face::Bold, (area.width * 1000.0 / size) as u32);
        lines as f64 * size * tall <= area.height
    };
    let sizes = [full, 32.0, 28.0, 24.0, 20.0, 18.0, 16.0];
    sizes.into_iter().filter(|size| *size <= full).find(fits).unwrap_or(14.0)
}
