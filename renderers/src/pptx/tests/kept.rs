//! Tests for content without a dedicated place on a slide, and for the order of content.

use super::*;

#[test]
fn columns_stand_in_the_order_in_which_they_are_read() {
    let source = "# T\n\n::: columns\n::: column\nfirst\n:::\n::: column\nsecond\n:::\n:::\n";
    let places = |source: &str| {
        let (parts, _) = deck(source);
        let layout = format!("ppt/slideLayouts/slideLayout{}.xml", Layout::Two as usize + 1);
        let xs = parts.all(&layout, "a:off").into_iter().map(|e| e.attribute("x").to_owned());
        let places: Vec<i64> = xs.skip(2).take(2).map(|x| x.parse().unwrap()).collect();
        // The texts are in the places of the layout.
        let slide = parts.all("ppt/slides/slide1.xml", "a:off");
        assert!(slide.iter().all(|place| place.is_in("p:grpSpPr")), "{slide:?}");
        let holders = parts.all("ppt/slides/slide1.xml", "p:ph");
        let holders: Vec<&str> = holders.iter().map(|holder| holder.attribute("idx")).collect();
        assert_eq!(holders[1..], ["1", "2"]);
        places
    };
    let (ltr, rtl) = (places(source), places(&format!("---\nlang: he\n---\n\n{source}")));
    assert!(ltr[0] < ltr[1]);
    assert_eq!(rtl, [ltr[1], ltr[0]]);
}

#[test]
fn notes_of_titles_and_tables_stand_on_their_slide() {
    let source = "# T[^1]\n\n| a[^2] |\n|---|\n| b **c[^3]** |\n\n::: columns\n::: column\n![](a.png)\n\
                  :::\n::: column\ny\n:::\n:::\n\n[^1]: one\n[^2]: two\n[^3]: three\n";
    let (parts, rendered) = deck(source);
    assert_eq!(rendered.pages, 1);
    let text = text(&parts, 1);
    assert!(["1  one", "2  two", "3  three"].iter().all(|note| text.contains(note)), "{text}");
    let (parts, _) = deck("---\ntitle: T\nauthor: Ann\n---\n\n# T[^1]\n\n[^1]: one\n");
    assert!(parts.text("ppt/slides/slide1.xml", "a:t").ends_with("Ann1  one"));
}

#[test]
fn a_title_slide_bears_what_the_front_matter_says_of_the_document() {
    let front = "---\ntitle: X\nsubtitle: Sub\nauthor: Ann\ndate: 2026-01-02\n---\n\n";
    let (parts, _) = deck(&format!("{front}# X\n\n## Y\n\ntext"));
    assert_eq!(titles(&parts), ["X", "Y"]);
    assert_eq!(text(&parts, 1), "XSubAnn2026-01-02");
    let (parts, _) = deck(&format!("{front}# X\n\nwords"));
    assert_eq!(titles(&parts), ["X", "X (2)"]);
    assert_eq!(text(&parts, 1), "XSubAnn2026-01-02");
    let (parts, _) = deck(&format!("{front}<!-- _class: lead -->\n\n# X\n\nSub, by Ann"));
    assert_eq!(text(&parts, 1), "XSub, by Ann2026-01-02");
    let (parts, _) = deck("---\ntitle: X\n---\n\n# X\n\nwords");
    assert_eq!(titles(&parts), ["X"], "nothing is said twice");
}

#[test]
fn captions_stand_below_their_pictures() {
    let source = "# A\n\n- text\n\n![alt](a.png \"Fig. 1\")\n\n# B\n\n![gone](b.png \"Fig. 2\")\n\n\
                  # C\n\n| ![cell](a.png \"Fig. 3\") |\n|---|\n\n# D\n\n![alone](a.png \"Fig. 4\")";
    let (parts, _) = deck(source);
    let expected = ["Atext▸Fig. 1", "B[gone (Fig. 2)]", "C[cell (Fig. 3)]", "DFig. 4"];
    for (at, expected) in expected.iter().enumerate() {
        assert_eq!(text(&parts, at + 1), expected.replace('▸', ""));
    }
    let bottom = |part: &str, holder: &str| {
        let all = parts.elements(part);
        let of: Vec<_> = all.iter().filter(|e| e.is_in(holder)).collect();
        let number = |name: &str, key: &str| {
            let of = of.iter().rfind(|e| e.name == name && e.is_in("a:xfrm")).unwrap();
            of.attribute(key).parse::<i64>().unwrap()
        };
        (number("a:off", "y"), number("a:ext", "cy"))
    };
    for part in ["ppt/slides/slide1.xml", "ppt/slides/slide4.xml"] {
        let (picture, caption) = (bottom(part, "p:pic"), bottom(part, "p:sp"));
        assert!(picture.0 + picture.1 <= caption.0, "{part}: {picture:?} {caption:?}");
    }
}

/// Content above columns, each row of columns, and content below, in order.
#[test]
fn columns_stand_where_they_are_written() {
    let columns = |a: &str, b: &str| {
        format!("::: columns\n::: column\n{a}\n:::\n::: column\n{b}\n:::\n:::\n\n")
    };
    let source =
        format!("# T\n\nabove\n\n{}between\n\n{}below", columns("a", "b"), columns("c", "d"));
    let (parts, rendered) = deck(&source);
    assert_eq!((rendered.pages, text(&parts, 1).as_str()), (1, "Taboveabbetweencdbelow"));
    let places = parts.all("ppt/slides/slide1.xml", "a:off");
    let places = places.iter().filter(|e| !e.is_in("p:grpSpPr"));
    let places: Vec<(i64, i64)> = places
        .map(|e| (e.attribute("y").parse().unwrap(), e.attribute("x").parse().unwrap()))
        .collect();
    assert_eq!(places.len(), 7);
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!((places[1].0, places[4].0), (places[2].0, places[5].0), "{places:?}");
    let long = repeated(0..40, |n| format!("- point {n}\n"));
    let (parts, rendered) = deck(&format!("# T\n\n{}{long}\n\nend", columns(&long, "b")));
    let all: String = (1..=rendered.pages).map(|n| text(&parts, n) + " ").collect();
    assert!((0..40).all(|n| all.matches(&format!("point {n}")).count() >= 2), "{all}");
    assert!(all.trim_end().ends_with("end"), "{all}");
}

#[test]
fn a_table_that_is_too_wide_for_its_column_is_split() {
    let row = |cell: &str| format!("{}|\n", format!("| {cell} ").repeat(12));
    let table = [row("c"), row("---"), row("1234567")].concat();
    let (_, whole) = deck(&format!("# T\n\n{table}"));
    assert_eq!(whole.warnings, Vec::<&str>::new());
    let source =
        format!("# T\n\n::: columns\n::: column\n\n{table}\n:::\n::: column\nb\n:::\n:::\n");
    let (parts, rendered) = deck(&source);
    assert!(rendered.warnings[0].to_string().contains("was split"), "{:?}", rendered.warnings);
    assert_eq!(parts.all("ppt/slides/slide1.xml", "a:tbl").len(), 2);
}

/// With the usual gaps, they would have a width below zero.
#[test]
fn many_columns_are_below_each_other() {
    let columns = repeated(0..45, |n| format!("::: column\ncell {n}.\n:::\n"));
    let source = format!("# T\n\n::: columns\n{columns}:::\n");
    let rendered = render(&read(&source), Format::Pptx).unwrap();
    let parts = Parts::of(&rendered.bytes);
    all_shapes_are_within_the_slide(&parts);
    let all: String = (1..=rendered.pages).map(|n| text(&parts, n)).collect();
    assert!((0..45).all(|n| all.contains(&format!("cell {n}."))), "{all}");
}

/// Their slides are not laid out before they are counted.
#[test]
fn pictures_that_fill_too_many_slides_are_refused() {
    let error = render(&read(&"![](a.png)\n\n".repeat(2_500)), Format::Pptx).unwrap_err();
    assert!(error.to_string().contains("or more slides"), "{error}");
}

/// Their slides are not laid out before they are counted.
#[test]
fn columns_that_fill_too_many_slides_are_refused() {
    let points = repeated(0..9_000, |n| format!("- point {n}\n"));
    let source = format!("::: columns\n::: column\n{points}:::\n::: column\nb\n:::\n:::\n");
    let error = render(&read(&source), Format::Pptx).unwrap_err().to_string();
    assert!(error.contains("or more slides"), "{error}");
}

#[test]
fn comments_anywhere_become_speaker_notes() {
    let source = "# A\n\n- item\n\n  <!-- in a list -->\n\n> <!-- in a quote -->\n> quoted\n\n\
                  ::: columns\n::: column\na\n\n<!-- in a column -->\n:::\n::: column\nb\n:::\n:::\n\n\
                  ---\n\n<!-- alone -->\n\n---\n\n# B\n\nx\n\n---\n\n<!-- last -->";
    let (parts, rendered) = deck(source);
    assert_eq!(rendered.pages, 2);
    let notes = |n: usize| parts.text(&format!("ppt/notesSlides/notesSlide{n}.xml"), "a:t");
    assert_eq!(notes(1), "in a listin a quotein a column");
    assert_eq!(notes(2), "alonelast");
}

#[test]
fn a_small_picture_within_a_line_keeps_its_caption() {
    let mut document = read("# A\n\n![ok](i.png \"Done\"), ![](i.png \"Late\"), ![x](i.png)");
    document.assets.insert("i.png".into(), png(16, 16));
    assert_eq!(text(&drawn(&document).0, 1), "Aok (Done), Late, x");
}

#[test]
fn a_missing_background_is_shown_as_its_text() {
    let (parts, rendered) = deck("# A\n\n![bg right A boat](b.png)\n\n![bg](b.png)\n\ntext");
    assert_eq!(text(&parts, 1), "A[A boat]text");
    assert!(rendered.warnings[0].to_string().contains("b.png"), "{:?}", rendered.warnings);
}

#[test]
fn a_table_without_columns_is_not_drawn() {
    let blocks = vec![
        Block::Table(Table::default()),
        Block::Table(Table { rows: vec![Vec::new()], ..Table::default() }),
        Block::Paragraph(vec![Inline::Text("x".into())]),
    ];
    let (parts, _) = drawn(&Document { blocks, ..Document::default() });
    assert!(parts.all("ppt/slides/slide1.xml", "a:tbl").is_empty());
}

#[test]
fn a_list_with_other_numbers_is_reported() {
    let (_, rendered) = deck("# A\n\n0. x\n1. y\n\n# B\n\n40000. z\n\n# C\n\n32767. z");
    let warnings: Vec<_> = rendered.warnings.iter().map(ToString::to_string).collect();
    let wanted = ["with 0 begins with 1 on", "with 40000 begins with 32767 on"];
    assert_eq!(warnings.len(), wanted.len(), "{warnings:?}");
    assert!(warnings.iter().zip(wanted).all(|(one, wanted)| one.contains(wanted)), "{warnings:?}");
}

#[test]
fn a_link_to_nowhere_is_named() {
    let (_, rendered) = deck("# A\n\n[x](#nowhere)");
    assert!(rendered.warnings[0].to_string().contains("#nowhere"), "{:?}", rendered.warnings);
}

#[test]
fn a_detail_stays_on_the_slide_of_its_point() {
    let points = repeated(0..13, |at| format!("- Point {at}\n  - detail {at}\n"));
    let (parts, rendered) = deck(&format!("# T\n\n{points}"));
    assert!(rendered.pages > 1);
    for slide in slides(&parts) {
        let texts = parts.text(&slide, "a:t");
        let (point, detail) = (texts.find("Point"), texts.find("detail"));
        assert!(point.is_some() && point < detail, "{texts}");
    }
}
