//! Styles as Excel formats.

use rust_xlsxwriter::{Color, Format, FormatAlign, FormatScript, FormatUnderline};

use super::cells;
use super::runs::RunStyle;
use crate::document::{Align, Mark};
use crate::package::look::{Look, SMALL_SIZE};

/// The font size of text, which is the default of Excel.
pub const TEXT_POINTS: f64 = 11.0;

/// The font of a cell, on which the formats of its parts build.
#[derive(Debug, Clone, Copy)]
pub struct BaseFont<'a> {
    /// The font of a template. Without one, it is Excel's default.
    face: Option<&'a str>,
    points: f64,
    bold: bool,
    color: Color,
    /// A part of a cell has no background, so highlighted text has a colour.
    highlighted: Color,
    link: Color,
}

impl<'a> BaseFont<'a> {
    pub fn text(look: &Look<'a>) -> Self {
        Self {
            face: look.brand.and_then(|brand| brand.body.as_deref()),
            points: TEXT_POINTS,
            bold: false,
            color: Color::Default,
            highlighted: Color::RGB(0x9a_6700),
            link: Color::RGB(0x05_63C1),
        }
    }

    /// On the accent colour, where links are as white as the rest and only underlined.
    pub fn header(look: &Look<'a>) -> Self {
        Self {
            bold: true,
            color: Color::White,
            highlighted: Color::RGB(0xff_eb9c),
            link: Color::White,
            ..Self::text(look)
        }
    }

    pub fn heading(look: &Look<'a>) -> Self {
        let text = Self::text(look);
        let face = look.brand.and_then(|brand| brand.headings.as_deref()).or(text.face);
        Self { face, points: 13.0, bold: true, color: color(look.accent), ..text }
    }
}

/// The formats of a part of a cell, on top of those of its font.
pub fn styled(style: RunStyle, font: BaseFont<'_>) -> Format {
    let mut format = Format::new().set_font_size(font.points).set_font_color(font.color);
    if let Some(face) = font.face {
        format = format.set_font_name(face);
    }
    if style.bold || font.bold {
        format = format.set_bold();
    }
    if style.italic {
        format = format.set_italic();
    }
    if style.strike {
        format = format.set_font_strikethrough();
    }
    if style.code {
        format = format.set_font_name("Consolas");
    }
    match style.mark {
        Some(Mark::Lowered) => format = format.set_font_script(FormatScript::Subscript),
        Some(Mark::Raised) => format = format.set_font_script(FormatScript::Superscript),
        Some(Mark::Underlined) => format = format.set_underline(FormatUnderline::Single),
        Some(Mark::Highlighted) => format = format.set_font_color(font.highlighted),
        // Excel has sizes in halves of a point.
        Some(Mark::Small) => {
            format = format.set_font_size((font.points * SMALL_SIZE * 2.0).round() / 2.0);
        }
        None => {}
    }
    if style.link {
        format = format.set_font_color(font.link).set_underline(FormatUnderline::Single);
    }
    format
}

/// The format of text, which is that of cells without one.
pub fn text(look: &Look) -> Format {
    styled(RunStyle::default(), BaseFont::text(look))
}

/// Text is aligned to the top of its cell and wrapped if it is long.
pub fn cell(style: RunStyle, look: &Look, align: Option<Align>, wraps: bool) -> Format {
    let mut format = styled(style, BaseFont::text(look)).set_align(FormatAlign::Top);
    if wraps {
        format = format.set_text_wrap();
    }
    match align {
        Some(Align::Center) => format.set_align(FormatAlign::Center),
        Some(Align::End) => format.set_align(FormatAlign::Right),
        Some(Align::Start) => format.set_align(FormatAlign::Left),
        None => format,
    }
}

/// The alignment of a table column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The author's alignment.
    pub chosen: Option<Align>,
    /// The effective alignment.
    pub align: Align,
    /// Whether it starts directly after a right-aligned column.
    pub is_apart: bool,
}

impl From<Align> for Column {
    fn from(align: Align) -> Self {
        Self { chosen: None, align, is_apart: false }
    }
}

impl Column {
    pub fn ends(self) -> bool {
        self.align == Align::End
    }
}

/// Adds an indent if the previous column is right-aligned.
pub fn apart(format: Format, column: Column) -> Format {
    if column.is_apart { format.set_align(FormatAlign::Left).set_indent(1) } else { format }
}

/// A header cell of plain text.
pub fn header(column: Column, look: &Look) -> Format {
    styled_header(RunStyle::default(), column, look)
}

/// Sets colours explicitly, because not every program draws table styles.
pub fn styled_header(style: RunStyle, column: Column, look: &Look) -> Format {
    let horizontal = match column.align {
        Align::Start => FormatAlign::Left,
        Align::Center => FormatAlign::Center,
        Align::End => FormatAlign::Right,
    };
    let format = styled(style, BaseFont::header(look))
        .set_background_color(color(look.accent))
        .set_text_wrap()
        .set_align(horizontal)
        .set_align(FormatAlign::VerticalCenter);
    apart(format, column)
}

pub fn heading(style: RunStyle, look: &Look) -> Format {
    styled(style, BaseFont::heading(look))
}

pub fn color(color: crate::document::Color) -> Color {
    Color::RGB(u32::from_str_radix(&color, 16).expect("the digits are hexadecimal"))
}

/// The text alternative of a picture or chart, at most as long as Excel allows.
pub fn described(text: &str) -> String {
    const MAX_UNITS: usize = 255;
    if cells::within(text, MAX_UNITS) == text {
        return text.to_owned();
    }
    format!("{}…", cells::within(text, MAX_UNITS - 1))
}
