//! Pictures in the files that we write.

mod common;

use renderers::{Document, Format, Rendered, markdown, render};

use common::part;

fn read(source: &str) -> Document {
    let mut document = markdown::read(source).expect("it is Markdown");
    for (name, bytes) in [
        ("a.jpg", include_bytes!("corpus/img/photo.jpg").as_slice()),
        ("b.png", include_bytes!("corpus/img/chart.png")),
        ("c.svg", include_bytes!("corpus/img/diagram.svg")),
    ] {
        document.assets.insert(name.into(), bytes.to_vec());
    }
    document
}

/// Row and column at which the pictures of the first sheet begin.
fn places(workbook: &Rendered) -> Vec<(u32, u32)> {
    let drawing = part(workbook, "xl/drawings/drawing1.xml");
    let number = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("<xdr:{name}>")).expect("it has a place");
        rest.split('<').next().and_then(|number| number.parse().ok()).expect("it is a number")
    };
    let from = drawing.split("<xdr:from>").skip(1);
    from.map(|from| (number(from, "row"), number(from, "col"))).collect()
}

#[test]
fn pictures_in_cells_of_a_workbook_are_drawn() {
    let source = "| Picture | Name |\n|--|--|\n| ![Photo](a.jpg) | One |\n| See ![Chart](b.png) | Two |\n\
                  | ![Plan](c.svg) ![Photo](a.jpg){width=50} | Three |\n| ![Gone](d.png) | Four |\n";
    let workbook = render(&read(source), Format::Xlsx).unwrap();
    assert_eq!(places(&workbook), [(1, 0), (2, 0), (3, 0), (3, 0)]);
    let texts = part(&workbook, "xl/sharedStrings.xml");
    assert!(texts.contains(">See<") && texts.contains("[image: Gone]"), "{texts}");
    assert_eq!(texts.matches("[image").count(), 1, "{texts}");
    let drawing = part(&workbook, "xl/drawings/drawing1.xml");
    assert!(drawing.contains("descr=\"Chart\"") && drawing.contains("descr=\"Plan\""), "{drawing}");
    let [warning] = &workbook.warnings[..] else { panic!("{:?}", workbook.warnings) };
    assert!(warning.to_string().contains("d.png"), "{warning}");
    // The rows are as high as their pictures, and a filter hides both.
    let sheet = part(&workbook, "xl/worksheets/sheet1.xml");
    assert_eq!(sheet.matches("customHeight=\"1\"").count(), 3, "{sheet}");
    assert_eq!(drawing.matches("editAs=\"oneCell\"").count(), 0, "{drawing}");
}

#[test]
fn pictures_stand_side_by_side_in_workbooks() {
    let source = "Text\n\n![A](a.jpg \"One\") ![B](b.png \"Two\")\n\nMore\n";
    let workbook = render(&read(source), Format::Xlsx).unwrap();
    let places = places(&workbook);
    assert_eq!(places.len(), 2);
    assert_eq!(places[0].0, places[1].0, "in one row: {places:?}");
    assert!(places[1].1 > places[0].1 + 2, "apart: {places:?}");
    let texts = part(&workbook, "xl/sharedStrings.xml");
    let at = |text: &str| texts.find(text).unwrap_or_else(|| panic!("{text}: {texts}"));
    assert!(at("One") < at("Two") && at("Two") < at("More"), "{texts}");
}

#[test]
fn pictures_stand_side_by_side_on_slides() {
    let deck = render(&read("# T\n\n![x](a.jpg) ![y](b.png)\n"), Format::Pptx).unwrap();
    let [left, right] = pictures_on(&deck)[..] else { panic!("two pictures are expected") };
    assert!(right.x > left.x + left.width, "{left:?} {right:?}");
    let middle = |place: Placed| place.y + place.height / 2;
    assert!((middle(left) - middle(right)).abs() < 20_000, "{left:?} {right:?}");
    let deck = |width: &str| {
        let source = format!("# T\n\n![x](a.jpg){{width={width}}}\n");
        pictures_on(&render(&read(&source), Format::Pptx).unwrap())[0].width
    };
    let [half, quarter] = ["40%", "20%"].map(deck);
    assert!((half - 2 * quarter).abs() < 20_000, "{half} {quarter}");
}

/// The position and the size of a picture in EMU.
#[derive(Debug, Clone, Copy)]
struct Placed {
    x: i64,
    y: i64,
    width: i64,
    height: i64,
}

fn pictures_on(deck: &Rendered) -> Vec<Placed> {
    let slide = part(deck, "ppt/slides/slide1.xml");
    let placed = |picture: &str| {
        let number = |element: &str, name: &str| -> i64 {
            let (_, rest) = picture.split_once(element).expect("it has a place");
            let (_, rest) = rest.split_once(&format!(" {name}=\"")).expect("it has a number");
            rest.split('"').next().and_then(|number| number.parse().ok()).expect("it is a number")
        };
        let [x, y] = ["x", "y"].map(|name| number("<a:off", name));
        let [width, height] = ["cx", "cy"].map(|name| number("<a:ext", name));
        Placed { x, y, width, height }
    };
    slide.split("<p:pic>").skip(1).map(placed).collect()
}

#[test]
fn pictures_stand_side_by_side_in_pdfs() {
    let pdf = render(&read("![x](a.jpg) ![y](b.png)\n"), Format::Pdf).unwrap();
    let pdf = lopdf::Document::load_mem(&pdf.bytes).unwrap();
    let content = pdf.get_and_decode_page_content(pdf.get_pages()[&1]).unwrap();
    let moves = content.operations.iter().filter(|operation| operation.operator == "cm");
    let wide = moves.filter_map(|cm| cm.operands.first()?.as_float().ok()).filter(|x| *x > 100.0);
    let wide: Vec<f32> = wide.collect();
    assert!(wide.len() == 2 && wide.iter().all(|width| *width < 250.0), "{wide:?}");
}

/// What browsers save and cameras write, but no decoder of ours reads.
#[test]
fn pictures_of_other_kinds_are_reported_with_what_to_do() {
    let kinds = [
        ("AVIF", b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf".as_slice()),
        ("HEIC", b"\0\0\0\x1cftypheic\0\0\0\0mif1heic"),
        ("TIFF", b"II*\0\x08\0\0\0\0\0\0\0"),
    ];
    for (kind, bytes) in kinds {
        let mut document = markdown::read("# A\n\n![B](a.bin)").unwrap();
        document.assets.insert("a.bin".into(), bytes.to_vec());
        for format in [Format::Docx, Format::Pdf, Format::Pptx, Format::Xlsx] {
            let warnings = render(&document, format)
                .unwrap()
                .warnings
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ");
            let said = format!("{kind} pictures are not supported; convert it to PNG or JPEG");
            assert!(warnings.contains(&said), "{format:?}: {warnings}");
        }
    }
}
