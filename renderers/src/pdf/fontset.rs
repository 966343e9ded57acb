//! The fonts for PDFs and for rasterized vector pictures. Office files only name fonts, which the
//! reader's program provides.

use std::sync::{LazyLock, OnceLock};

use typst::foundations::Bytes;
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;

static BUNDLED: LazyLock<Vec<Font>> = LazyLock::new(|| {
    typst_assets::fonts().flat_map(|bytes| Font::iter(Bytes::new(bytes))).collect()
});

/// A set of fonts: the bundled ones and those added by the caller. The bundled ones are parsed when a
/// font is first needed, because most Office files need none.
#[derive(Clone, Default)]
pub struct Fonts {
    added: Vec<Font>,
    parsed: OnceLock<Parsed>,
}

#[derive(Clone)]
struct Parsed {
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
}

impl Fonts {
    /// The bundled fonts and those in `files` (TrueType, OpenType, collections); other files are
    /// ignored. Parsing reads only names and coverage, so build this once and keep it.
    pub fn with(files: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut fonts = Fonts::default();
        fonts.add(files.into_iter().flat_map(|file| Font::iter(Bytes::new(file))));
        fonts
    }

    pub(crate) fn add(&mut self, fonts: impl IntoIterator<Item = Font>) {
        self.added.extend(fonts);
        self.parsed = OnceLock::new();
    }

    pub(crate) fn book(&self) -> &LazyHash<FontBook> {
        &self.parsed().book
    }

    pub(crate) fn all(&self) -> &[Font] {
        &self.parsed().fonts
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let fonts: Vec<Font> = BUNDLED.iter().chain(&self.added).cloned().collect();
            Parsed { book: LazyHash::new(FontBook::from_fonts(&fonts)), fonts }
        })
    }

    /// The font files, each once.
    pub(crate) fn files(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.all().iter().filter(|font| font.index() == 0).map(|font| font.data().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, markdown};

    #[test]
    fn office_files_without_vector_pictures_need_no_fonts() {
        let document =
            markdown::read("# Title\n\nText, **bold**.\n\n| A |\n|---|\n| 1 |\n").unwrap();
        for format in [Format::Docx, Format::Xlsx, Format::Pptx] {
            let fonts = Fonts::default();
            crate::render_with(&document, format, &fonts).unwrap();
            assert!(fonts.parsed.get().is_none(), "{format:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_font_is_left_out() {
        let fonts = Fonts::with([b"nothing".to_vec()]);
        assert_eq!(fonts.all().len(), Fonts::default().all().len());
    }
}
