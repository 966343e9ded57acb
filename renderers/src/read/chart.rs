//! Charts of Office files as tables. The values are cached in the chart, so the original workbook
//! is not needed.

use super::{
    ReadError,
    archive::Archive,
    words::Words,
    xml::{XmlNode, walk},
};

/// The maximum number of points in a series.
const POINTS: usize = 10_000;

#[derive(Default)]
struct ReadChart {
    title: String,
    series: Vec<ReadSeries>,
    /// The open elements, outermost first.
    open: Vec<String>,
    /// The index of the point that is being read.
    at: usize,
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
                    self.series.push(ReadSeries::default());
                }
                if element.name == "pt" {
                    self.at = element.number("idx").unwrap_or(0).min(POINTS);
                }
                self.open.push(element.name.clone());
            }
            XmlNode::Close(_) => {
                self.open.pop();
            }
            XmlNode::Text(text) => self.text(text),
        }
    }

    fn text(&mut self, text: &str) {
        let is_value = self.open.last().is_some_and(|name| name == "v");
        if is_value {
            if self.is_in("tx") {
                if let Some(series) = self.series.last_mut() {
                    series.name.push_str(text);
                }
            } else {
                let at = self.at;
                if let Some(column) = self.column() {
                    column.resize(column.len().max(at + 1), String::new());
                    column[at].push_str(text);
                }
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

    /// The column of the points that are being read.
    fn column(&mut self) -> Option<&mut Vec<String>> {
        let (names, values) =
            (self.is_in("cat") || self.is_in("xVal"), self.is_in("val") || self.is_in("yVal"));
        let series = self.series.last_mut()?;
        match (names, values) {
            (true, _) => Some(&mut series.names),
            (_, true) => Some(&mut series.values),
            _ => None,
        }
    }

    fn write_to(self, words: &mut Words) -> Result<(), ReadError> {
        let title = if self.title.is_empty() { "Chart" } else { &self.title };
        let Some(longest) = self.series.iter().max_by_key(|series| series.names.len()) else {
            return Ok(());
        };
        words.heading(3, title);
        let header = std::iter::once(String::new());
        let mut rows: Vec<Vec<String>> =
            vec![header.chain(self.series.iter().map(|series| series.name.clone())).collect()];
        let count = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        rows.extend((0..count).map(|at| {
            let cell = |cells: &Vec<String>| cells.get(at).cloned().unwrap_or_default();
            let values = self.series.iter().map(|series| cell(&series.values));
            std::iter::once(cell(&longest.names)).chain(values).collect()
        }));
        words.table(&rows)
    }
}
