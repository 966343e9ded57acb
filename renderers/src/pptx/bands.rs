//! Slides with columns, laid out as bands below each other. Each band holds columns side by side;
//! content above, between and below columns is a band with one column.

use super::deck::Deck;
use super::flow::{flow, row_scale, slides, stack};
use super::geometry::Area;
use super::heights::{GAP, height};
use super::items::SlideItem;
use super::layouts::{BLOCKS, Layout};
use super::page::{Piece, SlidePage};
use super::plan::Slide;
use crate::document::{Block, Inline};

/// The maximum number of columns side by side; further ones are below them.
const COLUMNS: usize = 6;
/// Tolerance for rounding in a band, in points.
const ROUNDING: f64 = 0.1;

/// The items of each column.
pub type Band<'d> = Vec<Vec<SlideItem<'d>>>;

impl<'d> Deck<'d> {
    /// The bands of a slide with columns.
    pub fn bands(&mut self, slide: &Slide<'d>) -> Vec<Band<'d>> {
        let mut bands: Vec<Band<'d>> = Vec::new();
        for run in slide.blocks.chunk_by(|one, two| !is_columns(one) && !is_columns(two)) {
            let [Block::Columns(columns)] = run else {
                bands.push(vec![self.part(run, Vec::new())]);
                continue;
            };
            for row in columns.chunks(COLUMNS) {
                // The tables of a column are split by its width.
                let whole = self.geometry.body;
                self.geometry.body = self.geometry.column(whole, 0, row.len());
                let row = row.iter().map(|column| {
                    let blocks: Vec<&Block> = column.iter().collect();
                    self.part(&blocks, Vec::new())
                });
                bands.push(row.collect());
                self.geometry.body = whole;
            }
        }
        bands.push(vec![self.part(&[], slide.notes_of_title())]);
        bands.retain(|band| band.iter().any(|column| !column.is_empty()));
        bands
    }

    /// A lower bound of the number of slides of bands.
    pub fn least_slides(&self, bands: &[Band<'d>]) -> usize {
        let least = bands.iter().map(|band| {
            let area = self.geometry.column(self.geometry.body, 0, band.len());
            band.iter().map(|column| slides(column, area)).max().unwrap_or(0)
        });
        least.sum()
    }

    /// The pages of a slide with columns.
    pub fn fit_bands(&mut self, slide: Slide<'d>, bands: Vec<Band<'d>>) -> Vec<SlidePage<'d>> {
        let halves = matches!(&bands[..], [band] if band.len() == 2);
        let pages = self.place_bands(bands);
        let two = halves && pages.len() == 1 && pages[0].len() == 2;
        let layout = if two { Layout::Two } else { Layout::Content };
        let name = vec![Inline::Text("Columns".into())];
        self.paged(slide, name, (layout, pages))
    }

    /// Places the bands below each other. A band that does not fit starts a new slide if less than
    /// half of the slide is left.
    fn place_bands(&self, bands: Vec<Band<'d>>) -> Vec<Vec<Piece<'d>>> {
        let body = self.geometry.body;
        let scale = row_scale(body.height, self.scale, |scale| {
            let high: f64 = bands.iter().map(|band| self.band_height(band, scale)).sum();
            let all_may_grow = bands.iter().all(may_grow);
            all_may_grow.then_some(high + GAP * bands.len().saturating_sub(1) as f64)
        });
        let heights: Vec<f64> = bands.iter().map(|band| self.band_height(band, scale)).collect();
        let high = heights.iter().sum::<f64>() + GAP * bands.len().saturating_sub(1) as f64;
        let elastic = bands.iter().filter(|band| is_elastic(band)).count().max(1);
        let more = (body.height - high - ROUNDING).max(0.0) / elastic as f64;
        let last = bands.len().saturating_sub(1);
        let (mut pages, mut used) = (vec![Vec::new()], 0.0);
        for (at, (band, high)) in bands.into_iter().zip(heights).enumerate() {
            let high = high + if is_elastic(&band) { more } else { 0.0 };
            let mut left = body.height - used;
            if high > left && left < body.height / 2.0 {
                pages.push(Vec::new());
                (left, used) = (body.height, 0.0);
            }
            let area = body.band(used, if at == last { left } else { high.min(left) });
            let mut further = self.columns(band, area, scale).into_iter();
            let page = pages.last_mut().expect("there is always a page");
            page.extend(further.next().into_iter().flatten());
            used += high + GAP;
            for page in further {
                pages.push(page);
                used = body.height;
            }
        }
        pages
    }

    /// The pages of a row of columns; each column continues on the next page independently, unless
    /// all fit in a larger scale.
    fn columns(&self, band: Band<'d>, area: Area, scale: f64) -> Vec<Vec<Piece<'d>>> {
        let mut pages: Vec<Vec<Piece<'d>>> = Vec::new();
        let count = band.len();
        for (at, column) in band.into_iter().enumerate() {
            let area = self.geometry.column(area, at, count);
            let parts = if scale > 1.0 {
                vec![stack(column, area, scale)]
            } else {
                flow(column, area, scale)
            };
            for (at, pieces) in parts.into_iter().enumerate() {
                match pages.get_mut(at) {
                    Some(page) => page.extend(pieces),
                    None => pages.push(pieces),
                }
            }
        }
        pages
    }

    /// The height of the tallest column.
    fn band_height(&self, band: &Band<'d>, scale: f64) -> f64 {
        let width = self.geometry.column(self.geometry.body, 0, band.len()).width;
        let high = |column: &Vec<SlideItem<'d>>| {
            let high: f64 = column.iter().map(|item| height(item, width, scale)).sum();
            high + GAP * column.len().saturating_sub(1) as f64 + ROUNDING
        };
        band.iter().map(high).fold(0.0, f64::max)
    }
}

fn is_columns(block: &Block) -> bool {
    matches!(block, Block::Columns(_))
}

/// Whether the text of a row of columns may be enlarged.
fn may_grow(band: &Band<'_>) -> bool {
    !is_elastic(band) && band.iter().all(|column| column.len() <= BLOCKS)
}

fn is_elastic(band: &Band<'_>) -> bool {
    band.iter().flatten().any(SlideItem::is_elastic)
}
