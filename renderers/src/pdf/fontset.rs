//! The fonts for PDFs and for rasterized vector pictures. Office files only name fonts, which the
//! reader's program provides.

use std::sync::LazyLock;

use typst::foundations::Bytes;
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;

static BUNDLED: LazyLock<Vec<Font>> = LazyLock::new(|| {
    typst_assets::fonts().flat_map(|bytes| Font::iter(Bytes::new(bytes))).collect()
});

/// A set of fonts: the bundled ones and those added by the caller.
#[derive(Clone)]
pub struct Fonts {
    pub(crate) book: LazyHash<FontBook>,
    pub(crate) fonts: Vec<Font>,
}

impl Default for Fonts {
    fn default() -> Self {
        Fonts::with(Vec::new())
    }
}

impl Fonts {
    /// The bundled fonts and those in `files` (TrueType, OpenType, collections); other files are
    /// ignored. Parsing reads only names and coverage, so build this once and keep it.
    pub fn with(files: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let added = files.into_iter().flat_map(|file| Font::iter(Bytes::new(file)));
        let fonts: Vec<Font> = BUNDLED.iter().cloned().chain(added).collect();
        Fonts { book: LazyHash::new(FontBook::from_fonts(&fonts)), fonts }
    }

    /// The font files, each once.
    pub(crate) fn files(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.fonts.iter().filter(|font| font.index() == 0).map(|font| font.data().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_font_is_left_out() {
        let fonts = Fonts::with([b"nothing".to_vec()]);
        assert_eq!(fonts.fonts.len(), Fonts::default().fonts.len());
    }
}
