//! The annotations of a PDF page: the values of form fields, which viewers draw over the page and which
//! are no part of its content, and comments.

use lopdf::{Dictionary, Document, Object, ObjectId, decode_text_string};

use super::{
    limits,
    words::{ItemMark, Words},
};

/// The maximum number of annotations of a page.
const ANNOTATIONS: usize = 5_000;
/// The maximum number of fields that a field is in.
const PARENTS: usize = 16;
/// Annotations whose text is not a comment: fields, and the descriptions of links and media.
const OTHERS: [&[u8]; 8] =
    [b"Widget", b"Link", b"Popup", b"Movie", b"Screen", b"3D", b"RichMedia", b"PrinterMark"];
/// The flags of annotations that are not shown on a screen (ISO 32000-1, 12.5.3).
const HIDDEN: i64 = (1 << 1) | (1 << 5);
/// The flags of buttons of which one is chosen, and of those that only start something (12.7.4.2).
const RADIO: i64 = 1 << 15;
const PUSHBUTTON: i64 = 1 << 16;

/// Reads annotations, page by page.
pub struct PdfAnnotations<'d> {
    document: &'d Document,
    /// How much text is still read. Many fields may share one value.
    left_bytes: usize,
}

/// A line about a field or a comment.
struct AnnotationLine {
    mark: ItemMark,
    text: String,
}

impl<'d> PdfAnnotations<'d> {
    pub fn of(document: &'d Document) -> Self {
        Self { document, left_bytes: limits::MARKDOWN_BYTES }
    }

    /// Writes the form fields that have a value, and the comments of a page.
    pub fn write(&mut self, page: ObjectId, words: &mut Words) {
        let document = self.document;
        let all: Vec<&'d Dictionary> = document.get_page_annotations(page).unwrap_or_default();
        let all = all.into_iter().take(ANNOTATIONS);
        let fields = all.clone().filter_map(|annotation| self.field(annotation)).collect();
        add("Form fields", fields, words);
        let comments = all.filter_map(|annotation| self.comment(annotation)).collect();
        add("Comments", comments, words);
    }

    fn field(&mut self, widget: &'d Dictionary) -> Option<AnnotationLine> {
        if self.left_bytes == 0 || self.name(widget, b"Subtype")? != b"Widget" {
            return None;
        }
        let document = self.document;
        let parent = |field: &&'d Dictionary| {
            let field: &'d Dictionary = field;
            field.get_deref(b"Parent", document).and_then(Object::as_dict).ok()
        };
        let fields: Vec<&Dictionary> =
            std::iter::successors(Some(widget), parent).take(PARENTS).collect();
        let find = |key: &[u8]| fields.iter().find_map(|field| field.get_deref(key, document).ok());
        let kind = find(b"FT")?.as_name().ok()?;
        // The label that people see, or the names from the outermost field on.
        let names = fields.iter().rev().filter_map(|field| field.get(b"T").ok());
        let names = find(b"TU").map_or_else(|| names.collect(), |label| vec![label]);
        let names: Vec<String> = names.into_iter().map(|name| self.text(name)).collect();
        let name = names.join(".");
        let flags = find(b"Ff").and_then(|flags| flags.as_i64().ok()).unwrap_or(0);
        // Without a state, a button is off.
        let state = self.name(widget, b"AS").filter(|state| *state != b"Off");
        let value = match kind {
            b"Btn" if flags & PUSHBUTTON != 0 => return None,
            b"Btn" if flags & RADIO == 0 => {
                let mark = ItemMark::Task(state.is_some());
                return Some(self.marked(widget, AnnotationLine { mark, text: name }));
            }
            b"Btn" => String::from_utf8_lossy(state?).into_owned(),
            b"Tx" | b"Ch" => self.text(find(b"V")?),
            _ => return None,
        };
        let text = format!("{name}: {}", value.trim());
        let line = AnnotationLine { mark: ItemMark::Bullet, text };
        (!value.trim().is_empty()).then(|| self.marked(widget, line))
    }

    fn comment(&mut self, annotation: &'d Dictionary) -> Option<AnnotationLine> {
        if self.left_bytes == 0 || OTHERS.contains(&self.name(annotation, b"Subtype")?) {
            return None;
        }
        let contents = self.text(annotation.get(b"Contents").ok()?);
        let author = annotation.get(b"T").map(|author| self.text(author)).unwrap_or_default();
        let author = limits::name(author.trim());
        let colon = if author.is_empty() { "" } else { ": " };
        let text = [author.as_str(), colon, contents.trim()].concat();
        let line = AnnotationLine { mark: ItemMark::Bullet, text };
        (!contents.trim().is_empty()).then(|| self.marked(annotation, line))
    }

    /// The line with a mark if its annotation is not shown.
    fn marked(&self, annotation: &Dictionary, line: AnnotationLine) -> AnnotationLine {
        let flags = annotation.get_deref(b"F", self.document).and_then(Object::as_i64);
        if flags.unwrap_or(0) & HIDDEN == 0 {
            return line;
        }
        AnnotationLine { text: format!("{{hidden: {}}}", line.text), ..line }
    }

    fn text(&mut self, value: &Object) -> String {
        let text = text(self.document, value);
        self.left_bytes = self.left_bytes.saturating_sub(text.len() + 1);
        text
    }

    fn name(&self, annotation: &'d Dictionary, key: &[u8]) -> Option<&'d [u8]> {
        annotation.get_deref(key, self.document).and_then(Object::as_name).ok()
    }
}

fn add(title: &str, lines: Vec<AnnotationLine>, words: &mut Words) {
    if !lines.is_empty() {
        words.heading(3, title);
    }
    for AnnotationLine { mark, text } in lines {
        words.item(0, &mark, &text);
    }
}

/// The text of a value. A list has several, and one of a button is a name.
fn text(document: &Document, value: &Object) -> String {
    let one = |value: &Object| match document.dereference(value).map(|(_, value)| value) {
        Ok(text @ Object::String(..)) => decode_text_string(text).unwrap_or_default(),
        Ok(Object::Name(name)) => String::from_utf8_lossy(name).into_owned(),
        _ => String::new(),
    };
    let text = match document.dereference(value).map(|(_, value)| value) {
        Ok(Object::Array(values)) => values.iter().map(one).collect::<Vec<_>>().join(", "),
        _ => one(value),
    };
    text.replace("\r\n", "\n").replace('\r', "\n")
}
