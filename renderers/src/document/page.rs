//! Page settings.

/// The paper of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// Its size.
    pub size: PageSize,
    /// Whether the longer edge is horizontal.
    pub landscape: bool,
    /// Whether the text is set in two columns.
    pub two_columns: bool,
}

/// A size of paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageSize {
    /// 210 × 297 mm (ISO 216).
    #[default]
    A4,
    /// 8.5 × 11 inches (ANSI A).
    Letter,
}

/// The width of a picture as its source sets it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PictureWidth {
    /// A share of the available width, up to 1.
    Share(f64),
    /// Pixels, at 96 per inch.
    Pixels(f64),
}

/// The minimum width and height of a picture, in pixels, in all formats.
pub const MIN_PICTURE: f64 = 8.0;

impl PictureWidth {
    /// Reads `30%`, `200` or `200px`.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['"', '\'']);
        let is_valid = |number: &f64| number.is_finite() && *number > 0.0;
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.trim().parse().ok().filter(is_valid)?;
            return Some(Self::Share((percent / 100.0).min(1.0)));
        }
        let pixels = text.trim_end_matches("px").trim().parse().ok().filter(is_valid)?;
        Some(Self::Pixels(f64::max(pixels, MIN_PICTURE)))
    }

    /// Reads a height such as `200` or `200px`, in pixels.
    pub fn read_height(text: &str) -> Option<f64> {
        match Self::read(text)? {
            Self::Pixels(pixels) => Some(pixels),
            Self::Share(_) => None,
        }
    }

    /// The width in the unit of `room`, at most `room`; `pixel` is the width of a pixel.
    pub fn of(self, room: f64, pixel: f64) -> f64 {
        let width = match self {
            Self::Share(share) => room * share,
            Self::Pixels(pixels) => pixels * pixel,
        };
        width.max(MIN_PICTURE * pixel).min(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_a_minimum_size() {
        assert_eq!(PictureWidth::read("1px"), Some(PictureWidth::Pixels(MIN_PICTURE)));
        assert_eq!(PictureWidth::read_height("0.5"), Some(MIN_PICTURE));
        assert_eq!(PictureWidth::read("9"), Some(PictureWidth::Pixels(9.0)));
        assert_eq!(PictureWidth::read("0"), None);
        let width = |text: &str| PictureWidth::read(text).map(|width| width.of(90.0, 0.75) as u32);
        assert_eq!(
            [width("50%"), width("0.0000001%"), width("999")],
            [Some(45), Some(6), Some(90)]
        );
    }
}
