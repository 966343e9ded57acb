//! The look of files from outside: layouts of slides, tables that do not fit, pictures, captions.

mod common;
mod reader_of_docx_rs;

use renderers::{Document, Format, Rendered, markdown, render};

use common::part;

const PHOTO: &[u8] = include_bytes!("corpus/img/photo.jpg");

fn read(source: &str) -> Document {
    let mut document = markdown::read(source).expect("the source is readable");
    document.assets.insert("a.jpg".into(), PHOTO.to_vec());
    document.assets.insert("b.jpg".into(), PHOTO.to_vec());
    document.assets.insert("dot.png".into(), include_bytes!("corpus/img/dot.png").to_vec());
    document
}

fn drawn(source: &str, format: Format) -> Rendered {
    let document = read(source);
    let rendered = render(&document, format).expect("the document can be rendered");
    let again = render(&document, format).expect("the document can be rendered");
    assert_eq!(rendered, again, "the same bytes each time");
    if format == Format::Docx {
        reader_of_docx_rs::is_read(source, &rendered.bytes);
    }
    rendered
}

fn slide(rendered: &Rendered, number: usize) -> String {
    part(rendered, &format!("ppt/slides/slide{number}.xml"))
}

/// The number of a slide's layout.
fn layout(rendered: &Rendered, number: usize) -> String {
    let relations = part(rendered, &format!("ppt/slides/_rels/slide{number}.xml.rels"));
    let (_, rest) = relations.split_once("slideLayouts/slideLayout").expect("it has a layout");
    rest.split('.').next().unwrap_or_default().to_owned()
}

/// The text of the elements of that name.
fn text(xml: &str, name: &str) -> String {
    let open = format!("<{name}");
    let leaves = xml.split(&open).skip(1).filter(|leaf| leaf.starts_with(['>', ' ']));
    let leaves = leaves.filter_map(|leaf| leaf.split_once('>')?.1.split_once("</"));
    leaves.map(|(text, _)| text).collect()
}

fn body(rendered: &Rendered) -> String {
    part(rendered, "word/document.xml")
}

fn pdf_pages(rendered: &Rendered) -> Vec<(f64, f64)> {
    let document = lopdf::Document::load_mem(&rendered.bytes).expect("it is a PDF");
    let size = |id| {
        let page = document.get_dictionary(id).expect("it is a page");
        let sides = page.get(b"MediaBox").and_then(lopdf::Object::as_array).expect("it has a size");
        let side = |at: usize| f64::from(sides[at].as_float().expect("it is a number"));
        (side(2), side(3))
    };
    document.get_pages().into_values().map(size).collect()
}

/// A table of that many columns with figures of seven digits.
fn wide(columns: usize) -> String {
    let row = |cell: &str| format!("|{}\n", format!("{cell}|").repeat(columns));
    format!("{}{}{}\n", row("Revenue"), row("---"), row("333,466"))
}

#[test]
fn the_first_slides_have_their_layouts() {
    let deck = drawn(
        "# Q3 review\n\nBoard meeting\n\n---\n\n# Results\n\n## Revenue grew\n\n---\n\n## 42%\n\nof customers\n\n\
         ---\n\n# Reach\n\n## €4.2M\n\nin Europe\n\n---\n\n## Points\n\n- one\n- two",
        Format::Pptx,
    );
    let layouts: Vec<String> = (1..=5).map(|number| layout(&deck, number)).collect();
    assert_eq!(layouts, ["1", "3", "11", "2", "2"]);
    assert!(slide(&deck, 4).contains("sz=\"8800\""), "the number stands out");
    assert!(slide(&deck, 5).contains("sz=\"2800\""), "few points are large");
    assert_eq!(deck.warnings, Vec::<&str>::new());
}

#[test]
fn few_points_in_columns_are_large() {
    let column = |points: &str| format!("::: column\n{points}\n:::\n");
    let columns = format!("{}{}", column("- one\n- two\n- three"), column("- four\n- five"));
    let few = slide(&drawn(&format!("# T\n\n::: columns\n{columns}:::\n"), Format::Pptx), 1);
    assert_eq!(few.matches("sz=\"2800\"").count(), 5, "{few}");
    let columns = format!("{}{}", column(&"- many\n".repeat(12)), column("- four"));
    let many = slide(&drawn(&format!("# T\n\n::: columns\n{columns}:::\n"), Format::Pptx), 1);
    assert!(!many.contains("sz=\"2400\"") && !many.contains("sz=\"2800\""), "{many}");
}

#[test]
fn a_picture_may_reach_the_edges_of_a_slide() {
    let deck = drawn(
        "![bg right:40% A photo](a.jpg)\n\n# Office\n\n- a\n\n---\n\n![bg](b.jpg)\n\n# Over it\n\ntext",
        Format::Pptx,
    );
    let side = slide(&deck, 1);
    assert!(text(&side, "a:t").starts_with("Office"), "{side}");
    assert!(side.contains("descr=\"A photo\"") && side.contains("<a:off x=\"7315200\" y=\"0\"/>"));
    assert!(side.contains("<a:ext cx=\"4876800\" cy=\"6858000\"/>"), "{side}");
    let full = slide(&deck, 2);
    assert!(full.contains("<a:ext cx=\"12192000\" cy=\"6858000\"/>"), "{full}");
    assert!(full.contains("<a:lum ") && full.contains("FFFFFF"), "light text on a dark picture");
}

#[test]
fn directives_set_colours_or_are_reported() {
    let deck = drawn(
        "---\nclass: invert\nstyle: h1 {}\n---\n# A\n\n- a\n\n---\n\n<!-- _class: gaia\n_backgroundColor: '#fda' -->\n\n# B\n\n- b",
        Format::Pptx,
    );
    assert!(slide(&deck, 1).contains("<p:bg>") && slide(&deck, 2).contains("FFDDAA"));
    let said = deck.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("style: h1") && said.contains("class: gaia"), "{said}");
    assert_eq!(drawn("---\nstyle: x\n---\na", Format::Docx).warnings, Vec::<&str>::new());
}

#[test]
fn a_long_topic_is_split_at_its_subheadings_in_one_size() {
    let part = |n: usize| format!("### Part {n}\n\n{}\n\n", "- words of a point\n".repeat(9 + n));
    let source = format!("# Types\n\nIntroduction.\n\n{}{}{}", part(1), part(2), part(3));
    let deck = drawn(&source, Format::Pptx);
    let titles: Vec<String> = (1..=deck.pages)
        .map(|number| {
            let slide = slide(&deck, number);
            let title = slide.split("</p:sp>").find(|shape| shape.contains("type=\"title\""));
            text(title.unwrap_or_default(), "a:t")
        })
        .collect();
    assert_eq!(titles, ["Types", "Types: Part 1", "Types: Part 2", "Types: Part 3"]);
    let scale = |number: usize| usize::from(slide(&deck, number).contains("fontScale"));
    assert_eq!((2..=4).map(scale).sum::<usize>() % 3, 0, "all or none are reduced");
}

#[test]
fn long_lists_have_room_for_their_numbers_and_icons_stay_in_their_line() {
    let deck = drawn(
        &format!("# L\n\n{}\n\n---\n\n# I\n\nAn ![icon](dot.png) within", "1. a\n".repeat(11)),
        Format::Pptx,
    );
    assert!(slide(&deck, 1).contains("indent=\"-431800\""), "{}", slide(&deck, 1));
    assert_eq!(text(&slide(&deck, 2), "a:t"), "IAn icon within");
    assert!(!slide(&deck, 2).contains("<p:pic>") && deck.warnings.len() == 1);
    let list = "- ![✓](dot.png) Fast\n- ![✓](dot.png) Safe\n- Small ![!](dot.png)\n";
    let deck = slide(&drawn(&format!("# I\n\n{list}"), Format::Pptx), 1);
    assert_eq!(text(&deck, "a:t"), "I✓ Fast✓ SafeSmall !");
    assert!(!deck.contains("<p:pic>") && deck.matches("<p:sp>").count() == 2, "{deck}");
}

#[test]
fn wide_tables_turn_their_page_or_are_split() {
    let source = format!("before\n\n{}\nafter", wide(14));
    let pdf = drawn(&source, Format::Pdf);
    let is_landscape: Vec<bool> = pdf_pages(&pdf).into_iter().map(|(w, h)| w > h).collect();
    assert_eq!(is_landscape, [false, true, false]);
    let docx = body(&drawn(&source, Format::Docx));
    assert_eq!(docx.matches("w:orient=\"landscape\"").count(), 1);
    assert_eq!(docx.matches("<w:sectPr>").count(), 3);
    for format in [Format::Pdf, Format::Docx, Format::Pptx] {
        let rendered = drawn(&wide(40), format);
        assert!(
            rendered
                .warnings
                .iter()
                .map(ToString::to_string)
                .collect::<String>()
                .contains("wider than"),
            "{:?}",
            rendered.warnings
        );
    }
}

#[test]
fn figures_in_wide_tables_stay_on_one_line() {
    for columns in [14, 24] {
        let pdf = drawn(&wide(columns), Format::Pdf);
        let pdf = lopdf::Document::load_mem(&pdf.bytes).expect("it is a PDF");
        let pages: Vec<u32> = pdf.get_pages().keys().copied().collect();
        let text = pdf.extract_text(&pages).expect("it has text");
        assert!(text.matches("333,466").count() >= columns, "{columns}: {text}");
        let docx = body(&drawn(&wide(columns), Format::Docx));
        let number = |before: &str| {
            let values = docx.split(before).skip(1).filter_map(|rest| rest.split('"').next());
            values.filter_map(|value| value.parse::<f64>().ok()).fold(f64::INFINITY, f64::min)
        };
        // Half an em for each letter, in twentieths of a point; sizes are in half points.
        let needed = 7.0 * 0.5 * number("<w:sz w:val=\"").min(22.0) * 10.0;
        let narrowest = number("<w:gridCol w:w=\"");
        assert!(narrowest >= needed, "{columns}: {narrowest} {needed}");
    }
}

#[test]
fn comments_turn_the_pages_that_follow() {
    let source = "a\n\n<!-- landscape -->\n\nb\n\n<!-- portrait -->\n\nc";
    let pages = pdf_pages(&drawn(source, Format::Pdf));
    assert_eq!(pages.len(), 3);
    assert!(pages[1].0 > pages[1].1 && pages[2].0 < pages[2].1, "{pages:?}");
    assert_eq!(body(&drawn(source, Format::Docx)).matches("<w:sectPr>").count(), 3);
    for mark in ["\\newpage", "<!-- pagebreak -->"] {
        let source = format!("a\n\n{mark}\n\nb");
        let docx = body(&drawn(&source, Format::Docx));
        assert_eq!(docx.matches("<w:br w:type=\"page\"/>").count(), 1, "{mark}: {docx}");
        assert_eq!(pdf_pages(&drawn(&source, Format::Pdf)).len(), 2, "{mark}");
    }
}

#[test]
fn columns_of_numbers_end_at_their_edge_in_all_formats() {
    let source = "|Name|Sum|\n|-|-|\n|a|1,200|\n|b|-3|";
    let docx = body(&drawn(source, Format::Docx));
    assert_eq!(docx.matches("<w:jc w:val=\"right\"/>").count(), 3);
    let pptx = slide(&drawn(source, Format::Pptx), 1);
    assert_eq!(pptx.matches("algn=\"r\"").count(), 3);
}

#[test]
fn pictures_have_their_width_and_stand_side_by_side() {
    let docx = body(&drawn("![x](a.jpg){width=50%}", Format::Docx));
    assert!(docx.contains("<wp:extent cx=\"2865755\""), "{docx}");
    let row = body(&drawn("![x](a.jpg) ![y](b.jpg)", Format::Docx));
    assert_eq!((row.matches("<w:tbl>").count(), row.matches("<w:tr>").count()), (1, 1));
    let table = body(&drawn("|a|b|\n|-|-|\n|![x](a.jpg)|![y](b.jpg)|", Format::Docx));
    let extent = table.split("<wp:extent cx=\"").nth(1).and_then(|rest| rest.split('"').next());
    let width: i64 = extent.and_then(|width| width.parse().ok()).expect("it has a width");
    assert!(width > 1_000_000, "{width}");
}

/// Ids of headings are not shown, and links lead to them.
#[test]
fn links_lead_to_headings_with_an_id() {
    let source = "# One {#first}\n\n- See [it](#second-part).\n- b\n- c\n\n---\n\n# Two words {#second-part .wide}\n\n\
                  Go [back](#first), or on.";
    let docx = body(&drawn(source, Format::Docx));
    assert!(docx.contains("w:anchor=\"_Toc000002\"") && docx.contains("w:anchor=\"_Toc000001\""));
    let pptx = drawn(source, Format::Pptx);
    assert!(part(&pptx, "ppt/slides/_rels/slide1.xml.rels").contains("slide2.xml"));
    let sheets = drawn(source, Format::Xlsx);
    assert!(part(&sheets, "xl/workbook.xml").contains("name=\"Two words\""));
    assert!(!docx.contains("{#") && !slide(&pptx, 2).contains("{#"));
    let pdf = drawn(source, Format::Pdf);
    assert_eq!([pptx.warnings, pdf.warnings], [Vec::<&str>::new(), Vec::new()]);
    let pdf = lopdf::Document::load_mem(&pdf.bytes).expect("it is a PDF");
    let is_link = |object: &&lopdf::Object| {
        object
            .as_dict()
            .and_then(|dict| dict.get(b"Subtype"))
            .is_ok_and(|kind| kind.as_name().is_ok_and(|name| name == b"Link"))
    };
    assert_eq!(pdf.objects.values().filter(is_link).count(), 2);
}

/// A height is a limit: the picture keeps its proportions.
#[test]
fn pictures_are_at_most_as_high_as_their_source_says() {
    let docx = body(&drawn("![h:300 x](a.jpg)", Format::Docx));
    assert!(docx.contains("<wp:extent cx=\"3810000\" cy=\"2857500\"/>"), "{docx}");
    let pptx = slide(&drawn("# T\n\n![x](a.jpg){height=96}", Format::Pptx), 1);
    assert!(pptx.contains("cy=\"914400\""), "{pptx}");
    let high = |source: &str| {
        let pdf =
            lopdf::Document::load_mem(&drawn(source, Format::Pdf).bytes).expect("it is a PDF");
        let page = pdf.get_pages()[&1];
        let content = pdf.get_and_decode_page_content(page).expect("it has content");
        let numbers = |operation: &lopdf::content::Operation| {
            operation.operands.iter().filter_map(|o| o.as_float().ok()).collect::<Vec<f32>>()
        };
        let moves = content.operations.iter().filter(|operation| operation.operator == "cm");
        moves.map(numbers).any(|cm| (cm[3].abs() - 225.0).abs() < 1.0)
    };
    assert!(high("<img src=\"a.jpg\" height=\"300\">") && !high("![x](a.jpg)"));
}

/// Widths apply to pictures of workbooks, too.
#[test]
fn pictures_of_workbooks_have_their_width_and_height() {
    let size = |source: &str| {
        let drawing = part(&drawn(source, Format::Xlsx), "xl/drawings/drawing1.xml");
        let (_, rest) = drawing.split_once("<a:ext cx=\"").expect("it has a size");
        let mut numbers = rest.split('"');
        (numbers.next().map(str::to_owned), numbers.nth(1).map(str::to_owned))
    };
    let pixels = |width: i64, height: i64| {
        let [width, height] = [width, height].map(|n| Some((n * 9_525).to_string()));
        (width, height)
    };
    assert_eq!(size("![w:400 x](a.jpg)"), pixels(400, 300));
    assert_eq!(size("![x](a.jpg){width=50%}"), pixels(320, 240));
    assert_eq!(size("![h:150 x](a.jpg)"), pixels(200, 150));
    assert_eq!(size("![x](a.jpg)"), pixels(640, 480));
}

#[test]
fn captions_have_fields_and_the_contents_have_pages() {
    let source = "---\ntoc: true\nnumbered: true\n---\n# One\n\n![x](a.jpg \"A photo\"){#fig:x}\n\nSee @fig:x.\n\n\
                  |a|\n|-|\n|b|\n\nTable: Results\n\n<!-- pagebreak -->\n\n# Two";
    let docx = drawn(source, Format::Docx);
    let body = body(&docx);
    assert!(body.contains(" SEQ Figure ") && body.contains(" SEQ Table "), "{body}");
    assert!(text(&body, "w:t").contains("See Figure 1."), "{}", text(&body, "w:t"));
    assert!(body.contains(" PAGEREF _Toc000002 "), "{body}");
    assert!(
        docx.warnings.iter().map(ToString::to_string).collect::<String>().contains("estimates"),
        "{:?}",
        docx.warnings
    );
    let pdf = drawn(source, Format::Pdf);
    let document = lopdf::Document::load_mem(&pdf.bytes).expect("it is a PDF");
    let all = {
        let pages: Vec<u32> = document.get_pages().into_keys().collect();
        document.extract_text(&pages).expect("it has text")
    };
    let all = all.replace([' ', '\n'], "");
    assert!(all.contains("Figure1:Aphoto") && all.contains("Table1:Results"), "{all}");
}

#[test]
fn words_are_not_cut_into_runs_and_headings_in_quotes_are_headings() {
    let docx = body(&drawn("one\ntwo\nthree\n\n> ## Heading\n>\n> text", Format::Docx));
    assert!(docx.contains("one two three</w:t>"), "{docx}");
    assert!(!docx.contains("<w:rPr></w:rPr>") && !docx.contains("<w:tbl>"), "{docx}");
    assert!(docx.contains("w:val=\"Heading1\"") || docx.contains("w:val=\"Heading2\""));
}

/// Lines over bars are a chart of their own in the same area.
#[test]
fn charts_combine_bars_and_lines() {
    let source = "# C\n\n```chart\ntype: stacked combo\ny: EUR\ny2: Percent\n\nk,Sales,Costs,Growth\n\
                  a,1200,800,5\nb,3000,900,7\n```\n";
    for (format, name) in
        [(Format::Pptx, "ppt/charts/chart1.xml"), (Format::Xlsx, "xl/charts/chart1.xml")]
    {
        let chart = part(&drawn(source, format), name);
        let (bars, lines) = chart.split_once("</c:barChart>").expect("it has bars");
        let (lines, axes) = lines.split_once("</c:lineChart>").expect("it has lines");
        assert_eq!(bars.matches("<c:ser>").count(), 2, "{format:?}");
        assert_eq!(lines.matches("<c:ser>").count(), 1, "{format:?}");
        assert_eq!(axes.matches("<c:valAx>").count(), 2, "{format:?}: {axes}");
        assert!(axes.contains("<c:crosses val=\"max\"/>") && axes.contains(">Percent<"), "{axes}");
        // The letters on the bars contrast with them.
        assert!(bars.contains("FFFFFF"), "{format:?}: {bars}");
    }
    let rendered = drawn(source, Format::Pdf);
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    assert!(part(&drawn(source, Format::Docx), "word/document.xml").contains("Bar and line chart"));
}

/// Office programs leave out names for which they see no room.
#[test]
fn native_charts_show_all_names() {
    let chart = |kind: &str, name: &str, count: usize, format: Format| {
        let rows = (1..=count).map(|n| format!("{name} {n},{n}\n")).collect::<Vec<_>>().concat();
        let source = format!("# C\n\n```chart\ntype: {kind}\n\nk,S\n{rows}```\n");
        let rendered = drawn(&source, format);
        match format {
            Format::Pptx => part(&rendered, "ppt/charts/chart1.xml"),
            _ => {
                part(&rendered, "xl/charts/chart1.xml")
                    + &part(&rendered, "xl/drawings/drawing1.xml")
            }
        }
    };
    let skip = "<c:lblOffset val=\"100\"/><c:tickLblSkip val=\"1\"/><c:tickMarkSkip val=\"1\"/>\
                <c:noMultiLvlLbl val=\"1\"/>";
    let short = chart("bar", "Q", 4, Format::Pptx);
    assert!(short.contains(skip) && !short.contains("rot=\"-2700000\""), "{short}");
    let long = chart("line", "Country with a long name", 15, Format::Pptx);
    assert!(long.contains(skip) && long.contains("rot=\"-2700000\""), "{long}");
    let many = chart("bar", "Q", 300, Format::Pptx);
    assert!(!many.contains("tickLblSkip"), "{many}");
    let sheet = chart("line", "Country with a long name", 15, Format::Xlsx);
    assert!(sheet.contains("rot=\"-2700000\""), "{sheet}");
    assert!(!chart("bar", "Q", 4, Format::Xlsx).contains("rot=\"-2700000\""));
    let last_row = |drawing: &str| {
        let (_, end) = drawing.split_once("<xdr:to>").expect("it has an end");
        let (_, row) = end.split_once("<xdr:row>").expect("it has a row");
        row.split('<').next().and_then(|row| row.parse::<u32>().ok()).expect("it is a number")
    };
    let [few, more] = [5, 25]
        .map(|count| last_row(&chart("horizontal bar", "A", count, Format::Xlsx)) - count as u32);
    assert!(more > few + 10, "{few} and {more}");
}

#[test]
fn charts_are_native_in_all_their_kinds() {
    let chart = |kind: &str| {
        let source =
            format!("# C\n\n```chart\ntype: {kind}\n\nk,S,T\na,1200,2000\nb,3000,-100\n```");
        part(&drawn(&source, Format::Pptx), "ppt/charts/chart1.xml")
    };
    let bars = chart("stacked horizontal bar");
    assert!(bars.contains("val=\"bar\"") && bars.contains("val=\"stacked\""), "{bars}");
    assert!(bars.contains("formatCode=\"#,##0\""), "{bars}");
    assert!(chart("area").contains("<c:areaChart>"));
    let source = "```chart\ntype: donut\n\nk,S\na,1\nb,2\n```";
    let donut = part(&drawn(source, Format::Xlsx), "xl/charts/chart1.xml");
    assert!(donut.contains("<c:doughnutChart>"), "{donut}");
}
