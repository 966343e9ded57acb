//! The instructions of fields in RTF.

use super::links::escaped;

/// The target of a hyperlink, such as `HYPERLINK "https://example.org" \o "Tip"`.
pub fn hyperlink(instruction: &str) -> Option<String> {
    let rest = instruction.trim_start().strip_prefix("HYPERLINK")?.trim_start();
    let url = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split_whitespace().next(),
    };
    let url = url?.trim();
    let is_web = ["https://", "http://", "mailto:"].iter().any(|start| url.starts_with(start));
    is_web.then(|| escaped(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_hyperlink_is_found() {
        for (instruction, url) in [
            (" HYPERLINK \"https://a.b/c d\" \\o \"Tip\"", Some("https://a.b/c%20d")),
            ("HYPERLINK mailto:a@b.c ", Some("mailto:a@b.c")),
            ("HYPERLINK \\l \"_Toc1\"", None),
            ("HYPERLINK \"file:///etc\"", None),
            ("PAGE", None),
            ("", None),
        ] {
            assert_eq!(hyperlink(instruction).as_deref(), url, "{instruction}");
        }
    }
}
