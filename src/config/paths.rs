//! Resolves relative paths in the configuration file against the folder of the file.

use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Keys that contain a path. `*` stands for every entry of a list.
const PATHS: [&str; 11] = [
    "data_dir",
    "browser.program",
    "documents.fonts.*",
    "documents.logo",
    "documents.template",
    "agents.*.workspace",
    "agents.*.skills_dir",
    "channels.*.ca_file",
    "mcp.*.folders.*",
    "wasm.modules.*",
    "builder.rust_toolchain",
];

/// Keys that contain a database URL, which may name a SQLite file.
const URLS: [&str; 2] = ["store.url", "datasources.*.url"];

/// The default of `data_dir`.
pub(super) const DATA_DIR: &str = "./data";

/// Prefixes the relative paths with the folder of the file, which is empty if the file is in the
/// working directory. Returns the original `data_dir` if it changes.
pub(super) fn resolve(file: &mut Table, folder: &Path) -> Option<PathBuf> {
    if folder.as_os_str().is_empty() {
        return None;
    }
    let data_dir = file.entry("data_dir").or_insert_with(|| Value::from(DATA_DIR));
    let data_dir = data_dir.as_str().map(PathBuf::from).filter(|path| path.is_relative());
    let mut root = Value::Table(std::mem::take(file));
    for key in PATHS {
        change(&mut root, key, &|path| join(folder, path));
    }
    for key in URLS {
        change(&mut root, key, &|url| with_file(folder, url));
    }
    secret_files(&mut root, folder);
    if let Value::Table(table) = root {
        *file = table;
    }
    data_dir
}

fn join(folder: &Path, path: &str) -> String {
    // Removes `.` components.
    let joined: PathBuf = folder.join(path).components().collect();
    joined.to_string_lossy().into_owned()
}

fn with_file(folder: &Path, url: &str) -> String {
    let Some(path) = url.strip_prefix("sqlite:") else { return url.to_owned() };
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(':') {
        return url.to_owned();
    }
    format!("sqlite://{}", join(folder, path))
}

/// Applies `to` to the texts at a key of this form.
fn change(value: &mut Value, key: &str, to: &dyn Fn(&str) -> String) {
    let (name, rest) = key.split_once('.').unwrap_or((key, ""));
    match value {
        Value::String(text) if key.is_empty() => *text = to(text),
        Value::Array(list) if name == "*" => {
            for entry in list {
                change(entry, rest, to);
            }
        }
        Value::Table(table) => {
            if let Some(inner) = table.get_mut(name) {
                change(inner, rest, to);
            }
        }
        _ => {}
    }
}

/// Changes the paths of secrets in the form `{ file = "path" }` at any key.
fn secret_files(value: &mut Value, folder: &Path) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|entry| secret_files(entry, folder)),
        Value::Table(table) => {
            if table.len() == 1
                && let Some(Value::String(file)) = table.get_mut("file")
            {
                *file = join(folder, file);
            }
            table.iter_mut().for_each(|(_, inner)| secret_files(inner, folder));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::keys;

    #[test]
    fn every_relative_path_of_a_file_starts_at_its_folder() {
        let text = r#"
            store = { url = "sqlite://db/x.db?mode=rwc", encryption_key = { file = "key" } }
            documents = { fonts = ["fonts", "/usr/fonts"], logo = "./logo.png" }
            agents = [{ workspace = "../work", skills_dir = "skills" }]
            channels = [{ ca_file = "ca.pem", token = { file = "token" }, id = "file" }]
            mcp = [{ folders = ["a"], env = { KEY = { file = "k" } } }]
            datasources = [{ url = "postgres://x/y" }, { url = "sqlite:shop.db" }]
        "#;
        let mut table: Table = text.parse().unwrap();
        assert_eq!(resolve(&mut table, Path::new("/etc/cs")), Some("./data".into()));
        let expected = r#"
            data_dir = "/etc/cs/data"
            store = { url = "sqlite:///etc/cs/db/x.db?mode=rwc", encryption_key = { file = "/etc/cs/key" } }
            documents = { fonts = ["/etc/cs/fonts", "/usr/fonts"], logo = "/etc/cs/logo.png" }
            agents = [{ workspace = "/etc/cs/../work", skills_dir = "/etc/cs/skills" }]
            channels = [{ ca_file = "/etc/cs/ca.pem", token = { file = "/etc/cs/token" }, id = "file" }]
            mcp = [{ folders = ["/etc/cs/a"], env = { KEY = { file = "/etc/cs/k" } } }]
            datasources = [{ url = "postgres://x/y" }, { url = "sqlite:///etc/cs/shop.db" }]
        "#;
        assert_eq!(table, expected.parse().unwrap());
    }

    #[test]
    fn a_file_in_the_working_directory_and_absolute_paths_are_left_alone() {
        let mut here: Table = "data_dir = \"d\"".parse().unwrap();
        assert_eq!(resolve(&mut here, Path::new("")), None);
        assert_eq!(here["data_dir"].as_str(), Some("d"));
        let mut absolute: Table =
            "data_dir = \"/srv\"\nstore = { url = \"sqlite::memory:\" }".parse().unwrap();
        let before = absolute.clone();
        assert_eq!(resolve(&mut absolute, Path::new("/etc")), None);
        assert_eq!(absolute, before);
    }

    #[test]
    fn all_of_them_are_keys() {
        for path in PATHS.iter().chain(&URLS) {
            let path = path.replace(".*", "");
            assert!(keys().any(|key| key.path == path), "{path}");
        }
    }
}
