//! Tests that read the parts back with zip and quick-xml.

use crate::document::{Block, Inline, Item, List, Table};
use crate::package::picture::tests::png;
use crate::package::reading::Parts;
use crate::{Document, Format, markdown, render};

const BODY: &str = "word/document.xml";

fn read(source: &str) -> Document {
    let mut document = markdown::read(source).unwrap();
    document.assets.insert("a.png".into(), png(40, 20));
    document
}

fn drawn(document: &Document) -> (Parts, Vec<String>) {
    let rendered = render(document, Format::Docx).unwrap();
    let parts = Parts::of(&rendered.bytes);
    parts.check_links();
    (parts, rendered.warnings.iter().map(ToString::to_string).collect())
}

fn parts(source: &str) -> Parts {
    drawn(&read(source)).0
}

fn values(parts: &Parts, part: &str, name: &str) -> Vec<String> {
    parts.all(part, name).iter().map(|e| e.attribute("w:val").to_owned()).collect()
}

#[test]
fn every_sentinel_of_the_corpus_is_in_the_text() {
    let source = include_str!("../../tests/corpus/features.md");
    let (parts, _) = drawn(&markdown::read(source).unwrap());
    let mut text = String::new();
    for part in [BODY, "word/footnotes.xml", "word/header1.xml", "word/footer1.xml"] {
        text.push_str(&parts.text(part, "w:t"));
    }
    let is_sentinel = |word: &&str| {
        let (letters, digits) = word.split_once('-').unwrap_or_default();
        letters.len() >= 2
            && letters.len() <= 3
            && letters.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
            && digits.len() >= 2
            && digits.chars().all(|c| c.is_ascii_digit())
    };
    let words = source.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let sentinels: Vec<&str> = words.filter(is_sentinel).collect();
    assert!(sentinels.len() >= 70, "{}", sentinels.len());
    // Pictures without data are replaced by their alternative text and caption.
    for sentinel in sentinels {
        // Words such as CJK-SC-12 are split into three by the code above.
        let hidden = sentinel.starts_with("HID");
        assert_eq!(text.contains(sentinel), !hidden, "{sentinel}");
    }
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    let document = read(include_str!("../../tests/corpus/features.md"));
    assert_eq!(render(&document, Format::Docx), render(&document, Format::Docx));
}

#[test]
fn headings_have_styles_outline_levels_and_bookmarks_that_links_reach() {
    let parts = parts("# A b\n\n## C\n\nSee [there](#a-b) and [nowhere](#x).");
    assert!(values(&parts, BODY, "w:pStyle").starts_with(&["Heading1".into(), "Heading2".into()]));
    assert_eq!(values(&parts, "word/styles.xml", "w:outlineLvl"), ["0", "1", "2", "3", "4", "5"]);
    let bookmark = parts.all(BODY, "w:bookmarkStart")[0].attribute("w:name").to_owned();
    let links = parts.all(BODY, "w:hyperlink");
    assert_eq!(links.len(), 1);
    assert_eq!(links[0].attribute("w:anchor"), bookmark);
}

#[test]
fn links_lead_to_headings_whose_text_ends_with_a_number() {
    let parts = parts("# Step 1\n\n# Step\n\n# Step\n\n[a](#step-1) [b](#step) [c](#step-2)");
    let names = |element: &str, attribute: &str| -> Vec<String> {
        parts.all(BODY, element).iter().map(|e| e.attribute(attribute).to_owned()).collect()
    };
    assert_eq!(names("w:hyperlink", "w:anchor"), names("w:bookmarkStart", "w:name"));
}

#[test]
fn a_level_that_is_skipped_does_not_count() {
    let parts = parts("---\ntitle: T\ntoc: true\nnumbered: true\n---\n\n## A\n\n#### B\n\n## C");
    let styles = values(&parts, BODY, "w:pStyle");
    let of =
        |start: &str| styles.iter().filter(|s| s.starts_with(start)).cloned().collect::<Vec<_>>();
    assert_eq!(of("Heading"), ["Heading1", "Heading2", "Heading1"]);
    assert_eq!(of("TOC")[1..], ["TOC1", "TOC2", "TOC1"]);
    assert!(parts.text(BODY, "w:t").contains("1.1 B"));
}

#[test]
fn columns_stand_side_by_side() {
    let parts =
        parts("a\n\n::: columns\n::: column\n### Left\n- x\n:::\n::: column\nright\n:::\n:::\n\nb");
    assert_eq!(parts.all(BODY, "w:tc").len(), 2);
    assert_eq!(parts.all(BODY, "w:gridCol").len(), 2);
    assert!(!parts.text(BODY, "w:t").contains(":::"));
}

#[test]
fn many_columns_are_in_several_rows() {
    let drawn_columns = |count: usize| {
        let column = |at: usize| vec![Block::Paragraph(vec![Inline::Text(format!("c{at}."))])];
        let columns = Block::Columns((0..count).map(column).collect());
        drawn(&Document { blocks: vec![columns], ..Document::default() })
    };
    let (parts, warnings) = drawn_columns(7);
    assert_eq!((parts.all(BODY, "w:tr").len(), warnings.len()), (1, 0));
    let (parts, warnings) = drawn_columns(100);
    assert_eq!((parts.all(BODY, "w:tr").len(), parts.all(BODY, "w:tc").len()), (15, 100));
    assert!(parts.text(BODY, "w:t").contains("c98.c99."));
    for total in parts.all(BODY, "w:tblW") {
        assert!(total.attribute("w:w").parse::<i64>().unwrap() <= 9_026, "{total:?}");
    }
    assert_eq!(warnings, ["100 columns are in 15 rows, to fit on the page."]);
    assert_eq!(drawn_columns(0).0.all(BODY, "w:tbl").len(), 0);
}

#[test]
fn links_lead_out_with_their_titles_and_only_by_known_schemes() {
    let mut document = read("[a](https://e.org/?x=1&y=2 \"tip\")");
    let bad = Inline::Link {
        url: "javascript:alert(1)".into(),
        title: String::new(),
        content: vec![Inline::Text("bad".into())],
    };
    document.blocks.push(Block::Paragraph(vec![bad]));
    let (parts, warnings) = drawn(&document);
    let rels = parts.all("word/_rels/document.xml.rels", "Relationship");
    let out: Vec<_> = rels.iter().filter(|r| r.attribute("TargetMode") == "External").collect();
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].attribute("Target"), "https://e.org/?x=1&y=2");
    assert_eq!(parts.all(BODY, "w:hyperlink")[0].attribute("w:tooltip"), "tip");
    assert!(warnings.iter().any(|w| w.contains("javascript:alert(1)")), "{warnings:?}");
}

#[test]
fn tooltips_are_within_the_limit_of_word() {
    let parts = parts(&format!("[a](https://e.org \"{}\")", "😀".repeat(200)));
    assert_eq!(parts.all(BODY, "w:hyperlink")[0].attribute("w:tooltip"), "😀".repeat(125));
}

#[test]
fn each_ordered_list_counts_for_itself_from_its_own_start() {
    let parts = parts("1. a\n2. b\n   1. c\n\nText\n\n5. d\n6. e");
    let starts = values(&parts, "word/numbering.xml", "w:startOverride");
    assert_eq!(starts, ["1", "1", "5"]);
    let numbers = values(&parts, BODY, "w:numId");
    assert_eq!(numbers[0], numbers[1]);
    assert!(numbers[2] != numbers[0] && numbers[3] != numbers[0] && numbers[3] == numbers[4]);
    assert_eq!(values(&parts, BODY, "w:ilvl"), ["0", "0", "1", "0", "0"]);
}

#[test]
fn lists_nest_to_nine_levels_and_say_so_beyond() {
    let nested = |depth: usize| {
        let text = |n: usize| Block::Paragraph(vec![Inline::Text(format!("level {n}"))]);
        let list = |blocks| {
            let items = vec![Item { task: None, blocks }];
            Block::List(List { start: None, tight: true, items })
        };
        let innermost = list(vec![text(depth)]);
        let blocks = (1..depth).rev().fold(innermost, |inner, n| list(vec![text(n), inner]));
        drawn(&Document { blocks: vec![blocks], ..Document::default() })
    };
    let (parts, warnings) = nested(9);
    assert_eq!(values(&parts, BODY, "w:ilvl").last().unwrap(), "8");
    assert_eq!(warnings, Vec::<&str>::new());
    let (parts, warnings) = nested(40);
    assert_eq!(values(&parts, BODY, "w:ilvl").last().unwrap(), "8");
    assert!(parts.text(BODY, "w:t").contains("level 40"));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn tasks_bear_their_boxes() {
    let parts = parts("- [ ] open\n- [x] done\n- plain");
    assert_eq!(values(&parts, BODY, "w:numId"), ["2", "3", "1"]);
    let signs = values(&parts, "word/numbering.xml", "w:lvlText");
    assert!(signs.contains(&"☐".into()) && signs.contains(&"☒".into()));
}

#[test]
fn tables_repeat_their_header_keep_rows_whole_and_fit_the_page() {
    let parts =
        parts("| Long header here | B |\n|:-:|--:|\n| some longer text than that | 2 |\n| x | y |");
    assert_eq!(parts.all(BODY, "w:tblHeader").len(), 1);
    assert_eq!(parts.all(BODY, "w:cantSplit").len(), 3);
    assert_eq!(
        values(&parts, BODY, "w:jc"),
        ["center", "right", "center", "right", "center", "right"]
    );
    let widths: Vec<i64> = parts
        .all(BODY, "w:gridCol")
        .iter()
        .map(|column| column.attribute("w:w").parse().unwrap())
        .collect();
    assert!(widths[0] > 2 * widths[1] && widths.iter().sum::<i64>() <= 9_026, "{widths:?}");
}

#[test]
fn a_table_that_is_too_wide_for_word_is_cut() {
    let row: Vec<_> = (0..70).map(|n| vec![Inline::Text(n.to_string())]).collect();
    let table = Table { header: row.clone(), rows: vec![row], ..Table::default() };
    let (parts, warnings) =
        drawn(&Document { blocks: vec![Block::Table(table)], ..Document::default() });
    assert!(parts.all(BODY, "w:tbl").len() > 2);
    assert!(warnings[0].contains("70 columns"), "{warnings:?}");
}

#[test]
fn code_keeps_its_lines_and_blocks_stay_apart() {
    let parts = parts("```rust\nlet a = 1;\n\n\tb();\n```\n\n```\nx\n```");
    assert_eq!(parts.all(BODY, "w:tbl").len(), 2);
    let styles = values(&parts, BODY, "w:pStyle");
    assert_eq!(styles, ["Code", "Code", "Code", "Spacer", "Code", "Spacer"]);
    assert_eq!(parts.all(BODY, "w:tab").len(), 1);
    assert!(parts.text(BODY, "w:t").contains("let a = 1;"));
    assert!(!values(&parts, BODY, "w:color").is_empty());
}

#[test]
fn pictures_are_embedded_once_with_alt_text_and_their_own_size() {
    let source = "![chart](a.png \"Figure\")\n\nText ![dot](a.png) and ![gone](b.png).";
    let (parts, warnings) = drawn(&read(source));
    let media: Vec<_> = parts.names().into_iter().filter(|n| n.contains("media")).collect();
    assert_eq!(media.len(), 1);
    let pictures = parts.all(BODY, "wp:docPr");
    let alts: Vec<_> = pictures.iter().map(|p| p.attribute("descr")).collect();
    assert_eq!(alts, ["chart", "dot"]);
    assert_ne!(pictures[0].attribute("id"), pictures[1].attribute("id"));
    assert_eq!(parts.all(BODY, "wp:extent")[0].attribute("cx"), (40 * 9_525).to_string());
    assert!(values(&parts, BODY, "w:pStyle").contains(&"Caption".into()));
    assert!(parts.text(BODY, "w:t").contains("[gone]"));
    assert!(warnings.iter().any(|w| w.contains("b.png")), "{warnings:?}");
}

#[test]
fn a_footnote_is_written_once_and_later_marks_refer_to_it() {
    let parts = parts("A[^1] b[^2] c[^1].\n\n[^1]: One [l](https://e.org).\n[^2]: Two.");
    let ids: Vec<_> = parts.all(BODY, "w:footnoteReference");
    assert_eq!(ids.iter().map(|n| n.attribute("w:id")).collect::<Vec<_>>(), ["1", "2"]);
    let field = &parts.all(BODY, "w:fldSimple")[0];
    assert_eq!(field.attribute("w:instr"), " NOTEREF _RefNote1 \\f \\h ");
    assert_eq!(parts.all("word/footnotes.xml", "w:footnote").len(), 4);
    assert_eq!(parts.all("word/_rels/footnotes.xml.rels", "Relationship").len(), 1);
}

#[test]
fn comments_of_reviewers_are_comments() {
    let source = "---\nauthor: Ben\n---\nA[^1] b[^comment-0] c[^x] d[^comment-plan] e[^x].\n\n\
        [^1]: One.\n[^comment-0]: Ann Lee: Is **this** right?\n[^comment-plan]: Later\n[^x]: Two.";
    let parts = parts(source);
    let comments = parts.all("word/comments.xml", "w:comment");
    let about = |name: &str| comments.iter().map(|c| c.attribute(name)).collect::<Vec<_>>();
    assert_eq!((about("w:author"), about("w:initials")), (vec!["Ann Lee", "Ben"], vec!["AL", "B"]));
    assert_eq!(parts.text("word/comments.xml", "w:t"), "Is this right?Later");
    let marks: Vec<_> = parts.all(BODY, "w:commentReference");
    assert_eq!(marks.iter().map(|m| m.attribute("w:id")).collect::<Vec<_>>(), about("w:id"));
    // Two separators and two footnotes; the second one is number 2 again.
    assert_eq!(parts.all("word/footnotes.xml", "w:footnote").len(), 4);
    assert!(parts.text(BODY, "w:t").ends_with("e2."), "{}", parts.text(BODY, "w:t"));
    let bytes = crate::render(&read(source), crate::Format::Docx).unwrap().bytes;
    let text = crate::read::to_markdown("a.docx", &bytes).unwrap().markdown;
    assert!(
        text.contains("b[^comment-1]")
            && text.contains("[^comment-1]: Ann Lee: Is **this** right?"),
        "{text}"
    );
}

#[test]
fn names_of_reviewers_are_within_the_limits_of_word() {
    let names = "Many Names Of One Very Long Author Who Wrote It Alone: Is it right?";
    let author = "Ann ".repeat(90);
    let source = format!(
        "---\nauthor: {author}\n---\na[^comment-1] b[^comment-2]\n\n[^comment-1]: {names}\n\
         [^comment-2]: Yes\n"
    );
    let parts = parts(&source);
    let comments = parts.all("word/comments.xml", "w:comment");
    let initials: Vec<_> = comments.iter().map(|c| c.attribute("w:initials")).collect();
    assert_eq!(initials, ["MNOOVLAWW", "AAAAAAAAA"]);
    assert!(comments.iter().all(|comment| comment.attribute("w:author").len() <= 255));
}

#[test]
fn formulas_are_office_math_and_what_is_not_known_is_shown_as_its_source() {
    let (parts, warnings) = drawn(&read("$x^2$ and $\\unknowncommand{x}$\n\n$$\n\\frac{a}{b}\n$$"));
    assert_eq!(parts.all(BODY, "m:oMath").len(), 3);
    assert_eq!(parts.all(BODY, "m:oMathPara").len(), 1);
    // Only as text within the formula, which is drawn as it stands.
    assert_eq!(parts.all(BODY, "m:nor").len(), 1);
    assert!(parts.text(BODY, "m:t").contains("\\unknowncommand{x}"));
    assert!(warnings.iter().any(|w| w.contains("unknowncommand")), "{warnings:?}");
}

#[test]
fn the_contents_are_filled_with_numbered_links_to_the_headings() {
    let parts = parts("---\ntoc: true\nnumbered: true\n---\n# A\n\n## B\n\n# C\n");
    let entries: Vec<_> =
        parts.all(BODY, "w:t").into_iter().filter(|t| t.is_in("w:hyperlink")).collect();
    let text: String = entries.iter().map(|t| t.text.as_str()).collect();
    assert_eq!(text, "1 A11.1 B12 C1", "each with its page");
    assert!(parts.text(BODY, "w:instrText").contains("TOC"));
    let fields: Vec<_> = parts.all(BODY, "w:fldChar");
    let kinds: Vec<_> = fields.iter().map(|f| f.attribute("w:fldCharType")).collect();
    assert_eq!(kinds[..2], ["begin", "separate"]);
    assert_eq!(kinds[2..11].chunks(3).filter(|k| *k == ["begin", "separate", "end"]).count(), 3);
    assert_eq!(kinds[11..], ["end"]);
    assert!(values(&parts, "word/numbering.xml", "w:pStyle").contains(&"Heading6".into()));
}

#[test]
fn page_numbers_of_contents_are_within_their_column() {
    let source = "# A\n\n![A](a.png \"One\"){#fig:a}\n\n<!-- figures -->\n";
    for (columns, width) in [(1, "9026"), (2, "4272")] {
        let front = format!("---\ntitle: T\ntoc: true\ncolumns: {columns}\n---\n");
        let tabs = parts(&format!("{front}{source}")).all(BODY, "w:tab");
        let places: Vec<_> = tabs.iter().map(|tab| tab.attribute("w:pos")).collect();
        let places: Vec<_> = places.into_iter().filter(|place| !place.is_empty()).collect();
        assert_eq!(places, [width, width], "{columns}");
    }
}

#[test]
fn header_footer_cover_and_paper_are_the_documents() {
    let source =
        "---\ntitle: T\ncover: true\nheader: HEAD\nfooter: FOOT\npage: letter landscape\n---\nText";
    let parts = parts(source);
    assert_eq!(parts.text("word/header1.xml", "w:t"), "HEAD");
    let fields = parts.all("word/footer1.xml", "w:fldSimple");
    assert_eq!(
        fields.iter().map(|f| f.attribute("w:instr").trim()).collect::<Vec<_>>(),
        ["PAGE", "NUMPAGES"]
    );
    assert_eq!(parts.all(BODY, "w:sectPr").len(), 2);
    assert_eq!(parts.all(BODY, "w:titlePg").len(), 1);
    let paper = &parts.all(BODY, "w:pgSz")[0];
    assert_eq!((paper.attribute("w:w"), paper.attribute("w:orient")), ("15840", "landscape"));
}

#[test]
fn the_page_number_is_at_the_right_edge_of_landscape_pages_too() {
    let parts = parts("a\n\n<!-- landscape -->\n\nb\n\n<!-- portrait -->\n\nc");
    let edge = |part: &str| parts.all(part, "w:tab")[0].attribute("w:pos").to_owned();
    let edges = ["word/footer1.xml", "word/footer2.xml"].map(edge);
    assert_eq!(edges.map(|edge| edge.parse::<i64>().unwrap() > 12_000), [false, true]);
    let footers = parts.all(BODY, "w:footerReference");
    let footers: Vec<_> = footers.iter().map(|footer| footer.attribute("r:id")).collect();
    assert_eq!((footers.len(), footers[0]), (3, footers[2]));
}

#[test]
fn a_bracket_belongs_to_its_operator_and_its_exponent() {
    let math = |source: &str| parts(source).xml(BODY).to_owned();
    let sum = math("$\\sum_i (x_i - y)^2 + z$");
    let (nary, rest) = sum.split_once("</m:nary>").unwrap();
    assert!(nary.contains("<m:sSup><m:e><m:d>") && nary.contains(">y<") && rest.contains(">z<"));
    let open = math("$(a]^2 + (b + [c)$");
    assert!(!open.contains("<m:d>") && open.contains(">c<"), "brackets that do not match");
}

#[test]
fn a_caption_may_be_before_the_directives_of_its_table() {
    let parts = parts("<!-- total: sum -->\n\n|A|\n|-|\n|1|\n\nTable: Caption {#tbl:a}");
    let styles = values(&parts, BODY, "w:pStyle");
    assert!(styles.contains(&"Caption".to_owned()), "{styles:?}");
}

#[test]
fn the_caption_of_a_table_keeps_its_links() {
    let source = "Table: From [here](https://a.example) {#tbl:a}\n\n|A|\n|-|\n|1|";
    let parts = parts(source);
    assert_eq!(parts.all(BODY, "w:hyperlink").len(), 1);
    assert_eq!(parts.text(BODY, "w:t"), "Table 1: From hereA1");
}

/// Word shows an error in place of a field whose bookmark does not exist.
#[test]
fn links_to_captions_that_do_not_exist_are_text() {
    let source = "![A](a.png \"One\"){#fig:a}\n\n@fig:a [two](#figure:2) [none](#figure:)";
    let (parts, warnings) = drawn(&read(source));
    assert_eq!(parts.text(BODY, "w:instrText"), " REF _RefFigure1 \\h ");
    assert!(parts.text(BODY, "w:t").ends_with("Figure 1 two none"));
    assert_eq!(warnings.iter().filter(|warning| warning.contains("no target")).count(), 2);
}

#[test]
fn the_bar_of_a_quote_is_on_the_side_where_its_text_begins() {
    let styles = values(&parts("> quote\n\n&nbsp;\n\n> اقتباس"), BODY, "w:pStyle");
    assert!(["Quote", "QuoteRtl"].iter().all(|style| styles.iter().any(|s| s == style)));
}

#[test]
fn properties_come_from_the_document_and_never_from_the_clock() {
    let parts = parts(
        "---\ntitle: T & co\nauthor: Ann\ndate: 2026-03-31\nlang: zh-CN\nkeywords: [a, b]\n---\nx",
    );
    let core = "docProps/core.xml";
    assert_eq!(parts.text(core, "dc:title"), "T & co");
    assert_eq!(parts.text(core, "dc:creator"), "Ann");
    assert_eq!(parts.text(core, "dcterms:created"), "2026-03-31T00:00:00Z");
    assert_eq!(parts.all("word/styles.xml", "w:lang")[0].attribute("w:eastAsia"), "zh-CN");
    let (bare, _) = drawn(&Document::default());
    assert_eq!(bare.all(core, "dcterms:created"), []);
}

#[test]
fn text_from_right_to_left_says_so() {
    let parts = parts("שלום world\n\nplain");
    assert_eq!(parts.all(BODY, "w:bidi").len(), 1);
    let runs = parts.all(BODY, "w:rtl");
    assert_eq!(runs.len(), 1);
    assert_eq!(parts.all("word/styles.xml", "w:rFonts")[0].attribute("w:cs"), "Arial");
}

#[test]
fn control_characters_are_dropped_and_counted() {
    let text = |text: &str| vec![Inline::Text(text.into())];
    let (parts, warnings) = drawn(&Document {
        blocks: vec![
            Block::Paragraph(text("a\u{0}b\u{b}c\u{ffff}d")),
            Block::Code { language: None, text: "x\u{1b}[0m".into() },
        ],
        ..Document::default()
    });
    assert_eq!(parts.text(BODY, "w:t"), "abcdx[0m");
    assert!(warnings.iter().any(|w| w.starts_with("4 control characters")), "{warnings:?}");
}

/// Short quotes and tables are kept on one page, in their order.
#[test]
fn short_quotes_and_tables_stay_together() {
    let parts = parts("> one\n>\n> two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n");
    let body = parts.xml(BODY);
    let kept: Vec<bool> = body
        .split("<w:p>")
        .filter(|paragraph| paragraph.contains("<w:t"))
        .map(|paragraph| paragraph.contains("<w:keepNext/>"))
        .collect();
    assert_eq!(parts.text(BODY, "w:t"), "onetwoab1234");
    assert_eq!(kept, [true, false, true, true, true, true, false, false], "{body}");
}

#[test]
fn quotes_and_alerts_keep_what_stands_in_them() {
    let parts = parts(
        "> a\n>\n> > - b\n>\n> ```\n> c\n> ```\n\n> [!WARNING]\n> d\n>\n> | x |\n> |---|\n> | y |",
    );
    let text = parts.text(BODY, "w:t");
    assert!(
        ["a", "b", "c", "Warning", "d", "x", "y"].iter().all(|part| text.contains(part)),
        "{text}"
    );
    // Word rejects a cell without a final paragraph.
    assert!(!parts.xml(BODY).contains("</w:tbl></w:tc>"));
    assert!(!parts.xml(BODY).contains("</w:tbl><w:tbl>"));
}

#[test]
fn every_cell_has_a_paragraph_however_deep_it_is() {
    let items = vec![Item { task: None, blocks: Vec::new() }];
    let list = Block::List(List { start: None, tight: true, items });
    let quoted = |depth: usize| {
        let quote = |inner, _| Block::Quote { alert: None, blocks: vec![inner] };
        let blocks = vec![(0..depth).fold(list.clone(), quote)];
        drawn(&Document { blocks, ..Document::default() }).0
    };
    for depth in 20..30 {
        assert!(!quoted(depth).xml(BODY).contains("</w:tcPr></w:tc>"), "{depth}");
    }
}

/// Author and date follow the direction of the title. An alert's title follows its text.
#[test]
fn a_title_from_right_to_left_takes_all_of_it_along() {
    let source = "---\ntitle: سلام\nauthor: Ann\ndate: 2026-03-31\nlang: ar\n---\n\n\
        > [!WARNING]\n> سلام\n";
    let parts = parts(source);
    assert_eq!(parts.all(BODY, "w:bidi").len(), 5);
    assert!(parts.text(BODY, "w:t").contains("تحذير"));
}

#[test]
fn an_introduction_stays_with_the_next_block() {
    let body = parts("one\n\ntwo:\n\n- three\n\nfour:\n").xml(BODY).to_owned();
    let kept: Vec<bool> =
        body.split("<w:p>").skip(1).map(|paragraph| paragraph.contains("<w:keepNext/>")).collect();
    assert_eq!(kept, [false, true, false, false], "{body}");
}

#[test]
fn captions_stand_wherever_their_pictures_do() {
    let source = "![gone](b.png \"Fig. 1\")\n\nx ![in](a.png \"Fig. 2\") y\n\n\
                  [![linked](a.png \"Fig. 3\")](https://e.org)\n\n| ![cell](a.png \"Fig. 4\") |\n|---|\n";
    let text = parts(source).text(BODY, "w:t");
    assert!(text.contains("[gone (Fig. 1)]"), "{text}");
    assert!(["Fig. 2", "Fig. 3", "Fig. 4"].iter().all(|caption| text.contains(caption)), "{text}");
}

/// Word has no sizes relative to the text around them.
#[test]
fn small_letters_are_smaller_than_those_around_them() {
    for (source, part, size) in [
        ("a <small>b</small>", BODY, "19"),
        ("# a <small>b</small>", BODY, "34"),
        ("# a\n\n## a **<small>b</small>**", BODY, "27"),
        ("| a <small>b</small> |\n|---|\n", BODY, "17"),
        ("a[^1]\n\n[^1]: b <small>c</small>", "word/footnotes.xml", "15"),
    ] {
        let parts = parts(source);
        assert_eq!(values(&parts, part, "w:sz"), [size], "{source}");
        assert_eq!(values(&parts, part, "w:szCs"), [size], "{source}");
    }
}
