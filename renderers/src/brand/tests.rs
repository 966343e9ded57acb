//! Tests with templates built part by part: some as Office writes them, some malformed or hostile.

use std::io::{Cursor, Write as _};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::document::{Color, PageSize};
use crate::package::reading::Parts;
use crate::{Format, markdown, render};

const THEME: &str = "<a:theme xmlns:a='a'><a:themeElements><a:clrScheme name='c'>\
    <a:dk1><a:sysClr val='windowText' lastClr='101820'/></a:dk1><a:lt1><a:srgbClr val='FFFFFF'/></a:lt1>\
    <a:dk2><a:srgbClr val='222222'/></a:dk2><a:lt2><a:srgbClr val='FDF6E3'/></a:lt2>\
    <a:accent1><a:srgbClr val='AA3300'/></a:accent1><a:accent2><a:srgbClr val='00AA33'/></a:accent2>\
    <a:hlink><a:srgbClr val='0000EE'/></a:hlink></a:clrScheme><a:fontScheme name='f'>\
    <a:majorFont><a:latin typeface='Georgia'/></a:majorFont><a:minorFont><a:latin typeface='Verdana'/>\
    <a:ea typeface=''/></a:minorFont></a:fontScheme></a:themeElements></a:theme>";
const STYLES: &str = "<w:styles xmlns:w='w'><w:style w:styleId='H1'><w:name w:val='heading 1'/><w:rPr>\
    <w:rFonts w:ascii='Impact'/><w:b w:val='0'/><w:color w:val='123456'/><w:sz w:val='48'/></w:rPr></w:style>\
    <w:style w:styleId='N'><w:name w:val='Normal'/><w:rPr><w:sz w:val='20'/></w:rPr></w:style></w:styles>";
const LETTER: &str = "<w:document xmlns:w='w' xmlns:r='r'><w:body><w:p><w:r><w:t>Old text</w:t></w:r></w:p>\
    <w:sectPr><w:headerReference w:type='default' r:id='r1'/><w:footerReference w:type='default' r:id='r2'/>\
    <w:pgSz w:w='12240' w:h='15840'/><w:pgMar w:top='1000' w:right='1100' w:bottom='1200' w:left='1300'/>\
    </w:sectPr></w:body></w:document>";
const HEADER: &str = "<w:hdr xmlns:w='w' xmlns:a='a' xmlns:r='r'><w:p><w:r><w:t>Acme  Ltd</w:t></w:r></w:p>\
    <w:p><a:blip r:embed='p1'/></w:p></w:hdr>";
const FOOTER: &str = "<w:ftr xmlns:w='w'><w:p><w:r><w:t>Confidential</w:t></w:r></w:p><w:p><w:r><w:t>Page </w:t>\
    </w:r><w:fldSimple w:instr='PAGE'><w:r><w:t>7</w:t></w:r></w:fldSimple></w:p></w:ftr>";
const DOT: &[u8] = include_bytes!("../../tests/corpus/img/dot.png");

fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn links(all: &[(&str, &str)]) -> String {
    let link = |(id, target): &(&str, &str)| format!("<R Id='{id}' Target='{target}'/>");
    format!("<Relationships>{}</Relationships>", all.iter().map(link).collect::<String>())
}

fn word(logo: &str) -> Vec<u8> {
    let document = links(&[("r1", "header1.xml"), ("r2", "footer1.xml")]);
    let header = links(&[("p1", logo)]);
    package(&[
        ("word/document.xml", LETTER.as_bytes()),
        ("word/_rels/document.xml.rels", document.as_bytes()),
        ("word/header1.xml", HEADER.as_bytes()),
        ("word/_rels/header1.xml.rels", header.as_bytes()),
        ("word/footer1.xml", FOOTER.as_bytes()),
        ("word/media/logo.png", DOT),
        ("word/styles.xml", STYLES.as_bytes()),
        ("word/theme/theme1.xml", THEME.as_bytes()),
    ])
}

#[test]
fn a_word_template_applies_to_all_four_formats() {
    let brand = read(&word("media/logo.png")).unwrap();
    assert_eq!(brand.warnings, Vec::<String>::new());
    let mut document =
        markdown::read("---\ntitle: T\n---\n\n# Head\n\n[x](https://example.org)").unwrap();
    document.wear(brand);
    assert_eq!(document.meta.page.size, PageSize::Letter);
    assert_eq!(document.meta.header.as_deref(), Some("Acme Ltd"));
    assert_eq!(document.meta.footer.as_deref(), Some("Confidential"), "fields are ours to write");
    assert_eq!(document.logo.as_deref(), Some(DOT));

    let docx = Parts::of(&render(&document, Format::Docx).unwrap().bytes);
    let styles = docx.xml("word/styles.xml");
    let heading = &styles[styles.find("w:styleId=\"Heading1\"").unwrap()..];
    let heading = &heading[..heading.find("</w:style>").unwrap()];
    for words in ["w:ascii=\"Impact\"", "w:val=\"123456\"", "<w:sz w:val=\"48\"/>"] {
        assert!(heading.contains(words), "{words}: {heading}");
    }
    assert!(!heading.contains("<w:b/>") && styles.contains("w:ascii=\"Verdana\""), "{heading}");
    let body = docx.xml("word/document.xml");
    assert!(body.contains("w:left=\"1300\"") && !body.contains("Old text"), "{body}");
    docx.check_links();

    let pptx = Parts::of(&render(&document, Format::Pptx).unwrap().bytes);
    let theme = pptx.xml("ppt/theme/theme1.xml");
    for words in ["Georgia", "Verdana", "AA3300", "00AA33", "0000EE", "101820"] {
        assert!(theme.contains(words), "{words}: {theme}");
    }
    let xlsx = Parts::of(&render(&document, Format::Xlsx).unwrap().bytes);
    assert!(xlsx.xml("xl/styles.xml").contains("Verdana"));
    let pdf = render(&document, Format::Pdf).unwrap();
    assert_eq!((pdf.pages, pdf.warnings), (1, vec![]));
}

/// The header, footer and logo of a workbook written by this crate are read back from it.
#[test]
fn a_workbook_gives_its_header_footer_and_paper() {
    let mut document = markdown::read(
        "---\nheader: Acme & Co\nfooter: Secret\npage: letter\nlandscape: true\n---\nx",
    )
    .unwrap();
    document.logo = Some(DOT.to_vec());
    let margins = [1_440, 720, 1_500, 720];
    document.meta.brand = Some(Box::new(Brand { margins: Some(margins), ..Brand::default() }));
    let template = render(&document, Format::Xlsx).unwrap().bytes;
    let mut worn = markdown::read("x").unwrap();
    worn.wear(read(&template).unwrap());
    assert_eq!(worn.meta.header.as_deref(), Some("Acme & Co"));
    assert_eq!(worn.meta.footer.as_deref(), Some("Secret"));
    assert_eq!((worn.meta.page.size, worn.meta.page.landscape), (PageSize::Letter, true));
    assert_eq!((worn.meta.margins(), worn.logo.as_deref()), (margins, Some(DOT)));
    assert!(worn.warnings.is_empty(), "{:?}", worn.warnings);
    let again = Parts::of(&render(&worn, Format::Xlsx).unwrap().bytes);
    let again = again.xml("xl/worksheets/sheet1.xml");
    for words in ["Acme &amp;&amp; Co&amp;R&amp;G", "right=\"0.5\"", "orientation=\"landscape\""] {
        assert!(again.contains(words), "{words}: {again}");
    }
    let plain = render(&markdown::read("x").unwrap(), Format::Xlsx).unwrap().bytes;
    let plain = read(&plain).unwrap();
    assert_eq!((plain.header, plain.footer, plain.margins), (None, None, None));
}

#[test]
fn the_front_matter_counts_before_the_template() {
    let mut document =
        markdown::read("---\nheader: Mine\nlandscape: true\ntemplate: a b.docx\n---\nx").unwrap();
    assert_eq!(document.meta.template.as_deref(), Some("a b.docx"));
    document.wear(read(&word("media/logo.png")).unwrap());
    assert_eq!(document.meta.header.as_deref(), Some("Mine"));
    assert_eq!(document.meta.page.size, PageSize::A4);
}

#[test]
fn slides_give_their_background_if_it_is_light() {
    let deck = |scheme: &str| {
        let master = format!(
            "<p:sldMaster xmlns:p='p' xmlns:a='a'><p:bg><a:schemeClr val='{scheme}'/></p:bg></p:sldMaster>"
        );
        read(&package(&[
            ("ppt/presentation.xml", b"<p/>"),
            ("ppt/theme/theme1.xml", THEME.as_bytes()),
            ("ppt/slideMasters/slideMaster1.xml", master.as_bytes()),
        ]))
        .unwrap()
    };
    assert_eq!(deck("bg2").background, Color::read("FDF6E3"));
    let dark = deck("tx2");
    assert!(dark.background.is_none() && dark.warnings[0].contains("dark"), "{dark:?}");
}

/// Macros and external files are not carried over.
/// Proves S9.
#[test]
fn a_hostile_template_gives_nothing_but_looks() {
    let outside = read(&word("https://example.org/pixel.png")).unwrap();
    assert!(outside.logo.is_none());
    assert!(outside.warnings[0].contains("not embedded in the file"), "{:?}", outside.warnings);
    let evil =
        THEME.replace("Georgia", "x&quot;/><evil").replace("Verdana", "http://example.org/f");
    let macros = package(&[
        ("xl/workbook.xml", b"<w/>"),
        ("xl/vbaProject.bin", b"Sub AutoOpen"),
        ("xl/theme/theme1.xml", evil.as_bytes()),
    ]);
    let brand = read(&macros).unwrap();
    assert_eq!((&brand.headings, &brand.body), (&None, &None));
    assert!(brand.warnings[0].contains("macros"), "{:?}", brand.warnings);
    let bomb = "<!DOCTYPE x [<!ENTITY a 'b'>]><a:theme/>";
    for (bytes, words) in [
        (b"no zip".to_vec(), "damaged"),
        (package(&[("a.txt", b"x")]), "not a .docx"),
        (
            package(&[("xl/workbook.xml", b"<w/>"), ("xl/theme/theme1.xml", bomb.as_bytes())]),
            "document type",
        ),
        (vec![0; BYTES + 1], "20 MB"),
    ] {
        let refused = read(&bytes).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
