//! Charts of Office files as tables. The values are cached in the chart, so the original workbook
//! is not needed.

use super::{
    ReadError,
    archive::Archive,
    limits::{CELLS, COLUMNS},
    words::Words,
    xml::{XmlNode, walk},
};

/// The maximum number of points in a series.
const POINTS: usize = 10_000;
/// What is left out of a large chart.
const CUT: &str = "Further series and points of the chart were left out.";

#[derive(Default)]
struct ReadChart {
    title: String,
    series: Vec<ReadSeries>,
    open_series: Option<ReadSeries>,
    /// The open elements, outermost first.
    open: Vec<String>,
    /// The index of the point that is being read.
    at: usize,
    /// Whether its text has not begun.
    begins: bool,
    /// The number of texts of all series, with those that are missing between them.
    points: usize,
    /// Whether series or points are left out.
    is_cut: bool,
}

#[derive(Default)]
struct ReadSeries {
    name: String,
    names: Vec<String>,
    values: Vec<String>,
}

/// A column of the table of a chart.
struct ChartColumn<'s> {
    header: String,
    cells: &'s [String],
}

/// All charts in that folder, in the order of their names.
pub fn all(archive: &mut Archive, folder: &str, words: &mut Words) -> Result<(), ReadError> {
    for part in archive.numbered(&format!("{folder}chart")) {
        let mut chart = ReadChart::default();
        let xml = archive.part(&part)?.unwrap_or_default();
        // A damaged chart is read as far as possible.
        let _ = walk(&xml, |node| {
            chart.step(&node);
            Ok(())
        });
        chart.write_to(words)?;
    }
    Ok(())
}

impl ReadChart {
    fn step(&mut self, node: &XmlNode<'_>) {
        match node {
            XmlNode::Open(element) => {
                if element.name == "ser" {
                    self.open_series = Some(ReadSeries::default());
                }
                if element.name == "pt" {
                    (self.at, self.begins) = (element.number("idx").unwrap_or(0), true);
                }
                self.open.push(element.name.clone());
            }
            XmlNode::Close(name) => {
                self.open.pop();
                if *name == "ser" {
                    self.end_series();
                }
            }
            XmlNode::Text(text) => self.text(text),
        }
    }

    fn end_series(&mut self) {
        // The first column has the names of the points.
        if self.series.len() < COLUMNS - 1 {
            self.series.extend(self.open_series.take());
        } else {
            self.is_cut |= self.open_series.take().is_some();
        }
    }

    fn text(&mut self, text: &str) {
        // A title is written, or the value of a cell. Those in the plot area are titles of axes.
        let is_title = self.is_in("title");
        match self.open.last().map(String::as_str) {
            Some("t" | "v") if is_title && !self.is_in("plotArea") => self.title.push_str(text),
            // The labels of points and trend lines have texts, too.
            Some("v") if is_title || self.is_in("dLbl") || self.is_in("trendline") => {}
            Some("v") if self.is_in("tx") => {
                if let Some(series) = &mut self.open_series {
                    series.name.push_str(text);
                }
            }
            Some("v") => self.point(text),
            _ => {}
        }
    }

    fn is_in(&self, name: &str) -> bool {
        self.open.iter().any(|open| open == name)
    }

    /// Adds text to the name or the value of the point that is being read. A single point may say that
    /// thousands are missing before it.
    fn point(&mut self, text: &str) {
        let is_name = self.is_in("cat") || self.is_in("xVal");
        let is_value = self.is_in("val") || self.is_in("yVal");
        let Some(series) = &mut self.open_series else { return };
        let column = match (is_name, is_value) {
            (true, _) => &mut series.names,
            (_, true) => &mut series.values,
            _ => return,
        };
        let more = self.at.saturating_add(1).saturating_sub(column.len());
        if self.at >= POINTS || self.points + more > CELLS {
            self.is_cut = true;
            return;
        }
        self.points += more;
        column.resize(column.len() + more, String::new());
        let point = &mut column[self.at];
        // A name of several levels, such as a month and its year.
        if std::mem::take(&mut self.begins) && !point.is_empty() {
            point.push(' ');
        }
        point.push_str(text);
    }

    fn write_to(mut self, words: &mut Words) -> Result<(), ReadError> {
        self.end_series();
        let title = if self.title.is_empty() { "Chart" } else { &self.title };
        if self.series.is_empty() {
            return Ok(());
        }
        words.heading(3, title);
        let columns = self.columns();
        let count = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        let width = columns.len().min(COLUMNS);
        let shown = count.min((CELLS / width).saturating_sub(1));
        let mut rows: Vec<Vec<String>> =
            vec![columns.iter().take(width).map(|column| column.header.clone()).collect()];
        rows.extend((0..shown).map(|at| {
            let cells = columns.iter().take(width).map(|column| column.cells.get(at));
            cells.map(|cell| cell.cloned().unwrap_or_default()).collect()
        }));
        words.table(&rows)?;
        if self.is_cut || shown < count || width < columns.len() {
            words.paragraph(CUT);
        }
        Ok(())
    }

    /// The names of the points, and the values of the series. A series whose points have other names,
    /// as in a chart of x and y, has a column for them.
    fn columns(&self) -> Vec<ChartColumn<'_>> {
        let names = self.series.iter().map(|series| series.names.as_slice());
        // Of several of this length, it is the first.
        let names = names.rev().max_by_key(|names| names.len()).unwrap_or_default();
        let mut columns = vec![ChartColumn { header: String::new(), cells: names }];
        for ReadSeries { name, names: own, values } in &self.series {
            if !names.starts_with(own) {
                columns.push(ChartColumn { header: format!("{name} (x)"), cells: own });
            }
            columns.push(ChartColumn { header: name.clone(), cells: values });
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(series: &str) -> String {
        let mut chart = ReadChart::default();
        let xml = format!("<c:chart xmlns:c='c' xmlns:a='a'>{series}</c:chart>");
        walk(xml.as_bytes(), |node| {
            chart.step(&node);
            Ok(())
        })
        .unwrap();
        let mut words = Words::default();
        chart.write_to(&mut words).unwrap();
        words.finish()
    }

    /// The points of a series.
    fn points(element: &str, points: &[(usize, &str)]) -> String {
        let point =
            |(at, text): &(usize, &str)| format!("<c:pt idx='{at}'><c:v>{text}</c:v></c:pt>");
        format!(
            "<c:{element}>{}</c:{element}>",
            points.iter().map(point).collect::<Vec<_>>().concat()
        )
    }

    #[test]
    fn titles_and_labels_are_no_names_of_series() {
        let cell = |text: &str| {
            format!("<c:tx><c:strRef>{}</c:strRef></c:tx>", points("strCache", &[(0, text)]))
        };
        let title = |text: &str| format!("<c:title>{}</c:title>", cell(text));
        let label = format!("<c:dLbls><c:dLbl>{}</c:dLbl></c:dLbls>", cell("Best"));
        let (cat, val) = (points("cat", &[(0, "Q1")]), points("val", &[(0, "5")]));
        let series = format!("<c:ser>{}{label}{cat}{val}</c:ser>", cell("North"));
        let axis = format!("<c:valAx>{}</c:valAx>", title("Euro"));
        let text = read(&format!("{}<c:plotArea>{series}{axis}</c:plotArea>", title("Revenue")));
        assert_eq!(text, "### Revenue\n\n|  | North |\n| --- | --- |\n| Q1 | 5 |");
    }

    #[test]
    fn points_keep_their_own_names() {
        let series = |x: &[(usize, &str)], y: &[(usize, &str)]| {
            format!("<c:ser>{}{}</c:ser>", points("xVal", x), points("yVal", y))
        };
        let first = series(&[(0, "1"), (1, "2")], &[(0, "a"), (1, "b")]);
        let second = series(&[(0, "1")], &[(0, "c")]);
        let third = series(&[(0, "8"), (1, "9")], &[(0, "d"), (1, "e")]);
        let wanted = "### Chart\n\n|  |  |  | (x) |  |\n| --- | --- | --- | --- | --- |\n\
            | 1 | a | c | 8 | d |\n| 2 | b |  | 9 | e |";
        assert_eq!(read(&(first + &second + &third)), wanted);
        let months = points("lvl", &[(0, "May"), (1, "June")]);
        let years = points("lvl", &[(0, "2025")]);
        let values = points("val", &[(0, "1"), (1, "&lt;2")]);
        let text = read(&format!("<c:ser><c:cat>{months}{years}</c:cat>{values}</c:ser>"));
        assert!(text.ends_with("| May 2025 | 1 |\n| June | <2 |"), "{text}");
    }

    /// Proves S14.
    #[test]
    fn charts_are_bounded() {
        let far = points("val", &[(0, "1"), (9_999, "2"), (10_000, "3"), (usize::MAX, "4")]);
        let text = read(&format!("<c:ser>{far}</c:ser>"));
        assert!(text.ends_with(&format!("|  | 2 |\n\n{CUT}")), "{}", &text[text.len() - 99..]);
        let text = read(&format!("<c:ser>{}</c:ser>", points("val", &[(9_999, "2")])).repeat(300));
        assert!(text.starts_with("### Chart\n\n| ") && text.ends_with(CUT), "{}", text.len());
        let text = read(&format!("<c:ser>{}</c:ser>", points("val", &[(0, "7")])).repeat(300));
        assert_eq!((text.matches('7').count(), text.ends_with(CUT)), (255, true));
    }
}
