//! A company's template: how a .docx, .pptx or .xlsx file looks, taken as plain data, for all four
//! formats. Nothing of the file itself goes into a document, so that no macro, script or reference to
//! the outside can travel with it.
//!
//! - [`theme`]: faces and colours, which all three kinds have, and the background of slides
//! - [`word`]: headings, paper, header and footer of a Word file

mod theme;
mod word;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::document::{Color, Page};
use crate::read::{ReadError, archive::Archive, docx, pptx};
use crate::{Document, RenderError};

/// The largest template, in bytes.
pub const BYTES: usize = 20 << 20;

/// What a template says; where it says nothing, the theme counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brand {
    pub headings: Option<String>,
    pub body: Option<String>,
    pub east_asian: Option<String>,
    pub complex: Option<String>,
    pub ink: Option<Color>,
    pub accents: [Option<Color>; 6],
    pub link: Option<Color>,
    /// Of slides.
    pub background: Option<Color>,
    /// Of headings, from the first level on.
    pub levels: [Voice; 6],
    pub title: Voice,
    /// Size of the text.
    pub half_points: Option<u32>,
    pub page: Option<Page>,
    /// Top, right, bottom and left, in twips.
    pub margins: Option<[i64; 4]>,
    pub header: Option<String>,
    pub footer: Option<String>,
    pub logo: Option<Vec<u8>>,
    /// What was not taken over.
    pub warnings: Vec<String>,
}

/// How one kind of line looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voice {
    pub face: Option<String>,
    pub color: Option<Color>,
    pub half_points: Option<u32>,
    pub bold: Option<bool>,
    pub italic: Option<bool>,
}

/// Reads a template. What is no Office file, or damaged, is an error that says so.
pub fn read(bytes: &[u8]) -> Result<Brand, RenderError> {
    if bytes.len() > BYTES {
        return Err(RenderError::TooLarge("The template is over 20 MB.".to_owned()));
    }
    parts(bytes).map_err(|problem| RenderError::Invalid(format!("The template: {problem}")))
}

fn parts(bytes: &[u8]) -> Result<Brand, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let roots = ["word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"];
    if !roots.iter().any(|root| archive.has(root)) {
        let why = "This is no .docx, .pptx or .xlsx file.";
        return Err(ReadError::Unknown(why.to_owned()));
    }
    let mut brand = Brand::default();
    if archive.names().iter().any(|name| name.to_lowercase().contains("vbaproject")) {
        brand.warnings.push("The template's macros are left out.".to_owned());
    }
    theme::read(&mut archive, &mut brand)?;
    if archive.has(roots[0]) {
        word::read(&mut archive, &mut brand)?;
    }
    Ok(brand)
}

impl Document {
    /// Takes over what a template says, where the front matter does not say otherwise.
    pub fn wear(&mut self, mut brand: Brand) {
        let meta = &mut self.meta;
        if let Some(page) = brand.page
            && meta.page == Page::default()
        {
            meta.page = page;
        }
        meta.header = meta.header.take().or_else(|| brand.header.take());
        meta.footer = meta.footer.take().or_else(|| brand.footer.take());
        self.logo = brand.logo.take().or_else(|| self.logo.take());
        self.warnings.append(&mut brand.warnings);
        meta.brand = Some(Box::new(brand));
    }
}

/// A name of a font, as far as it is one: it is written into attributes and asked of systems.
fn face(name: &str) -> Option<String> {
    let name = name.trim();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    ((1..=64).contains(&name.len()) && name.chars().all(is_plain)).then(|| name.to_owned())
}

fn links(archive: &mut Archive, part: &str) -> Result<HashMap<String, String>, ReadError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    docx::links(archive, &format!("{folder}/_rels/{name}.rels"))
}

/// Takes the picture that a part embeds under that id as the sign. Outside the file nothing is
/// looked for.
fn embedded(
    archive: &mut Archive,
    part: &str,
    id: &str,
    brand: &mut Brand,
) -> Result<(), ReadError> {
    let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
    let target = links(archive, part)?.get(id).map(|target| pptx::within(folder, target));
    brand.logo = target.map(|target| archive.part(&target)).transpose()?.flatten();
    if brand.logo.is_none() {
        let lost = "The template's logo is not in the file, and left out.";
        brand.warnings.push(lost.to_owned());
    }
    Ok(())
}
