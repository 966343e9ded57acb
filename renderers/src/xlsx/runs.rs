//! Inlines as runs of styled text, the only content of a cell.

pub use unicode::width;

use crate::document::{Inline, Mark, leads_to_caption};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    pub text: String,
    pub style: RunStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct RunStyle {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub code: bool,
    pub link: bool,
    /// The innermost mark.
    pub mark: Option<Mark>,
}

/// The text of a cell and its links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runs {
    pub pieces: Vec<Run>,
    pub links: Vec<String>,
    /// URLs and descriptions of pictures, which are drawn over the cell of a table.
    pub images: Vec<(String, String)>,
    /// Whether a formula is shown as LaTeX.
    pub has_math: bool,
}

impl Runs {
    pub fn read(content: &[Inline]) -> Self {
        let mut runs = Runs::default();
        let links = count_links(content);
        runs.add(content, RunStyle::default(), links > 1);
        if let Some(last) = runs.pieces.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        runs.pieces.retain(|run| !run.text.is_empty());
        runs
    }

    /// The text of a cell, in which pictures are their descriptions.
    pub fn of_text(content: &[Inline]) -> Self {
        Self { images: Vec::new(), ..Self::read(content) }
    }

    pub fn text(&self) -> String {
        self.pieces.iter().map(|run| run.text.as_str()).collect()
    }

    /// The width of the longest line; a wide character counts twice.
    pub fn width(&self) -> usize {
        self.text().lines().map(width).max().unwrap_or(0)
    }

    /// The common style of all runs, if there is one.
    pub fn style(&self) -> Option<RunStyle> {
        let first = self.pieces.first().map_or(RunStyle::default(), |run| run.style);
        self.pieces.iter().all(|run| run.style == first).then_some(first)
    }

    /// The runs within bold text, where bold ones are like the others.
    pub fn within_bold(&self) -> Self {
        let mut runs = Self { pieces: Vec::new(), ..self.clone() };
        for run in &self.pieces {
            runs.push(&run.text, RunStyle { bold: false, ..run.style });
        }
        runs
    }

    /// The runs with the text `name`, which may be their own text, the beginning of it, or longer.
    pub fn named(&self, name: &str) -> Self {
        let mut runs = Self { pieces: Vec::new(), ..self.clone() };
        let mut rest = name;
        for run in &self.pieces {
            let shared = run.text.chars().zip(rest.chars()).take_while(|(own, other)| own == other);
            let length: usize = shared.map(|(own, _)| own.len_utf8()).sum();
            let (same, other) = rest.split_at(length);
            runs.push(same, run.style);
            rest = other;
            if length < run.text.len() {
                break;
            }
        }
        runs.push(rest, RunStyle::default());
        runs
    }

    /// The external link of the cell. Anchors of the document do not exist in Excel.
    pub fn url(&self) -> Option<&String> {
        self.links.first().filter(|url| !url.starts_with('#'))
    }

    /// The text with the URL written out, unless it contains it.
    pub fn spelled(&self, url: &str) -> Self {
        let mut runs = self.clone();
        let address = url.trim_start_matches("mailto:").trim_start_matches("tel:");
        if !self.text().contains(address) {
            runs.push(&format!(" ({address})"), RunStyle::default());
        }
        runs
    }

    /// A cell can hold only one link, so several URLs are written out.
    fn add(&mut self, content: &[Inline], style: RunStyle, spell_out: bool) {
        for inline in content {
            match inline {
                Inline::Text(text) => self.push(text, style),
                Inline::Code(text) => self.push(text, RunStyle { code: true, ..style }),
                Inline::Math(text) => {
                    self.has_math = true;
                    self.push(text, RunStyle { code: true, ..style });
                }
                Inline::Strong(inner) => {
                    self.add(inner, RunStyle { bold: true, ..style }, spell_out);
                }
                Inline::Emphasis(inner) => {
                    self.add(inner, RunStyle { italic: true, ..style }, spell_out);
                }
                Inline::Strike(inner) => {
                    self.add(inner, RunStyle { strike: true, ..style }, spell_out);
                }
                Inline::Marked(mark, inner) => {
                    self.add(inner, RunStyle { mark: Some(*mark), ..style }, spell_out);
                }
                Inline::Link { url, content, .. } if leads_to_caption(url) => {
                    self.add(content, style, spell_out);
                }
                Inline::Link { url, content, .. } => {
                    self.add(content, RunStyle { link: true, ..style }, spell_out);
                    if spell_out {
                        self.push(&format!(" ({url})"), style);
                    } else {
                        self.links.push(url.clone());
                    }
                }
                Inline::Image { url, alt, .. } => {
                    self.push(&format!("[image: {alt}]"), style);
                    self.images.push((url.clone(), alt.clone()));
                }
                Inline::Footnote(index) => self.push(&format!("[{}]", index + 1), style),
                Inline::SoftBreak => self.push(" ", style),
                Inline::LineBreak => self.push("\n", style),
            }
        }
    }

    fn push(&mut self, text: &str, style: RunStyle) {
        match self.pieces.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            // Excel allows no empty runs.
            _ if text.is_empty() => {}
            _ => self.pieces.push(Run { text: text.to_owned(), style }),
        }
    }
}

/// The content with the captions of its pictures, but without them.
pub fn without_pictures(content: &[Inline]) -> Vec<Inline> {
    let kept = content.iter().filter_map(|inline| {
        Some(match inline {
            Inline::Image { title, .. } if title.is_empty() => return None,
            Inline::Image { title, .. } => Inline::Emphasis(vec![Inline::Text(title.clone())]),
            Inline::Strong(inner) => Inline::Strong(without_pictures(inner)),
            Inline::Emphasis(inner) => Inline::Emphasis(without_pictures(inner)),
            Inline::Strike(inner) => Inline::Strike(without_pictures(inner)),
            Inline::Marked(mark, inner) => Inline::Marked(*mark, without_pictures(inner)),
            Inline::Link { url, title, content } => Inline::Link {
                url: url.clone(),
                title: title.clone(),
                content: without_pictures(content),
            },
            other => other.clone(),
        })
    });
    kept.collect()
}

fn count_links(content: &[Inline]) -> usize {
    let count = |inline: &Inline| match inline {
        Inline::Link { url, .. } if leads_to_caption(url) => 0,
        Inline::Link { .. } => 1,
        Inline::Strong(inner)
        | Inline::Emphasis(inner)
        | Inline::Strike(inner)
        | Inline::Marked(_, inner) => count_links(inner),
        _ => 0,
    };
    content.iter().map(count).sum()
}

/// The text of a cell that begins with `=`, including the asterisks that Markdown read as emphasis,
/// so that `=A1*B1*C1` stays a product. Code is never a formula.
pub fn formula_source(content: &[Inline]) -> Option<String> {
    let mut source = String::new();
    add_source(content, &mut source)?;
    let source = source.trim();
    (source.starts_with('=') && source.len() > 1).then(|| source.to_owned())
}

fn add_source(content: &[Inline], source: &mut String) -> Option<()> {
    for inline in content {
        let (mark, inner) = match inline {
            Inline::Text(text) => {
                source.push_str(text);
                continue;
            }
            Inline::Emphasis(inner) => ("*", inner),
            Inline::Strong(inner) => ("**", inner),
            Inline::Link { content, .. } => ("", content),
            _ => return None,
        };
        source.push_str(mark);
        add_source(inner, source)?;
        source.push_str(mark);
    }
    Some(())
}

/// The display width of characters.
mod unicode {
    /// Terminal columns, which are close to the width in a proportional font.
    pub fn width(text: &str) -> usize {
        text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
    }

    fn is_wide(c: char) -> bool {
        matches!(c as u32,
            0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff
            | 0x20000..=0x3fffd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Inline {
        Inline::Text(text.into())
    }

    #[test]
    fn one_link_is_the_cells_and_several_are_spelled_out() {
        let link = |url: &str| Inline::Link {
            url: url.into(),
            title: String::new(),
            content: vec![text("x")],
        };
        let one = Runs::read(&[text("a "), link("https://a")]);
        assert_eq!((one.text().as_str(), one.links.len()), ("a x", 1));
        let two = Runs::read(&[link("https://a"), Inline::Strong(vec![link("https://b")])]);
        assert_eq!((two.text().as_str(), two.links.len()), ("x (https://a)x (https://b)", 0));
    }

    #[test]
    fn stars_that_markdown_ate_come_back_in_formulas() {
        let cell = [text("=A1"), Inline::Emphasis(vec![text("B1")]), text("C1")];
        assert_eq!(formula_source(&cell).as_deref(), Some("=A1*B1*C1"));
        assert_eq!(formula_source(&[Inline::Code("=A1".into())]), None);
        assert_eq!(formula_source(&[text("a=1")]), None);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(Runs::read(&[text("a中\nlong line")]).width(), 9);
        assert_eq!(Runs::read(&[text("中文")]).width(), 4);
    }
}
