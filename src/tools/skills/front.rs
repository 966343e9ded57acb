//! Parses the YAML front matter of a `SKILL.md` leniently, because many are not valid YAML.

use saphyr::{LoadableYamlNode as _, Yaml};

/// The properties of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Front {
    pub name: Option<String>,
    pub description: String,
    /// Deviations from the standard that do not prevent its use.
    pub warnings: Vec<String>,
}

const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1024;

/// An error says why it cannot be used at all.
pub fn parse(text: &str) -> Result<Front, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let front = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split("\n---").next())
        .ok_or("SKILL.md does not begin with front matter between two lines of ---")?;
    let (fields, clean) = match strict(front) {
        Some(fields) => (fields, true),
        None => (lenient(front), false),
    };
    let field = |name: &str| {
        let found = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let mut parsed = Front {
        name: field("name"),
        description: field("description").ok_or("SKILL.md has no description")?,
        warnings: Vec::new(),
    };
    let mut warn = |text: &str| parsed.warnings.push(text.to_owned());
    if !clean {
        warn("its front matter is not valid YAML; it was read line by line");
    }
    match parsed.name.as_deref() {
        None => warn("it has no name; the name of its folder is used"),
        Some(name) if !is_valid(name) => {
            warn("its name must have at most 64 lower-case letters, digits and single hyphens");
        }
        Some(_) => {}
    }
    if parsed.description.chars().count() > DESCRIPTION_CHARS {
        warn("its description is longer than 1024 characters");
    }
    if field("allowed-tools").is_some() {
        warn("it asks for tools to be allowed; here the guard decides");
    }
    Ok(parsed)
}

/// Whether this is a valid name for a skill and its folder.
pub fn is_valid(name: &str) -> bool {
    let letter = |c: char| c == '-' || (c.is_alphanumeric() && !c.is_uppercase());
    (1..=NAME_CHARS).contains(&name.chars().count())
        && name.chars().all(letter)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

fn strict(front: &str) -> Option<Vec<(String, String)>> {
    let documents = Yaml::load_from_str(front).ok()?;
    let mapping = documents.first()?.as_mapping()?;
    let mut fields = Vec::new();
    for (key, value) in mapping {
        // Nested values (`metadata`) are ignored.
        let plain = value.as_str().map(str::to_owned);
        let plain = plain.or_else(|| value.as_integer().map(|number| number.to_string()));
        let there = if value.is_null() { "" } else { "…" };
        fields.push((key.as_str()?.to_owned(), plain.unwrap_or_else(|| there.into())));
    }
    Some(fields)
}

/// `key: anything`, with the indented lines below it.
fn lenient(front: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in front.lines() {
        let is_key = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match line.split_once(':').filter(|(key, _)| !key.is_empty() && is_key(key)) {
            Some((key, value)) => {
                let value = value.trim().trim_start_matches(['|', '>']);
                fields.push((key.to_owned(), value.trim_matches(['"', '\'']).to_owned()));
            }
            None if line.starts_with(char::is_whitespace) => {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            }
            None => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(front: &str) -> Result<Front, String> {
        parse(&format!("---\n{front}\n---\nBody"))
    }

    /// As the standard's guide for clients asks: usable skills are used, with a warning.
    #[test]
    fn front_matter_is_read_leniently() {
        let good = read("name: letters\ndescription: >\n  How we\n  write").unwrap();
        assert_eq!(
            (good.name.as_deref(), good.description.as_str()),
            (Some("letters"), "How we write")
        );
        assert!(good.warnings.is_empty());
        for (front, description) in [
            ("name: a\ndescription: Use when: always", "Use when: always"),
            ("name: a\ndescription: \"open: never closed", "open: never closed"),
            ("name: a\n\tbad: tab\ndescription: Works", "Works"),
            ("name: a\ndescription: one\n  two: three", "one two: three"),
        ] {
            let front = read(front).unwrap();
            assert_eq!(front.description, description);
            assert_eq!(front.name.as_deref().map(|n| &n[..1]), Some("a"));
            assert!(front.warnings[0].contains("not valid YAML"), "{front:?}");
        }
        for front in ["name: a", "description: ''\nname: a", "description:\nname: a", "- a\n- b"] {
            assert!(read(front).unwrap_err().contains("description"), "{front}");
        }
        assert!(parse("# No front matter").is_err());
        let odd = read("name: My Skill\ndescription: d\nallowed-tools: Bash(*)\nmetadata:\n  a: b");
        assert_eq!(odd.unwrap().warnings.len(), 2);
        assert_eq!(
            read("description: d").unwrap().warnings,
            ["it has no name; the name of its folder is used"]
        );
    }

    #[test]
    fn names_are_as_the_standard_has_them() {
        for good in ["a", "pdf-forms", "技能", "x2"] {
            assert!(is_valid(good), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "A", "-a", "a-", "a--b", "a_b", "a/b", "..", ".a", "a b", long.as_str()] {
            assert!(!is_valid(bad), "{bad}");
        }
    }
}
