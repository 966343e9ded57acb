//! The files that Typst can read: the constant template, the fonts, and the document as values.

use std::sync::LazyLock;

use typst::diag::{FileError, FileResult};
use typst::foundations::{Array, Bytes, Content, Datetime, Dict, Duration, IntoValue, Value};
use typst::layout::{Abs, Length};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook, TextDir};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt};

use super::directions;
use super::drawing::{self, PrintArea};
use super::images;
use super::inlines::image;
use super::marks::grounded;
use crate::Document;
use crate::document::{Block, Meta, PageSize, plain_text};
use crate::package::look::look;
use crate::pdf::fontset::Fonts;

/// File ids are never freed, so all jobs share one.
static TEMPLATE: LazyLock<Source> = LazyLock::new(|| {
    let path = VirtualPath::new("main.typ").expect("a plain name is a path");
    let id = FileId::new(RootedPath::new(VirtualRoot::Project, path));
    Source::new(id, include_str!("template.typ").to_owned())
});

/// Width and height of the logo, in points.
const LOGO: PrintArea = PrintArea { width: 110.0, height: 26.0 };

/// One job.
pub struct World<'a> {
    library: LazyHash<Library>,
    fonts: &'a Fonts,
}

impl<'a> World<'a> {
    pub fn new(document: &Document, fonts: &'a Fonts, body: Content) -> Self {
        let mut inputs = inputs(document, fonts);
        inputs.insert("body".into(), body.into_value());
        World { library: LazyHash::new(Library::builder().with_inputs(inputs).build()), fonts }
    }
}

impl typst::World for World<'_> {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        self.fonts.book()
    }

    fn main(&self) -> FileId {
        TEMPLATE.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == TEMPLATE.id() { Ok(TEMPLATE.clone()) } else { Err(FileError::AccessDenied) }
    }

    fn file(&self, _id: FileId) -> FileResult<Bytes> {
        Err(FileError::AccessDenied)
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.all().get(index).cloned()
    }

    fn today(&self, _offset: Option<Duration>) -> Option<Datetime> {
        None
    }
}

fn inputs(document: &Document, fonts: &Fonts) -> Dict {
    let logo = document.logo.as_deref().and_then(|bytes| images::picture(bytes, &mut 0).ok());
    let logo = logo.map(|logo| image(&logo, "", LOGO));
    let meta = &document.meta;
    let look = look(meta);
    let (language, region) = language(meta);
    let mut inputs = Dict::new();
    let mut set = |key: &str, value: Value| inputs.insert(key.into(), value);
    set("title", title(document).into_value());
    set("direction", TextDir(directions::of_text(&title(document))).into_value());
    set("titled", meta.title.is_some().into_value());
    set("subtitle", optional(meta.subtitle.as_deref()));
    set(
        "author",
        meta.author.iter().map(|a| a.as_str().into_value()).collect::<Array>().into_value(),
    );
    set("byline", grounded(meta.author.as_deref().unwrap_or_default()).into_owned().into_value());
    set("day", meta.date.map(|day| day.to_string()).unwrap_or_default().into_value());
    set("date", date(meta).into_value());
    set("keywords", strings(&meta.keywords));
    set("columns", (if meta.page.two_columns { 2 } else { 1 }).into_value());
    set("logo", logo.map_or(Value::None, IntoValue::into_value));
    set("lang", language.into_value());
    set("region", optional(region));
    set("header", optional(meta.header.as_deref()));
    set("footer", grounded(meta.footer.as_deref().unwrap_or_default()).into_owned().into_value());
    set("paper", paper(meta.page.size).into_value());
    set("margin", margin(meta).into_value());
    set("landscape", meta.page.landscape.into_value());
    set("cover", (meta.cover && meta.title.is_some()).into_value());
    set("contents", meta.contents.into_value());
    set("long", has_long_contents(document).into_value());
    set("numbered", meta.numbered.into_value());
    set("accent", format!("#{}", look.accent).into_value());
    set("link", format!("#{}", look.link).into_value());
    set("fonts", strings(&fonts.body(meta)));
    set("headings", strings(&fonts.headings(meta)));
    set("mono", strings(&fonts.mono(meta)));
    inputs
}

/// Whether the contents certainly need more than a page. Each line of them is higher than the font
/// size.
fn has_long_contents(document: &Document) -> bool {
    let is_listed = |block: &&Block| match block {
        Block::Heading { level, content } => *level <= 3 && !plain_text(content).trim().is_empty(),
        _ => false,
    };
    let lines = document.blocks.iter().filter(is_listed).count() as f64;
    let columns = if document.meta.page.two_columns { 2.0 } else { 1.0 };
    lines * drawing::POINTS > (drawing::room(document).height + drawing::CAPTION) * columns
}

fn strings(texts: &[String]) -> Value {
    texts.iter().map(|text| text.as_str().into_value()).collect::<Array>().into_value()
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::None, |text| grounded(text).into_owned().into_value())
}

/// PDF/UA requires a title: the document's, otherwise the first heading.
fn title(document: &Document) -> String {
    let heading = document.blocks.iter().find_map(|block| match block {
        Block::Heading { content, .. } => Some(plain_text(content)),
        _ => None,
    });
    let title = document.meta.title.clone().or(heading).filter(|title| !title.trim().is_empty());
    title.map_or_else(|| "Document".to_owned(), |title| grounded(&title).into_owned())
}

/// PDF/A requires a date. A document without one gets the earliest date that a zip file can
/// represent, so that the output is reproducible and the date is recognizable as a placeholder.
fn date(meta: &Meta) -> Datetime {
    use chrono::Datelike;
    let day = meta.date.filter(|day| (1..=9999).contains(&day.year()));
    let day = day.map(|day| (day.year(), day.month() as u8, day.day() as u8));
    let (year, month, day) = day.unwrap_or((1980, 1, 1));
    Datetime::from_ymd_hms(year, month, day, 0, 0, 0).expect("chrono's dates exist")
}

/// Typst expects the language and the region separately.
fn language(meta: &Meta) -> (String, Option<&str>) {
    let tag = meta.language.as_deref().unwrap_or("en");
    let mut parts = tag.split('-');
    let language = parts.next().unwrap_or("en").to_lowercase();
    let is_letters = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
    let region = parts.find(|part| part.len() == 2 && is_letters(part));
    if matches!(language.len(), 2 | 3) && is_letters(&language) {
        (language, region)
    } else {
        ("en".to_owned(), None)
    }
}

fn margin(meta: &Meta) -> Dict {
    let sides = ["top", "right", "bottom", "left"].into_iter().zip(meta.margins());
    let length = |twips| Length::from(Abs::pt(twips as f64 / 20.0));
    sides.map(|(side, twips)| (side.into(), length(twips).into_value())).collect()
}

fn paper(size: PageSize) -> &'static str {
    match size {
        PageSize::A4 => "a4",
        PageSize::Letter => "us-letter",
    }
}
