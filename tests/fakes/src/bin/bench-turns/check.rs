//! Compares the table with a baseline: a file with the ratio to the floor of each row that has one.
//! Other values are not compared, because they depend on the machine.

use std::{collections::BTreeMap, fs, io::Write as _, path::Path};

use crate::{
    Result,
    table::{self, Better, Row},
};

/// A ratio may be this many times as bad as in the baseline.
const TOLERANCE: f64 = 1.25;
/// How often the table is measured at most. The best measurement of each row is compared with the
/// baseline, which is the median of this number of measurements.
const MEASUREMENTS: usize = 3;

/// Ratios by the names of their rows.
type Ratios = BTreeMap<String, f64>;

/// Fails if a ratio is worse than in the baseline, after printing which.
pub async fn check(binary: &str, file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let baseline: Ratios = serde_json::from_str(&text)?;
    let mut out = std::io::stdout();
    let mut best = table::measure(binary).await?;
    table::show(&best)?;
    compare_names(&best, &baseline)?;
    for _ in 1..MEASUREMENTS {
        let worse = worse_rows(&best, &baseline);
        if worse.is_empty() {
            break;
        }
        writeln!(out, "Measuring again, because these rows are worse:\n{}\n", worse.join("\n"))?;
        let again = table::measure(binary).await?;
        table::show(&again)?;
        keep_best(&mut best, again);
    }
    let worse = worse_rows(&best, &baseline);
    if worse.is_empty() {
        writeln!(out, "No row is worse than in {}.", file.display())?;
        return Ok(());
    }
    writeln!(out, "Worse in {MEASUREMENTS} measurements:\n{}", worse.join("\n"))?;
    Err(format!("{} rows are worse than in {}", worse.len(), file.display()).into())
}

/// Writes the baseline.
pub async fn write(binary: &str, file: &Path) -> Result<()> {
    let mut measured = BTreeMap::<String, Vec<f64>>::new();
    for _ in 0..MEASUREMENTS {
        let rows = table::measure(binary).await?;
        table::show(&rows)?;
        for row in &rows {
            let ratios = measured.entry(row.name.to_owned()).or_default();
            ratios.extend(row.ratio());
        }
    }
    measured.retain(|_, ratios| !ratios.is_empty());
    let baseline: Ratios =
        measured.into_iter().map(|(name, ratios)| (name, rounded_median(ratios))).collect();
    Ok(fs::write(file, serde_json::to_string_pretty(&baseline)? + "\n")?)
}

fn rounded_median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    (ratios[ratios.len() / 2] * 100.0).round() / 100.0
}

/// Fails if a row with a ratio is not in the baseline, or the other way round.
fn compare_names(rows: &[Row], baseline: &Ratios) -> Result<()> {
    let with_ratio = || rows.iter().filter(|row| row.ratio().is_some()).map(|row| row.name);
    if let Some(name) = with_ratio().find(|name| !baseline.contains_key(*name)) {
        return Err(format!("the baseline has no row {name:?}: write it again").into());
    }
    match baseline.keys().find(|name| with_ratio().all(|other| other != *name)) {
        Some(name) => Err(format!("the baseline has {name:?}, which is not measured").into()),
        None => Ok(()),
    }
}

/// A sentence for each row that is worse than the baseline allows.
fn worse_rows(rows: &[Row], baseline: &Ratios) -> Vec<String> {
    let sentence = |row: &Row| {
        let (measured, expected) = (row.ratio()?, *baseline.get(row.name)?);
        let times = times_as_bad(row.better, measured, expected);
        (times > TOLERANCE).then(|| {
            format!(
                "- {}: {measured:.2} times the floor, {expected:.2} in the baseline: {times:.2} \
                 times as bad, allowed {TOLERANCE}",
                row.name
            )
        })
    };
    rows.iter().filter_map(sentence).collect()
}

/// 1 for equal ratios, more than 1 if the measured one is worse.
fn times_as_bad(better: Better, measured: f64, expected: f64) -> f64 {
    match better {
        Better::Lower => measured / expected,
        Better::Higher => expected / measured,
    }
}

/// Replaces the rows whose new measurement is better.
fn keep_best(best: &mut [Row], again: Vec<Row>) {
    for (row, new) in best.iter_mut().zip(again) {
        let ratios = row.ratio().zip(new.ratio());
        if ratios.is_some_and(|(old, new)| times_as_bad(row.better, old, new) > 1.0) {
            *row = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, better: Better, ratio: f64) -> Row {
        Row { name, better, gateway: ratio * 2.0, floor: Some(2.0) }
    }

    fn ratios(all: &[(&str, f64)]) -> Ratios {
        all.iter().map(|(name, ratio)| ((*name).to_owned(), *ratio)).collect()
    }

    #[test]
    fn a_ratio_may_be_a_quarter_worse() {
        let rows = [
            row("slower, allowed", Better::Lower, 1.24),
            row("slower", Better::Lower, 1.26),
            row("fewer, allowed", Better::Higher, 0.81),
            row("fewer", Better::Higher, 0.79),
            row("faster", Better::Lower, 0.1),
            row("more", Better::Higher, 9.0),
        ];
        let baseline = ratios(&rows.each_ref().map(|row| (row.name, 1.0)));
        assert_eq!(
            worse_rows(&rows, &baseline),
            [
                "- slower: 1.26 times the floor, 1.00 in the baseline: 1.26 times as bad, allowed 1.25",
                "- fewer: 0.79 times the floor, 1.00 in the baseline: 1.27 times as bad, allowed 1.25",
            ]
        );
    }

    #[test]
    fn the_best_measurement_counts() {
        let mut best = [row("time", Better::Lower, 2.0), row("rate", Better::Higher, 2.0)];
        keep_best(
            &mut best,
            vec![row("time", Better::Lower, 3.0), row("rate", Better::Higher, 3.0)],
        );
        assert_eq!(best.each_ref().map(Row::ratio), [Some(2.0), Some(3.0)]);
    }

    #[test]
    fn a_baseline_with_other_rows_is_refused() {
        let without_floor = Row { floor: None, ..row("approved", Better::Higher, 1.0) };
        let rows = [row("time", Better::Lower, 1.0), without_floor];
        let problem = |baseline: &[(&str, f64)]| {
            compare_names(&rows, &ratios(baseline)).err().map(|problem| problem.to_string())
        };
        assert_eq!(problem(&[("time", 1.0)]), None);
        assert!(problem(&[]).is_some_and(|text| text.contains("no row \"time\"")));
        let old = problem(&[("time", 1.0), ("old", 1.0)]);
        assert!(old.is_some_and(|text| text.contains("\"old\", which is not measured")));
    }

    #[test]
    fn a_baseline_is_the_median_with_two_decimals() {
        assert_eq!(rounded_median(vec![3.0, 1.006, 0.5]).to_bits(), 1.01_f64.to_bits());
    }
}
