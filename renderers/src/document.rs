//! The one model that all four formats draw from: plain data, no I/O.

use std::collections::BTreeMap;

/// A document: what it is, what stands in it, and the pictures it names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    pub meta: Meta,
    pub blocks: Vec<Block>,
    /// Footnotes, in the order of their first mention; [`Inline::Footnote`] is an index into them.
    pub notes: Vec<Vec<Block>>,
    /// Bytes of pictures by the URL that the text uses for them. Only these can be drawn.
    pub assets: BTreeMap<String, Vec<u8>>,
    /// What the reader of the source had to leave out.
    pub warnings: Vec<String>,
}

/// From the front matter; everything has a default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    pub title: Option<String>,
    pub subtitle: Option<String>,
    pub author: Option<String>,
    /// ISO 8601 date; part of the file's properties, never "now".
    pub date: Option<chrono::NaiveDate>,
    /// BCP 47; `en` if absent.
    pub language: Option<String>,
    pub cover: bool,
    pub contents: bool,
    pub header: Option<String>,
    pub footer: Option<String>,
    pub page: Page,
    pub theme: Theme,
    pub slides: SlideSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    pub size: PageSize,
    pub landscape: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageSize {
    #[default]
    A4,
    Letter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlideSize {
    #[default]
    Wide,
    Standard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    #[default]
    Neutral,
    Corporate,
    Academic,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Heading {
        level: u8,
        content: Vec<Inline>,
    },
    Paragraph(Vec<Inline>),
    List(List),
    Table(Table),
    Code {
        language: Option<String>,
        text: String,
    },
    Quote {
        alert: Option<Alert>,
        blocks: Vec<Block>,
    },
    /// Terms with their descriptions.
    Definitions(Vec<(Vec<Inline>, Vec<Block>)>),
    /// LaTeX, on a line of its own.
    Math(String),
    /// `---`: a rule on a page, a new slide in a deck.
    Break,
    /// An HTML comment: a directive or a speaker's note in a deck, nothing elsewhere.
    Comment(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The first number of an ordered list.
    pub start: Option<u64>,
    pub tight: bool,
    pub items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Whether a task is done; `None` where the item is not a task.
    pub task: Option<bool>,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub align: Vec<Align>,
    pub header: Vec<Vec<Inline>>,
    pub rows: Vec<Vec<Vec<Inline>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    #[default]
    Start,
    Center,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    Note,
    Tip,
    Important,
    Warning,
    Caution,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Inline {
    Text(String),
    Strong(Vec<Inline>),
    Emphasis(Vec<Inline>),
    Strike(Vec<Inline>),
    Code(String),
    /// Only `https`, `http`, `mailto`, `tel` and `#anchor`; others come in as their text.
    Link {
        url: String,
        title: String,
        content: Vec<Inline>,
    },
    Image {
        url: String,
        alt: String,
        title: String,
    },
    Math(String),
    /// Index into [`Document::notes`].
    Footnote(usize),
    SoftBreak,
    LineBreak,
}
