//! Names of pages, and the links in their text.

use std::collections::BTreeSet;

use super::MAX_LINKS;

const NAME_CHARS: usize = 120;
/// The maximum length of a part of the name of a new page, which is a file name in an export.
const PART_BYTES: usize = 200;

/// The name of a page as it is stored: lower case, with hyphens instead of spaces, and slashes
/// between the parts. `None` if nothing of that remains, or it is too long.
pub fn name(written: &str) -> Option<String> {
    let written = written.trim().trim_start_matches("[[").trim_end_matches("]]");
    let written = written.split(['|', '#']).next().unwrap_or_default();
    let written = written.strip_suffix(".md").unwrap_or(written).to_lowercase();
    let part = |part: &str| {
        let kept = part.chars().map(|c| if c.is_alphanumeric() { c } else { '-' });
        let kept: String = kept.collect();
        kept.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    };
    let parts: Vec<_> = written.split('/').map(part).filter(|part| !part.is_empty()).collect();
    let name = parts.join("/");
    (!name.is_empty() && name.chars().count() <= NAME_CHARS).then_some(name)
}

/// Whether a name has a part that is too long for a new page. Earlier releases allowed such names.
pub fn has_long_part(name: &str) -> bool {
    name.split('/').any(|part| part.len() > PART_BYTES)
}

/// The pages that a text names with `[[page]]` or `[[page|label]]`, outside of code.
pub fn targets(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // Every second part is within backticks.
        for prose in line.split('`').step_by(2) {
            let links = prose.split("[[").skip(1);
            let links = links.filter_map(|rest| rest.split_once("]]")).map(|(link, _)| link);
            found.extend(links.filter_map(name));
        }
    }
    found.into_iter().take(MAX_LINKS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_form() {
        for (written, expected) in [
            ("Bees", Some("bees")),
            ("[[Honey Bees|the bees]]", Some("honey-bees")),
            (" Garden / Honey  Bees.md", Some("garden/honey-bees")),
            ("../../etc/passwd", Some("etc/passwd")),
            ("蜂蜜#Top", Some("蜂蜜")),
            ("…/..", None),
            ("", None),
        ] {
            assert_eq!(name(written).as_deref(), expected, "{written}");
        }
        assert_eq!(name(&"x".repeat(121)), None);
        assert!(has_long_part(&format!("a/{}", "蜂".repeat(67))));
        assert!(!has_long_part(&format!("{}/{}", "蜂".repeat(66), "x".repeat(50))));
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "See [[Bees]], [[garden/Hives|hives]] and [[bees]].\n`[[no]]` [[Yes]]\n\
            ```\n[[code]]\n```\n[[open\n[[]]";
        let found: Vec<_> = targets(text).into_iter().collect();
        assert_eq!(found, ["bees", "garden/hives", "yes"]);
    }
}
