//! A company's template: how a .docx, .pptx or .xlsx file looks, taken as plain data, for all four
//! formats. Nothing of the file itself goes into a document, so that no macro, script or reference to
//! the outside can travel with it.
//!
//! - [`parts`]: what the files of all three kinds have alike
//! - [`theme`]: faces and colours, which all three kinds have, and the background of slides
//! - [`word`]: headings, paper, header and footer of a Word file
//! - [`sheet`]: paper, header and footer of a workbook

mod parts;
mod sheet;
mod theme;
mod word;

#[cfg(test)]
mod tests;

use crate::Document;
use crate::document::{Brand, Page};
use crate::read::{ReadError, archive::Archive};
use crate::rendered::RenderError;

/// The largest template, in bytes.
pub const BYTES: usize = 20 << 20;

/// Reads a template. What is no Office file, or damaged, is an error that says so.
pub fn read(bytes: &[u8]) -> Result<Brand, RenderError> {
    if bytes.len() > BYTES {
        return Err(RenderError::TooLarge("The template is over 20 MB.".to_owned()));
    }
    brand(bytes).map_err(|problem| RenderError::Invalid(format!("The template: {problem}")))
}

fn brand(bytes: &[u8]) -> Result<Brand, ReadError> {
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
    } else if archive.has(roots[2]) {
        sheet::read(&mut archive, &mut brand)?;
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
