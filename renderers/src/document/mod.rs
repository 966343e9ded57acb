//! The document model shared by all four formats: plain data, no I/O.
//!
//! - `page`: page settings; `brand`, `slide_template`: the settings and the layouts of a template
//! - `merge`: cells over several rows or columns
//! - `anchors`: the anchors of headings; `walk`: visits or changes all blocks or inlines

mod anchors;
mod brand;
mod merge;
mod page;
mod slide_template;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

pub use anchors::{Anchors, caption_anchor, leads_to_caption};
pub use brand::{Brand, Voice};
pub use merge::{CellSpan, Merge, Spans};
pub use page::{MIN_PICTURE, Page, PageSize, PictureWidth};
pub use slide_template::{LayoutHolder, SlideLayout, SlideTemplate, TemplatePart};
use walk::each_in_blocks;
pub use walk::{change_blocks, change_contents, each_block_of, each_in, plain_text};

use crate::chart::Chart;
pub use crate::color::Color;
use crate::rendered::Warning;

/// How the names of footnotes begin that are comments of reviewers.
pub(crate) const COMMENT_NAME: &str = "comment-";

/// A document: its metadata, its content and the pictures it references.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// The front matter.
    pub meta: Meta,
    /// The content.
    pub blocks: Vec<Block>,
    /// Footnotes, in the order of their first reference; [`Inline::Footnote`] is an index into
    /// them.
    pub notes: Vec<Vec<Block>>,
    /// The notes that are comments of reviewers, by their index. Formats without comments show them
    /// as footnotes.
    pub comments: BTreeSet<usize>,
    /// Picture data by the URL used in the text. Only these pictures can be drawn.
    pub assets: BTreeMap<String, Vec<u8>>,
    /// The width of pictures by their URL, for those whose source sets it.
    pub widths: BTreeMap<String, PictureWidth>,
    /// The maximum height of pictures by their URL, in pixels at 96 per inch, for those whose source
    /// sets it. They keep their proportions.
    pub heights: BTreeMap<String, f64>,
    /// The anchors of numbered captions, which links can lead to, by the text of the caption.
    pub captions: BTreeMap<String, String>,
    /// The logo, used by the theme `corporate`: PNG, JPEG, GIF, BMP or SVG.
    pub logo: Option<Vec<u8>>,
    /// Warnings about content that the reader dropped.
    pub warnings: Vec<Warning>,
}

/// The front matter; every field has a default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// The title: shown on the first page, and stored in the file properties.
    pub title: Option<String>,
    /// The line below the title.
    pub subtitle: Option<String>,
    /// The author: shown below the title, and stored in the file properties.
    pub author: Option<String>,
    /// ISO 8601 date; stored in the file properties, never the current time.
    pub date: Option<chrono::NaiveDate>,
    /// BCP 47; `en` if absent.
    pub language: Option<String>,
    /// Whether the title is on a separate cover page.
    pub cover: bool,
    /// Whether a table of contents precedes the text.
    pub contents: bool,
    /// The text at the top of each page.
    pub header: Option<String>,
    /// The text at the bottom of each page.
    pub footer: Option<String>,
    /// The paper.
    pub page: Page,
    /// The appearance.
    pub theme: Theme,
    /// The brand colour, used by the theme `corporate`.
    pub accent: Option<Color>,
    /// The aspect ratio of slides.
    pub slides: SlideSize,
    /// Keywords for the file properties.
    pub keywords: Vec<String>,
    /// Whether headings are numbered.
    pub numbered: bool,
    /// Whether slides are numbered.
    pub paginate: bool,
    /// Marp's directives for slides: their names in lower case, and their values.
    pub directives: BTreeMap<String, String>,
    /// The path of the template requested by the document.
    pub template: Option<String>,
    /// The settings read from the template.
    pub brand: Option<Box<Brand>>,
}

impl Meta {
    /// Top, right, bottom and left, in twips: the template's margins, or one inch each.
    pub fn margins(&self) -> [i64; 4] {
        self.brand.as_deref().and_then(|brand| brand.margins).unwrap_or([1_440; 4])
    }
}

/// The aspect ratio of slides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlideSize {
    /// 16:9.
    #[default]
    Wide,
    /// 4:3.
    Standard,
}

/// The appearance of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Plain, without accent colours.
    #[default]
    Neutral,
    /// With the logo and the brand colour.
    Corporate,
    /// Serif, for papers.
    Academic,
}

/// A block of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading.
    Heading {
        /// 1 to 6.
        level: u8,
        /// The text.
        content: Vec<Inline>,
    },
    /// A paragraph.
    Paragraph(Vec<Inline>),
    /// A list.
    List(List),
    /// A table.
    Table(Table),
    /// A block of code.
    Code {
        /// The language for syntax highlighting.
        language: Option<String>,
        /// The code, with `\n` between lines.
        text: String,
    },
    /// A quotation, or an alert as on GitHub.
    Quote {
        /// The kind of alert; `None` for a quotation.
        alert: Option<Alert>,
        /// The content.
        blocks: Vec<Block>,
    },
    /// Terms with their definitions.
    Definitions(Vec<Definition>),
    /// Columns side by side, each read from top to bottom.
    Columns(Vec<Vec<Block>>),
    /// A chart.
    Chart(Chart),
    /// LaTeX in display mode.
    Math(String),
    /// `---`: a horizontal rule on a page, a new slide in a deck.
    Break,
    /// An HTML comment: a directive or a speaker note in a deck, ignored elsewhere.
    Comment(String),
}

/// A list.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The first number of an ordered list.
    pub start: Option<u64>,
    /// Whether there is no space between the items.
    pub tight: bool,
    /// The items.
    pub items: Vec<Item>,
}

/// A term and its definitions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Definition {
    /// The term.
    pub term: Vec<Inline>,
    /// The content of all its definitions.
    pub description: Vec<Block>,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Whether the task is done; `None` if the item is not a task.
    pub task: Option<bool>,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A table. Rows may be shorter than the header.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The alignment of each column.
    pub align: Vec<Align>,
    /// The cells of the header.
    pub header: Vec<Vec<Inline>>,
    /// The cells of each row.
    pub rows: Vec<Vec<Vec<Inline>>>,
    /// The number of rows at the start of `rows` that belong to the header.
    pub more_header_rows: usize,
    /// Cells that extend over several rows or columns. The cells that they cover are empty.
    pub merges: Vec<Merge>,
    /// Set for rows written by a program, `None` for tables written by an author.
    pub given: Option<Given>,
}

/// Properties of rows written by a program. They are data: no cell of them is a formula.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given {
    /// Whether a comma may be the decimal separator.
    pub commas: bool,
    /// Row and column of cells that are text, even if they look like a number or a boolean.
    pub texts: BTreeSet<(usize, usize)>,
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Left; right in a script that is written from right to left.
    #[default]
    Start,
    /// Centred.
    Center,
    /// Right; left in a script that is written from right to left.
    End,
}

/// The kind of an alert, as on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// `[!NOTE]`
    Note,
    /// `[!TIP]`
    Tip,
    /// `[!IMPORTANT]`
    Important,
    /// `[!WARNING]`
    Warning,
    /// `[!CAUTION]`
    Caution,
}

/// A mark of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// A subscript.
    Lowered,
    /// A superscript.
    Raised,
    /// Underlined.
    Underlined,
    /// On a yellow background.
    Highlighted,
    /// Smaller than the text around it.
    Small,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Inline {
    /// Text without formatting.
    Text(String),
    /// Bold.
    Strong(Vec<Inline>),
    /// Italic.
    Emphasis(Vec<Inline>),
    /// Struck through.
    Strike(Vec<Inline>),
    /// With a mark for which Markdown has no sign.
    Marked(Mark, Vec<Inline>),
    /// Code within a line.
    Code(String),
    /// A link. Only `https`, `http`, `mailto`, `tel` and `#anchor`; other links are read as text.
    Link {
        /// The target.
        url: String,
        /// The tooltip; may be empty.
        title: String,
        /// The text.
        content: Vec<Inline>,
    },
    /// A picture.
    Image {
        /// The key in [`Document::assets`].
        url: String,
        /// The text alternative.
        alt: String,
        /// The caption; may be empty.
        title: String,
    },
    /// LaTeX within a line.
    Math(String),
    /// Index into [`Document::notes`].
    Footnote(usize),
    /// A line break in the source, rendered as a space.
    SoftBreak,
    /// A forced line break.
    LineBreak,
}

impl Document {
    /// Calls `see` for every inline, including nested ones: first the body, then the notes.
    pub fn each_inline<'a>(&'a self, see: &mut dyn FnMut(&'a Inline)) {
        each_in_blocks(&self.blocks, see);
        for note in &self.notes {
            each_in_blocks(note, see);
        }
    }
}

impl Document {
    /// Calls `see` for every block, including nested ones: first the body, then the notes.
    pub fn each_block<'a>(&'a self, see: &mut dyn FnMut(&'a Block)) {
        each_block_of(&self.blocks, see);
        for note in &self.notes {
            each_block_of(note, see);
        }
    }
}

impl Document {
    /// Appends the text of `other`. This document's front matter is kept. The title of `other`
    /// becomes a heading, unless its text already starts with that heading. Its references to
    /// captions become text, since both documents count their captions from one.
    pub fn append(&mut self, mut other: Document) {
        let alone = Anchors::default().of(&other.blocks);
        if let Some(title) = other.meta.title.take().filter(|title| !other.is_headed(title)) {
            let content = vec![Inline::Text(title)];
            other.blocks.insert(0, Block::Heading { level: 1, content });
        }
        let moved = anchors::moved(alone, &self.blocks, &other.blocks);
        let (notes, part) = (self.notes.len(), self.assets.len());
        let taken = |assets: &BTreeMap<String, Vec<u8>>, url: &str, bytes: &Vec<u8>| {
            assets.get(url).is_some_and(|known| known != bytes)
        };
        let mut renamed = BTreeMap::new();
        for (url, bytes) in std::mem::take(&mut other.assets) {
            let (mut name, mut number) = (url.clone(), part);
            while taken(&self.assets, &name, &bytes) {
                name = format!("{number}/{url}");
                number += 1;
            }
            self.assets.insert(name.clone(), bytes);
            renamed.insert(url, name);
        }
        for (url, width) in std::mem::take(&mut other.widths) {
            self.widths.insert(renamed.get(&url).cloned().unwrap_or(url), width);
        }
        for (url, height) in std::mem::take(&mut other.heights) {
            self.heights.insert(renamed.get(&url).cloned().unwrap_or(url), height);
        }
        let mut change = |inline: &mut Inline| match inline {
            Inline::Footnote(note) => *note += notes,
            Inline::Image { url, .. } => {
                if let Some(name) = renamed.get(url) {
                    url.clone_from(name);
                }
            }
            Inline::Link { url, content, .. } if leads_to_caption(url) => {
                *inline = Inline::Text(plain_text(content));
            }
            Inline::Link { url, .. } => {
                let anchor = url.strip_prefix('#').map(str::to_lowercase);
                if let Some(anchor) = anchor.and_then(|anchor| moved.get(&anchor)) {
                    *url = format!("#{anchor}");
                }
            }
            _ => {}
        };
        change_blocks(&mut other.blocks, &mut change);
        other.notes.iter_mut().for_each(|note| change_blocks(note, &mut change));
        self.comments.extend(other.comments.iter().map(|note| note + notes));
        self.blocks.append(&mut other.blocks);
        self.notes.append(&mut other.notes);
        self.warnings.append(&mut other.warnings);
    }

    fn is_headed(&self, title: &str) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Heading { level: 1, content } => plain_text(content).trim() == title.trim(),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_the_same_text_get_different_anchors() {
        let mut anchors = Anchors::default();
        let heading = [Inline::Text("Tables & more ".into()), Inline::Code("X_1".into())];
        assert_eq!(anchors.next(&heading), "tables--more-x_1");
        assert_eq!(anchors.next(&heading), "tables--more-x_1-1");
        let next = |text: &str| anchors.next(&[Inline::Text(text.into())]);
        let all = ["Step 1", "Step", " Step ", "Step", "Step-2"].map(next);
        assert_eq!(all, ["step-1", "step", "step-2", "step-3", "step-2-1"]);
    }

    #[test]
    fn texts_that_follow_each_other_keep_their_notes_and_pictures_apart() {
        let read = |picture: &[u8]| {
            let mut document = crate::markdown::read("x[^1] ![](a.png)\n\n[^1]: n\n").unwrap();
            document.assets.insert("a.png".into(), picture.to_vec());
            document
        };
        let mut first = read(b"one");
        first.append(read(b"one"));
        assert_eq!((first.notes.len(), first.assets.len()), (2, 1));
        first.append(read(b"two"));
        assert_eq!((first.notes.len(), first.assets.len()), (3, 2));
        let (mut notes, mut urls) = (Vec::new(), Vec::new());
        first.each_inline(&mut |inline| match inline {
            Inline::Footnote(note) => notes.push(*note),
            Inline::Image { url, .. } => urls.push(url.clone()),
            _ => {}
        });
        assert_eq!(
            (notes, urls),
            (vec![0, 1, 2], vec!["a.png".into(), "a.png".into(), "1/a.png".to_owned()])
        );
    }

    #[test]
    fn links_of_a_later_text_lead_to_its_own_headings() {
        let source = "---\ntitle: Intro\n---\n## Intro\n\n[a](#intro) [b](#Only) [c](#none)";
        let mut first = crate::markdown::read("# Intro\n\n[x](#intro)").unwrap();
        first.append(crate::markdown::read(&format!("{source}\n\n## Only")).unwrap());
        let mut urls = Vec::new();
        first.each_inline(&mut |inline| {
            if let Inline::Link { url, .. } = inline {
                urls.push(url.clone());
            }
        });
        assert_eq!(urls, ["#intro", "#intro-2", "#only", "#none"]);
    }

    #[test]
    fn a_picture_that_is_renamed_replaces_no_other() {
        let with = |names: &[&str], bytes: &[u8]| {
            let assets = names.iter().map(|name| ((*name).to_owned(), bytes.to_vec())).collect();
            Document { assets, ..Document::default() }
        };
        let mut first = with(&["a.png", "2/a.png"], b"one");
        first.append(with(&["a.png"], b"two"));
        let of = |name: &str| first.assets.get(name).map(Vec::as_slice);
        assert_eq!([of("a.png"), of("2/a.png")], [Some(&b"one"[..]); 2]);
        assert_eq!(of("3/a.png"), Some(&b"two"[..]));
    }

    #[test]
    fn a_title_that_a_later_text_does_not_repeat_stands_above_it() {
        let read = |source: &str| crate::markdown::read(source).unwrap();
        let mut first = read("---\ntitle: One\n---\na");
        first.append(read("---\ntitle: Two\n---\n## b"));
        first.append(read("---\ntitle: Three\n---\n<!-- x -->\n\n# *Three*\n\nc"));
        let mut headings = Vec::new();
        first.each_block(&mut |block| {
            if let Block::Heading { level, content } = block {
                headings.push((*level, plain_text(content)));
            }
        });
        let expected = [(1, "Two"), (2, "b"), (1, "Three")];
        assert_eq!(headings, expected.map(|(level, text)| (level, text.to_owned())));
    }

    #[test]
    fn plain_text_goes_into_styles_and_keeps_line_breaks() {
        let content = [
            Inline::Strong(vec![Inline::Emphasis(vec![Inline::Text("a".into())])]),
            Inline::SoftBreak,
            Inline::Image { url: "x".into(), alt: "b".into(), title: String::new() },
            Inline::LineBreak,
            Inline::Math("c".into()),
        ];
        assert_eq!(plain_text(&content), "a b\nc");
    }
}
