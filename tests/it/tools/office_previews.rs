//! Previews of the first page of Office files, in chats that show pictures. A stand-in for
//! `soffice` tests the picture and its failures everywhere; with LibreOffice, as in `tests/run
//! --full`, the corpus itself is rendered.

use countersign::testing::{
    journal::event::Attachment,
    tools::documents::{self, Branding, office::Office},
};
use renderers::{Format, markdown};
use sandbox::Sandbox;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::support::{
    documents::DocumentFixture,
    program::{BINARY, sandbox},
};

const OFFICE: [Format; 3] = [Format::Docx, Format::Xlsx, Format::Pptx];

/// A program that does this with `$file`, installed like LibreOffice.
pub fn soffice(folder: &Path, script: &str) -> PathBuf {
    let program = folder.join("office/program/soffice");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, format!("#!/bin/sh\nfor file; do :; done\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// The files that `render_…` of this format sends, with that program.
async fn sent(fixture: &DocumentFixture, format: Format, script: &str) -> Vec<Attachment> {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Arc::new(sandbox().await);
    let mut office = Office::at(&soffice(folder.path(), script), &sandbox).unwrap();
    if script.starts_with("sleep") {
        office.wait = Duration::from_millis(300);
    }
    let name = format!("render_{}", format.ending());
    let tools = documents::tools(Branding::default(), &sandbox, Some(Arc::new(office)));
    let tool = tools.into_iter().find(|tool| tool.spec().name == name).unwrap();
    tool.run(json!({ "markdown": "# Rivers" }), &fixture.context).await.unwrap().attachments
}

/// The picture shows the file that is sent, and precedes it, in chats that show pictures.
#[tokio::test]
async fn the_first_page_of_an_office_file_goes_before_it() {
    let mut fixture = DocumentFixture::new().await;
    let script = r#"{ printf '\211PNG '; sha256sum <"$file"; } >"${file%.*}.png""#;
    for format in OFFICE {
        let files = sent(&fixture, format, script).await;
        let [picture, file] = &files[..] else { panic!("{files:?}") };
        assert_eq!(file.name, format!("document.{}", format.ending()));
        assert_eq!((&*picture.name, &*picture.media_type), ("document.png", "image/png"));
        let drawn = fixture.context.artifacts.read(&picture.digest).await.unwrap();
        let said = String::from_utf8_lossy(&drawn);
        assert!(said.contains(&file.digest), "{said} is not of {file:?}");
    }
    fixture.context.shows_pictures = false;
    assert_eq!(sent(&fixture, Format::Docx, script).await.len(), 1);
}

/// `convert_document` writes what LibreOffice makes of the file.
#[tokio::test]
async fn an_office_file_becomes_a_pdf_of_the_workspace() {
    let fixture = DocumentFixture::new().await;
    let workspace = &fixture.context.workspace;
    fs::create_dir_all(workspace).unwrap();
    fs::write(workspace.join("a.docx"), "words").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Arc::new(sandbox().await);
    let script = r#"{ printf '%%PDF-'; cat "$file"; } >"${file%.*}.pdf""#;
    let office = Office::at(&soffice(folder.path(), script), &sandbox).unwrap();
    let tools = documents::tools(Branding::default(), &sandbox, Some(Arc::new(office)));
    let tool = tools.into_iter().find(|tool| tool.spec().name == "convert_document").unwrap();
    let run = |path: &str, from: &str| {
        let (tool, context) = (tool.clone(), fixture.context.clone());
        let arguments = json!({ "path": path, "from": from });
        async move { tool.run(arguments, &context).await }
    };
    run("b/a.pdf", "a.docx").await.unwrap();
    assert_eq!(fs::read(workspace.join("b/a.pdf")).unwrap(), b"%PDF-words");
    for (path, from) in [("b.docx", "a.docx"), ("b.pdf", "a.sh"), ("../b.pdf", "a.docx")] {
        assert!(run(path, from).await.is_err(), "{path} {from}");
    }
    let none = documents::tools(Branding::default(), &sandbox, None);
    let none = none.into_iter().find(|tool| tool.spec().name == "convert_document").unwrap();
    let arguments = json!({ "path": "c.pdf", "from": "a.docx" });
    let error = none.run(arguments, &fixture.context).await.unwrap_err().to_string();
    assert!(error.contains("LibreOffice is not installed"), "{error}");
}

/// The file is sent even if the preview fails.
#[tokio::test]
async fn a_first_page_that_is_not_drawn_keeps_no_file_back() {
    let fixture = DocumentFixture::new().await;
    for script in [
        "exit 1",
        "sleep 400",
        "echo no picture >${file%.*}.png",
        "yes >${file%.*}.png",
        "ln -s /proc/self/environ ${file%.*}.png",
    ] {
        let files = sent(&fixture, Format::Docx, script).await;
        assert_eq!(files.len(), 1, "{script}: {files:?}");
        assert_eq!(files[0].name, "document.docx");
    }
}

/// Without a sandbox nothing is started, and without LibreOffice the result says what to install.
#[tokio::test]
async fn without_sandbox_or_libreoffice_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let program = soffice(folder.path(), "exit 1");
    let bare = Arc::new(Sandbox::without_bubblewrap(Path::new(BINARY), "a test"));
    assert!(Office::at(&program, &bare).is_none());
    let confined_command = Arc::new(sandbox().await);
    assert!(Office::at(&folder.path().join("none"), &confined_command).is_none());
    let all = ["libreoffice-writer", "libreoffice-calc", "libreoffice-impress"];
    assert_eq!(Office::packages(None), all);
    fs::write(program.with_file_name("libswlo.so"), "").unwrap();
    assert_eq!(Office::packages(Office::at(&program, &confined_command).as_ref()), all[1..]);
}

/// With LibreOffice: a portrait page, a landscape page and a slide, each with some content.
#[tokio::test]
async fn libreoffice_draws_the_first_pages_of_the_corpus() {
    let Some(mut office) = Office::installed(&Arc::new(sandbox().await)) else {
        let full = std::env::var_os("COUNTERSIGN_TEST_FULL").is_some();
        assert!(!full, "tests/run --full installs LibreOffice");
        return;
    };
    assert_eq!(Office::packages(Some(&office)), Vec::<&str>::new());
    // Other tests may keep the machine busy.
    office.wait = Duration::from_mins(2);
    for (source, format, size) in [
        (include_str!("../../../renderers/tests/corpus/features.md"), Format::Docx, (795, 1124)),
        (include_str!("../../../renderers/tests/corpus/sheets.md"), Format::Xlsx, (1124, 795)),
        (include_str!("../../../renderers/tests/corpus/deck.md"), Format::Pptx, (1280, 720)),
    ] {
        let file = renderers::render(&markdown::read(source).unwrap(), format).unwrap().bytes;
        let png = office.first_page(format.ending(), &file).await.unwrap();
        let edge = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((edge(16), edge(20)), size, "{format:?}");
        assert!(png.len() > 8_000, "{format:?}: an empty page takes {} bytes", png.len());
        assert_eq!(office.first_page(format.ending(), &file).await.unwrap(), png, "T5");
    }
}
