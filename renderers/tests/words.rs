//! Nothing is lost in silence: every word of a source is in the file, or in a warning.

use std::io::{Cursor, Read};

use proptest::prelude::*;
use renderers::{Format, Rendered, markdown, render};

/// Shapes that a word can stand in; `W` becomes a word of its own each time.
const SHAPES: [&str; 22] = [
    "# W",
    "### W *W* `W`",
    "W **W ~~W~~** *W*",
    "W [W](https://example.org) <b>W</b>",
    "W\\\nW",
    "- W\n  - W\n    1. W\n- [x] W",
    "7. W\n8. W\n\n   W",
    "> W\n>\n> > W",
    "> [!WARNING]\n> W",
    "```rust\nlet W = \"W\";\n```",
    "    W",
    "| W | W |\n|:--|--:|\n| W | **W** |\n| W<br>W | |",
    "W\n: W\n\n  W",
    "W[^n]\n\n[^n]: W *W*",
    "[^lost]: W",
    "![W](missing.png)",
    "W ![W](https://example.org/a.png) W",
    "```chart\ntype: line\ntitle: W\nx: W\ny: W\n\nW,W,W\nW,1,2\nW,3,\n```",
    "```chart\ntype: W\nW,W\n```",
    "<div>W</div>\n\n<p>W</p>",
    "::: columns\n::: column\nW\n:::\n::: column\n- W\n:::\n:::",
    "---",
];

fn source() -> impl Strategy<Value = String> {
    let shape = prop::sample::select(SHAPES.to_vec());
    prop::collection::vec(shape, 4..24).prop_map(|shapes| {
        let mut words = 0;
        let mut text =
            String::from("---\ntitle: W\nsubtitle: W\nauthor: W\nheader: W\nfooter: W\n---\n\n");
        // A note's name is used once; the same shape twice would mean the same note.
        for (at, shape) in shapes.iter().enumerate() {
            let shape = shape.replace("^n]", &format!("^n{at}]"));
            text.push_str(&shape.replace("^lost]", &format!("^lost{at}]")));
            text.push_str("\n\n");
        }
        let parts: Vec<&str> = text.split('W').collect();
        let mut source = parts[0].to_owned();
        for part in &parts[1..] {
            words += 1;
            source.extend([format!("zq{words}x{part}")]);
        }
        source
    })
}

fn words(source: &str) -> Vec<String> {
    let all = source.split(|c: char| !c.is_ascii_alphanumeric());
    all.filter(|word| word.starts_with("zq")).map(str::to_owned).collect()
}

fn text(rendered: &Rendered, format: Format) -> String {
    if format == Format::Pdf {
        let document =
            lopdf::Document::load_mem(&rendered.bytes).expect("our own files are readable");
        let pages: Vec<u32> = document.get_pages().keys().copied().collect();
        let alternatives = document.objects.values().filter_map(|object| object.as_dict().ok());
        let alternatives = alternatives.filter_map(|object| object.get(b"Alt").ok());
        let alternatives = alternatives.filter_map(|alt| lopdf::decode_text_string(alt).ok());
        let page = document.extract_text(&pages).expect("our own files are readable");
        return page.replace(['\n', '\u{200b}', '\u{ad}'], "") + &alternatives.collect::<String>();
    }
    let mut package =
        zip::ZipArchive::new(Cursor::new(&rendered.bytes)).expect("our own files are readable");
    let mut text = String::new();
    for at in 0..package.len() {
        let mut part = package.by_index(at).expect("our own files are readable");
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes).expect("our own files are readable");
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    text
}

// A PDF costs its fonts, however short it is: few long documents say more than many short ones.
proptest! {
    #![proptest_config(ProptestConfig { cases: 14, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_word_is_in_the_file_or_in_a_warning(source in source()) {
        let document = markdown::read(&source).unwrap();
        for format in [Format::Docx, Format::Pptx, Format::Xlsx, Format::Pdf] {
            let rendered = render(&document, format).unwrap();
            let found = text(&rendered, format) + &rendered.warnings.join("\n");
            for word in words(&source) {
                prop_assert!(found.contains(&word), "{word} is lost in {format:?}:\n{source}");
            }
        }
    }
}
