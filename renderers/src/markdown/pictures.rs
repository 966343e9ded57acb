//! The width and the maximum height of pictures: `![…](…){width=30%}` as in Pandoc, `![w:400 …](…)`
//! and `![h:300 …](…)` as in Marp, and `<img width=200>`. Pictures that are alone in a paragraph stand side by side.

use super::reader::Reader;
use crate::document::{Block, Inline, PictureWidth};

/// More pictures than this stay in their line, like the badges of a project.
const SIDE_BY_SIDE: usize = 4;

/// Removes the widths and heights from the text and notes them.
pub fn settle(reader: &mut Reader, mut content: Vec<Inline>) -> Vec<Inline> {
    for at in 0..content.len() {
        let Some(Inline::Image { url, alt, .. }) = content.get_mut(at) else { continue };
        let url = url.clone();
        let mut words = alt.as_str();
        while let Some((size, rest)) = marp(words) {
            words = rest;
            match size {
                MarpSize::Width(width) => note(reader, &url, width),
                MarpSize::Height(height) => note_pixels(reader, &url, height),
            }
        }
        let words = words.to_owned();
        *alt = words;
        let Some(Inline::Text(text)) = content.get_mut(at + 1) else { continue };
        let Some((attributes, rest)) = text.strip_prefix('{').and_then(|t| t.split_once('}'))
        else {
            continue;
        };
        if let Some(read) = Attributes::read(attributes) {
            *text = rest.to_owned();
            if let Some(name) = read.name {
                reader.names.insert(url.clone(), name);
            }
            if let Some(width) = read.width {
                note(reader, &url, width);
            }
            if let Some(height) = read.height {
                note_height(reader, &url, &height);
            }
        }
    }
    content.retain(|inline| !matches!(inline, Inline::Text(text) if text.is_empty()));
    content
}

/// Notes a width. A picture has the same width wherever it is used.
pub fn note(reader: &mut Reader, url: &str, width: PictureWidth) {
    let known = reader.widths.entry(url.to_owned()).or_insert(width);
    if *known != width {
        let url: String = url.chars().take(60).collect();
        reader
            .losses
            .other(format!("The picture {url} has several widths; the first one is used."));
    }
}

/// Notes a maximum height as it is written. Only pixels are supported.
pub fn note_height(reader: &mut Reader, url: &str, height: &str) {
    match PictureWidth::read_height(height) {
        Some(height) => note_pixels(reader, url, height),
        None if matches!(height.trim(), "" | "auto") => {}
        None => {
            let [height, url] = [height, url].map(|text| text.chars().take(60).collect::<String>());
            reader.losses.other(format!(
                "The height “{height}” of the picture {url} was ignored; heights are in pixels."
            ));
        }
    }
}

/// Notes a maximum height in pixels. A picture has the same one wherever it is used.
fn note_pixels(reader: &mut Reader, url: &str, height: f64) {
    let known = *reader.heights.entry(url.to_owned()).or_insert(height);
    if (known - height).abs() > f64::EPSILON {
        let url: String = url.chars().take(60).collect();
        reader
            .losses
            .other(format!("The picture {url} has several heights; the first one is used."));
    }
}

/// The attributes of a picture.
#[derive(Default)]
struct Attributes {
    width: Option<PictureWidth>,
    /// As written.
    height: Option<String>,
    /// Such as `fig:name`.
    name: Option<String>,
}

impl Attributes {
    /// Reads the text between braces; `None` if it is something else.
    fn read(text: &str) -> Option<Self> {
        let mut read = Self::default();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some(("width", value)) => read.width = Some(PictureWidth::read(value)?),
                Some(("height", value)) => read.height = Some(value.to_owned()),
                Some((key, _)) if key.chars().all(|c| c.is_alphanumeric() || c == '-') => {}
                None if word.starts_with("#fig:") => read.name = Some(word[1..].to_owned()),
                None if word.starts_with(['#', '.']) => {}
                _ => return None,
            }
        }
        (!text.trim().is_empty()).then_some(read)
    }
}

/// A size before an alternative text.
enum MarpSize {
    Width(PictureWidth),
    /// In pixels.
    Height(f64),
}

/// The size before an alternative text, and the text.
fn marp(alt: &str) -> Option<(MarpSize, &str)> {
    let (word, rest) = alt.split_once(' ').unwrap_or((alt, ""));
    let (name, value) = word.split_once(':')?;
    let size = match name {
        "w" | "width" => MarpSize::Width(PictureWidth::read(value)?),
        "h" | "height" => MarpSize::Height(PictureWidth::read_height(value)?),
        _ => return None,
    };
    Some((size, rest.trim()))
}

/// Two to four pictures without words between them, side by side.
pub fn side_by_side(content: &[Inline]) -> Option<Block> {
    let is_part = |inline: &Inline| match inline {
        Inline::Image { alt, .. } => alt.split(' ').next() != Some("bg"),
        Inline::Text(text) => text.trim().is_empty(),
        Inline::SoftBreak => true,
        _ => false,
    };
    let pictures: Vec<&Inline> =
        content.iter().filter(|inline| matches!(inline, Inline::Image { .. })).collect();
    let column = |picture: &&Inline| vec![Block::Paragraph(vec![(*picture).clone()])];
    ((2..=SIDE_BY_SIDE).contains(&pictures.len()) && content.iter().all(is_part))
        .then(|| Block::Columns(pictures.iter().map(column).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::plain_text;
    use crate::markdown;

    #[test]
    fn widths_have_three_forms() {
        let source = "![A](a.png){width=30%} and ![w:400px B](b.png)\n\n<img src=c.png width=\"200\">\n\n\
                      ![D](d.png){this}\n\n![E](e.png){#fig:e .wide}";
        let document = markdown::read(source).unwrap();
        let width = |url: &str| document.widths.get(url).copied();
        assert_eq!(width("a.png"), Some(PictureWidth::Share(0.3)));
        assert_eq!(width("b.png"), Some(PictureWidth::Pixels(400.0)));
        assert_eq!(width("c.png"), Some(PictureWidth::Pixels(200.0)));
        assert_eq!((width("d.png"), document.warnings.len()), (None, 0));
        let text = |at: usize| match &document.blocks[at] {
            Block::Paragraph(content) => plain_text(content),
            other => panic!("{other:?}"),
        };
        assert_eq!([text(0), text(2), text(3)], ["A and B", "D{this}", "E"]);
    }

    /// If the text were copied for each size, this would take many minutes instead of seconds.
    #[test]
    fn many_sizes_are_read_once() {
        let source = format!("![{}A](a.png)", "w:40 ".repeat(400_000));
        let document = markdown::read(&source).unwrap();
        let Block::Paragraph(content) = &document.blocks[0] else { panic!("no paragraph") };
        assert_eq!(plain_text(content), "A");
    }

    #[test]
    fn heights_have_three_forms_or_are_reported() {
        let source = "![h:300px w:400 A](a.png) ![B](b.png){height=200}\n\n<img src=c.png height=100>\n\n\
                      ![D](d.png){height=50%} ![h:tall](e.png) <img src=f.png height=auto>";
        let document = markdown::read(source).unwrap();
        let height = |url: &str| document.heights.get(url).copied();
        assert_eq!(height("a.png"), Some(300.0));
        assert_eq!(document.widths.get("a.png"), Some(&PictureWidth::Pixels(400.0)));
        assert_eq!([height("b.png"), height("c.png")], [Some(200.0), Some(100.0)]);
        assert_eq!([height("d.png"), height("e.png"), height("f.png")], [None; 3]);
        let said = "The height “50%” of the picture d.png was ignored; heights are in pixels.";
        assert_eq!(document.warnings, [said]);
        let mut alts = Vec::new();
        document.each_inline(&mut |inline| {
            if let Inline::Image { alt, .. } = inline {
                alts.push(alt.clone());
            }
        });
        assert_eq!(alts, ["A", "B", "", "D", "h:tall", ""]);
    }

    #[test]
    fn pictures_without_words_between_them_stand_side_by_side() {
        let columns = |source: &str| match &markdown::read(source).unwrap().blocks[0] {
            Block::Columns(columns) => columns.len(),
            _ => 0,
        };
        assert_eq!(columns("![a](a.png) ![b](b.png)"), 2);
        assert_eq!(columns("![a](a.png)\n![b](b.png)\n![c](c.png)"), 3);
        assert_eq!(columns("![a](a.png) and ![b](b.png)"), 0);
        assert_eq!(columns("![a](a.png)"), 0);
        assert_eq!(columns("![bg](a.png) ![bg](b.png)"), 0);
    }
}
