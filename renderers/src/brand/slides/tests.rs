//! Tests with a template built part by part, as companies have them, with parts that are not copied.

use std::io::{Cursor, Write as _};

use zip::{ZipWriter, write::SimpleFileOptions};

use crate::brand;
use crate::package::reading::Parts;
use crate::rendered::Rendered;
use crate::{Document, Format, markdown, render};

const NAMESPACES: &str = "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\" \
    xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\"";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const DOT: &[u8] = include_bytes!("../../../tests/corpus/img/dot.png");
const THEME: &str = "<a:theme xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" name=\"Acme\">\
    <a:themeElements><a:clrScheme name=\"Acme\"><a:dk1><a:srgbClr val=\"101820\"/></a:dk1>\
    <a:lt1><a:srgbClr val=\"FEFEFE\"/></a:lt1><a:accent1><a:srgbClr val=\"AA3300\"/></a:accent1>\
    </a:clrScheme></a:themeElements></a:theme>";

fn holder(id: u32, kind: &str, area: [u32; 4]) -> String {
    let [x, y, width, height] = area.map(|points| points * 12_700);
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"H\"/><p:cNvSpPr/><p:nvPr><p:ph {kind}/></p:nvPr></p:nvSpPr>\
         <p:spPr><a:xfrm><a:off x=\"{x}\" y=\"{y}\"/><a:ext cx=\"{width}\" cy=\"{height}\"/></a:xfrm></p:spPr>\
         <p:txBody><a:bodyPr/><a:lstStyle/><a:p/></p:txBody></p:sp>"
    )
}

/// A slide part with these shapes.
fn slide(root: &str, attributes: &str, shapes: &str, rest: &str) -> String {
    format!(
        "<{root} {NAMESPACES} {attributes}><p:cSld>{BACKGROUND}<p:spTree><p:nvGrpSpPr><p:cNvPr id=\"1\" name=\"\"/>\
         <p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{shapes}</p:spTree></p:cSld>{rest}</{root}>"
    )
}

const BACKGROUND: &str = "<p:bg><p:bgPr><a:solidFill><a:schemeClr val=\"bg1\"/></a:solidFill><a:effectLst/>\
    </p:bgPr></p:bg>";

fn links(all: &[(&str, &str, &str)]) -> String {
    let link = |(id, kind, target): &(&str, &str, &str)| {
        let mode = if target.contains("://") { " TargetMode=\"External\"" } else { "" };
        format!("<Relationship Id=\"{id}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"{mode}/>")
    };
    let links: String = all.iter().map(link).collect();
    format!(
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{links}</Relationships>"
    )
}

fn master() -> String {
    let shapes = [
        holder(2, "type=\"title\"", [40, 20, 880, 80]),
        holder(3, "type=\"body\" idx=\"1\"", [40, 120, 880, 360]),
        holder(4, "type=\"ftr\" idx=\"3\"", [300, 500, 300, 30]),
        "<p:pic><p:nvPicPr><p:cNvPr id=\"5\" name=\"Logo\"><a:hlinkClick r:id=\"rId8\"/></p:cNvPr><p:cNvPicPr/>\
         <p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed=\"rId9\"/></p:blipFill><p:spPr/></p:pic>"
            .to_owned(),
        "<p:pic><p:nvPicPr><p:cNvPr id=\"6\" name=\"Tracker\"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill>\
         <a:blip r:link=\"rId10\"/></p:blipFill><p:spPr/></p:pic>"
            .to_owned(),
        "<p:graphicFrame><p:oleObj r:id=\"rId11\"/></p:graphicFrame>".to_owned(),
        "<mc:AlternateContent xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\">\
         <mc:Choice Requires=\"p14\"><p:contentPart r:id=\"rId11\"/></mc:Choice><mc:Fallback><p:sp><p:nvSpPr>\
         <p:cNvPr id=\"7\" name=\"Kept\"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/></p:sp></mc:Fallback>\
         </mc:AlternateContent>"
            .to_owned(),
    ];
    let rest = "<p:clrMap bg1=\"dk1\" tx1=\"lt1\" bg2=\"dk1\" tx2=\"lt1\" accent1=\"accent1\" accent2=\"accent1\" \
        accent3=\"accent1\" accent4=\"accent1\" accent5=\"accent1\" accent6=\"accent1\" hlink=\"accent1\" \
        folHlink=\"accent1\"/><p:sldLayoutIdLst><p:sldLayoutId id=\"2147483661\" r:id=\"rId1\"/>\
        <p:sldLayoutId id=\"2147483662\" r:id=\"rId2\"/></p:sldLayoutIdLst><p:timing/><p:txStyles><p:titleStyle>\
        <a:lvl1pPr><a:defRPr sz=\"4400\"/></a:lvl1pPr></p:titleStyle><p:bodyStyle><a:lvl1pPr><a:defRPr sz=\"2800\"/>\
        </a:lvl1pPr></p:bodyStyle></p:txStyles>";
    slide("p:sldMaster", "", &shapes.concat(), rest)
}

/// A template with a dark background, a title layout and a layout with a title and a text.
fn template() -> Vec<u8> {
    let presentation = format!(
        "<p:presentation {NAMESPACES}><p:sldMasterIdLst><p:sldMasterId id=\"2147483660\" r:id=\"rId7\"/>\
         </p:sldMasterIdLst><p:sldSz cx=\"12192000\" cy=\"6858000\"/></p:presentation>"
    );
    let front = holder(2, "type=\"ctrTitle\"", [100, 200, 760, 90])
        + &holder(3, "type=\"subTitle\" idx=\"1\"", [100, 300, 760, 60]);
    let content = "<p:sp><p:nvSpPr><p:cNvPr id=\"2\" name=\"T\"/><p:cNvSpPr/><p:nvPr><p:ph type=\"title\"/></p:nvPr>\
        </p:nvSpPr><p:spPr/></p:sp><p:sp><p:nvSpPr><p:cNvPr id=\"3\" name=\"C\"/><p:cNvSpPr/><p:nvPr>\
        <p:ph idx=\"13\"/></p:nvPr></p:nvSpPr><p:spPr/></p:sp>";
    let map = "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>";
    let up = links(&[("rId1", "slideMaster", "../slideMasters/slideMaster3.xml")]);
    let master_links = links(&[
        ("rId1", "slideLayout", "../slideLayouts/slideLayout8.xml"),
        ("rId2", "slideLayout", "../slideLayouts/slideLayout9.xml"),
        ("rId5", "theme", "../theme/theme1.xml"),
        ("rId8", "hyperlink", "https://example.org/"),
        ("rId9", "image", "../media/logo.png"),
        ("rId10", "image", "https://example.org/pixel.png"),
        ("rId11", "oleObject", "../embeddings/object.bin"),
    ]);
    let parts = [
        ("ppt/presentation.xml", presentation),
        (
            "ppt/_rels/presentation.xml.rels",
            links(&[("rId7", "slideMaster", "slideMasters/slideMaster3.xml")]),
        ),
        ("ppt/slideMasters/slideMaster3.xml", master()),
        ("ppt/slideMasters/_rels/slideMaster3.xml.rels", master_links),
        ("ppt/slideLayouts/slideLayout8.xml", slide("p:sldLayout", "type=\"title\"", &front, map)),
        ("ppt/slideLayouts/_rels/slideLayout8.xml.rels", up.clone()),
        ("ppt/slideLayouts/slideLayout9.xml", slide("p:sldLayout", "type=\"obj\"", content, map)),
        ("ppt/slideLayouts/_rels/slideLayout9.xml.rels", up),
        ("ppt/theme/theme1.xml", THEME.to_owned()),
        ("ppt/embeddings/object.bin", "object".to_owned()),
    ];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.start_file("ppt/media/logo.png", SimpleFileOptions::default()).unwrap();
    zip.write_all(DOT).unwrap();
    zip.finish().unwrap().into_inner()
}

fn worn(source: &str, template: &[u8]) -> Document {
    let mut document = markdown::read(source).unwrap();
    document.wear(brand::read(template).unwrap());
    document
}

fn drawn(source: &str) -> Rendered {
    render(&worn(source, &template()), Format::Pptx).unwrap()
}

/// The masters and layouts are those of the template, and titles and texts are in their
/// placeholders.
#[test]
fn slides_use_the_layouts_of_a_template() {
    let source = "# Acme in 2026\n\nAnn\n\n---\n\n# Results\n\n- one\n- two\n\n---\n\n# Table\n\ntext\n\n\
                  | a |\n|---|\n| b |\n";
    let rendered = drawn(source);
    let parts = Parts::of(&rendered.bytes);
    let relations = |slide: u32| parts.xml(&format!("ppt/slides/_rels/slide{slide}.xml.rels"));
    assert!(relations(1).contains("slideLayouts/slideLayout1.xml"), "{}", relations(1));
    assert!(relations(2).contains("slideLayouts/slideLayout2.xml"), "{}", relations(2));
    let first = parts.xml("ppt/slides/slide1.xml");
    assert!(
        first.contains("<p:ph type=\"ctrTitle\"/>")
            && first.contains("<p:ph type=\"subTitle\" idx=\"1\"/>")
    );
    assert!(
        first.matches("<a:off").count() == 1,
        "placeholders have their places from the layout: {first}"
    );
    let second = parts.xml("ppt/slides/slide2.xml");
    assert!(second.contains("<p:ph type=\"title\"/>") && second.contains("<p:ph idx=\"13\"/>"));
    assert!(second.matches("<a:off").count() == 1, "{second}");
    let master = parts.xml("ppt/slideMasters/slideMaster1.xml");
    assert!(master.contains("name=\"Logo\"") && master.contains("r:embed=\"rId9\""), "{master}");
    let presentation = parts.xml("ppt/presentation.xml");
    assert!(presentation.contains("p:sldMasterId id=\"2147483660\""), "{presentation}");
    assert!(parts.xml("ppt/theme/theme1.xml").contains("name=\"Acme\""));
    assert_eq!(parts.bytes("ppt/media/template1.png"), DOT);
}

#[test]
fn small_letters_on_the_title_slide_of_a_template_are_smaller_than_its_text() {
    let parts = Parts::of(&drawn("# A <small>b</small>\n\nc <small>d</small>\n\n---\n\n# E").bytes);
    let runs = parts.all("ppt/slides/slide1.xml", "a:rPr");
    let sizes = runs.iter().map(|run| run.attribute("sz")).filter(|size| !size.is_empty());
    assert_eq!(sizes.collect::<Vec<_>>(), ["3740", "2380"]);
}

/// Proves S9.
#[test]
fn nothing_outside_the_masters_is_copied() {
    let template = template();
    let brand = brand::read(&template).unwrap();
    assert!(brand.warnings.iter().any(|w| w.contains("other objects")), "{:?}", brand.warnings);
    let parts = Parts::of(&drawn("# A\n\nb").bytes);
    let master = parts.xml("ppt/slideMasters/slideMaster1.xml");
    assert!(master.contains("name=\"Kept\""), "{master}");
    for gone in
        ["hlinkClick", "Tracker", "oleObj", "Choice", "contentPart", "timing", "rId8", "rId11"]
    {
        assert!(!master.contains(gone), "{gone}: {master}");
    }
    for name in parts.names() {
        let text = String::from_utf8_lossy(parts.bytes(&name)).into_owned();
        assert!(!text.contains("example.org") && !name.contains("embeddings"), "{name}: {text}");
    }
}

/// Text on a dark background is light.
#[test]
fn a_dark_template_has_light_text() {
    let document = worn("# A\n\n```chart\nk,S\na,1\n```\n", &template());
    let slides = document.meta.brand.as_deref().unwrap().slides.as_deref().unwrap();
    assert_eq!((&*slides.ink, &*slides.background), ("FEFEFE", "101820"));
    let parts = Parts::of(&render(&document, Format::Pptx).unwrap().bytes);
    assert!(parts.xml("ppt/charts/chart1.xml").contains("FEFEFE"));
}

/// A presentation of this crate is a template as well.
#[test]
fn our_own_presentations_are_templates() {
    let own = render(&markdown::read("---\ntitle: T\n---\n\n## A\n\nb").unwrap(), Format::Pptx);
    let document =
        worn("# Front\n\nline\n\n---\n\n# B\n\n> quote\n\n---\n\n# C\n\n`x`", &own.unwrap().bytes);
    let slides = document.meta.brand.as_deref().unwrap().slides.as_deref().unwrap();
    assert_eq!((slides.layouts.len(), slides.masters.len()), (11, 1));
    let rendered = render(&document, Format::Pptx).unwrap();
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    let parts = Parts::of(&rendered.bytes);
    assert!(parts.xml("ppt/slideLayouts/slideLayout11.xml").contains("Big Number"));
}
