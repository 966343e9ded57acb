//! The numbered lists of a slide.

use super::{
    item_labels::{LabelNumerals, item_mark},
    words::ItemMark,
    xml::XmlElement,
};
use crate::package::numerals::Numerals;

/// Lists deeper than this are counted as lists of this depth.
const DEEPEST: usize = 8;

/// What `buAutoNum` says of the list of a paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    first: u64,
    /// How the numbers are written, such as `alphaLcParenBoth` for `(a)`.
    kind: String,
}

impl Numbering {
    pub fn read(element: &XmlElement) -> Self {
        let kind = element.attribute("type").unwrap_or_default().to_owned();
        Self { first: element.number("startAt").unwrap_or(1) as u64, kind }
    }

    fn label(&self, number: u64) -> String {
        let numerals = match self.kind.as_str() {
            kind if kind.starts_with("alpha") => Numerals::Letters,
            kind if kind.starts_with("roman") => Numerals::Roman,
            _ => Numerals::Digits,
        };
        let is_upper = self.kind.contains("Uc");
        let number = LabelNumerals { numerals, is_upper, repeats: true }.write(number);
        match self.kind.as_str() {
            kind if kind.ends_with("ParenBoth") => format!("({number})"),
            kind if kind.ends_with("ParenR") => format!("{number})"),
            _ => format!("{number}."),
        }
    }
}

/// How far the lists of a shape are counted, by the depth of their items.
#[derive(Default)]
pub struct SlideLists(Vec<OpenList>);

#[derive(Default, Clone)]
struct OpenList {
    /// `None` between lists.
    numbering: Option<Numbering>,
    last: u64,
}

impl SlideLists {
    /// The mark of a paragraph. Items continue the list before them if it has the same first number
    /// and kind, and nothing of less depth is between.
    pub fn mark(&mut self, depth: usize, numbering: Option<Numbering>) -> ItemMark {
        let depth = depth.min(DEEPEST);
        self.0.resize(depth + 1, OpenList::default());
        let list = &mut self.0[depth];
        let continues = list.numbering.is_some() && list.numbering == numbering;
        let first = numbering.as_ref().map_or(0, |numbering| numbering.first);
        list.last = if continues { list.last.saturating_add(1) } else { first };
        list.numbering = numbering;
        let counted = list.numbering.as_ref().map(|numbering| numbering.label(list.last));
        counted.map_or(ItemMark::Bullet, |label| item_mark(&label, depth, list.last))
    }
}
