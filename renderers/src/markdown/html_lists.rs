//! Lists of HTML with the numbers that a browser shows: `start`, `value` and `reversed`.

use super::html::Tag;
use super::reader::Reader;
use crate::document::{Block, Item, List};
use crate::package::numerals::Numerals;

/// A list that is being read.
#[derive(Default)]
pub struct HtmlList {
    is_numbered: bool,
    start: Option<u64>,
    is_reversed: bool,
    items: Vec<HtmlItem>,
}

struct HtmlItem {
    /// The number that the item sets.
    value: Option<u64>,
    blocks: Vec<Block>,
}

impl HtmlList {
    /// The list that `<ol>` begins, in `level` other lists.
    pub fn numbered(tag: &Tag, level: usize, reader: &mut Reader) -> Self {
        let kind = tag.attribute("type").unwrap_or_default();
        let own = match kind.trim() {
            "1" => Some(Numerals::Digits),
            "a" => Some(Numerals::Letters),
            "i" => Some(Numerals::Roman),
            _ => None,
        };
        if !kind.trim().is_empty() && own != Some(Numerals::of(level)) {
            let sentence = "The type of HTML lists was ignored: their levels have numbers, letters \
                            and Roman numerals in turn.";
            reader.losses.other(sentence.to_owned());
        }
        let is_reversed = tag.attribute("reversed").is_some();
        Self { is_numbered: true, start: number(tag, "start"), is_reversed, items: Vec::new() }
    }

    /// The name of its tags.
    pub fn tag(&self) -> &'static str {
        if self.is_numbered { "ol" } else { "ul" }
    }

    pub fn item(&mut self, tag: &Tag) {
        let value = number(tag, "value").filter(|_| self.is_numbered);
        self.items.push(HtmlItem { value, blocks: Vec::new() });
    }

    /// Adds a block to the last item.
    pub fn push(&mut self, block: Block) {
        if self.items.is_empty() {
            self.items.push(HtmlItem { value: None, blocks: Vec::new() });
        }
        if let Some(item) = self.items.last_mut() {
            item.blocks.push(block);
        }
    }

    /// The list, or several where the numbers do not count on.
    pub fn finish(self) -> Vec<List> {
        let count = self.items.len() as u64;
        let first = self.start.unwrap_or(if self.is_reversed { count } else { 1 });
        let (mut lists, mut next): (Vec<List>, u64) = (Vec::new(), first);
        for HtmlItem { value, blocks } in self.items {
            let number = value.unwrap_or(next);
            let counts_on = lists.last().is_some_and(|list| {
                let end = list.start.map(|start| start.saturating_add(list.items.len() as u64));
                end.is_none_or(|end| end == number)
            });
            if !counts_on {
                let start = self.is_numbered.then_some(number);
                lists.push(List { start, tight: true, items: Vec::new() });
            }
            if let Some(list) = lists.last_mut() {
                list.items.push(Item { task: None, blocks });
            }
            next =
                if self.is_reversed { number.saturating_sub(1) } else { number.saturating_add(1) };
        }
        lists
    }
}

fn number(tag: &Tag, name: &str) -> Option<u64> {
    tag.attribute(name)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::document::Block;
    use crate::markdown;

    /// The number of each list and of its items.
    fn lists(html: &str) -> (Vec<(Option<u64>, usize)>, usize) {
        let document = markdown::read(html).unwrap();
        let mut lists = Vec::new();
        document.each_block(&mut |block| {
            if let Block::List(list) = block {
                lists.push((list.start, list.items.len()));
            }
        });
        (lists, document.warnings.len())
    }

    #[test]
    fn numbers_of_html_lists_are_kept() {
        for (html, wanted, warnings) in [
            ("<ol><li>a<li>b</ol>", &[(Some(1), 2)][..], 0),
            (
                "<ol start=3><li>a<li value=4>b<li value=9>c<li>d</ol>",
                &[(Some(3), 2), (Some(9), 2)],
                0,
            ),
            ("<ol reversed><li>a<li>b</ol>", &[(Some(2), 1), (Some(1), 1)], 0),
            ("<ul><li value=3>a<li>b</ul>", &[(None, 2)], 0),
            ("<ol type=1><li>a<ol type=a><li>b</ol></ol>", &[(Some(1), 1), (Some(1), 1)], 0),
            ("<ol type=A><li>a</ol>", &[(Some(1), 1)], 1),
        ] {
            assert_eq!(lists(html), (wanted.to_vec(), warnings), "{html}");
        }
    }
}
