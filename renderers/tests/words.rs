//! No silent loss: every word of a source is in the file, or in a warning.

use std::io::{Cursor, Read};

use proptest::prelude::*;
use renderers::{Format, Rendered, markdown, render};

/// Templates for a word; `W` becomes a unique word each time. `C` becomes one that workbooks drop,
/// `N` one that only presentations keep.
const SHAPES: [&str; 46] = [
    "# W",
    "### W *W* `W`",
    "W **W ~~W~~** *W*",
    "W [W](https://example.org) <b>W</b>",
    "W\\\nW",
    "- W\n  - W\n    1. W\n- [x] W",
    "7. W\n8. W\n\n   W",
    "> W\n>\n> > W",
    "> [!warning]\n> W",
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
    "# W[^n]\n\n| W[^m] |\n|---|\n| W[^k] |\n\n[^n]: W\n[^m]: W\n[^k]: W",
    "| W | W |\n|---|---|\n| W | W | W |\n| `W|W` | W |",
    "W <style> W <template>W",
    "W <W> Vec<W>",
    "W\n<script>W\n\nW",
    "![W](missing.png \"C\")",
    "W ![W](https://example.org/b.png \"C\") | W",
    "| ![W](c.png \"C\") |\n|---|",
    "W\n\n: W\n\n  | W |\n  |---|\n  | W |",
    "# Same\n\nW\n\n# Same\n\nW",
    "- W\n\n  <!-- N -->\n\n> W\n>\n> <!-- N -->",
    "<!-- N -->",
    "<p><img src=\"d.png\" alt=\"W\"> <a href=\"https://example.org\">W</a><sup>W</sup></p>",
    "W\n\n::: columns\n::: column\nW[^n]\n:::\n::: column\n<!-- N -->\n:::\n:::\n\nW\n\n\
     ::: column\nW\n:::\n::: column\nW\n:::\n\n[^n]: W",
    "<table><tr><th>W</th><td>W</td></tr>\n\n<tr><td colspan=2>W<ul><li>W</ul></td></tr></table>",
    "<ul><li>W<li>W <b>W</b></ul>\n<h3>W</h3><blockquote>W</blockquote><hr><pre>W</pre>",
    "<dl><dt>W<dd>W</dl>\n\n<ol>\n<li>W\n\n**W**\n\n</li>\n</ol>",
    "W \\( \\text{W} \\)",
    "```math\n\\text{W} \\unknown{W}\n```",
    "---\nlayout: cover\nlevel: 2\n---\n\nW",
    "Note:\nW",
    "--",
    "W <!-- .element: class=\"fragment\" -->",
    "<!-- total: sum -->\n\n| W | W |\n|---|---|\n| W | 1 |\n| W | =B2*2 |",
];

fn source() -> impl Strategy<Value = String> {
    let shape = prop::sample::select(SHAPES.to_vec());
    let shapes = prop::collection::vec(shape, 4..24);
    (shapes, any::<bool>()).prop_map(|(shapes, is_titled)| {
        let mut words = 0;
        let mut text =
            String::from("---\ntitle: W\nsubtitle: W\nauthor: W\nheader: W\nfooter: W\n---\n\n");
        if is_titled {
            text.push_str("# zq1x\n\n");
        }
        // Footnote names are unique; the same name twice would mean the same footnote.
        for (at, shape) in shapes.iter().enumerate() {
            let numbered =
                ["n", "m", "k", "lost"].iter().fold((*shape).to_owned(), |shape, name| {
                    shape.replace(&format!("^{name}]"), &format!("^{name}{at}]"))
                });
            text.extend([numbered.as_str(), "\n\n"]);
        }
        let mut source = String::new();
        for letter in text.chars() {
            let kind = match letter {
                'W' => 'q',
                'C' => 'c',
                'N' => 'n',
                other => {
                    source.push(other);
                    continue;
                }
            };
            words += 1;
            source.extend([format!("z{kind}{words}x")]);
        }
        source
    })
}

/// The words that a format keeps.
fn words(source: &str, format: Format) -> Vec<String> {
    let all = source.split(|c: char| !c.is_ascii_alphanumeric());
    let is_kept = |word: &&str| match word.get(..2) {
        Some("zq") => true,
        Some("zc") => format != Format::Xlsx,
        Some("zn") => format == Format::Pptx,
        _ => false,
    };
    all.filter(is_kept).map(str::to_owned).collect()
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
        return page.replace(['\n', '\u{ad}'], "") + &alternatives.collect::<String>();
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

/// A PDF has a fixed cost for its fonts, so a few long documents test more than many short ones.
fn config() -> ProptestConfig {
    let is_full = std::env::var_os("COUNTERSIGN_TEST_FULL").is_some();
    let cases = if is_full { 200 } else { 14 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_word_is_in_the_file_or_in_a_warning(source in source()) {
        let document = markdown::read(&source).unwrap();
        for format in [Format::Docx, Format::Pptx, Format::Xlsx, Format::Pdf] {
            let rendered = render(&document, format).unwrap();
            let found = text(&rendered, format) + &rendered.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            for word in words(&source, format) {
                prop_assert!(found.contains(&word), "{word} is lost in {format:?}:\n{source}");
            }
        }
    }
}
