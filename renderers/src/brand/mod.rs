//! A company's template: the appearance of a .docx, .pptx or .xlsx file, extracted as plain data
//! for all four formats. Presentations also use the masters and layouts of a .pptx file. No other
//! part of the file is copied, so no macro, script or external reference can be carried over.
//!
//! - [`parts`]: code shared by the three file types
//! - [`theme`]: fonts and colours, which all three types have, and the background of slides
//! - [`slides`]: the masters and layouts of a presentation
//! - [`word`]: headings, paper, header and footer of a Word file
//! - [`sheet`]: paper, header and footer of a workbook

mod parts;
mod sheet;
mod slides;
mod theme;
mod word;

#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use crate::Document;
use crate::document::{Brand, Page};
use crate::read::{ReadError, archive::Archive};
use crate::rendered::{RenderError, Warning};

/// The maximum size of a template, in bytes.
pub const BYTES: usize = 20 << 20;

/// Reads a template. Fails if the file is damaged or not an Office file.
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
        let why = "This is not a .docx, .pptx or .xlsx file.";
        return Err(ReadError::Unknown(why.to_owned()));
    }
    let mut brand = Brand::default();
    if archive.names().iter().any(|name| name.to_lowercase().contains("vbaproject")) {
        brand.warnings.push("The template's macros were ignored.".to_owned());
    }
    if archive.has(roots[1]) {
        match slides::read(&mut archive) {
            Ok(mut found) => {
                brand.slides = found.template.map(Arc::new);
                brand.warnings.append(&mut found.warnings);
            }
            Err(ReadError::TooLarge(why)) => return Err(ReadError::TooLarge(why)),
            Err(why) => {
                brand.warnings.push(format!("The masters of the template are not used. {why}"));
            }
        }
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
    /// Applies the template where the front matter does not set a value.
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
        self.warnings.extend(mem::take(&mut brand.warnings).into_iter().map(Warning::from));
        meta.brand = Some(Box::new(brand));
    }
}
