//! Pictures in the files that we write.

use renderers::{Format, markdown, render};

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
            let warnings = render(&document, format).unwrap().warnings.join(" ");
            let said = format!("{kind} pictures are not supported; convert it to PNG or JPEG");
            assert!(warnings.contains(&said), "{format:?}: {warnings}");
        }
    }
}
