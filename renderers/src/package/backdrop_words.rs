//! The words that place a picture at the edges of a slide, as in Marp: `![bg]`, `![bg right:40%]`.
//! Files without slides show the text after them.

/// The share of a slide that a picture at its side takes, and the limits of it.
const SHARE: f64 = 0.5;
const SHARES: [f64; 2] = [0.15, 0.7];

/// A side of a slide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// The share of a slide's width that a picture takes on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideShare {
    pub side: Side,
    pub share: f64,
}

/// The words before the text alternative of a picture, and that text.
#[derive(Debug, Clone, Default)]
pub struct BackdropWords {
    pub side: Option<SideShare>,
    /// Whether the whole picture is shown.
    pub is_whole: bool,
    pub alt: String,
}

impl BackdropWords {
    /// Reads `bg right:40% text`; `None` if the first word is not `bg`.
    pub fn read(alt: &str) -> Option<Self> {
        let mut words = alt.split_whitespace();
        (words.next() == Some("bg")).then_some(())?;
        let mut read = Self::default();
        let mut text: Vec<&str> = Vec::new();
        for word in words {
            let (name, value) = word.split_once(':').unwrap_or((word, ""));
            match name {
                _ if !text.is_empty() => text.push(word),
                "right" => read.side = Some(SideShare { side: Side::Right, share: share(value) }),
                "left" => read.side = Some(SideShare { side: Side::Left, share: share(value) }),
                "fit" | "contain" => read.is_whole = true,
                "cover" | "auto" | "vertical" | "w" | "h" | "width" | "height" | "blur"
                | "brightness" | "opacity" | "grayscale" | "sepia" | "contrast" | "invert" => {}
                _ if word.ends_with('%') => {}
                _ => text.push(word),
            }
        }
        read.alt = text.join(" ");
        Some(read)
    }
}

/// The text alternative without the words that place a picture; `None` if there are none.
pub fn backdrop_text(alt: &str) -> Option<String> {
    BackdropWords::read(alt).map(|words| words.alt)
}

fn share(value: &str) -> f64 {
    let percent: Option<f64> = value.trim_end_matches('%').parse().ok();
    let share = percent.filter(|percent| percent.is_finite()).map_or(SHARE, |p| p / 100.0);
    share.clamp(SHARES[0], SHARES[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_before_the_text_place_a_picture() {
        let words = BackdropWords::read("bg left:33% A boat at sea").unwrap();
        assert_eq!(
            (words.side, words.alt.as_str()),
            (Some(SideShare { side: Side::Left, share: 0.33 }), "A boat at sea")
        );
        assert!(BackdropWords::read("bg contain").unwrap().is_whole);
        assert_eq!(
            BackdropWords::read("bg right:900%").unwrap().side,
            Some(SideShare { side: Side::Right, share: SHARES[1] })
        );
        assert!(BackdropWords::read("A background").is_none());
    }
}
