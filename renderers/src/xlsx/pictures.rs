//! Pictures over the cells of a sheet: alone or side by side, and in the cells of tables.

use rust_xlsxwriter::{Image, ObjectMovement, Worksheet, XlsxError};

use super::look;
use super::pages::Pages;
use super::plan::SheetPicture;
use super::runs::{Run, RunStyle, Runs, width, without_pictures};
use super::sheet::SheetCell;
use super::table::WRAP_WIDTH;
use crate::document::Inline;
use crate::package::picture::MISSING;
use crate::package::upright::upright;
use crate::package::vector::{self, Raster};
use crate::pdf::fontset::Fonts;
use crate::pdf::images::{self, PdfPicture};
use crate::rendered::Warning;

/// The maximum width of a picture, in pixels.
const PICTURE_WIDTH: f64 = 640.0;
/// The maximum height of a picture, in pixels; a taller one would take several printed pages.
const PICTURE_HEIGHT: f64 = 640.0;
/// The maximum width of pictures side by side, in pixels.
const SIDE_BY_SIDE: f64 = 800.0;
/// The maximum size of the pictures in a cell, in pixels.
const CELL_WIDTH: f64 = 380.0;
const CELL_HEIGHT: f64 = 160.0;
/// The space between pictures and around those in a cell, in pixels.
const GAP: f64 = 16.0;
const EDGE: f64 = 4.0;
/// The maximum size of all pictures in cells, in bytes, each counted as often as it is used.
pub const CELL_PICTURE_BYTES: usize = 64 << 20;
const ROW_PIXELS: f64 = 20.0;
/// The width of a digit, in pixels.
const DIGIT_PIXELS: f64 = 7.0;
const POINTS_PER_PIXEL: f64 = 0.75;
/// The maximum height of a row that we set, in pixels. Excel's limit is 546.
const MAX_ROW_PIXELS: f64 = 533.0;

/// A size in pixels.
#[derive(Clone, Copy)]
struct PixelSize {
    width: f64,
    height: f64,
}

impl PixelSize {
    fn within(self, width: f64, height: f64) -> Self {
        let scale = (width / self.width).min(height / self.height).min(1.0);
        Self { width: self.width * scale, height: self.height * scale }
    }
}

impl Pages<'_> {
    /// The number of rows of pictures side by side. Each picture that cannot be drawn takes one for
    /// its text.
    pub fn rows_of_pictures(&self, pictures: &[SheetPicture<'_>]) -> u32 {
        let sizes = pictures.iter().map(|picture| self.size_in_row(picture, pictures.len()));
        let (mut highest, mut missing) = (None, 0);
        for size in sizes {
            match size {
                Some(size) => highest = Some(size.height.max(highest.unwrap_or(0.0))),
                None => missing += 1,
            }
        }
        highest.map_or(0, |pixels| (pixels / ROW_PIXELS).ceil() as u32 + 1) + missing
    }

    /// Draws pictures side by side. Those that cannot be drawn are named in the rows below.
    pub fn pictures(
        &mut self,
        sheet: &mut Worksheet,
        row: u32,
        pictures: &[SheetPicture<'_>],
    ) -> Result<(), XlsxError> {
        let (mut x, mut missing) = (0.0, Vec::new());
        for picture in pictures {
            let size = self.size_in_row(picture, pictures.len());
            match (self.image(picture.url), size) {
                (Ok(image), Some(size)) => {
                    let image = sized(image, size, picture.alt);
                    sheet.insert_image_with_offset(row, 0, &image, x as u32, 0)?;
                    x += size.width + GAP;
                }
                (Ok(_), None) => {}
                (Err(why), _) => missing.push((picture, why)),
            }
        }
        let below = self.rows_of_pictures(pictures).saturating_sub(missing.len() as u32);
        for (at, (picture, why)) in (row + below..).zip(missing) {
            self.warn(Warning::PictureNotDrawn { name: picture.url.to_owned(), why: why.clone() });
            let text = format!("[image: {} — {why}]", picture.alt);
            let pieces = vec![Run { text, style: RunStyle::default() }];
            let format = look::cell(RunStyle::default(), &self.look, None, false);
            let cell = SheetCell { row: at, column: 0 };
            self.text(sheet, cell, &Runs { pieces, ..Runs::default() }, &format)?;
        }
        Ok(())
    }

    /// The text of a cell of a table. Its pictures are drawn over the cell if all of them can be.
    pub fn cell_runs(&mut self, cell: &[Inline]) -> Runs {
        let mut runs = Runs::read(cell);
        if runs.images.is_empty() {
            return runs;
        }
        let mut bytes = 0;
        for (url, _) in std::mem::take(&mut runs.images) {
            if let Err(why) = self.image(&url) {
                self.warn(Warning::PictureNotDrawn { name: url, why });
                return runs;
            }
            bytes += self.document.assets.get(&url).map_or(0, Vec::len);
        }
        let Some(left) = self.cell_bytes_left.checked_sub(bytes) else {
            self.lose("A picture in a cell is shown as text, since those before it are too large.");
            return runs;
        };
        self.cell_bytes_left = left;
        Runs { images: Runs::read(cell).images, ..Runs::read(&without_pictures(cell)) }
    }

    /// The width of a cell of a table with its pictures, in characters.
    pub fn cell_width(&self, cell: &[Inline]) -> usize {
        let runs = Runs::read(cell);
        let count = runs.images.len();
        let sizes = runs.images.iter().map(|(url, _)| self.size_in_cell(url, count));
        match sizes.collect::<Option<Vec<_>>>() {
            Some(sizes) if count > 0 => {
                let pixels: f64 = sizes.iter().map(|size| size.width + GAP).sum();
                let text = Runs::read(&without_pictures(cell)).width();
                text.max((pixels / DIGIT_PIXELS).ceil() as usize)
            }
            _ => runs.width(),
        }
    }

    /// Sets the height of a row for its text, since not every program adjusts it, and for its
    /// pictures, which are drawn.
    pub fn row_height(
        &mut self,
        sheet: &mut Worksheet,
        row: u32,
        cells: &[&Runs],
    ) -> Result<(), XlsxError> {
        let most = cells.iter().map(|runs| lines(runs)).max().unwrap_or(1);
        let mut points = (most * 15).min(400) as f64;
        for (column, runs) in cells.iter().enumerate() {
            let at = SheetCell { row, column: column as u16 };
            if let Some(height) = self.cell_height(runs, lines(runs)) {
                points = points.max(height);
                self.cell_pictures(sheet, at, runs, lines(runs))?;
            }
        }
        if most > 1 || points > 15.0 {
            sheet.set_row_height(row, points)?;
        }
        Ok(())
    }

    /// The height of a cell with pictures and `lines` of text above them, in points.
    fn cell_height(&self, runs: &Runs, lines: usize) -> Option<f64> {
        let count = runs.images.len();
        let sizes = runs.images.iter().filter_map(|(url, _)| self.size_in_cell(url, count));
        let highest = sizes.map(|size| size.height).reduce(f64::max)?;
        let pixels = lines as f64 * ROW_PIXELS + highest + 2.0 * EDGE;
        Some(pixels.min(MAX_ROW_PIXELS) * POINTS_PER_PIXEL)
    }

    /// Draws the pictures of a cell below its `lines` of text.
    fn cell_pictures(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        runs: &Runs,
        lines: usize,
    ) -> Result<(), XlsxError> {
        let mut x = EDGE;
        for (url, alt) in &runs.images {
            let size = self.size_in_cell(url, runs.images.len());
            let (Ok(image), Some(size)) = (self.image(url), size) else { continue };
            let lowest = MAX_ROW_PIXELS - size.height - EDGE;
            let y = (lines as f64 * ROW_PIXELS + EDGE).min(lowest);
            // A filter hides pictures with their rows.
            let movement = ObjectMovement::MoveAndSizeWithCells;
            let mut image = sized(image, size, alt).set_object_movement(movement);
            if let (true, Some(link)) = (runs.pieces.is_empty(), runs.url()) {
                image = image.clone().set_url(link.as_str()).unwrap_or(image);
            }
            sheet.insert_image_with_offset(at.row, at.column, &image, x as u32, y as u32)?;
            x += size.width + GAP;
        }
        Ok(())
    }

    /// The size of one of `count` pictures side by side; `None` if it cannot be drawn.
    fn size_in_row(&self, picture: &SheetPicture<'_>, count: usize) -> Option<PixelSize> {
        let size = self.size(picture.url)?;
        let gaps = GAP * count.saturating_sub(1) as f64;
        let width = if count > 1 { (SIDE_BY_SIDE - gaps) / count as f64 } else { PICTURE_WIDTH };
        Some(size.within(width, PICTURE_HEIGHT))
    }

    fn size_in_cell(&self, url: &str, count: usize) -> Option<PixelSize> {
        let width = (CELL_WIDTH / count.max(1) as f64 - GAP).max(GAP);
        Some(self.size(url)?.within(width, CELL_HEIGHT))
    }

    /// The size of a picture: that which its source sets, or its own. It is at most as large as a
    /// screen.
    fn size(&self, url: &str) -> Option<PixelSize> {
        let PdfPicture { width, height, .. } = *self.pictures.get(url)?.as_ref().ok()?;
        let own = width.min(PICTURE_WIDTH);
        let wanted = self.document.widths.get(url).map_or(own, |set| set.of(PICTURE_WIDTH, 1.0));
        let limit = self.document.heights.get(url).copied().unwrap_or(PICTURE_HEIGHT);
        let scale = (wanted / width).min(limit.min(PICTURE_HEIGHT) / height);
        Some(PixelSize { width: width * scale, height: height * scale })
    }

    /// The picture with that URL, or the reason why it cannot be drawn.
    fn image(&mut self, url: &str) -> Result<Image, String> {
        if let Some(known) = self.images.get(url) {
            return known.clone();
        }
        let picture = self.pictures.get(url).ok_or(MISSING)?;
        let image = image(picture, self.fonts).map(|(image, _)| image);
        self.images.insert(url.to_owned(), image.clone());
        image
    }
}

/// The number of lines of a cell in the widest column.
fn lines(runs: &Runs) -> usize {
    runs.text().lines().map(|line| width(line).div_ceil(WRAP_WIDTH).max(1)).sum()
}

fn sized(image: Image, size: PixelSize, alt: &str) -> Image {
    image.set_scale_to_size(size.width, size.height, false).set_alt_text(look::described(alt))
}

/// A picture that has been decoded and re-encoded, so that every program can read it, and the scale
/// for its original size.
pub fn image(picture: &Result<PdfPicture, String>, fonts: &Fonts) -> Result<(Image, f64), String> {
    let picture = picture.as_ref().map_err(Clone::clone)?;
    if picture.is_vector() {
        let Raster { png, width, .. } = vector::raster(&picture.bytes, fonts)?;
        let image = Image::new_from_buffer(&png).map_err(|error| error.to_string())?;
        let scale = f64::from(width) / image.width();
        return Ok((image, scale));
    }
    let upright = upright(&picture.bytes, images::PIXELS)?;
    let image = Image::new_from_buffer(&upright.bytes);
    let image = image.map_err(|_| "a workbook supports PNG, JPEG, GIF, BMP and SVG".to_owned())?;
    Ok((image, 1.0))
}
