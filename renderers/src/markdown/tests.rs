//! Tests of the content that the reader keeps, drops and reports.

use super::*;
use crate::document::{Alert, Align, Block, Merge, each_in, plain_text};

const FEATURES: &str = include_str!("../../tests/corpus/features.md");

fn texts(document: &Document) -> String {
    format!("{:?} {:?} {:?}", document.meta, document.blocks, document.notes)
}

#[test]
fn every_sentinel_of_the_features_is_read() {
    let document = read(FEATURES).unwrap();
    let all = texts(&document);
    let sentinels = FEATURES
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| word.split_once('-').is_some_and(|(a, b)| is_sentinel(a, b)));
    let mut count = 0;
    for sentinel in sentinels {
        count += 1;
        assert_eq!(all.contains(sentinel), sentinel != "HID-63", "{sentinel}");
    }
    assert!(count >= 73, "{count}");
}

fn is_sentinel(a: &str, b: &str) -> bool {
    (2..=3).contains(&a.len())
        && a.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        && (2..=4).contains(&b.len())
        && b.chars().all(|c| c.is_ascii_digit())
}

#[test]
fn html_becomes_its_text_and_a_warning() {
    let document =
        read("a <b>b</b><sub>c</sub> <!-- hidden --> d<br>e <script>f()</script>\n\n<div>g</div>")
            .unwrap();
    let Block::Paragraph(content) = &document.blocks[0] else { panic!("{document:?}") };
    assert_eq!(plain_text(content), "a bc  d\ne ");
    assert!(content.contains(&Inline::Strong(vec![Inline::Text("b".into())])));
    assert_eq!(document.blocks[1], Block::Comment("hidden".into()));
    assert_eq!(document.blocks[2], Block::Paragraph(vec![Inline::Text("g".into())]));
    assert_eq!(document.warnings, ["HTML is not supported; only its text was kept: div, script."]);
}

#[test]
fn unsafe_links_become_text() {
    let document = read(include_str!("../../tests/corpus/hostile/links.md")).unwrap();
    let mut urls = Vec::new();
    document.each_inline(&mut |inline| {
        if let Inline::Link { url, .. } = inline {
            urls.push(url.clone());
        }
    });
    assert!(urls.iter().all(|url| url.is_ascii()), "{urls:?}");
    for bad in ["javascript", "vbscript", "file:", "data:", "host", ".."] {
        assert!(!urls.iter().any(|url| url.starts_with(bad)), "{urls:?}");
    }
    assert!(urls.iter().any(|url| url == "tel:+123") && urls.iter().any(|url| url == "#x"));
    assert!(document.warnings.iter().any(|w| w.to_string().contains("javascript:alert(1)")));
}

#[test]
fn control_characters_never_come_in() {
    let source = include_str!("../../tests/corpus/hostile/control-chars.md");
    for source in [source, "&#1;&#x202e; `a\u{7}` ![b\u{1}](c\u{2})"] {
        let document = read(source).unwrap();
        let mut seen = String::new();
        document.each_inline(&mut |inline| match inline {
            Inline::Text(text) | Inline::Code(text) => seen.push_str(text),
            Inline::Image { url, alt, title } => seen.extend([url.as_str(), alt, title]),
            Inline::Link { url, title, .. } => seen.extend([url.as_str(), title]),
            _ => {}
        });
        assert!(!seen.chars().any(|c| c.is_control() || c == '\u{ffff}' || c == '\u{202e}'));
    }
}

#[test]
fn depth_is_capped_and_nothing_is_lost() {
    for source in [
        format!("{}deep", "> ".repeat(1_000)),
        format!("{}deep", "- ".repeat(300)),
        format!("{}deep{}", "*a **b ".repeat(50), "b** a*".repeat(50)),
    ] {
        let document = read(&source).unwrap();
        assert!(texts(&document).contains("deep"));
        assert!(
            document.warnings.iter().any(|w| w.to_string().contains("24 levels")),
            "{:?}",
            document.warnings
        );
    }
}

#[test]
fn budgets_are_errors_that_name_the_figure() {
    let wide = format!("|{}\n|{}\n", "a|".repeat(16_385), "-|".repeat(16_385));
    let blow = format!("|{}\n|{}\n{}", "a|".repeat(200), "-|".repeat(200), "x\n".repeat(1_100));
    for (source, figure) in
        [(wide, "16384"), (blow, "200000"), ("x".repeat(SOURCE_BYTES + 1), "8388608")]
    {
        let Err(RenderError::TooLarge(sentence)) = read(&source) else { panic!("{figure}") };
        assert!(sentence.contains(figure), "{sentence}");
    }
}

#[test]
fn a_note_that_mentions_itself_ends() {
    let document = read("a[^x] b[^y]\n\n[^x]: me[^x] and[^y]\n[^y]: other\n[^z]: alone\n").unwrap();
    assert_eq!(document.notes.len(), 2);
    let Block::Paragraph(note) = &document.notes[0][0] else { panic!("{document:?}") };
    assert_eq!(plain_text(note), "me[x] and[y]");
    assert!(texts(&document).contains("alone"));
    assert!(document.warnings[0].to_string().contains("[^z]"));
}

#[test]
fn footnotes_of_alternative_texts_and_code_are_kept() {
    for (source, warnings) in [("![a[^n]](a.png)\n", 1), ("x <code>a[^n]</code>\n", 0)] {
        let document = read(&format!("{source}\n[^n]: The note\n")).unwrap();
        assert_eq!(document.warnings.len(), warnings, "{source}: {:?}", document.warnings);
        let mut mentioned = 0;
        document.each_inline(&mut |inline| {
            mentioned += usize::from(matches!(inline, Inline::Footnote(_)));
        });
        assert_eq!((mentioned, document.notes.len()), (1 - warnings, 1 - warnings), "{source}");
        assert!(texts(&document).contains("The note"), "{source}");
    }
}

#[test]
fn math_alerts_and_definitions_are_read() {
    let source = "x $a$ y\n$$\nb\n$$\nz, $5 and $6\n\n> [!TIP]\n> t\n\nTerm\n: One\n\n: Two\n";
    let document = read(source).unwrap();
    assert_eq!(document.blocks[1], Block::Math("b".into()));
    let Block::Paragraph(rest) = &document.blocks[2] else { panic!("{document:?}") };
    assert_eq!(plain_text(rest), "z, $5 and $6");
    assert!(matches!(document.blocks[3], Block::Quote { alert: Some(Alert::Tip), .. }));
    let Block::Definitions(items) = &document.blocks[4] else { panic!("{document:?}") };
    assert_eq!((items.len(), items[0].description.len()), (1, 2));
}

#[test]
fn pictures_are_named_once() {
    let document = read("![a](x.png) ![b](y.png)\n\n| ![c](x.png) |\n|---|\n").unwrap();
    assert_eq!(image_urls(&document), ["x.png", "y.png"]);
}

/// The cells of the last row of the first table, at any depth.
fn last_row(source: &str) -> (Vec<String>, Vec<String>) {
    let document = read(source).unwrap();
    let mut found = Vec::new();
    document.each_block(&mut |block| {
        if let Block::Table(table) = block {
            found = table.rows.last().unwrap().iter().map(|cell| plain_text(cell)).collect();
        }
    });
    (found, document.warnings.iter().map(ToString::to_string).collect())
}

/// GFM drops cells beyond the header's columns.
#[test]
fn cells_beyond_the_header_are_kept() {
    let cells = |row: &str| last_row(&format!("| Flag | Meaning |\n|---|---|\n{row}\n"));
    for (row, expected) in [
        ("| `a|b` | both |", ["a|b", "both"]),
        ("| ``a`|b`` | both |", ["a`|b", "both"]),
        ("| $|x|$ | size |", ["|x|", "size"]),
        ("| a \\| b | both | | |", ["a | b", "both"]),
        ("`a|b` | both", ["a|b", "both"]),
    ] {
        assert_eq!(cells(row), (expected.map(str::to_owned).to_vec(), vec![]), "{row}");
    }
    for (row, last) in [
        ("| a | b | c | d |", "b | c | d"),
        ("| costs $5 | $6 | c |", "$6 | c"),
        ("| a | ` | c", "` | c"),
        ("| a | b | \\| |", "b | |"),
    ] {
        let (found, warnings) = cells(row);
        assert_eq!((found.len(), found[1].as_str()), (2, last), "{row}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
    let (found, warnings) = last_row("> - | a | b |\n>   |---|---|\n>   | 1 | 2 | 3 |\n");
    assert_eq!(found, ["1", "2 | 3"]);
    assert!(warnings[0].contains("1 | 2 | 3"), "{warnings:?}");
    assert_eq!(last_row("| a |\r\n|---|\r\n| 1 | 2 |\r\n").0, ["1 | 2"]);
}

#[test]
fn unclosed_html_tags_hide_no_text() {
    for (source, words) in [
        (
            "Put CSS into the <style> element, then reload.",
            "Put CSS into the <style> element, then reload.",
        ),
        ("a <template>b *c* `d`", "a <template>b c d"),
        ("a <b>b <script>c</b> d", "a b <script>c d"),
        ("words\n<script>\n\n# after", "words <script>#after"),
        ("<!-- begun\n\n# after", "<!-- begun#after"),
        ("<!-- begun\n\n- <style>\n\n  in\n\n# after", "<!-- begun<style>in#after"),
        ("<script>\n\n```html\n<style>\n```\n\n# after", "<script><style>#after"),
        ("<div>\n<!-- begun\n</div>\n\n# after", "<!-- begun#after"),
        ("<div><script>if (a<b) { c }</div>\n\n# after", "<script>if (a<b) { c }#after"),
    ] {
        let document = read(source).unwrap();
        let mut found = String::new();
        document.each_block(&mut |block| match block {
            Block::Heading { content, .. } => found.extend(["#", &plain_text(content)]),
            Block::Paragraph(content) => found += &plain_text(content),
            Block::Code { text, .. } => found += text,
            _ => {}
        });
        assert_eq!(found, words, "{source}");
    }
}

#[test]
fn words_in_angle_brackets_stay() {
    let text = |source: &str| match &read(source).unwrap().blocks[0] {
        Block::Paragraph(content) => plain_text(content),
        other => panic!("{other:?}"),
    };
    for words in
        ["Dear <name>, a Vec<String> of <T>!", "<host> and </host>", "to <title> from <to>"]
    {
        assert_eq!(text(words), words);
    }
    assert_eq!(text("<name>\n"), "<name>");
    assert_eq!(text("a<p>b <span>c</span><br/>d</div>"), "a b c\nd");
    assert_eq!(text("H<sub>2</sub>O, 10<sup>−3</sup> m<SUP>2</SUP>"), "H2O, 10−3 m2");
    assert_eq!(text("<?php 1 ?> <![CDATA[a < b]]>"), "a < b");
}

#[test]
fn pictures_and_links_of_html_are_pictures_and_links() {
    let expected = [
        Inline::Image { url: "a.png".into(), alt: "A > B".into(), title: "C & D".into() },
        Inline::Text(" ".into()),
        Inline::Link {
            url: "https://e.org/?a&b".into(),
            title: String::new(),
            content: vec![Inline::Strong(vec![Inline::Text("out".into())])],
        },
    ];
    let html = "<img src=a.png alt=\"A > B\" title='C &amp; D' width=\"9\"/> \
                <a class=x href=\"https://e.org/?a&amp;b\"><b>out</b></a>";
    for source in [format!("{html}\n"), format!("<p align=\"center\">\n  {html}\n</p>\n")] {
        let document = read(&source).unwrap();
        let Block::Paragraph(content) = &document.blocks[0] else { panic!("{document:?}") };
        assert_eq!(content[..2], expected[..2], "{source}");
        assert_eq!(content.last(), expected.last(), "{source}");
    }
    let unsafe_one = read("<a href=\"javascript:f()\">x</a> <img alt=\"no source\">").unwrap();
    assert_eq!(unsafe_one.blocks.len(), 1);
    assert!(texts(&unsafe_one).contains("no source"));
    assert!(unsafe_one.warnings.iter().any(|w| w.to_string().contains("javascript:f()")));
}

#[test]
fn tags_nest_no_deeper_than_marks() {
    let source = "<b>".repeat(50_000) + "deep" + &"</b>".repeat(50_000);
    let document = read(&source).unwrap();
    assert!(
        document.warnings.iter().any(|w| w.to_string().contains("24 levels")),
        "{:?}",
        document.warnings
    );
    let Block::Paragraph(content) = &document.blocks[0] else { panic!("{document:?}") };
    assert!(plain_text(content).contains("deep"));
}

#[test]
fn page_breaks_have_four_forms() {
    let source = "a\n\n\\newpage\n\n<!-- pagebreak -->\n\n<div style=\"page-break-after: always\"></div>\n\n\
                  <p style='break-before: page'>\n\nb";
    let document = read(source).unwrap();
    let breaks =
        document.blocks.iter().filter(|b| matches!(b, Block::Comment(c) if c == "pagebreak"));
    assert_eq!(breaks.count(), 4, "{:?}", document.blocks);
    assert_eq!(document.warnings, Vec::<&str>::new());
}

#[test]
fn blocks_of_html_are_blocks() {
    let html = "<h2 align=\"center\">Head</h2>\n<ul><li>one</li><li>two<ol start=3><li>in</ol></ul>\n\
                <blockquote>said<p>more</p></blockquote><hr>\n\
                <dl><dt>Term<dd>Meaning</dl><pre><code>a\n  b</code></pre>\n";
    let document = read(html).unwrap();
    let text = |block: &Block| match block {
        Block::Paragraph(content) => plain_text(content),
        other => panic!("{other:?}"),
    };
    let [Block::Heading { level: 2, content }, Block::List(list), rest @ ..] = &document.blocks[..]
    else {
        panic!("{document:?}")
    };
    assert_eq!((plain_text(content).as_str(), list.items.len()), ("Head", 2));
    assert_eq!(text(&list.items[0].blocks[0]), "one");
    let [second, Block::List(inner)] = &list.items[1].blocks[..] else { panic!("{list:?}") };
    assert_eq!((text(second), inner.start), ("two".to_owned(), Some(3)));
    let [Block::Quote { blocks, .. }, Block::Break, Block::Definitions(terms), code] = rest else {
        panic!("{rest:?}")
    };
    assert_eq!(blocks.iter().map(text).collect::<Vec<_>>(), ["said", "more"]);
    assert_eq!(
        (plain_text(&terms[0].term), text(&terms[0].description[0])),
        ("Term".into(), "Meaning".into())
    );
    assert_eq!(*code, Block::Code { language: None, text: "a\n  b".into() });
    assert_eq!(
        document.warnings,
        ["The alignment of HTML paragraphs, headings and lists was ignored."]
    );
}

#[test]
fn captions_of_html_figures_are_titles() {
    let picture = |html: &str| match &read(html).unwrap().blocks[..] {
        [Block::Paragraph(content)] => match &content[..] {
            [Inline::Image { title, .. }] => title.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let html = "<figure>\n<img src=\"a.png\" alt=\"A\">\n<figcaption>The <b>first</b></figcaption>\n</figure>";
    assert_eq!(picture(html), "The first");
    assert_eq!(read(html).unwrap().warnings, [""; 0]);
    let html = "<figure>\n\n![A](a.png \"old\")\n\n<figcaption><p>New</p></figcaption></figure>";
    assert_eq!(picture(html), "New");
    let html = "<figure><figcaption>Data</figcaption>\n<table><tr><th>x</table></figure>";
    let document = read(html).unwrap();
    let [Block::Paragraph(caption), Block::Table(_)] = &document.blocks[..] else {
        panic!("{document:?}")
    };
    assert_eq!(plain_text(caption), "Data");
    let html = "<figure><pre>x</pre><figcaption>Code</figcaption></figure>\n\nafter";
    let kept = read(html).unwrap();
    assert!(matches!(&kept.blocks[..], [Block::Code { .. }, _, _]), "{kept:?}");
}

#[test]
fn captions_of_html_figures_keep_their_links() {
    let caption = "<figcaption>See <a href=\"https://a.example\">it</a></figcaption>";
    let url_of = |block: &Block| {
        let mut found = None;
        let Block::Paragraph(content) = block else { return found };
        each_in(content, &mut |inline| {
            if let Inline::Link { url, .. } = inline {
                found = Some(url.clone());
            }
        });
        found
    };
    let picture =
        read(&format!("<figure><img src=\"a.png\" alt=\"A\">{caption}</figure>")).unwrap();
    let urls: Vec<_> = picture.blocks.iter().map(url_of).collect();
    assert_eq!(urls, [None, Some("https://a.example".to_owned())], "{picture:?}");
    let table = "<table><tr><th>x</table>";
    let table = read(&format!("<figure>{table}{caption}</figure>")).unwrap();
    let [caption, Block::Table(_)] = &table.blocks[..] else { panic!("{table:?}") };
    assert_eq!(url_of(caption).as_deref(), Some("https://a.example"));
}

#[test]
fn tables_of_html_keep_their_merged_cells() {
    let html = "<table>\n<tr><th rowspan=2>Region</th><th colspan=\"2\">2025</th></tr>\n\n\
                    <tr><th>Plan</th><th>Actual</th></tr>\n\n  <tr><td>North</td>\n\n\
                <td>\n\n**10**\n\n</td><td><ul><li>a<li>b</ul></td></tr></table>\n\nafter\n";
    let document = read(html).unwrap();
    let [Block::Table(table), Block::Paragraph(_)] = &document.blocks[..] else {
        panic!("{document:?}")
    };
    let words = |row: &[Vec<Inline>]| row.iter().map(|cell| plain_text(cell)).collect::<Vec<_>>();
    assert_eq!(words(&table.header), ["Region", "2025", ""]);
    assert_eq!(words(&table.rows[0]), ["", "Plan", "Actual"]);
    assert_eq!(words(&table.rows[1]), ["North", "10", "• a\n• b"]);
    let merge = |row, column, rows, columns| Merge { row, column, rows, columns };
    assert_eq!(table.merges, [merge(0, 0, 2, 1), merge(0, 1, 1, 2)]);
}

#[test]
fn references_to_characters_are_decoded_in_blocks_of_html() {
    let html = "<ul><li>5 &euro; &ndash; &uuml;</ul>\n\n\
                <table><tr><th title=\"&eacute;\">a</th></tr><tr><td>&#8364;&#x2264;</td></tr></table>\n";
    let all = texts(&read(html).unwrap());
    assert!(all.contains("5 € – ü") && all.contains("€≤") && !all.contains("&euro"), "{all}");
}

#[test]
fn cells_of_html_have_the_alignment_of_their_column() {
    let aligned = |html: &str| {
        let document = read(html).unwrap();
        let [Block::Table(table)] = &document.blocks[..] else { panic!("{document:?}") };
        (table.align.clone(), document.warnings)
    };
    let row = "<tr><td style=\"color: red; text-align: right\">1<td align=CENTER>2<td><p align=right>3</tr>";
    let (columns, warnings) =
        aligned(&format!("<table><tr><th>a<th>b<th>c</tr>{row}{row}</table>"));
    assert_eq!(columns, [Align::End, Align::Center, Align::End]);
    assert_eq!(warnings, Vec::<&str>::new());
    let (columns, warnings) = aligned(
        "<table><tr align=right><th>a</tr><tr align=right><td>1</tr><tr><td align=left>2</tr></table>",
    );
    assert_eq!(columns, [Align::Start]);
    assert_eq!(warnings, ["Cells of an HTML table have the alignment of their column."]);
    let merged = "<table><tr><th>a<th>b</tr><tr><td rowspan=2>x<td align=right>1</tr>\
                  <tr><td align=right>2</tr></table>";
    assert_eq!(aligned(merged), (vec![Align::Start, Align::End], Vec::new()));
}

#[test]
fn huge_spans_and_unclosed_tables_are_bounded() {
    let spans = "<table><tr><td colspan=99999999 rowspan=99999999>a<td>b</table>";
    let document = read(spans).unwrap();
    assert!(texts(&document).contains("\"a\""), "{document:?}");
    assert!(
        document.warnings.iter().any(|w| w.to_string().contains("too large")),
        "{:?}",
        document.warnings
    );
    let open = "<table><tr><td>x\n\n".repeat(20_000);
    assert!(texts(&read(&open).unwrap()).contains('x'));
}

#[test]
fn formulas_of_all_notations_are_formulas() {
    let source = "so \\( x^2 = 4 \\) and\n\n\\[\nx = 2\n\\]\n\n```math\na + b\n```\n";
    let document = read(source).unwrap();
    let Block::Paragraph(first) = &document.blocks[0] else { panic!("{document:?}") };
    assert!(first.contains(&Inline::Math("x^2 = 4".into())), "{first:?}");
    let math = |latex: &str| Block::Math(latex.into());
    assert_eq!(document.blocks[1..], [math("x = 2"), math("a + b")]);
}

#[test]
fn an_empty_comment_is_nothing() {
    let document = read("- a\n\n<!-- -->\n\n- b <!--\n-->\n").unwrap();
    let is_list = |block: &Block| matches!(block, Block::List(_));
    assert!(document.blocks.len() == 2 && document.blocks.iter().all(is_list), "{document:?}");
}

#[test]
fn components_are_reported() {
    let document =
        read("# A\n\n<Toc minDepth=\"1\" />\n\nb <Counter/> c <T> Vec<String>\n").unwrap();
    assert_eq!(texts(&document).matches('<').count(), 2, "{document:?}");
    let warnings: String = document.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.contains("removed: Counter, Toc."), "{warnings}");
}

#[test]
fn many_slices_are_reported() {
    let chart = |rows: usize| format!("```chart\ntype: pie\n\nk,S\n{}```\n", "a,1\n".repeat(rows));
    let warnings = |rows: usize| read(&chart(rows)).unwrap().warnings;
    assert_eq!(warnings(10), Vec::<&str>::new());
    assert!(warnings(11).iter().any(|warning| warning.to_string().contains("has 11 slices")));
}
