//! Slots of Slidev's layouts: `::left::` and `::right::` on lines of their own become columns.

use std::borrow::Cow;

use super::slide_settings::after_fence;

/// A line that begins a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Left,
    Right,
    /// The text above or below the columns.
    Whole,
}

/// Replaces the slots of each slide by columns. The heading above them stays above.
pub fn to_columns(source: &str) -> Cow<'_, str> {
    let slots = slots(source);
    if slots.iter().all(|line| line.slot.is_none()) {
        return Cow::Borrowed(source);
    }
    let mut text = String::with_capacity(source.len() + 64);
    for slide in slots.split_inclusive(|line| line.is_rule) {
        if slide.iter().any(|line| line.slot.is_some()) {
            SlotSlide::of(slide).write(&mut text);
        } else {
            text.extend(slide.iter().map(|line| line.text));
        }
    }
    Cow::Owned(text)
}

struct SlotLine<'s> {
    text: &'s str,
    slot: Option<Slot>,
    /// Whether the line ends a slide.
    is_rule: bool,
}

/// The lines of a text. Code has neither slots nor rules.
fn slots(source: &str) -> Vec<SlotLine<'_>> {
    let (mut fence, mut is_after_text) = (None, false);
    let lines = source.split_inclusive('\n').map(|text| {
        let line = text.trim_end();
        fence = after_fence(fence, line);
        let slot = match line {
            _ if fence.is_some() => None,
            "::left::" => Some(Slot::Left),
            "::right::" => Some(Slot::Right),
            "::default::" | "::bottom::" => Some(Slot::Whole),
            _ => None,
        };
        // Below a text it would underline a heading.
        let is_rule = fence.is_none() && line == "---" && !is_after_text;
        is_after_text = !line.is_empty();
        SlotLine { text, slot, is_rule }
    });
    lines.collect()
}

/// The parts of a slide with slots.
#[derive(Default)]
struct SlotSlide {
    above: String,
    left: String,
    right: String,
    below: String,
}

impl SlotSlide {
    fn of(lines: &[SlotLine<'_>]) -> Self {
        let mut slide = Self::default();
        let first = lines.iter().find_map(|line| line.slot);
        // Without a slot for it, the left column is the text below the heading.
        let mut slot = Slot::Whole;
        for line in lines {
            match line.slot {
                Some(next) => slot = next,
                None if line.is_rule => slide.below.extend(["\n", line.text]),
                None => slide.part(slot).push_str(line.text),
            }
            let is_heading = slot == Slot::Whole && line.text.starts_with('#');
            if is_heading && first == Some(Slot::Right) && slide.right.is_empty() {
                slot = Slot::Left;
            }
        }
        if first == Some(Slot::Right) && slot != Slot::Left && !slide.above.contains('#') {
            slide.left = std::mem::take(&mut slide.above);
        }
        slide
    }

    fn part(&mut self, slot: Slot) -> &mut String {
        match slot {
            Slot::Left => &mut self.left,
            Slot::Right => &mut self.right,
            Slot::Whole if self.left.is_empty() && self.right.is_empty() => &mut self.above,
            Slot::Whole => &mut self.below,
        }
    }

    fn write(&self, text: &mut String) {
        text.push_str(&self.above);
        if self.left.trim().is_empty() || self.right.trim().is_empty() {
            text.extend([self.left.as_str(), "\n", self.right.as_str(), "\n"]);
        } else {
            text.push_str("\n::: columns\n\n");
            for column in [&self.left, &self.right] {
                text.extend(["::: column\n\n", column.as_str(), "\n:::\n\n"]);
            }
            text.push_str(":::\n\n");
        }
        text.push_str(&self.below);
    }
}

#[cfg(test)]
mod tests {
    use crate::document::Block;
    use crate::markdown;
    use crate::package::text::flat;

    /// The blocks of a text, with columns as lists.
    fn read(source: &str) -> Vec<String> {
        let document = markdown::read(source).unwrap();
        let shown = |block: &Block| match block {
            Block::Columns(columns) => {
                let columns: Vec<String> = columns.iter().map(|one| flat(one).join(" ")).collect();
                format!("[{}]", columns.join("|"))
            }
            Block::Break => "---".to_owned(),
            block => flat(std::slice::from_ref(block)).join(" "),
        };
        document.blocks.iter().map(shown).collect()
    }

    #[test]
    fn slots_are_columns() {
        let source = "# A\n\n---\nlayout: two-cols\n---\n\n# B\n\nleft\n\n::right::\n\nright\n\n---\n\n# C\n";
        assert_eq!(read(source), ["A", "---", "B", "[left|right]", "---", "C"]);
        let source = "# B\n\nabove\n\n::left::\n\nl\n\n::right::\n\nr\n\n::bottom::\n\nbelow\n";
        assert_eq!(read(source), ["B", "above", "[l|r]", "below"]);
        assert_eq!(read("left\n\n::right::\n\nright\n"), ["[left|right]"]);
    }

    #[test]
    fn a_slot_alone_and_code_are_no_columns() {
        assert_eq!(read("# B\n\n::right::\n\nr\n"), ["B", "r"]);
        assert_eq!(read("```\n::right::\n```\n"), ["::right::"]);
        assert_eq!(read("x ::right:: y"), ["x ::right:: y"]);
    }

    #[test]
    fn layouts_with_columns_are_not_reported() {
        let source = "# A\n\n---\nlayout: two-cols\n---\n\n# B\n\nl\n\n::right::\n\nr\n";
        assert_eq!(markdown::read(source).unwrap().warnings, Vec::<&str>::new());
    }
}
