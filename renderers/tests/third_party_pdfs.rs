//! PDFs as other programs write them.

use lopdf::{Dictionary, Document, Object, Stream, dictionary};
use renderers::{Format, markdown, read, render};

fn words(bytes: &[u8]) -> String {
    read::to_markdown("a.pdf", bytes).expect("it can be read").markdown
}

/// A table from codes to text in which the codes are those of Unicode.
const TO_UNICODE: &str = "/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CMapName /X def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
2 beginbfrange
<0020> <007e> <0020>
<05d0> <05ea> <05d0>
endbfrange
endcmap
CMapName currentdict /CMap defineresource pop
end
end";

/// A PDF of one page with these lines, whose letters stand from left to right.
fn drawn_from_left(lines: &[&str]) -> Vec<u8> {
    let mut document = Document::with_version("1.7");
    let table = document.add_object(Stream::new(Dictionary::new(), TO_UNICODE.into()));
    let letters = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "CIDFontType2", "BaseFont" => "X", "DW" => 500,
    });
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "X", "Encoding" => "Identity-H",
        "DescendantFonts" => vec![letters.into()], "ToUnicode" => table,
    });
    let codes = |line: &str| {
        let codes = line.encode_utf16().map(|code| format!("{code:04x}"));
        codes.collect::<Vec<_>>().concat()
    };
    let shown = |line: &&str| format!("<{}> Tj 0 -40 Td ", codes(line));
    let shown: String = lines.iter().map(shown).collect();
    let content = format!("BT /F 12 Tf 50 700 Td {shown}ET");
    let content = document.add_object(Stream::new(Dictionary::new(), content.into_bytes()));
    let pages = document.new_object_id();
    let page = document.add_object(dictionary! {
        "Type" => "Page", "Parent" => pages, "Contents" => content,
        "Resources" => dictionary! { "Font" => dictionary! { "F" => font } },
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    });
    let tree = dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 };
    document.objects.insert(pages, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    document.trailer.set("Root", catalog);
    saved(document)
}

fn saved(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).expect("there is room");
    bytes
}

#[test]
fn right_to_left_text_is_read_in_its_order() {
    let read = words(&drawn_from_left(&["12 םלוע םולש", "plain text"]));
    assert_eq!(read, "## Page 1\n\nשלום עולם 12\n\nplain text");
}

/// LibreOffice writes neither labels nor the kind of a list.
#[test]
fn lists_of_pdfs_without_labels_are_read() {
    let source = "- one\n- two\n\n3. first\n4. second\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Pdf).unwrap();
    let mut pdf = Document::load_mem(&rendered.bytes).unwrap();
    for element in pdf.objects.values_mut() {
        let Ok(element) = element.as_dict_mut() else { continue };
        match element.get(b"S").and_then(Object::as_name).unwrap_or_default() {
            b"Lbl" => element.set("S", Object::Name(b"Span".to_vec())),
            b"L" => drop(element.remove(b"A")),
            _ => {}
        }
    }
    let read = words(&saved(pdf));
    assert!(read.contains("- one\n- two\n") && read.contains("3. first\n4. second"), "{read}");
}
