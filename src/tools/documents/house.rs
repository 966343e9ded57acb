//! How documents look in this house: fonts, colour, logo, as configured.

use renderers::{Document, Fonts, Format, RenderError, Rendered, document};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::fonts;

/// A logo larger than this belongs on a poster.
const LOGO_BYTES: u64 = 2 * 1024 * 1024;

/// The configuration's section `documents`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct House {
    /// Folders with fonts, before the system's.
    pub fonts: Vec<PathBuf>,
    /// Of the theme `corporate`, as `#0b3d62`.
    pub color: Option<String>,
    /// Of the theme `corporate`: a picture file.
    pub logo: Option<PathBuf>,
}

impl House {
    /// Whether what is configured can be used; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        if let Some(color) = &self.color
            && document::Color::read(color).is_none()
        {
            return Err(format!("documents.color: “{color}” is no colour such as #0b3d62"));
        }
        if let Some(logo) = &self.logo {
            let shown = logo.display();
            let file = std::fs::metadata(logo)
                .map_err(|error| format!("documents.logo: cannot read {shown}: {error}"))?;
            if file.len() > LOGO_BYTES {
                return Err(format!("documents.logo: {shown} is over 2 MB"));
            }
        }
        Ok(())
    }

    /// Gives a document of the theme `corporate` the house's colour and logo.
    pub fn dress(&self, document: &mut Document) {
        if document.meta.theme != document::Theme::Corporate {
            return;
        }
        document.meta.accent = self.color.as_deref().and_then(document::Color::read);
        document.logo = self.logo.as_ref().and_then(|path| std::fs::read(path).ok());
    }

    /// Draws; only what needs them waits for the system's fonts.
    pub fn draw(&self, document: &Document, format: Format) -> Result<Rendered, RenderError> {
        let fonts = if format == Format::Pdf || renderers::has_vectors(document) {
            fonts::for_document(document, &self.fonts)
        } else {
            Fonts::default()
        };
        renderers::render_with(document, format, &fonts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use renderers::markdown;

    #[test]
    fn only_the_corporate_theme_wears_the_houses_colour_and_logo() {
        let folder = tempfile::tempdir().unwrap();
        let logo = folder.path().join("logo.png");
        std::fs::write(&logo, b"logo").unwrap();
        let house =
            House { color: Some("#aa3300".into()), logo: Some(logo.clone()), ..House::default() };
        assert_eq!(house.check(), Ok(()));
        let mut plain = markdown::read("x").unwrap();
        house.dress(&mut plain);
        assert_eq!((plain.meta.accent, plain.logo), (None, None));
        let mut corporate = markdown::read("---\ntheme: corporate\n---\nx").unwrap();
        house.dress(&mut corporate);
        assert_eq!(corporate.meta.accent.as_deref(), Some("AA3300"));
        assert_eq!(corporate.logo.as_deref(), Some(&b"logo"[..]));
        let odd = House { color: Some("blue".into()), ..House::default() };
        assert!(odd.check().unwrap_err().contains("documents.color"));
        std::fs::remove_file(&logo).unwrap();
        assert!(house.check().unwrap_err().contains("documents.logo"));
    }
}
