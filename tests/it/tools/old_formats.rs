//! Documents of Microsoft Office before 2007, which LibreOffice converts. A stand-in for `soffice`
//! tests the conversion everywhere; with LibreOffice, as in `tests/run --full`, its own files are
//! read.

use countersign::testing::tools::{
    Tool as _,
    documents::{
        extract::ExtractDocument,
        office::{ConversionError, Office},
    },
};
use renderers::{Format, markdown};
use sandbox::Sandbox;
use serde_json::json;
use std::{fs, path::Path, process::Command, sync::Arc, time::Duration};

use crate::{
    support::{
        documents::DocumentFixture,
        program::{BINARY, sandbox},
    },
    tools::office_previews::soffice,
};

/// The name of the file, that of its stream, and the format that it is converted to.
const OLD: [(&str, &str, Format); 3] = [
    ("a.doc", "WordDocument", Format::Docx),
    ("a.ppt", "PowerPoint Document", Format::Pptx),
    ("a.xls", "Workbook", Format::Xlsx),
];

/// What a file begins with that has a stream of this name. The stream itself is missing.
fn compound_file(stream: &str) -> Vec<u8> {
    let name: Vec<u8> = stream.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let mut file = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    file.resize(512, 0);
    file.extend(&name);
    file.resize(512 + 64, 0);
    file.push(name.len() as u8);
    file.resize(1024, 0);
    file
}

fn rendered(format: Format) -> Vec<u8> {
    let source = "# Rivers\n\n| River | Length |\n|---|---|\n| Rhine | 1233 |\n";
    renderers::render(&markdown::read(source).unwrap(), format).unwrap().bytes
}

/// What `extract_document` says about a file of the workspace.
async fn extracted(
    name: &str,
    sandbox: Sandbox,
    office: impl FnOnce(&Arc<Sandbox>) -> Option<Office>,
    fixture: &DocumentFixture,
) -> Result<String, String> {
    let sandbox = Arc::new(sandbox);
    let office = office(&sandbox).map(Arc::new);
    let extract = ExtractDocument { sandbox, passwords: Vec::new(), office };
    let read = extract.run(json!({ "path": name }), &fixture.context).await;
    read.map(|output| output.text).map_err(|problem| problem.to_string())
}

/// LibreOffice gets the file under an extension of its format, and what it makes of it is read.
#[tokio::test]
async fn old_documents_are_read_after_conversion() {
    let fixture = DocumentFixture::new().await;
    for (name, stream, format) in OLD {
        fixture.has(name, compound_file(stream));
        let new = format.ending();
        let folder = tempfile::tempdir().unwrap();
        let old = name.trim_start_matches("a.");
        let script =
            format!(r#"[ "$file" = document.{old} ] && cp "${{0%/*}}/new" document.{new}"#);
        let program = soffice(folder.path(), &script);
        fs::write(program.with_file_name("new"), rendered(format)).unwrap();
        let office = |sandbox: &_| Office::at(&program, sandbox);
        let read = extracted(name, sandbox().await, office, &fixture).await.unwrap();
        assert!(read.contains("Rhine") && read.contains("1233"), "{read}");
        let warning = format!("LibreOffice converted it from .{old} to .{new}.");
        assert!(read.contains(&warning), "{read}");
    }
}

/// Each error names the file and says what to do.
#[tokio::test]
async fn without_libreoffice_the_error_says_what_to_install() {
    let fixture = DocumentFixture::new().await;
    for (name, stream, _) in OLD {
        fixture.has(name, compound_file(stream));
    }
    let none = |_: &_| None;
    for (name, package) in [("a.doc", "libreoffice-writer"), ("a.ppt", "libreoffice-impress")] {
        let refused = extracted(name, sandbox().await, none, &fixture).await.unwrap_err();
        assert!(refused.contains(&format!("{name} was not read")), "{refused}");
        assert!(refused.contains(&format!("apt-get install {package}")), "{refused}");
    }
    let refused = extracted("a.xls", sandbox().await, none, &fixture).await.unwrap_err();
    assert!(refused.contains("damaged"), "the reader's own error: {refused}");
    let bare = Sandbox::without_bubblewrap(Path::new(BINARY), "bubblewrap is missing");
    let refused = extracted("a.doc", bare, none, &fixture).await.unwrap_err();
    assert!(refused.contains("bubblewrap is missing"), "{refused}");
}

/// A conversion that fails, and one whose result is no document.
#[tokio::test]
async fn a_failed_conversion_is_an_error() {
    let fixture = DocumentFixture::new().await;
    fixture.has("a.doc", compound_file("WordDocument"));
    for (script, says) in [
        ("exit 1", "could not convert: it is damaged"),
        ("echo text >${file%.*}.docx", "could not convert: it is damaged"),
        (r"printf 'PK\003\004' >${file%.*}.docx", "was not read"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let program = soffice(folder.path(), script);
        fs::write(program.with_file_name("libswlo.so"), "").unwrap();
        let office = |sandbox: &_| Office::at(&program, sandbox);
        let refused = extracted("a.doc", sandbox().await, office, &fixture).await.unwrap_err();
        assert!(refused.contains(says), "{script}: {refused}");
    }
}

/// A conversion neither waits for the picture of another file nor counts the time before its turn.
#[tokio::test]
async fn conversions_wait_only_for_conversions() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"case "$file" in *.doc) sleep 2; printf 'PK\003\004' >"${file%.*}.docx";; *) sleep 60;; esac"#;
    let sandbox = Arc::new(sandbox().await);
    let mut office = Office::at(&soffice(folder.path(), script), &sandbox).unwrap();
    (office.wait, office.convert_for) = (Duration::from_mins(1), Duration::from_millis(3_500));
    let conversions = async {
        let both = [office.convert("doc", "docx", b"a"), office.convert("doc", "docx", b"b")];
        futures::future::join_all(both).await
    };
    tokio::select! {
        converted = conversions => assert!(converted.iter().all(Result::is_ok), "{converted:?}"),
        _ = office.first_page("docx", b"c") => panic!("the picture takes longer"),
    }
}

/// The message says that it took too long, and not that the file is damaged.
#[tokio::test]
async fn a_slow_conversion_is_not_a_damaged_file() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Arc::new(sandbox().await);
    let mut office = Office::at(&soffice(folder.path(), "sleep 60"), &sandbox).unwrap();
    office.convert_for = Duration::from_millis(300);
    let slow = office.pdf("docx", b"a").await.unwrap_err();
    assert_eq!(slow, ConversionError::TooSlow(office.convert_for));
    assert!(slow.to_string().contains("took longer"), "{slow}");
}

/// With LibreOffice: files that it wrote in the old formats, on the command line as well.
#[tokio::test]
async fn libreoffice_converts_old_documents() {
    if Office::installed(&Arc::new(sandbox().await)).is_none() {
        let full = std::env::var_os("COUNTERSIGN_TEST_FULL").is_some();
        assert!(!full, "tests/run --full installs LibreOffice");
        return;
    }
    let fixture = DocumentFixture::new().await;
    let workspace = &fixture.context.workspace;
    let profile = tempfile::tempdir().unwrap();
    for (name, _, format) in OLD {
        let new = Path::new(name).with_extension(format.ending());
        fs::write(workspace.join(&new), rendered(format)).unwrap();
        let ending = name.trim_start_matches("a.");
        let mut soffice = Command::new("soffice");
        soffice.arg(format!("-env:UserInstallation=file://{}", profile.path().display()));
        soffice.args(["--headless", "--convert-to", ending]).arg(&new).current_dir(workspace);
        let ended = soffice.output().unwrap();
        assert!(ended.status.success() && workspace.join(name).exists(), "{ended:?}");
        let read = extracted(name, sandbox().await, Office::installed, &fixture).await.unwrap();
        assert!(read.contains("Rhine") && read.contains("1233"), "{name}: {read}");
        let mut extract = Command::new(BINARY);
        extract.args(["--log", "off", "extract", name]).current_dir(workspace);
        let ended = extract.output().unwrap();
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(printed.contains("Rhine") && printed.contains("1233"), "{name}: {ended:?}");
    }
}
