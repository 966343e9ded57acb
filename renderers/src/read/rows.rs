//! CSV and JSON as tables; JSON of any other shape is kept as it is.

use super::{
    reading::{Kind, Reading},
    words::Words,
};
use crate::records::{Records, sheets};

pub fn csv(text: &str) -> Reading {
    let mut records = Records::of(text);
    let rows: Vec<_> = records.by_ref().collect();
    let mut reading = table(Kind::Csv, "", rows, text);
    reading.warnings.extend(records.warning());
    reading
}

/// A list of objects, a list of lists, or an object of such lists.
pub fn json(text: &str) -> Reading {
    let value = match crate::records::json(text) {
        Ok(value) => value,
        Err(problem) => {
            let mut reading = Reading::of(Kind::Json, text.to_owned());
            reading.warnings.push(problem.to_string());
            return reading;
        }
    };
    let mut words = Words::default();
    let tables = sheets("", &value).ok().map(|sheets| {
        sheets.into_iter().try_for_each(|mut sheet| {
            sheet.rows.insert(0, sheet.header);
            words.heading(2, &sheet.name);
            words.table(&sheet.rows)
        })
    });
    match tables {
        Some(Ok(())) if !words.is_empty() => Reading::of(Kind::Json, words.finish()),
        _ => {
            let pretty = serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned());
            Reading::of(Kind::Json, format!("```json\n{pretty}\n```"))
        }
    }
}

fn table(kind: Kind, name: &str, rows: Vec<Vec<String>>, text: &str) -> Reading {
    let mut words = Words::default();
    words.heading(2, name);
    match words.table(&rows) {
        Ok(()) => Reading::of(kind, words.finish()),
        Err(problem) => Reading {
            warnings: vec![format!("It is shown as it is. {problem}")],
            ..Reading::of(kind, text.to_owned())
        },
    }
}
