//! The columns of JSON rows: the members of an object in a cell become columns such as `meta.x`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::markdown::clean;

/// Objects in objects become columns down to this level.
const LEVELS: usize = 4;
/// An object whose rows have more members than this together stays as it is: its keys may be data.
const MEMBERS: usize = 64;

/// The number of columns named in a warning.
const NAMED: usize = 5;

/// The columns of some rows.
#[derive(Default)]
pub struct JsonColumns<'v> {
    /// The keys that lead to the values of each column.
    pub paths: Vec<Vec<&'v str>>,
    /// The names of columns that have objects, because these are too deep or too large.
    pub whole: Vec<String>,
}

impl<'v> JsonColumns<'v> {
    pub fn of(rows: &[&'v Map<String, Value>]) -> Self {
        let mut columns = Self::default();
        columns.add(rows, &[], LEVELS);
        columns
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.join(".")).collect()
    }

    /// A warning about the objects that stay as they are.
    pub fn warning(&self) -> Option<String> {
        let named: Vec<String> =
            self.whole.iter().take(NAMED).map(|name| format!("“{}”", clean::line(name))).collect();
        let more = self.whole.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| {
            format!(
                "The objects in {}{more} are shown as JSON, since they cannot become columns: they \
                 have more than {MEMBERS} keys or {LEVELS} levels, or other rows have no object there.",
                named.join(", ")
            )
        })
    }

    /// Adds the columns of objects at a path, in the order in which their keys come first.
    fn add(&mut self, rows: &[&'v Map<String, Value>], path: &[&'v str], levels: usize) {
        let (mut keys, mut known) = (Vec::new(), HashSet::new());
        for key in rows.iter().flat_map(|row| row.keys()) {
            if known.insert(key.as_str()) {
                keys.push(key.as_str());
            }
        }
        let mut members: BTreeMap<&str, Vec<&'v Map<String, Value>>> = BTreeMap::new();
        let mut others = HashSet::new();
        for (key, value) in rows.iter().flat_map(|row| row.iter()) {
            match value {
                Value::Object(object) if !object.is_empty() => {
                    members.entry(key).or_default().push(object);
                }
                Value::Null => {}
                _ => {
                    others.insert(key.as_str());
                }
            }
        }
        for key in keys {
            let path: Vec<&str> = path.iter().copied().chain([key]).collect();
            let Some(objects) = members.get(key) else {
                self.paths.push(path);
                continue;
            };
            let mut inner = Self::default();
            // A literal key `meta.x` keeps its column for itself.
            let is_free = |inner: &Self| {
                inner.paths.iter().all(|path| !known.contains(path.join(".").as_str()))
            };
            if levels > 1 && !others.contains(key) {
                inner.add(objects, &path, levels - 1);
            }
            if (1..=MEMBERS).contains(&inner.paths.len()) && is_free(&inner) {
                self.paths.append(&mut inner.paths);
                self.whole.append(&mut inner.whole);
            } else {
                self.whole.push(path.join("."));
                self.paths.push(path);
            }
        }
    }
}

/// The value at the end of a path; null if there is none.
pub fn value_at<'v>(row: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().try_fold(row, |value, key| value.get(key)).unwrap_or(&Value::Null)
}
