//! A configuration with every key.

use countersign::testing::config::{Config, keys::keys};
use renderers::{Format, markdown};
use std::{collections::BTreeMap, fs};
use tempfile::TempDir;
use toml::{Table, Value};

/// A folder with the files that the configuration names.
struct Fixture {
    folder: TempDir,
    table: Table,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let document = renderers::render(&markdown::read("# Title").unwrap(), Format::Docx);
        fs::write(path.join("template.docx"), document.unwrap().bytes).unwrap();
        fs::write(path.join("logo.png"), "").unwrap();
        fs::create_dir_all(path.join("rust/bin")).unwrap();
        fs::write(path.join("rust/bin/rustc"), "").unwrap();
        let text = include_str!("every_key.toml").replace("FOLDER", path.to_str().unwrap());
        Self { table: text.parse().unwrap(), folder }
    }

    fn load(&self, table: &Table, variables: &BTreeMap<String, String>) -> Config {
        let file = self.folder.path().join("countersign.toml");
        fs::write(&file, table.to_string()).unwrap();
        Config::load(Some(&file), variables).unwrap_or_else(|e| panic!("{variables:?}: {e:#}"))
    }
}

/// Removes a key; if it is in a list, from the first entry that has it. Returns its path, as in the
/// name of a variable, and its value.
fn take(place: &mut Value, path: &str) -> Option<(String, Value)> {
    match place {
        Value::Table(table) => match path.split_once('.') {
            None => Some((path.to_uppercase(), table.remove(path)?)),
            Some((section, rest)) => {
                let (name, value) = take(table.get_mut(section)?, rest)?;
                Some((format!("{}__{name}", section.to_uppercase()), value))
            }
        },
        Value::Array(list) => list.iter_mut().enumerate().find_map(|(index, entry)| {
            let (name, value) = take(entry, path)?;
            Some((format!("{index}__{name}"), value))
        }),
        _ => None,
    }
}

/// Keys that are moved from the file to variables have the same effect.
#[test]
fn every_key_can_be_a_variable() {
    let fixture = Fixture::new();
    let values = |config: &Config| Value::try_from(config).unwrap();
    let (mut rest, mut variables) = (Value::Table(fixture.table.clone()), BTreeMap::new());
    for key in keys() {
        let taken = take(&mut rest, &key.path);
        let (name, value) = taken.unwrap_or_else(|| panic!("every_key.toml has no {}", key.path));
        assert_ne!(key.default.toml(), Some(value.to_string()), "{} has its default", key.path);
        variables.insert(format!("COUNTERSIGN__{name}"), value.to_string());
    }
    let found = values(&fixture.load(rest.as_table().unwrap(), &variables));
    assert_eq!(found, values(&fixture.load(&fixture.table, &BTreeMap::new())));
}

/// A text need not be quoted, and a variable for a key that does not exist is rejected.
#[test]
fn a_variable_is_text_or_toml() {
    let load = |name: &str, value: &str| {
        Config::load(None, &BTreeMap::from([(name.to_owned(), value.to_owned())]))
    };
    let config = load("COUNTERSIGN__DATA_DIR", "/srv/cs").unwrap();
    assert_eq!(config.data_dir, std::path::Path::new("/srv/cs"));
    let config = load("COUNTERSIGN__ADMIN__HOSTS", "[\"chat.internal\"]").unwrap();
    assert_eq!(config.admin.hosts, ["chat.internal"]);
    assert!(load("COUNTERSIGN__ADMIN__PORT", "1").is_err());
}

/// The position 10 follows the position 9, although its name sorts before that of 2.
#[test]
fn variables_may_name_more_than_ten_entries_of_a_list() {
    let entry = |place: usize| {
        let name = |key: &str| format!("COUNTERSIGN__MODELS__{place}__{key}");
        let id = (name("ID"), format!("m{place}"));
        [id, (name("PROVIDER"), "demo".to_owned()), (name("MODEL"), "demo".to_owned())]
    };
    let variables: BTreeMap<String, String> = (0..12).flat_map(entry).collect();
    let config = Config::load(None, &variables).unwrap();
    let ids: Vec<_> = config.models.iter().map(|model| model.id.clone()).collect();
    assert_eq!(ids, (0..12).map(|place| format!("m{place}")).collect::<Vec<_>>());
}

/// Every value of a configuration belongs to a key that the reference describes.
#[test]
fn every_value_has_a_key() {
    let fixture = Fixture::new();
    let config = fixture.load(&fixture.table, &BTreeMap::new());
    let printed = toml::to_string_pretty(&config).unwrap();
    let mut section = String::new();
    for line in printed.lines() {
        if line.starts_with('[') {
            section = format!("{}.", line.trim_matches(['[', ']']));
        } else if let Some((name, _)) = line.split_once(" = ") {
            let path = format!("{section}{name}");
            // The key of a table, such as roles, is the beginning of the path of its values.
            let mut known = keys().map(|key| format!("{}.", key.path));
            assert!(known.any(|key| format!("{path}.").starts_with(&key)), "{path} is not a key");
        }
    }
}
