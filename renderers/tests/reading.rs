//! Other people's files from outside, as their programs write them.

use std::io::{Cursor, Write as _};

use renderers::{Format, markdown, read, render};
use zip::{ZipWriter, write::SimpleFileOptions};

fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).expect("there is room");
        zip.write_all(text.as_bytes()).expect("there is room");
    }
    zip.finish().expect("there is room").into_inner()
}

fn words(name: &str, bytes: &[u8]) -> String {
    read::to_markdown(name, bytes).expect("it can be read").markdown
}

/// MC-26: many a page is one form from its first word to its last.
#[test]
fn mc_26_a_page_in_a_form_is_read_without_its_fields() {
    let page = "<html><body><form id='aspnetForm'><input value='hidden'><h1>News</h1><p>Read me.</p>\
        <select><option>Choice</option></select><button>Send</button><textarea>draft</textarea>\
        </form></body></html>";
    assert_eq!(words("a.html", page.as_bytes()), "# News\n\nRead me.");
}
