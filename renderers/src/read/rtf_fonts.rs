//! The fonts of an RTF file: their encodings, and those whose letters are symbols.

use std::collections::{BTreeSet, HashMap};

use encoding_rs::Encoding;

use super::{charset, symbol_fonts};

/// The character set of fonts of symbols.
const SYMBOLS: usize = 2;
/// The maximum length of a name that is kept.
const NAME_CHARS: usize = 40;

/// The fonts by their numbers.
#[derive(Default)]
pub struct RtfFonts {
    /// The font of text without another one.
    pub usual: usize,
    fonts: HashMap<usize, RtfFont>,
    /// The fonts of symbols that have no Unicode character.
    pub unknown: BTreeSet<String>,
}

#[derive(Default)]
struct RtfFont {
    name: String,
    encoding: Option<&'static Encoding>,
    has_symbols: bool,
}

impl RtfFonts {
    /// Adds a part of the name of a font, which ends with a semicolon.
    pub fn name(&mut self, font: Option<usize>, part: &str) {
        let name = &mut self.fonts.entry(font.unwrap_or(self.usual)).or_default().name;
        let part = if name.is_empty() { part.trim_start() } else { part };
        let room = NAME_CHARS.saturating_sub(name.chars().count());
        name.extend(part.chars().take_while(|c| *c != ';').take(room));
    }

    pub fn charset(&mut self, font: Option<usize>, number: usize) {
        self.encoding(font, charset::of_font(number));
        if let Some(font) = font {
            self.fonts.entry(font).or_default().has_symbols = number == SYMBOLS;
        }
    }

    pub fn encoding(&mut self, font: Option<usize>, encoding: Option<&'static Encoding>) {
        if let (Some(font), Some(_)) = (font, encoding) {
            self.fonts.entry(font).or_default().encoding = encoding;
        }
    }

    /// Text in a font. Without an encoding of its own, it has the usual one.
    pub fn text(&mut self, font: Option<usize>, bytes: &[u8], usual: &'static Encoding) -> String {
        if let Some(name) = self.symbols(font) {
            let symbol = |byte: &u8| symbol_fonts::character(name, char::from(*byte));
            let symbols: Vec<_> = bytes.iter().map(symbol).collect();
            return self.shown(font, symbols);
        }
        let own = self.fonts.get(&font.unwrap_or(self.usual)).and_then(|font| font.encoding);
        own.unwrap_or(usual).decode_without_bom_handling(bytes).0.into_owned()
    }

    /// Characters in a font, which may be the codes of its symbols.
    pub fn characters(&mut self, font: Option<usize>, text: String) -> String {
        let Some(name) = self.symbols(font).filter(|_| text.contains(symbol_fonts::is_code)) else {
            return text;
        };
        let symbol = |c: char| {
            if symbol_fonts::is_code(c) { symbol_fonts::character(name, c) } else { Some(c) }
        };
        let symbols: Vec<_> = text.chars().map(symbol).collect();
        self.shown(font, symbols)
    }

    /// The name of a font, if its symbols are known.
    fn symbols(&self, font: Option<usize>) -> Option<&str> {
        let font = self.fonts.get(&font.unwrap_or(self.usual))?;
        let is_known = font.has_symbols && symbol_fonts::is_known(&font.name);
        is_known.then_some(font.name.as_str())
    }

    fn shown(&mut self, font: Option<usize>, symbols: Vec<Option<char>>) -> String {
        if symbols.contains(&None)
            && let Some(name) = self.symbols(font).map(str::to_owned)
        {
            self.unknown.insert(name);
        }
        symbols.into_iter().map(|symbol| symbol.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}
