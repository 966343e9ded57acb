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
                    self.at = element.number("idx").unwrap_or(0);
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
        let is_value = self.open.last().is_some_and(|name| name == "v");
        if is_value {
            if self.is_in("tx") {
                if let Some(series) = &mut self.open_series {
                    series.name.push_str(text);
                }
            } else {
                self.point(text);
            }
        } else if self.open.last().is_some_and(|name| name == "t")
            && self.is_in("title")
            && !self.is_in("plotArea")
        {
            self.title.push_str(text);
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
        column[self.at].push_str(text);
    }

    fn write_to(mut self, words: &mut Words) -> Result<(), ReadError> {
        self.end_series();
        let title = if self.title.is_empty() { "Chart" } else { &self.title };
        let Some(longest) = self.series.iter().max_by_key(|series| series.names.len()) else {
            return Ok(());
        };
        words.heading(3, title);
        let header = std::iter::once(String::new());
        let mut rows: Vec<Vec<String>> =
            vec![header.chain(self.series.iter().map(|series| series.name.clone())).collect()];
        let count = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        let shown = count.min((CELLS / rows[0].len()).saturating_sub(1));
        rows.extend((0..shown).map(|at| {
            let cell = |cells: &Vec<String>| cells.get(at).cloned().unwrap_or_default();
            let values = self.series.iter().map(|series| cell(&series.values));
            std::iter::once(cell(&longest.names)).chain(values).collect()
        }));
        words.table(&rows)?;
        if self.is_cut || shown < count {
            words.paragraph(CUT);
        }
        Ok(())
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
