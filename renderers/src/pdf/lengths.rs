//! Splits very long paragraphs and code: Typst lays out each as a whole, so a megabyte without a
//! break would take minutes. The text reads the same after the split.

use crate::document::{Inline, plain_text};
use crate::package::text;

/// The maximum number of characters and of inlines per paragraph.
pub const CHARS: usize = 4_000;
const INLINES: usize = 600;
/// The maximum number of lines and of bytes of code that is laid out as a whole: the cost grows with
/// the square of its length.
const CODE_LINES: usize = 250;
const CODE_BYTES: usize = 100_000;

/// The paragraphs to lay out: one, except for very long ones.
pub fn cut(content: &[Inline]) -> Vec<Vec<Inline>> {
    let mut cuts = Cuts::default();
    for inline in content {
        match inline {
            Inline::Text(text) => cuts.text(text, Inline::Text),
            Inline::Code(text) => cuts.text(text, Inline::Code),
            other => cuts.formatted(other.clone()),
        }
    }
    cuts.end();
    cuts.done
}

/// The lines of code, of which very long ones are cut.
pub fn lines(code: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for line in code.lines() {
        let mut rest = line;
        while let Some((end, _)) = rest.char_indices().nth(CHARS) {
            lines.push(&rest[..end]);
            rest = &rest[end..];
        }
        lines.push(rest);
    }
    lines
}

/// The parts of code to lay out, at least one.
pub fn parts(lines: &[String]) -> Vec<&[String]> {
    let (mut parts, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (at, line) in lines.iter().enumerate() {
        let is_full = at - begin >= CODE_LINES || bytes + line.len() > CODE_BYTES;
        if is_full && at > begin {
            parts.push(&lines[begin..at]);
            (begin, bytes) = (at, 0);
        }
        bytes += line.len();
    }
    parts.push(&lines[begin..]);
    parts
}

pub fn size(inline: &Inline) -> usize {
    plain_text(std::slice::from_ref(inline)).chars().count()
}

#[derive(Default)]
struct Cuts {
    done: Vec<Vec<Inline>>,
    part: Vec<Inline>,
    /// Characters in the current part.
    chars: usize,
}

impl Cuts {
    fn push(&mut self, inline: Inline) {
        let size = size(&inline);
        if self.chars + size > CHARS || self.part.len() >= INLINES {
            self.end();
        }
        self.chars += size;
        self.part.push(inline);
    }

    /// Adds as much text as fits, up to the end of a sentence or word, then continues in the next
    /// part.
    fn text(&mut self, text: &str, make: fn(String) -> Inline) {
        let mut rest = text;
        while let Some((room, _)) = rest.char_indices().nth(CHARS.saturating_sub(self.chars)) {
            // The unfinished word moves to the next part, unless it fills a part by itself.
            let hard = if self.part.is_empty() { room } else { 0 };
            let (head, tail) = rest.split_at(good_end(&rest[..room]).unwrap_or(hard));
            if !head.is_empty() {
                self.push(make(head.to_owned()));
            }
            self.end();
            rest = tail;
        }
        if !rest.is_empty() {
            self.push(make(rest.to_owned()));
        }
    }

    /// Adds formatted text, in as many parts as it needs. The space at the end of a part is lost, so
    /// that what follows it is not in the same part.
    fn formatted(&mut self, inline: Inline) {
        let mut rest = vec![inline];
        while rest.iter().map(size).sum::<usize>() > CHARS {
            let (head, tail) = text::cut(rest, CHARS);
            for inline in head {
                self.push(inline);
            }
            self.end();
            rest = tail;
        }
        for inline in rest {
            self.push(inline);
        }
    }

    fn end(&mut self) {
        self.chars = 0;
        if !self.part.is_empty() {
            self.done.push(std::mem::take(&mut self.part));
        }
    }
}

const SENTENCE_ENDS: [&str; 9] = [". ", "! ", "? ", "。", "！", "？", "।", "۔", "؟"];

/// The best position for a split: after the last sentence, unless little text would remain before
/// it, otherwise after the last word.
fn good_end(text: &str) -> Option<usize> {
    let behind = |end: &&str| text.rfind(*end).map(|at| at + end.len());
    let sentence = SENTENCE_ENDS.iter().filter_map(behind).max();
    sentence.filter(|at| *at > text.len() / 4).or_else(|| behind(&" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paragraph_is_cut_and_loses_nothing() {
        let text = "é".repeat(CHARS) + &"x".repeat(CHARS);
        let content =
            vec![Inline::Text(text.clone()), Inline::Strong(vec![Inline::Text("end".into())])];
        let cuts = cut(&content);
        assert!(cuts.len() > 2, "{}", cuts.len());
        assert_eq!(cuts.iter().map(|part| plain_text(part)).collect::<String>(), text + "end");
        let many = vec![Inline::Math("x".into()); INLINES + 1];
        assert_eq!(cut(&many).len(), 2);
    }

    #[test]
    fn characters_count_and_sentences_stay_whole() {
        let whole = vec![Inline::Text("字".repeat(CHARS))];
        assert_eq!(cut(&whole), vec![whole]);
        for (sentence, words) in [("One of many words. ", "and so on "), ("许多句子之一。", "字")]
        {
            let start = sentence.repeat(CHARS / 2 / sentence.chars().count());
            let content = vec![
                Inline::Strong(vec![Inline::Text("Note".into())]),
                Inline::Text(start + &words.repeat(CHARS)),
            ];
            let cuts = cut(&content);
            let first = plain_text(&cuts[0]);
            assert!(first.trim_end().ends_with(sentence.trim_end()), "{sentence}");
            assert!(plain_text(&cuts[1]).starts_with(words), "{sentence}");
            let all: String = cuts.iter().map(|part| plain_text(part)).collect();
            assert_eq!(all.replace(' ', ""), plain_text(&content).replace(' ', ""));
        }
    }

    #[test]
    fn formatted_text_is_cut_too() {
        let text = vec![Inline::Text("many words ".repeat(CHARS))];
        let link = |content| Inline::Link { url: "#a".into(), title: String::new(), content };
        let content = vec![link(vec![Inline::Strong(text.clone())]), Inline::Text("end".into())];
        let cuts = cut(&content);
        assert!(cuts.len() > 10, "{}", cuts.len());
        for part in &cuts {
            assert!(part.iter().map(size).sum::<usize>() <= CHARS);
            assert!(matches!(part[0], Inline::Link { .. }), "{part:?}");
        }
        let all: String = cuts.iter().map(|part| plain_text(part)).collect();
        assert_eq!(all.replace(' ', ""), (plain_text(&text) + "end").replace(' ', ""));
        let formula = vec![Inline::Math("x".repeat(2 * CHARS))];
        assert_eq!(cut(&formula), [formula]);
        let words = format!("{} end", "x".repeat(CHARS - 3));
        let cuts = cut(&[Inline::Strong(vec![Inline::Text(words)])]);
        let sizes: Vec<usize> = cuts.iter().map(|part| plain_text(part).len()).collect();
        assert_eq!(sizes, [CHARS - 3, 3]);
    }

    #[test]
    fn long_lines_of_code_and_long_code_are_cut() {
        assert_eq!(lines("a\n\nb\n"), ["a", "", "b"]);
        let long = "é".repeat(CHARS * 2 + 1);
        let pieces = lines(&long);
        assert_eq!((pieces.len(), pieces.concat()), (3, long));
        let sizes = |count: usize, length: usize| -> Vec<usize> {
            let code = vec!["x".repeat(length); count];
            parts(&code).iter().map(|part| part.len()).collect()
        };
        assert_eq!(sizes(0, 0), [0]);
        assert_eq!(sizes(CODE_LINES, 80), [CODE_LINES]);
        assert_eq!(sizes(CODE_LINES + 1, 80), [CODE_LINES, 1]);
        assert_eq!(sizes(60, CHARS), [25, 25, 10]);
        assert_eq!(sizes(2, CODE_BYTES + 1), [1, 1]);
    }

    #[test]
    fn a_usual_paragraph_stays_whole() {
        let content = vec![Inline::Text("a".into()), Inline::SoftBreak, Inline::Text("b".into())];
        assert_eq!(cut(&content), [content]);
    }
}
