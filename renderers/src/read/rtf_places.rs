//! The destinations of the groups of an RTF file.

/// Groups whose content is not text of the document.
const SKIPPED: [&str; 9] =
    ["colortbl", "stylesheet", "info", "pict", "object", "nonesttables", "xe", "tc", "tcn"];

/// The destination of a group's text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum RtfPlace {
    #[default]
    Text,
    /// A footnote, inside a paragraph that continues after it.
    Note,
    /// The bullet or number of a paragraph.
    Mark,
    /// The instruction of a field.
    Instruction,
    /// The properties of a row of a table in a cell, which end the row.
    NestedRow,
    /// The names of fonts.
    Fonts,
    Nowhere,
    /// Dropped with a warning.
    Lost(&'static str),
}

/// The destination for a group that starts with this control word.
pub fn place(name: &str) -> Option<RtfPlace> {
    Some(match name {
        "footnote" => RtfPlace::Note,
        "listtext" | "pntext" => RtfPlace::Mark,
        "fldinst" => RtfPlace::Instruction,
        "fonttbl" => RtfPlace::Fonts,
        "nesttableprops" => RtfPlace::NestedRow,
        "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr"
        | "footerf" => RtfPlace::Lost("Headers and footers"),
        "annotation" => RtfPlace::Lost("Comments"),
        "shptxt" | "dptxbxtext" => RtfPlace::Lost("Text boxes"),
        name if SKIPPED.contains(&name) => RtfPlace::Nowhere,
        _ => return None,
    })
}
