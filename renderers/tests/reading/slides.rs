//! PowerPoint slides.

use std::io::Cursor;

use renderers::{Format, markdown, render};

use super::{extended, package, words};

/// The package with one part changed.
fn changed(bytes: &[u8], part: &str, change: impl Fn(&str) -> String) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("we wrote it");
    let mut parts = Vec::new();
    for at in 0..zip.len() {
        let mut file = zip.by_index(at).expect("we wrote it");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).expect("we wrote it");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = if file.name() == part { change(&text) } else { text };
        parts.push((file.name().to_owned(), text));
    }
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (&**name, &**text)).collect();
    package(&parts)
}

/// Comments in the notation before and since 2021.
/// Proves MC-26.
#[test]
fn comments_of_slides_are_read_at_their_slide() {
    let old = "<p:cmLst xmlns:p='p'><p:cm authorId='4'><p:text>Too long</p:text></p:cm></p:cmLst>";
    let new = "<p188:cmLst xmlns:p188='n' xmlns:a='a'><p188:cm authorId='{B}'><p188:replyLst>\
        <p188:reply authorId='{C}'><p188:txBody><a:p><a:r><a:t>Will do</a:t></a:r></a:p></p188:txBody>\
        </p188:reply></p188:replyLst><p188:txBody><a:p><a:r><a:t>Shorter</a:t></a:r></a:p></p188:txBody>\
        </p188:cm></p188:cmLst>";
    let source = markdown::read("# One\n\n---\n\n# Two\n").unwrap();
    let slides = render(&source, Format::Pptx).unwrap().bytes;
    let related = |bytes: &[u8], slide: usize, target: &str| {
        changed(bytes, &format!("ppt/slides/_rels/slide{slide}.xml.rels"), |xml| {
            let more =
                format!("<Relationship Id=\"c\" Target=\"../comments/{target}\"/></Relationships>");
            xml.replace("</Relationships>", &more)
        })
    };
    let slides = related(&related(&slides, 1, "comment1.xml"), 2, "modernComment_1_0.xml");
    let parts = [
        ("ppt/comments/comment1.xml", old),
        ("ppt/comments/modernComment_1_0.xml", new),
        (
            "ppt/comments/comment2.xml",
            "<p:cmLst xmlns:p='p'><p:cm><p:text>Lost</p:text></p:cm></p:cmLst>",
        ),
        (
            "ppt/commentAuthors.xml",
            "<p:cmAuthorLst xmlns:p='p'><p:cmAuthor id='4' name='Ann'/></p:cmAuthorLst>",
        ),
        (
            "ppt/authors.xml",
            "<a:authorLst xmlns:a='a'><a:author id='{B}' name='Ben'/><a:author id='{C}' name='Cy'/></a:authorLst>",
        ),
    ];
    let read = words("a.pptx", &extended(slides, &parts));
    let wanted = "### One\n\n[^comment-1]: Ann: Too long\n\n## Slide 2\n\n### Two\n\n\
                  [^comment-2]: Ben: Shorter\n\n[^comment-3]: Cy: Will do\n\n## Comments\n\n[^comment-4]: Lost";
    assert!(read.ends_with(wanted), "{read}");
}

#[test]
fn items_of_slides_keep_their_labels() {
    let source = markdown::read("# One\n\n1. one\n2. two\n").unwrap();
    let rendered = render(&source, Format::Pptx).unwrap().bytes;
    for (kind, labels) in [
        ("arabicPeriod", ["1.", "2."]),
        ("arabicPlain", ["1.", "2."]),
        ("alphaUcPeriod", ["A.", "B."]),
        ("romanLcParenR", ["i)", "ii)"]),
        ("alphaLcParenBoth", ["(a)", "(b)"]),
    ] {
        let slides = changed(&rendered, "ppt/slides/slide1.xml", |xml| {
            xml.replace("type=\"arabicPeriod\"", &format!("type=\"{kind}\""))
        });
        let wanted = format!("{} one\n{} two", labels[0], labels[1]);
        let read = words("a.pptx", &slides);
        assert!(read.contains(&wanted), "{kind}: {read}");
    }
}

#[test]
fn a_hidden_slide_is_marked() {
    let mut rendered =
        render(&markdown::read("# One\n\n---\n\n# Two\n").unwrap(), Format::Pptx).unwrap();
    rendered.bytes = changed(&rendered.bytes, "ppt/slides/slide2.xml", |xml| {
        xml.replacen("<p:sld ", "<p:sld show=\"0\" ", 1)
    });
    let read = words("a.pptx", &rendered.bytes);
    assert!(read.contains("## Slide 1\n") && read.contains("## Slide 2 (hidden)\n"), "{read}");
}

/// A shape may be hidden by itself or with its group. A hidden line hides nothing else.
#[test]
fn text_of_hidden_shapes_of_slides_is_marked() {
    let shape = |attributes: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:cNvPr id='2' {attributes}/></p:nvSpPr><p:txBody><a:p><a:r><a:t>{text}\
             </a:t></a:r></a:p><a:p/></p:txBody></p:sp>"
        )
    };
    let slide = format!(
        "<p:sld xmlns:p='p' xmlns:a='a' show='0'><p:spTree><p:nvGrpSpPr><p:cNvPr id='1'/></p:nvGrpSpPr>\
         {}<p:grpSp><p:nvGrpSpPr><p:cNvPr id='3' hidden='true'/></p:nvGrpSpPr>{}</p:grpSp>\
         <p:grpSp><p:cxnSp><p:nvCxnSpPr><p:cNvPr id='4' hidden='1'/></p:nvCxnSpPr></p:cxnSp>{}</p:grpSp>\
         </p:spTree></p:sld>",
        shape("hidden='1' descr='Box'", "secret"),
        shape("", "in a group"),
        shape("", "shown")
    );
    let rendered = render(&markdown::read("# One\n").unwrap(), Format::Pptx).unwrap().bytes;
    let read = words("a.pptx", &changed(&rendered, "ppt/slides/slide1.xml", |_| slide.clone()));
    let wanted = "## Slide 1 (hidden)\n\n{hidden: ![Box]}\n\n{hidden: secret}\n\n\
                  {hidden: in a group}\n\nshown";
    assert!(read.starts_with(wanted), "{read}");
}
