//! PDF, page by page. A page only has positions of glyph runs; words, lines and tables are
//! reconstructed from them.

use lopdf::{
    Dictionary, Document, Object, ObjectId,
    content::{Content, Operation},
};
use std::{collections::HashMap, rc::Rc};

use super::{
    bidi,
    fonts::Font,
    grid::TextPiece,
    labels::Labels,
    limits,
    overlaps::{DrawnRuns, WIDE_GAP, WORD_GAP},
    pdf_annotations::PdfAnnotations,
    pdf_blocks::{self, PdfText},
    pdf_marks::{OpenMarks, ScriptRun},
    pdf_state::TextState,
    printed_labels::PrintedLabel,
    reading::{Kind, ReadError, Reading},
    tables::MERGED,
    tags::{TagMark, Tags},
    transform::{Matrix, SAME, matrix, number, within},
    unlock,
    words::Script,
};
use crate::counted::counted;
use crate::package::measure::is_wide;

/// The maximum nesting of form XObjects.
const FORMS: usize = 8;
/// The maximum number of form XObjects drawn on a page.
const DRAWINGS: usize = 1_000;
/// The maximum number of glyph runs on a page.
const RUNS: usize = 200_000;

pub fn read(bytes: &[u8], passwords: &[String]) -> Result<Reading, ReadError> {
    let document = unlock::pdf(bytes, passwords)?;
    let pages = document.get_pages();
    limits::within(pages.len() as u64, limits::PAGES as u64, "pages")?;
    if pages.is_empty() {
        return Err(ReadError::Damaged("The PDF has no pages.".into()));
    }
    let tags = Tags::of(&document);
    let mut text = PdfText::default();
    let mut annotations = PdfAnnotations::of(&document);
    let mut invisible = 0;
    let mut reading = Reading { pages: pages.len(), ..Reading::of(Kind::Pdf, String::new()) };
    for (number, id) in pages {
        text.words.heading(2, &format!("Page {number}"));
        let mut page = PageReader::of(&document, id, &tags);
        if let Err(problem) = page.read(id) {
            reading.warnings.push(format!("Page {number} is incomplete: {problem}."));
        }
        page.open.end(page.pieces.last_mut());
        let mut pieces = page.drawn.in_lines(page.pieces);
        pdf_blocks::order(&mut pieces);
        reading.pictures += usize::from(pieces.is_empty() && page.has_pictures);
        // That of a scanned page is the text of its picture.
        invisible += usize::from(page.has_invisible && !page.has_pictures);
        text.add(&pieces, &mut page.labels)?;
        annotations.write(id, &mut text.words);
    }
    if invisible > 0 {
        reading.warnings.push(counted(
            invisible,
            "page has text that is invisible.",
            "pages have text that is invisible.",
        ));
    }
    reading.warnings.extend(text.has_merged.then(|| MERGED.to_owned()));
    reading.markdown = text.words.finish();
    Ok(reading)
}

/// The gap between two runs: none, a space, or wider than within a line.
enum Gap {
    None,
    Word,
    Wide(&'static str),
}

struct PageReader<'a> {
    document: &'a Document,
    id: ObjectId,
    tags: &'a Tags,
    /// The marks of the marked content that is open.
    marks: Vec<Option<&'a TagMark>>,
    open: OpenMarks,
    pieces: Vec<TextPiece>,
    drawn: DrawnRuns,
    labels: Labels,
    text_bytes: usize,
    has_pictures: bool,
    /// Whether there is text that is not drawn.
    has_invisible: bool,
    runs: usize,
    drawings: usize,
    fonts: HashMap<usize, Option<Rc<Font<'a>>>>,
    /// The end position and height of the last run.
    last: Option<(f32, f32, f32)>,
    /// Whether the next run is the first of a text object.
    begins_object: bool,
}

impl<'a> PageReader<'a> {
    fn of(document: &'a Document, id: ObjectId, tags: &'a Tags) -> Self {
        Self {
            document,
            id,
            tags,
            marks: Vec::new(),
            open: OpenMarks::default(),
            pieces: Vec::new(),
            drawn: DrawnRuns::default(),
            labels: Labels::default(),
            text_bytes: 0,
            has_pictures: false,
            has_invisible: false,
            runs: 0,
            drawings: 0,
            fonts: HashMap::new(),
            last: None,
            begins_object: false,
        }
    }

    fn read(&mut self, id: ObjectId) -> lopdf::Result<()> {
        let content = self.document.get_page_content_with_limit(id, limits::PAGE_BYTES)?;
        let (own, others) = self.document.get_page_resources(id)?;
        let others = others.iter().filter_map(|id| self.document.get_dictionary(*id).ok());
        let resources: Vec<_> = own.into_iter().chain(others).collect();
        self.draw(&content, &resources, SAME, 0)
    }

    fn draw(
        &mut self,
        content: &[u8],
        resources: &[&'a Dictionary],
        space: Matrix,
        depth: usize,
    ) -> lopdf::Result<()> {
        let mut state = TextState::of(space);
        let mut saved = Vec::new();
        for operation in Content::decode_iter(content) {
            let Operation { operator, operands } = operation?;
            match operator.as_str() {
                "BDC" | "BMC" if self.marks.len() < limits::DEPTH => {
                    let mark = self.mark_of(&operands, resources);
                    self.marks.push(mark.or(self.marks.last().copied().flatten()));
                }
                "EMC" => drop(self.marks.pop()),
                "q" if saved.len() < limits::DEPTH => saved.push(state.clone()),
                "Q" => state = saved.pop().unwrap_or(state),
                "cm" => state.space = within(matrix(&operands), state.space),
                "Tf" => {
                    state.font = name(&operands).and_then(|name| self.font(resources, name));
                    state.size = number(&operands, 1);
                }
                "Do" if depth < FORMS => {
                    if let Some(form) = name(&operands).and_then(|n| self.form(resources, n)) {
                        self.drawings += 1;
                        let space = within(form.1, state.space);
                        let inner = form.2.map_or_else(|| resources.to_vec(), |own| vec![own]);
                        self.draw(&form.0, &inner, space, depth + 1)?;
                    }
                }
                _ => self.write(&operator, &operands, &mut state),
            }
            let is_over = self.runs > RUNS || self.drawings > DRAWINGS;
            if is_over || self.text_bytes > limits::PAGE_BYTES {
                return Err(lopdf::Error::RecursionLimit);
            }
        }
        Ok(())
    }

    fn write(&mut self, operator: &str, operands: &[Object], state: &mut TextState<'a>) {
        state.apply(operator, operands);
        match operator {
            "BT" => self.begins_object = true,
            "Tj" | "TJ" | "'" => self.show(operands, state),
            "\"" => self.show(operands.get(2..).unwrap_or_default(), state),
            _ => {}
        }
    }

    fn show(&mut self, operands: &[Object], state: &mut TextState<'a>) {
        for operand in operands {
            match operand {
                Object::String(codes, _) => self.run(codes, state),
                Object::Array(parts) => {
                    for part in parts {
                        match part {
                            Object::String(codes, _) => self.run(codes, state),
                            other => state.move_back(other.as_float().unwrap_or(0.0)),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn run(&mut self, codes: &[u8], state: &mut TextState<'a>) {
        let Some(font) = state.font.clone() else { return };
        self.runs += 1;
        let at = state.place();
        let text = font.text(codes);
        let height = state.size.abs() * (at[2].abs() + at[3].abs());
        self.text_bytes += text.len() + 2;
        self.has_invisible |= state.is_invisible && !text.trim().is_empty();
        state.show(&font, codes);
        let end = state.place();
        let (left, right) = (at[4].min(end[4]), at[4].max(end[4]));
        let gap = self.gap(at[4], at[5], height, &text);
        self.last = Some((end[4], end[5], height));
        let mark = self.marks.last().copied().flatten();
        let block = mark.and_then(|mark| mark.block);
        let cell = mark.and_then(|mark| mark.cell);
        let paragraph = mark.and_then(|mark| mark.paragraph);
        if mark.is_some_and(|mark| mark.is_label) {
            let is_apart = !matches!(gap, Gap::None);
            return self.labels.push(block.map(|block| block.number), is_apart, &text);
        }
        let is_same = |piece: &TextPiece| piece.block == block && piece.cell == cell;
        let is_new = !self.pieces.last().is_some_and(is_same);
        let gap = match gap {
            Gap::Wide(before) => Gap::Wide(before),
            _ if is_new => Gap::Wide(" "),
            gap => gap,
        };
        let link = mark.and_then(|mark| mark.link.clone()).filter(|_| !bidi::has_rtl(&text));
        let tagged = mark.map_or(Script::Level, |mark| mark.script);
        let run = ScriptRun { text: &text, y: at[5], height, tagged };
        let opening = self.turn_to(&gap, &run, link);
        // Ideographs have one width in all fonts.
        let is_fixed_pitch = font.is_fixed_pitch && !text.chars().any(is_wide);
        match (gap, self.pieces.last_mut()) {
            (Gap::Wide(before), _) => {
                let text = format!("{opening}{text}");
                self.pieces.push(TextPiece {
                    text,
                    left,
                    right,
                    y: at[5],
                    height,
                    before,
                    block,
                    cell,
                    paragraph,
                    is_fixed_pitch,
                });
            }
            (gap, Some(piece)) => {
                if matches!(gap, Gap::Word) && !piece.text.ends_with(' ') {
                    piece.text.push(' ');
                }
                piece.text.extend([opening.as_str(), &text]);
                piece.is_fixed_pitch &= is_fixed_pitch || text.trim().is_empty();
                (piece.left, piece.right) = (piece.left.min(left), piece.right.max(right));
            }
            (_, None) => {}
        }
        self.drawn.add(self.pieces.len() - 1, &text, left, right);
    }

    /// Ends and begins the marks of links and scripts. Returns what precedes the text of the run.
    fn turn_to(&mut self, gap: &Gap, run: &ScriptRun, link: Option<Rc<str>>) -> String {
        let line = self.pieces.last_mut().filter(|_| !matches!(gap, Gap::Wide(_)));
        let opening = match line {
            Some(line) => self.open.go_on(line, run, link),
            None => self.open.begin(self.pieces.last_mut(), run, link),
        };
        if !opening.is_empty() {
            self.text_bytes += opening.len() * 3 + self.open.link_bytes();
        }
        opening
    }

    /// The mark of the content with these properties.
    fn mark_of(&self, operands: &[Object], resources: &[&'a Dictionary]) -> Option<&'a TagMark> {
        let properties = match operands.get(1)? {
            Object::Dictionary(properties) => properties,
            Object::Name(name) => self.resource(resources, b"Properties", name)?.as_dict().ok()?,
            _ => return None,
        };
        self.tags.mark(self.id, properties.get(b"MCID").ok()?.as_i64().ok()?)
    }

    /// The gap between the last run and the next, which has this text.
    fn gap(&mut self, x: f32, y: f32, height: f32, text: &str) -> Gap {
        let begins_object = std::mem::take(&mut self.begins_object);
        let Some((last_x, last_y, last_height)) = self.last else { return Gap::Wide("") };
        let height = height.max(last_height).max(1.0);
        let (right, down) = (x - last_x, (last_y - y).abs());
        if down > height * 1.9 {
            Gap::Wide("\n\n")
        } else if down > height * 0.5 {
            Gap::Wide("\n")
        } else if !(-height..=height * WIDE_GAP).contains(&right) {
            Gap::Wide(" ")
        } else if right > height * WORD_GAP || (begins_object && self.is_after_label(text)) {
            Gap::Word
        } else {
            Gap::None
        }
    }

    /// Whether the last piece is only a label. One that is as wide as its indentation has no gap after
    /// it.
    fn is_after_label(&self, text: &str) -> bool {
        let label = self.pieces.last().and_then(|piece| PrintedLabel::of(piece.text.trim()));
        matches!(label, Some(PrintedLabel::Ordinal(_))) && text.starts_with(char::is_alphabetic)
    }

    fn font(&mut self, resources: &[&'a Dictionary], name: &[u8]) -> Option<Rc<Font<'a>>> {
        let font = self.resource(resources, b"Font", name)?.as_dict().ok()?;
        let key = std::ptr::from_ref(font) as usize;
        let document = self.document;
        self.fonts.entry(key).or_insert_with(|| Font::of(document, font).map(Rc::new)).clone()
    }

    /// Interprets a form XObject. Pictures are only counted.
    fn form(
        &mut self,
        resources: &[&'a Dictionary],
        name: &[u8],
    ) -> Option<(Vec<u8>, Matrix, Option<&'a Dictionary>)> {
        let stream = self.resource(resources, b"XObject", name)?.as_stream().ok()?;
        if stream.dict.get(b"Subtype").and_then(Object::as_name).ok()? != b"Form" {
            self.has_pictures = true;
            return None;
        }
        let content = stream.get_plain_content_with_limit(limits::PAGE_BYTES).ok()?;
        let place = stream.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array);
        let place = place.map_or(SAME, |numbers| matrix(numbers));
        let own = stream.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict);
        Some((content, place, own.ok()))
    }

    fn resource(
        &self,
        resources: &[&'a Dictionary],
        kind: &[u8],
        name: &[u8],
    ) -> Option<&'a Object> {
        resources.iter().find_map(|one| {
            one.get_deref(kind, self.document)
                .ok()?
                .as_dict()
                .ok()?
                .get_deref(name, self.document)
                .ok()
        })
    }
}

fn name(operands: &[Object]) -> Option<&[u8]> {
    operands.first()?.as_name().ok()
}
