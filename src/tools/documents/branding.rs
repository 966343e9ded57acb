//! The configured branding of documents: fonts, colour, logo, previews.

use renderers::{Document, Fonts, Format, RenderError, Rendered, brand, document};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::{blob::Blob, fonts};

/// The maximum size of a logo.
const LOGO_BYTES: u64 = 2 * 1024 * 1024;

/// The section `documents` of the configuration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Branding {
    /// Folders with fonts for PDFs, searched before `fonts` beside the program and the system's.
    pub fonts: Vec<PathBuf>,
    /// Colour of the theme `corporate`, for example `#0b3d62`.
    pub color: Option<String>,
    /// Logo of the theme `corporate` (PNG, JPEG, SVG).
    pub logo: Option<PathBuf>,
    /// A `.docx`, `.pptx` or `.xlsx` file whose fonts, colours, page setup, header, footer and logo
    /// are used for all documents.
    pub template: Option<PathBuf>,
    /// Whether a picture of the first page precedes a Word, Excel or PowerPoint file. LibreOffice
    /// draws it, if it is installed, in one or two seconds of a core.
    pub office_previews: bool,
}

impl Default for Branding {
    fn default() -> Self {
        Self { fonts: Vec::new(), color: None, logo: None, template: None, office_previews: true }
    }
}

impl Branding {
    /// Validates the section; an error names the key.
    pub fn check(&self) -> Result<(), String> {
        if let Some(color) = &self.color
            && document::Color::read(color).is_none()
        {
            return Err(format!("documents.color: “{color}” is not a colour such as #0b3d62"));
        }
        if let Some(logo) = &self.logo {
            let shown = logo.display();
            let file = std::fs::metadata(logo)
                .map_err(|error| format!("documents.logo: cannot read {shown}: {error}"))?;
            if file.len() > LOGO_BYTES {
                return Err(format!("documents.logo: {shown} is over 2 MB"));
            }
        }
        if let Some(template) = &self.template {
            let shown = template.display();
            let bytes = std::fs::read(template)
                .map_err(|error| format!("documents.template: cannot read {shown}: {error}"))?;
            brand::read(&bytes).map_err(|why| format!("documents.template: {shown}: {why}"))?;
        }
        Ok(())
    }

    /// Reads the files of the branding.
    pub fn assets(&self) -> BrandingAssets {
        let read = |path: &Option<PathBuf>| {
            path.as_ref().and_then(|path| std::fs::read(path).ok()).map(Blob)
        };
        let (logo, template) = (read(&self.logo), read(&self.template));
        BrandingAssets { color: self.color.clone(), logo, template }
    }

    /// The folders with fonts on this machine.
    pub fn fonts(&self) -> Vec<PathBuf> {
        fonts::folders(&self.fonts)
    }
}

/// The loaded branding.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BrandingAssets {
    color: Option<String>,
    logo: Option<Blob>,
    /// The document's own template, or the configured one.
    pub template: Option<Blob>,
}

impl BrandingAssets {
    /// Applies the colour and logo to a document of the theme `corporate`, and the template to any
    /// document.
    pub fn apply_to(self, document: &mut Document) {
        if document.meta.theme == document::Theme::Corporate {
            document.meta.accent = self.color.as_deref().and_then(document::Color::read);
            document.logo = self.logo.map(|Blob(bytes)| bytes);
        }
        match self.template.map(|Blob(bytes)| brand::read(&bytes)) {
            Some(Ok(brand)) => document.wear(brand),
            Some(Err(why)) => document.warnings.push(format!("{why} It is left out.").into()),
            None => {}
        }
    }
}

/// Renders a document. Fonts of these folders are loaded only if the format needs them. A PDF
/// includes a picture of its first page, if requested.
pub fn draw(
    document: &Document,
    format: Format,
    folders: &[PathBuf],
    with_picture: bool,
) -> Result<(Rendered, Option<Vec<u8>>), RenderError> {
    let fonts = if format == Format::Pdf || renderers::has_vectors(document) {
        fonts::for_document(document, folders)
    } else {
        Fonts::default()
    };
    if with_picture && format == Format::Pdf {
        return renderers::pdf::render_and_show(document, &fonts);
    }
    renderers::render_with(document, format, &fonts).map(|rendered| (rendered, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use renderers::markdown;

    #[test]
    fn only_the_corporate_theme_has_the_brands_colour_and_logo() {
        let folder = tempfile::tempdir().unwrap();
        let logo = folder.path().join("logo.png");
        std::fs::write(&logo, b"logo").unwrap();
        let branding = Branding {
            color: Some("#aa3300".into()),
            logo: Some(logo.clone()),
            ..Branding::default()
        };
        assert_eq!(branding.check(), Ok(()));
        let mut plain = markdown::read("x").unwrap();
        branding.assets().apply_to(&mut plain);
        assert_eq!((plain.meta.accent, plain.logo), (None, None));
        let mut corporate = markdown::read("---\ntheme: corporate\n---\nx").unwrap();
        branding.assets().apply_to(&mut corporate);
        assert_eq!(corporate.meta.accent.as_deref(), Some("AA3300"));
        assert_eq!(corporate.logo.as_deref(), Some(&b"logo"[..]));
        let odd = Branding { color: Some("blue".into()), ..Branding::default() };
        assert!(odd.check().unwrap_err().contains("documents.color"));
        let odd = Branding { template: Some(logo.clone()), ..Branding::default() };
        assert!(odd.check().unwrap_err().contains("documents.template"));
        std::fs::remove_file(&logo).unwrap();
        assert!(branding.check().unwrap_err().contains("documents.logo"));
    }
}
