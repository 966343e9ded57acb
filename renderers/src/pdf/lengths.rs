//! Very long paragraphs, cut: Typst sets a paragraph as one piece, so that a megabyte without a break
//! would cost minutes. A cut paragraph reads the same.

use crate::document::{Inline, plain_text};

/// The most characters, and the most inlines, of a paragraph that is set as one.
pub const CHARS: usize = 4_000;
const INLINES: usize = 600;

/// The paragraphs to set: one, but for very long ones.
pub fn cut(content: &[Inline]) -> Vec<Vec<Inline>> {
    let mut cuts = Vec::new();
    let mut part = Vec::new();
    let mut chars = 0;
    for inline in content {
        for piece in pieces(inline) {
            let size = size(&piece);
            if !part.is_empty() && (chars + size > CHARS || part.len() >= INLINES) {
                cuts.push(std::mem::take(&mut part));
                chars = 0;
            }
            chars += size;
            part.push(piece);
        }
    }
    if !part.is_empty() {
        cuts.push(part);
    }
    cuts
}

pub fn size(inline: &Inline) -> usize {
    plain_text(std::slice::from_ref(inline)).len()
}

fn pieces(inline: &Inline) -> Vec<Inline> {
    let (text, make): (&String, fn(String) -> Inline) = match inline {
        Inline::Text(text) => (text, Inline::Text),
        Inline::Code(text) => (text, Inline::Code),
        other => return vec![other.clone()],
    };
    if text.len() <= CHARS {
        return vec![inline.clone()];
    }
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(CHARS).map(|chunk| make(chunk.iter().collect())).collect()
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
    fn a_usual_paragraph_stays_whole() {
        let content = vec![Inline::Text("a".into()), Inline::SoftBreak, Inline::Text("b".into())];
        assert_eq!(cut(&content), [content]);
    }
}
