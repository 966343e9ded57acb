//! Writes one slide: title, items, footer and notes.

use super::deck::Deck;
use super::geometry::{Area, emu};
use super::heights::{INSET, SMALL, caption_height, code_height, code_size, size};
use super::items::{Item, Para};
use super::layouts::Layout;
use super::markup::{Holder, NAMESPACES, TREE, close_shape, fill, open_holder, open_shape};
use super::page::{Page, Piece};
use super::paragraphs::Format;
use super::sheet::Sheet;
use crate::document::{Alert, Align, Color, Inline, PictureWidth};
use crate::package::Relations;
use crate::package::look;
use crate::package::measure::{self, Face, begins_rtl, is_wide};
use crate::package::text::plain;
use crate::package::xml::Xml;

const KIND: &str = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml";

impl<'d> Deck<'d> {
    /// Writes slide `number`, counted from one.
    pub fn slide(&mut self, number: usize, page: &Page<'d>) {
        let mut relations = Relations::default();
        let layout = page.layout as usize + 1;
        relations.part("slideLayout", &format!("../slideLayouts/slideLayout{layout}.xml"));
        if !page.notes.is_empty() {
            relations.part("notesSlide", &format!("../notesSlides/notesSlide{number}.xml"));
            self.notes(number, &page.notes);
        }
        let mut sheet =
            Sheet { deck: self, relations, links: Vec::new(), last_id: 1, ink: page.ink };
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

impl Sheet<'_, '_> {
    fn title(&mut self, xml: &mut Xml, page: &Page<'_>) {
        let holder = page.layout.title();
        let area = page.layout.title_area(&page.geometry);
        let moved = area != page.layout.title_area(&self.deck.geometry);
        let full = page.layout.title_size();
        let size = title_size(&page.title, area, full);
        let id = self.next_id();
        let place = moved.then_some(area);
        open_shape(xml, &[("id", &id), ("name", "Title")], holder, place);
        xml.empty("a:bodyPr", &[]);
        xml.empty("a:lstStyle", &[]);
        let size = (size < full).then_some(size);
        self.line(
            xml,
            &page.title,
            Align::Start,
            Format { size, unseen: page.hidden_title, ..Format::default() },
        );
        close_shape(xml);
    }

    fn pieces(&mut self, xml: &mut Xml, page: &Page<'_>) {
        for (at, piece) in page.pieces.iter().enumerate() {
            let holder = page.layout.holder(at);
            match &piece.item {
                Item::Text(_) => self.text(xml, piece, page.layout, holder),
                Item::Alert(alert, paras) => self.alert(xml, (*alert, paras), piece, holder),
                Item::Code { language, text, .. } => {
                    self.code_box(xml, (language.as_deref(), text), piece, holder);
                }
                Item::Table(table) => self.table(xml, table, piece),
                Item::Chart(chart) => self.chart(xml, chart, piece.area),
                Item::Picture { picture, alt, caption, width, .. } => {
                    let high = caption_height(caption, piece.area.width);
                    let below = high.min(piece.area.height / 2.0);
                    let above = piece.area.height - below;
                    let area = narrowed(piece.area.band(0.0, above), *width);
                    self.picture(xml, (picture, alt), area);
                    if !caption.is_empty() {
                        self.caption(xml, caption, piece.area.band(above, below), holder);
                    }
                }
            }
        }
    }

    fn text(&mut self, xml: &mut Xml, piece: &Piece<'_>, layout: Layout, holder: Holder) {
        let Item::Text(paras) = &piece.item else { return };
        let own = layout.body(&self.deck.geometry);
        let area = (own != piece.area).then_some(piece.area);
        let id = self.next_id();
        open_shape(xml, &[("id", &id), ("name", &format!("Text {id}"))], holder, area);
        xml.open("a:bodyPr", &[]);
        self.scaled(xml, paras, piece.scale);
        close_shape(xml);
    }

    /// Centred below a picture.
    fn caption(&mut self, xml: &mut Xml, caption: &str, area: Area, holder: Holder) {
        let id = self.next_id();
        let named = [("id", id.as_str()), ("name", &format!("Caption {id}"))];
        open_shape(xml, &named, holder, Some(area));
        xml.raw("<a:bodyPr><a:normAutofit/></a:bodyPr><a:lstStyle/>");
        let rtl = begins_rtl(caption);
        xml.open("a:p", &[]);
        let mut attributes = vec![("marL", "0"), ("indent", "0"), ("algn", "ctr")];
        attributes.extend(rtl.then_some(("rtl", "1")));
        xml.open("a:pPr", &attributes);
        xml.empty("a:buNone", &[]);
        xml.close();
        let (size, color) = (Some(SMALL), Color::read(self.deck.look.quiet));
        self.run(xml, caption, Format { rtl, color, size, ..Format::default() });
        xml.close();
        close_shape(xml);
    }

    /// The rest of a body whose text is drawn at that scale.
    fn scaled(&mut self, xml: &mut Xml, paras: &[Para], scale: f64) {
        debug_assert!(paras.iter().all(|para| size(para, scale) > 0.0));
        let percent = ((scale * 100_000.0) as i64).to_string();
        if scale < 1.0 {
            xml.empty("a:normAutofit", &[("fontScale", &percent)]);
        } else {
            xml.empty("a:normAutofit", &[]);
        }
        xml.close();
        xml.empty("a:lstStyle", &[]);
        self.paras(xml, paras, scale);
    }

    fn code_box(
        &mut self,
        xml: &mut Xml,
        code: (Option<&str>, &str),
        piece: &Piece<'_>,
        holder: Holder,
    ) {
        let (language, text) = code;
        let Item::Code { size, .. } = &piece.item else { return };
        let size = size.unwrap_or_else(|| code_size(text, piece.area.width, piece.scale));
        let high = code_height(text, piece.area.width, size);
        let area = Area { height: high.min(piece.area.height), ..piece.area };
        self.open_box(xml, ("Code", self.deck.look.line), area, holder);
        xml.empty("a:noAutofit", &[]);
        xml.close();
        xml.empty("a:lstStyle", &[]);
        let ink = self.ink.take();
        self.code(xml, language, text, size);
        self.ink = ink;
        close_shape(xml);
    }

    fn alert(&mut self, xml: &mut Xml, alert: (Alert, &[Para]), piece: &Piece<'_>, holder: Holder) {
        let (alert, paras) = alert;
        self.open_box(xml, ("Alert", look::alert(alert)), piece.area, holder);
        let ink = self.ink.take();
        self.scaled(xml, paras, piece.scale);
        self.ink = ink;
        close_shape(xml);
    }

    /// A box up to its text properties; `frame` is its name and border colour.
    fn open_box(&mut self, xml: &mut Xml, frame: (&str, &str), area: Area, holder: Holder) {
        let (name, line) = frame;
        let id = self.next_id();
        let [x, y, width, height] = area.emu();
        open_holder(xml, &[("id", &id), ("name", &format!("{name} {id}"))], holder);
        xml.open("p:spPr", &[]);
        xml.open("a:xfrm", &[]);
        xml.empty("a:off", &[("x", &x), ("y", &y)]);
        xml.empty("a:ext", &[("cx", &width), ("cy", &height)]);
        xml.close();
        if self.deck.look.is_dark() {
            xml.empty("a:noFill", &[]);
        } else {
            fill(xml, self.deck.look.paper);
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
    fn edge(&mut self, xml: &mut Xml, page: &Page<'_>, number: usize) {
        let moved = page.geometry.footer != self.deck.geometry.footer;
        if let Some(text) = page.footer.as_deref().filter(|text| !text.trim().is_empty()) {
            let id = self.next_id();
            let place = moved.then_some(page.geometry.footer);
            open_shape(xml, &[("id", &id), ("name", "Footer")], Holder::FOOTER, place);
            xml.raw("<a:bodyPr/><a:lstStyle/>");
            let text = [Inline::Text(text.trim().to_owned())];
            self.line(xml, &text, Align::Start, Format::default());
            close_shape(xml);
        }
        if page.numbered {
            let id = self.next_id();
            let place = moved.then_some(page.geometry.number);
            open_shape(xml, &[("id", &id), ("name", "Slide Number")], Holder::NUMBER, place);
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
    let width = width.of(area.width, 0.75).max(8.0);
    area.column((area.width - width) / 2.0, width)
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
