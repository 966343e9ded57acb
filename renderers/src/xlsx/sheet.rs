//! Writes one sheet: its parts from top to bottom, column widths and print settings.

use rust_xlsxwriter::{Format, FormatAlign, HeaderImagePosition, Image, Worksheet, XlsxError};

use super::cells;
use super::directives::Directive;
use super::look::{self, BaseFont};
use super::pages::Pages;
use super::pictures::image;
use super::plan::{PlannedPart, SheetLine, SheetPlan};
use super::runs::Runs;
use super::strings;
use super::widths::{LINE_WIDTH, span};
use crate::document::{PageSize, plain_text};
use crate::package::look::{is_rtl, language};
use crate::package::measure::begins_rtl;
use crate::pdf::images;

const LOGO_PIXELS: f64 = 32.0;
/// Excel's value for right-to-left cell text.
const RIGHT_TO_LEFT: u8 = 2;
/// The maximum number of links per sheet, which is Excel's limit.
const LINKS: usize = 65_530;

/// The maximum length of a header or footer with its codes, which is Excel's limit.
const PRINTED_UNITS: usize = 255;

/// The width, in characters, that a landscape page shows in letters of 7 points.
const PAGE_CHARS: usize = 220;

/// The number of pages side by side for columns of these widths. The first column is on all.
fn pages_across(widths: &[usize]) -> u16 {
    let first = widths.first().copied().unwrap_or(0);
    let width: usize = widths.iter().sum();
    let room = PAGE_CHARS.saturating_sub(first).max(PAGE_CHARS / 2);
    if width <= PAGE_CHARS {
        1
    } else {
        u16::try_from((width - first).div_ceil(room)).unwrap_or(u16::MAX)
    }
}

/// A cell of a sheet, counted from zero.
#[derive(Clone, Copy)]
pub struct SheetCell {
    pub row: u32,
    pub column: u16,
}

/// Text in the format of its cell, and the font on which the formats of its runs build.
#[derive(Clone, Copy)]
pub struct FormattedText<'a> {
    pub runs: &'a Runs,
    pub font: BaseFont<'a>,
    pub format: &'a Format,
}

impl Pages<'_> {
    /// Writes the sheet; `widths` are those of its columns, in characters.
    pub fn write(
        &mut self,
        sheet: &mut Worksheet,
        planned: &SheetPlan,
        widths: &[usize],
    ) -> Result<(), XlsxError> {
        sheet.set_name(&planned.name)?;
        self.links = 0;
        self.rtl = self.is_rtl(planned);
        sheet.set_right_to_left(self.rtl);
        for (column, width) in widths.iter().enumerate() {
            sheet.set_column_width(column as u16, *width as f64)?;
        }
        self.paper(sheet, widths)?;
        let mut row = 0;
        let mut after_table = false;
        for part in &planned.parts {
            row += gap(part, row, after_table);
            after_table = matches!(part, PlannedPart::Table(..));
            match part {
                PlannedPart::Table(table, directives) => {
                    self.table(sheet, row, table, directives)?;
                }
                PlannedPart::Text(line) => self.line(sheet, row, line, widths)?,
                PlannedPart::Chart(chart) => self.chart(sheet, row, chart)?,
                PlannedPart::Pictures(pictures) => self.pictures(sheet, row, pictures)?,
            }
            row += self.height(part);
        }
        Ok(())
    }

    /// Whether the sheet is right-to-left.
    fn is_rtl(&self, planned: &SheetPlan) -> bool {
        let head = planned.parts.iter().find_map(|part| match part {
            PlannedPart::Table(table, _) => table.header.first(),
            _ => None,
        });
        is_rtl(language(&self.document.meta))
            || head.is_some_and(|cell| begins_rtl(&plain_text(cell)))
    }

    /// The number of rows of a part.
    fn height(&self, part: &PlannedPart<'_>) -> u32 {
        match part {
            PlannedPart::Table(table, _) if table.header.is_empty() => 0,
            PlannedPart::Table(table, directives) => {
                let totals = directives.iter().filter(|d| matches!(d, Directive::Total(..)));
                table.rows.len() as u32 + 1 + totals.count() as u32
            }
            PlannedPart::Text(_) => 1,
            PlannedPart::Chart(chart) => super::charts::rows(chart),
            PlannedPart::Pictures(pictures) => self.rows_of_pictures(pictures),
        }
    }

    /// Records the position and content of all tables before anything is written, since formulas
    /// may reference any of them.
    pub fn survey(&mut self, sheets: &[SheetPlan<'_>]) {
        for sheet in sheets {
            let (mut row, mut after_table, mut is_first) = (0, false, true);
            let tables =
                sheet.parts.iter().filter(|part| matches!(part, PlannedPart::Table(..))).count();
            for part in &sheet.parts {
                row += gap(part, row, after_table);
                after_table = matches!(part, PlannedPart::Table(..));
                if let PlannedPart::Table(table, directives) = part {
                    if std::mem::take(&mut is_first) {
                        let name = sheet.name.to_lowercase();
                        self.grid.sheets.insert(name.clone(), self.grid.here);
                        self.tops.sheets.insert(name, (sheet.name.clone(), row));
                    }
                    if tables > 1 {
                        self.grid.shared.insert(self.grid.here);
                    }
                    let read = self.read(table);
                    self.survey_totals(table, directives);
                    self.tables.push_back(read);
                    self.grid.here += 1;
                }
                row += self.height(part);
            }
        }
        self.grid.here = 0;
        // Formulas may use the name in the document, unless another sheet has it.
        for sheet in sheets {
            let (name, heading) = (sheet.name.to_lowercase(), sheet.heading.to_lowercase());
            let known =
                self.grid.sheets.get(&name).copied().zip(self.tops.sheets.get(&name).cloned());
            if let Some((table, top)) = known {
                self.grid.sheets.entry(heading.clone()).or_insert(table);
                self.tops.sheets.entry(heading).or_insert(top);
            }
        }
    }

    /// Fits columns of these widths to one page, or to several side by side if the text would be
    /// too small; the length is unlimited.
    pub fn paper(&mut self, sheet: &mut Worksheet, widths: &[usize]) -> Result<(), XlsxError> {
        let meta = &self.document.meta;
        let width: usize = widths.iter().sum();
        sheet.set_paper_size(if meta.page.size == PageSize::Letter { 1 } else { 9 });
        if meta.page.landscape || width > 100 {
            sheet.set_landscape();
        }
        let across = pages_across(widths);
        sheet.set_print_fit_to_pages(across, 0);
        if across > 1 {
            sheet.set_repeat_columns(0, 0)?;
        }
        if let Some(margins) = meta.brand.as_deref().and_then(|brand| brand.margins) {
            let [top, right, bottom, left] = margins.map(|twips| twips as f64 / 1_440.0);
            let edge = top.min(bottom) / 2.0;
            sheet.set_margins(left, right, top, bottom, edge, edge);
        }
        let header = meta.header.as_deref().unwrap_or_default();
        if let Some(logo) = self.logo() {
            sheet.set_header(self.printed(header, "&R&G"));
            sheet.set_header_image(&logo, HeaderImagePosition::Right)?;
        } else if !header.is_empty() {
            sheet.set_header(self.printed(header, ""));
        }
        sheet.set_footer(self.printed(meta.footer.as_deref().unwrap_or_default(), "&R&P / &N"));
        Ok(())
    }

    /// A header or footer with this text at the left, cut if necessary, and other codes after it.
    fn printed(&mut self, text: &str, codes: &str) -> String {
        let mut printed = "&L".to_owned();
        let mut units = printed.len() + codes.len();
        for c in text.chars() {
            let sign = match c {
                // An ampersand begins a code, unless it is doubled.
                '&' => "&",
                // rust_xlsxwriter would take it for the code of the right side. This one says nothing.
                'R' if printed.ends_with('&') => "&\"-,Regular\"",
                _ => "",
            };
            units += sign.len() + c.len_utf16();
            if units > PRINTED_UNITS {
                self.lose(
                    "A printed header or footer can have 255 characters; a longer one was cut.",
                );
                break;
            }
            printed.push_str(sign);
            printed.push(c);
        }
        printed + codes
    }

    /// The logo for the printed page.
    fn logo(&mut self) -> Option<Image> {
        let logo = images::picture(self.document.logo.as_deref()?, &mut 0);
        match image(&logo, self.fonts) {
            Ok((image, own)) => {
                let scale = (LOGO_PIXELS / image.height()).min(own);
                Some(image.set_scale_width(scale).set_scale_height(scale))
            }
            Err(why) => {
                self.warn(format!("The logo was omitted: {why}."));
                None
            }
        }
    }

    fn line(
        &mut self,
        sheet: &mut Worksheet,
        row: u32,
        line: &SheetLine,
        widths: &[usize],
    ) -> Result<(), XlsxError> {
        if line.runs.pieces.is_empty() {
            return Ok(());
        }
        if line.heading {
            let runs = line.runs.within_bold();
            let format = look::heading(runs.style().unwrap_or_default(), &self.look);
            if self.rtl {
                sheet.merge_range(row, 0, row, span(widths).0, "", &format)?;
            }
            let font = BaseFont::heading(&self.look);
            let text = FormattedText { runs: &runs, font, format: &format };
            return self.text_in(sheet, SheetCell { row, column: 0 }, text);
        }
        // In a right-to-left sheet, text that starts in a later column is cut off.
        let long = line.runs.width() > LINE_WIDTH || line.runs.text().contains('\n');
        let wraps = self.rtl || long;
        let mut format = look::cell(line.runs.style().unwrap_or_default(), &self.look, None, wraps);
        if self.rtl && begins_rtl(&line.runs.text()) {
            let right = format.set_align(FormatAlign::Right).set_indent(line.indent);
            format = right.set_reading_direction(RIGHT_TO_LEFT);
        } else if self.rtl || line.indent > 0 {
            format = format.set_align(FormatAlign::Left).set_indent(line.indent);
        }
        if wraps {
            let (last, width) = span(widths);
            let lines: usize = line
                .runs
                .text()
                .lines()
                .map(|l| super::runs::width(l).div_ceil(width).max(1))
                .sum();
            sheet.merge_range(row, 0, row, last, "", &format)?;
            sheet.set_row_height(row, (lines * 15).min(400) as f64)?;
        }
        self.text(sheet, SheetCell { row, column: 0 }, &line.runs, &format)
    }

    /// Text in the ordinary font.
    pub fn text(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        runs: &Runs,
        format: &Format,
    ) -> Result<(), XlsxError> {
        let font = BaseFont::text(&self.look);
        self.text_in(sheet, at, FormattedText { runs, font, format })
    }

    /// Text with the single link that a cell can have; other URLs are written out.
    pub fn text_in(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        text: FormattedText<'_>,
    ) -> Result<(), XlsxError> {
        self.has_math |= text.runs.has_math;
        if let Some(url) = text.runs.url()
            && !self.link(sheet, at, url, text.format)?
        {
            let runs = text.runs.spelled(url);
            return self.runs(sheet, at, FormattedText { runs: &runs, ..text });
        }
        self.runs(sheet, at, text)
    }

    /// Text without its link, formatted if needed.
    pub fn runs(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        text: FormattedText<'_>,
    ) -> Result<(), XlsxError> {
        let FormattedText { runs, format, .. } = text;
        let plain = runs.text();
        if runs.pieces.len() > 1 && cells::fitting(&plain).len() == plain.len() {
            if strings::write_runs(sheet, at, text)? {
                return Ok(());
            }
            self.lose("A cell has too many formats and is shown without them.");
        }
        self.string(sheet, at, &plain, format)
    }

    /// Text without formats, cut at the limit of a cell.
    pub fn string(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        text: &str,
        format: &Format,
    ) -> Result<(), XlsxError> {
        let mut cut = cells::fitting(text).to_owned();
        // Without its last bracket, a text is no longer like a run.
        while !strings::write(sheet, at, &cut, format)? {
            cut.pop();
        }
        if cut.len() < text.len() {
            self.lose("A cell can have 32,767 characters; a longer text was cut.");
        }
        Ok(())
    }

    /// Makes the cell a link if possible, before its text is written. Excel does not support `tel:`
    /// links.
    pub fn link(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        url: &str,
        format: &Format,
    ) -> Result<bool, XlsxError> {
        let SheetCell { row, column } = at;
        if self.links >= LINKS {
            self.lose("A sheet can have 65,530 links; the others are shown as text.");
            return Ok(false);
        }
        match sheet.write_url_with_options(row, column, url, "", "", Some(format)) {
            Ok(_) => {
                self.links += 1;
                Ok(true)
            }
            Err(XlsxError::UnknownUrlType(_) | XlsxError::MaxUrlLengthExceeded) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Empty rows before a part: around tables and charts, and before headings.
fn gap(part: &PlannedPart<'_>, row: u32, after_table: bool) -> u32 {
    let is_apart = match part {
        PlannedPart::Table(..) | PlannedPart::Chart(_) => true,
        PlannedPart::Text(line) => line.heading,
        PlannedPart::Pictures(_) => false,
    };
    u32::from(row > 0 && (is_apart || after_table))
}
