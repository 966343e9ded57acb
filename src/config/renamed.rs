//! Keys and values that had another name in an earlier release. The old name still works.

use toml::{Table, Value};

use super::mistake::Mistake;

/// A renamed key of a section, or of the entries of a list.
struct Renamed {
    section: &'static str,
    old: &'static str,
    new: &'static str,
}

const fn renamed(section: &'static str, old: &'static str, new: &'static str) -> Renamed {
    Renamed { section, old, new }
}

const RENAMED: [Renamed; 13] = [
    renamed("store", "lease", "lease_duration"),
    renamed("admin", "proxies", "trusted_proxies"),
    renamed("guard", "tainted", "untrusted_content"),
    renamed("guard", "off", "disabled_rules"),
    renamed("audit", "keep", "retention"),
    renamed("schedules", "shortest", "min_interval"),
    renamed("channels", "queue", "while_busy"),
    renamed("channels", "settle", "debounce"),
    renamed("channels", "webhook_secret_before", "previous_webhook_secret"),
    renamed("hooks", "do", "action"),
    renamed("web", "inside", "allowed_private_hosts"),
    renamed("webhooks_in", "secret_before", "previous_secret"),
    renamed("webhooks_out", "secret_before", "previous_secret"),
];

/// A key of a section, and a value of it that had another name: the old one and the new one.
const RENAMED_VALUES: [(&str, &str, [&str; 2]); 1] =
    [("hooks", "on_failure", ["go_on", "continue"])];

/// Renames old keys and values of a file. Returns a notice for each, and adds a mistake if both
/// names of a key are used.
pub(super) fn rename(file: &mut Table, mistakes: &mut Vec<Mistake>) -> Vec<String> {
    let mut notices = Vec::new();
    for Renamed { section, old, new } in &RENAMED {
        for (place, entry) in entries(file, section) {
            let Some(value) = entry.remove(*old) else { continue };
            if entry.insert((*new).to_owned(), value).is_some() {
                let place = place.map(|place| place.to_string());
                let key = [*section].into_iter().chain(place.as_deref()).chain([*old]);
                let key: Vec<_> = key.map(str::to_owned).collect();
                let message = format!("is the old name of {section}.{new}; set only one of them");
                mistakes.push(Mistake { key, message });
            }
            notices.push(format!("{section}.{old} is now called {section}.{new}"));
        }
    }
    for (section, key, [old, new]) in RENAMED_VALUES {
        for (_, entry) in entries(file, section) {
            let value = entry.get_mut(key).filter(|value| value.as_str() == Some(old));
            let Some(value) = value else { continue };
            *value = new.into();
            notices.push(format!("{old} in {section}.{key} is now called {new}"));
        }
    }
    notices.sort_unstable();
    notices.dedup();
    notices
}

/// A section, or the entries of a list with their positions.
fn entries<'a>(file: &'a mut Table, section: &str) -> Vec<(Option<usize>, &'a mut Table)> {
    match file.get_mut(section) {
        Some(Value::Table(table)) => vec![(None, table)],
        Some(Value::Array(list)) => {
            let tables = list.iter_mut().enumerate();
            tables.filter_map(|(place, one)| Some((Some(place), one.as_table_mut()?))).collect()
        }
        _ => Vec::new(),
    }
}

/// The current name of the last key of a path such as `["channels", "0", "settle"]`.
pub(super) fn present_name<'a>(path: &[String], last: &'a str) -> &'a str {
    let section = path.first().map_or("", String::as_str);
    let found = RENAMED.iter().find(|renamed| renamed.section == section && renamed.old == last);
    found.map_or(last, |renamed| renamed.new)
}

/// The former name of the last key of a path.
pub(super) fn former_name(path: &[String]) -> Option<&'static str> {
    let (section, name) = (path.first()?, path.last()?);
    let found = RENAMED.iter().find(|one| one.section == section && one.new == name);
    found.map(|renamed| renamed.old)
}
