//! Charts: parsed from a fenced block, drawn as a vector picture.
//!
//! ````text
//! ```chart
//! type: bar            bar, line, area, pie, donut or scatter; before bar and area: stacked,
//!                      before bar: horizontal
//! lines: Growth        the series drawn as lines over the bars (optional); with the type combo,
//!                      the last series
//! y2: Percent          the title of an axis at the right for these lines (optional)
//! labels: values       the numbers on bars and lines: values, none or auto (optional)
//! title: Revenue       title, x, y (axis titles) and alt are optional
//! y: Million EUR
//!
//! Quarter, North, South
//! Q1, 1.2, 0.8
//! Q2, 1.4,
//! ```
//! ````
//!
//! The rows are CSV (commas, semicolons or tabs) or rows of a Markdown table. The first row names the
//! series, and the first column has the categories (in a scatter chart: the x values). An empty cell
//! is a gap. Excel and PowerPoint draw charts natively; Word files and PDFs use [`svg::draw`].
//!
//! - [`read`]: parses a block
//! - [`svg`] and `plot`: draw the picture on a `canvas`
//! - `names`: the names of categories in native charts

mod canvas;
mod names;
mod plot;
pub mod read;
pub mod svg;

pub(crate) use names::{NameLayout, NameRoom};

/// The maximum number of values in a chart; more would be unreadable.
pub const VALUES: usize = 500;

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// How it is drawn.
    pub kind: ChartKind,
    /// Whether the series are added to each other, for bars and areas.
    pub is_stacked: bool,
    /// Whether bars are horizontal.
    pub is_horizontal: bool,
    /// Whether values are printed on bars and lines.
    pub labels: Labels,
    /// The title above it.
    pub title: Option<String>,
    /// The title of the horizontal axis.
    pub x: Option<String>,
    /// The title of the vertical axis.
    pub y: Option<String>,
    /// The title of the axis at the right, which lines over bars have if it is set.
    pub y2: Option<String>,
    /// A sentence for screen readers, read before the values.
    pub alt: Option<String>,
    /// The header of the first column.
    pub corner: String,
    /// The categories: the first cell of each row.
    pub categories: Vec<String>,
    /// The categories as numbers, for scatter charts.
    pub xs: Vec<f64>,
    /// The series: one for each further column.
    pub series: Vec<Series>,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartKind {
    /// A group of vertical bars for each category.
    Bar,
    /// A line for each series.
    Line,
    /// A filled area for each series.
    Area,
    /// A circle with the values of the first series.
    Pie,
    /// The same as a ring.
    Donut,
    /// Points; the categories are numbers.
    Scatter,
}

/// Whether values are printed on bars and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Labels {
    /// On bars, if there are few.
    #[default]
    Auto,
    /// Nowhere.
    None,
    /// Everywhere.
    Values,
}

/// With more bars than this, values are printed only on request.
const VALUED: usize = 16;

/// A series of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// One for each category.
    pub values: Vec<Option<f64>>,
    /// Whether it is a line over the bars of the other series.
    pub is_line: bool,
}

impl Chart {
    /// The text alternative of the chart: all of its labels and values.
    pub fn description(&self) -> String {
        let title = self.title.as_ref().map(|title| format!(" “{title}”")).unwrap_or_default();
        let corner = Some(&self.corner).filter(|corner| !corner.is_empty());
        let axes = [corner, self.x.as_ref(), self.y.as_ref(), self.y2.as_ref()];
        let axes = axes.into_iter().flatten().map(String::as_str);
        let axes = axes.collect::<Vec<_>>().join(" / ");
        let axes = if axes.is_empty() { axes } else { format!(" ({axes})") };
        let series = self.series.iter().map(|series| {
            let values = series.values.iter().zip(&self.categories);
            let values = values.filter_map(|(v, name)| Some(format!("{name} {}", number((*v)?))));
            format!("{}: {}", series.name, values.collect::<Vec<_>>().join(", "))
        });
        let alt = self.alt.as_ref().map(|alt| format!(" {alt}.")).unwrap_or_default();
        let series = series.collect::<Vec<_>>().join("; ");
        format!("{}{title}{axes}.{alt} {series}.", self.name())
    }

    /// All visible text, one line per label.
    pub fn words(&self) -> Vec<String> {
        let titles = [&self.title, &self.x, &self.y, &self.y2].into_iter().flatten().cloned();
        let names = self.series.iter().map(|series| series.name.clone());
        titles.chain(names).chain(self.categories.iter().cloned()).collect()
    }

    /// Whether it has no axes.
    pub fn is_round(&self) -> bool {
        matches!(self.kind, ChartKind::Pie | ChartKind::Donut)
    }

    /// Whether values are printed on bars and lines.
    pub fn shows_values(&self) -> bool {
        let count = self.series.len() * self.categories.len();
        match self.labels {
            Labels::Auto => self.kind == ChartKind::Bar && count <= VALUED,
            Labels::None => false,
            Labels::Values => true,
        }
    }

    /// Whether values are printed on the bars or the line of a series.
    pub fn shows_values_of(&self, series: &Series) -> bool {
        self.shows_values() && (!series.is_line || self.labels == Labels::Values)
    }

    /// Whether lines are drawn over bars.
    pub fn is_combined(&self) -> bool {
        self.series.iter().any(|series| series.is_line)
    }

    /// The values that the axis has to cover: all values, or the sums of stacked ones.
    pub fn extremes(&self) -> Vec<f64> {
        let is_here = |series: &&Series| !series.is_line || self.y2.is_none();
        let here: Vec<&Series> = self.series.iter().filter(is_here).collect();
        let values = |series: &&Series| series.values.iter().flatten().copied().collect::<Vec<_>>();
        if !self.is_stacked {
            return here.iter().flat_map(values).collect();
        }
        let stacked = || here.iter().filter(|series| !series.is_line);
        let column = |at: usize| stacked().filter_map(move |series| series.values[at]);
        let sums = (0..self.categories.len()).flat_map(|at| {
            [column(at).filter(|v| *v > 0.0).sum(), column(at).filter(|v| *v < 0.0).sum()]
        });
        let lines = here.iter().filter(|series| series.is_line).flat_map(values);
        sums.chain(lines).collect()
    }

    /// The values that the axis at the right has to cover.
    pub fn right_extremes(&self) -> Vec<f64> {
        let lines = self.series.iter().filter(|series| series.is_line && self.y2.is_some());
        lines.flat_map(|series| series.values.iter().flatten().copied()).collect()
    }

    /// The format of numbers at the axis in Office: with separators if there are thousands.
    pub fn axis_format(&self) -> &'static str {
        format_of(&self.extremes())
    }

    /// The same of the axis at the right.
    pub fn right_axis_format(&self) -> &'static str {
        format_of(&self.right_extremes())
    }

    /// The format of the values of a series in Office, with the decimals that it has.
    pub fn value_format(&self, series: &Series) -> &'static str {
        let is_right = series.is_line && self.y2.is_some();
        let format = if is_right { self.right_axis_format() } else { self.axis_format() };
        if format == GENERAL {
            return format;
        }
        let decimals = |value: &f64| {
            let text = number(*value);
            let decimals = text.split_once('.').map(|(_, decimals)| decimals);
            decimals.filter(|decimals| !decimals.contains('e')).map_or(0, str::len)
        };
        match series.values.iter().flatten().map(decimals).max().unwrap_or(0) {
            0 => format,
            1 => "#,##0.0",
            2 => "#,##0.00",
            3 => "#,##0.000",
            _ => "#,##0.0000",
        }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            ChartKind::Area => "Area chart",
            ChartKind::Donut => "Donut chart",
            ChartKind::Bar if self.is_combined() => "Bar and line chart",
            ChartKind::Bar => "Bar chart",
            ChartKind::Line => "Line chart",
            ChartKind::Pie => "Pie chart",
            ChartKind::Scatter => "Scatter chart",
        }
    }
}

/// The format of Office that shows a number as it is.
const GENERAL: &str = "General";

fn format_of(values: &[f64]) -> &'static str {
    let is_large = values.iter().any(|value| value.abs() >= 1_000.0);
    if is_large { "#,##0" } else { GENERAL }
}

/// A value formatted for labels: with thousands separators and at most four decimals.
pub fn number(value: f64) -> String {
    if value.abs() >= 1e15 || (value != 0.0 && value.abs() < 1e-4) {
        return format!("{value:e}");
    }
    let rounded = (value * 1e4).round() / 1e4;
    let text = rounded.abs().to_string();
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(w, r)| (w, r));
    let mut shown = if rounded < 0.0 { "-".to_owned() } else { String::new() };
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if rest.is_empty() { shown } else { format!("{shown}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::read::read;

    #[test]
    fn values_with_separators_keep_their_decimals() {
        let chart = read("type: combo\ny2: R\n\nk,A,B,C\na,1200,1200.25,0.5\nb,3,0.4,7").unwrap();
        let formats = chart.series.iter().map(|series| chart.value_format(series));
        assert_eq!(formats.collect::<Vec<_>>(), ["#,##0", "#,##0.00", "General"]);
        assert_eq!([chart.axis_format(), chart.right_axis_format()], ["#,##0", "General"]);
    }
}
