//! Generates a configuration file with every key, its description and its default, all commented
//! out.

use std::fmt::Write as _;

use super::keys::{KeyDefault, sections};

const WIDTH: usize = 98;

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
pub fn example() -> String {
    let mut text = String::from(ABOUT);
    for (number, section) in sections().iter().enumerate() {
        if number > 0 {
            text.push('\n');
            wrap(&mut text, &section.description);
            let _ = writeln!(text, "#{}", section.header());
        }
        for key in &section.keys {
            wrap(&mut text, &key.description);
            let name = key.path.rsplit('.').next().unwrap_or_default();
            let _ = writeln!(text, "{}", format!("#{name} = {}", value(&key.default)).trim_end());
        }
    }
    text
}

/// The default as TOML, or as a comment if it is no value.
fn value(default: &KeyDefault) -> String {
    match default {
        KeyDefault::Words(words) => format!("   # default: {words}"),
        default => default.toml().unwrap_or_default(),
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
