//! How documents look in this house: fonts, colour, logo, as configured.

use renderers::{Document, Format, RenderError, Rendered};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::fonts;

/// The configuration's section `documents`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct House {
    /// Folders with fonts, before the system's.
    pub fonts: Vec<PathBuf>,
}

impl House {
    pub fn draw(&self, document: &Document, format: Format) -> Result<Rendered, RenderError> {
        match format {
            Format::Pdf => {
                let fonts = fonts::for_document(document, &self.fonts);
                renderers::render_with(document, format, &fonts)
            }
            _ => renderers::render(document, format),
        }
    }
}
