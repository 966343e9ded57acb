//! The columns of JSON rows: the members of an object in a cell become columns such as `meta.x`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::budgets::{TABLE_CELLS, TABLE_COLUMNS};
use crate::markdown::clean;

/// Objects in objects become columns down to this level.
const LEVELS: usize = 4;
/// An object whose rows have more members than this together stays as it is: its keys may be data.
const MEMBERS: usize = 64;
/// An object with a longer key stays as it is, since the key is repeated in the name of each column.
const KEY_BYTES: usize = 255;

/// The number of columns named in a warning.
const NAMED: usize = 5;

/// The columns of some rows.
#[derive(Default)]
pub struct JsonColumns<'v> {
    /// The keys that lead to the values of each column.
    pub paths: Vec<Vec<&'v str>>,
    /// The names of columns that have objects, if these cannot become columns.
    pub whole: Vec<String>,
}

impl<'v> JsonColumns<'v> {
    /// The columns of rows. Objects become columns down to the lowest level at which the table is
    /// within the limits.
    pub fn of(rows: &[&'v Map<String, Value>]) -> Self {
        let down_to = |levels| {
            let mut columns = Self::default();
            columns.add(rows, &[], levels);
            columns
        };
        let fits = |columns: &Self| {
            let count = columns.paths.len();
            count <= TABLE_COLUMNS && count * (rows.len() + 1) <= TABLE_CELLS
        };
        (2..=LEVELS).rev().map(down_to).find(fits).unwrap_or_else(|| down_to(1))
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
                 have more than {MEMBERS} keys or {LEVELS} levels, other rows have no object there, \
                 the table would be too wide, or names would be too long or occur twice.",
                named.join(", ")
            )
        })
    }

    /// Adds the columns of objects at a path, in the order in which their keys come first.
    fn add(&mut self, rows: &[&'v Map<String, Value>], path: &[&'v str], levels: usize) {
        let members = members(rows);
        let mut parts = Vec::new();
        for key in keys(rows) {
            let path = [path, &[key]].concat();
            let mut inner = Self::default();
            if let Some(ObjectMembers { objects, has_others: false }) = members.get(key)
                && levels > 1
                && key.len() <= KEY_BYTES
            {
                inner.add(objects, &path, levels - 1);
            }
            if inner.paths.len() > MEMBERS {
                inner = Self::default();
            }
            parts.push((path, inner));
        }
        // A column has a name of its own: `x` in `meta` is not the key `meta.x`.
        let mut uses: HashMap<String, usize> = HashMap::new();
        let names = parts.iter().flat_map(|(path, inner)| [path].into_iter().chain(&inner.paths));
        names.for_each(|path| *uses.entry(path.join(".")).or_default() += 1);
        for (path, mut inner) in parts {
            let is_free = inner.names().iter().all(|name| uses[name] == 1);
            if !inner.paths.is_empty() && is_free {
                self.paths.append(&mut inner.paths);
                self.whole.append(&mut inner.whole);
                continue;
            }
            if path.last().is_some_and(|key| members.contains_key(key)) {
                self.whole.push(path.join("."));
            }
            self.paths.push(path);
        }
    }
}

/// The keys of objects, in the order in which they come first.
fn keys<'v>(rows: &[&'v Map<String, Value>]) -> Vec<&'v str> {
    let mut known = HashSet::new();
    let keys = rows.iter().flat_map(|row| row.keys()).map(String::as_str);
    keys.filter(|key| known.insert(*key)).collect()
}

/// The values of a key that has objects.
struct ObjectMembers<'v> {
    objects: Vec<&'v Map<String, Value>>,
    /// Whether it has values that are no objects.
    has_others: bool,
}

/// The keys that have objects. An empty object has no columns, and counts as no value.
fn members<'v>(rows: &[&'v Map<String, Value>]) -> HashMap<&'v str, ObjectMembers<'v>> {
    let mut members: HashMap<&str, ObjectMembers> = HashMap::new();
    let mut others = HashSet::new();
    for (key, value) in rows.iter().flat_map(|row| row.iter()) {
        match value {
            Value::Object(object) if object.is_empty() => {}
            Value::Object(object) => {
                let new = || ObjectMembers { objects: Vec::new(), has_others: false };
                members.entry(key).or_insert_with(new).objects.push(object);
            }
            Value::Null => {}
            _ => {
                others.insert(key.as_str());
            }
        }
    }
    for (key, members) in &mut members {
        members.has_others = others.contains(key);
    }
    members
}

/// The value at the end of a path; null if there is none.
pub fn value_at<'v>(row: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().try_fold(row, |value, key| value.get(key)).unwrap_or(&Value::Null)
}
