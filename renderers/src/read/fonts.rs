//! Fonts of a PDF: the text and width of their codes.

use lopdf::{Dictionary, Document, Encoding, Object};
use std::collections::HashMap;

use super::bidi;

/// The maximum size of a table from codes to text.
const TABLE_BYTES: usize = 4 << 20;
/// The maximum number of codes whose widths are stored.
const CODES: usize = 70_000;

pub struct Font<'a> {
    encoding: Encoding<'a>,
    /// In units of the font size.
    widths: HashMap<u32, f32>,
    usual_width: f32,
    is_wide: bool,
    /// Whether all letters have the same width, or their widths are unknown.
    pub is_fixed_pitch: bool,
}

impl<'a> Font<'a> {
    pub fn of(document: &'a Document, font: &'a Dictionary) -> Option<Self> {
        let encoding = font.get_font_encoding_with_limit(document, TABLE_BYTES).ok()?;
        let descendant = font
            .get_deref(b"DescendantFonts", document)
            .and_then(Object::as_array)
            .ok()
            .and_then(|all| document.dereference(all.first()?).ok()?.1.as_dict().ok());
        let (widths, usual_width) = match descendant {
            Some(inner) => (wide(document, inner), number(document, inner, b"DW", 1000.0)),
            None => (narrow(document, font), 500.0),
        };
        let usual_width = usual_width / 1000.0;
        let (is_wide, is_fixed_pitch) = (descendant.is_some(), is_fixed_pitch(&widths));
        Some(Self { encoding, widths, usual_width, is_wide, is_fixed_pitch })
    }

    /// The text of the codes, in the order from left to right.
    pub fn text(&self, codes: &[u8]) -> String {
        let decode = |codes| Document::decode_text(&self.encoding, codes).unwrap_or_default();
        let text = decode(codes);
        if !bidi::has_rtl(&text) {
            return text;
        }
        let size = if self.is_wide { 2 } else { 1 };
        codes.chunks(size).map(|code| bidi::visual_cluster(&decode(code))).collect()
    }

    pub fn letters(&self, codes: &[u8]) -> usize {
        if self.is_wide { codes.len().div_ceil(2) } else { codes.len() }
    }

    /// The number of spaces that word spacing applies to: those of one byte (ISO 32000-1, 9.3.3).
    pub fn spaces(&self, codes: &[u8]) -> usize {
        if self.is_wide { 0 } else { codes.split(|code| *code == b' ').count() - 1 }
    }

    pub fn width(&self, codes: &[u8]) -> f32 {
        let of = |code: u32| self.widths.get(&code).copied().unwrap_or(self.usual_width);
        if self.is_wide {
            codes.chunks(2).map(|pair| of(pair.iter().fold(0, |c, b| c << 8 | u32::from(*b)))).sum()
        } else {
            codes.iter().map(|code| of(u32::from(*code))).sum()
        }
    }
}

/// Code 0 is no letter in most fonts.
fn is_fixed_pitch(widths: &HashMap<u32, f32>) -> bool {
    let known = widths.iter().filter(|(code, width)| **code > 0 && **width > 0.0);
    let edges = |(least, most): (f32, f32), width: f32| (least.min(width), most.max(width));
    let (least, most) = known.map(|(_, width)| *width).fold((f32::INFINITY, 0.0), edges);
    most <= least * 1.01
}

fn number(document: &Document, from: &Dictionary, name: &[u8], usual: f32) -> f32 {
    from.get_deref(name, document).and_then(Object::as_float).unwrap_or(usual)
}

fn narrow(document: &Document, font: &Dictionary) -> HashMap<u32, f32> {
    let first = number(document, font, b"FirstChar", 0.0) as u32;
    let widths = font.get_deref(b"Widths", document).and_then(Object::as_array);
    let widths = widths.map(Vec::as_slice).unwrap_or_default();
    let width = |object: &Object| {
        let object = document.dereference(object).ok()?.1;
        Some(object.as_float().ok()? / 1000.0)
    };
    let coded = (first..).zip(widths).take(256);
    coded.filter_map(|(code, object)| Some((code, width(object)?))).collect()
}

/// `first [w w w]`, or `first last w`.
fn wide(document: &Document, font: &Dictionary) -> HashMap<u32, f32> {
    let mut widths = HashMap::new();
    let all = font.get_deref(b"W", document).and_then(Object::as_array);
    let mut all = all.map(Vec::as_slice).unwrap_or_default().iter();
    while let (Some(first), Some(next)) = (all.next(), all.next()) {
        let Ok(first) = first.as_float() else { break };
        let first = first as u32;
        match document.dereference(next).map(|(_, object)| object) {
            Ok(Object::Array(row)) => {
                let row = row.iter().map(|width| width.as_float().unwrap_or(0.0) / 1000.0);
                widths.extend((first..).zip(row).take(CODES));
            }
            Ok(last) => {
                let last = last.as_float().unwrap_or(0.0) as u32;
                let width = all.next().and_then(|w| w.as_float().ok()).unwrap_or(0.0) / 1000.0;
                widths.extend((first..=last).take(CODES).map(|code| (code, width)));
            }
            Err(_) => break,
        }
        if widths.len() > CODES {
            break;
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_one_width_are_a_fixed_pitch() {
        let is_fixed = |widths: &[(u32, f32)]| is_fixed_pitch(&widths.iter().copied().collect());
        assert!(is_fixed(&[]), "unknown widths");
        assert!(is_fixed(&[(0, 0.5), (65, 0.6), (66, 0.602), (67, 0.0)]));
        assert!(!is_fixed(&[(65, 0.6), (66, 0.62)]));
    }
}
