//! Texts on the pages of a PDF: a watermark and page numbers, in a font that every viewer has.

use lopdf::{Dictionary, Document, Object, ObjectId, Stream, dictionary};

use super::{
    Change, EditError, invalid,
    pages::inherited,
    pdf_work::{Work, odd},
};

/// The maximum length of a watermark, in characters.
const WATERMARK_CHARS: usize = 60;

/// The size of page numbers and their distance from the edge, in points.
const NUMBER_SIZE: f32 = 9.0;
const NUMBER_EDGE: f32 = 24.0;

const FONT: &str = "CountersignStamp";
const PALE: &str = "CountersignPale";

/// The signs of WinAnsiEncoding that differ from Latin-1.
const OTHERS: [(char, u8); 27] = [
    ('€', 0x80),
    ('‚', 0x82),
    ('ƒ', 0x83),
    ('„', 0x84),
    ('…', 0x85),
    ('†', 0x86),
    ('‡', 0x87),
    ('ˆ', 0x88),
    ('‰', 0x89),
    ('Š', 0x8A),
    ('‹', 0x8B),
    ('Œ', 0x8C),
    ('Ž', 0x8E),
    ('‘', 0x91),
    ('’', 0x92),
    ('“', 0x93),
    ('”', 0x94),
    ('•', 0x95),
    ('–', 0x96),
    ('—', 0x97),
    ('˜', 0x98),
    ('™', 0x99),
    ('š', 0x9A),
    ('›', 0x9B),
    ('œ', 0x9C),
    ('ž', 0x9E),
    ('Ÿ', 0x9F),
];

/// The text in WinAnsiEncoding, if it has only its letters.
pub(super) fn encoded(text: &str) -> Option<Vec<u8>> {
    let byte = |c: char| match c {
        ' '..='~' | '\u{A0}'..='\u{FF}' => u8::try_from(u32::from(c)).ok(),
        _ => OTHERS.iter().find(|(other, _)| *other == c).map(|(_, byte)| *byte),
    };
    text.chars().map(byte).collect()
}

/// A string of a content stream.
pub(super) fn literal(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("<{}>", digits.concat())
}

/// The approximate width of a text in Helvetica, in font sizes.
pub(super) fn width(text: &str) -> f32 {
    let one = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ' ' | '\'' | '|' | ':' | ';' | '!' | '/' => 0.278,
        'm' | 'M' | 'W' | '@' | '%' => 0.86,
        c if c.is_uppercase() => 0.69,
        _ => 0.556,
    };
    text.chars().map(one).sum()
}

/// Helvetica, which viewers have.
pub(super) fn helvetica(document: &mut Document) -> ObjectId {
    document.add_object(dictionary! {
        "Type" => "Font",
        "Subtype" => "Type1",
        "BaseFont" => "Helvetica",
        "Encoding" => "WinAnsiEncoding",
    })
}

/// What is added to each page.
#[derive(Clone, Copy)]
pub(super) struct Stamps<'e> {
    /// A text across the page.
    pub watermark: Option<&'e str>,
    /// Whether the number of the page and the number of pages are at the bottom.
    pub page_numbers: bool,
}

pub(super) fn stamp(
    document: &mut Document,
    pages: &[ObjectId],
    stamps: Stamps<'_>,
    work: &mut Work,
) -> Result<(), EditError> {
    let watermark = stamps.watermark.map(str::trim).filter(|text| !text.is_empty());
    if watermark.is_some_and(|text| text.chars().count() > WATERMARK_CHARS) {
        return invalid(format!("A watermark has at most {WATERMARK_CHARS} characters."));
    }
    let Some(letters) = encoded(watermark.unwrap_or_default()) else {
        return invalid("A watermark may only have letters of Western European languages.");
    };
    let font = helvetica(document);
    let pale = document.add_object(dictionary! { "Type" => "ExtGState", "ca" => 0.3 });
    for (at, page) in pages.iter().enumerate() {
        let space = Space::of(document, *page);
        let mut drawing = format!("/Artifact BMC q {} cm\n", space.matrix());
        if let Some(text) = watermark {
            drawing += &space.across(text, &letters);
        }
        if stamps.page_numbers {
            drawing += &space.below(&format!("{} / {}", at + 1, pages.len()));
        }
        drawing += "Q EMC\n";
        add(document, *page, drawing, Resources { font, pale })?;
    }
    if let Some(text) = watermark {
        work.changes.push(Change::added("watermark on each page", text));
    }
    if stamps.page_numbers {
        let last = pages.len();
        work.changes.push(Change::added("page numbers", &format!("1 / {last} … {last} / {last}")));
    }
    Ok(())
}

/// What the drawing refers to.
struct Resources {
    font: ObjectId,
    pale: ObjectId,
}

/// The visible part of a page, as it is shown.
struct Space {
    left: f32,
    bottom: f32,
    width: f32,
    height: f32,
    degrees: i64,
}

impl Space {
    fn of(document: &Document, page: ObjectId) -> Self {
        let area = |key: &[u8]| {
            let area = inherited(document, page, key)?;
            let sides = area.as_array().ok()?.iter();
            let sides: Vec<f32> = sides
                .filter_map(|side| document.dereference(side).ok()?.1.as_float().ok())
                .collect();
            <[f32; 4]>::try_from(sides).ok()
        };
        let [a, b, c, d] =
            area(b"CropBox").or_else(|| area(b"MediaBox")).unwrap_or([0.0, 0.0, 612.0, 792.0]);
        let degrees = inherited(document, page, b"Rotate").and_then(|turn| turn.as_i64().ok());
        Self {
            left: a.min(c),
            bottom: b.min(d),
            width: (a - c).abs(),
            height: (b - d).abs(),
            degrees: degrees.unwrap_or(0).rem_euclid(360),
        }
    }

    /// From the page as it is shown to the page as it is stored.
    fn matrix(&self) -> String {
        let Self { left, bottom, width, height, degrees } = self;
        let (right, top) = (left + width, bottom + height);
        match degrees {
            90 => format!("0 1 -1 0 {right} {bottom}"),
            180 => format!("-1 0 0 -1 {right} {top}"),
            270 => format!("0 -1 1 0 {left} {top}"),
            _ => format!("1 0 0 1 {left} {bottom}"),
        }
    }

    /// Width and height as they are shown.
    fn shown(&self) -> (f32, f32) {
        match self.degrees {
            90 | 270 => (self.height, self.width),
            _ => (self.width, self.height),
        }
    }

    /// A pale text from the lower left to the upper right.
    fn across(&self, text: &str, letters: &[u8]) -> String {
        let (page_width, page_height) = self.shown();
        let length = page_width.hypot(page_height);
        let (cos, sin) = (page_width / length, page_height / length);
        let size = (0.75 * length / width(text).max(1.0)).min(page_width.min(page_height) / 4.0);
        let back = width(text) * size / 2.0;
        let x = page_width / 2.0 - cos * back + sin * size * 0.35;
        let y = page_height / 2.0 - sin * back - cos * size * 0.35;
        format!(
            "q /{PALE} gs 0.5 g BT /{FONT} {size:.2} Tf {cos:.4} {sin:.4} {:.4} {cos:.4} {x:.2} \
             {y:.2} Tm {} Tj ET Q\n",
            -sin,
            literal(letters)
        )
    }

    /// A small text in the middle of the lower edge.
    fn below(&self, text: &str) -> String {
        let x = (self.shown().0 - width(text) * NUMBER_SIZE) / 2.0;
        let letters = literal(text.as_bytes());
        format!("BT 0.3 g /{FONT} {NUMBER_SIZE} Tf {x:.2} {NUMBER_EDGE} Td {letters} Tj ET\n")
    }
}

/// Adds a drawing after the contents of a page, whose state it does not inherit.
fn add(
    document: &mut Document,
    page: ObjectId,
    drawing: String,
    uses: Resources,
) -> Result<(), EditError> {
    let resources = inherited(document, page, b"Resources");
    let mut resources =
        resources.and_then(|found| found.as_dict().cloned().ok()).unwrap_or_default();
    for (kind, name, id) in [("Font", FONT, uses.font), ("ExtGState", PALE, uses.pale)] {
        let known = resources.get_deref(kind.as_bytes(), document).and_then(Object::as_dict);
        let mut known: Dictionary = known.cloned().unwrap_or_default();
        known.set(name, id);
        resources.set(kind, known);
    }
    let contents = document.get_page_contents(page).into_iter().map(Object::Reference);
    let contents: Vec<Object> = contents.collect();
    let mut stream = |text: String| {
        Object::Reference(document.add_object(Stream::new(Dictionary::new(), text.into_bytes())))
    };
    let before = stream("q\n".into());
    let after = stream(format!("\nQ\n{drawing}"));
    let all: Vec<Object> = [vec![before], contents, vec![after]].concat();
    let page = document.get_dictionary_mut(page).map_err(odd)?;
    page.set("Resources", resources);
    page.set("Contents", all);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Windows-1252, only the five bytes without a letter are missing.
    #[test]
    fn all_letters_of_the_encoding_are_written() {
        assert_eq!(encoded("Cœur à Žižkov").unwrap(), b"C\x9cur \xe0 \x8ei\x9ekov");
        let found = (0x80..=0x9F_u8).filter(|byte| OTHERS.iter().any(|(_, known)| known == byte));
        assert_eq!(found.count(), 27);
        assert_eq!(encoded("草"), None);
    }
}
