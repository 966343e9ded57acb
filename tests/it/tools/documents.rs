//! S14, MC-26: untrusted documents, read with the tool as an agent would. Hostile ones are
//! rejected, in bounded time and memory; the others are read.

use base64::Engine as _;
use countersign::testing::{
    journal::event::Attachment,
    tools::{
        Tool, ToolError,
        documents::{
            self, Branding,
            confined_jobs::{ConfinedJob, reader_input},
            extract::ExtractDocument,
            pool::RenderPool,
            protocol::{Breakdown, RenderRequest},
        },
    },
};
use lopdf::{Dictionary, Document, Object, Stream, dictionary};
use renderers::Format;
use sandbox::{Sandbox, SandboxLimits, run};
use serde_json::json;
use std::{
    fs,
    io::{Cursor, Write as _},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    support::{
        documents::DocumentFixture,
        program::{BINARY, sandbox},
    },
    tools::fuzz::rounds,
};

fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn word(document: &str) -> Vec<u8> {
    package(&[("word/document.xml", document.as_bytes())])
}

fn sheet(cells: &str) -> Vec<u8> {
    let types = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>"#;
    let rels = |kind: &str, target: &str| {
        format!(
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" Target="{target}"/></Relationships>"#
        )
    };
    let book = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
    let sheet = format!(
        r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{cells}</worksheet>"#
    );
    package(&[
        ("[Content_Types].xml", types.as_bytes()),
        ("_rels/.rels", rels("officeDocument", "xl/workbook.xml").as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/_rels/workbook.xml.rels", rels("worksheet", "worksheets/sheet1.xml").as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

/// A PDF of one page that draws `content`, with `resources`.
fn pdf(content: Stream, resources: impl FnOnce(&mut Document) -> Dictionary) -> Vec<u8> {
    let mut document = Document::with_version("1.7");
    let resources = resources(&mut document);
    let content = document.add_object(content);
    let pages = document.new_object_id();
    let page = document.add_object(dictionary! {
        "Type" => "Page", "Parent" => pages, "Contents" => content, "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    });
    let tree = dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 };
    document.objects.insert(pages, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn compressed(bytes: Vec<u8>) -> Stream {
    let mut stream = Stream::new(Dictionary::new(), bytes);
    stream.compress().unwrap();
    stream
}

/// A form XObject that draws itself.
fn drawing_in_itself() -> Vec<u8> {
    pdf(Stream::new(Dictionary::new(), b"/X Do".to_vec()), |document| {
        let id = document.new_object_id();
        let again = dictionary! { "XObject" => dictionary! { "X" => id } };
        let form = dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => again };
        let form = Stream::new(form, b"/X Do ".repeat(50));
        document.objects.insert(id, Object::Stream(form));
        dictionary! { "XObject" => dictionary! { "X" => id } }
    })
}

/// A part with a false declared size.
fn lying() -> Vec<u8> {
    let huge = vec![b' '; 40 << 20];
    let mut bytes = package(&[("word/document.xml", &huge)]);
    let central = bytes.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    bytes[central + 24..central + 28].copy_from_slice(&10_u32.to_le_bytes());
    bytes[22..26].copy_from_slice(&10_u32.to_le_bytes());
    bytes
}

/// A picture that consists only of its header.
fn huge_picture() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend([0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0, 8, 2, 0, 0, 0]);
    bytes.extend([0x27, 0x30, 0x9c, 0x9f]);
    bytes.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e");
    bytes
}

fn entities(definition: &str, use_of: &str) -> Vec<u8> {
    word(&format!(
        "<!DOCTYPE x [{definition}]><w:document xmlns:w='w'><w:p><w:r><w:t>{use_of}</w:t></w:r></w:p></w:document>"
    ))
}

fn laughs() -> Vec<u8> {
    let entity = |n: usize| format!("<!ENTITY l{n} '{}'>", format!("&l{};", n - 1).repeat(10));
    let all: Vec<String> = (1..12).map(entity).collect();
    entities(&format!("<!ENTITY l0 'lol'>{}", all.concat()), "&l11;")
}

fn many_slides() -> Vec<u8> {
    let slide = format!("<p:sld xmlns:p='p'><!--{}--></p:sld>", "x ".repeat(1 << 20));
    let ids = "<p:sldId r:id='r1'/>".repeat(1_900);
    let show = format!("<p:presentation xmlns:p='p' xmlns:r='r'>{ids}</p:presentation>");
    package(&[
        ("ppt/presentation.xml", show.as_bytes()),
        (
            "ppt/_rels/presentation.xml.rels",
            b"<R><Relationship Id='r1' Target='slides/slide1.xml'/></R>",
        ),
        ("ppt/slides/slide1.xml", slide.as_bytes()),
    ])
}

fn open_sheet(cells: &str) -> Vec<u8> {
    let content =
        format!("<o xmlns:t='t'><t:table><t:table-row>{cells}</t:table-row></t:table></o>");
    package(&[
        ("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"),
        ("content.xml", content.as_bytes()),
    ])
}

fn mail_in_mail() -> Vec<u8> {
    let part = |n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n");
    (0..20_000).map(part).collect::<Vec<_>>().concat().into_bytes()
}

/// Name, document, and a word of the error; without it, the readable content is small.
type Bomb = (&'static str, Vec<u8>, &'static str);

fn bombs() -> Vec<Bomb> {
    [packages(), declarations(), others()].into_iter().flatten().collect()
}

fn packages() -> Vec<Bomb> {
    let huge = vec![b' '; 40 << 20];
    let part = vec![b'x'; 3 << 20];
    let parts: Vec<String> = (0..40).map(|n| format!("xl/{n}.xml")).collect();
    let mut many: Vec<(&str, &[u8])> =
        parts.iter().map(|name| (name.as_str(), &part[..])).collect();
    many.push(("xl/workbook.xml", b"<workbook/>"));
    let names: Vec<String> = (0..5_001).map(|n| format!("p{n}")).collect();
    let crowd: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let inner = package(&[("b.docx", &word("<w:p/>"))]);
    let too_many = "<row><c><v>1</v></c></row>".repeat(200_001);
    let far = "<dimension ref='A1:XFD1048576'/><sheetData><row r='1'><c r='A1'><v>1</v></c></row>\
               <row r='1048576'><c r='XFD1048576'><v>2</v></c></row></sheetData>";
    let repeated =
        "<t:table-cell t:number-columns-repeated='1000000000'><t:p>x</t:p></t:table-cell>";
    vec![
        ("zip.docx", package(&[("word/document.xml", &huge)]), "no ordinary document"),
        ("parts.xlsx", package(&many), "no sheets"),
        ("crowd.docx", package(&crowd), "5001 parts"),
        ("zip-in-zip.docx", package(&[("a.zip", &inner)]), "unpack it"),
        ("lying.docx", lying(), "document.xml"),
        ("pages.pptx", many_slides(), "no ordinary document"),
        ("wide.xlsx", sheet(&format!("<sheetData>{too_many}</sheetData>")), ""),
        ("rows.xlsx", sheet(far), ""),
        ("columns.ods", open_sheet(repeated), ""),
    ]
}

fn declarations() -> Vec<Bomb> {
    let long = format!("<!ENTITY a '{}'>", "a".repeat(100_000));
    let outside = "<!ENTITY x SYSTEM 'file:///etc/passwd'>";
    let kind = "declares a document type";
    vec![
        ("laughs.docx", laughs(), kind),
        ("quadratic.docx", entities(&long, &"&a;".repeat(10_000)), kind),
        ("outside.docx", entities(outside, "&x;"), kind),
        ("entity.docx", word("<w:p><w:t>&unknown;</w:t></w:p>"), "entity"),
        ("deep.docx", word(&"<w:p>".repeat(100_000)), "levels of nested elements"),
        ("deep.html", "<div>".repeat(200_000).into_bytes(), "levels of nested elements"),
        ("unended.html", b"<div></x>".repeat(580_000), "levels of nested elements"),
        ("kept.html", b"<div><object></div></object>".repeat(180_000), "levels of nested elements"),
        ("beside.html", b"<table><div><object></div></object>".repeat(100_000), ""),
        ("hidden.html", "<p><b>".repeat(1_000).into_bytes(), ""),
    ]
}

fn others() -> Vec<Bomb> {
    let endless = pdf(compressed(b"q Q ".repeat(6 << 20)), |_| Dictionary::new());
    let nested = [b"%PDF-1.7\n1 0 obj\n".to_vec(), b"[".repeat(4 << 20)].concat();
    vec![
        ("picture.png", huge_picture(), "picture"),
        ("endless.pdf", endless, ""),
        ("self.pdf", drawing_in_itself(), ""),
        ("nested.pdf", nested, ""),
        ("deep.json", b"[".repeat(1 << 20), ""),
        ("deep.eml", mail_in_mail(), ""),
        ("wide.csv", b"a,".repeat(2 << 20), ""),
        ("large.txt", vec![b'x'; (32 << 20) + 1], "too large"),
    ]
}

/// A document that cannot be rejected at once is read within limits.
/// Proves S14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn document_bombs_do_no_harm() {
    let fixture = DocumentFixture::new().await;
    for (name, bytes, words) in bombs() {
        fixture.has(name, bytes);
        let started = Instant::now();
        let read = fixture.reads(json!({ "path": name })).await;
        let took = started.elapsed();
        assert!(took < Duration::from_secs(13), "{name} took {took:?}");
        match read {
            Ok((_, text)) => assert!(words.is_empty() && text.len() < 100_000, "{name} was read"),
            Err(refused) => assert!(refused.to_string().contains(words), "{name}: {refused}"),
        }
    }
}

/// The same without bubblewrap: the reading process has no privileges. A third of the bombs, or all
/// of them with `--full`.
/// Proves S14.
#[tokio::test]
async fn a_reader_without_sandbox_is_confined_too() {
    let read = |name: &'static str, bytes: Vec<u8>| async move {
        let bare = Sandbox::without_bubblewrap(BINARY.as_ref(), "a test");
        let command = ConfinedJob::Read(name.into()).command(&bare, SandboxLimits::DOCUMENT);
        // The limits of the process count its own time; this one only ends a test that hangs.
        let input = reader_input(&[], &bytes);
        run::to_its_end(command.unwrap(), input, Duration::from_mins(5)).await.unwrap()
    };
    let ended = read("a.csv", b"a,b\n1,2\n".to_vec()).await;
    assert!(ended.stdout.text().contains("| 1 | 2 |"), "{ended:?}");
    let small = bombs().into_iter().filter(|(_, bytes, _)| bytes.len() <= 32 << 20);
    for (name, bytes, words) in small.step_by(rounds(3, 1)) {
        let ended = read(name, bytes).await;
        assert!(ended.stdout.text().contains(words), "{name}: {ended:?}");
    }
}

/// A sheet with two values in each row, of which a complete table would have 13 million cells.
fn sparse_sheet() -> Vec<u8> {
    let row =
        |n: usize| format!("<row r='{n}'><c r='A{n}'><v>1</v></c><c r='IV{n}'><v>2</v></c></row>");
    let rows = (1..50_000).map(row).collect::<Vec<_>>().concat();
    sheet(&format!("<sheetData>{rows}</sheetData>"))
}

/// Proves S14.
#[tokio::test]
async fn a_sparse_sheet_is_read_within_the_memory_of_a_reader() {
    let fixture = DocumentFixture::new().await;
    fixture.has("sparse.xlsx", sparse_sheet());
    let (about, _) = fixture.reads(json!({ "path": "sparse.xlsx" })).await.unwrap();
    let warning = "The sheet S has 49999 rows and 256 columns; only the first 781 rows with values \
                   are shown.";
    assert_eq!(about["warnings"], json!([warning]));
}

/// Allocations over the limit fail.
/// Proves S14.
#[tokio::test]
async fn a_reader_has_no_more_than_its_memory() {
    let bare = Sandbox::without_bubblewrap(BINARY.as_ref(), "a test");
    let limits = SandboxLimits { memory_bytes: 8 << 20, ..SandboxLimits::DOCUMENT };
    let command = ConfinedJob::Read("sparse.xlsx".into()).command(&bare, limits).unwrap();
    let input = reader_input(&[], &sparse_sheet());
    let ended = run::to_its_end(command, input, Duration::from_mins(5)).await.unwrap();
    assert!(!ended.stdout.text().contains("## S"), "{ended:?}");
}

/// Proves MC-26.
#[tokio::test]
async fn a_document_is_paged_and_what_was_read_is_kept() {
    let fixture = DocumentFixture::new().await;
    let paragraph = |n| format!("<w:p><w:r><w:t>Paragraph {n}.</w:t></w:r></w:p>");
    let paragraphs = (0..2_000).map(paragraph).collect::<Vec<_>>().concat();
    fixture.has("long.docx", word(&format!("<w:document xmlns:w='w'>{paragraphs}</w:document>")));
    let (mut all, mut arguments, mut pages) = (String::new(), json!({ "path": "long.docx" }), 0);
    loop {
        let (about, text) = fixture.reads(arguments.clone()).await.unwrap();
        assert_eq!((&about["kind"], &about["total_lines"]), (&json!("docx"), &json!(3999)));
        all += &(text + "\n");
        pages += 1;
        if about["nextStartLine"].is_null() {
            break;
        }
        arguments["startLine"] = about["nextStartLine"].clone();
    }
    assert!(pages > 1 && (0..2_000).all(|n| all.contains(&format!("Paragraph {n}."))));
    let kept = fixture.context.workspace.join(".countersign/extracted");
    assert_eq!(fs::read_dir(kept).unwrap().count(), 1);
    let past = fixture.reads(json!({ "path": "long.docx", "startLine": 9_999 })).await.unwrap_err();
    assert!(past.to_string().contains("3999 lines"), "{past}");
    let outside = fixture.reads(json!({ "path": "../secret" })).await.unwrap_err();
    assert!(!outside.to_string().contains("No such file"), "{outside}");
    assert!(fixture.extract.spec().untrusted);
}

/// Proves MC-26.
#[tokio::test]
async fn the_same_bytes_are_read_by_the_extension_of_each_file() {
    let fixture = DocumentFixture::new().await;
    let mut kinds = Vec::new();
    for name in ["a.txt", "a.csv"] {
        fixture.has(name, "a,b\n1,2\n");
        kinds.push(fixture.reads(json!({ "path": name })).await.unwrap().0["kind"].clone());
    }
    assert_ne!(kinds[0], kinds[1]);
}

/// With tesseract the text is recognised, without it the result says what to install.
/// Proves MC-26.
#[tokio::test]
async fn text_in_pictures_is_recognised_or_the_missing_program_is_named() {
    let fixture = DocumentFixture::new().await;
    let picture = base64::engine::general_purpose::STANDARD.decode(HELLO).unwrap();
    fixture.has("hello.png", picture);
    let (about, text) = fixture.reads(json!({ "path": "hello.png" })).await.unwrap();
    let warnings = about["warnings"].to_string();
    let installed = std::path::Path::new("/usr/bin/tesseract").exists();
    assert_eq!(installed, text.contains("HELLO"), "{text} {warnings}");
    assert_eq!(!installed, warnings.contains("apt-get install tesseract-ocr"), "{warnings}");
}

/// A page that is only a picture, as a scanner writes it.
fn scanned(png: &[u8]) -> Vec<u8> {
    let number = |at: usize| i64::from(u32::from_be_bytes(png[at..at + 4].try_into().unwrap()));
    let (width, height) = (number(16), number(20));
    let mut pixels = Vec::new();
    let mut at = 8;
    while at < png.len() {
        let length = number(at) as usize;
        if &png[at + 4..at + 8] == b"IDAT" {
            pixels.extend_from_slice(&png[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let picture = dictionary! {
        "Type" => "XObject", "Subtype" => "Image", "Width" => width, "Height" => height,
        "ColorSpace" => "DeviceGray", "BitsPerComponent" => 1, "Filter" => "FlateDecode",
        "DecodeParms" => dictionary! {
            "Predictor" => 15, "Colors" => 1, "BitsPerComponent" => 1, "Columns" => width,
        },
    };
    let drawn = format!("q {width} 0 0 {height} 100 600 cm /X Do Q");
    pdf(Stream::new(Dictionary::new(), drawn.into_bytes()), |document| {
        let picture = document.add_object(Stream::new(picture, pixels));
        dictionary! { "XObject" => dictionary! { "X" => picture } }
    })
}

/// The text of a scanned PDF is recognised, with the programs that `tests/run` installs.
/// Proves MC-26.
#[tokio::test]
async fn a_scanned_pdf_is_recognised() {
    let fixture = DocumentFixture::new().await;
    let picture = base64::engine::general_purpose::STANDARD.decode(HELLO).unwrap();
    fixture.has("scan.pdf", scanned(&picture));
    let (about, text) = fixture.reads(json!({ "path": "scan.pdf" })).await.unwrap();
    assert!(text.contains("HELLO"), "{text} {about}");
}

/// Files that other programs have protected are opened with a configured password.
/// Proves MC-26.
#[tokio::test]
async fn a_protected_document_is_opened_with_a_configured_password() {
    let fixture = DocumentFixture::new().await;
    let document = renderers::markdown::read("# Salaries\n\nAnn 5000").unwrap();
    let path = |name: &str| fixture.context.workspace.join(name).display().to_string();
    for (ending, format) in [
        ("docx", Format::Docx),
        ("xlsx", Format::Xlsx),
        ("pptx", Format::Pptx),
        ("pdf", Format::Pdf),
    ] {
        let rendered = renderers::render(&document, format).unwrap();
        fixture.has("plain", rendered.bytes);
        for (name, password) in [("known", "swordfish 7"), ("unknown", "other")] {
            let name = format!("{name}.{ending}");
            let protecting = if ending == "pdf" {
                let lengths = ["--encrypt", password, "owner", "256", "--"];
                Command::new("qpdf").args(lengths).args([path("plain"), path(&name)]).output()
            } else {
                let python = std::env::var("COUNTERSIGN_TEST_PYTHON");
                let python = python.expect("tests/run names a Python");
                let options = ["-m", "msoffcrypto", "-e", "-p", password];
                Command::new(python).args(options).args([path("plain"), path(&name)]).output()
            };
            let protecting = protecting.unwrap();
            assert!(protecting.status.success(), "{protecting:?}");
        }
        let (_, text) = fixture.reads(json!({ "path": format!("known.{ending}") })).await.unwrap();
        assert!(text.contains("Salaries") && text.contains("5000"), "{ending}: {text}");
        let refused = fixture.reads(json!({ "path": format!("unknown.{ending}") })).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("protected by a password that is not known"), "{refused}");
    }
}

/// Failed recognition is retried; successful results are reused.
/// Proves MC-26.
#[tokio::test]
async fn failed_recognition_is_retried() {
    let fixture = DocumentFixture::new().await;
    let picture = base64::engine::general_purpose::STANDARD.decode(HELLO).unwrap();
    fixture.has("hello.png", picture);
    let bare = Arc::new(Sandbox::without_bubblewrap(BINARY.as_ref(), "no sandbox today"));
    let without = ExtractDocument { sandbox: bare, passwords: Vec::new(), office: None };
    let arguments = json!({ "path": "hello.png" });
    let said = without.run(arguments.clone(), &fixture.context).await.unwrap().text;
    assert!(said.contains("no sandbox today"), "{said}");
    let (about, _) = fixture.reads(arguments).await.unwrap();
    assert!(!about["warnings"].to_string().contains("no sandbox today"), "{about}");
}

/// Proves MC-23.
#[tokio::test]
async fn a_command_runs_and_says_how_it_went() {
    let fixture = DocumentFixture::new().await;
    let said = fixture.shell(json!({ "command": "echo hello; echo oh >&2; exit 3" })).await;
    assert_eq!(
        said,
        json!({ "exitCode": 3, "stdout": "hello\n", "stderr": "oh\n", "timedOut": false })
    );
    let said = fixture
        .shell(json!({ "command": "pwd; echo made >made.txt; cat /workspace/made.txt" }))
        .await;
    assert_eq!(said["stdout"], "/workspace\nmade\n");
    assert_eq!(fs::read_to_string(fixture.context.workspace.join("made.txt")).unwrap(), "made\n");
    let said = fixture.shell(json!({ "command": "echo begun; sleep 400", "timeout": 1 })).await;
    assert_eq!(
        said,
        json!({ "exitCode": null, "stdout": "begun\n", "stderr": "", "timedOut": true })
    );
    let said = fixture.shell(json!({ "command": "kill -TERM $$" })).await;
    assert_eq!(said["exitCode"], 143);
    for command in ["", "  ", "a\0b", &"x".repeat(70_000)] {
        let refused = fixture.shell.run(json!({ "command": command }), &fixture.context).await;
        assert!(matches!(refused, Err(ToolError::InvalidParameters(_))));
    }
    assert!(fixture.folder.path().exists());
}

fn tool(name: &str, sandbox: &Arc<Sandbox>) -> Arc<dyn Tool> {
    let mut tools = documents::tools(Branding::default(), sandbox, None).into_iter();
    tools.find(|tool| tool.spec().name == name).unwrap()
}

/// Each format is rendered in a process without files and network, with and without the sandbox,
/// and deterministic.
/// Proves T5, MC-27, MC-29, MC-30, MC-32, S9.
#[tokio::test]
async fn every_format_is_drawn_apart() {
    let fixture = DocumentFixture::new().await;
    fixture.has("dot.png", include_bytes!("../../../renderers/tests/corpus/img/dot.png"));
    let bare = Arc::new(Sandbox::without_bubblewrap(std::path::Path::new(BINARY), "a test"));
    let text = "---\ntitle: Rivers\n---\n\n# Rivers\n\n![a dot](dot.png) ![lost](no.png) é\n\n\
                | a | b |\n|---|---|\n| 007 | 2 |\n";
    for ending in ["pdf", "docx", "pptx", "xlsx"] {
        let mut digests = Vec::new();
        for sandbox in [&fixture.extract.sandbox, &bare] {
            let render = tool(&format!("render_{ending}"), sandbox);
            let output = render.run(json!({ "markdown": text }), &fixture.context).await.unwrap();
            let (file, before) = output.attachments.split_last().unwrap();
            assert_eq!(file.name, format!("Rivers.{ending}"));
            let pictures: Vec<_> = before.iter().map(|file| file.name.as_str()).collect();
            assert_eq!(pictures, if ending == "pdf" { &["Rivers.png"][..] } else { &[] });
            assert!(output.text.contains("no.png"), "{ending}: {}", output.text);
            assert!(!output.text.contains("dot.png"), "{ending}: {}", output.text);
            let digest = |file: &Attachment| file.digest.clone();
            digests.push(output.attachments.iter().map(digest).collect::<Vec<_>>());
        }
        assert_eq!(digests[0], digests[1], "T5: the same bytes");
    }
    let off = tool("render_pdf", &Arc::new(Sandbox::off("bubblewrap is missing")));
    let refused = off.run(json!({ "markdown": "x" }), &fixture.context).await.unwrap_err();
    assert!(matches!(refused, ToolError::Sandbox(_)), "{refused}");
}

#[tokio::test]
async fn pictures_that_only_html_names_are_drawn() {
    let fixture = DocumentFixture::new().await;
    fixture.has("dot.png", include_bytes!("../../../renderers/tests/corpus/img/dot.png"));
    let text = "# Dots\n\nx\n\n<IMG src=\"dot.png\" alt=\"a dot\" width=40>\n";
    for ending in ["pdf", "docx", "pptx", "xlsx"] {
        let render = tool(&format!("render_{ending}"), &fixture.extract.sandbox);
        let output = render.run(json!({ "markdown": text }), &fixture.context).await.unwrap();
        assert!(!output.text.contains("dot.png"), "{ending}: {}", output.text);
    }
}

/// The command line renders like the gateway, in a separate process, with the same bytes.
/// Proves T5.
#[tokio::test]
async fn the_command_line_draws_what_the_tools_draw() {
    let fixture = DocumentFixture::new().await;
    fixture.has("dot.png", include_bytes!("../../../renderers/tests/corpus/img/dot.png"));
    let text = "---\ntitle: T\ndate: 2026-01-02\n---\n\n# T\n\nx\n\n![a dot](dot.png)\n";
    fixture.has("a.md", text);
    for ending in ["pdf", "docx", "pptx", "xlsx"] {
        let mut command = tokio::process::Command::new(BINARY);
        command.args(["--log", "off", "render", "a.md", "--to", ending]);
        let ended = command.current_dir(&fixture.context.workspace).output().await.unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
        let drawn = fs::read(fixture.context.workspace.join(format!("a.{ending}"))).unwrap();
        let render = tool(&format!("render_{ending}"), &fixture.extract.sandbox);
        let output = render.run(json!({ "markdown": text }), &fixture.context).await.unwrap();
        let sent = fixture.context.artifacts.read(&output.attachments.last().unwrap().digest).await;
        assert!(sent.unwrap() == drawn, "{ending}: the same bytes");
    }
}

/// Every failure of a renderer is an error with a remedy, and the next document is rendered.
/// Proves S14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renderer_failure_is_an_error_and_the_next_document_is_rendered() {
    let confined_command = Arc::new(sandbox().await);
    let bare = Arc::new(Sandbox::without_bubblewrap(std::path::Path::new(BINARY), "a test"));
    for sandbox in [confined_command, bare] {
        let mut pool = RenderPool::new(sandbox.clone(), Branding::default().fonts());
        pool.limits =
            SandboxLimits { cpu_seconds: 2, memory_bytes: 256 << 20, ..SandboxLimits::DRAWING };
        for (how, words) in [
            (Breakdown::Memory, "more than 256 MiB of memory"),
            (Breakdown::Stack, "nested too deeply"),
            (Breakdown::Loop, "longer than 2 s"),
            (Breakdown::Panic, "Simplify it"),
        ] {
            let error = pool.ask(RenderRequest::Break(how)).await.unwrap_err().to_string();
            assert!(error.contains(words), "{how:?}: {error}");
        }
        pool.wait = Duration::from_millis(300);
        let error = pool.ask(RenderRequest::Break(Breakdown::Loop)).await.unwrap_err().to_string();
        assert!(error.contains("longer"), "{error}");
        pool.wait = Duration::from_mins(1);
        assert!(pool.ask(RenderRequest::Names(vec!["![](a.png)".into()])).await.is_ok());
    }
}

/// Rendered or rejected: both are valid outcomes.
#[tokio::test]
async fn deep_nesting_ends_nothing() {
    let fixture = DocumentFixture::new().await;
    let render = tool("render_pdf", &fixture.extract.sandbox);
    for text in [">".repeat(2_000) + " x", "- ".repeat(1_000) + "x", "*".repeat(5_000)] {
        if let Err(error) = render.run(json!({ "markdown": text }), &fixture.context).await {
            assert!(error.to_string().contains("document could not be drawn"), "{error}");
        }
    }
}

/// Of a large output, the start and the end are in the result, and the rest in a file.
/// Proves T8, MC-23.
#[tokio::test]
async fn a_flood_is_cut_and_kept() {
    let fixture = DocumentFixture::new().await;
    let said =
        fixture.shell(json!({ "command": "echo begin; yes | head -c 100000; echo end" })).await;
    let stdout = said["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("begin\ny\n") && stdout.ends_with("y\nend\n"), "{stdout}");
    assert!(stdout.len() < 10_300 && stdout.contains("90010 bytes of stdout are left out"));
    let kept = fixture.context.workspace.join(".countersign/results/call1-stdout.txt");
    assert_eq!(fs::metadata(kept).unwrap().len(), 100_010);
    let said = fixture.shell(json!({ "command": "yes", "timeout": 2 })).await;
    assert!(said["timedOut"].as_bool().unwrap() && said["stdout"].as_str().unwrap().len() < 10_300);
}

/// A picture of the word HELLO, 312 by 104 points.
const HELLO: &str = "iVBORw0KGgoAAAANSUhEUgAAATgAAABoAQAAAABN/dGEAAAAUUlEQVR42u3W0QoAEAyF4fP+L00YS0pzoah/tZQ+LnTKlGIlHA73pLNWqXGyX1D3cBE3AS3vi8PdcRbQFkncsSNXuAecx9WXzX+EY67D4b52GWXygzQ2O258AAAAAElFTkSuQmCC";
