//! Parses the text of a chart block.

use super::{Chart, ChartKind, Labels, Series, VALUES};
use crate::package::text::unquoted;
use crate::records::Records;

/// Parses the block. The error is the end of a sentence that names the wrong line and the reason.
pub fn read(text: &str) -> Result<Chart, String> {
    let lines = text.lines().map(str::trim);
    let is_option = |line: &&str| line.split_once(':').is_some_and(|(key, _)| is_key(key));
    let head: Vec<&str> = lines.take_while(|l| l.is_empty() || is_option(l)).collect();
    let body = rows(text, head.len());
    let mut chart = Chart {
        kind: ChartKind::Bar,
        is_stacked: false,
        is_horizontal: false,
        labels: Labels::Auto,
        title: None,
        x: None,
        y: None,
        y2: None,
        alt: None,
        corner: String::new(),
        categories: Vec::new(),
        xs: Vec::new(),
        series: Vec::new(),
    };
    let mut lines = Lines::default();
    for line in head.into_iter().filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let value = unquoted(value);
        match key.trim().to_lowercase().as_str() {
            "type" => lines.is_wanted = kind(&mut chart, &value.to_lowercase())?,
            "lines" => lines.names = value.split(',').map(|name| name.trim().to_owned()).collect(),
            key => option(&mut chart, key, value)?,
        }
    }
    table(&mut chart, &body)?;
    combine(&mut chart, &lines)?;
    check(chart)
}

/// The lines of the table below `head` other lines. A tab at the beginning of one is the end of an
/// empty cell, unless all of them begin with one.
fn rows(text: &str, head: usize) -> Vec<&str> {
    let lines = || text.lines().skip(head).filter(|line| !line.trim().is_empty());
    let is_indented = lines().all(|line| line.starts_with('\t'));
    lines().map(|line| if is_indented { line.trim() } else { line.trim_end() }).collect()
}

/// The series that are drawn as lines over bars.
#[derive(Default)]
struct Lines {
    names: Vec<String>,
    /// Whether the type asks for a line. Without names it is the last series.
    is_wanted: bool,
}

const KEYS: [&str; 10] =
    ["type", "title", "x", "y", "y2", "alt", "labels", "lines", "stacked", "horizontal"];

fn is_key(key: &str) -> bool {
    KEYS.contains(&key.trim().to_lowercase().as_str())
}

fn option(chart: &mut Chart, key: &str, value: &str) -> Result<(), String> {
    let given = (!value.is_empty()).then(|| value.to_owned());
    match key {
        "title" => chart.title = given,
        "x" => chart.x = given,
        "y" => chart.y = given,
        "y2" => chart.y2 = given,
        "alt" => chart.alt = given,
        "stacked" => chart.is_stacked = is_on(value),
        "horizontal" => chart.is_horizontal = is_on(value),
        _ => chart.labels = labels(value)?,
    }
    Ok(())
}

fn is_on(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "true" | "yes" | "on")
}

fn labels(value: &str) -> Result<Labels, String> {
    match value.to_lowercase().as_str() {
        "auto" => Ok(Labels::Auto),
        "none" | "false" | "off" | "no" => Ok(Labels::None),
        "values" | "true" | "on" | "yes" => Ok(Labels::Values),
        other => Err(format!("its labels must be values, none or auto, not “{other}”")),
    }
}

/// Reads a type such as `bar`, `stacked horizontal bar` or `bar and line`. Returns whether a line is
/// drawn over bars.
fn kind(chart: &mut Chart, value: &str) -> Result<bool, String> {
    let words = value.split(|c: char| c.is_whitespace() || "-_,+&".contains(c));
    let words: Vec<&str> = words.filter(|word| !matches!(*word, "" | "and" | "with")).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let is_combined = has(&["combo", "combined"]) || has(&["bar", "column"]) && has(&["line"]);
    for word in &words {
        match *word {
            "line" if is_combined => {}
            "stacked" => chart.is_stacked = true,
            "horizontal" => chart.is_horizontal = true,
            "hbar" => (chart.kind, chart.is_horizontal) = (ChartKind::Bar, true),
            "bar" | "column" | "combo" | "combined" => chart.kind = ChartKind::Bar,
            "line" => chart.kind = ChartKind::Line,
            "area" => chart.kind = ChartKind::Area,
            "pie" => chart.kind = ChartKind::Pie,
            "donut" | "doughnut" => chart.kind = ChartKind::Donut,
            "scatter" => chart.kind = ChartKind::Scatter,
            other => {
                return Err(format!(
                    "its type must be bar, line, area, pie, donut, scatter or combo, not “{other}”"
                ));
            }
        }
    }
    Ok(is_combined)
}

/// Marks the series that are lines over bars.
fn combine(chart: &mut Chart, lines: &Lines) -> Result<(), String> {
    let is_wanted = lines.is_wanted || !lines.names.is_empty();
    if !is_wanted || chart.kind != ChartKind::Bar {
        return chart.y2.as_ref().map_or(Ok(()), |_| {
            Err("an axis y2 is for lines over bars; name their series with `lines:`".to_owned())
        });
    }
    if chart.is_horizontal {
        return Err("lines cannot be drawn over horizontal bars".to_owned());
    }
    for name in &lines.names {
        let is_named = |series: &&mut Series| series.name.eq_ignore_ascii_case(name);
        let series = chart.series.iter_mut().find(is_named);
        series.ok_or(format!("it has no series “{name}” to draw as a line"))?.is_line = true;
    }
    if let (true, Some(last)) = (lines.names.is_empty(), chart.series.last_mut()) {
        last.is_line = true;
    }
    if chart.series.iter().all(|series| series.is_line) {
        return Err("bars and lines need two or more series".to_owned());
    }
    Ok(())
}

fn table(chart: &mut Chart, lines: &[&str]) -> Result<(), String> {
    let mut rows = cells(lines).into_iter();
    let header = rows.next().ok_or("it has no rows; the first row names the series")?;
    let (corner, names) = header.split_first().ok_or("its first row is empty")?;
    corner.clone_into(&mut chart.corner);
    chart.series = names
        .iter()
        .map(|name| Series { name: name.clone(), values: Vec::new(), is_line: false })
        .collect();
    for row in rows {
        let (category, values) = row.split_first().ok_or("a row is empty")?;
        if values.len() > chart.series.len() {
            return Err(format!("the row of “{category}” has more values than there are series"));
        }
        chart.categories.push(category.clone());
        for (at, series) in chart.series.iter_mut().enumerate() {
            let text = values.get(at).map_or("", String::as_str);
            series.values.push(value(text)?);
        }
    }
    Ok(())
}

/// Converts the rows of a Markdown table to cells; other rows are CSV.
fn cells(lines: &[&str]) -> Vec<Vec<String>> {
    if !lines.first().is_some_and(|line| line.trim_start().starts_with('|')) {
        let rows: Vec<_> = Records::of(&lines.join("\n")).collect();
        let trimmed = |row: Vec<String>| row.iter().map(|c| c.trim().to_owned()).collect();
        return rows.into_iter().map(trimmed).collect();
    }
    let lines = lines.iter().map(|line| line.trim());
    let is_rule = |line: &str| line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    lines.filter(|line| !is_rule(line)).map(between_bars).collect()
}

/// The cells of a row of a Markdown table, in which `\|` is a bar within a cell.
fn between_bars(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut letters = line.strip_prefix('|').unwrap_or(line).chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next_if_eq(&'|').is_some() => cell.push('|'),
            '|' => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    cells.push(cell);
    // Bars at the end have no cells after them.
    while cells.len() > 1 && cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The magnitudes of values: the sums and shares of them are numbers too.
const MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-300..=1e300;

fn value(text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let text = &text.replace('\u{2212}', "-");
    let digits = text.trim_start_matches(['$', '€', '£', '¥']).trim_end_matches('%').trim();
    let digits = digits.replace(['_', '\u{a0}'], "");
    let value: Option<f64> = ungrouped(&digits).unwrap_or(digits).parse().ok();
    match value.filter(|value| *value == 0.0 || MAGNITUDES.contains(&value.abs())) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("“{text}” is not a number such as 1250 or -0.5")),
    }
}

/// Removes the thousands separators from a number.
fn ungrouped(digits: &str) -> Option<String> {
    let whole = digits.split('.').next()?.trim_start_matches(['-', '+']);
    let (first, groups) = whole.split_once(',')?;
    let is_figures = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_grouped = (1..=3).contains(&first.len())
        && is_figures(first)
        && groups.split(',').all(|group| group.len() == 3 && is_figures(group));
    is_grouped.then(|| digits.replacen(',', "", groups.split(',').count()))
}

fn check(mut chart: Chart) -> Result<Chart, String> {
    let count = chart.series.len() * chart.categories.len();
    let all = || chart.series.iter().flat_map(|series| &series.values).flatten();
    if all().next().is_none() {
        return Err("it has no values".to_owned());
    }
    if count > VALUES {
        return Err(format!("it has {count} values; the limit is {VALUES}"));
    }
    chart.is_horizontal &= chart.kind == ChartKind::Bar;
    chart.is_stacked &= matches!(chart.kind, ChartKind::Bar | ChartKind::Area);
    let all = || chart.series.iter().flat_map(|series| &series.values).flatten();
    if chart.is_round() && (chart.series.len() > 1 || all().any(|value| *value < 0.0)) {
        return Err("a pie chart needs exactly one series without negative values".to_owned());
    }
    if chart.is_round() && all().sum::<f64>() <= 0.0 {
        return Err("a pie chart needs a value above zero".to_owned());
    }
    if chart.kind == ChartKind::Scatter {
        let xs =
            chart.categories.iter().map(|x| value(x)?.ok_or("a point has no x value".to_owned()));
        chart.xs = xs.collect::<Result<_, _>>()?;
    }
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_as_csv_or_as_a_table() {
        let csv = read(
            "type: line\ntitle: \"A: b\"\ny: EUR\n\nQ, North, South\nQ1, 1.5, $2\n\"Q, 2\", , 3%",
        );
        let chart = csv.unwrap();
        assert_eq!((chart.kind, chart.title.as_deref()), (ChartKind::Line, Some("A: b")));
        assert_eq!(chart.categories, ["Q1", "Q, 2"]);
        assert_eq!(chart.series[0].values, [Some(1.5), None]);
        assert_eq!(chart.series[1].values, [Some(2.0), Some(3.0)]);
        let table = read("type: scatter\n| x | y |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |").unwrap();
        assert_eq!((table.xs, table.series[0].values.len()), (vec![1.0, 3.0], 2));
    }

    #[test]
    fn an_empty_first_cell_and_a_bar_within_a_cell_stay() {
        for rows in [
            "\tNorth\tSouth\nQ1\t1\t2",
            "  \tNorth\tSouth\n  Q1\t1\t2",
            "\tQ,North,South\n\tQ1,1,2",
            "||North|South|\n|-|-|-|\n|Q1|1|2||",
        ] {
            let chart = read(&format!("type: bar\n\n{rows}")).unwrap();
            let names = [&chart.categories[0], &chart.series[0].name, &chart.series[1].name];
            assert_eq!(names, ["Q1", "North", "South"], "{rows}");
            assert_eq!(chart.series[1].values, [Some(2.0)], "{rows}");
        }
        let chart = read("| Team | A\\|B |\n|---|---|\n| x \\| y | 1 |").unwrap();
        assert_eq!((chart.categories[0].as_str(), chart.series[0].name.as_str()), ("x | y", "A|B"));
    }

    #[test]
    fn bars_have_a_direction_and_may_be_stacked() {
        let chart = |head: &str| read(&format!("{head}\n\nk,S,T\na,1,2")).unwrap();
        let bars = chart("type: stacked horizontal bar\nlabels: values");
        assert!(bars.is_stacked && bars.is_horizontal && bars.shows_values());
        assert_eq!(bars.extremes(), [3.0, 0.0]);
        let line = chart("type: line\nhorizontal: true\nlabels: none");
        assert!(!line.is_horizontal && !line.shows_values());
        assert_eq!(chart("type: area\nstacked: true").kind, ChartKind::Area);
        assert!(read("type: donut\n\nk,S\na,1").unwrap().is_round());
        let titled = chart("title: \"New\" cars\ny: Height in '");
        assert_eq!(titled.title.as_deref(), Some("\"New\" cars"));
        assert_eq!(titled.y.as_deref(), Some("Height in '"));
    }

    #[test]
    fn series_may_be_lines_over_bars() {
        let rows = "\n\nk,Sales,Growth\na,100,5\nb,120,7";
        let chart = |head: &str| read(&format!("{head}{rows}")).unwrap();
        let lines = |chart: &Chart| chart.series.iter().map(|s| s.is_line).collect::<Vec<_>>();
        for head in ["type: combo", "type: bar and line", "type: bar\nlines: growth"] {
            let chart = chart(head);
            assert_eq!((chart.kind, lines(&chart)), (ChartKind::Bar, vec![false, true]), "{head}");
            assert_eq!(chart.extremes(), [100.0, 120.0, 5.0, 7.0], "{head}");
        }
        let right = chart("type: stacked combo\ny2: Percent");
        assert_eq!((right.extremes()[0], right.right_extremes()), (100.0, vec![5.0, 7.0]));
        assert!(
            right.is_stacked && right.description().starts_with("Bar and line chart (k / Perc")
        );
        assert!(
            right.shows_values_of(&right.series[0]) && !right.shows_values_of(&right.series[1])
        );
        for (head, words) in [
            ("lines: Profit", "no series “Profit”"),
            ("lines: Sales, Growth", "two or more"),
            ("type: horizontal bar\nlines: Growth", "horizontal"),
            ("type: line\ny2: Percent", "axis y2"),
        ] {
            let error = read(&format!("{head}{rows}")).unwrap_err();
            assert!(error.contains(words), "{head}: {error}");
        }
    }

    #[test]
    fn numbers_may_be_grouped_and_bear_a_true_minus() {
        let chart = read(
            "| k | S | T |\n|---|---|---|\n| a | 1,250 | −3.5 |\n| b | $1,234,567.8 | −1,000 |",
        );
        let series = chart.unwrap().series;
        assert_eq!(series[0].values, [Some(1_250.0), Some(1_234_567.8)]);
        assert_eq!(series[1].values, [Some(-3.5), Some(-1_000.0)]);
        for odd in ["1,25", "12,34,567", ",500", "1,2500", "1.5,000"] {
            assert!(read(&format!("| k | S |\n| a | {odd} |")).is_err(), "{odd}");
        }
    }

    #[test]
    fn invalid_charts_are_rejected_with_a_reason() {
        for (source, words) in [
            ("type: radar\na,b\nc,1", "not “radar”"),
            ("type: bar", "no rows"),
            ("a,b\nc,many", "“many” is not a number"),
            ("a,b\nc,1e308\nd,-1e308", "“1e308” is not a number"),
            ("a,b\nc,5e-324", "“5e-324” is not a number"),
            ("a,b\nc,1,2", "more values"),
            ("a,b\nc,", "no values"),
            ("type: pie\na,b,c\nd,1,2", "one series"),
            ("type: pie\na,b\nd,-1", "one series"),
            ("type: scatter\na,b\nd,1", "“d” is not a number"),
        ] {
            let error = read(source).unwrap_err();
            assert!(error.contains(words), "{source}: {error}");
        }
        let many = "a,b\n".to_owned() + &"c,1\n".repeat(VALUES + 1);
        assert!(read(&many).unwrap_err().contains("501 values"));
    }

    #[test]
    fn a_description_has_every_word_and_value() {
        let chart = read("title: T\nx: X\n\nk,S\na,1234567.5\nb,\nc,-0.25").unwrap();
        assert_eq!(chart.description(), "Bar chart “T” (k / X). S: a 1,234,567.5, c -0.25.");
    }
}
