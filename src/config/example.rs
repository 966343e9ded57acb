//! Generates a configuration file with every key, its description and its default, all commented
//! out.

use anyhow::Result;
use std::fmt::Write as _;
use toml::{Table, Value};

use super::{Config, key::ConfigKey, print::keys};

const WIDTH: usize = 98;

/// Sections that are lists.
const LISTS: [&str; 13] = [
    "models",
    "agents",
    "channels",
    "mcp",
    "hooks",
    "webhooks_in",
    "webhooks_out",
    "guard.rules",
    "limits.tools",
    "web.search",
    "http.hosts",
    "http.credentials",
    "datasources",
];

const ABOUT: &str = "\
# Every configuration key of Countersign with its default. All keys are commented out: this file
# changes nothing until you remove a `#`. A key without a value has no default. Sections in double
# brackets are lists; repeat them for each entry. Unknown keys are rejected.
#
# Secrets are a string, { env = \"NAME\" } or { file = \"path\" }.
# Every key can also be an environment variable: COUNTERSIGN__ADMIN__LISTEN, or with a position in a
# list COUNTERSIGN__CHANNELS__0__TOKEN.
#
# `countersign config example` writes this file.

";

/// The file as text.
pub fn example() -> Result<String> {
    let defaults = Value::try_from(Config::default())?;
    let mut text = String::from(ABOUT);
    let mut current = "";
    for key in keys() {
        let (section, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        if section != current {
            let _ = writeln!(text, "\n#{}", header(section));
            current = section;
        }
        wrap(&mut text, key.description);
        let _ = writeln!(text, "{}", format!("#{name} = {}", value(&defaults, key)).trim_end());
    }
    Ok(text)
}

/// The header of a section, as written in the file.
pub fn header(section: &str) -> String {
    if LISTS.contains(&section) { format!("[[{section}]]") } else { format!("[{section}]") }
}

/// The default as TOML. Empty if the key has no default that can be written as a value.
fn value(defaults: &Value, key: &ConfigKey) -> String {
    let real = key.path.split('.').try_fold(defaults, |place, name| place.get(name));
    let is_toml = || format!("value = {}", key.default).parse::<Table>().is_ok();
    match real {
        Some(real) => real.to_string(),
        None if key.default.is_empty() => String::new(),
        None if is_toml() => key.default.to_owned(),
        // A description of a default, such as "the provider's", is not a value.
        None if key.default.contains([' ', '<', '_', '.', '\'']) => {
            format!("   # default: {}", key.default)
        }
        None => Value::from(key.default).to_string(),
    }
}

fn wrap(text: &mut String, description: &str) {
    let mut line = String::from("#");
    for word in description.split_whitespace() {
        if line.chars().count() + word.chars().count() + 1 > WIDTH {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
