//! Colours of themes and templates.

/// A colour as six hexadecimal digits, `RRGGBB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 6]);

impl Color {
    /// Reads `#0a4f8a` or `0a4f8a`.
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.trim().trim_start_matches('#').to_ascii_uppercase();
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        digits.into_bytes().try_into().ok().filter(|_| is_hex).map(Self)
    }

    /// The perceived brightness, from 0 (black) to 255 (white).
    pub fn brightness(self) -> u32 {
        let value = u32::from_str_radix(&self, 16).expect("the digits are hexadecimal");
        let part = |shift: u32| (value >> shift) & 0xff;
        (299 * part(16) + 587 * part(8) + 114 * part(0)) / 1000
    }

    /// The colour of text on this colour: white or nearly black.
    #[must_use]
    pub fn contrasting(self) -> Self {
        let ink = if self.brightness() < 150 { "FFFFFF" } else { "1F2328" };
        Self::read(ink).expect("the colour is valid")
    }

    /// The colour mixed with white by `share`.
    #[must_use]
    pub fn lightened(self, share: f64) -> Self {
        let value = u32::from_str_radix(&self, 16).expect("the digits are hexadecimal");
        let light = |shift: u32| {
            let part = f64::from((value >> shift) & 0xff);
            (part + (255.0 - part) * share) as u32
        };
        let text = format!("{:02X}{:02X}{:02X}", light(16), light(8), light(0));
        Self::read(&text).expect("three bytes are six digits")
    }
}

impl std::ops::Deref for Color {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are ASCII")
    }
}

impl std::fmt::Display for Color {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self)
    }
}
