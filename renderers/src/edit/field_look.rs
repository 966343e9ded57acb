//! How the value of a form field of a PDF is drawn.

use std::fmt::Write as _;

use lopdf::{Dictionary, Document, Object, ObjectId};

use super::stamp::{encoded, literal, width};

/// The flag of fields with several lines (ISO 32000-1, table 228).
const MULTILINE: i64 = 1 << 12;

/// How a text field is drawn.
pub(super) struct FieldLook {
    pub area: Vec<Object>,
    /// From the area to its place on the page.
    pub matrix: Vec<Object>,
    pub drawing: String,
}

/// The look of a text field, if its letters are in the font that viewers have.
pub(super) fn look(
    document: &Document,
    widget: ObjectId,
    text: &str,
    flags: i64,
) -> Option<FieldLook> {
    let is_tall = flags & MULTILINE != 0;
    let widget = document.get_dictionary(widget).ok()?;
    let rect = widget.get_deref(b"Rect", document).ok()?;
    let sides: Vec<f32> =
        rect.as_array().ok()?.iter().filter_map(|side| side.as_float().ok()).collect();
    let [a, b, c, d] = <[f32; 4]>::try_from(sides).ok()?;
    let (wide, high) = ((a - c).abs(), (b - d).abs());
    // Fields of rotated pages are rotated too, counterclockwise (ISO 32000-1, table 189).
    let details = widget.get_deref(b"MK", document).and_then(Object::as_dict);
    let degrees = details.and_then(|details| details.get_deref(b"R", document));
    let degrees = degrees.and_then(Object::as_i64).unwrap_or(0).rem_euclid(360);
    let (wide, high, matrix) = match degrees {
        90 => (high, wide, [0.0, 1.0, -1.0, 0.0, wide, 0.0]),
        180 => (wide, high, [-1.0, 0.0, 0.0, -1.0, wide, high]),
        270 => (high, wide, [0.0, -1.0, 1.0, 0.0, 0.0, high]),
        _ => (wide, high, [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
    };
    let room = (wide - 4.0).max(1.0);
    let size = if is_tall {
        10.0_f32.min(high * 0.7)
    } else {
        12.0_f32.min(high * 0.7).min(room / width(text).max(0.1)).max(4.0)
    };
    let lines = if is_tall { wrapped(text, room / size) } else { vec![text.replace('\n', " ")] };
    let top = if is_tall { high - size - 2.0 } else { (high - size) / 2.0 + size * 0.2 };
    let mut drawing = frame(document, widget, wide, high);
    let _ = writeln!(
        drawing,
        "/Tx BMC q 1 1 {:.2} {:.2} re W n BT 0 g /Helv {size:.2} Tf {:.2} TL 2 {top:.2} Td",
        wide - 2.0,
        high - 2.0,
        size * 1.2
    );
    for line in lines {
        drawing.extend([literal(&encoded(&line)?), " Tj T*\n".to_owned()]);
    }
    drawing += "ET Q EMC\n";
    let area = vec![0.into(), 0.into(), wide.into(), high.into()];
    Some(FieldLook { area, matrix: matrix.map(Object::from).to_vec(), drawing })
}

/// The background and the border of a field (ISO 32000-1, table 189).
fn frame(document: &Document, widget: &Dictionary, wide: f32, high: f32) -> String {
    let details = widget.get_deref(b"MK", document).and_then(Object::as_dict).ok();
    let color = |key: &[u8], operators: [&str; 3]| {
        let numbers = details?.get_deref(key, document).and_then(Object::as_array).ok()?;
        let operator = match numbers.len() {
            1 => operators[0],
            3 => operators[1],
            4 => operators[2],
            _ => return None,
        };
        let number = |number: &Object| Some(format!("{:.3} ", number.as_float().ok()?));
        let numbers: String = numbers.iter().map(number).collect::<Option<_>>()?;
        Some(numbers + operator)
    };
    let mut frame = String::new();
    if let Some(color) = color(b"BG", ["g", "rg", "k"]) {
        let _ = writeln!(frame, "q {color} 0 0 {wide:.2} {high:.2} re f Q");
    }
    let style = widget.get_deref(b"BS", document).and_then(Object::as_dict);
    let width = style.and_then(|style| style.get_deref(b"W", document));
    let width = width.and_then(Object::as_float).unwrap_or(1.0);
    if let Some(color) = color(b"BC", ["G", "RG", "K"]).filter(|_| width > 0.0) {
        let (half, wide, high) = (width / 2.0, wide - width, high - width);
        let _ = writeln!(
            frame,
            "q {color} {width:.2} w {half:.2} {half:.2} {wide:.2} {high:.2} re S Q"
        );
    }
    frame
}

/// Breaks a text into lines of this width, in font sizes.
fn wrapped(text: &str, room: f32) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && width(&line) + width(" ") + width(word) > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}
