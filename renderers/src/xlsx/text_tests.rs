//! Tests of the formats of texts, and of the limits of Excel for them.

use super::cells::CELL_CHARS;
use super::tests::{part, render, rendered, sheet};
use super::*;
use crate::document::Brand;
use crate::markdown;

/// The run with this text among the strings of the workbook: its formats and its text.
fn run(rendered: &Rendered, text: &str) -> String {
    let strings = part(rendered, "xl/sharedStrings.xml");
    let run = strings.split("<r>").find(|run| run.contains(&format!(">{text}</t></r>")));
    run.unwrap_or_else(|| panic!("no run “{text}”: {strings}")).to_owned()
}

#[test]
fn headings_keep_the_formats_of_their_parts() {
    let rendered = rendered(
        "## S\n\n### Plain **bold** *slanted* ~~gone~~ `code` H<sub>2</sub>O <u>line</u> ==mark== \
         <small>less</small> [there](https://a.example/1)\n\n### *All*\n",
    );
    for (text, formats) in [
        ("Plain bold ", "<b/><sz val=\"13\"/><color rgb=\"FF1F4E79\"/>"),
        ("slanted", "<b/><i/><sz val=\"13\"/>"),
        ("gone", "<b/><strike/><sz val=\"13\"/>"),
        ("code", "<rFont val=\"Consolas\"/>"),
        ("2", "<vertAlign val=\"subscript\"/><sz val=\"13\"/>"),
        ("line", "<b/><u/><sz val=\"13\"/>"),
        ("mark", "<color rgb=\"FF9A6700\"/>"),
        ("less", "<b/><sz val=\"11\"/>"),
        ("there", "<b/><u/><sz val=\"13\"/><color rgb=\"FF0563C1\"/>"),
    ] {
        let run = run(&rendered, text);
        assert!(run.contains(formats), "{text}: {run}");
    }
    // A heading with a single format is a plain string in a cell with this format.
    assert!(part(&rendered, "xl/sharedStrings.xml").contains("<si><t>All</t></si>"));
    let styles = part(&rendered, "xl/styles.xml");
    assert!(styles.contains("<font><b/><i/><sz val=\"13\"/>"), "{styles}");
    let links = part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(links.contains("https://a.example/1"), "{links}");
}

#[test]
fn headers_of_tables_keep_the_formats_of_their_parts() {
    let rendered = rendered(
        "| Plain | *All* | In *part* | CO<sub>2</sub> | See [it](https://a.example/1) | ==New== b |\n\
         |---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 6 |\n",
    );
    let white = "<sz val=\"11\"/><color rgb=\"FFFFFFFF\"/>";
    for (text, formats) in [
        ("In ", format!("<b/>{white}")),
        ("part", format!("<b/><i/>{white}")),
        ("2", format!("<b/><vertAlign val=\"subscript\"/>{white}")),
        ("it", format!("<b/><u/>{white}")),
        ("New", "<b/><sz val=\"11\"/><color rgb=\"FFFFEB9C\"/>".to_owned()),
    ] {
        let run = run(&rendered, text);
        assert!(run.contains(&formats), "{text}: {run}");
    }
    let strings = part(&rendered, "xl/sharedStrings.xml");
    for text in ["Plain", "All"] {
        assert!(strings.contains(&format!("<si><t>{text}</t></si>")), "{text}: {strings}");
    }
    let styles = part(&rendered, "xl/styles.xml");
    assert!(styles.contains(&format!("<font><b/><i/>{white}")), "{styles}");
    // Excel compares the names of the columns with the cells.
    let table = part(&rendered, "xl/tables/table1.xml");
    for name in ["Plain", "All", "In part", "CO2", "See it", "New b"] {
        assert!(table.contains(&format!(" name=\"{name}\"/>")), "{name}: {table}");
    }
    let links = part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(links.contains("https://a.example/1"), "{links}");
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

/// A column may have another name than its cell in the source.
#[test]
fn formatted_headers_have_the_names_of_their_columns() {
    let (long, more) = ("x".repeat(200), "y".repeat(100));
    let cut = format!("{long}{}", &more[..55]);
    let rendered = rendered(&format!(
        "| *a* b | *a* b | {long}*{more}* | *c* | *c* |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |\n"
    ));
    let table = part(&rendered, "xl/tables/table1.xml");
    for name in ["a b (2)", cut.as_str(), "c (2)"] {
        assert!(table.contains(&format!(" name=\"{name}\"/>")), "{name}: {table}");
    }
    for (text, is_slanted) in [(" b (2)", false), (&more[..55], true), ("c", true), (" (2)", false)]
    {
        let run = run(&rendered, text);
        assert_eq!(run.contains("<i/>"), is_slanted, "{text}: {run}");
    }
}

#[test]
fn bold_parts_of_bold_text_make_no_difference() {
    let source = "## S\n\n### A **b** c\n\n| **Name** | Net **sum** |\n|---|---|\n| x | 1 |\n\n| **d** |\n|---|\n";
    let parts = |source: &str| {
        let rendered = rendered(source);
        ["xl/sharedStrings.xml", "xl/styles.xml", "xl/worksheets/sheet1.xml"]
            .map(|name| part(&rendered, name))
    };
    assert_eq!(parts(source), parts(&source.replace("**", "")));
}

/// Headers of several rows are no native ones.
#[test]
fn all_rows_of_a_header_keep_their_formats_and_addresses() {
    let rendered = rendered(
        "<table><thead><tr><th>Region</th><th colspan=2>In <em>two</em> years</th></tr>\
         <tr><td>Name</td><td><em>Plan</em> A</td><td><a href=\"tel:+4930\">Call</a> us</td></tr>\
         </thead><tbody><tr><td>North</td><td>10</td><td>11</td></tr></tbody></table>\n",
    );
    for (text, formats) in [
        ("two", "<b/><i/><sz val=\"11\"/><color rgb=\"FFFFFFFF\"/>"),
        ("Plan", "<b/><i/>"),
        ("Call", "<b/><u/>"),
        (" us (+4930)", "<b/><sz val=\"11\"/>"),
    ] {
        let run = run(&rendered, text);
        assert!(run.contains(formats), "{text}: {run}");
    }
}

#[test]
fn a_cell_with_a_link_keeps_its_formats() {
    let rendered = rendered(
        "| a | b |\n|---|---|\n| **Ask** [us](https://a.example/1) | *or* [call](tel:+4930) |\n",
    );
    for (text, formats) in
        [("Ask", "<b/>"), ("us", "<u/>"), ("or", "<i/>"), (" (+4930)", "<sz val=\"11\"/>")]
    {
        let run = run(&rendered, text);
        assert!(run.contains(formats), "{text}: {run}");
    }
    let links = part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(links.contains("https://a.example/1"), "{links}");
}

#[test]
fn a_heading_that_does_not_fit_a_cell_is_cut() {
    let rendered = rendered(&format!("## S\n\n### {}\n", "z".repeat(CELL_CHARS + 1)));
    assert_eq!(rendered.warnings, ["A cell can have 32,767 characters; a longer text was cut."]);
}

/// Only the code has a font of its own.
#[test]
fn all_cells_have_the_fonts_of_a_template() {
    let source = "## S\n\n### Head *line*\n\nText *part* `code`\n\n<!-- total: sum -->\n\n\
                  | A *b* | N |\n|---|---|\n| x *y* | 1.50 |\n| **z** | =B2*2 |\n";
    let mut document = markdown::read(source).unwrap();
    let (body, headings) = (Some("Verdana".to_owned()), Some("Georgia".to_owned()));
    document.meta.brand = Some(Box::new(Brand { headings, body, ..Brand::default() }));
    let branded = render(&document).unwrap();
    let rows = stream(&document, "a,b\n1.50,x\n").unwrap();
    let styles = [&branded, &rows].map(|rendered| part(rendered, "xl/styles.xml"));
    for text in [&styles[0], &styles[1], &part(&branded, "xl/sharedStrings.xml")] {
        assert!(text.contains("Verdana") && !text.contains("Calibri"), "{text}");
    }
    for (text, font) in [("line", "Georgia"), ("part", "Verdana"), ("code", "Consolas")] {
        let run = run(&branded, text);
        assert!(run.contains(&format!("<rFont val=\"{font}\"/>")), "{text}: {run}");
    }
}

#[test]
fn text_that_looks_like_an_escape_is_shown_as_it_is() {
    let rendered = rendered("| \\_x0041\\_ | b |\n|---|---|\n| `a_x0042_` *c* | \\_x0043\\_ |\n");
    assert!(run(&rendered, "a_x005F_x0042_").contains("Consolas"));
    let table = part(&rendered, "xl/tables/table1.xml");
    assert!(table.contains(" name=\"_x005F_x0041_\"/>"), "{table}");
    let read = crate::read::to_markdown("a.xlsx", &rendered.bytes).unwrap().markdown;
    for text in ["x0041", "a_x0042", "x0043"] {
        assert!(read.contains(text), "{text}: {read}");
    }
}

/// rust_xlsxwriter limits the length of a text together with its formats.
#[test]
fn a_text_with_too_many_formats_is_shown_without_them() {
    let rendered = rendered(&format!("## S\n\n{}\n", "a `b` ".repeat(400)));
    let strings = part(&rendered, "xl/sharedStrings.xml");
    assert!(strings.contains(&"a b ".repeat(399)), "{strings}");
    assert_eq!(rendered.warnings, ["A cell has too many formats and is shown without them."]);
}

/// rust_xlsxwriter would take these texts for the markup of runs.
#[test]
fn texts_between_tags_of_runs_are_texts() {
    let document = markdown::read(
        "## S\n\n### \\<r>head\\</r>\n\n| \\<r>name\\</r> | b |\n|---|---|\n| `<r>cell & x</r>` | 2 |\n\n\
         ```chart\ntype: bar\n\nk,S\n<r>bar</r>,1\nother,2\n```\n",
    );
    let strings = part(&render(&document.unwrap()).unwrap(), "xl/sharedStrings.xml");
    for text in ["head", "name", "cell &amp; x", "bar"] {
        let item = format!("<si><r><t>&lt;r&gt;{text}&lt;/r&gt;</t></r></si>");
        assert!(strings.contains(&item), "{text}: {strings}");
    }
    let rows = stream(&Document::default(), "<r>name</r>\n1\n").unwrap();
    assert!(part(&rows, "xl/sharedStrings.xml").contains("<t>&lt;r&gt;name&lt;/r&gt;</t>"));
    let long = format!("## S\n\n### \\<r>{}\\</r>\n", "z".repeat(CELL_CHARS - 7));
    let cut = rendered(&long);
    assert_eq!(cut.warnings, ["A cell can have 32,767 characters; a longer text was cut."]);
    assert!(part(&cut, "xl/sharedStrings.xml").contains("z&lt;/r</t>"));
}

#[test]
fn long_names_of_streamed_columns_and_charts_are_cut() {
    let long = "z".repeat(CELL_CHARS + 1);
    let rows = stream(&Document::default(), &format!("{long}\n1\n")).unwrap();
    let chart = rendered(&format!("## S\n\n```chart\ntype: bar\n\nk,S\n{long},1\nb,2\n```\n"));
    for warnings in [rows.warnings, chart.warnings] {
        assert_eq!(warnings, ["A cell can have 32,767 characters; a longer text was cut."]);
    }
}

#[test]
fn a_long_printed_header_is_cut() {
    let (header, footer) = ("h".repeat(300), "&".repeat(200));
    let mut document =
        markdown::read(&format!("---\nheader: {header}\nfooter: \"{footer}\"\n---\nx\n")).unwrap();
    let warning =
        "A printed header or footer can have 255 characters; a longer one was cut. (2 times)";
    let rendered = render(&document).unwrap();
    let cells = sheet(&rendered, 1);
    assert!(cells.contains(&format!("<oddHeader>&amp;L{}</oddHeader>", &header[..253])), "{cells}");
    let footer = "&amp;".repeat(244);
    assert!(cells.contains(&format!("&amp;L{footer}&amp;R&amp;P / &amp;N")), "{cells}");
    assert_eq!(rendered.warnings, [warning]);
    document.logo = Some(include_bytes!("../../tests/corpus/img/chart.png").to_vec());
    assert!(sheet(&render(&document).unwrap(), 1).contains("h&amp;R&amp;G</oddHeader>"));
}

#[test]
fn a_printed_header_with_a_logo_may_have_an_ampersand() {
    let mut document = markdown::read("---\nheader: Smith, H&R &\n---\nx\n").unwrap();
    document.logo = Some(include_bytes!("../../tests/corpus/img/chart.png").to_vec());
    let cells = sheet(&render(&document).unwrap(), 1);
    let header = "&amp;LSmith, H&amp;&amp;&amp;\"-,Regular\"R &amp;&amp;&amp;R&amp;G</oddHeader>";
    assert!(cells.contains(header), "{cells}");
}

#[test]
fn a_column_may_have_several_notes() {
    let rendered = rendered(
        "<!-- note: a = One -->\n<!-- note: A = Two -->\n<!-- note: b = Three -->\n\n\
         | a | b |\n|---|---|\n| 1 | 2 |\n",
    );
    let notes = part(&rendered, "xl/comments1.xml");
    assert_eq!(notes.matches("<comment ").count(), 2, "{notes}");
    assert!(notes.contains("One\nTwo") && notes.contains("Three"), "{notes}");
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

#[test]
fn pictures_in_all_rows_of_a_header_are_reported() {
    let rendered = rendered(
        "<table><thead><tr><th>A <img src=\"a.png\"></th><th>B</th></tr>\
         <tr><td>C <img src=\"c.png\"></td><td>D</td></tr></thead>\
         <tbody><tr><td>1</td><td>2</td></tr></tbody></table>\n",
    );
    let missing: Vec<_> = rendered.warnings.iter().map(Warning::missing_picture).collect();
    assert_eq!(missing, [Some("a.png"), Some("c.png")], "{:?}", rendered.warnings);
}

#[test]
fn titles_of_charts_are_no_references() {
    for title in ["=Revenue [m]", "=(a)", "=S!$A$1", "Is it?!A1", "x!B5:B1", "x!ABCDEFGHIJKLMN1"] {
        let rendered = rendered(&format!(
            "## S\n\n```chart\ntype: bar\ntitle: {title}\nx: {title}\ny: {title}\n\nk,S\na,1\nb,2\n```\n"
        ));
        let chart = part(&rendered, "xl/charts/chart1.xml");
        assert_eq!(chart.matches(&format!("<a:t> {title} </a:t>")).count(), 3, "{chart}");
    }
}

#[test]
fn long_descriptions_of_pictures_are_cut() {
    for (letter, kept) in [("x", 254), ("😀", 127)] {
        let mut document = markdown::read(&format!("![{}](a.png)\n", letter.repeat(256))).unwrap();
        let chart = include_bytes!("../../tests/corpus/img/chart.png");
        document.assets.insert("a.png".into(), chart.to_vec());
        let drawing = part(&render(&document).unwrap(), "xl/drawings/drawing1.xml");
        assert!(drawing.contains(&format!("descr=\"{}…\"", letter.repeat(kept))), "{drawing}");
    }
}

#[test]
fn names_of_columns_are_at_most_as_long_as_excel_allows() {
    let (plain, wide) = ("x".repeat(300), "😀".repeat(200));
    let rendered =
        rendered(&format!("| {plain} | {plain} | {wide} |\n|---|---|---|\n| 1 | 2 | 3 |\n"));
    let table = part(&rendered, "xl/tables/table1.xml");
    let (second, wide) = (format!("{} (2)", &plain[..251]), "😀".repeat(127));
    for name in [&plain[..255], second.as_str(), wide.as_str()] {
        assert!(table.contains(&format!(" name=\"{name}\"/>")), "{name}: {table}");
    }
}
