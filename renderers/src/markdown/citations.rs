//! Citations such as `[@key]` or `[see @key, p. 3]`, which are not supported and stay text.

use crate::Document;
use crate::document::Inline;

/// Reports the first citation of a document.
pub fn report(document: &mut Document) {
    let mut first = None;
    document.each_inline(&mut |inline| {
        if first.is_none()
            && let Inline::Text(text) = inline
        {
            first = citation(text).map(str::to_owned);
        }
    });
    if let Some(citation) = first {
        let citation: String = citation.chars().take(60).collect();
        let warning = format!(
            "Citations are shown as text, since bibliographies are not supported: [{citation}]."
        );
        document.warnings.push(warning.into());
    }
}

/// Longer texts between brackets are not searched for a key.
const CITATION_BYTES: usize = 300;

/// The text between the brackets of the first citation. Brackets after a word are an index, and those
/// with parentheses are code.
fn citation(text: &str) -> Option<&str> {
    text.match_indices('[').find_map(|(at, _)| {
        let is_index = text[..at].ends_with(|c: char| c.is_alphanumeric() || "_)]".contains(c));
        let rest = &text[at + 1..];
        let end = rest.bytes().take(CITATION_BYTES).position(|byte| byte == b']')?;
        let inner = &rest[..end];
        (!is_index && !inner.contains(['(', '{', '=']) && has_key(inner)).then_some(inner)
    })
}

/// Whether a word begins as a key does, unlike that of a figure or an address.
fn has_key(inner: &str) -> bool {
    inner.split([' ', ';', '-']).filter_map(|word| word.strip_prefix('@')).any(|key| {
        let is_caption = key.starts_with("fig:") || key.starts_with("tbl:");
        !is_caption && key.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use crate::markdown;

    #[test]
    fn citations_are_reported_once() {
        let warnings = |source: &str| markdown::read(source).unwrap().warnings;
        for source in
            ["As [@smith2020] says.", "It is so [see @doe, p. 3; -@roe].", "| [-@x] |\n|--|"]
        {
            let found = warnings(&format!("{source}\n\nAgain [@other].\n"));
            assert_eq!(found.len(), 1, "{source}: {found:?}");
            assert!(found[0].to_string().starts_with("Citations are shown as text"), "{found:?}");
        }
        for source in [
            "`[@a]` and [a@b.org] and @ann",
            "[@x](https://e.org)",
            "[@x]\n\n[@x]: https://e.org",
            "Set x[@i] to f()[@j].",
            "Use [@media (width: 1px)].",
        ] {
            assert_eq!(warnings(source), Vec::<&str>::new(), "{source}");
        }
    }

    #[test]
    fn open_brackets_are_not_searched_to_the_end_of_the_text() {
        let text = "[".repeat(200_000);
        assert_eq!(super::citation(&text), None);
        assert_eq!(super::citation(&format!("{text}]@x [@y]")), Some("@y"));
    }

    #[test]
    fn diagrams_with_attributes_are_reported() {
        for fence in
            ["``` {mermaid}", "~~~{.mermaid}", "```{.mermaid #x width=3}", "```{#x .mermaid}"]
        {
            let close = &fence[..3];
            let document = markdown::read(&format!("{fence}\ngraph TD\n{close}\n")).unwrap();
            assert_eq!(document.warnings.len(), 1, "{fence}");
        }
    }

    #[test]
    fn diagrams_that_are_shown_as_code_are_reported() {
        let document =
            markdown::read("```mermaid\ngraph TD\n```\n\n```Mermaid\nx\n```\n\n```rust\n```\n");
        let warnings = document.unwrap().warnings;
        assert_eq!(warnings, ["Mermaid diagrams are not drawn; they are shown as their source."]);
    }
}
