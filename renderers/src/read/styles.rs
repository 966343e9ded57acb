//! The number formats of a workbook's cells.

use std::collections::HashMap;

use super::{
    reading::ReadError,
    xml::{XmlNode, walk},
};
use crate::number_text::{Separators, date_format, exact, general, shown, shown_text, text_with};

/// The days between the two ways to count them.
const DAYS_1904: f64 = 1_462.0;

/// The maximum length of a format, which many cells may share. Excel writes 255 characters.
const FORMAT_BYTES: usize = 2_000;

/// The format of each cell style.
#[derive(Default)]
pub struct Styles(Vec<Option<String>>);

impl Styles {
    /// The text as a cell of this style displays it.
    pub fn shown_text(&self, text: &str, style: usize) -> String {
        match self.0.get(style).and_then(Option::as_deref) {
            Some(format) => shown_text(text, format),
            None => text.to_owned(),
        }
    }

    /// The number as a cell of this style displays it; dates in the ISO notation, which is
    /// unambiguous.
    pub fn shown(&self, value: f64, style: usize, since_1904: bool) -> String {
        let Some(format) = self.0.get(style).and_then(Option::as_deref) else {
            return general(value);
        };
        let Some(date) = date_format(format) else { return shown(value, format) };
        let serial = if since_1904 { value + DAYS_1904 } else { value };
        match (date.has_day, date.has_time) {
            _ if date.is_elapsed => shown(value, "[h]:mm:ss"),
            // Serial numbers below one are times without a date.
            (false, true) => shown(value, "hh:mm:ss"),
            (true, _) if value < 1.0 => shown(value, "hh:mm:ss"),
            (true, true) if serial.fract() != 0.0 => shown(serial, "yyyy-mm-dd hh:mm:ss"),
            (true, _) => shown(serial, "yyyy-mm-dd"),
            (false, false) => shown(serial, format),
        }
    }

    /// The number as a cell of this style displays it, but with these separators. Without a format,
    /// it has all of its digits.
    pub fn exact(&self, value: f64, style: usize, separators: Separators) -> String {
        let format = self.0.get(style).and_then(Option::as_deref);
        match format.filter(|format| !format.eq_ignore_ascii_case("general")) {
            Some(format) => text_with(value, format, separators).trim().to_owned(),
            None => exact(value).replace('.', &separators.decimals.to_string()),
        }
    }
}

/// The styles of `xl/styles.xml`.
pub fn read(xml: &[u8]) -> Result<Styles, ReadError> {
    let mut custom: HashMap<usize, String> = HashMap::new();
    let (mut styles, mut in_cells) = (Vec::new(), false);
    walk(xml, |node| {
        match node {
            XmlNode::Open(element) => match element.name.as_str() {
                "numFmt" => {
                    let code = element.attribute("formatCode");
                    let code = code.filter(|code| code.len() <= FORMAT_BYTES);
                    let format = element.number("numFmtId").zip(code);
                    custom.extend(format.map(|(id, code)| (id, code.to_owned())));
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells => styles.push(element.number("numFmtId").unwrap_or(0)),
                _ => {}
            },
            XmlNode::Close("cellXfs") => in_cells = false,
            _ => {}
        }
        Ok(())
    })?;
    let format = |id: usize| custom.get(&id).cloned().or_else(|| built_in(id).map(str::to_owned));
    Ok(Styles(styles.into_iter().map(format).collect()))
}

/// The formats that every workbook has (ECMA-376 part 1, 18.8.30).
fn built_in(id: usize) -> Option<&'static str> {
    Some(match id {
        1 => "0",
        2 => "0.00",
        3 | 41 | 42 => "#,##0",
        4 | 43 | 44 => "#,##0.00",
        9 => "0%",
        10 => "0.00%",
        11 => "0.00E+00",
        12 => "# ?/?",
        13 => "# ??/??",
        14..=17 | 27..=31 | 34..=36 | 50..=58 => "yyyy-mm-dd",
        18..=21 | 32 | 33 | 45 | 47 => "hh:mm:ss",
        22 => "yyyy-mm-dd hh:mm",
        37 | 38 => "#,##0_);(#,##0)",
        39 | 40 => "#,##0.00_);(#,##0.00)",
        46 => "[h]:mm:ss",
        48 => "##0.0E+0",
        _ => return None,
    })
}
