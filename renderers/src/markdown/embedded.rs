//! Pictures whose address is their data: `![](data:image/png;base64,…)`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::Document;
use crate::document::{Inline, change_blocks};

/// Moves the data of pictures into the assets. Their addresses become short, because an address is
/// the name of a picture where it is not drawn.
pub fn settle(document: &mut Document) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut rename = |inline: &mut Inline| {
        let Inline::Image { url, .. } = inline else { return };
        let Some(data) = data(url) else { return };
        let count = names.len();
        let name = names.entry(url.clone()).or_insert_with(|| name(data, count));
        url.clone_from(name);
    };
    change_blocks(&mut document.blocks, &mut rename);
    document.notes.iter_mut().for_each(|note| change_blocks(note, &mut rename));
    for (url, name) in names {
        if let Some(bytes) = data(&url).and_then(decoded) {
            document.assets.insert(name.clone(), bytes);
        }
        if let Some(width) = document.widths.remove(&url) {
            document.widths.insert(name.clone(), width);
        }
        if let Some(height) = document.heights.remove(&url) {
            document.heights.insert(name, height);
        }
    }
}

/// The rest of an address that consists of data.
fn data(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_at_checked(5)?;
    scheme.eq_ignore_ascii_case("data:").then_some(rest)
}

/// The name of the picture with this data, after `count` others: its type.
fn name(data: &str, count: usize) -> String {
    let is_name = |c: &char| c.is_ascii_alphanumeric() || "/+-.".contains(*c);
    let kind: String = data.chars().take_while(is_name).take(30).collect();
    let kind = if data.len() == kind.len() { String::new() } else { kind };
    if count == 0 { format!("data:{kind}") } else { format!("data:{kind} ({})", count + 1) }
}

/// The bytes of the data; `None` if they are not those of a picture.
fn decoded(data: &str) -> Option<Vec<u8>> {
    let (head, body) = data.split_once(',')?;
    let body: Vec<u8> = percent_encoding::percent_decode_str(body).collect();
    if !head.to_ascii_lowercase().ends_with(";base64") {
        return Some(body).filter(|body| !body.is_empty());
    }
    let signs: Vec<u8> = body.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(signs).ok()?;
    Some(bytes).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::{Format, markdown, render};
    use base64::Engine as _;

    fn png() -> String {
        let bytes = crate::package::picture::tests::png(40, 20);
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn pictures_of_data_are_drawn_and_their_addresses_are_not_shown() {
        let png = png();
        let svg =
            "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/%3E";
        let source = format!(
            "![](data:image/png;base64,{png}){{width=50%}}\n\n![A](DATA:image/png;base64,{png})\n\n\
             ![](data:image/png;base64,@@{png})\n\n<img src=\"{svg}\" height=30>\n"
        );
        let document = markdown::read(&source).unwrap();
        assert_eq!(markdown::image_urls(&document), ["data:image/png (3)"]);
        assert_eq!(document.assets.len(), 3);
        assert!(document.widths.contains_key("data:image/png"));
        assert!(document.heights.contains_key("data:image/svg+xml (4)"));
        for format in [Format::Docx, Format::Pdf, Format::Pptx, Format::Xlsx] {
            let rendered = render(&document, format).unwrap();
            let said: Vec<String> = rendered.warnings.iter().map(ToString::to_string).collect();
            let said = said.join("\n");
            assert!(said.contains("data:image/png (3)"), "{format:?}: {said}");
            let read = crate::read::to_markdown("a", &rendered.bytes).unwrap().markdown;
            assert!(!read.contains("base64") && !read.contains(&png[..20]), "{format:?}: {read}");
        }
    }

    #[test]
    fn odd_addresses_of_data_are_named() {
        for (source, name) in [
            ("![](data:)", "data:"),
            ("![](data:,)", "data:"),
            ("![](data:image/png;base64,)", "data:image/png"),
            ("![](data:image/png)", "data:"),
        ] {
            let document = markdown::read(source).unwrap();
            assert_eq!(markdown::image_urls(&document), [name], "{source}");
        }
    }
}
