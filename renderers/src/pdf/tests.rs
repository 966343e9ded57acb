//! Tests of PDF files: standards, fallbacks, limits.

use super::*;
use crate::markdown;

fn rendered(source: &str) -> Rendered {
    render(&markdown::read(source).unwrap()).unwrap()
}

fn text(bytes: &[u8]) -> String {
    let document = lopdf::Document::load_mem(bytes).unwrap();
    let pages: Vec<u32> = document.get_pages().keys().copied().collect();
    document.extract_text(&pages).unwrap()
}

#[test]
fn a_plain_text_keeps_to_both_standards() {
    let rendered =
        rendered("---\ntitle: T\n---\n# A\n\nText with a [link](https://a.b) and `code`.\n");
    assert_eq!((rendered.pages, rendered.warnings), (1, vec![]));
    let metadata = String::from_utf8_lossy(&rendered.bytes);
    assert!(metadata.contains("pdfuaid:part") && metadata.contains("pdfaid:part"));
}

#[test]
fn code_of_typst_comes_out_as_text() {
    let source = include_str!("../../tests/corpus/hostile/typst-injection.md");
    let text = text(&rendered(source).bytes).replace(['\n', ' ', '\u{200b}'], "");
    for literal in ["#eval(\"1+1\")", "#read(\"/etc/passwd\")", "#sys.inputs", "#{whiletrue{}}"] {
        assert!(text.contains(literal), "{literal} in {text}");
    }
}

#[test]
fn missing_glyphs_are_a_warning_and_not_an_error() {
    let rendered = rendered("中文 and Latin\n");
    assert!(rendered.warnings[0].to_string().contains("中 文"), "{:?}", rendered.warnings);
    assert!(text(&rendered.bytes).contains("and Latin"));
}

#[test]
fn broken_pictures_are_sentences() {
    let mut document = markdown::read("![alt A](a.png) ![](b.png)\n\n![alt C](c.png)\n").unwrap();
    document.assets.insert("a.png".into(), b"\x89PNG\r\n\x1a\nbroken".to_vec());
    document.assets.insert("c.png".into(), vec![0; 10]);
    let rendered = render(&document).unwrap();
    let text = text(&rendered.bytes);
    assert!(text.contains("[image: alt A — the file is damaged]"), "{text}");
    assert!(text.contains("[image: alt C — the kind is not known]"), "{text}");
    assert_eq!(rendered.warnings.len(), 3, "{:?}", rendered.warnings);
}

#[test]
fn a_picture_without_a_description_keeps_the_standards() {
    let mut document = markdown::read("![](a.png)\n").unwrap();
    let dot = include_bytes!("../../tests/corpus/img/dot.png");
    document.assets.insert("a.png".into(), dot.to_vec());
    assert_eq!(render(&document).unwrap().warnings, Vec::<&str>::new());
}

#[test]
fn odd_structures_are_drawn() {
    for source in [
        "",
        "###### deep first\n\n# then up\n\n#### skipped\n",
        "# note in a heading[^a]\n\n| h[^a] | [^b] |\n|---|---|\n\n[^a]: A[^b]\n[^b]: B\n",
        "[unknown](#nowhere) [known](#here)\n\n## Here\n",
        "$\\foo{x}$ and $$\\frac{a}$$\n",
        "- [x] a\n- b\n\n1. [ ] c\n",
        "> [!CAUTION]\n> > - | a |\n> >   |---|\n",
        "| only |\n|---|\n",
        "---\ntitle: x\ncover: true\ntoc: true\nlandscape: true\npage: letter\n---\n",
        "Term\n: One\n\n: Two\n\n<!-- pagebreak -->\n\n***\n",
        &format!("{}x\n", "> ".repeat(40)),
        &format!("{}\n", "x".repeat(3_000)),
    ] {
        assert!(rendered(source).pages > 0, "{source}");
    }
}

#[test]
fn languages_of_any_shape_are_taken() {
    for language in ["ar", "zh-Hant-TW", "zh-cn", "x", "", "not a language", "es-419", "日本"] {
        let mut document = markdown::read("# A\n\nText\n").unwrap();
        document.meta.language = Some(language.into());
        assert_eq!(render(&document).unwrap().warnings, Vec::<&str>::new(), "{language}");
    }
}

#[test]
fn budgets_are_errors_before_any_work() {
    let cells = format!("|a|b|\n|-|-|\n{}", "|1|2|\n".repeat(CELLS / 2 + 1));
    let long = "word ".repeat(CHARACTERS / 5 + 1);
    let [short, formulas] = ["x\n\n", "$$x$$\n\n"].map(|text| text.repeat(PAGES * 60));
    let pages = "x\n\n<!-- newpage -->\n\n".repeat(PAGES + 1);
    for source in [cells, long, short, formulas, pages] {
        let document = markdown::read(&source).unwrap();
        assert!(matches!(render(&document), Err(RenderError::TooLarge(_))));
    }
}

#[test]
fn headings_of_one_level_stay_on_one_level_wherever_they_begin() {
    let numbers = |source: &str| {
        let source = format!("---\nnumbered: true\n---\n{source}");
        text(&rendered(&source).bytes).replace(['\n', ' '], "")
    };
    assert!(numbers("## aa\n\n## bb\n\n#### cc\n\n## dd\n").starts_with("1aa2bb2.1cc3dd"));
    assert!(numbers("### aa\n\n# bb\n\n## cc\n").starts_with("1aa2bb2.1cc"));
}

#[test]
fn columns_stand_side_by_side_with_their_notes() {
    let source = "a\n\n::: columns\n::: column\n### Left\nx[^1]\n:::\n::: column\nright\n:::\n:::\n\nb\n\n[^1]: said";
    let rendered = rendered(source);
    let text = text(&rendered.bytes).replace(['\n', ' '], "");
    assert!(text.starts_with("aLeftx1rightb1said"), "{text}");
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

/// The preview is the same each time, and the file does not depend on it.
#[test]
fn the_first_page_is_a_picture_if_it_is_requested() {
    let document = markdown::read("# Hi\n\nthere").unwrap();
    let (file, picture) = render_and_show(&document, &Fonts::default()).unwrap();
    assert_eq!(file, render(&document).unwrap());
    let png = image::load_from_memory(&picture.clone().unwrap()).unwrap();
    assert_eq!((png.width(), png.height()), (744, 1052));
    let (_, again) = render_and_show(&document, &Fonts::default()).unwrap();
    assert_eq!(picture, again);
}

#[test]
fn margins_of_a_template_hold_for_pages() {
    let mut document = markdown::read(&"word ".repeat(1_200)).unwrap();
    let before = render(&document).unwrap().pages;
    document.wear(crate::document::Brand { margins: Some([4_000; 4]), ..Default::default() });
    let after = render(&document).unwrap().pages;
    assert!(after > 2 * before, "{before} pages, then {after}");
}

/// No font here has the mark; a missing character is a warning at any position.
#[test]
fn a_mark_without_a_letter_is_drawn() {
    let mark = "محمد \u{611} قال";
    let words =
        format!("---\ntitle: {mark}\nheader: {mark}\n---\n\n{mark} `{mark}`\n\n| {mark} |\n|--|\n");
    for text in [
        words,
        mark.replacen(' ', "\n", 1),
        format!("![{mark}](a.png) [{mark}](https://example.org) *{mark}*"),
        format!("$\\text{{{mark}}}$"),
        format!("$\\unknown{{{mark}}}$"),
        format!("$${{{mark}$$"),
    ] {
        let rendered = render(&markdown::read(&text).unwrap()).unwrap();
        let warned = rendered.warnings.iter().any(|w| w.to_string().contains("Arabic"));
        assert!(warned, "{text}: {:?}", rendered.warnings);
    }
}

/// The first and the last column of the page with ink, in hundredths of its width.
fn inked(source: &str) -> (u32, u32) {
    let document = markdown::read(source).unwrap();
    let (_, picture) = render_and_show(&document, &Fonts::default()).unwrap();
    let page = image::load_from_memory(&picture.unwrap()).unwrap().to_luma8();
    // Excludes the page number at the bottom.
    let text = page.enumerate_pixels().filter(|(_, y, ink)| *y < 800 && ink.0[0] < 128);
    let columns: Vec<u32> = text.map(|(x, ..)| x * 100 / page.width()).collect();
    (*columns.iter().min().unwrap(), *columns.iter().max().unwrap())
}

/// As in the other formats, regardless of the document's language.
#[test]
fn a_text_runs_as_its_first_letter_does() {
    for source in ["سلام", "# سلام", "- سلام", "> سلام", "---\ntitle: سلام\n---\n\n`سلام` سلام"]
    {
        let (first, last) = inked(source);
        assert!(last > 80, "{source} ends at {last}");
        assert!(source.contains("title") || first > 50, "{source} begins at {first}");
    }
    assert!(inked("---\nlang: ar\n---\n\nhello").1 < 50, "no letter runs from the right");
    let (first, last) = inked("hello\n\nسلام");
    assert!(first < 15 && last > 85, "each runs its own way: {first} {last}");
}

/// An inch is 12.1 percent of the width of an A4 page.
/// Proves MC-31.
#[test]
fn the_margins_are_an_inch_wide() {
    let (left, _) = inked(&"Lines begin at the left. ".repeat(40));
    let (_, right) = inked(&"سلام ".repeat(200));
    assert_eq!((left, right), (12, 87));
}

/// The title is on its own page without a number; the other pages are numbered.
/// Proves MC-31.
#[test]
fn a_cover_comes_before_the_text() {
    let body = "word ".repeat(1_500);
    let source = format!("---\ntitle: The Rivers\ncover: true\n---\n\nBody {body}\n");
    let document = lopdf::Document::load_mem(&rendered(&source).bytes).unwrap();
    let pages = document.get_pages().len() as u32;
    assert!(pages >= 3, "{pages}");
    let page = |number: u32| document.extract_text(&[number]).unwrap();
    let numbered =
        |number: u32| page(number).replace('\n', "").contains(&format!("{number} / {pages}"));
    assert!(page(1).contains("The Rivers") && !page(1).contains("Body"), "{}", page(1));
    assert!(page(2).contains("Body"), "{}", page(2));
    assert!(!numbered(1) && (2..=pages).all(numbered), "{}", page(2));
    let plain = rendered(&source.replace("cover: true", "cover: false"));
    let document = lopdf::Document::load_mem(&plain.bytes).unwrap();
    assert!(document.extract_text(&[1]).unwrap().contains("Body"), "nobody asked for a cover");
}

/// Proves MC-31.
#[test]
fn every_font_is_embedded() {
    let bytes = rendered("# Head\n\nText, *stress*, `code` and $x^2$\n").bytes;
    let document = lopdf::Document::load_mem(&bytes).unwrap();
    let dictionaries = document.objects.values().filter_map(|object| object.as_dict().ok());
    let descriptors: Vec<_> = dictionaries.filter(|d| d.has_type(b"FontDescriptor")).collect();
    assert!(descriptors.len() >= 3, "{descriptors:?}");
    for font in descriptors {
        let embedded = [&b"FontFile"[..], b"FontFile2", b"FontFile3"];
        assert!(embedded.iter().any(|key| font.has(key)), "{font:?}");
    }
}

#[test]
fn an_introduction_stays_with_the_next_block() {
    let pages = (28..40).map(|lines| {
        let source = format!("{}Intro:\n\n| a |\n|---|\n| b |\n", "line\n\n".repeat(lines));
        let document = lopdf::Document::load_mem(&rendered(&source).bytes).unwrap();
        let page = |number: u32| document.extract_text(&[number]).unwrap_or_default();
        (page(1).contains("Intro"), page(1).contains('b'))
    });
    let pages: Vec<_> = pages.collect();
    assert!(pages.iter().all(|(intro, table)| intro == table), "{pages:?}");
    assert_ne!(pages.first(), pages.last(), "the page ends in between");
}

#[test]
fn captions_stand_wherever_their_pictures_do() {
    let source = "![gone](b.png \"Fig. 1\")\n\nx ![in](a.png \"Fig. 2\") y\n\n\
                  [![linked](a.png \"Fig. 3\")](https://e.org)\n\n| ![cell](a.png \"Fig. 4\") |\n|---|\n";
    let mut document = markdown::read(source).unwrap();
    let dot = include_bytes!("../../tests/corpus/img/dot.png");
    document.assets.insert("a.png".into(), dot.to_vec());
    let text = text(&render(&document).unwrap().bytes).replace('\n', " ");
    assert!(text.contains("gone (Fig. 1)"), "{text}");
    assert!(["Fig. 2", "Fig. 3", "Fig. 4"].iter().all(|caption| text.contains(caption)), "{text}");
}

/// Text copied from the file is the original text, even for very long words.
#[test]
fn no_break_characters_are_added_to_long_words() {
    let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let endless = "x".repeat(700);
    let source = format!(
        "Compare {hash} with `{hash}`, `{endless}` or {endless}.\n\n```\nsha256 {hash}\n{endless}\n```\n\n\
         | a | b | c | d |\n|---|---|---|---|\n| {hash} | `{hash}` | c | d |\n\n# {hash}\n"
    );
    let rendered = rendered(&source);
    let text = text(&rendered.bytes);
    assert!(!text.contains('\u{200b}'), "{text}");
    assert_eq!(text.replace(['\n', ' '], "").matches(hash).count(), 6, "{text}");
    assert_eq!(text.matches('x').count(), 2_100);
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    let (_, last) =
        inked(&format!("`{endless}`\n\n{endless}\n\n```\n{endless}\n```\n\n# {endless}"));
    assert!(last < 93, "it runs out of the page, to {last}");
}

#[test]
fn a_page_begins_at_each_of_the_marks_that_say_so() {
    for mark in ["pagebreak", "page-break", "newpage"] {
        assert_eq!(rendered(&format!("a\n\n<!-- {mark} -->\n\nb")).pages, 2, "{mark}");
    }
}

#[test]
fn a_page_break_within_another_block_is_reported() {
    for source in [
        "> a\n>\n> <!-- pagebreak -->\n>\n> b\n",
        "- a\n\n  <!-- pagebreak -->\n\n  b\n",
        "::: column\na\n\n\\newpage\n\n:::\n::: column\nb\n:::\n",
        "a[^n] b\n\n[^n]: note\n\n    <!-- pagebreak -->\n\n    more\n",
    ] {
        let rendered = rendered(source);
        let said = "A page break in a list, quote, column or footnote was ignored.";
        assert_eq!(rendered.warnings, [said], "{source}");
        let text = text(&rendered.bytes);
        assert!(rendered.pages == 1 && text.contains('a') && text.contains('b'), "{text}");
    }
}

/// The number of objects with these keys and values.
fn objects(rendered: &Rendered, key: &[u8], value: &str) -> usize {
    let document = lopdf::Document::load_mem(&rendered.bytes).unwrap();
    let dictionaries = document.objects.values().filter_map(|object| object.as_dict().ok());
    let shown = |dictionary: &lopdf::Dictionary| format!("{:?}", dictionary.get(key));
    dictionaries.filter(|dictionary| shown(dictionary).contains(value)).count()
}

#[test]
fn many_links_need_little_space_in_the_file() {
    let links = |count: usize| {
        let link = |at| format!("- [link](https://example.org/{at})\n");
        rendered(&(0..count).map(link).collect::<String>())
    };
    let (few, many) = (links(100), links(400));
    assert_eq!(objects(&many, b"Subtype", "/Link"), 400);
    let each = (many.bytes.len() - few.bytes.len()) / 300;
    assert!(each < 250, "{each} bytes");
}

#[test]
fn merged_cells_are_tagged_with_their_spans() {
    let source = "<table><tr><th rowspan=2>Region</th><th colspan=2>2025</th></tr><tr><th>Plan</th>\
                  <th>Actual</th></tr><tr><td>North</td><td>10</td><td>11</td></tr></table>\n";
    let rendered = rendered(source);
    assert_eq!(objects(&rendered, b"A", "ColSpan"), 1);
    assert_eq!(objects(&rendered, b"A", "RowSpan"), 1);
}

#[test]
fn cells_over_all_rows_leave_the_others_in_their_rows() {
    let source = "<table><tr><th rowspan=2>A</th><td>1</td></tr><tr><td>2</td></tr></table>\n";
    assert_eq!(objects(&rendered(source), b"S", "/TR"), 2);
}

#[test]
fn the_text_begins_on_a_page_of_its_own_after_long_contents() {
    let first = |chapters: usize| {
        let front = "---\ntitle: T\ntoc: true\n---\n\nFirst words\n\n";
        let rendered = rendered(&format!("{front}{}", "# Chapter\n\n".repeat(chapters)));
        let document = lopdf::Document::load_mem(&rendered.bytes).unwrap();
        let has = |page: u32, words: &str| document.extract_text(&[page]).unwrap().contains(words);
        let first = (1..=5).find(|page| has(*page, "First words")).unwrap();
        // No page is empty.
        assert!((1..first).all(|page| has(page, "Chapter")));
        first
    };
    // Contents of 50 chapters are measured, those of 80 certainly need more than a page.
    assert_eq!([first(10), first(50), first(80)], [1, 3, 4]);
}

fn read_back(bytes: &[u8]) -> String {
    crate::read::to_markdown("a.pdf", bytes).unwrap().markdown
}

#[test]
fn headings_stay_with_a_paragraph_whose_footnote_has_no_room() {
    let chapter = |at: usize, length: usize| {
        let text = "Text of it. ".repeat(length);
        format!("# Chapter {at}\n\n## Sub {at}\n\nStart {text}[^n{at}]\n\n[^n{at}]: Note {at}\n\n")
    };
    for length in [1, 300] {
        let chapters = (0..28).map(|at| chapter(at, if at % 5 == 4 { length } else { 1 }));
        let read = read_back(&rendered(&chapters.collect::<String>()).bytes);
        let pages: Vec<&str> = read.split("## Page ").collect();
        assert!(pages.len() > 3, "{read}");
        for page in pages {
            let [headings, starts] =
                ["#### Sub", "Start Text"].map(|mark| page.matches(mark).count());
            assert_eq!(headings, starts, "{length}: {page}");
        }
    }
}

#[test]
fn the_mark_of_a_footnote_of_a_heading_is_in_its_line() {
    let source = "---\ntoc: true\n---\n# Head[^a] and *more*[^b]\n\nText[^a]\n\n# Next[^c]\n\n\
                  [^a]: Said\n[^b]: Too[^c]\n[^c]: Last\n";
    let rendered = rendered(source);
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    let read = read_back(&rendered.bytes);
    for wanted in [
        "### Head<sup>1</sup> and more<sup>2</sup>\n",
        "\nText<sup>1</sup>\n",
        "### Next<sup>3</sup>\n",
        "<sup>1</sup>Said",
        "<sup>2</sup>Too",
        "<sup>3</sup>Last",
    ] {
        assert!(read.contains(wanted), "{wanted}: {read}");
    }
}

/// Typst leaves out a picture without a positive size.
#[test]
fn pictures_in_deep_lists_are_drawn() {
    let lists: Vec<_> = (0..12).map(|depth| "  ".repeat(depth) + "- x\n").collect();
    let (lists, inner) = (lists.concat(), "  ".repeat(12));
    let source = format!("---\ncolumns: 2\n---\n{lists}{inner}- ![a](a.png)\n");
    let mut document = markdown::read(&source).unwrap();
    let dot = include_bytes!("../../tests/corpus/img/dot.png");
    document.assets.insert("a.png".into(), dot.to_vec());
    let file = lopdf::Document::load_mem(&render(&document).unwrap().bytes).unwrap();
    let is_picture = |object: &lopdf::Object| {
        let stream = object.as_stream().ok();
        let kind = stream.and_then(|stream| stream.dict.get(b"Subtype").ok()?.as_name().ok());
        kind == Some(&b"Image"[..])
    };
    assert!(file.objects.values().any(is_picture));
}

/// A Roman numeral has a letter for each million.
#[test]
fn lists_with_high_numbers_have_digits() {
    let list = |start: u64| {
        let html = format!("<ol><li>a<ol><li>b<ol start={start}><li>c</ol></ol></ol>\n");
        text(&rendered(&html).bytes).replace(['\n', ' '], "")
    };
    assert!(list(9).contains("ix."), "{}", list(9));
    for start in [5_000, u64::MAX] {
        assert!(list(start).contains(&format!("{start}.")), "{}", list(start));
    }
}

#[test]
fn long_names_of_charts_that_are_cut_are_reported() {
    let chart =
        |name: &str| format!("```chart\ntype: horizontal bar\nx, y\n{name}, 1\nb, 2\n```\n");
    let long = markdown::read(&chart(&"Long name of a bar ".repeat(9))).unwrap();
    for format in [crate::Format::Pdf, crate::Format::Docx] {
        let warnings = crate::render(&long, format).unwrap().warnings;
        assert_eq!(warnings, [crate::chart::svg::CUT], "{format:?}");
    }
    assert_eq!(rendered(&chart("short")).warnings, Vec::<&str>::new());
}
