//! Finds the line of the file or the environment variable that sets a value.

use anyhow::{Context as _, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};
use toml::{
    Table,
    de::{DeTable, DeValue},
};

use super::{
    DEFAULT_FILE,
    mistake::{KeyPath, listed},
    renamed,
};

/// The environment variables by the keys that they set.
pub(super) type Variables = BTreeMap<KeyPath, String>;

/// Where a value is set.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueSource {
    Variable(String),
    Line(usize),
    /// Neither the value nor its section is set.
    Nowhere,
}

/// The file and the environment variables of a configuration.
pub(super) struct ConfigSource {
    path: PathBuf,
    /// Empty if there is no file.
    text: String,
    pub variables: Variables,
}

impl ConfigSource {
    /// Reads the file; the default one may be missing.
    pub fn read(file: Option<&Path>) -> Result<Self> {
        let path = file.unwrap_or(Path::new(DEFAULT_FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound && file.is_none() => {
                String::new()
            }
            Err(problem) => {
                return Err(problem).with_context(|| format!("reading {}", path.display()));
            }
        };
        Ok(Self { path: path.to_owned(), text, variables: Variables::new() })
    }

    /// The values of the file. An error names all syntax errors.
    pub fn table(&self) -> Result<Table> {
        let (_, mut problems) = DeTable::parse_recoverable(&self.text);
        if problems.is_empty() {
            match self.text.parse() {
                Ok(table) => return Ok(table),
                Err(problem) => problems.push(problem),
            }
        }
        let lines: BTreeSet<_> = problems
            .iter()
            .map(|problem| {
                // The complete error quotes the line, which may contain a secret.
                let line = problem.span().map_or(1, |span| self.line_at(span.start));
                (line, format!("{}, line {line}: {}", self.path.display(), problem.message()))
            })
            .collect();
        Err(listed(lines.into_iter().map(|(_, shown)| shown).collect()))
    }

    /// The line or variable that sets a key. If nothing sets it, that of its section.
    pub fn place(&self, key: &[String]) -> ValueSource {
        let above = |of: &KeyPath| key.starts_with(of);
        if let Some((_, name)) = self.variables.iter().rfind(|(of, _)| above(of)) {
            return ValueSource::Variable(name.clone());
        }
        let file = DeTable::parse(&self.text).ok();
        for length in (1..=key.len()).rev() {
            let part = &key[..length];
            let start = file.as_ref().and_then(|file| start(file.get_ref(), part));
            if let Some(start) = start {
                return ValueSource::Line(self.line_at(start));
            }
            if let Some((_, name)) = self.variables.iter().find(|(of, _)| of.starts_with(part)) {
                return ValueSource::Variable(name.clone());
            }
        }
        ValueSource::Nowhere
    }

    pub fn shown(&self, place: &ValueSource) -> String {
        let file = self.path.display();
        match place {
            ValueSource::Variable(name) => name.clone(),
            ValueSource::Line(line) => format!("{file}, line {line}"),
            ValueSource::Nowhere if self.text.is_empty() => "configuration".to_owned(),
            ValueSource::Nowhere => file.to_string(),
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }
}

/// The offset at which a key or an entry of a list starts.
fn start(file: &DeTable<'_>, key: &[String]) -> Option<usize> {
    let (first, rest) = key.split_first()?;
    let (found, value) = entry(file, first)?;
    let (mut start, mut value) = (found, value);
    for (depth, name) in rest.iter().enumerate() {
        (start, value) = match value {
            DeValue::Table(table) => entry(table, name).or_else(|| {
                let former = renamed::former_name(&key[..depth + 2])?;
                entry(table, former)
            })?,
            DeValue::Array(list) => {
                let entry = list.get(name.parse::<usize>().ok()?)?;
                (entry.span().start, entry.get_ref())
            }
            _ => return None,
        };
    }
    Some(start)
}

fn entry<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<(usize, &'t DeValue<'i>)> {
    let found = table.iter().find(|(key, _)| key.get_ref() == name);
    found.map(|(key, value)| (key.span().start, value.get_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_line_or_the_variable_that_sets_it() {
        let text = "data_dir = \"d\"\n\n[admin]\nlisten = \"x\"\n\n[[channels]]\nid = \"a\"\n\n\
                    [[channels]]\nid = \"b\"\nsettle = \"1s\"\nroles = { x = \"y\" }\n";
        let mut source =
            ConfigSource { path: "x.toml".into(), text: text.into(), variables: <_>::default() };
        let key = |text: &str| text.split('.').map(str::to_owned).collect::<KeyPath>();
        source.variables.insert(key("channels.1.token"), "TOKEN".into());
        source.variables.insert(key("models.0.id"), "MODEL".into());
        for (of, place) in [
            ("data_dir", "x.toml, line 1"),
            ("admin", "x.toml, line 3"),
            ("admin.listen", "x.toml, line 4"),
            ("admin.hosts", "x.toml, line 3"),
            ("channels.0", "x.toml, line 6"),
            ("channels.0.token", "x.toml, line 6"),
            ("channels.1.debounce", "x.toml, line 11"),
            ("channels.1.roles.x", "x.toml, line 12"),
            ("channels.1.token.env", "TOKEN"),
            ("models.0.provider", "MODEL"),
            ("agents", "x.toml"),
        ] {
            assert_eq!(source.shown(&source.place(&key(of))), place, "{of}");
        }
    }
}
