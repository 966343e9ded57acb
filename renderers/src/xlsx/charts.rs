//! Native charts: the values as cells, and below them the chart that references these cells.

use rust_xlsxwriter::{
    Chart as Native, ChartAxis, ChartAxisCrossing, ChartAxisLabelPosition, ChartDataLabel,
    ChartFont, ChartFormat, ChartLegendPosition, ChartLine, ChartMarker, ChartMarkerType,
    ChartSeries, ChartSolidFill, ChartType, Color, Worksheet, XlsxError,
};

use super::look;
use super::pages::Pages;
use super::sheet::SheetCell;
use crate::chart::{Chart, ChartKind, NameLayout, NameRoom};
use crate::document::Align;
use crate::package::look::Look;

/// The size of a chart, in pixels.
const WIDTH: u32 = 600;
const HEIGHT: u32 = 340;
/// The height of a horizontal bar at which its name is not left out, and that of the rest.
const BAR: u32 = 22;
const AROUND_BARS: u32 = 100;
/// The height of a row.
const ROW: u32 = 20;
/// The size of the points of a line, in points.
const MARKER: u8 = 7;
/// The size of the letters, in pixels.
const LETTERS: f64 = 13.4;

impl Pages<'_> {
    pub fn chart(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        chart: &Chart,
    ) -> Result<(), XlsxError> {
        let bottom = top + chart.categories.len() as u32;
        self.chart_cells(sheet, top, chart)?;
        let name = sheet.name();
        let mut native = Native::new(match chart.kind {
            ChartKind::Bar => match (chart.is_horizontal, chart.is_stacked) {
                (false, false) => ChartType::Column,
                (false, true) => ChartType::ColumnStacked,
                (true, false) => ChartType::Bar,
                (true, true) => ChartType::BarStacked,
            },
            ChartKind::Area if chart.is_stacked => ChartType::AreaStacked,
            ChartKind::Area => ChartType::Area,
            ChartKind::Line => ChartType::Line,
            ChartKind::Pie => ChartType::Pie,
            ChartKind::Donut => ChartType::Doughnut,
            ChartKind::Scatter => ChartType::Scatter,
        });
        let mut lines = Native::new(ChartType::Line);
        for (at, one) in chart.series.iter().enumerate() {
            let column = at as u16 + 1;
            let series = if one.is_line { lines.add_series() } else { native.add_series() };
            series
                .set_name((name.as_str(), top, column))
                .set_categories((name.as_str(), top + 1, 0, bottom, 0))
                .set_values((name.as_str(), top + 1, column, bottom, column))
                .set_secondary_axis(one.is_line && chart.y2.is_some());
            paint(series, chart, at, &self.look);
        }
        label(&mut native, chart);
        if chart.is_combined() {
            if let Some(title) = &chart.y2 {
                let format = chart.right_axis_format();
                native.y2_axis().set_name(&literal(title)).set_num_format(format);
            }
            native.combine(&lines);
        }
        native
            .set_width(WIDTH)
            .set_height(height(chart))
            .set_alt_text(look::described(&chart.description()));
        sheet.insert_chart(bottom + 2, 0, &native)?;
        Ok(())
    }

    /// The values, below their names.
    fn chart_cells(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        chart: &Chart,
    ) -> Result<(), XlsxError> {
        let (head, text) = (look::header(Align::Start.into(), &self.look), look::text(&self.look));
        self.string(sheet, SheetCell { row: top, column: 0 }, &chart.corner, &head)?;
        for (row, (at, name)) in (top + 1..).zip(chart.categories.iter().enumerate()) {
            match chart.xs.get(at) {
                Some(x) => {
                    sheet.write_number(row, 0, *x)?;
                }
                None => self.string(sheet, SheetCell { row, column: 0 }, name, &text)?,
            }
        }
        let head = look::header(Align::End.into(), &self.look);
        for (column, series) in (1..).zip(&chart.series) {
            self.string(sheet, SheetCell { row: top, column }, &series.name, &head)?;
            for (row, value) in (top + 1..).zip(&series.values) {
                if let Some(value) = value {
                    sheet.write_number(row, column, *value)?;
                }
            }
        }
        Ok(())
    }
}

/// The number of rows for the values and the chart below them.
pub fn rows(chart: &Chart) -> u32 {
    chart.categories.len() as u32 + 2 + height(chart).div_ceil(ROW) + 2
}

/// Horizontal bars get as much height as all their names need.
fn height(chart: &Chart) -> u32 {
    let bars = if chart.is_horizontal { chart.categories.len() as u32 } else { 0 };
    (bars * BAR + AROUND_BARS).max(HEIGHT)
}

/// The colours and labels of a series.
fn paint(series: &mut ChartSeries, chart: &Chart, at: usize, look: &Look) {
    let palette = look.palette();
    let own = palette[at % palette.len()];
    let (palette, color) = (palette.map(look::color), look::color(own));
    let one = &chart.series[at];
    let kind = if one.is_line { ChartKind::Line } else { chart.kind };
    if chart.shows_values_of(one) && kind != ChartKind::Scatter {
        let mut label = ChartDataLabel::new();
        label.show_value().set_num_format(chart.value_format(one));
        if kind == ChartKind::Area || (kind == ChartKind::Bar && chart.is_stacked) {
            label.set_font(ChartFont::new().set_color(look::color(own.contrasting())));
        }
        series.set_data_label(&label);
    }
    let mut fill = ChartFormat::new();
    fill.set_solid_fill(ChartSolidFill::new().set_color(color));
    match kind {
        ChartKind::Bar => {
            series.set_format(&mut fill).set_gap(60);
            if chart.is_stacked {
                series.set_overlap(100);
            }
        }
        ChartKind::Area => {
            series.set_format(&mut fill);
        }
        ChartKind::Pie | ChartKind::Donut => {
            let colors = palette.iter().copied().cycle().take(chart.categories.len());
            series.set_point_colors(&colors.collect::<Vec<_>>());
        }
        ChartKind::Line => {
            let mut line = ChartFormat::new();
            line.set_line(ChartLine::new().set_color(color).set_width(2.25));
            // Without a marker, a value between two gaps is invisible.
            let mut marker = ChartMarker::new();
            marker.set_type(ChartMarkerType::Circle).set_size(MARKER).set_format(&mut fill);
            series.set_format(&mut line).set_marker(&marker);
        }
        // rust_xlsxwriter writes a custom marker before the line, where the schema rejects it.
        ChartKind::Scatter => {}
    }
}

/// A title as it is. rust_xlsxwriter takes `=Sheet!A1`, also without the sign, for a reference to
/// cells, unless there are spaces around it.
fn literal(title: &str) -> String {
    let ends_like_cell = title.contains('!') && title.ends_with(|c: char| c.is_ascii_digit());
    if title.starts_with('=') || ends_like_cell { format!(" {title} ") } else { title.to_owned() }
}

/// The axis of the categories, which is vertical for horizontal bars.
fn categories<'n>(native: &'n mut Native, chart: &Chart) -> &'n mut ChartAxis {
    if chart.is_horizontal { native.y_axis() } else { native.x_axis() }
}

fn values<'n>(native: &'n mut Native, chart: &Chart) -> &'n mut ChartAxis {
    if chart.is_horizontal { native.x_axis() } else { native.y_axis() }
}

fn label(native: &mut Native, chart: &Chart) {
    match &chart.title {
        Some(title) => native.title().set_name(&literal(title)),
        None => native.title().set_hidden(),
    };
    if let Some(x) = &chart.x {
        categories(native, chart).set_name(&literal(x));
    }
    if let Some(y) = &chart.y {
        values(native, chart).set_name(&literal(y));
    }
    if !chart.is_round() {
        values(native, chart).set_num_format(chart.axis_format());
    }
    if chart.is_horizontal {
        // The first bar is at the top, the axis of values below the last.
        categories(native, chart).set_reverse().set_crossing(ChartAxisCrossing::Max);
    }
    let grey = ChartLine::new().set_color(Color::RGB(0xd0_d7de)).clone();
    values(native, chart).set_major_gridlines(true).set_major_gridlines_line(&grey);
    categories(native, chart).set_major_gridlines(false);
    categories(native, chart).set_label_position(ChartAxisLabelPosition::Low);
    let (width, height) = (f64::from(WIDTH), f64::from(height(chart)));
    let names = chart.name_layout(NameRoom { width, height, letters: LETTERS });
    if names == NameLayout::Slanted {
        // rust_xlsxwriter cannot set an interval of one name.
        categories(native, chart).set_font(ChartFont::new().set_rotation(-45));
    }
    if !chart.is_round() {
        if chart.series.len() < 2 {
            native.legend().set_hidden();
        } else {
            native.legend().set_position(ChartLegendPosition::Bottom);
        }
    }
}
