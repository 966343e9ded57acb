//! The columns of JSON rows: the members of an object in a cell become columns such as `meta.x`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::budgets::{TABLE_CELLS, TABLE_COLUMNS};
use crate::counted::listed;
use crate::markdown::clean;

/// Objects in objects become columns down to this level.
const LEVELS: usize = 4;
/// An object whose rows have more members than this together stays as it is: its keys may be data.
const MEMBERS: usize = 64;
/// An object with a longer key stays as it is, since the key is repeated in the name of each column.
const KEY_BYTES: usize = 255;

/// A column with objects that stay as they are.
struct WholeObjects {
    name: String,
    why: WholeReason,
}

/// Why objects stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeReason {
    OtherValues,
    LongKey,
    ManyKeys,
    SameNames,
    Levels,
    Width,
}

impl WholeReason {
    const ALL: [Self; 6] = [
        Self::OtherValues,
        Self::LongKey,
        Self::ManyKeys,
        Self::SameNames,
        Self::Levels,
        Self::Width,
    ];

    fn sentence(self) -> String {
        match self {
            Self::OtherValues => "other rows have no object there".to_owned(),
            Self::LongKey => format!("their name has more than {KEY_BYTES} bytes"),
            Self::ManyKeys => format!("they have more than {MEMBERS} keys"),
            Self::SameNames => "their columns would have the names of other columns".to_owned(),
            Self::Levels => format!("they have more than {LEVELS} levels"),
            Self::Width => "the table would be too large".to_owned(),
        }
    }
}

/// The columns of some rows.
#[derive(Default)]
pub struct JsonColumns<'v> {
    /// The keys that lead to the values of each column.
    pub paths: Vec<Vec<&'v str>>,
    /// The columns that have objects which cannot become columns.
    whole: Vec<WholeObjects>,
}

impl<'v> JsonColumns<'v> {
    /// The columns of rows. Objects become columns down to the lowest level at which the table is
    /// within the limits.
    pub fn of(rows: &[&'v Map<String, Value>]) -> Self {
        let down_to = |levels| {
            let mut columns = Self::default();
            columns.add(rows, &[], levels);
            if levels < LEVELS {
                columns.blame_width();
            }
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

    /// A warning about the objects that stay as they are, with the reasons.
    pub fn warning(&self) -> Option<String> {
        let sentences = WholeReason::ALL.into_iter().filter_map(|why| {
            let names = self.whole.iter().filter(|column| column.why == why);
            let names: Vec<String> = names.map(|column| clean::line(&column.name)).collect();
            let listed = listed(names.iter().map(String::as_str));
            let sentence = why.sentence();
            let text = format!("The objects in {listed} are shown as JSON, since {sentence}.");
            (!names.is_empty()).then_some(text)
        });
        let sentences: Vec<String> = sentences.collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// Fewer levels than usual are shown, because the table would be too large.
    fn blame_width(&mut self) {
        for column in &mut self.whole {
            if column.why == WholeReason::Levels {
                column.why = WholeReason::Width;
            }
        }
    }

    /// Adds the columns of objects at a path, in the order in which their keys come first.
    fn add(&mut self, rows: &[&'v Map<String, Value>], path: &[&'v str], levels: usize) {
        let members = members(rows);
        let mut parts = Vec::new();
        for key in keys(rows) {
            let path = [path, &[key]].concat();
            let inner = match members.get(key) {
                None => None,
                Some(ObjectMembers { has_others: true, .. }) => Some(Err(WholeReason::OtherValues)),
                Some(_) if key.len() > KEY_BYTES => Some(Err(WholeReason::LongKey)),
                Some(_) if levels < 2 => Some(Err(WholeReason::Levels)),
                Some(ObjectMembers { objects, .. }) => {
                    let mut inner = Self::default();
                    inner.add(objects, &path, levels - 1);
                    let fits = inner.paths.len() <= MEMBERS;
                    Some(if fits { Ok(inner) } else { Err(WholeReason::ManyKeys) })
                }
            };
            parts.push((path, inner));
        }
        // A column has a name of its own: `x` in `meta` is not the key `meta.x`.
        let mut uses: HashMap<String, usize> = HashMap::new();
        for (path, inner) in &parts {
            let below = inner.iter().flatten().flat_map(|inner| &inner.paths);
            [path].into_iter().chain(below).for_each(|path| {
                *uses.entry(path.join(".")).or_default() += 1;
            });
        }
        for (path, inner) in parts {
            let why = match inner {
                Some(Ok(mut inner)) if inner.names().iter().all(|name| uses[name] == 1) => {
                    self.paths.append(&mut inner.paths);
                    self.whole.append(&mut inner.whole);
                    continue;
                }
                Some(Ok(_)) => Some(WholeReason::SameNames),
                Some(Err(why)) => Some(why),
                None => None,
            };
            self.whole.extend(why.map(|why| WholeObjects { name: path.join("."), why }));
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
